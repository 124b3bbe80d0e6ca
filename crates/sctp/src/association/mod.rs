//! Association: state and counters of one end of an SCTP association (RFC 9260), from INIT to SHUTDOWN
//! COMPLETE.

mod acknowledge;
mod cookie;
mod endpoint;
mod handshake;
mod heartbeat;
mod partial;
mod path_mtu;
mod probing;
mod receipt;
mod receive;
mod shutdown;
mod timers;
mod transmit;

use crate::chunk::{Chunk, Data, Opaque, Packet};
use crate::config::Config;
use crate::path::search::Search;
use crate::path::{Path, Reachability};
use crate::stream::{Inbound, Outbound};
use base::rng::Stream;
use base::truth::Cause;
use base::{Span, Time};
use receipt::Receipt;
use std::collections::VecDeque;
use std::sync::Arc;
use transport::app::message::{MessageEvent, MessageId};
use transport::endpoint::Role;
use transport::tcp::sender::Verdicts;

base::named! {
    /// The state of an association (RFC 9260 section 4).
    pub enum State {
        /// No association.
        Closed = "closed",
        /// INIT was sent.
        CookieWait = "cookie-wait",
        /// COOKIE ECHO was sent.
        CookieEchoed = "cookie-echoed",
        /// Data can be exchanged.
        Established = "established",
        /// The application has closed; data are outstanding.
        ShutdownPending = "shutdown-pending",
        /// SHUTDOWN was sent.
        ShutdownSent = "shutdown-sent",
        /// SHUTDOWN was received; data are outstanding.
        ShutdownReceived = "shutdown-received",
        /// SHUTDOWN ACK was sent.
        ShutdownAckSent = "shutdown-ack-sent",
    }
}

/// Fate of a DATA chunk that was sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fate {
    /// In flight.
    Flight,
    /// Acknowledged by a gap block.
    Acked,
    /// Marked for retransmission.
    Resend,
    /// Abandoned (RFC 3758).
    Abandoned,
}

/// A DATA chunk that was sent and is not yet acknowledged cumulatively.
#[derive(Clone, Copy, Debug)]
struct Sent {
    data: Data,
    fate: Fate,
    /// Path of the last transmission.
    path: u8,
    /// Number of transmissions.
    transmissions: u32,
    /// Number of consecutive missing reports.
    missing: u32,
    /// Whether it was fast-retransmitted; missing reports cause no second fast retransmit (section 7.2.4).
    fast: bool,
    /// Message of the chunk; `None` for bulk data.
    message: Option<MessageId>,
    /// Time at which the message expires.
    expires: Time,
    /// Maximum number of retransmissions; `None`: unlimited.
    retransmissions: Option<u32>,
}

impl Sent {
    //= RFC 3758 section 4.1, TR4: the lifetime is evaluated before a chunk is retransmitted
    /// Whether the chunk is abandoned once its lifetime has expired: if it is marked for retransmission, or
    /// was reported missing (TR5). Other chunks in flight wait for a SACK or for T3-rtx, because abandoned chunks do
    /// not increase the window (section 3.5, A2): after a timeout, a flow whose messages all expire in flight would
    /// keep a window of one packet.
    fn may_be_abandoned(&self) -> bool {
        self.fate == Fate::Resend || self.fate == Fate::Flight && self.missing > 0
    }
}

/// State of the peer.
#[derive(Clone, Copy, Default, Debug)]
struct Peer {
    /// Verification tag of packets to the peer.
    tag: u32,
    /// Initial TSN of the peer.
    initial: u32,
    /// Number of outbound streams of the peer.
    outbound: u16,
    /// Whether the last advertised window of the peer was 0.
    closed: bool,
    /// Whether the peer has sent a packet since the last timeout with a closed window.
    answered: bool,
    /// Estimated free space in the peer's receive buffer, bytes.
    window: u64,
    /// Both ends support ECN.
    ecn: bool,
    /// Both ends support FORWARD TSN.
    forward_tsn: bool,
}

/// Timer of the association itself: T1-init, T1-cookie or T2-shutdown.
#[derive(Clone, Copy, Debug)]
struct Control {
    deadline: Time,
    /// Number of transmissions of the control chunk.
    tries: u32,
}

/// Stopped control timer.
const IDLE: Control = Control { deadline: Time::NEVER, tries: 0 };

/// Counters of an association that the host does not keep.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Counts {
    /// HEARTBEAT chunks sent.
    pub heartbeats: u64,
    /// Path MTU probes sent (RFC 8899).
    pub probes: u64,
    /// HEARTBEAT ACK chunks that acknowledge the last HEARTBEAT of their path.
    pub heartbeats_acked: u64,
    /// Changes of the path of new data.
    pub failovers: u64,
    /// SACK chunks sent.
    pub sacks: u64,
    /// Duplicate chunks received.
    pub duplicates: u64,
    /// Messages abandoned after something of them was sent.
    pub abandoned: u64,
    /// Messages whose lifetime expired before anything of them was sent.
    pub expired: u64,
    /// Packets discarded for a wrong verification tag.
    pub wrong_tags: u64,
    /// Fast retransmits after missing reports.
    pub fast_retransmits: u64,
    /// Expiries of T3-rtx.
    pub timeouts: u64,
    /// Restarts of the association by the peer (section 5.2).
    pub restarts: u64,
}

/// One end of an association.
pub struct Association {
    config: Arc<Config>,
    /// MTU of the interface, bytes.
    interface_mtu: u32,
    role: Role,
    state: State,
    /// Own port, and port of the peer.
    ports: [u16; 2],
    /// Verification tag of packets to this end.
    tag: u32,
    /// Own initial TSN.
    initial: u32,
    peer: Peer,
    /// Key of the cookies' authenticator.
    secret: [u64; 2],
    chance: Stream,
    /// State cookie of the peer, kept for retransmissions of COOKIE ECHO.
    cookie: Option<Opaque>,
    outbound: Outbound,
    inbound: Inbound,
    receipt: Receipt,
    /// Chunks from TSN `una` to `next`, in order of TSN.
    sent: VecDeque<Sent>,
    /// All TSNs below this one are acknowledged.
    una: u64,
    /// TSN of the next new chunk.
    next: u64,
    /// Number of entries of `sent` to retransmit.
    resends: u64,
    /// Path on which the next packet of retransmissions is sent even if the window is closed.
    rush: Option<u8>,
    /// Whether T3-rtx has expired in this event: only one packet of data is sent.
    single: bool,
    /// Whether a probe of the peer's closed window may be sent.
    probe: bool,
    /// All TSNs below this one are acknowledged or abandoned (RFC 3758, Advanced.Peer.Ack.Point plus one).
    advanced: u64,
    paths: Vec<Path>,
    primary: u8,
    /// Path of the last new data.
    data_path: u8,
    /// Number of consecutive errors, over all paths.
    errors: u32,
    control: Control,
    /// Control chunks to send, with their path.
    waiting: VecDeque<(u8, Chunk)>,
    /// Whether the application has closed the association.
    closing: bool,
    /// Whether the packet being processed may release new data: see [`Config::sends_on_duplicates`].
    clocked: bool,
    /// Whether the application reads at its own rate, so that received bytes are counted in `unread`.
    slow: bool,
    /// Bytes delivered that the application has not read.
    unread: u64,
    /// User data acknowledged cumulatively, bytes.
    acked_bytes: u64,
    /// User data acknowledged cumulatively on each stream, bytes.
    acked_streams: Vec<u64>,
    /// Events for the application.
    events: VecDeque<MessageEvent>,
    verdicts: Verdicts,
    counts: Counts,
}

impl Association {
    /// An end that has neither sent nor received packets. `chance` yields tags, initial TSNs, the key of
    /// cookies and the jitter of heartbeats.
    pub fn new(config: impl Into<Arc<Config>>, role: Role, ports: [u16; 2], mut chance: Stream) -> Self {
        let config = config.into();
        let secret = [chance.bits(), chance.bits()];
        let tag = (chance.bits() as u32).max(1);
        let initial = chance.bits() as u32;
        let paths = (0..config.paths.max(1)).map(|path| Path::new(&config, path == 0)).collect();
        let mut association = Association {
            interface_mtu: config.mtu,
            role,
            state: State::Closed,
            ports,
            tag,
            initial,
            peer: Peer::default(),
            secret,
            chance,
            cookie: None,
            outbound: Outbound::new(config.streams),
            inbound: Inbound::default(),
            receipt: Receipt::new(),
            sent: VecDeque::new(),
            una: 0,
            next: 0,
            resends: 0,
            rush: None,
            single: false,
            probe: false,
            advanced: 0,
            paths,
            primary: 0,
            data_path: 0,
            errors: 0,
            control: IDLE,
            waiting: VecDeque::new(),
            closing: false,
            clocked: true,
            slow: false,
            unread: 0,
            acked_bytes: 0,
            acked_streams: vec![0; usize::from(config.streams.max(1))],
            events: VecDeque::new(),
            verdicts: Verdicts::default(),
            counts: Counts::default(),
            config,
        };
        association.begin_search();
        association
    }

    /// Options of the association.
    pub fn config(&self) -> &Config {
        &self.config
    }
    /// State of the association.
    pub fn state(&self) -> State {
        self.state
    }
    /// Network paths, the primary path first.
    pub fn paths(&self) -> &[Path] {
        &self.paths
    }
    /// Counters of the association.
    pub fn counts(&self) -> Counts {
        Counts { duplicates: self.receipt.copies, ..self.counts }
    }
    /// Verification tags, own tag first.
    pub fn tags(&self) -> [u32; 2] {
        [self.tag, self.peer.tag]
    }
    /// Initial TSNs, own one first.
    pub fn initial(&self) -> [u32; 2] {
        [self.initial, self.peer.initial]
    }
    /// Next TSN to send, and next TSN expected.
    pub fn numbers(&self) -> [u64; 2] {
        [self.next, self.receipt.next]
    }
    /// Aborts the association at the application's request (section 9.1).
    pub fn abort(&mut self) {
        if self.state != State::Closed {
            let cause = Some(crate::chunk::Failure::UserAbort);
            self.waiting.push_back((self.data_path, Chunk::Abort { reflected: false, cause }));
            self.closing = true;
        }
    }

    /// Whether data may be sent.
    fn may_send(&self) -> bool {
        matches!(self.state, State::Established | State::ShutdownPending | State::ShutdownReceived)
            && !self.verifies()
    }

    /// Whether data must wait until a HEARTBEAT ACK confirms the primary path.
    fn verifies(&self) -> bool {
        let primary = &self.paths[usize::from(self.primary)];
        self.config.verifies_path && self.role == Role::Active && primary.reach == Reachability::Unconfirmed
    }

    /// Whether the handshake is complete.
    fn associated(&self) -> bool {
        !matches!(self.state, State::Closed | State::CookieWait | State::CookieEchoed)
    }

    /// User data in flight on all paths, bytes.
    fn flight(&self) -> u64 {
        self.paths.iter().map(|path| path.flight).sum()
    }

    /// Free space in the receive buffer, bytes.
    fn room(&self) -> u64 {
        let chunks = if self.config.window_counts_headers {
            self.inbound.held_chunks(self.config.packet())
        } else {
            0
        };
        let headers = chunks * u64::from(crate::chunk::DATA_HEADER);
        self.config.window.saturating_sub(self.inbound.held() + headers + self.unread)
    }

    /// Bytes of the peer's window that a chunk occupies.
    fn weight(&self, len: u32) -> u64 {
        u64::from(len)
            + if self.config.window_counts_headers { u64::from(crate::chunk::DATA_HEADER) } else { 0 }
    }

    /// Packet to the peer with these chunks.
    fn packet(&self, chunks: Vec<Chunk>) -> Packet {
        Packet {
            ports: self.ports,
            tag: self.peer.tag,
            initial: [self.initial, self.peer.initial],
            chunks,
            divisible: false,
        }
    }

    /// Ends the association and stops all timers; `broken`: after an abort or too many errors, not by a shutdown.
    fn end(&mut self, broken: bool) {
        if broken && self.state != State::Closed {
            self.events.push_back(MessageEvent::Broken);
        }
        self.state = State::Closed;
        self.control = IDLE;
        self.waiting.clear();
        self.receipt.due = false;
        self.receipt.deadline = Time::NEVER;
        for path in &mut self.paths {
            path.timer.stop();
            path.beat_due = Time::NEVER;
            path.search.iter_mut().for_each(Search::stop);
        }
    }

    /// Cause of a packet's transmission: the cause of its first retransmitted chunk; new data without one.
    fn cause_of(chunks: &[Chunk]) -> Cause {
        let causes = chunks.iter().filter_map(|chunk| match chunk {
            Chunk::Data(data) if data.cause != Cause::New => Some(data.cause),
            _ => None,
        });
        causes.into_iter().next().unwrap_or(Cause::New)
    }

    /// Retransmission timeout of a control chunk.
    fn control_timeout(&self) -> Span {
        self.paths[usize::from(self.data_path)].timer.timeout()
    }
}
