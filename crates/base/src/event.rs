//! Event table of traces.
//!
//! THE table of events. Each is declared once, with the name that logs and plots use and one sentence; the Rust type,
//! the reference page and every exporter come from it.
//!
//! A record is small and `Copy`; recording one is a store, formatting happens after the run.

use crate::packet::DropReason;
use crate::time::Time;

/// Groups of events, to be switched on together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Category {
    /// Queues, links, gates.
    Path = 1,
    /// Segments sent and received, windows, timers, verdicts.
    Transport = 2,
    /// No events: whole packets as hosts send them and take them in ([`crate::trace::Sighting`]), for captures.
    Packets = 3,
}

/// Why a data segment was sent.
pub use crate::truth::Cause;

macro_rules! events {
    ($($(#[doc = $doc:literal])+ $variant:ident = $name:literal in $cat:ident { $($field:ident : $ty:ty = $unit:literal),* $(,)? }),+ $(,)?) => {
        /// One thing that happened.
        #[derive(Clone, Copy, PartialEq, Debug)]
        pub enum Event {
            $($(#[doc = $doc])+ $variant {
                $(#[doc = $unit] $field: $ty),*
            }),+
        }
        impl Event {
            /// Its name in logs: `category:name`.
            pub const fn name(&self) -> &'static str {
                match self { $(Event::$variant { .. } => $name),+ }
            }
            /// Its category.
            pub const fn category(&self) -> Category {
                match self { $(Event::$variant { .. } => Category::$cat),+ }
            }
            /// Calls `field(name, value)` for every field.
            pub fn fields(&self, mut field: impl FnMut(&'static str, Value)) {
                match *self { $(Event::$variant { $($field),* } => { $(field(stringify!($field), Value::from($field));)* }),+ }
            }
        }
        /// The reference: name, what it means, and (field, unit) pairs.
        pub const REFERENCE: &[(&str, &str, &[(&str, &str)])] =
            &[$(($name, concat!($($doc),+), &[$((stringify!($field), $unit)),*])),+];
    };
}

/// A field's value, for exporters.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Value {
    /// A whole number.
    Int(u64),
    /// A length or instant in seconds.
    Seconds(f64),
    /// A word.
    Word(&'static str),
    /// Yes or no.
    Bool(bool),
}
impl From<u64> for Value {
    fn from(v: u64) -> Self {
        Value::Int(v)
    }
}
impl From<u32> for Value {
    fn from(v: u32) -> Self {
        Value::Int(u64::from(v))
    }
}
impl From<bool> for Value {
    fn from(v: bool) -> Self {
        Value::Bool(v)
    }
}
impl From<&'static str> for Value {
    fn from(v: &'static str) -> Self {
        Value::Word(v)
    }
}
impl From<Time> for Value {
    fn from(v: Time) -> Self {
        Value::Seconds(v.as_secs_f64())
    }
}
impl From<crate::time::Span> for Value {
    fn from(v: crate::time::Span) -> Self {
        Value::Seconds(v.as_secs_f64())
    }
}
impl From<DropReason> for Value {
    fn from(v: DropReason) -> Self {
        Value::Word(v.name())
    }
}
impl From<Cause> for Value {
    fn from(v: Cause) -> Self {
        Value::Word(v.name())
    }
}

events! {
    /// A packet joined a link's queue.
    Enqueued = "path:enqueued" in Path { packet: u64 = "packet id", size: u32 = "bytes", waiting: u32 = "packets waiting before it" },
    /// A link began to transmit a packet; recorded with the instant at which it did.
    ServiceStarted = "path:service_started" in Path { packet: u64 = "packet id" },
    /// A packet left a link at its far end.
    Delivered = "path:delivered" in Path { packet: u64 = "packet id" },
    /// A queue's manager marked a packet: congestion experienced (RFC 3168).
    Marked = "path:marked" in Path { packet: u64 = "packet id" },
    /// A frame came wrong, and the link sends it again (1 is the first time).
    FrameRepeated = "path:frame_repeated" in Path { packet: u64 = "packet id", time: u32 = "which time" },
    /// A machine of states that the link follows entered a state.
    StateEntered = "path:state_entered" in Path { machine: u32 = "machine, in the order of the scenario", state: u32 = "state, in the order of the machine", triggered: bool = "a trigger did it" },
    /// A packet ended here.
    Dropped = "path:dropped" in Path { packet: u64 = "packet id", flow: u32 = "flow", reason: DropReason = "why" },
    /// A segment with data was sent.
    DataSent = "transport:data_sent" in Transport { packet: u64 = "packet id", seq: u64 = "bytes", len: u32 = "bytes", cause: Cause = "why it was sent" },
    /// A segment with data reached the receiver.
    DataReceived = "transport:data_received" in Transport { packet: u64 = "packet id", seq: u64 = "bytes", len: u32 = "bytes", duplicate: bool = "all of it was there already" },
    /// An acknowledgement reached the data sender.
    AckReceived = "transport:ack_received" in Transport { ack: u64 = "bytes", window: u32 = "bytes", duplicate: bool = "acknowledges nothing new" },
    /// One SACK block of the acknowledgement before it.
    SackBlock = "transport:sack_block" in Transport { left: u64 = "bytes", right: u64 = "bytes" },
    /// The congestion window, its threshold and the flight after an acknowledgement or a timeout.
    Window = "transport:window" in Transport { cwnd: u32 = "bytes", ssthresh: u32 = "bytes, 4294967295 when unlimited", flight: u32 = "bytes" },
    /// The retransmission timer was computed anew.
    Timer = "transport:timer" in Transport { rto: crate::time::Span = "seconds", srtt: crate::time::Span = "seconds", rttvar: crate::time::Span = "seconds" },
    /// The retransmission timer expired.
    RtoFired = "transport:rto_fired" in Transport { seq: u64 = "bytes, the oldest outstanding", rto: crate::time::Span = "seconds", expirations: u32 = "in a row" },
    /// The same data were repeated for so long that the connection was given up.
    GaveUp = "transport:gave_up" in Transport { seq: u64 = "bytes, the oldest outstanding" },
    /// A fast retransmit: duplicates convinced the sender of a loss.
    FastRetransmit = "transport:fast_retransmit" in Transport { seq: u64 = "bytes", recover: u64 = "bytes, recovery ends here" },
    /// Recovery is over.
    RecoveryEnded = "transport:recovery_ended" in Transport { ack: u64 = "bytes" },
    /// An acknowledgement reported a marked packet, and the window was reduced (RFC 3168).
    MarkEchoed = "transport:mark_echoed" in Transport { ack: u64 = "bytes" },
    /// The sender's own detector gave its verdict on the last timeout.
    Verdict = "transport:verdict" in Transport { spurious: bool = "what it said", detector: &'static str = "who said so" },
    /// The sender's own detector gave its verdict on the last fast retransmit.
    FastRetransmitVerdict = "transport:fast_retransmit_verdict" in Transport { spurious: bool = "what it said", detector: &'static str = "who said so" },
}

/// Who recorded an event: a flow's endpoint or an element of the path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Source(pub u32);

/// An event with its instant and source.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Record {
    /// When it happened, which can be earlier than when it was noticed.
    pub t: Time,
    /// Who says so.
    pub source: Source,
    /// What.
    pub event: Event,
}

const _: () = assert!(size_of::<Record>() <= 48);
