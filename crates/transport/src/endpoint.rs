//! Transport endpoints: the contract between a protocol's state machine and the host that puts it on a path.
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

/// A packet on its way out of an endpoint.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Outgoing<B = Segment> {
    /// Body.
    pub body: B,
    /// Bytes on the wire, headers counted.
    pub size: u32,
    /// Cause of transmission, if it carries data.
    pub cause: Cause,
    /// ECN codepoint of its IP header (`tcp::ecn`).
    pub ecn: u8,
    /// Network path, as the host's port number; 0 is the primary path.
    pub path: u8,
    /// Lifetime in microseconds; [`Packet::ALWAYS`]: unlimited.
    pub lives: u32,
}

impl<B> Outgoing<B> {
    /// A packet on the primary path that never expires and is not ECN-capable.
    #[inline(always)]
    pub fn new(body: B, size: u32, cause: Cause) -> Self {
        Outgoing { body, size, cause, ecn: 0, path: 0, lives: Packet::ALWAYS }
    }

    /// Sets the lifetime, counted from the transmission.
    #[must_use]
    pub fn living(mut self, lifetime: Span) -> Self {
        let micros = lifetime.as_nanos() / 1000;
        self.lives = u32::try_from(micros).map_or(Packet::ALWAYS - 1, |m| m.min(Packet::ALWAYS - 1));
        self
    }
}

/// Inputs and outputs of an endpoint's call.
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

/// A retransmission timer that is due.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Expiring {
    /// Data outstanding, in the unit of the protocol's congestion window (bytes).
    pub flight: u64,
    /// The connection is established: the timer is not that of the handshake.
    pub established: bool,
}

/// Verdict counts of the spurious detector. A timeout counts once per expiry of the timer.
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
    /// Payload of a full packet, bytes.
    pub unit: u32,
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
/// 1. *Events in*: [`open`](Endpoint::open), [`handle_packet`](Endpoint::handle_packet),
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
/// `handle_timeout` is called only when `next_timeout` is not later than `io.now`. `expiring` is asked just before
/// `handle_timeout`, with the same time. `io.now` never goes back. Any other order is legal, and every method may be
/// called after the connection has ended: it then does nothing.
///
/// # Guarantees
///
/// * `handle_timeout` makes progress: afterwards `next_timeout` is later than `io.now`, or the next call changes the
///   state again and this ends.
/// * An endpoint is a function of its configuration and of these calls. It draws random numbers only from a stream
///   that it was given at construction.
/// * A body from a hostile peer changes no more than the protocol allows, and never panics.
/// * New data of a channel ([`Body::ranges`]) leave in ascending order and without overlap; data sent before leave
///   again with a cause other than [`Cause::New`]. The ledger relies on both.
pub trait Endpoint: Socket + Send + 'static {
    /// Body of its packets.
    type Body: Body;
    /// Called at the start time: the active end sends its first packet.
    fn open(&mut self, io: &mut Io<'_, Self::Body>);
    /// A packet arrived; `head.interface` is the path by which it came, `head.ecn` its codepoint.
    fn handle_packet(&mut self, io: &mut Io<'_, Self::Body>, body: &Self::Body, head: &Packet);
    /// Called when [`Endpoint::next_timeout`] has passed.
    fn handle_timeout(&mut self, io: &mut Io<'_, Self::Body>);
    /// Sends data that the application has written, as far as the protocol allows.
    fn transmit(&mut self, io: &mut Io<'_, Self::Body>);
    /// Repeats the latest ACK, for a packet that changes nothing but must be answered. Called only if the
    /// peer is a real stack.
    fn answer(&mut self, _io: &mut Io<'_, Self::Body>) {}
    /// Processes an ICMP "fragmentation needed" from a network path: next-hop MTU in bytes, headers included
    /// (RFC 1191).
    fn handle_too_big(&mut self, _io: &mut Io<'_, Self::Body>, _path: u8, _mtu: u32) {}
    /// Next deadline; [`Time::NEVER`] if none.
    fn next_timeout(&self) -> Time;
    /// Amount written by the application so far, in any growing unit, and whether it has closed.
    fn written(&self) -> (u64, bool);
    /// The retransmission timer, if it is due at `now`.
    fn expiring(&self, now: Time) -> Option<Expiring>;
    /// Endpoint statistics.
    fn report(&self) -> EndpointReport;
    /// Application bytes delivered, where [`Socket::received`] also counts abandoned messages.
    fn delivered(&self) -> u64 {
        self.received()
    }
    /// Whether it accepts packets whose payload a router has removed ([`base::Flags::STUB`]); other endpoints
    /// never see them.
    fn takes_stubs(&self) -> bool {
        false
    }
    /// Window that it shares with endpoints of other hosts: after a call the host wakes those that may send.
    fn shares(&self) -> Option<Box<dyn Granting>> {
        None
    }
    /// Whether it would discard a packet with data that it did not have: for the transport they do not arrive.
    #[inline(always)]
    fn discards(&self, _now: Time, _body: &Self::Body) -> bool {
        false
    }
}
