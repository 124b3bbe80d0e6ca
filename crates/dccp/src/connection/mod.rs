//! One end of a DCCP connection (RFC 4340 section 8): states, sequence validity, acknowledgements, data.
//!
//! Departs from the RFC in this: messages longer than a packet are cut by the sender and put together by the receiver,
//! as an application would; sequence numbers are always extended; Init Cookies and mobility are not used.

mod data;
mod features;
mod machine;

pub use data::{Delivered, Lifetime};
pub use machine::State;

use crate::ackvec::Received;
use crate::ccid::ccid3::Ccid3;
use crate::ccid::{Ccid, Receiving, Rules, Sending};
use crate::packet::{Dccp, Kind};
use crate::tfrc::SenderConfig;
use base::packet::Packet;
use base::{Span, Time};
use data::{Inbox, Outbox};
use features::Features;
use transport::app::Socket;
use transport::app::message::{Message, MessageEvent, MessageId};
use transport::endpoint::{Endpoint, EndpointReport, Expiring, Io, Role};

/// Configuration of one endpoint.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Congestion controls in order of preference.
    pub ccids: Vec<Ccid>,
    /// Most bytes of application data in a packet.
    pub payload: u32,
    /// Bytes of the IP header.
    pub ip_header: u32,
    /// Data packets per acknowledgement (CCID 2).
    pub ack_ratio: u16,
    /// Width of the sequence validity window (RFC 4340 section 7.5.2).
    pub sequence_window: u64,
    /// Service code.
    pub service: u32,
    /// ECN-capable transport is declared on data packets.
    pub ecn: bool,
    /// Acknowledgements of CCID 3 carry Ack Vectors too.
    pub ack_vectors: bool,
    /// Behaviour of CCID 3 where Linux departs from the RFCs.
    pub rules: Rules,
    /// Lifetime of data packets in the network.
    pub lifetime: Lifetime,
    /// Lifetime of acknowledgements beyond the receiver's round trip; none: no limit (catalogue AT-20).
    pub ack_lifetime: Option<Span>,
    /// Initial window of TFRC in packets; 0: as in RFC 5348 section 4.2.
    pub initial_window: u32,
    /// Most messages that wait in the send buffer; a full buffer discards the oldest unsent one. 0: no limit.
    pub send_queue: u32,
    /// Initial sequence number.
    pub isn: u64,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            ccids: vec![Ccid::Tfrc, Ccid::Tcplike],
            payload: 1000,
            ip_header: 20,
            ack_ratio: 2,
            sequence_window: 1000,
            service: 42,
            ecn: false,
            ack_vectors: false,
            rules: Rules::Rfc,
            lifetime: Lifetime::Always,
            ack_lifetime: None,
            initial_window: 0,
            send_queue: 0,
            isn: 1,
        }
    }
}

/// Counters of one endpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Data packets sent.
    pub data_sent: u64,
    /// Data packets that arrived, each once.
    pub data_received: u64,
    /// Data packets that congestion control declared lost.
    pub data_lost: u64,
    /// Data packets that arrived after their message's lifetime.
    pub late: u64,
    /// Packets outside the sequence window.
    pub invalid: u64,
    /// DCCP-Sync packets sent.
    pub syncs: u64,
    /// DCCP-Reset packets received or sent with a reason other than a normal close.
    pub errors: u64,
}

/// Endpoint of a DCCP connection.
pub struct Connection {
    config: Config,
    role: Role,
    state: State,
    /// Greatest sequence number sent and received, greatest acknowledgement received (RFC 4340 section 7.1).
    gss: u64,
    gsr: u64,
    gar: u64,
    iss: u64,
    isr: u64,
    features: Features,
    sending: Sending,
    receiving: Receiving,
    received: Received,
    outbox: Outbox,
    inbox: Inbox,
    /// Retransmission timer of the handshake or the close.
    timer: Time,
    /// Expirations of the timer in the current phase of the handshake or close.
    expirations: u32,
    opened_at: Time,
    last_sync: Time,
    /// Packets without data sent since the last one with data.
    dataless: u64,
    /// Data packets sent since an acknowledgement of the peer's acknowledgements left.
    unconfirmed: u32,
    counters: Counters,
}

impl Connection {
    /// A connection that has not been opened.
    pub fn new(config: Config, role: Role) -> Self {
        let ccid = config.ccids.first().copied().unwrap_or(Ccid::Tfrc);
        let iss = config.isn.max(1);
        Connection {
            state: if role == Role::Active { State::Closed } else { State::Listen },
            role,
            gss: iss,
            gsr: 0,
            gar: 0,
            iss,
            isr: 0,
            features: Features::new(&config),
            sending: sending(&config, ccid),
            receiving: Receiving::new(ccid, u32::from(config.ack_ratio), config.rules),
            received: Received::default(),
            outbox: Outbox::default(),
            inbox: Inbox::default(),
            timer: Time::NEVER,
            expirations: 0,
            opened_at: Time::ZERO,
            last_sync: Time::ZERO,
            dataless: 0,
            unconfirmed: 0,
            counters: Counters::default(),
            config,
        }
    }

    /// State of the connection (RFC 4340 section 8).
    pub fn state(&self) -> State {
        self.state
    }
    /// Round-trip time of the sending half-connection; zero before the first sample.
    pub fn rtt(&self) -> Span {
        self.sending.rtt()
    }
    /// Packet counters.
    pub fn counters(&self) -> Counters {
        self.counters
    }
    /// Congestion control of the sending half-connection.
    pub fn congestion(&self) -> &Sending {
        &self.sending
    }
    /// Acknowledgement generator of the receiving half-connection.
    pub fn reports(&self) -> &Receiving {
        &self.receiving
    }
    /// True if unsent data wait in the send buffer.
    pub fn is_waiting(&self) -> bool {
        self.outbox.is_waiting()
    }
    /// Completely received messages.
    pub fn delivered(&self) -> &[Delivered] {
        self.inbox.delivered()
    }
    /// Bytes of application data that arrived, each once.
    pub fn bytes_received(&self) -> u64 {
        self.inbox.bytes()
    }
    /// Negotiated congestion control.
    pub fn ccid(&self) -> Ccid {
        self.features.ccid()
    }
}

fn sending(config: &Config, ccid: Ccid) -> Sending {
    match ccid {
        Ccid::Tcplike => Sending::Tcplike(Box::default()),
        Ccid::Tfrc => {
            // RFC 4342 section 5.3: the packet size of the equation counts the application's data and the header.
            let size = config.payload + DATA_HEADER;
            let tfrc =
                SenderConfig { size, initial_window: config.initial_window, ..SenderConfig::default() };
            Sending::Tfrc(Box::new(Ccid3::new(tfrc, config.rules)))
        }
    }
}

/// Bytes of the header of a data packet.
const DATA_HEADER: u32 = 16;

impl Socket for Connection {
    fn write(&mut self, bytes: u64) {
        self.outbox.append(bytes);
    }
    fn close(&mut self) {
        self.outbox.close();
    }
    fn stop(&mut self) {
        self.outbox.stop();
    }
    /// Data in order, abandoned data included: the stream's position, since nothing is retransmitted.
    fn received(&self) -> u64 {
        self.inbox.position()
    }
    /// Stream offset in bytes below which all data are known to be delivered or lost.
    fn acknowledged(&self) -> u64 {
        self.outbox.settled()
    }
    fn send(&mut self, message: Message) -> Option<MessageId> {
        Some(self.outbox.queue(message, self.config.send_queue))
    }
    fn keeps_messages(&self) -> bool {
        true
    }
    fn has_events(&self) -> bool {
        self.outbox.has_events() || self.inbox.has_events()
    }
    fn poll_event(&mut self) -> Option<MessageEvent> {
        self.inbox.event().or_else(|| self.outbox.event())
    }
}

impl Endpoint for Connection {
    type Body = Dccp;

    fn open(&mut self, io: &mut Io<'_, Dccp>) {
        self.outbox.stamp(io.now);
        self.start(io);
    }

    fn handle_packet(&mut self, io: &mut Io<'_, Dccp>, body: &Dccp, head: &Packet) {
        self.on_packet(io, body, head);
        self.transmit(io);
    }

    fn handle_timeout(&mut self, io: &mut Io<'_, Dccp>) {
        self.on_machine_timeout(io);
        if self.sending.next_timeout() <= io.now {
            self.sending.on_timeout(io.now);
            self.outbox.settle_all_sent(&self.sending);
        }
        if self.receiving.next_timeout() <= io.now {
            self.acknowledge(io);
        }
        self.transmit(io);
    }

    fn transmit(&mut self, io: &mut Io<'_, Dccp>) {
        self.outbox.stamp(io.now);
        self.outbox.expire(io.now);
        self.send_data(io);
        self.finish_if_done(io);
    }

    fn next_timeout(&self) -> Time {
        let mut next = self.timer.min(self.sending.next_timeout()).min(self.receiving.next_timeout());
        if self.state.carries_data() && self.outbox.is_waiting() {
            next = next.min(self.sending.next_send()).min(self.outbox.next_expiry());
        }
        next
    }

    fn written(&self) -> (u64, bool) {
        self.outbox.written()
    }

    fn report(&self) -> EndpointReport {
        let Counters { data_lost, syncs, .. } = self.counters;
        let named = if self.role == Role::Active {
            let events = self.sending.congestion_events();
            vec![
                ("packets_reported_lost", data_lost as f64),
                ("congestion_events", events as f64),
                ("synchronisations", syncs as f64),
            ]
        } else {
            Vec::new()
        };
        EndpointReport { unit: self.config.payload, named, ..EndpointReport::default() }
    }

    fn delivered(&self) -> u64 {
        self.inbox.bytes()
    }

    fn takes_stubs(&self) -> bool {
        true
    }

    fn expiring(&self, now: Time) -> Option<Expiring> {
        let handshake = self.timer <= now && self.state == State::Request;
        let data = self.sending.next_timeout() <= now;
        (handshake || data)
            .then(|| Expiring { flight: self.outbox.unsettled(), established: self.state.carries_data() })
    }
}

/// Packet type for application data: DataAck with an acknowledgement number, else Data.
fn kind_with_data(acks: bool) -> Kind {
    if acks { Kind::DataAck } else { Kind::Data }
}
