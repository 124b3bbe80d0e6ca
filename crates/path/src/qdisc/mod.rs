//! Queueing disciplines: which packet is kept, which leaves next, which is dropped. One discipline is one file of this
//! folder and one line of the list [`disciplines!`].
//!
//! A file declares `Options`, which implements [`Discipline`]: the word of scenario files with its documentation and its
//! options, how they are read, what they are called in text, and the queue that is built of them. Most are a [`Fifo`]
//! with a drop policy or with active queue management ([`Aqm`]); others implement [`Qdisc`] themselves.

mod aqm;
pub mod fifo;

pub use aqm::{Aqm, Verdict, View};
pub use fifo::{Discard, Fifo, FifoConfig, Room, Waiting};

use crate::element::Cx;
use base::packet::Packet;
use base::rng::{Seed, Stream};
use base::shape::{Field, Kind, Need, Shape, Values, Variant, field};
use base::{Span, Time};
use std::fmt::Debug;

/// Queue of a class of packets, as its link uses it.
pub trait Qdisc: Debug + Send {
    /// Packets that wait.
    fn len(&self) -> usize;
    /// Whether none waits.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Packets that wait and are no background load.
    fn real(&self) -> usize;
    /// The packet that leaves next unless it is dropped at the head; unchanged until it is taken or another comes.
    fn head(&mut self) -> Option<&Packet>;
    /// Whether packets have a maximum sojourn time.
    fn has_stay(&self) -> bool {
        false
    }
    /// When the next packet reaches its maximum sojourn time.
    fn expires(&self) -> Time {
        Time::NEVER
    }
    /// Drops packets beyond their maximum sojourn time; how many.
    fn expire(&mut self, _cx: &mut Cx<'_>) -> usize {
        0
    }
    /// A packet comes when the link has been idle for `idle`; with `at_once` it would not have to wait, and no limit
    /// holds for it. Returns how many packets were dropped; it may be among them.
    fn join(&mut self, cx: &mut Cx<'_>, packet: Packet, idle: Span, at_once: bool) -> usize;
    /// Takes the packet at the head; none if that one is dropped in place of taken, by AQM or deadline.
    fn take(&mut self, cx: &mut Cx<'_>) -> Option<Waiting>;
    /// Drops the packets for which `which` holds; how many.
    fn flush(&mut self, cx: &mut Cx<'_>, which: &dyn Fn(&Cx<'_>, &Packet) -> bool) -> usize;
}

/// Options of a discipline as a scenario gives them: plain data that reads itself and builds its queue.
pub trait Discipline: Copy + PartialEq + Debug {
    /// Its word, a sentence, and the declaration of its options.
    const VARIANT: Variant;
    /// A plain link has it built in, without the channel of a mobile link.
    const PLAIN: bool = false;
    /// The choice that a checked table stands for.
    fn read(values: &dyn Values) -> Option<QueueSpec>;
    /// What may wait at most.
    fn limit(&self) -> Room;
    /// The choice in a few words: "drop-tail queue of 10 packets".
    fn words(&self) -> String;
    /// The queue of one link or class.
    fn queue(&self, site: &QueueSite<'_>) -> Queue;
}

/// Where a queue is built: its link and the random streams of the repetition.
#[derive(Clone, Copy, Debug)]
pub struct QueueSite<'a> {
    /// Seed of the repetition.
    pub seed: Seed,
    /// Name of the link or class, which its random streams bear.
    pub name: &'a str,
    /// Mean rate of the link, bit/s; none: unlimited.
    pub rate_bps: Option<f64>,
    /// Maximum sojourn time of its packets.
    pub stay: Option<Span>,
    /// A copy of data that still wait is dropped.
    pub unique: bool,
}

impl QueueSite<'_> {
    /// The random stream of the queue for this purpose.
    pub fn stream(&self, purpose: &str) -> Stream {
        self.seed.stream(self.name, purpose)
    }

    /// A first-in first-out queue with a drop policy.
    pub fn fifo(&self, room: Room, discard: Discard) -> Queue {
        let QueueSite { stay, unique, .. } = *self;
        FifoConfig { room, discard, stay, aqm: None, unique }.into()
    }

    /// A first-in first-out queue with active queue management.
    pub fn managed(&self, room: Room, aqm: impl Aqm + 'static) -> Queue {
        let QueueSite { stay, unique, .. } = *self;
        FifoConfig { room, discard: Discard::Tail, stay, aqm: Some(Box::new(aqm)), unique }.into()
    }
}

/// Makes of the list of disciplines the choice in scenarios, its words, its documentation, and the dispatch.
macro_rules! disciplines {
    ($($(#[$doc:meta])+ $name:ident in $module:ident;)+) => {
        $(pub mod $module;)+

        /// Queueing discipline with its options, as a scenario chooses it.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub enum QueueSpec { $($(#[$doc])+ $name($module::Options)),+ }

        impl QueueSpec {
            /// Words, documentation and options of all disciplines.
            pub const VARIANTS: &'static [Variant] = &[$($module::Options::VARIANT),+];

            /// The discipline of this name with these options.
            pub fn read(name: &str, values: &dyn Values) -> Option<QueueSpec> {
                $(if name == $module::Options::VARIANT.name {
                    return $module::Options::read(values);
                })+
                None
            }
            /// What may wait at most.
            pub fn limit(&self) -> Room {
                match self { $(QueueSpec::$name(options) => options.limit()),+ }
            }
            /// Whether a plain link has it built in.
            pub fn is_plain(&self) -> bool {
                match self { $(QueueSpec::$name(_) => $module::Options::PLAIN),+ }
            }
            /// The choice in a few words.
            pub fn words(&self) -> String {
                match self { $(QueueSpec::$name(options) => options.words()),+ }
            }
            /// The queue of one link or class.
            pub fn queue(&self, site: &QueueSite<'_>) -> Queue {
                match self { $(QueueSpec::$name(options) => options.queue(site)),+ }
            }
        }
    };
}

// THE list of disciplines: word, options, documentation, schema and queue are made known here and nowhere else.
disciplines! {
    /// Everything waits.
    Unlimited in unlimited;
    /// First in, first out; what finds it full is dropped.
    DropTail in drop_tail;
    /// First in, first out; when full, the oldest waiting packet makes room.
    DropHead in drop_head;
    /// First in, first out; when full, one of those that wait or the one that comes is dropped.
    DropRandom in drop_random;
    /// First in, first out; when full, the packet that was sent first is dropped.
    DropOldest in drop_oldest;
    /// First in, first out; packets whose deadline is over are dropped when it is full, and at the head.
    DropLate in drop_late;
    /// Random early detection (RED).
    Red in red;
    /// Marks above an instantaneous threshold.
    Threshold in threshold;
    /// One packet is dropped at a soft threshold.
    Dual in dual_threshold;
    /// Flow queues with CoDel (RFC 8290).
    FqCoDel in fq_codel;
    /// Controlled delay (RFC 8289).
    CoDel in codel;
    /// Knows the lifetimes of packets.
    Deadline in deadline;
    /// Proportional integral controller, enhanced (RFC 8033).
    Pie in pie;
}

impl Default for QueueSpec {
    fn default() -> Self {
        QueueSpec::Unlimited(unlimited::Options)
    }
}

/// The queue of a class of packets: the usual one in place, any other behind a pointer.
#[derive(Debug)]
pub enum Queue {
    /// First in, first out.
    Fifo(Fifo),
    /// A discipline of its own.
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

/// `limit` of a managed queue.
const LIMIT: Field = field(
    "limit",
    Shape::One(Kind::Limits),
    Need::Default("\"1000 packets\""),
    "What may wait at most: packets, data, or both with a comma.",
);
/// `ecn` of a managed queue.
const ECN: Field = field(
    "ecn",
    Shape::One(Kind::Flag),
    Need::Default("false"),
    "Packets of connections with ECN are marked in place of dropped (RFC 3168).",
);

/// A limit of a queue.
fn room(values: &dyn Values, key: &str) -> Option<Room> {
    values.limits(key).map(|(packets, bytes)| Room { packets, bytes })
}
