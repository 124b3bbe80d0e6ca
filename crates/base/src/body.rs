//! Packet bodies: one type for each transport protocol, stored in the [`crate::pool::Pool`] while the head travels.
//!
//! The network sees of a body what [`Body`] offers and nothing else: the flags of the head, the ranges of data for the
//! [`crate::truth::Ledger`], and the bytes on the wire for captures. TCP's [`Segment`] has a slab of its own, one cache
//! line a segment; every other kind gets a typed slab when its first body is stored.

use crate::packet::Flags;
use crate::pool::{BodyRef, Pool};
use crate::tcp::{SackBlocks, Segment};
use crate::truth::{CONNECTION, Cause};

/// A sequence-number space within a flow's direction: a TCP connection, an association, a stream. The ledger judges
/// retransmissions within one channel.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Channel(pub u32);

impl Channel {
    /// Where its sequence numbers begin in the ledger.
    #[inline(always)]
    pub const fn base(self) -> u64 {
        self.0 as u64 * CONNECTION
    }
}

/// Data that a packet carries: the half-open range `[from, to)` of a channel, in the protocol's own unit (bytes for TCP,
/// chunks for SCTP, packets for DCCP).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Range {
    /// Whose numbers they are.
    pub channel: Channel,
    /// First number.
    pub from: u64,
    /// One past the last.
    pub to: u64,
    /// Why it was sent. Bundled ranges may differ.
    pub cause: Cause,
}

/// What a packet carries, in the terms of one transport protocol.
///
/// A body is plain data. `put` and `take` are mirror images: what was put comes out once, equal. The default
/// implementations store any type; only a body on the hot path needs its own.
pub trait Body: Clone + Send + 'static {
    /// Stores a copy.
    #[inline]
    fn put(&self, pool: &mut Pool) -> BodyRef {
        pool.store(self.clone())
    }
    /// Takes it out; `None` if there is nothing, or a body of another kind, which is discarded.
    #[inline]
    fn take(pool: &mut Pool, at: BodyRef) -> Option<Self> {
        pool.fetch(at)
    }
    /// The flags of the packet's head.
    fn flags(&self) -> Flags;
    /// Calls `each` for every range of data carried, in the order of the packet. `cause` is why the packet was sent, for
    /// bodies that do not keep a cause for each range.
    fn ranges(&self, cause: Cause, each: impl FnMut(Range));
    /// Calls `each` with every channel acknowledged cumulatively, and the number below which everything is acknowledged.
    fn acks(&self, each: impl FnMut(Channel, u64));
    /// Number of its application data unit in the flow, from 1; 0: none that the network may know.
    #[inline(always)]
    fn unit(&self) -> u16 {
        0
    }
    /// Service class, 0 the default: routers with classes may forward the others later or drop them first.
    #[inline(always)]
    fn class(&self) -> u8 {
        0
    }
    /// The TCP segment, if it is one: captures write it with the state of both ends.
    #[inline(always)]
    fn segment(&self) -> Option<&Segment> {
        None
    }
    /// Appends the transport header and payload as on the wire and returns the protocol number of the IP header; `None`
    /// for a protocol without a wire format. Payload bytes are zero: models count bytes and carry none.
    fn encode(&self, _out: &mut Vec<u8>) -> Option<u8> {
        None
    }
    /// The same body of the connection whose numbers begin at `base`: several connections may share one flow.
    /// Protocols that keep one connection per flow are never asked.
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
    fn flags(&self) -> Flags {
        let when = |flag: Flags, on: bool| flag.0 * u16::from(on);
        let usual = Flags(when(Flags::DATA, self.len > 0) | when(Flags::ACK, self.has_ack));
        if self.syn | self.fin | self.rst {
            return usual.with(Flags(
                when(Flags::SYN, self.syn) | when(Flags::FIN, self.fin) | when(Flags::RST, self.rst),
            ));
        }
        usual
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
    /// The segment with other sequence numbers: those of one connection, or those on the wire.
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
