//! Trace events: the only table of events, with name, category, fields and units of each; record with time
//! and source.
//!
//! Each event is declared once, with its name in logs and plots and one sentence; the Rust type, the
//! reference page and every exporter are generated from the declaration.
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
    /// Radio bearers: blocks, TBFs, LLC frames, buffers, mobility.
    Radio = 4,
}

crate::named! {
    /// Use of a radio block.
    pub enum BlockUse {
        /// New RLC data.
        New = "new",
        /// RLC data reported missing.
        Missing = "missing",
        /// RLC data retransmitted pre-emptively, since nothing else could be sent.
        Idle = "idle",
        /// A block without user data that keeps a TBF alive.
        Dummy = "dummy",
        /// A report or an assignment (control message).
        Control = "control",
    }
}

crate::named! {
    /// Step in the life of a temporary block flow (3GPP TS 44.060).
    pub enum TbfStep {
        /// Access or assignment begins.
        Requested = "requested",
        /// Timeslots are assigned.
        Assigned = "assigned",
        /// No data left to send; the TBF is kept.
        Kept = "kept",
        /// It ended.
        Released = "released",
        /// Lost with its cell, or abandoned.
        Lost = "lost",
    }
}

crate::named! {
    /// Fate of an LLC frame.
    pub enum FrameFate {
        /// Joined the queue of the PCU or of the mobile.
        Queued = "queued",
        /// Delivered whole.
        Delivered = "delivered",
        /// Discarded with a cell, a buffer or a lifetime.
        Discarded = "discarded",
        /// Duplicate, discarded.
        Duplicate = "duplicate",
        /// Retransmitted by acknowledged LLC.
        Repeated = "repeated",
    }
}

crate::named! {
    /// Step of a cell change (3GPP TS 44.060, 24.008, 48.018), or of another interruption of a bearer.
    pub enum CellStep {
        /// The mobile leaves the old cell.
        Decision = "decision",
        /// The system information of the new cell has been read.
        Synchronised = "synchronised",
        /// Access to the new cell is granted.
        Access = "access",
        /// The SGSN has the new cell of the mobile.
        CellUpdate = "cell-update",
        /// The routing area is updated.
        RoutingAreaUpdate = "routing-area-update",
        /// The location area is updated, for calls; the routing area follows.
        LocationUpdate = "location-update",
        /// FLUSH-LL deleted or moved the data of the old cell.
        Flush = "flush",
        /// Data flow again.
        Resumed = "resumed",
        /// The new cell was not reached; the mobile starts again.
        Failed = "failed",
        /// A voice call preempts the mobile or the timeslots.
        Preempted = "pre-empted",
        /// The PCU restarts after a fault of its software.
        PcuRestart = "pcu-restart",
        /// The BSC restarts.
        BscRestart = "bsc-restart",
        /// The SGSN restarts.
        SgsnRestart = "sgsn-restart",
        /// The element that restarted works again.
        Restarted = "restarted",
    }
}

crate::named! {
    /// Step of a connection at a stateful firewall.
    pub enum FirewallStep {
        /// A packet opened an entry.
        Opened = "opened",
        /// The idle timeout ended the entry.
        Expired = "expired",
        /// The entry made room for another one.
        Replaced = "replaced",
        /// A packet without an entry was discarded.
        Refused = "refused",
        /// A packet without an entry was discarded and answered by an RST.
        Reset = "reset",
    }
}

/// Why a data segment was sent.
pub use crate::truth::Cause;

macro_rules! events {
    ($($(#[doc = $doc:literal])+ $variant:ident = $name:literal in $cat:ident { $($field:ident : $ty:ty = $unit:literal),* $(,)? }),+ $(,)?) => {
        /// One event.
        #[derive(Clone, Copy, PartialEq, Debug)]
        pub enum Event {
            $($(#[doc = $doc])+ $variant {
                $(#[doc = $unit] $field: $ty),*
            }),+
        }
        impl Event {
            /// Name in logs: `category:name`.
            pub const fn name(&self) -> &'static str {
                match self { $(Event::$variant { .. } => $name),+ }
            }
            /// Category.
            pub const fn category(&self) -> Category {
                match self { $(Event::$variant { .. } => Category::$cat),+ }
            }
            /// Calls `field(name, value)` for every field.
            pub fn fields(&self, mut field: impl FnMut(&'static str, Value)) {
                match *self { $(Event::$variant { $($field),* } => { $(field(stringify!($field), Value::from($field));)* }),+ }
            }
        }
        /// Reference: name, documentation, and (field, unit) pairs.
        pub const REFERENCE: &[(&str, &str, &[(&str, &str)])] =
            &[$(($name, concat!($($doc),+), &[$((stringify!($field), $unit)),*])),+];
    };
}

/// Value of a field, for exporters.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Value {
    /// Whole number.
    Int(u64),
    /// Duration or time, seconds.
    Seconds(f64),
    /// Word.
    Word(&'static str),
    /// Boolean.
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
impl From<u8> for Value {
    fn from(v: u8) -> Self {
        Value::Int(u64::from(v))
    }
}
impl From<BlockUse> for Value {
    fn from(v: BlockUse) -> Self {
        Value::Word(v.name())
    }
}
impl From<TbfStep> for Value {
    fn from(v: TbfStep) -> Self {
        Value::Word(v.name())
    }
}
impl From<FrameFate> for Value {
    fn from(v: FrameFate) -> Self {
        Value::Word(v.name())
    }
}
impl From<CellStep> for Value {
    fn from(v: CellStep) -> Self {
        Value::Word(v.name())
    }
}
impl From<FirewallStep> for Value {
    fn from(v: FirewallStep) -> Self {
        Value::Word(v.name())
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
    /// The link retransmits a corrupted frame.
    FrameRepeated = "path:frame_repeated" in Path { packet: u64 = "packet id", time: u32 = "number of the retransmission, from 1" },
    /// A state machine of the link entered a state.
    StateEntered = "path:state_entered" in Path { machine: u32 = "machine, in the order of the scenario", state: u32 = "state, in the order of the machine", triggered: bool = "by a trigger" },
    /// A packet was dropped.
    Dropped = "path:dropped" in Path { packet: u64 = "packet id", flow: u32 = "flow", reason: DropReason = "why" },
    /// A segment with data was sent.
    DataSent = "transport:data_sent" in Transport { packet: u64 = "packet id", seq: u64 = "bytes", len: u32 = "bytes", cause: Cause = "why it was sent" },
    /// A segment with data reached the receiver.
    DataReceived = "transport:data_received" in Transport { packet: u64 = "packet id", seq: u64 = "bytes", len: u32 = "bytes", duplicate: bool = "the receiver had all of it already" },
    /// An acknowledgement reached the data sender.
    AckReceived = "transport:ack_received" in Transport { ack: u64 = "bytes", window: u32 = "bytes", duplicate: bool = "acknowledges no new data" },
    /// One SACK block of the acknowledgement before it.
    SackBlock = "transport:sack_block" in Transport { left: u64 = "bytes", right: u64 = "bytes" },
    /// The congestion window, its threshold and the flight after an acknowledgement or a timeout.
    Window = "transport:window" in Transport { cwnd: u32 = "bytes", ssthresh: u32 = "bytes, 4294967295 when unlimited", flight: u32 = "bytes" },
    /// The retransmission timeout was recomputed.
    Timer = "transport:timer" in Transport { rto: crate::time::Span = "seconds", srtt: crate::time::Span = "seconds", rttvar: crate::time::Span = "seconds" },
    /// The retransmission timer expired.
    RtoFired = "transport:rto_fired" in Transport { seq: u64 = "bytes, the oldest outstanding", rto: crate::time::Span = "seconds", expirations: u32 = "in a row" },
    /// The connection was aborted after too many retransmissions of the same data (R2, RFC 9293 section 3.8.3).
    GaveUp = "transport:gave_up" in Transport { seq: u64 = "bytes, the oldest outstanding" },
    /// A fast retransmit: duplicate acknowledgements reached the threshold.
    FastRetransmit = "transport:fast_retransmit" in Transport { seq: u64 = "bytes", recover: u64 = "bytes, recovery ends here" },
    /// Recovery is over.
    RecoveryEnded = "transport:recovery_ended" in Transport { ack: u64 = "bytes" },
    /// An acknowledgement reported a marked packet, and the window was reduced (RFC 3168).
    MarkEchoed = "transport:mark_echoed" in Transport { ack: u64 = "bytes" },
    /// The sender's own detector gave its verdict on the last timeout.
    Verdict = "transport:verdict" in Transport { spurious: bool = "the verdict", detector: &'static str = "name of the detector" },
    /// A radio block was sent; recorded with the start of its block period.
    RadioBlock = "radio:block" in Radio { user: u32 = "mobile of the cell, from 0", up: bool = "sent by the mobile", slot: u8 = "timeslot", scheme: u8 = "CS-n as n, MCS-n as 10 + n", block: u32 = "RLC block number, counted from the start of the TBF", purpose: BlockUse = "its contents", arrived: bool = "it could be decoded" },
    /// An RLC report (Packet Downlink or Uplink Ack/Nack) was sent.
    RadioReport = "radio:report" in Radio { user: u32 = "mobile", up: bool = "it is about uplink data", complete: u32 = "V(Q): all blocks before it have arrived", end: u32 = "V(R): one after the highest block that has arrived", arrived: bool = "it could be decoded" },
    /// A temporary block flow began, was kept, or ended.
    Tbf = "radio:tbf" in Radio { user: u32 = "mobile", up: bool = "it is for uplink data", step: TbfStep = "what happened" },
    /// The RLC window closed with data waiting.
    RadioStalled = "radio:stalled" in Radio { user: u32 = "mobile", up: bool = "the mobile's window", block: u32 = "V(A), the oldest block not acknowledged" },
    /// An LLC frame was queued, delivered or lost.
    LlcFrame = "radio:llc" in Radio { user: u32 = "mobile", up: bool = "sent by the mobile", packet: u64 = "packet id", octets: u32 = "octets of the frame", fate: FrameFate = "its fate" },
    /// A step of a change of cell, or another interruption of a bearer.
    Mobility = "radio:mobility" in Radio { user: u32 = "mobile", step: CellStep = "which step" },
    /// The sender's own detector gave its verdict on the last fast retransmit.
    FastRetransmitVerdict = "transport:fast_retransmit_verdict" in Transport { spurious: bool = "the verdict", detector: &'static str = "name of the detector" },
    /// A step of a connection at a stateful firewall.
    Firewall = "path:firewall" in Path { flow: u32 = "flow", connection: u64 = "connection: its number in the flow, or a hash of addresses and ports", step: FirewallStep = "what happened" },
}

/// Recorder of an event: a flow's endpoint or an element of the path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Source(pub u32);

/// An event with its time and source.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Record {
    /// Time of the event, which may be earlier than the time of recording.
    pub t: Time,
    /// Recorder.
    pub source: Source,
    /// The event.
    pub event: Event,
}

const _: () = assert!(size_of::<Record>() <= 48);
