//! Queueing disciplines (qdiscs): interface of a queue, interface of a discipline's scenario options, list of all
//! disciplines. A new discipline is a file of this folder and a line in the list [`disciplines!`].
//!
//! A file declares `Options`, which implements [`Discipline`]: the scenario word with its documentation and
//! options, their reader, their text form, and the queue built from them. Most disciplines are a [`Fifo`]
//! with a drop policy or with active queue management ([`Aqm`]); others implement [`Qdisc`] themselves.

mod aqm;
pub mod fifo;

pub use aqm::{Aqm, AqmVerdict, QueueView};
pub use fifo::{Discard, Fifo, FifoConfig, Room, Waiting};

use crate::element::Cx;
use base::packet::Packet;
use base::rng::{Seed, Stream};
use base::shape::{Field, Need, Shape, ValueKind, Values, Variant, field};
use base::{Span, Time};
use std::fmt::Debug;

/// Interface of the queue of one packet class to its link.
pub trait Qdisc: Debug + Send {
    /// Backlog, packets.
    fn len(&self) -> usize;
    /// Whether the backlog is empty.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Backlog without background load, packets.
    fn real(&self) -> usize;
    /// The next packet to depart, which may be dropped at the head instead. The answer does not change until a
    /// packet is taken or arrives.
    fn head(&mut self) -> Option<&Packet>;
    /// Whether packets have a maximum sojourn time.
    fn has_stay(&self) -> bool {
        false
    }
    /// Whether [`Qdisc::head`] or [`Qdisc::take`] may drop packets, or depend on the time.
    fn drops_at_head(&self) -> bool {
        true
    }
    /// Time at which the next packet reaches its maximum sojourn time.
    fn expires(&self) -> Time {
        Time::NEVER
    }
    /// Drops packets beyond their maximum sojourn time; returns their number.
    fn expire(&mut self, _cx: &mut Cx<'_>) -> usize {
        0
    }
    /// Enqueues a packet that arrives after the link was idle for `idle`. `at_once`: the packet departs without
    /// waiting, so no limit applies. Returns the number of packets dropped, including the arriving one if dropped.
    fn join(&mut self, cx: &mut Cx<'_>, packet: Packet, idle: Span, at_once: bool) -> usize;
    /// Removes and returns the packet at the head; none if it was dropped by AQM or for its deadline.
    fn take(&mut self, cx: &mut Cx<'_>) -> Option<Waiting>;
    /// Drops the packets selected by `which`; returns their number.
    fn flush(&mut self, cx: &mut Cx<'_>, which: &dyn Fn(&Cx<'_>, &Packet) -> bool) -> usize;
}

/// Options of a discipline from a scenario: plain data with a reader and a queue builder.
pub trait Discipline: Copy + PartialEq + Debug {
    /// Scenario word, documentation sentence, and declaration of the options.
    const VARIANT: Variant;
    /// Whether a plain link supports the discipline; otherwise the link becomes a channel.
    const PLAIN: bool = false;
    /// Reads the options from a checked table.
    fn read(values: &dyn Values) -> Option<QueueSpec>;
    /// Queue limit.
    fn limit(&self) -> Room;
    /// Text form, such as "drop-tail queue of 10 packets".
    fn words(&self) -> String;
    /// Builds the queue of one link or class.
    fn queue(&self, site: &QueueSite<'_>) -> Queue;
}

/// Properties of a queue's link, and the random streams of the repetition.
#[derive(Clone, Copy, Debug)]
pub struct QueueSite<'a> {
    /// Seed of the repetition.
    pub seed: Seed,
    /// Name of the link or class, used for its random streams.
    pub name: &'a str,
    /// Mean rate of the link, bit/s; none: unlimited.
    pub rate_bps: Option<f64>,
    /// Maximum sojourn time of packets.
    pub stay: Option<Span>,
    /// Whether an arriving packet is dropped if a packet with the same data waits.
    pub unique: bool,
}

impl QueueSite<'_> {
    /// Random stream of the queue for `purpose`.
    pub fn stream(&self, purpose: &str) -> Stream {
        self.seed.stream(self.name, purpose)
    }

    /// A FIFO queue with a drop policy.
    pub fn fifo(&self, room: Room, discard: Discard) -> Queue {
        let QueueSite { stay, unique, .. } = *self;
        FifoConfig { room, discard, stay, aqm: None, unique }.into()
    }

    /// A FIFO queue with active queue management.
    pub fn managed(&self, room: Room, aqm: impl Aqm + 'static) -> Queue {
        let QueueSite { stay, unique, .. } = *self;
        FifoConfig { room, discard: Discard::Tail, stay, aqm: Some(Box::new(aqm)), unique }.into()
    }
}

/// Generates the scenario type, its words and documentation, and the dispatch from the list of disciplines.
macro_rules! disciplines {
    ($($(#[$doc:meta])+ $name:ident in $module:ident;)+) => {
        $(pub mod $module;)+

        /// Queueing discipline with its options, as configured in a scenario.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub enum QueueSpec { $($(#[$doc])+ $name($module::Options)),+ }

        impl QueueSpec {
            /// Words, documentation and options of all disciplines.
            pub const VARIANTS: &'static [Variant] = &[$($module::Options::VARIANT),+];

            /// Reads the discipline of this name.
            pub fn read(name: &str, values: &dyn Values) -> Option<QueueSpec> {
                $(if name == $module::Options::VARIANT.name {
                    return $module::Options::read(values);
                })+
                None
            }
            /// Queue limit.
            pub fn limit(&self) -> Room {
                match self { $(QueueSpec::$name(options) => options.limit()),+ }
            }
            /// Whether a plain link supports the discipline.
            pub fn is_plain(&self) -> bool {
                match self { $(QueueSpec::$name(_) => $module::Options::PLAIN),+ }
            }
            /// Text form.
            pub fn words(&self) -> String {
                match self { $(QueueSpec::$name(options) => options.words()),+ }
            }
            /// Builds the queue of one link or class.
            pub fn queue(&self, site: &QueueSite<'_>) -> Queue {
                match self { $(QueueSpec::$name(options) => options.queue(site)),+ }
            }
        }
    };
}

// The list of disciplines, from which words, options, documentation, schema and queues are generated.
disciplines! {
    /// Unlimited FIFO queue.
    Unlimited in unlimited;
    /// FIFO; the arriving packet is dropped when full.
    DropTail in drop_tail;
    /// FIFO; the oldest waiting packet is dropped when full.
    DropHead in drop_head;
    /// FIFO; a random packet, possibly the arriving one, is dropped when full.
    DropRandom in drop_random;
    /// FIFO; the packet with the earliest sending time is dropped when full.
    DropOldest in drop_oldest;
    /// FIFO; expired packets are dropped when full, and at the head.
    DropLate in drop_late;
    /// Random early detection (RED).
    Red in red;
    /// Marks ECN-capable packets from a threshold of the backlog on.
    Threshold in threshold;
    /// Drops one packet at a soft threshold, all arrivals at a hard one.
    Dual in dual_threshold;
    /// FQ-CoDel (RFC 8290): flow queues with CoDel.
    FqCoDel in fq_codel;
    /// CoDel (RFC 8289): controlled delay.
    CoDel in codel;
    /// Deadline-aware queue.
    Deadline in deadline;
    /// PIE (RFC 8033): proportional integral controller, enhanced.
    Pie in pie;
}

impl Default for QueueSpec {
    fn default() -> Self {
        QueueSpec::Unlimited(unlimited::Options)
    }
}

/// Queue of a class of packets: the common FIFO inline, any other discipline boxed.
#[derive(Debug)]
pub enum Queue {
    /// First in, first out.
    Fifo(Fifo),
    /// A discipline that implements [`Qdisc`] itself.
    Other(Box<dyn Qdisc>),
}

impl Default for Queue {
    fn default() -> Self {
        FifoConfig::default().into()
    }
}

impl From<FifoConfig> for Queue {
    fn from(config: FifoConfig) -> Queue {
        Queue::Fifo(Fifo::new(config))
    }
}

macro_rules! either {
    ($self:expr, $queue:ident => $call:expr) => {
        match $self {
            Queue::Fifo($queue) => $call,
            Queue::Other($queue) => $call,
        }
    };
}

impl Qdisc for Queue {
    #[inline]
    fn len(&self) -> usize {
        either!(self, q => q.len())
    }
    fn real(&self) -> usize {
        either!(self, q => q.real())
    }
    #[inline]
    fn head(&mut self) -> Option<&Packet> {
        either!(self, q => q.head())
    }
    fn has_stay(&self) -> bool {
        either!(self, q => q.has_stay())
    }
    fn drops_at_head(&self) -> bool {
        either!(self, q => q.drops_at_head())
    }
    fn expires(&self) -> Time {
        either!(self, q => q.expires())
    }
    fn expire(&mut self, cx: &mut Cx<'_>) -> usize {
        either!(self, q => q.expire(cx))
    }
    fn join(&mut self, cx: &mut Cx<'_>, packet: Packet, idle: Span, at_once: bool) -> usize {
        either!(self, q => q.join(cx, packet, idle, at_once))
    }
    fn take(&mut self, cx: &mut Cx<'_>) -> Option<Waiting> {
        either!(self, q => q.take(cx))
    }
    fn flush(&mut self, cx: &mut Cx<'_>, which: &dyn Fn(&Cx<'_>, &Packet) -> bool) -> usize {
        either!(self, q => q.flush(cx, which))
    }
}

/// Option `limit` of a queue with AQM.
const LIMIT: Field = field(
    "limit",
    Shape::One(ValueKind::Limits),
    Need::Default("\"1000 packets\""),
    "Queue limit: packets, data, or both with a comma.",
);
/// Option `ecn` of a queue with AQM.
const ECN: Field = field(
    "ecn",
    Shape::One(ValueKind::Flag),
    Need::Default("false"),
    "Packets of connections with ECN are marked in place of dropped (RFC 3168).",
);

/// Reads a queue limit.
fn room(values: &dyn Values, key: &str) -> Option<Room> {
    values.limits(key).map(|(packets, bytes)| Room { packets, bytes })
}
