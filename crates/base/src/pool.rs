//! Pool of packet bodies: one slab per network and type of body.
//!
//! It allocates no memory once it has grown to the maximum number of packets in flight, and is empty at the
//! end of a run.

mod part;

pub use part::Part;

use crate::slab::{AnySlab, Slab};
use crate::tcp::{SackBlocks, Segment, Timestamps};
use crate::time::Time;
use crate::truth::CONNECTION;
use crate::wire;

pub use crate::body::{Body, Channel, Range};

/// Slot of a body in the pool.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct BodyRef(u32);

impl BodyRef {
    /// No body, as with background load and bare probes.
    pub const NONE: BodyRef = BodyRef(u32::MAX);
}

/// Slab of bodies. The common fields of a segment are in one cache line; SACK blocks, which few segments
/// carry, are stored separately.
#[derive(Default, Debug)]
pub struct Pool {
    slots: Vec<Slot>,
    free: u32,
    live: u32,
    blocks: Vec<SackBlocks>,
    free_blocks: Vec<u32>,
    /// Buffers of byte bodies; their index is in the slot's `blocks`. A freed buffer keeps its capacity for
    /// the next body.
    buffers: Vec<Vec<u8>>,
    free_buffers: Vec<u32>,
    /// Bodies of other protocols, one slab per type. A slot's `len` is the index of the slab, its `blocks`
    /// the position in the slab.
    slabs: Vec<Box<dyn AnySlab>>,
}

/// A segment without its SACK blocks, or a free slot.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Slot {
    seq: u64,
    ack: u64,
    value: Time,
    echo: Time,
    len: u32,
    window: u32,
    /// Index of its SACK blocks, or [`NOWHERE`].
    blocks: u32,
    /// In a free slot: index of the next free slot, or [`NOWHERE`].
    next: u32,
    has_ack: bool,
    syn: bool,
    fin: bool,
    rst: bool,
    push: bool,
    ece: bool,
    cwr: bool,
    resent: bool,
    resent_echo: bool,
    has_timestamps: bool,
    holds: Holds,
}

/// Content of a slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Holds {
    Nothing,
    Segment,
    /// Bytes as on the wire; `blocks` is the index of their buffer.
    Bytes,
    /// A body of another protocol.
    Other,
    /// Part of the whole body in slot `blocks`.
    Part,
}

const _: () = assert!(size_of::<Slot>() == 64);
const NOWHERE: u32 = u32::MAX;
/// Room for bodies at the first one: those of a slow link, 2 kB.
const FIRST_ROOM: usize = 32;
const UNSTAMPED: Timestamps = Timestamps { value: Time::ZERO, echo: Time::ZERO };
/// A free slot.
const FREE: Slot = Slot {
    seq: 0,
    ack: 0,
    value: Time::ZERO,
    echo: Time::ZERO,
    len: 0,
    window: 0,
    blocks: NOWHERE,
    next: NOWHERE,
    has_ack: false,
    syn: false,
    fin: false,
    rst: false,
    push: false,
    ece: false,
    cwr: false,
    resent: false,
    resent_echo: false,
    has_timestamps: false,
    holds: Holds::Nothing,
};

impl Pool {
    /// An empty pool.
    pub fn new() -> Self {
        Pool { free: NOWHERE, ..Pool::default() }
    }

    /// Stores a segment.
    #[inline(always)]
    pub fn put(&mut self, segment: &Segment) -> BodyRef {
        // Destructured completely, so that a new field cannot be forgotten here.
        let Segment {
            seq,
            ack,
            len,
            window,
            has_ack,
            syn,
            fin,
            rst,
            push,
            ece,
            cwr,
            resent,
            resent_echo,
            ref sack,
            timestamps,
        } = *segment;
        let blocks = if sack.is_empty() { NOWHERE } else { self.put_blocks(sack) };
        let Timestamps { value, echo } = timestamps.unwrap_or(UNSTAMPED);
        let at = self.place();
        self.slots[at as usize] = Slot {
            seq,
            ack,
            value,
            echo,
            len,
            window,
            blocks,
            next: NOWHERE,
            has_ack,
            syn,
            fin,
            rst,
            push,
            ece,
            cwr,
            resent,
            resent_echo,
            has_timestamps: timestamps.is_some(),
            holds: Holds::Segment,
        };
        BodyRef(at)
    }

    /// Index of a free slot; grows the slab if there is none.
    #[inline]
    fn place(&mut self) -> u32 {
        if self.free == NOWHERE {
            self.grow();
        }
        self.live += 1;
        let at = self.free;
        self.free = self.slots[at as usize].next;
        at
    }

    #[cold]
    fn grow(&mut self) {
        if self.slots.capacity() == 0 {
            self.slots.reserve(FIRST_ROOM);
        }
        self.free = self.slots.len() as u32;
        self.slots.push(FREE);
    }

    #[cold]
    fn put_blocks(&mut self, blocks: &SackBlocks) -> u32 {
        match self.free_blocks.pop() {
            Some(at) => {
                self.blocks[at as usize] = *blocks;
                at
            }
            None => {
                self.blocks.push(*blocks);
                self.blocks.len() as u32 - 1
            }
        }
    }

    /// Stores a copy of bytes as on the wire.
    pub fn put_bytes(&mut self, bytes: &[u8]) -> BodyRef {
        let blocks = self.free_buffers.pop().unwrap_or_else(|| {
            self.buffers.push(Vec::new());
            self.buffers.len() as u32 - 1
        });
        let buffer = &mut self.buffers[blocks as usize];
        buffer.clear();
        buffer.extend_from_slice(bytes);
        let at = self.place();
        self.slots[at as usize] =
            Slot { len: bytes.len() as u32, blocks, next: NOWHERE, holds: Holds::Bytes, ..FREE };
        BodyRef(at)
    }

    /// Index of the buffer of a byte body.
    fn buffer(&self, at: BodyRef) -> Option<usize> {
        let slot = self.slots.get(at.0 as usize)?;
        (slot.holds == Holds::Bytes).then_some(slot.blocks as usize)
    }

    /// Bytes of a byte body; `None` for other bodies.
    pub fn bytes(&self, at: BodyRef) -> Option<&[u8]> {
        self.buffers.get(self.buffer(at)?).map(Vec::as_slice)
    }

    /// Takes out a byte body: its bytes are swapped with `into`. False, without an effect, for other bodies.
    pub fn take_bytes(&mut self, at: BodyRef, into: &mut Vec<u8>) -> bool {
        let Some(buffer) = self.buffer(at) else { return false };
        std::mem::swap(&mut self.buffers[buffer], into);
        self.take(at);
        true
    }

    /// Stores a body of any type.
    pub fn store<T: Clone + Send + 'static>(&mut self, body: T) -> BodyRef {
        let known = self.slabs.iter().position(|slab| slab.as_any().is::<Slab<T>>());
        let slab = known.unwrap_or_else(|| {
            self.slabs.push(Box::new(Slab::<T>::default()));
            self.slabs.len() - 1
        });
        let place = self.slabs[slab].as_any_mut().downcast_mut::<Slab<T>>().map(|slab| slab.put(body));
        let at = self.place();
        self.slots[at as usize] = Slot {
            len: slab as u32,
            blocks: place.unwrap_or(NOWHERE),
            next: NOWHERE,
            holds: Holds::Other,
            ..FREE
        };
        BodyRef(at)
    }

    /// Slab index and position of a body that is neither a segment nor bytes.
    fn other(&self, at: BodyRef) -> Option<(usize, u32)> {
        let slot = self.slots.get(at.0 as usize).filter(|slot| slot.holds == Holds::Other)?;
        Some((slot.len as usize, slot.blocks))
    }

    /// Reference to a body of this type.
    pub fn peek<T: Send + 'static>(&self, at: BodyRef) -> Option<&T> {
        let (slab, place) = self.other(at)?;
        self.slabs.get(slab)?.as_any().downcast_ref::<Slab<T>>()?.get(place)
    }

    /// Takes out a body of this type. `None` for another body, which is discarded.
    pub fn fetch<T: Send + 'static>(&mut self, at: BodyRef) -> Option<T> {
        let body = self.other(at).and_then(|(slab, place)| {
            self.slabs.get_mut(slab)?.as_any_mut().downcast_mut::<Slab<T>>()?.take(place)
        });
        self.discard(at);
        body
    }

    /// Connection of a body, equal for both directions. For a segment it is the connection's number within
    /// its flow, for bytes a hash of addresses and ports, otherwise 0.
    pub fn connection(&self, at: BodyRef) -> u64 {
        let Some(slot) = self.slots.get(at.0 as usize) else { return 0 };
        match slot.holds {
            Holds::Segment => slot.seq / CONNECTION,
            Holds::Part => self.connection(BodyRef(slot.blocks)),
            Holds::Bytes => self.bytes(at).and_then(wire::connection).unwrap_or(0),
            _ => 0,
        }
    }

    /// Whether two bodies carry the same data of the same connection: equal sequence numbers and lengths of
    /// segments, or of the TCP headers in bytes.
    pub fn same_data(&self, one: BodyRef, other: BodyRef) -> bool {
        let slot = |at: BodyRef| self.slots.get(at.0 as usize);
        match (slot(one), slot(other)) {
            (Some(a), Some(b)) if a.holds == Holds::Segment && b.holds == Holds::Segment => {
                (a.seq, a.len) == (b.seq, b.len)
            }
            (Some(a), Some(b)) if a.holds == Holds::Part && b.holds == Holds::Part => {
                (a.seq, a.len) == (b.seq, b.len) && self.same_data(BodyRef(a.blocks), BodyRef(b.blocks))
            }
            (Some(a), Some(b)) if a.holds == Holds::Bytes && b.holds == Holds::Bytes => {
                let read = |at: BodyRef| {
                    let digest = wire::read(self.bytes(at)?).ok()?;
                    Some((digest.tcp?.seq, digest.payload))
                };
                read(one).is_some_and(|range| read(other) == Some(range))
                    && self.connection(one) == self.connection(other)
            }
            _ => false,
        }
    }

    /// Segment of a body, copied without its SACK blocks; `None` for other bodies. A part has that of its whole.
    #[cold]
    pub fn segment(&self, at: BodyRef) -> Option<Segment> {
        let slot = self.slots.get(at.0 as usize)?;
        match slot.holds {
            Holds::Part => self.segment(BodyRef(slot.blocks)),
            Holds::Segment => Some(Segment {
                seq: slot.seq,
                ack: slot.ack,
                len: slot.len,
                has_ack: slot.has_ack,
                syn: slot.syn,
                fin: slot.fin,
                rst: slot.rst,
                ..Segment::default()
            }),
            _ => None,
        }
    }

    /// Stores a copy of a body of any type; [`BodyRef::NONE`] without a body.
    #[cold]
    pub fn copy(&mut self, at: BodyRef) -> BodyRef {
        let Some(mut slot) = self.slots.get(at.0 as usize).copied() else { return BodyRef::NONE };
        match slot.holds {
            Holds::Nothing => return BodyRef::NONE,
            Holds::Part => self.refer(slot.blocks),
            Holds::Bytes => {
                let bytes = self.buffers[slot.blocks as usize].clone();
                return self.put_bytes(&bytes);
            }
            Holds::Segment if slot.blocks == NOWHERE => {}
            Holds::Segment => {
                let blocks = self.blocks[slot.blocks as usize];
                slot.blocks = self.put_blocks(&blocks);
            }
            Holds::Other => {
                let Some(slab) = self.slabs.get_mut(slot.len as usize) else { return BodyRef::NONE };
                slot.blocks = slab.copy(slot.blocks).unwrap_or(NOWHERE);
            }
        }
        if slot.holds != Holds::Part {
            slot.next = NOWHERE;
        }
        let place = self.place();
        self.slots[place as usize] = slot;
        BodyRef(place)
    }

    /// Frees a body of any type.
    pub fn discard(&mut self, at: BodyRef) {
        self.take(at);
    }

    #[cold]
    fn discard_other(&mut self, slab: u32, place: u32) {
        if let Some(slab) = self.slabs.get_mut(slab as usize) {
            slab.discard(place);
        }
    }

    /// Takes a segment out of the pool. `None` for another body, which is discarded.
    #[inline]
    pub fn take(&mut self, at: BodyRef) -> Option<Segment> {
        let mut taken = None;
        self.take_into(at, &mut taken);
        taken
    }

    /// [`Self::take`] into `into`, which is `None` before: the segment is written once, where it stays.
    #[inline(always)]
    pub fn take_into(&mut self, at: BodyRef, into: &mut Option<Segment>) {
        let Some(slot) = self.slots.get_mut(at.0 as usize) else { return };
        let Slot { seq, ack, value, echo, len, window, blocks, next: _, .. } = *slot;
        let Slot {
            has_ack, syn, fin, rst, push, ece, cwr, resent, resent_echo, has_timestamps, holds, ..
        } = *slot;
        if holds != Holds::Segment {
            return self.take_other(at);
        }
        (slot.holds, slot.next) = (Holds::Nothing, self.free);
        self.free = at.0;
        self.live -= 1;
        *into = Some(Segment {
            seq,
            ack,
            len,
            window,
            has_ack,
            syn,
            fin,
            rst,
            push,
            ece,
            cwr,
            resent,
            resent_echo,
            sack: SackBlocks::default(),
            timestamps: has_timestamps.then_some(Timestamps { value, echo }),
        });
        if blocks != NOWHERE
            && let Some(segment) = into
        {
            // Few segments have blocks: they are written where the segment lies.
            self.take_blocks(blocks, &mut segment.sack);
        }
    }

    #[cold]
    fn take_blocks(&mut self, at: u32, into: &mut SackBlocks) {
        self.free_blocks.push(at);
        *into = self.blocks[at as usize];
    }

    /// Frees a slot that holds no segment, with what it refers to.
    #[cold]
    fn take_other(&mut self, at: BodyRef) {
        let Some(slot) = self.slots.get_mut(at.0 as usize) else { return };
        let Slot { holds, len, blocks, .. } = *slot;
        if holds == Holds::Nothing {
            return;
        }
        (slot.holds, slot.next) = (Holds::Nothing, self.free);
        self.free = at.0;
        self.live -= 1;
        match holds {
            Holds::Bytes => self.free_buffers.push(blocks),
            Holds::Other => self.discard_other(len, blocks),
            Holds::Part => self.forget_part(blocks),
            Holds::Nothing | Holds::Segment => {}
        }
    }

    /// Number of bodies in the pool.
    pub fn live(&self) -> u32 {
        self.live
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A segment whose every field depends on `n`.
    fn segment(n: u64) -> Segment {
        let bit = |k: u64| n >> k & 1 == 1;
        let mut sack = SackBlocks::default();
        for k in 0..n % 5 {
            sack.push(n + 10 * k, n + 10 * k + 5);
        }
        let stamps = Timestamps { value: Time::from_nanos(n), echo: Time::from_nanos(n / 2) };
        Segment {
            seq: n << 20,
            ack: n << 21,
            len: n as u32,
            window: !n as u32,
            has_ack: bit(0),
            syn: bit(1),
            fin: bit(2),
            rst: bit(3),
            push: bit(9),
            ece: bit(4),
            cwr: bit(5),
            resent: bit(7),
            resent_echo: bit(8),
            sack,
            timestamps: bit(6).then_some(stamps),
        }
    }

    #[test]
    fn a_copy_of_any_kind_is_equal_and_apart() {
        let mut pool = Pool::new();
        let (plain, reporting) = (segment(5), segment(8));
        let originals =
            [pool.put(&plain), pool.put(&reporting), pool.put_bytes(b"abc"), pool.store((7u64, 'x'))];
        let copies = originals.map(|at| pool.copy(at));
        assert_eq!((pool.live(), pool.copy(BodyRef::NONE)), (8, BodyRef::NONE));
        for [a, b, bytes, other] in [originals, copies] {
            assert_eq!((pool.take(a), pool.take(b)), (Some(plain), Some(reporting)));
            assert_eq!((pool.bytes(bytes), pool.peek(other)), (Some(&b"abc"[..]), Some(&(7u64, 'x'))));
            pool.discard(bytes);
            assert_eq!(pool.fetch(other), Some((7u64, 'x')));
        }
        assert_eq!((pool.live(), pool.copy(originals[0])), (0, BodyRef::NONE));
    }

    proptest! {
        #[test]
        fn what_goes_in_comes_out_once(ops in proptest::collection::vec((any::<bool>(), any::<u32>()), 1..200)) {
            let mut pool = Pool::new();
            let mut held: Vec<(BodyRef, Segment)> = Vec::new();
            for (put, pick) in ops {
                if put || held.is_empty() {
                    let segment = segment(u64::from(pick));
                    held.push((pool.put(&segment), segment));
                } else {
                    let (at, put) = held.swap_remove(pick as usize % held.len());
                    let Some(taken) = pool.take(at) else { panic!("lost") };
                    prop_assert_eq!(taken, put);
                    prop_assert!(pool.take(at).is_none());
                }
                prop_assert_eq!(pool.live() as usize, held.len());
            }
        }

        #[test]
        fn bodies_of_other_protocols_keep_apart(ops in proptest::collection::vec((0..4u8, any::<u32>()), 1..200)) {
            let mut pool = Pool::new();
            let mut held: Vec<(BodyRef, bool, Vec<u8>)> = Vec::new();
            let segment = pool.put(&segment(77));
            for (op, pick) in ops {
                let bytes = vec![pick as u8; pick as usize % 50];
                match op {
                    0 => held.push((pool.store(bytes.clone()), true, bytes)),
                    1 => held.push((pool.store((u64::from(pick), bytes.clone())), false, bytes)),
                    _ if held.is_empty() => {}
                    _ => {
                        let (at, plain, bytes) = held.swap_remove(pick as usize % held.len());
                        if op == 2 {
                            pool.discard(at);
                        } else if plain {
                            prop_assert_eq!(pool.fetch::<Vec<u8>>(at), Some(bytes));
                        } else {
                            prop_assert_eq!(pool.fetch::<(u64, Vec<u8>)>(at).map(|b| b.1), Some(bytes));
                        }
                        prop_assert!(pool.fetch::<Vec<u8>>(at).is_none());
                    }
                }
                prop_assert_eq!(pool.live() as usize, held.len() + 1);
                for (at, plain, bytes) in &held {
                    prop_assert_eq!(pool.peek::<Vec<u8>>(*at), plain.then_some(bytes));
                }
            }
            // A body taken as another type is discarded.
            for (at, plain, _) in held {
                let none = if plain { pool.take(at).is_none() } else { pool.fetch::<Vec<u8>>(at).is_none() };
                prop_assert!(none);
            }
            prop_assert!(pool.live() == 1 && pool.take(segment).is_some());
        }

        #[test]
        fn bytes_keep_apart(ops in proptest::collection::vec((any::<bool>(), any::<bool>(), any::<u32>()), 1..200)) {
            let mut pool = Pool::new();
            let mut held: Vec<(BodyRef, Vec<u8>)> = Vec::new();
            let mut buffer = Vec::new();
            let segment = pool.put(&segment(77));
            for (put, dropped, pick) in ops {
                if put || held.is_empty() {
                    let bytes = vec![pick as u8; pick as usize % 50];
                    held.push((pool.put_bytes(&bytes), bytes));
                } else {
                    let (at, bytes) = held.swap_remove(pick as usize % held.len());
                    prop_assert_eq!(pool.bytes(at), Some(bytes.as_slice()));
                    if dropped {
                        prop_assert!(pool.take(at).is_none());
                    } else {
                        prop_assert!(pool.take_bytes(at, &mut buffer));
                        prop_assert_eq!(&buffer, &bytes);
                    }
                    prop_assert!(pool.bytes(at).is_none() && !pool.take_bytes(at, &mut buffer));
                }
                prop_assert_eq!(pool.live() as usize, held.len() + 1);
                for (at, bytes) in &held {
                    prop_assert_eq!(pool.bytes(*at), Some(bytes.as_slice()));
                }
            }
            prop_assert!(pool.bytes(segment).is_none() && pool.take(segment).is_some());
        }
    }
}
