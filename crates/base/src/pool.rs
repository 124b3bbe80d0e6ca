//! Where do bodies wait while heads travel? In one slab per network: no allocation once it has
//! grown to the largest number of packets in flight. It is empty when a run is over.

use crate::tcp::Segment;

/// A body's place in the pool.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct BodyRef(u32);

impl BodyRef {
    /// "No body": background load and bare probes.
    pub const NONE: BodyRef = BodyRef(u32::MAX);
}

/// What a packet carries.
#[derive(Clone, Copy, Debug)]
pub enum Body {
    /// A TCP segment.
    Tcp(Segment),
    /// Bytes as they were on the wire; see [`Pool::put_bytes`].
    Raw(Raw),
}

/// Which of the pool's buffers holds the bytes of a raw body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Raw(u32);

/// The slab of bodies.
#[derive(Default, Debug)]
pub struct Pool {
    slots: Vec<Slot>,
    free: u32,
    live: u32,
    /// Buffers of raw bodies; those of no body keep their room for the next one.
    buffers: Vec<Vec<u8>>,
    spare: Vec<u32>,
}

#[derive(Debug)]
enum Slot {
    Full(Body),
    // The index of the next free slot, or u32::MAX.
    Empty(u32),
}

impl Pool {
    /// An empty pool.
    pub fn new() -> Self {
        Pool { free: u32::MAX, ..Pool::default() }
    }
    /// Stores a body.
    pub fn put(&mut self, body: Body) -> BodyRef {
        self.live += 1;
        if self.free == u32::MAX {
            self.slots.push(Slot::Full(body));
            return BodyRef(self.slots.len() as u32 - 1);
        }
        let at = self.free;
        let slot = &mut self.slots[at as usize];
        if let Slot::Empty(next) = *slot {
            self.free = next;
        }
        *slot = Slot::Full(body);
        BodyRef(at)
    }
    /// Looks at a body.
    pub fn get(&self, at: BodyRef) -> Option<&Body> {
        match self.slots.get(at.0 as usize) {
            Some(Slot::Full(body)) => Some(body),
            _ => None,
        }
    }
    /// Takes a body out; `None` if there is none there.
    pub fn take(&mut self, at: BodyRef) -> Option<Body> {
        let slot = self.slots.get_mut(at.0 as usize)?;
        let Slot::Full(body) = *slot else { return None };
        *slot = Slot::Empty(self.free);
        self.free = at.0;
        self.live -= 1;
        if let Body::Raw(raw) = body {
            self.spare.push(raw.0);
        }
        Some(body)
    }
    /// Stores a body of bytes, copied into a buffer that an earlier one has left.
    pub fn put_bytes(&mut self, bytes: &[u8]) -> BodyRef {
        let at = self.spare.pop().unwrap_or_else(|| {
            self.buffers.push(Vec::new());
            self.buffers.len() as u32 - 1
        });
        let buffer = &mut self.buffers[at as usize];
        buffer.clear();
        buffer.extend_from_slice(bytes);
        self.put(Body::Raw(Raw(at)))
    }
    /// The bytes of a raw body; `None` if there is none there.
    pub fn bytes(&self, at: BodyRef) -> Option<&[u8]> {
        match self.get(at)? {
            Body::Raw(raw) => self.buffers.get(raw.0 as usize).map(Vec::as_slice),
            Body::Tcp(_) => None,
        }
    }
    /// Takes a raw body out: its bytes and `into` change places. False, and nothing changes, if there is
    /// none there.
    pub fn take_bytes(&mut self, at: BodyRef, into: &mut Vec<u8>) -> bool {
        let Some(&Body::Raw(raw)) = self.get(at) else { return false };
        std::mem::swap(&mut self.buffers[raw.0 as usize], into);
        self.take(at);
        true
    }
    /// How many bodies wait.
    pub fn live(&self) -> u32 {
        self.live
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_goes_in_comes_out_once(ops in proptest::collection::vec((any::<bool>(), any::<u32>()), 1..200)) {
            let mut pool = Pool::new();
            let mut held: Vec<(BodyRef, u64)> = Vec::new();
            for (i, (put, pick)) in ops.into_iter().enumerate() {
                if put || held.is_empty() {
                    let seq = i as u64;
                    held.push((pool.put(Body::Tcp(Segment { seq, ..Default::default() })), seq));
                } else {
                    let (at, seq) = held.swap_remove(pick as usize % held.len());
                    let Some(Body::Tcp(segment)) = pool.take(at) else { panic!("lost") };
                    prop_assert_eq!(segment.seq, seq);
                    prop_assert!(pool.take(at).is_none());
                }
                prop_assert_eq!(pool.live() as usize, held.len());
            }
        }

        #[test]
        fn bytes_keep_apart(ops in proptest::collection::vec((any::<bool>(), any::<bool>(), any::<u32>()), 1..200)) {
            let mut pool = Pool::new();
            let mut held: Vec<(BodyRef, Vec<u8>)> = Vec::new();
            let mut buffer = Vec::new();
            for (put, dropped, pick) in ops {
                if put || held.is_empty() {
                    let bytes = vec![pick as u8; pick as usize % 50];
                    held.push((pool.put_bytes(&bytes), bytes));
                } else {
                    let (at, bytes) = held.swap_remove(pick as usize % held.len());
                    prop_assert_eq!(pool.bytes(at), Some(bytes.as_slice()));
                    if dropped {
                        prop_assert!(pool.take(at).is_some());
                    } else {
                        prop_assert!(pool.take_bytes(at, &mut buffer));
                        prop_assert_eq!(&buffer, &bytes);
                    }
                    prop_assert!(!pool.take_bytes(at, &mut buffer));
                }
                prop_assert_eq!(pool.live() as usize, held.len());
                for (at, bytes) in &held {
                    prop_assert_eq!(pool.bytes(*at), Some(bytes.as_slice()));
                }
            }
        }
    }
}
