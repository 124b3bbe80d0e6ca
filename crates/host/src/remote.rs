//! Workload whose connections are kernel sockets outside the network.
//!
//! It is an element of the network without packets of its own. The application's actions become orders for
//! the process that holds the sockets; that process reports progress back. A kernel's connections thus carry
//! the same requests, pages and messages as a model's, with the same statistics.

use base::Time;
use base::packet::Packet;
use path::{Cx, Element, Port};
use std::collections::{BTreeSet, VecDeque};
use transport::app::lines::{Alone, Lines, Workload};
use transport::app::{Sink, Socket};
use transport::tcp::Role;

/// Order for a socket outside, by connection number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// Open the connection.
    Open(usize),
    /// Total bytes to be written.
    Write(usize, u64),
    /// Close after the data written.
    Close(usize),
    /// Abort the connection.
    Abort(usize),
    /// Total bytes that may be read, where reading is limited; `u64::MAX`: everything from now on.
    Read(usize, u64),
}

/// State of a connection outside.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Standing {
    /// Connection number.
    pub line: usize,
    /// Bytes received in order so far.
    pub received: u64,
    /// Bytes acknowledged by the peer so far.
    pub acknowledged: u64,
    /// The peer aborted it.
    pub broken: bool,
}

/// One end of a flow whose connections are outside.
pub struct Remote {
    role: Role,
    /// Start time; [`Time::NEVER`] once started.
    start: Time,
    lines: Vec<Line>,
    workload: Box<dyn Workload>,
    /// Connections that the application may have used since the last check.
    looked_at: BTreeSet<usize>,
    orders: VecDeque<Order>,
}

#[derive(Default)]
struct Line {
    written: u64,
    closed: bool,
    received: u64,
    acknowledged: u64,
    dead: bool,
    /// Orders already issued: bytes to write, and the close.
    ordered: (u64, bool),
    /// Data wait in the receive buffer until they are read.
    slowly: bool,
    /// Total bytes that may be read, if reading was ever limited; and the last such order.
    may_read: Option<u64>,
    read_ordered: u64,
}

impl Socket for Line {
    fn write(&mut self, bytes: u64) {
        self.written += bytes;
    }
    fn close(&mut self) {
        self.closed = true;
    }
    /// Data accepted by a kernel cannot be withdrawn.
    fn stop(&mut self) {
        self.closed = true;
    }
    fn read_slowly(&mut self, slowly: bool) {
        self.slowly = slowly;
        if slowly || self.may_read.is_some() {
            self.may_read = Some(if slowly { self.may_read.unwrap_or(0) } else { u64::MAX });
        }
    }
    fn read(&mut self, bytes: u64) -> u64 {
        let Some(read) = self.may_read.filter(|_| self.slowly) else { return 0 };
        let took = bytes.min(self.received.saturating_sub(read));
        self.may_read = Some(read + took);
        took
    }
    fn received(&self) -> u64 {
        self.received
    }
    fn acknowledged(&self) -> u64 {
        self.acknowledged
    }
}

/// Upper bound of the connections in one run, against mistakes and attacks.
const MOST_LINES: usize = 1 << 16;

/// Connection set passed to the application.
struct Access<'a> {
    lines: &'a mut Vec<Line>,
    looked_at: &'a mut BTreeSet<usize>,
    orders: &'a mut VecDeque<Order>,
}

impl Lines for Access<'_> {
    fn open(&mut self) -> usize {
        let number = self.lines.len();
        self.lines.push(Line::default());
        self.orders.push_back(Order::Open(number));
        number
    }
    fn line(&mut self, number: usize) -> Option<&mut dyn Socket> {
        let line = self.lines.get_mut(number).filter(|line| !line.dead)?;
        self.looked_at.insert(number);
        Some(line)
    }
    fn abort(&mut self, number: usize) {
        if let Some(line) = self.lines.get_mut(number).filter(|line| !line.dead) {
            line.dead = true;
            self.orders.push_back(Order::Abort(number));
        }
    }
}

impl Remote {
    /// A workload before its start. `start` is the start time at the active end; the passive end exists from
    /// the beginning.
    pub fn new(role: Role, start: Time, workload: Box<dyn Workload>) -> Self {
        Remote {
            role,
            start: if role == Role::Active { start } else { Time::NEVER },
            lines: Vec::new(),
            workload,
            looked_at: BTreeSet::new(),
            orders: VecDeque::new(),
        }
    }

    /// Sink of bulk data over the one connection that the other end opens. It controls the rate of reading;
    /// unread data wait in the socket outside.
    pub fn reading(start: Time, sink: Sink) -> Self {
        let mut remote = Remote::new(Role::Passive, start, Box::new(Alone::new(sink)));
        remote.start = start;
        remote.lines.push(Line::default());
        remote
    }

    /// Application.
    pub fn workload(&self) -> &dyn Workload {
        &*self.workload
    }
    /// Number of connections so far.
    pub fn connections(&self) -> usize {
        self.lines.len()
    }
    /// Bytes received on all connections.
    pub fn received(&self) -> u64 {
        self.lines.iter().map(|line| line.received).sum()
    }
    /// Takes the next order.
    pub fn next_order(&mut self) -> Option<Order> {
        self.orders.pop_front()
    }

    /// Processes the state of a connection outside.
    pub fn hear(&mut self, now: Time, standing: Standing) {
        let Standing { line: number, received, acknowledged, broken } = standing;
        if number >= self.lines.len() {
            if self.role == Role::Active || number >= MOST_LINES {
                return; // the active end opens connections itself
            }
            // Connections may arrive in a different order than they were opened.
            self.lines.resize_with(number + 1, Line::default);
        }
        let Some(line) = self.lines.get_mut(number).filter(|line| !line.dead) else { return };
        let before = (line.received, line.acknowledged);
        line.received = line.received.max(received);
        line.acknowledged = line.acknowledged.max(acknowledged.min(line.written));
        let moved = (line.received, line.acknowledged) != before;
        line.dead = broken;
        if moved && !broken {
            self.tell(|workload, lines| workload.progressed(now, number, lines));
        }
        if broken {
            self.workload.broken(now, number);
        }
    }

    /// Calls the application, and queues the resulting orders.
    fn tell(&mut self, act: impl FnOnce(&mut dyn Workload, &mut dyn Lines)) {
        let Remote { lines, workload, looked_at, orders, .. } = self;
        act(&mut **workload, &mut Access { lines, looked_at, orders });
        while let Some(number) = self.looked_at.pop_first() {
            let Some(line) = self.lines.get_mut(number).filter(|line| !line.dead) else { continue };
            if line.written > line.ordered.0 {
                self.orders.push_back(Order::Write(number, line.written));
            }
            if line.closed && !line.ordered.1 {
                self.orders.push_back(Order::Close(number));
            }
            line.ordered = (line.written, line.closed);
            if let Some(may) = line.may_read.filter(|may| *may > line.read_ordered) {
                line.read_ordered = may;
                self.orders.push_back(Order::Read(number, may));
            }
        }
    }
}

impl Element for Remote {
    /// The packets pass through the door beside it.
    fn on_packet(&mut self, _cx: &mut Cx<'_>, _port: Port, _packet: Packet) {}

    fn on_wake(&mut self, cx: &mut Cx<'_>) {
        let now = cx.now();
        if self.start <= now {
            self.start = Time::NEVER;
            self.tell(|workload, lines| workload.started(now, lines));
        }
        if self.workload.next_timeout() <= now {
            self.tell(|workload, lines| workload.timeout(now, lines));
        }
    }
    fn next_wake(&self) -> Time {
        self.start.min(self.workload.next_timeout())
    }
    fn holds(&self) -> usize {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Span;
    use transport::app::seen::Seen;

    /// Opens two connections, sends requests on both, closes the one that is answered and aborts the other.
    #[derive(Default)]
    struct Both(Seen, Vec<usize>);

    impl Workload for Both {
        fn started(&mut self, _now: Time, lines: &mut dyn Lines) {
            for _ in 0..2 {
                let number = lines.open();
                lines.line(number).unwrap().write(10);
            }
        }
        fn progressed(&mut self, _now: Time, line: usize, lines: &mut dyn Lines) {
            lines.line(line).unwrap().close();
            lines.abort(1 - line);
        }
        fn broken(&mut self, _now: Time, line: usize) {
            self.1.push(line);
        }
        fn timeout(&mut self, _now: Time, _lines: &mut dyn Lines) {}
        fn next_timeout(&self) -> Time {
            Time::NEVER
        }
        fn finished(&self) -> Option<Time> {
            None
        }
        fn seen(&self) -> &Seen {
            &self.0
        }
    }

    #[test]
    fn what_is_done_to_lines_becomes_orders() {
        let mut remote = Remote::new(Role::Active, Time::ZERO, Box::<Both>::default());
        remote.tell(|workload, lines| workload.started(Time::ZERO, lines));
        let orders = |remote: &mut Remote| std::iter::from_fn(|| remote.next_order()).collect::<Vec<_>>();
        let opened = [Order::Open(0), Order::Open(1), Order::Write(0, 10), Order::Write(1, 10)];
        assert_eq!(orders(&mut remote), opened);
        // A connection never opened, and bytes never written, may be reported by a faulty stack.
        remote.hear(Time::ZERO, Standing { line: 7, received: 1, acknowledged: 0, broken: false });
        remote.hear(Time::ZERO, Standing { line: 0, received: 0, acknowledged: 99, broken: false });
        assert_eq!(remote.lines[0].acknowledged, 10);
        assert_eq!(orders(&mut remote), [Order::Abort(1), Order::Close(0)]);
        remote.hear(Time::ZERO, Standing { line: 0, received: 5, acknowledged: 10, broken: true });
        remote.hear(Time::ZERO, Standing { line: 1, received: 5, acknowledged: 10, broken: false });
        assert_eq!((orders(&mut remote).len(), remote.received(), remote.connections()), (0, 5, 2));
    }

    /// TB-23: received data are read in pieces of a tenth of a second, never more than available; without a
    /// limit everything is read.
    #[test]
    fn what_is_read_becomes_orders() {
        use transport::app::Reading;
        let (at, pause) = (|s: u64| Time::ZERO + Span::from_secs(s), Span::from_secs(5));
        let orders = |remote: &mut Remote| std::iter::from_fn(|| remote.next_order()).collect::<Vec<_>>();
        let stands = |received| Standing { line: 0, received, acknowledged: 0, broken: false };
        let act = |rate, told: &[(u64, u64)]| {
            let sink = Sink::new(Some(30_000)).reading(Reading::new(rate, pause));
            let mut remote = Remote::reading(at(1), sink);
            assert_eq!(remote.next_wake(), at(1), "it starts with the flow");
            remote.start = Time::NEVER;
            remote.tell(|workload, lines| workload.started(at(1), lines));
            told.iter().for_each(|&(s, received)| remote.hear(at(s), stands(received)));
            assert_eq!((orders(&mut remote), remote.next_wake()), (vec![], at(6)));
            remote.tell(|workload, lines| workload.timeout(at(6), lines));
            remote
        };
        let mut paced = act(Some(10_000), &[(2, 1500), (3, 2400)]);
        assert_eq!(
            (orders(&mut paced), paced.next_wake()),
            (vec![Order::Read(0, 1000)], at(6) + Span::from_millis(100))
        );
        for s in [7, 8, 9] {
            paced.tell(|workload, lines| workload.timeout(at(s), lines));
        }
        assert_eq!(orders(&mut paced), [Order::Read(0, 2000), Order::Read(0, 2400)]);
        assert_eq!(paced.next_wake(), Time::NEVER, "nothing is there");
        paced.hear(at(10), stands(30_000));
        assert_eq!((paced.next_wake(), paced.workload().finished()), (at(10), Some(at(10))));
        let mut paused = act(None, &[(2, 20_000)]);
        assert_eq!((orders(&mut paused), paused.next_wake()), (vec![Order::Read(0, u64::MAX)], Time::NEVER));
        paused.hear(at(7), stands(30_000));
        assert_eq!((orders(&mut paused), paused.workload().finished()), (vec![], Some(at(7))));
    }
}
