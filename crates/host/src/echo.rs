//! ICMP echo ends (RFC 792; catalogue ME-05): a client that sends requests on schedule, and a server that
//! replies with equal size.
//!
//! There are no retransmissions. A request without a reply within [`PATIENCE`] of the last request counts as
//! lost, as with `ping`.

use crate::end::{EndReport, FlowEnd};
use crate::host::HostCounters;
use crate::udp::DatagramConfig;
use base::event::Event;
use base::packet::{Flags, Packet};
use base::truth::Cause;
use base::{Span, Time};
use path::{Cx, Element, Port};
use transport::app::connections::MessageLog;
use transport::app::datagrams::{DatagramSink, DatagramSource};
use transport::app::message_stream::{MessageSchedule, UsefulLife};
use transport::app::stats::AppStats;

/// Waiting time after the last request: default of `ping -W`.
const PATIENCE: Span = Span::from_secs(10);

/// Flow end that sends echo requests.
pub struct EchoClient {
    config: DatagramConfig,
    source: DatagramSource,
    /// Transmission time of each request; `None` after its reply.
    left: Vec<Option<Time>>,
    answered: usize,
    stats: AppStats,
    finished: Option<Time>,
}

impl EchoClient {
    /// Sends requests with this schedule from `start` on, one datagram each.
    pub fn new(config: DatagramConfig, start: Time, schedule: MessageSchedule, log: MessageLog) -> Self {
        EchoClient {
            source: DatagramSource::new(config.payload, start, schedule, log),
            config,
            left: Vec::new(),
            answered: 0,
            stats: AppStats::default(),
            finished: None,
        }
    }

    /// Time at which the client stops waiting; [`Time::NEVER`] before the last request.
    fn reply_deadline(&self) -> Time {
        match self.source.finished() {
            Some(last) if self.finished.is_none() => last + PATIENCE,
            _ => Time::NEVER,
        }
    }

    fn look(&mut self, now: Time) {
        let all = self.source.finished().is_some() && self.answered == self.left.len();
        if self.finished.is_none() && (all || now >= self.reply_deadline()) {
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
            self.stats.responses.push(now.since(left));
            self.answered += 1;
        }
        self.look(now);
    }

    fn on_wake(&mut self, cx: &mut Cx<'_>) {
        let now = cx.now();
        let EchoClient { config, source, left, .. } = self;
        source.send_due(now, |datagram| {
            config.send(cx, datagram);
            left.push(Some(now));
        });
        self.look(now);
    }

    fn next_wake(&self) -> Time {
        self.source.next_wake().min(self.reply_deadline())
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
        let (sent, received) = (u64::from(self.source.datagrams()), self.answered as u64);
        let mut stats = self.stats.clone();
        stats.sent = self.source.stats().sent;
        EndReport {
            counters: HostCounters { data_sent: sent, data_received: received, ..HostCounters::default() },
            unit: 1,
            finished: self.finished,
            stats: Some(stats),
            ..EndReport::default()
        }
    }
}

/// Flow end that replies to echo requests.
pub struct EchoServer {
    config: DatagramConfig,
    sink: DatagramSink,
    sent: u64,
}

impl EchoServer {
    /// Replies to the requests announced in `log`.
    pub fn new(config: DatagramConfig, log: MessageLog) -> Self {
        EchoServer { config, sink: DatagramSink::new(log, UsefulLife::Always), sent: 0 }
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
        self.sink.receive(cx.now(), packet.ordinal, Some(packet.born));
        // A duplicate made by the network gets a reply too, as from a real host.
        let (id, now) = (cx.emit_virtual(packet.size), cx.now());
        let (seq, len) = (u64::from(packet.ordinal), packet.size.saturating_sub(self.config.header));
        cx.record_data(|| Event::DataSent { packet: id, seq, len, cause: Cause::New });
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
        self.sink.finished()
    }
    fn report(&self) -> EndReport {
        EndReport {
            counters: HostCounters {
                data_sent: self.sent,
                data_received: self.sink.datagrams(),
                ..HostCounters::default()
            },
            unit: 1,
            received: self.sink.stats().bytes,
            finished: self.sink.finished(),
            stats: Some(self.sink.stats().clone()),
            ..EndReport::default()
        }
    }
}
