//! Packet head: fixed size, copied by value.
//!
//! A small fixed head, copied by value; the body waits in the [`crate::pool::Pool`] and only hosts, doors and taps
//! open it.

use crate::pool::BodyRef;
use crate::time::{Span, Time};

/// A flow's number, from 0, in the order of the scenario file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct FlowId(pub u32);

/// A node's number, from 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct NodeId(pub u16);

/// What the network may know about a packet without opening it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Flags(pub u16);

impl Flags {
    /// Carries data.
    pub const DATA: Flags = Flags(1);
    /// Carries an acknowledgement.
    pub const ACK: Flags = Flags(1 << 1);
    /// Opens a connection.
    pub const SYN: Flags = Flags(1 << 2);
    /// Ends a connection.
    pub const FIN: Flags = Flags(1 << 3);
    /// Aborts a connection.
    pub const RST: Flags = Flags(1 << 4);
    /// Background load: absorbed inside, never given to a door.
    pub const VIRTUAL: Flags = Flags(1 << 5);
    /// Bits were changed on the way.
    pub const CORRUPT: Flags = Flags(1 << 6);
    /// A copy that the network made.
    pub const COPY: Flags = Flags(1 << 7);
    /// From the flow's `to` end back to its `from` end.
    pub const REPLY: Flags = Flags(1 << 8);
    /// Carries data that were sent before.
    pub const AGAIN: Flags = Flags(1 << 9);
    /// A router dropped an expired packet of this flow just before it: ATP's EXP bit.
    pub const EXPIRED: Flags = Flags(1 << 10);
    /// Headers alone: a router cut the payload off.
    pub const STUB: Flags = Flags(1 << 11);
    /// The last packet of its application data unit.
    pub const LAST: Flags = Flags(1 << 12);
    /// Its application data unit is of no use without it: its sender retransmits nothing.
    pub const WHOLE: Flags = Flags(1 << 13);
    /// Its sender gave its application data unit up: what waits of it may be discarded. ATP's ABR bit.
    pub const ABORT: Flags = Flags(1 << 14);
    /// Routers may cut it up, although its sender keeps other packets of the flow whole.
    pub const DIVISIBLE: Flags = Flags(1 << 15);

    /// True if every flag of `other` is set here.
    pub const fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }
    /// Both.
    #[must_use]
    pub const fn with(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
}

/// The head of a packet.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    /// Unique within the run; a copy that the network made has its original's.
    pub id: u64,
    /// When its host sent it.
    pub born: Time,
    /// Where its body lies.
    pub body: BodyRef,
    /// Whose it is.
    pub flow: FlowId,
    /// Bytes on the wire, all headers counted.
    pub size: u32,
    /// Position among the packets of its kind (data, or pure ACK) that its host sent for the flow, from 1.
    pub ordinal: u32,
    /// For so many microseconds from `born` on it is of use; [`Packet::ALWAYS`]: it always is.
    pub lives: u32,
    /// From which node.
    pub source: NodeId,
    /// To which node.
    pub destination: NodeId,
    /// Which of the host's interfaces it left or enters by.
    pub interface: u16,
    /// What it carries.
    pub flags: Flags,
    /// Service class, 0 the default.
    pub class: u8,
    /// ECN codepoint of the IP header (RFC 3168 section 5): 0 not-ECT, 1 ECT(1), 2 ECT(0), 3 CE.
    pub ecn: u8,
    /// Number of its application data unit in the flow, from 1, modulo 65535; 0: none is known.
    pub unit: u16,
}

impl Packet {
    /// It never stops being of use.
    pub const ALWAYS: u32 = u32::MAX;

    /// Nobody's, with nothing inside.
    pub const NONE: Packet = Packet {
        id: 0,
        born: Time::ZERO,
        body: BodyRef::NONE,
        flow: FlowId(0),
        size: 0,
        ordinal: 0,
        lives: Packet::ALWAYS,
        source: NodeId(0),
        destination: NodeId(0),
        interface: 0,
        flags: Flags(0),
        class: 0,
        ecn: 0,
        unit: 0,
    };

    /// When it stops being of use; [`Time::NEVER`] if it always is.
    pub fn deadline(&self) -> Time {
        match self.lives {
            Packet::ALWAYS => Time::NEVER,
            micros => self.born + Span::from_nanos(1000 * u64::from(micros)),
        }
    }

    /// Which of the network's ledgers this packet belongs to: two per flow, one per direction.
    pub const fn ledger(&self) -> usize {
        self.flow.0 as usize * 2 + self.flags.has(Flags::REPLY) as usize
    }
}

// Heads are copied at every hop, and what a link knows of a packet is to lie in one cache line with its head.
const _: () = assert!(size_of::<Packet>() == 48);

crate::named! {
    /// Why a packet ended before its destination.
    pub enum DropReason {
        /// The queue was full.
        QueueFull = "queue-full",
        /// The queue's manager spoke up before it was full.
        Early = "early",
        /// The scenario asked for this very packet.
        Scripted = "scripted",
        /// Chance: a link error.
        Loss = "loss",
        /// A closed gate that does not store.
        Outage = "outage",
        /// It waited too long, or its deadline was over.
        Expired = "expired",
        /// The link repeated it as often as it may, or as long.
        GivenUp = "given-up",
        /// A change of state emptied the link.
        Flushed = "flushed",
        /// Bits were wrong, and its checksum told.
        Corrupt = "corrupt",
        /// No route to its destination.
        NoRoute = "no-route",
        /// It exceeds the MTU of a link and must not be cut up.
        TooBig = "too-big",
        /// Others of its fragments had not come when the time for reassembly was over.
        Incomplete = "incomplete",
        /// Its header was restored wrongly after a loss before it.
        Desynchronised = "desynchronised",
        /// The run ended, or its connection is gone.
        Unclaimed = "unclaimed",
    }
}
