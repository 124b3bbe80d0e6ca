//! Queue model: limits and drop policy or AQM.

use base::{Rate, Span};
pub use path::channel::dual_threshold::{Another, Rearm, Victim};
use path::deadline::{Check, Expired, Order, Overflow, Units};

/// What waits for service, beside the packet in service.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Queue {
    /// Everything waits.
    Unlimited,
    /// First in, first out; what finds it full is dropped.
    DropTail(Capacity),
    /// First in, first out; when full, the oldest waiting packet makes room.
    DropHead(Capacity),
    /// First in, first out; when full, any one of those that wait or the one that comes is dropped.
    DropRandom(Capacity),
    /// First in, first out; when full, the packet that was sent first is dropped.
    DropOldest(Capacity),
    /// First in, first out; packets whose deadline is over are dropped when it is full, and at the head.
    DropLate(Capacity),
    /// First in, first out; packets are dropped or marked before it is full.
    Red(Red),
    /// First in, first out; packets that find it long are marked.
    Threshold(Threshold),
    /// First in, first out; one packet is dropped at a soft threshold.
    Dual(Dual),
    /// A queue for each connection, managed by CoDel.
    FqCoDel(FqCoDel),
    /// First in, first out; packets that waited too long are dropped at the head.
    CoDel(CoDel),
    /// First in, first out; packets are dropped as they come, so that the wait stays short.
    Pie(Pie),
    /// Knows the lifetimes of packets.
    Deadline(Deadline),
}

impl Queue {
    /// Whether a plain link has such a queue.
    pub fn is_plain(&self) -> bool {
        matches!(
            self,
            Queue::Unlimited | Queue::DropTail(_) | Queue::DropHead(_) | Queue::Red(_) | Queue::Deadline(_)
        )
    }
}

/// A deadline-aware queue: see [`path::deadline`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Deadline {
    /// What may wait at most.
    pub limit: Capacity,
    /// When deadlines are looked at.
    pub check: Check,
    /// Lifetime that a packet needs.
    pub margin: Margin,
    /// What becomes of expired packets.
    pub expired: Expired,
    /// Bytes of their headers.
    pub header: u32,
    /// Which packet is sent next.
    pub order: Order,
    /// What is done with whole units.
    pub units: Units,
    /// Who makes room.
    pub overflow: Overflow,
    /// The router's clock less the senders', nanoseconds.
    pub skew_ns: i64,
    /// The packet after an expired one says so.
    pub signals: bool,
    /// Below this rate packets wait as long as they can.
    pub hold_below: Option<Rate>,
}

/// Lifetime that a packet needs at a router to be worth its transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Margin {
    /// This much.
    Fixed(Span),
    /// What the remaining links take at least.
    Path,
}

/// Marks above a threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Threshold {
    /// From how much on packets are marked.
    pub mark: Capacity,
    /// What may wait at most.
    pub limit: Capacity,
}

/// One packet at a soft threshold, everything at a hard one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dual {
    /// From how much on a single packet is dropped.
    pub soft: Capacity,
    /// What may wait at most: the hard threshold.
    pub hard: Capacity,
    /// Which packet.
    pub victim: Victim,
    /// When it is armed again.
    pub rearm: Rearm,
    /// When another flow loses one too.
    pub another: Option<Another>,
}

/// Flow queues with controlled delay (RFC 8290).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FqCoDel {
    /// Number of queues.
    pub flows: u32,
    /// Bytes that a queue may send in a round.
    pub quantum: u32,
    /// A wait that is good.
    pub target: Span,
    /// A long round trip.
    pub interval: Span,
    /// Packets that understand ECN are marked.
    pub ecn: bool,
    /// What may wait at most, in all queues.
    pub limit: Capacity,
}

/// Controlled delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoDel {
    /// A wait that is good.
    pub target: Span,
    /// A long round trip.
    pub interval: Span,
    /// Packets that understand ECN are marked.
    pub ecn: bool,
    /// What may wait at most.
    pub limit: Capacity,
}

/// The proportional integral controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pie {
    /// A wait that is good.
    pub target: Span,
    /// How often the probability moves.
    pub update: Span,
    /// Nothing is dropped for so long.
    pub burst: Span,
    /// Packets that understand ECN are marked.
    pub ecn: bool,
    /// What may wait at most.
    pub limit: Capacity,
}

/// Random early detection; what is not given follows from the link's rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Red {
    /// What may wait at most.
    pub limit: Capacity,
    /// Average queue from which on packets are dropped, packets.
    pub min: Option<f64>,
    /// Average queue at which the probability is reached, packets.
    pub max: Option<f64>,
    /// Weight of the present queue in the average.
    pub weight: Option<f64>,
    /// Probability at `max`.
    pub probability: f64,
    /// Beyond `max` the probability rises to 1 at twice that.
    pub gentle: bool,
    /// The probability adapts.
    pub adaptive: bool,
    /// Packets that understand ECN are marked.
    pub ecn: bool,
    /// A typical packet, bytes.
    pub packet: u64,
}

/// How much may wait: whichever limit is reached first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// Packets.
    pub packets: Option<u32>,
    /// Bytes.
    pub bytes: Option<u64>,
}

impl Capacity {
    /// Whether anything fits.
    pub fn is_unlimited(&self) -> bool {
        self.packets.is_none() && self.bytes.is_none()
    }
}
