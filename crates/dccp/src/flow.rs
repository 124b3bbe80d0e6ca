//! A plain TFRC flow (RFC 5348 section 3.2): data packets with number, timestamp and round trip, reports once per round
//! trip, no connection and no reliability; what simulators call a TFRC agent (catalogue NS-14).

use crate::connection::Lifetime;
use crate::tfrc::{Feedback, LossHistory, Receiver, Sender, SenderConfig, Timeout};
use base::body::{Body, Channel, Range};
use base::packet::{Flags, Packet};
use base::truth::Cause;
use base::{Span, Time};
use transport::app::Socket;
use transport::endpoint::{Endpoint, EndpointReport, Expiring, Io, Outgoing};

/// Choices of both ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowConfig {
    /// Most bytes of data in a packet.
    pub payload: u32,
    /// Bytes of all headers of a data packet.
    pub header: u32,
    /// Bytes of a report on the wire.
    pub report: u32,
    /// Initial window in packets; 0: RFC 5348 section 4.2.
    pub initial_window: u32,
    /// Lifetime of data packets in the network.
    pub lifetime: Lifetime,
    /// Lifetime of reports beyond the round trip; none: for ever.
    pub ack_lifetime: Option<Span>,
    /// Old loss intervals count less after a long one (RFC 5348 section 5.5).
    pub discounting: bool,
    /// The send rate is damped (RFC 5348 section 4.5).
    pub damping: bool,
    /// The timeout in the equation.
    pub timeout: Timeout,
    /// Missing packets in a row are one loss event, however long the silence was.
    pub one_event: bool,
}

impl Default for FlowConfig {
    fn default() -> Self {
        FlowConfig {
            payload: 960,
            header: 40,
            report: 40,
            initial_window: 0,
            lifetime: Lifetime::Always,
            ack_lifetime: None,
            discounting: true,
            damping: false,
            timeout: Timeout::FourRtt,
            one_event: false,
        }
    }
}

/// Content of a packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tfrc {
    /// Data.
    Data {
        /// Packet number, from 0.
        seq: u64,
        /// First byte in the stream.
        offset: u64,
        /// Bytes of data.
        bytes: u32,
        /// Send time on the sender's clock.
        sent: Time,
        /// The sender's round trip; zero if unknown.
        rtt: Span,
    },
    /// A report of the receiver.
    Report {
        /// The report.
        feedback: Feedback,
        /// Highest stream position received.
        position: u64,
    },
}

impl Body for Tfrc {
    fn flags(&self) -> Flags {
        match self {
            Tfrc::Data { .. } => Flags::DATA,
            Tfrc::Report { .. } => Flags::ACK,
        }
    }
    fn ranges(&self, cause: Cause, mut each: impl FnMut(Range)) {
        if let Tfrc::Data { offset, bytes, .. } = *self {
            each(Range { channel: Channel(0), from: offset, to: offset + u64::from(bytes), cause });
        }
    }
    fn acks(&self, _each: impl FnMut(Channel, u64)) {}
}

/// One end of a flow.
#[derive(Debug)]
pub struct Flow {
    config: FlowConfig,
    sender: Sender,
    receiver: Receiver,
    written: u64,
    closed: bool,
    sent: u64,
    seq: u64,
    reported: u64,
    position: u64,
    bytes: u64,
    open: bool,
    packets: (u64, u64),
}

impl Flow {
    /// An end that has neither sent nor received.
    pub fn new(config: FlowConfig) -> Self {
        let size = config.payload + config.header;
        let FlowConfig { initial_window, damping, timeout, .. } = config;
        let sender = SenderConfig { size, initial_window, damping, timeout };
        let history = LossHistory::new(config.discounting);
        let history = if config.one_event { history.one_event_a_hole() } else { history };
        Flow {
            sender: Sender::new(sender),
            receiver: Receiver::with(history),
            config,
            written: 0,
            closed: false,
            sent: 0,
            seq: 0,
            reported: 0,
            position: 0,
            bytes: 0,
            open: false,
            packets: (0, 0),
        }
    }
    /// The sending half.
    pub fn sender(&self) -> &Sender {
        &self.sender
    }
    /// The receiving half.
    pub fn receiver(&self) -> &Receiver {
        &self.receiver
    }
    /// Bytes of data that arrived.
    pub fn bytes_received(&self) -> u64 {
        self.bytes
    }
    /// Data packets sent and received.
    pub fn packets(&self) -> (u64, u64) {
        self.packets
    }

    fn report(&mut self, io: &mut Io<'_, Tfrc>) {
        let Some(feedback) = self.receiver.report(io.now) else { return };
        let body = Tfrc::Report { feedback, position: self.position };
        let outgoing = Outgoing::new(body, self.config.report, Cause::New);
        io.out.push(match self.config.ack_lifetime {
            Some(beyond) => outgoing.living(self.receiver.rtt() + beyond),
            None => outgoing,
        });
    }

    fn lifetime(&self) -> Option<Span> {
        let rto = self.sender.rto().unwrap_or(Span::from_secs(3));
        match self.config.lifetime {
            // A byte stream has no messages that could expire.
            Lifetime::Always | Lifetime::Message => None,
            Lifetime::Rto => Some(rto),
            Lifetime::RtoAndRtt => Some(rto + self.sender.rtt()),
            Lifetime::For(span) => Some(span),
        }
    }
}

impl Socket for Flow {
    fn write(&mut self, bytes: u64) {
        if !self.closed {
            self.written += bytes;
        }
    }
    fn close(&mut self) {
        self.closed = true;
    }
    fn stop(&mut self) {
        self.closed = true;
        self.written = self.sent;
    }
    /// The stream's position: missing data below it never arrive.
    fn received(&self) -> u64 {
        self.position
    }
    fn acknowledged(&self) -> u64 {
        self.reported
    }
}

impl Endpoint for Flow {
    type Body = Tfrc;

    fn open(&mut self, io: &mut Io<'_, Tfrc>) {
        self.open = true;
        self.transmit(io);
    }

    fn handle_packet(&mut self, io: &mut Io<'_, Tfrc>, body: &Tfrc, head: &Packet) {
        match *body {
            Tfrc::Data { seq, offset, bytes, sent, rtt } => {
                if !head.flags.has(Flags::STUB) {
                    self.position = self.position.max(offset + u64::from(bytes));
                    self.bytes += u64::from(bytes);
                    self.packets.1 += 1;
                }
                let size = bytes + self.config.header;
                self.receiver.on_packet(io.now, seq, size, sent, rtt, head.ecn == 3);
                if self.receiver.next_timeout() <= io.now {
                    self.report(io);
                }
            }
            Tfrc::Report { feedback, position } => {
                self.sender.on_feedback(io.now, &feedback);
                self.reported = self.reported.max(position.min(self.sent));
                self.transmit(io);
            }
        }
    }

    fn handle_timeout(&mut self, io: &mut Io<'_, Tfrc>) {
        if self.receiver.next_timeout() <= io.now {
            self.report(io);
        }
        if self.sender.next_timeout() <= io.now {
            self.sender.on_timeout(io.now);
            if self.closed && self.sent == self.written {
                // Packets still in transit are ignored from here on.
                self.reported = self.sent;
            }
        }
        self.transmit(io);
    }

    fn transmit(&mut self, io: &mut Io<'_, Tfrc>) {
        while self.open && self.sent < self.written {
            if self.sender.next_send() > io.now {
                self.sender.on_blocked(io.now);
                return;
            }
            let bytes = (self.written - self.sent).min(u64::from(self.config.payload)) as u32;
            let rtt = self.sender.rtt();
            let body = Tfrc::Data { seq: self.seq, offset: self.sent, bytes, sent: io.now, rtt };
            self.seq += 1;
            self.packets.0 += 1;
            self.sent += u64::from(bytes);
            self.sender.on_send(io.now, self.sent < self.written);
            let outgoing = Outgoing::new(body, bytes + self.config.header, Cause::New);
            io.out.push(match self.lifetime() {
                Some(lifetime) => outgoing.living(lifetime),
                None => outgoing,
            });
        }
    }

    fn next_timeout(&self) -> Time {
        let done = self.sent == self.written && self.reported == self.sent;
        let timer = if done { Time::NEVER } else { self.sender.next_timeout() };
        let next = timer.min(self.receiver.next_timeout());
        if self.open && self.sent < self.written { next.min(self.sender.next_send()) } else { next }
    }

    fn written(&self) -> (u64, bool) {
        (self.written, self.closed)
    }

    fn report(&self) -> EndpointReport {
        let mut named = Vec::new();
        if self.packets.0 > 0 {
            named.push(("congestion_events", if self.sender.loss() > 0.0 { 1.0 } else { 0.0 }));
        } else {
            let history = self.receiver.history();
            named.push(("loss_events", history.events() as f64));
            named.push(("packets_reported_lost", history.lost() as f64));
        }
        EndpointReport { unit: self.config.payload, named, ..EndpointReport::default() }
    }

    fn delivered(&self) -> u64 {
        self.bytes
    }

    fn takes_stubs(&self) -> bool {
        true
    }

    fn expiring(&self, now: Time) -> Option<Expiring> {
        (self.sender.next_timeout() <= now)
            .then(|| Expiring { flight: self.sent - self.reported, established: true })
    }
}
