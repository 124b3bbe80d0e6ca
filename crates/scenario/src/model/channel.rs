//! Channel model: classes, buffers, framing, allocation, errors, ARQ, flow control, states.
//!
//! What Seawind's channel has: classes, buffers, frames, resources, errors, repeats, credit; and machines of states
//! that change it.

use super::{Capacity, Queue};
use base::dist::Dist;
use base::{Span, Time};
pub use path::channel::class::Kind;
pub use path::channel::follow::{Flush, Service};
pub use path::channel::frame::Framing;

/// What makes a link more than a plain one.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Channel {
    /// How long a packet may wait in the queue.
    pub stay: Option<Span>,
    /// A copy of data that still wait is dropped.
    pub unique: bool,
    /// Classes of packets with queues of their own, in the order in which they are asked.
    pub classes: Vec<Class>,
    /// How packets become frames.
    pub framing: Framing,
    /// What waits behind the queue.
    pub send_buffer: Option<Capacity>,
    /// What waits at the far end.
    pub receive_buffer: Option<Capacity>,
    /// Resources that an idle link has to be given.
    pub allocation: Option<Allocation>,
    /// How frames that came wrong are repeated.
    pub arq: Option<Arq>,
    /// Packets may overtake each other where some are late.
    pub order_free: bool,
    /// What the next link lets this one send.
    pub credit: Option<Credit>,
    /// It gives credit to the link before it.
    pub grants: bool,
    /// Indexes of the sources of errors on it.
    pub errors: Vec<usize>,
    /// Indexes of the machines that change it.
    pub machines: Vec<usize>,
}

/// A class of packets.
#[derive(Clone, Debug, PartialEq)]
pub struct Class {
    /// Its name.
    pub name: String,
    /// Names of its flows; none: any.
    pub flows: Option<Vec<String>>,
    /// Service class of the IP header; none: any.
    pub dscp: Option<u8>,
    /// Least and greatest size, bytes on the wire.
    pub size: Option<(u32, u32)>,
    /// What its packets carry; none: anything.
    pub kind: Option<Kind>,
    /// Smaller goes first.
    pub priority: u32,
    /// Its share among those of the same priority.
    pub weight: u32,
    /// What waits.
    pub queue: Queue,
    /// How long a packet may wait.
    pub stay: Option<Span>,
    /// What comes faster than this, bursts of so many bytes aside, is dropped.
    pub police: Option<(base::Rate, u64)>,
    /// What comes faster than this waits before the queue.
    pub shape: Option<Shaping>,
    /// The longest time between two of its turns while it has packets.
    pub turn_within: Option<Span>,
}

/// A token bucket that delays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shaping {
    /// How fast it fills.
    pub rate: base::Rate,
    /// How much it holds, bytes.
    pub burst: u64,
    /// Bytes that may wait; none: any.
    pub limit: Option<u64>,
}

/// Resources that an idle link has to be given.
#[derive(Clone, Debug, PartialEq)]
pub struct Allocation {
    /// How long that takes, nanoseconds.
    pub delay: Dist,
    /// How long they are kept when there is nothing to send, nanoseconds.
    pub release: Dist,
}

/// How frames that came wrong are repeated.
#[derive(Clone, Debug, PartialEq)]
pub struct Arq {
    /// So often at most; none: without end.
    pub attempts: Option<u32>,
    /// For so long at most; none: without end.
    pub time: Option<Span>,
    /// From the end of a frame until the sender knows of it, nanoseconds.
    pub feedback: Dist,
    /// Frames that may be unacknowledged; none: any number.
    pub window: Option<u32>,
}

/// What the next link lets a link send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Credit {
    /// Packets that the next link has not yet taken out of its queue.
    pub window: u32,
    /// How long credit takes to come back.
    pub delay: Span,
}

/// A source of errors.
#[derive(Clone, Debug, PartialEq)]
pub struct Error {
    /// Element name: `radio.noise`.
    pub name: String,
    /// How likely a frame is wrong.
    pub kind: ErrorKind,
    /// What becomes of it.
    pub mode: ErrorMode,
    /// The links it is on.
    pub links: Vec<usize>,
}

/// How likely a frame is wrong.
#[derive(Clone, Debug, PartialEq)]
pub enum ErrorKind {
    /// Always the same.
    Steady(Chance),
    /// Of each frame, with a probability that is drawn when a state of a machine is entered.
    Drawn(Dist),
    /// Probabilities that each repetition draws; the kind has their means.
    Shares(Box<ErrorKind>, Vec<(super::share::Part, Dist)>),
    /// Two states that change from frame to frame.
    PerFrame {
        /// Probability of turning bad before a frame.
        to_bad: f64,
        /// Probability of turning good before a frame.
        to_good: f64,
        /// In the good state.
        good: Chance,
        /// In the bad state.
        bad: Chance,
    },
    /// Two states that last for a while: weather.
    OverTime {
        /// How long the good state lasts, nanoseconds.
        good_lasts: Dist,
        /// How long the bad state lasts, nanoseconds.
        bad_lasts: Dist,
        /// In the good state.
        good: Chance,
        /// In the bad state.
        bad: Chance,
    },
}

pub use path::channel::error::Chance;

/// What becomes of a frame that is wrong.
#[derive(Clone, Debug, PartialEq)]
pub enum ErrorMode {
    /// The link discards it, or repeats it.
    Drop,
    /// It goes on with wrong bits.
    Corrupt,
    /// It comes later by so much, nanoseconds.
    Delay(Dist),
}

/// A machine of states: weather that changes several links at once.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    /// Its name, the key of its random streams.
    pub name: String,
    /// Its states.
    pub states: Vec<State>,
    /// The index of the one it starts in.
    pub first: usize,
}

/// A state of a machine.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// Its name.
    pub name: String,
    /// How long it lasts, nanoseconds; none: until a trigger.
    pub lasts: Option<Dist>,
    /// Which may follow, and with which weight.
    pub next: Vec<(usize, f64)>,
    /// For how long nothing is sent after it was entered, nanoseconds.
    pub pause: Option<Dist>,
    /// What becomes of packets on the links at that moment.
    pub flush: Flush,
    /// What it sets on which link.
    pub settings: Vec<(usize, Setting)>,
}

/// What a state sets on a link; what it does not set is as it would be.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Setting {
    /// The rate, bit/s, drawn when the state is entered; 0 freezes service.
    pub rate: Option<Dist>,
    /// Propagation, nanoseconds, drawn for each packet.
    pub delay: Option<Dist>,
    /// Errors beside those of the link.
    pub error: Option<(ErrorKind, ErrorMode)>,
    /// Whether the link serves.
    pub service: Service,
}

/// Something that puts a machine into a state.
#[derive(Clone, Debug, PartialEq)]
pub struct Trigger {
    /// Its name, the key of its random stream.
    pub name: String,
    /// When.
    pub when: When,
}

/// When a trigger puts which machine into which state.
#[derive(Clone, Debug, PartialEq)]
pub enum When {
    /// Once in every repetition.
    Once {
        /// Nanoseconds from the start of the run.
        at: Dist,
        /// The machine's index.
        machine: usize,
        /// The state's index.
        state: usize,
    },
    /// As written down: instant, machine, state.
    Recorded(Vec<(Time, usize, usize)>),
}
