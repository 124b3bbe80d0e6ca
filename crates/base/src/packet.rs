//! Packet head: flow, size, deadline, ECN, flags and drop reasons; fixed size, copied by value.
//!
//! The body stays in the [`crate::pool::Pool`]; only hosts, packet ports and taps read it.

use crate::pool::BodyRef;
use crate::time::{Span, Time};

/// Flow number, from 0, in the order of the scenario file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct FlowId(pub u32);

/// Node number, from 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct NodeId(pub u16);

/// Packet properties visible to the network without opening the body.
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
    /// Background load: absorbed inside the network, never passed to a packet port.
    pub const VIRTUAL: Flags = Flags(1 << 5);
    /// Has bit errors.
    pub const CORRUPT: Flags = Flags(1 << 6);
    /// A duplicate made by the network.
    pub const COPY: Flags = Flags(1 << 7);
    /// Travels from the flow's `to` end to its `from` end.
    pub const REPLY: Flags = Flags(1 << 8);
    /// Carries retransmitted data.
    pub const AGAIN: Flags = Flags(1 << 9);
    /// EXP bit of ATP: a router has just dropped an expired packet of this flow.
    pub const EXPIRED: Flags = Flags(1 << 10);
    /// Headers only: a router removed the payload.
    pub const STUB: Flags = Flags(1 << 11);
    /// Last packet of its application data unit.
    pub const LAST: Flags = Flags(1 << 12);
    /// The sender retransmits nothing, so the loss of one packet makes the whole application data unit
    /// useless.
    pub const WHOLE: Flags = Flags(1 << 13);
    /// ABR bit of ATP: the sender has abandoned the application data unit; waiting packets of it may be
    /// dropped.
    pub const ABORT: Flags = Flags(1 << 14);
    /// Routers may fragment it, although its sender sets DF in all other packets of the flow.
    pub const DIVISIBLE: Flags = Flags(1 << 15);

    /// True if every flag of `other` is set here.
    pub const fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }
    /// Union of both.
    #[must_use]
    pub const fn with(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
}

/// Head of a packet.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    /// Number, unique within the run; a duplicate made by the network keeps the original's number.
    pub id: u64,
    /// Time of transmission by its host.
    pub born: Time,
    /// Reference to the packet's body.
    pub body: BodyRef,
    /// Flow of the packet.
    pub flow: FlowId,
    /// Bytes on the wire, all headers counted.
    pub size: u32,
    /// Position among the packets of its kind (data, or pure ACK) that its host sent for the flow, from 1.
    pub ordinal: u32,
    /// Lifetime in microseconds after `born`; [`Packet::ALWAYS`] means no deadline.
    pub lives: u32,
    /// Source node.
    pub source: NodeId,
    /// Destination node.
    pub destination: NodeId,
    /// Interface of the host by which the packet leaves or enters.
    pub interface: u16,
    /// Properties visible to the network.
    pub flags: Flags,
    /// Service class, 0 the default.
    pub class: u8,
    /// ECN codepoint of the IP header (RFC 3168 section 5): 0 not-ECT, 1 ECT(1), 2 ECT(0), 3 CE.
    pub ecn: u8,
    /// Number of the packet's application data unit in the flow, from 1, modulo 65535; 0: unknown.
    pub unit: u16,
}

impl Packet {
    /// Lifetime value without a deadline.
    pub const ALWAYS: u32 = u32::MAX;

    /// Empty placeholder packet.
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

    /// End of the packet's lifetime; [`Time::NEVER`] without a deadline.
    pub fn deadline(&self) -> Time {
        match self.lives {
            Packet::ALWAYS => Time::NEVER,
            micros => self.born + Span::from_nanos(1000 * u64::from(micros)),
        }
    }

    /// Index of the packet's ledger: two per flow, one per direction.
    pub const fn ledger(&self) -> usize {
        self.flow.0 as usize * 2 + self.flags.has(Flags::REPLY) as usize
    }
}

// Heads are copied at every hop, and a link's state of a packet must fit into one cache line with its head.
const _: () = assert!(size_of::<Packet>() == 48);

crate::named! {
    /// Cause of a packet's drop.
    pub enum DropReason {
        /// The queue was full.
        QueueFull = "queue-full",
        /// Active queue management dropped it before the queue was full.
        Early = "early",
        /// Listed in the scenario.
        Scripted = "scripted",
        /// Random link error.
        Loss = "loss",
        /// Closed gate that does not store.
        Outage = "outage",
        /// Maximum sojourn time or deadline exceeded.
        Expired = "expired",
        /// The link's ARQ reached its limit of attempts or time.
        GivenUp = "given-up",
        /// A state change flushed the link.
        Flushed = "flushed",
        /// Bit errors, detected by the checksum.
        Corrupt = "corrupt",
        /// No route to its destination.
        NoRoute = "no-route",
        /// Larger than a link's MTU, with DF set.
        TooBig = "too-big",
        /// The reassembly timer expired before all of its fragments had arrived.
        Incomplete = "incomplete",
        /// Its compressed header was restored wrongly after an earlier loss.
        Desynchronised = "desynchronised",
        /// The run ended, or the connection no longer exists.
        Unclaimed = "unclaimed",
        /// A stateful firewall has no entry for its connection.
        Refused = "refused",
        /// The network element that held it restarted.
        Restarted = "restarted",
    }
}
