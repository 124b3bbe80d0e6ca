//! Packet body of a transport protocol: trait for flags, data ranges, acknowledgements and wire format;
//! implementation for the TCP segment.
//!
//! A body stays in the [`crate::pool::Pool`] while the packet's head travels.
//!
//! The network uses a body only through [`Body`]: the flags of the head, the data ranges for the
//! [`crate::truth::Ledger`], and the bytes on the wire for captures. TCP's [`Segment`] has its own slab, one
//! cache line per segment; every other type gets a typed slab when its first body is stored.

use crate::packet::Flags;
use crate::pool::{BodyRef, Pool};
use crate::tcp::{SackBlocks, Segment};
use crate::truth::{CONNECTION, Cause};

/// A sequence-number space within a flow's direction: a TCP connection, an association, a stream. The ledger
/// detects retransmissions per channel.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Channel(pub u32);

impl Channel {
    /// Base of its sequence numbers in the ledger.
    #[inline(always)]
    pub const fn base(self) -> u64 {
        self.0 as u64 * CONNECTION
    }
}

/// Data of a packet: the half-open range `[from, to)` of a channel, in the protocol's own unit (bytes for
/// TCP, chunks for SCTP, packets for DCCP).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Range {
    /// Sequence-number space.
    pub channel: Channel,
    /// First number.
    pub from: u64,
    /// One past the last number.
    pub to: u64,
    /// Cause of transmission; bundled ranges may differ.
    pub cause: Cause,
}

/// Content of a packet, in the terms of one transport protocol.
///
/// A body is plain data. `put` and `take` are inverse: a stored body is returned once, equal. The default
/// implementations store any type; only a body on the hot path needs its own.
pub trait Body: Clone + Send + 'static {
    /// Stores a copy of the body; returns its reference.
    #[inline]
    fn put(&self, pool: &mut Pool) -> BodyRef {
        pool.store(self.clone())
    }
    /// Takes a body out; `None` if there is none, or if it is of another type, which is discarded.
    #[inline]
    fn take(pool: &mut Pool, at: BodyRef) -> Option<Self> {
        pool.fetch(at)
    }
    /// [`Body::take`] into `into`, which is `None` before: a large body is written once, where it stays.
    #[inline]
    fn take_into(pool: &mut Pool, at: BodyRef, into: &mut Option<Self>) {
        *into = Self::take(pool, at);
    }
    /// Flags of the packet's head.
    fn flags(&self) -> Flags;
    /// Calls `each` for every data range, in packet order. `cause` is the packet's cause of transmission, for
    /// bodies without a cause per range.
    fn ranges(&self, cause: Cause, each: impl FnMut(Range));
    /// Calls `each` for every cumulative acknowledgement: the channel, and one past the last number
    /// acknowledged.
    fn acks(&self, each: impl FnMut(Channel, u64));
    /// Number of the packet's application data unit in the flow, from 1; 0: none is visible to the network.
    #[inline(always)]
    fn unit(&self) -> u16 {
        0
    }
    /// Service class, 0 the default: routers with classes may delay or drop other classes first.
    #[inline(always)]
    fn class(&self) -> u8 {
        0
    }
    /// The body as a TCP segment, which captures write with the state of both ends; `None` for other
    /// protocols.
    #[inline(always)]
    fn segment(&self) -> Option<&Segment> {
        None
    }
    /// Appends the transport header and payload as on the wire and returns the IP protocol number; `None` for
    /// a protocol without a wire format. Payload bytes are zero: models count bytes and carry no content.
    fn encode(&self, _out: &mut Vec<u8>) -> Option<u8> {
        None
    }
    /// The body with the sequence-number base of a connection: several connections may share a flow. Never
    /// called for protocols with one connection per flow.
    #[must_use]
    fn rebased(&self, _base: u64) -> Self {
        self.clone()
    }
}

impl Body for Segment {
    #[inline(always)]
    fn put(&self, pool: &mut Pool) -> BodyRef {
        pool.put(self)
    }
    #[inline(always)]
    fn take(pool: &mut Pool, at: BodyRef) -> Option<Self> {
        pool.take(at)
    }
    #[inline(always)]
    fn take_into(pool: &mut Pool, at: BodyRef, into: &mut Option<Self>) {
        pool.take_into(at, into);
    }
    #[inline(always)]
    fn flags(&self) -> Flags {
        let when = |flag: Flags, on: bool| flag.0 * u16::from(on);
        Flags(
            when(Flags::DATA, self.len > 0)
                | when(Flags::ACK, self.has_ack)
                | when(Flags::SYN, self.syn)
                | when(Flags::FIN, self.fin)
                | when(Flags::RST, self.rst),
        )
    }
    #[inline(always)]
    fn ranges(&self, cause: Cause, mut each: impl FnMut(Range)) {
        if self.len > 0 {
            each(Range { channel: Channel(0), from: self.seq, to: self.seq + u64::from(self.len), cause });
        }
    }
    #[inline(always)]
    fn acks(&self, mut each: impl FnMut(Channel, u64)) {
        if self.has_ack {
            each(Channel(0), self.ack);
        }
    }
    #[inline(always)]
    fn segment(&self) -> Option<&Segment> {
        Some(self)
    }
    #[cold]
    fn rebased(&self, base: u64) -> Self {
        self.renumbered(|n| n + base)
    }
}

impl Segment {
    /// The segment with its sequence numbers converted by `to`.
    #[cold]
    #[must_use]
    pub fn renumbered(&self, to: impl Fn(u64) -> u64) -> Segment {
        let mut sack = SackBlocks::default();
        for block in self.sack.as_slice() {
            sack.push(to(block.left), to(block.right));
        }
        let ack = if self.has_ack { to(self.ack) } else { self.ack };
        Segment { seq: to(self.seq), ack, sack, ..*self }
    }
}
