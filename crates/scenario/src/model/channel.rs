//! Channel of a link in the scenario model: traffic classes, framing, buffers, allocation, ARQ, flow control,
//! frame errors; state machines and triggers.

use super::{Capacity, Queue};
use base::dist::Dist;
use base::{Span, Time};
pub use path::channel::class::PacketKind;
pub use path::channel::follow::{Flush, Service};
pub use path::channel::frame::Framing;

/// Parts of a channel link beyond queue, rate and delay.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Channel {
    /// Maximum sojourn in the queue.
    pub stay: Option<Span>,
    /// A duplicate of data that are still queued is dropped.
    pub unique: bool,
    /// Traffic classes with their own queues, in the order of matching.
    pub classes: Vec<Class>,
    /// How packets are cut into frames.
    pub framing: Framing,
    /// Limit of the send buffer behind the queue.
    pub send_buffer: Option<Capacity>,
    /// Limit of the receive buffer at the far end.
    pub receive_buffer: Option<Capacity>,
    /// Resource allocation of an idle link.
    pub allocation: Option<Allocation>,
    /// Retransmission of frames.
    pub arq: Option<Arq>,
    /// Out-of-order delivery: late packets do not hold back later ones.
    pub order_free: bool,
    /// Flow control by the next link.
    pub credit: Option<Credit>,
    /// True if the link grants credit to the previous link.
    pub grants: bool,
    /// Indexes of the error processes of the link.
    pub errors: Vec<usize>,
    /// Indexes of the state machines that change the link.
    pub machines: Vec<usize>,
}

/// A class of packets.
#[derive(Clone, Debug, PartialEq)]
pub struct Class {
    /// Its name.
    pub name: String,
    /// Names of its flows; `None`: any.
    pub flows: Option<Vec<String>>,
    /// DSCP of the IP header; `None`: any.
    pub dscp: Option<u8>,
    /// Smallest and largest packet, bytes on the wire.
    pub size: Option<(u32, u32)>,
    /// Packet kind; `None`: any.
    pub kind: Option<PacketKind>,
    /// Priority; smaller values are served first.
    pub priority: u32,
    /// Weight among classes of equal priority.
    pub weight: u32,
    /// Queue of the class.
    pub queue: Queue,
    /// Maximum sojourn in the queue.
    pub stay: Option<Span>,
    /// Policer: rate, and burst in bytes; excess packets are dropped.
    pub police: Option<(base::Rate, u64)>,
    /// Shaper before the queue; excess packets are delayed.
    pub shape: Option<Shaping>,
    /// Longest time between two turns of the class while it has packets.
    pub turn_within: Option<Span>,
}

/// Token bucket that delays excess packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shaping {
    /// Token rate.
    pub rate: base::Rate,
    /// Bucket size, bytes.
    pub burst: u64,
    /// Limit of the shaper's queue, bytes; `None`: unlimited.
    pub limit: Option<u64>,
}

/// Resource allocation of an idle link.
#[derive(Clone, Debug, PartialEq)]
pub struct Allocation {
    /// Allocation delay, nanoseconds.
    pub delay: Dist,
    /// Idle time after which resources are released, nanoseconds.
    pub release: Dist,
}

/// Retransmission of frames by the link.
#[derive(Clone, Debug, PartialEq)]
pub struct Arq {
    /// Maximum number of attempts; `None`: unlimited.
    pub attempts: Option<u32>,
    /// Maximum time for a frame; `None`: unlimited.
    pub time: Option<Span>,
    /// Time from the end of a frame to its acknowledgement at the sender, nanoseconds.
    pub feedback: Dist,
    /// Window of unacknowledged frames; `None`: unlimited.
    pub window: Option<u32>,
}

/// Credit-based flow control by the next link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Credit {
    /// Maximum number of packets granted and not yet taken out of the next link's queue.
    pub window: u32,
    /// Delay of a credit from the next link to this one.
    pub delay: Span,
}

/// An error process.
#[derive(Clone, Debug, PartialEq)]
pub struct Error {
    /// Element name: `radio.noise`.
    pub name: String,
    /// Error probability of a frame.
    pub kind: ErrorKind,
    /// Effect on an erroneous frame.
    pub mode: ErrorMode,
    /// Indexes of its links.
    pub links: Vec<usize>,
}

/// Error probability of a frame.
#[derive(Clone, Debug, PartialEq)]
pub enum ErrorKind {
    /// Constant probability.
    Steady(ErrorRate),
    /// Probability per frame, drawn when a state machine enters a state.
    Drawn(Dist),
    /// Probabilities drawn once per repetition; the inner kind holds their means.
    Shares(Box<ErrorKind>, Vec<(super::share::Part, Dist)>),
    /// Two states with transitions from frame to frame.
    PerFrame {
        /// Transition probability to the bad state before a frame.
        to_bad: f64,
        /// Transition probability to the good state before a frame.
        to_good: f64,
        /// Error probability in the good state.
        good: ErrorRate,
        /// Error probability in the bad state.
        bad: ErrorRate,
    },
    /// Two states with durations: weather.
    OverTime {
        /// Duration of the good state, nanoseconds.
        good_lasts: Dist,
        /// Duration of the bad state, nanoseconds.
        bad_lasts: Dist,
        /// Error probability in the good state.
        good: ErrorRate,
        /// Error probability in the bad state.
        bad: ErrorRate,
    },
}

pub use path::channel::error::ErrorRate;

/// Effect on an erroneous frame.
#[derive(Clone, Debug, PartialEq)]
pub enum ErrorMode {
    /// The link discards it, or retransmits it with ARQ.
    Drop,
    /// It is delivered with bit errors.
    Corrupt,
    /// It is delivered late, by a delay in nanoseconds.
    Delay(Dist),
}

/// A state machine: weather that changes several links at once.
#[derive(Clone, Debug, PartialEq)]
pub struct StateMachine {
    /// Name, the key of its random streams.
    pub name: String,
    /// States.
    pub states: Vec<MachineState>,
    /// Index of the initial state.
    pub first: usize,
}

/// A state of a state machine.
#[derive(Clone, Debug, PartialEq)]
pub struct MachineState {
    /// Its name.
    pub name: String,
    /// Duration, nanoseconds; `None`: until a trigger.
    pub lasts: Option<Dist>,
    /// Successor states with their weights.
    pub next: Vec<(usize, f64)>,
    /// Pause of transmission after entry, nanoseconds.
    pub pause: Option<Dist>,
    /// Effect of entry on packets in the links.
    pub flush: Flush,
    /// Whether entry loses the contexts of header compression on the machine's links (handover without context transfer).
    pub loses_contexts: bool,
    /// Settings by link.
    pub settings: Vec<(usize, StateParameters)>,
}

/// Settings of a link in a state; an absent setting leaves the link's own value.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct StateParameters {
    /// Rate, bit/s, drawn at entry; 0 freezes service.
    pub rate: Option<Dist>,
    /// Propagation delay, nanoseconds, drawn per packet.
    pub delay: Option<Dist>,
    /// Error process in addition to those of the link.
    pub error: Option<(ErrorKind, ErrorMode)>,
    /// Whether the link serves.
    pub service: Service,
}

/// A trigger, which changes something at a time.
#[derive(Clone, Debug, PartialEq)]
pub struct Trigger {
    /// Name, the key of its random stream.
    pub name: String,
    /// Time and target.
    pub when: TriggerSchedule,
}

/// Time and change of a trigger.
#[derive(Clone, Debug, PartialEq)]
pub enum TriggerSchedule {
    /// Once in every repetition.
    Once {
        /// Time from the start of the run, nanoseconds.
        at: Dist,
        /// Change that it causes.
        change: Change,
    },
    /// From a recording: times and changes.
    Recorded(Vec<(Time, Change)>),
}

/// Change by a trigger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Puts a state machine into a state.
    State {
        /// Index of the state machine.
        machine: usize,
        /// Index of the state.
        state: usize,
    },
    /// Sets the priority of a flow in the congestion managers of its ends.
    Priority {
        /// Index of the flow.
        flow: usize,
        /// Weight.
        priority: u32,
    },
}
