//! Workload over kernel sockets outside of the network: orders to the process that owns the sockets, and
//! states of their connections.
//!
//! The workload is an element of the network without packets of its own. The application's actions become
//! orders for the process that owns the sockets; that process reports progress. A kernel's connections thus
//! carry the same requests, pages and messages as a model's, with the same statistics.

use base::Time;
use base::packet::Packet;
use path::{Cx, Element, Port};
use std::collections::{BTreeSet, VecDeque};
use transport::app::connections::{Connections, SingleConnection, Workload};
use transport::app::{Sink, Socket};
use transport::tcp::Role;

/// Order for a kernel socket, by connection number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SocketOrder {
    /// Open a connection.
    Open(usize),
    /// Total number of bytes to write.
    Write(usize, u64),
    /// Close after the data written before.
    Close(usize),
    /// Abort.
    Abort(usize),
    /// Total number of bytes that may be read, if reading is limited; `u64::MAX`: no limit from now on.
    Read(usize, u64),
}

/// State of a connection of a kernel socket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SocketState {
    /// Connection number.
    pub conn: usize,
    /// Bytes received in order so far.
    pub received: u64,
    /// Bytes acknowledged by the peer so far.
    pub acknowledged: u64,
    /// Whether the peer aborted the connection.
    pub broken: bool,
}

/// One end of a flow whose connections are kernel sockets.
pub struct ExternalSockets {
    role: Role,
    /// Start time; [`Time::NEVER`] once started.
    start: Time,
    connections: Vec<ExternalConnection>,
    workload: Box<dyn Workload>,
    /// Connections that the application may have used since the last call.
    touched_by_app: BTreeSet<usize>,
    orders: VecDeque<SocketOrder>,
}

#[derive(Default)]
struct ExternalConnection {
    written: u64,
    closed: bool,
    received: u64,
    acknowledged: u64,
    dead: bool,
    /// Orders already issued: total bytes to write, and whether to close.
    ordered: (u64, bool),
    /// Whether data wait in the receive buffer until the application reads them.
    slowly: bool,
    /// Total number of bytes that may be read, if reading was ever limited.
    may_read: Option<u64>,
    /// Limit in the last read order.
    read_ordered: u64,
}

impl Socket for ExternalConnection {
    fn write(&mut self, bytes: u64) {
        self.written += bytes;
    }
    fn close(&mut self) {
        self.closed = true;
    }
    /// A kernel's accepted data cannot be withdrawn.
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

/// Upper bound of the connections in one run, against errors and attacks.
const MOST_CONNECTIONS: usize = 1 << 16;

/// The connections, as passed to the application.
struct Access<'a> {
    connections: &'a mut Vec<ExternalConnection>,
    touched_by_app: &'a mut BTreeSet<usize>,
    orders: &'a mut VecDeque<SocketOrder>,
}

impl Connections for Access<'_> {
    fn open(&mut self) -> usize {
        let number = self.connections.len();
        self.connections.push(ExternalConnection::default());
        self.orders.push_back(SocketOrder::Open(number));
        number
    }
    fn connection(&mut self, number: usize) -> Option<&mut dyn Socket> {
        let conn = self.connections.get_mut(number).filter(|conn| !conn.dead)?;
        self.touched_by_app.insert(number);
        Some(conn)
    }
    fn abort(&mut self, number: usize) {
        if let Some(conn) = self.connections.get_mut(number).filter(|conn| !conn.dead) {
            conn.dead = true;
            self.orders.push_back(SocketOrder::Abort(number));
        }
    }
}

impl ExternalSockets {
    /// A workload before its start. `start` is the start time at the active end; the passive end exists from
    /// the beginning.
    pub fn new(role: Role, start: Time, workload: Box<dyn Workload>) -> Self {
        ExternalSockets {
            role,
            start: if role == Role::Active { start } else { Time::NEVER },
            connections: Vec::new(),
            workload,
            touched_by_app: BTreeSet::new(),
            orders: VecDeque::new(),
        }
    }

    /// Sink of bulk data over the one connection that the other end opens. The sink sets the rate of reading;
    /// unread data wait in the kernel's socket.
    pub fn reading(start: Time, sink: Sink) -> Self {
        let mut sockets = ExternalSockets::new(Role::Passive, start, Box::new(SingleConnection::new(sink)));
        sockets.start = start;
        sockets.connections.push(ExternalConnection::default());
        sockets
    }

    /// The application.
    pub fn workload(&self) -> &dyn Workload {
        &*self.workload
    }
    /// Number of connections so far.
    pub fn connections(&self) -> usize {
        self.connections.len()
    }
    /// Bytes received on all connections.
    pub fn received(&self) -> u64 {
        self.connections.iter().map(|conn| conn.received).sum()
    }
    /// Takes the next order.
    pub fn next_order(&mut self) -> Option<SocketOrder> {
        self.orders.pop_front()
    }

    /// Processes the state of a connection.
    pub fn update(&mut self, now: Time, state: SocketState) {
        let SocketState { conn: number, received, acknowledged, broken } = state;
        if number >= self.connections.len() {
            if self.role == Role::Active || number >= MOST_CONNECTIONS {
                return; // The active end opens connections itself.
            }
            // Connections may arrive in another order than they were opened.
            self.connections.resize_with(number + 1, ExternalConnection::default);
        }
        let Some(conn) = self.connections.get_mut(number).filter(|conn| !conn.dead) else { return };
        let before = (conn.received, conn.acknowledged);
        conn.received = conn.received.max(received);
        conn.acknowledged = conn.acknowledged.max(acknowledged.min(conn.written));
        let moved = (conn.received, conn.acknowledged) != before;
        conn.dead = broken;
        if moved && !broken {
            self.call_app(|workload, connections| workload.progressed(now, number, connections));
        }
        if broken {
            self.workload.broken(now, number);
        }
    }

    /// Calls the application, and queues the orders that result.
    fn call_app(&mut self, act: impl FnOnce(&mut dyn Workload, &mut dyn Connections)) {
        let ExternalSockets { connections, workload, touched_by_app, orders, .. } = self;
        act(&mut **workload, &mut Access { connections, touched_by_app, orders });
        while let Some(number) = self.touched_by_app.pop_first() {
            let Some(conn) = self.connections.get_mut(number).filter(|conn| !conn.dead) else { continue };
            if conn.written > conn.ordered.0 {
                self.orders.push_back(SocketOrder::Write(number, conn.written));
            }
            if conn.closed && !conn.ordered.1 {
                self.orders.push_back(SocketOrder::Close(number));
            }
            conn.ordered = (conn.written, conn.closed);
            if let Some(may) = conn.may_read.filter(|may| *may > conn.read_ordered) {
                conn.read_ordered = may;
                self.orders.push_back(SocketOrder::Read(number, may));
            }
        }
    }
}

impl Element for ExternalSockets {
    /// Packets pass through the packet port of this flow end.
    fn on_packet(&mut self, _cx: &mut Cx<'_>, _port: Port, _packet: Packet) {}

    fn on_wake(&mut self, cx: &mut Cx<'_>) {
        let now = cx.now();
        if self.start <= now {
            self.start = Time::NEVER;
            self.call_app(|workload, connections| workload.started(now, connections));
        }
        if self.workload.next_timeout() <= now {
            self.call_app(|workload, connections| workload.timeout(now, connections));
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
    use transport::app::stats::AppStats;

    /// Opens two connections, sends requests on both, closes the one with a reply and aborts the other.
    #[derive(Default)]
    struct Both(AppStats, Vec<usize>);

    impl Workload for Both {
        fn started(&mut self, _now: Time, connections: &mut dyn Connections) {
            for _ in 0..2 {
                let number = connections.open();
                connections.connection(number).unwrap().write(10);
            }
        }
        fn progressed(&mut self, _now: Time, conn: usize, connections: &mut dyn Connections) {
            connections.connection(conn).unwrap().close();
            connections.abort(1 - conn);
        }
        fn broken(&mut self, _now: Time, conn: usize) {
            self.1.push(conn);
        }
        fn timeout(&mut self, _now: Time, _lines: &mut dyn Connections) {}
        fn next_timeout(&self) -> Time {
            Time::NEVER
        }
        fn finished(&self) -> Option<Time> {
            None
        }
        fn stats(&self) -> &AppStats {
            &self.0
        }
    }

    #[test]
    fn what_is_done_to_lines_becomes_orders() {
        let mut sockets = ExternalSockets::new(Role::Active, Time::ZERO, Box::<Both>::default());
        sockets.call_app(|workload, connections| workload.started(Time::ZERO, connections));
        let orders =
            |sockets: &mut ExternalSockets| std::iter::from_fn(|| sockets.next_order()).collect::<Vec<_>>();
        let opened = [
            SocketOrder::Open(0),
            SocketOrder::Open(1),
            SocketOrder::Write(0, 10),
            SocketOrder::Write(1, 10),
        ];
        assert_eq!(orders(&mut sockets), opened);
        // A faulty stack may report a connection never opened, and bytes never written.
        sockets.update(Time::ZERO, SocketState { conn: 7, received: 1, acknowledged: 0, broken: false });
        sockets.update(Time::ZERO, SocketState { conn: 0, received: 0, acknowledged: 99, broken: false });
        assert_eq!(sockets.connections[0].acknowledged, 10);
        assert_eq!(orders(&mut sockets), [SocketOrder::Abort(1), SocketOrder::Close(0)]);
        sockets.update(Time::ZERO, SocketState { conn: 0, received: 5, acknowledged: 10, broken: true });
        sockets.update(Time::ZERO, SocketState { conn: 1, received: 5, acknowledged: 10, broken: false });
        assert_eq!((orders(&mut sockets).len(), sockets.received(), sockets.connections()), (0, 5, 2));
    }

    /// TB-23: received data are read in portions of a tenth of a second, never more than available; without a
    /// limit all data are read.
    #[test]
    fn what_is_read_becomes_orders() {
        use transport::app::Reading;
        let (at, pause) = (|s: u64| Time::ZERO + Span::from_secs(s), Span::from_secs(5));
        let orders =
            |sockets: &mut ExternalSockets| std::iter::from_fn(|| sockets.next_order()).collect::<Vec<_>>();
        let socket_state = |received| SocketState { conn: 0, received, acknowledged: 0, broken: false };
        let act = |rate, reports: &[(u64, u64)]| {
            let sink = Sink::new(Some(30_000)).reading(Reading::new(rate, pause));
            let mut sockets = ExternalSockets::reading(at(1), sink);
            assert_eq!(sockets.next_wake(), at(1), "it starts with the flow");
            sockets.start = Time::NEVER;
            sockets.call_app(|workload, connections| workload.started(at(1), connections));
            reports.iter().for_each(|&(s, received)| sockets.update(at(s), socket_state(received)));
            assert_eq!((orders(&mut sockets), sockets.next_wake()), (vec![], at(6)));
            sockets.call_app(|workload, connections| workload.timeout(at(6), connections));
            sockets
        };
        let mut paced = act(Some(10_000), &[(2, 1500), (3, 2400)]);
        assert_eq!(
            (orders(&mut paced), paced.next_wake()),
            (vec![SocketOrder::Read(0, 1000)], at(6) + Span::from_millis(100))
        );
        for s in [7, 8, 9] {
            paced.call_app(|workload, connections| workload.timeout(at(s), connections));
        }
        assert_eq!(orders(&mut paced), [SocketOrder::Read(0, 2000), SocketOrder::Read(0, 2400)]);
        assert_eq!(paced.next_wake(), Time::NEVER, "nothing is there");
        paced.update(at(10), socket_state(30_000));
        assert_eq!((paced.next_wake(), paced.workload().finished()), (at(10), Some(at(10))));
        let mut paused = act(None, &[(2, 20_000)]);
        assert_eq!(
            (orders(&mut paused), paused.next_wake()),
            (vec![SocketOrder::Read(0, u64::MAX)], Time::NEVER)
        );
        paused.update(at(7), socket_state(30_000));
        assert_eq!((orders(&mut paused), paused.workload().finished()), (vec![], Some(at(7))));
    }
}
