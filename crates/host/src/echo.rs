//! ICMP echo ends (RFC 792; catalogue ME-05): requests at their own pace, and a reply of the same size to each.
//!
//! There are no retransmissions. A request without a reply is lost after [`PATIENCE`], as `ping` gives up
//! after the last one.

use crate::datagram::DatagramConfig;
use crate::end::{EndReport, FlowEnd};
use crate::host::HostCounters;
use base::event::{Category, Event};
use base::packet::{Flags, Packet};
use base::truth::Cause;
use base::{Span, Time};
use path::{Cx, Element, Port};
use transport::app::datagrams::{Hearing, Speaking};
use transport::app::lines::Letters;
use transport::app::seen::Seen;
use transport::app::tell::{Pace, Useful};

/// Waiting time after the last request: the default of `ping -W`.
const PATIENCE: Span = Span::from_secs(10);

/// End that sends echo requests.
pub struct EchoClient {
    config: DatagramConfig,
    speaking: Speaking,
    /// Transmission time of each request; none once it was answered.
    left: Vec<Option<Time>>,
    answered: usize,
    seen: Seen,
    finished: Option<Time>,
}

impl EchoClient {
    /// Sends requests with this schedule from `start` on, one datagram each.
    pub fn new(config: DatagramConfig, start: Time, pace: Pace, letters: Letters) -> Self {
        EchoClient {
            speaking: Speaking::new(config.payload, start, pace, letters),
            config,
            left: Vec::new(),
            answered: 0,
            seen: Seen::default(),
            finished: None,
        }
    }

    /// Time at which the client gives up; never before the last request.
    fn gives_up(&self) -> Time {
        match self.speaking.finished() {
            Some(last) if self.finished.is_none() => last + PATIENCE,
            _ => Time::NEVER,
        }
    }

    fn look(&mut self, now: Time) {
        let all = self.speaking.finished().is_some() && self.answered == self.left.len();
        if self.finished.is_none() && (all || now >= self.gives_up()) {
            self.finished = Some(now);
        }
    }
}

impl Element for EchoClient {
    fn on_packet(&mut self, cx: &mut Cx<'_>, _port: Port, packet: Packet) {
        cx.discard(&packet);
        let Some(number) = (packet.ordinal as usize).checked_sub(1) else { return };
        let now = cx.now();
        if packet.flags.has(Flags::STUB) {
            return;
        }
        if let Some(ledger) = cx.ledger(&packet) {
            ledger.received(packet.ordinal);
        }
        if let Some(left) = self.left.get_mut(number).and_then(Option::take) {
            self.seen.responses.push(now.since(left));
            self.answered += 1;
        }
        self.look(now);
    }

    fn on_wake(&mut self, cx: &mut Cx<'_>) {
        let now = cx.now();
        let EchoClient { config, speaking, left, .. } = self;
        speaking.speak(now, |datagram| {
            config.send(cx, datagram);
            left.push(Some(now));
        });
        self.look(now);
    }

    fn next_wake(&self) -> Time {
        self.speaking.next_wake().min(self.gives_up())
    }

    fn holds(&self) -> usize {
        0
    }
}

impl FlowEnd for EchoClient {
    fn finished(&self) -> Option<Time> {
        self.finished
    }
    fn report(&self) -> EndReport {
        let (sent, received) = (u64::from(self.speaking.datagrams()), self.answered as u64);
        let mut stats = self.seen.clone();
        stats.sent = self.speaking.seen().sent;
        EndReport {
            counters: HostCounters { data_sent: sent, data_received: received, ..HostCounters::default() },
            unit: 1,
            finished: self.finished,
            stats: Some(stats),
            ..EndReport::default()
        }
    }
}

/// End that answers echo requests.
pub struct EchoServer {
    config: DatagramConfig,
    hearing: Hearing,
    sent: u64,
}

impl EchoServer {
    /// Answers the requests announced in `letters`.
    pub fn new(config: DatagramConfig, letters: Letters) -> Self {
        EchoServer { config, hearing: Hearing::new(letters, Useful::Always), sent: 0 }
    }
}

impl Element for EchoServer {
    fn on_packet(&mut self, cx: &mut Cx<'_>, _port: Port, packet: Packet) {
        cx.discard(&packet);
        if packet.flags.has(Flags::STUB) {
            return;
        }
        if let Some(ledger) = cx.ledger(&packet) {
            ledger.received(packet.ordinal);
        }
        self.hearing.hear(cx.now(), packet.ordinal, Some(packet.born));
        // A copy made by the network is answered too, as by a real host.
        let (id, now) = (cx.emit_virtual(packet.size), cx.now());
        let (seq, len) = (u64::from(packet.ordinal), packet.size.saturating_sub(self.config.header));
        cx.record(Category::Transport, now, || Event::DataSent { packet: id, seq, len, cause: Cause::New });
        self.sent += 1;
        let reply = Packet {
            id,
            born: now,
            source: self.config.node,
            destination: self.config.peer,
            flags: Flags::DATA.with(Flags::REPLY),
            class: 0,
            ecn: 0,
            ..packet
        };
        cx.forward(Port(0), reply);
    }
    fn on_wake(&mut self, _cx: &mut Cx<'_>) {}
    fn next_wake(&self) -> Time {
        Time::NEVER
    }
    fn holds(&self) -> usize {
        0
    }
}

impl FlowEnd for EchoServer {
    fn finished(&self) -> Option<Time> {
        self.hearing.finished()
    }
    fn report(&self) -> EndReport {
        EndReport {
            counters: HostCounters {
                data_sent: self.sent,
                data_received: self.hearing.datagrams(),
                ..HostCounters::default()
            },
            unit: 1,
            received: self.hearing.seen().bytes,
            finished: self.hearing.finished(),
            stats: Some(self.hearing.seen().clone()),
            ..EndReport::default()
        }
    }
}
