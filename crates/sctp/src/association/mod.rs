//! Association: one end of an SCTP association, from INIT to SHUTDOWN COMPLETE (RFC 9260).

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
        /// Data flow.
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
    /// Outstanding.
    Flight,
    /// Reported by a gap block.
    Acked,
    /// To be sent again.
    Resend,
    /// Given up (RFC 3758).
    Abandoned,
}

/// A DATA chunk that was sent and not yet acknowledged cumulatively.
#[derive(Clone, Copy, Debug)]
struct Sent {
    data: Data,
    fate: Fate,
    path: u8,
    transmissions: u32,
    /// Missing reports in a row.
    missing: u32,
    /// It was fast-retransmitted: no second time by missing reports (section 7.2.4).
    fast: bool,
    message: Option<MessageId>,
    expires: Time,
    retransmissions: Option<u32>,
}

impl Sent {
    //= RFC 3758 section 4.1, TR4: the lifetime is evaluated before a chunk is retransmitted
    /// Whether it is abandoned once its lifetime is over: it is to be retransmitted, or reported missing (TR5). What else is
    /// on its way is left to its SACK or to T3: abandoned chunks do not open the window (section 3.5, A2), and after a
    /// timeout a flow whose messages all expire on their way would stay at a window of one packet.
    fn may_be_abandoned(&self) -> bool {
        self.fate == Fate::Resend || self.fate == Fate::Flight && self.missing > 0
    }
}

/// State of the peer.
#[derive(Clone, Copy, Default, Debug)]
struct Peer {
    tag: u32,
    initial: u32,
    /// Its outbound streams.
    outbound: u16,
    /// The last window that it offered was 0.
    closed: bool,
    /// It has answered since the last timeout.
    heard: bool,
    /// Room in its buffer for new data, as known here.
    window: u64,
    ecn: bool,
    forward_tsn: bool,
}

/// Timers of the association itself: T1-init, T1-cookie, T2-shutdown.
#[derive(Clone, Copy, Debug)]
struct Control {
    deadline: Time,
    tries: u32,
}

const IDLE: Control = Control { deadline: Time::NEVER, tries: 0 };

/// Counters beside those of the host.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Counts {
    /// HEARTBEAT chunks sent.
    pub heartbeats: u64,
    /// Probes of the path MTU sent (RFC 8899).
    pub probes: u64,
    /// HEARTBEAT ACK chunks that came in time.
    pub heartbeats_acked: u64,
    /// New data went to another path than before.
    pub failovers: u64,
    /// SACK chunks sent.
    pub sacks: u64,
    /// Duplicate chunks received.
    pub duplicates: u64,
    /// Messages given up.
    pub abandoned: u64,
    /// Packets with a wrong verification tag.
    pub wrong_tags: u64,
    /// Fast retransmits: losses found by missing reports.
    pub fast_retransmits: u64,
    /// Expirations of T3-rtx.
    pub timeouts: u64,
    /// Restarts by the peer (section 5.2).
    pub restarts: u64,
}

/// One end of an association.
pub struct Association {
    config: Arc<Config>,
    /// Largest IP packet of the interface, bytes.
    interface_mtu: u32,
    role: Role,
    state: State,
    ports: [u16; 2],
    tag: u32,
    initial: u32,
    peer: Peer,
    /// Key of the authenticator of cookies.
    secret: [u64; 2],
    chance: Stream,
    /// Kept to be repeated.
    cookie: Option<Opaque>,
    outbound: Outbound,
    inbound: Inbound,
    receipt: Receipt,
    sent: VecDeque<Sent>,
    /// Everything below is acknowledged.
    una: u64,
    /// The next number to be sent.
    next: u64,
    /// Number of entries of `sent` to retransmit.
    resends: u64,
    /// The next packet of retransmissions leaves even if the window is closed.
    rush: Option<u8>,
    /// A timeout has just expired: one packet leaves even if the window has no room.
    single: bool,
    /// A probe of the peer's closed window may leave.
    probe: bool,
    /// Everything below is acknowledged or given up (RFC 3758, Advanced.Peer.Ack.Point).
    advanced: u64,
    paths: Vec<Path>,
    primary: u8,
    /// Path of the last new data.
    data_path: u8,
    /// Errors in a row, over all paths.
    errors: u32,
    control: Control,
    /// Chunks that wait for a packet, and its path.
    waiting: VecDeque<(u8, Chunk)>,
    closing: bool,
    /// The packet that is taken in may let data out: see [`Config::sends_on_duplicates`].
    clocked: bool,
    /// Bytes that wait for an application that reads at its own pace.
    slow: bool,
    unread: u64,
    acked_bytes: u64,
    acked_streams: Vec<u64>,
    events: VecDeque<MessageEvent>,
    verdicts: Verdicts,
    counts: Counts,
}

impl Association {
    /// An end that has neither sent nor received. `chance` gives tags, initial numbers, the cookie's key and the jitter of
    /// heartbeats.
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

    /// Its options.
    pub fn config(&self) -> &Config {
        &self.config
    }
    /// Its state.
    pub fn state(&self) -> State {
        self.state
    }
    /// Its paths, the primary one first.
    pub fn paths(&self) -> &[Path] {
        &self.paths
    }
    /// Its counters.
    pub fn counts(&self) -> Counts {
        Counts { duplicates: self.receipt.copies, ..self.counts }
    }
    /// Verification tags of both ends, this one first.
    pub fn tags(&self) -> [u32; 2] {
        [self.tag, self.peer.tag]
    }
    /// Initial sequence numbers of both ends, this one first.
    pub fn initial(&self) -> [u32; 2] {
        [self.initial, self.peer.initial]
    }
    /// The next number that it sends, and the next that it expects.
    pub fn numbers(&self) -> [u64; 2] {
        [self.next, self.receipt.next]
    }
    /// Lets the application abort the association (section 9.1).
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

    /// The path of the data is not confirmed yet, and is to be.
    fn verifies(&self) -> bool {
        let primary = &self.paths[usize::from(self.primary)];
        self.config.verifies_path && self.role == Role::Active && primary.reach == Reachability::Unconfirmed
    }

    /// Whether the two ends know of each other.
    fn associated(&self) -> bool {
        !matches!(self.state, State::Closed | State::CookieWait | State::CookieEchoed)
    }

    fn flight(&self) -> u64 {
        self.paths.iter().map(|path| path.flight).sum()
    }

    /// Room in the receive buffer.
    fn room(&self) -> u64 {
        let chunks = if self.config.window_counts_headers {
            self.inbound.held_chunks(self.config.packet())
        } else {
            0
        };
        let headers = chunks * u64::from(crate::chunk::DATA_HEADER);
        self.config.window.saturating_sub(self.inbound.held() + headers + self.unread)
    }

    /// Bytes of the peer's window that a chunk takes.
    fn weight(&self, len: u32) -> u64 {
        u64::from(len)
            + if self.config.window_counts_headers { u64::from(crate::chunk::DATA_HEADER) } else { 0 }
    }

    fn packet(&self, chunks: Vec<Chunk>) -> Packet {
        Packet {
            ports: self.ports,
            tag: self.peer.tag,
            initial: [self.initial, self.peer.initial],
            chunks,
            divisible: false,
        }
    }

    /// Nothing more happens here: the association has ended, or was given up.
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

    /// Cause of a packet: that of the first chunk in it that was sent before.
    fn cause_of(chunks: &[Chunk]) -> Cause {
        let causes = chunks.iter().filter_map(|chunk| match chunk {
            Chunk::Data(data) if data.cause != Cause::New => Some(data.cause),
            _ => None,
        });
        causes.into_iter().next().unwrap_or(Cause::New)
    }

    /// The retransmission timeout of a control chunk.
    fn control_timeout(&self) -> Span {
        self.paths[usize::from(self.data_path)].timer.timeout()
    }
}
