//! Queue model: limits and drop policy or AQM.

use base::Span;

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
    /// First in, first out; packets that waited too long are dropped at the head.
    CoDel(CoDel),
    /// First in, first out; packets are dropped as they come, so that the wait stays short.
    Pie(Pie),
}

impl Queue {
    /// Whether a plain link has such a queue.
    pub fn is_plain(&self) -> bool {
        matches!(self, Queue::Unlimited | Queue::DropTail(_) | Queue::DropHead(_) | Queue::Red(_))
    }
}

/// Marks above a threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Threshold {
    /// From how much on packets are marked.
    pub mark: Capacity,
    /// What may wait at most.
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
