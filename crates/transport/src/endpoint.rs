//! Interface between a transport endpoint ([`Endpoint`]) and its host: received packets, timers, packets to send,
//! statistics.
//!
//! An [`Endpoint`] is one end of one connection or association. It owns no clock, no randomness and no
//! socket: the host passes in the time and the packets, and takes the endpoint's packets from [`Io`]. There
//! are no callbacks.

use crate::app::Socket;
use crate::macroflow::Granting;
use base::body::Body;
use base::event::{Category, Event, Source};
use base::packet::Packet;
use base::tcp::Segment;
use base::trace::Tracer;
use base::truth::Cause;
use base::{Span, Time};

/// Which end of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// Opens the connection.
    Active,
    /// Waits for the peer to open it.
    Passive,
}

/// A packet that an endpoint sends.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Outgoing<B = Segment> {
    /// Segment, packet or message of the protocol.
    pub body: B,
    /// Bytes on the wire, headers counted.
    pub size: u32,
    /// Cause of transmission (new data or the kind of retransmission); meaningful only for data.
    pub cause: Cause,
    /// ECN codepoint of its IP header (`tcp::ecn`).
    pub ecn: u8,
    /// Network path, as the number of the host's port; 0: primary path.
    pub path: u8,
    /// Lifetime in microseconds from transmission; [`Packet::ALWAYS`]: unlimited.
    pub lives: u32,
}

impl<B> Outgoing<B> {
    /// A packet on the primary path that never expires and is not ECN-capable.
    #[inline(always)]
    pub fn new(body: B, size: u32, cause: Cause) -> Self {
        Outgoing { body, size, cause, ecn: 0, path: 0, lives: Packet::ALWAYS }
    }

    /// Sets the lifetime of the packet, which counts from its transmission.
    #[must_use]
    pub fn living(mut self, lifetime: Span) -> Self {
        let micros = lifetime.as_nanos() / 1000;
        self.lives = u32::try_from(micros).map_or(Packet::ALWAYS - 1, |m| m.min(Packet::ALWAYS - 1));
        self
    }
}

/// Inputs and outputs of one call of an endpoint's method.
pub struct Io<'a, B = Segment> {
    /// Current time.
    pub now: Time,
    /// Packets to send, in order. The host empties it after every call.
    pub out: &'a mut Vec<Outgoing<B>>,
    /// Trace recorder.
    pub tracer: &'a mut Tracer,
    /// Source of the endpoint's trace records.
    pub source: Source,
}

impl<B> Io<'_, B> {
    /// Sends a packet on the primary path.
    #[inline]
    pub fn send(&mut self, body: B, size: u32, cause: Cause) {
        self.out.push(Outgoing::new(body, size, cause));
    }
    /// Records an event that happens now.
    #[inline]
    pub fn record(&mut self, event: impl FnOnce() -> Event) {
        self.tracer.record(Category::Transport, self.now, self.source, event);
    }
}

/// Retransmission timer that expires now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Expiring {
    /// Outstanding data, bytes.
    pub flight: u64,
    /// The connection is established; otherwise the timer retransmits a packet of the handshake.
    pub established: bool,
}

/// Verdicts of the detector of spurious retransmissions. Each expiry of the timer counts as one timeout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verdicts {
    /// Timeouts judged spurious.
    pub spurious_timeouts: u64,
    /// Timeouts judged genuine.
    pub genuine_timeouts: u64,
    /// Fast retransmits judged spurious.
    pub spurious_fast: u64,
    /// Fast retransmits judged genuine.
    pub genuine_fast: u64,
}

/// Endpoint statistics that the host cannot count.
#[derive(Clone, Default, Debug)]
pub struct EndpointReport {
    /// Payload of a full-sized packet, bytes.
    pub unit: u32,
    /// Whether path MTU discovery made `unit` smaller than the connection began with.
    pub reduced: bool,
    /// Verdicts of the endpoint's spurious detector.
    pub judged: Verdicts,
    /// Protocol-specific metrics, by name.
    pub named: Vec<(&'static str, f64)>,
}

/// One end of one connection or association, of any protocol.
///
/// # Contract
///
/// There are four kinds of methods:
///
/// 1. *Events*: [`open`](Endpoint::open), [`handle_packet`](Endpoint::handle_packet),
///    [`handle_timeout`](Endpoint::handle_timeout). They change state and append packets to `io.out`.
/// 2. *The application*: the methods of [`Socket`]. They change the data to be sent and never send; the host calls
///    [`transmit`](Endpoint::transmit) after the application has returned, if [`written`](Endpoint::written) changed.
/// 3. *Polling*: [`next_timeout`](Endpoint::next_timeout), [`written`](Endpoint::written),
///    [`expiring`](Endpoint::expiring). They are pure and cheap; the host queries them after every call.
/// 4. *Reports* after the run: [`report`](Endpoint::report), and further methods of each protocol's own type.
///
/// # Order
///
/// `open` is called once, at the start time, after the application has written its first data. At the passive end it
/// sends nothing. Before `open`, `handle_packet` and `transmit` may be called (the peer may start earlier);
/// `handle_timeout` is called only when `next_timeout` is not later than `io.now`. The host calls `expiring` just before
/// `handle_timeout`, with the same time. `io.now` never goes back. Any other order is legal, and every method may be
/// called after the connection has ended: it then does nothing.
///
/// # Guarantees
///
/// * `handle_timeout` makes progress: after a finite number of calls at the same time, `next_timeout` is later than
///   `io.now`.
/// * An endpoint's behaviour depends on its configuration and on these calls only. Random numbers come from a stream
///   passed to its constructor.
/// * A body from a hostile peer changes no more than the protocol allows, and never panics.
/// * New data of a channel ([`Body::ranges`]) are sent in ascending order and without overlap. Retransmitted data have
///   a cause other than [`Cause::New`]. The ledger relies on both.
pub trait Endpoint: Socket + Send + 'static {
    /// Type of the segment, packet or message that its packets carry.
    type Body: Body;
    /// Called at the start time: the active end sends its first packet.
    fn open(&mut self, io: &mut Io<'_, Self::Body>);
    /// Processes a received packet: `head.interface` is its network path, `head.ecn` its ECN codepoint.
    fn handle_packet(&mut self, io: &mut Io<'_, Self::Body>, body: &Self::Body, head: &Packet);
    /// Processes expired timers; called when [`Endpoint::next_timeout`] is not later than `io.now`.
    fn handle_timeout(&mut self, io: &mut Io<'_, Self::Body>);
    /// Sends data that the application has written, within the protocol's windows.
    fn transmit(&mut self, io: &mut Io<'_, Self::Body>);
    /// Sends the latest ACK again, in answer to a packet that changes no state. Called only if the
    /// peer is a real stack.
    fn answer(&mut self, _io: &mut Io<'_, Self::Body>) {}
    /// Processes an ICMP "fragmentation needed" from a network path: next-hop MTU in bytes, headers included
    /// (RFC 1191).
    fn handle_too_big(&mut self, _io: &mut Io<'_, Self::Body>, _path: u8, _mtu: u32) {}
    /// Expiry of the earliest timer; [`Time::NEVER`]: no timer runs.
    fn next_timeout(&self) -> Time;
    /// Amount written by the application so far, in any unit that never decreases, and whether the application has
    /// closed.
    fn written(&self) -> (u64, bool);
    /// Retransmission timer, if it expires at `now`.
    fn expiring(&self, now: Time) -> Option<Expiring>;
    /// Endpoint statistics.
    fn report(&self) -> EndpointReport;
    /// Application bytes delivered. Differs from [`Socket::received`] where that also counts abandoned messages.
    fn delivered(&self) -> u64 {
        self.received()
    }
    /// Whether the endpoint accepts packets whose payload a router has removed ([`base::Flags::STUB`]). The host
    /// discards them for other endpoints.
    fn takes_stubs(&self) -> bool {
        false
    }
    /// Congestion window shared with other endpoints: after a call the host calls those that may send.
    fn shares(&self) -> Option<Box<dyn Granting>> {
        None
    }
    /// Whether the endpoint would discard a packet that contains new data; these data then do not count as arrived.
    #[inline(always)]
    fn discards(&self, _now: Time, _body: &Self::Body) -> bool {
        false
    }
}
