//! Split virtqueue of a network card (virtio 1.2, section 2.7): descriptor chains taken from and returned to
//! the driver.
//!
//! Descriptor table, available ring and used ring lie in guest memory. The guest may write any value there,
//! so all values are validated.

use std::fmt;

/// Guest physical memory.
pub trait Memory {
    /// Fills `to` from address `at`.
    ///
    /// # Errors
    /// The address range is not mapped.
    fn read(&self, at: u64, to: &mut [u8]) -> Result<(), RingFault>;
    /// Writes `from` to address `at`.
    ///
    /// # Errors
    /// The address range is not mapped.
    fn write(&self, at: u64, from: &[u8]) -> Result<(), RingFault>;
}

/// Violation of the queue format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RingFault {
    /// Address range outside of guest memory: address, length.
    Outside(u64, u64),
    /// The queue has no addresses, or an invalid size.
    Unready(u32),
    /// A descriptor chain that loops, or leaves the table.
    Chain,
    /// More entries are available than the queue has.
    Offered,
    /// A buffer larger than any packet, or too small for the data.
    Buffer(u64),
}

impl fmt::Display for RingFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RingFault::Outside(at, n) => write!(f, "{n} bytes at {at:#x} are not in its memory"),
            RingFault::Unready(ring) => write!(f, "queue {ring} is used before it is set up"),
            RingFault::Chain => f.write_str("a chain of its buffers has no end"),
            RingFault::Offered => f.write_str("it offers more buffers than its queue holds"),
            RingFault::Buffer(n) => write!(f, "a buffer of {n} bytes is not for packets"),
        }
    }
}

/// Largest queue size. Linux uses 256; with the maximum of 32 768, a hostile driver could cause reads of
/// gigabytes.
const LARGEST: u16 = 1024;
/// Descriptor flag: another descriptor follows.
const NEXT: u16 = 1;
/// Descriptor flag: the device may write the buffer.
const WRITE: u16 = 2;
/// Descriptor flag: the buffer is a table of descriptors.
const INDIRECT: u16 = 4;

/// A queue as configured by the guest.
#[derive(Clone, Default, Debug)]
pub struct Ring {
    /// Index, for error messages.
    pub index: u32,
    /// Number of descriptors.
    pub size: u16,
    /// Addresses of table and rings, once configured.
    pub places: Option<Places>,
    /// Number of chains taken from the available ring, modulo 2^16.
    pub taken: u16,
    /// Number of chains returned to the used ring, modulo 2^16.
    pub used: u16,
    /// Number of chains in the available ring as last read, modulo 2^16; never less than `taken`.
    pub seen: u16,
    /// Available ring as last read. The driver leaves an entry alone until its chain is returned, so those from
    /// `taken` to `seen` are valid.
    pub offered: Vec<u8>,
}

/// Guest addresses of table and rings of a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Places {
    /// Descriptor table.
    pub table: u64,
    /// Available ring.
    pub offered: u64,
    /// Used ring.
    pub used: u64,
}

/// A descriptor chain taken from the available ring.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain {
    head: u16,
    /// Address and length of the readable buffers.
    read: Vec<(u64, u32)>,
    /// Address and length of the buffers that the device may write.
    write: Vec<(u64, u32)>,
}

fn word(memory: &impl Memory, at: u64) -> Result<u16, RingFault> {
    let mut bytes = [0; 2];
    memory.read(at, &mut bytes)?;
    Ok(u16::from_le_bytes(bytes))
}

impl Ring {
    fn ready(&self) -> Result<(Places, u16), RingFault> {
        match self.places {
            Some(places) if self.size.is_power_of_two() && self.size <= LARGEST => Ok((places, self.size)),
            _ => Err(RingFault::Unready(self.index)),
        }
    }

    /// Takes the next chain from the available ring, if any.
    ///
    /// # Errors
    /// The queue content is invalid.
    pub fn take(&mut self, memory: &impl Memory) -> Result<Option<Chain>, RingFault> {
        let (places, size) = self.ready()?;
        if self.seen == self.taken {
            self.offered.resize(4 + 2 * usize::from(size), 0);
            memory.read(places.offered, &mut self.offered)?;
            self.seen = self.known(1);
        }
        match self.seen.wrapping_sub(self.taken) {
            0 => return Ok(None),
            n if n > size => return Err(RingFault::Offered),
            _ => {}
        }
        let head = self.known(2 + usize::from(self.taken % size));
        let mut chain = Chain { head, read: Vec::new(), write: Vec::new() };
        let mut at = head;
        // Descriptors of a chain are mostly adjacent, so two are read at once.
        let mut pair = [[0; 16]; 2];
        let mut read = None;
        for _ in 0..size {
            if at >= size {
                return Err(RingFault::Chain);
            }
            if read.and_then(|first: u16| first.checked_add(1)) == Some(at) {
                pair.swap(0, 1);
                read = None;
            } else {
                let two = at + 1 < size;
                let bytes = if two { pair.as_flattened_mut() } else { &mut pair[0][..] };
                memory.read(places.table.wrapping_add(16 * u64::from(at)), bytes)?;
                read = two.then_some(at);
            }
            let d = pair[0];
            let [address @ .., l0, l1, l2, l3, f0, f1, n0, n1] = d;
            let part = (u64::from_le_bytes(address), u32::from_le_bytes([l0, l1, l2, l3]));
            let flags = u16::from_le_bytes([f0, f1]);
            if flags & INDIRECT != 0 {
                return Err(RingFault::Chain); // not negotiated
            }
            if flags & WRITE == 0 {
                chain.read.push(part)
            } else {
                chain.write.push(part)
            }
            if flags & NEXT == 0 {
                self.taken = self.taken.wrapping_add(1);
                return Ok(Some(chain));
            }
            at = u16::from_le_bytes([n0, n1]);
        }
        Err(RingFault::Chain)
    }

    /// Word `i` of the available ring as last read: flags, index, entries.
    fn known(&self, i: usize) -> u16 {
        self.offered
            .get(2 * i..)
            .and_then(|rest| rest.first_chunk())
            .map_or(0, |word| u16::from_le_bytes(*word))
    }

    /// Whether chains that were seen in the available ring have not been taken.
    pub fn has_more(&self) -> bool {
        self.seen != self.taken
    }

    /// Returns a chain to the used ring, with `written` bytes.
    ///
    /// # Errors
    /// The queue is not mapped.
    pub fn give_back(&mut self, memory: &impl Memory, chain: &Chain, written: u32) -> Result<(), RingFault> {
        let (places, size) = self.ready()?;
        let mut entry = [0; 8];
        entry[..4].copy_from_slice(&u32::from(chain.head).to_le_bytes());
        entry[4..].copy_from_slice(&written.to_le_bytes());
        let slot = u64::from(self.used % size);
        memory.write(places.used.wrapping_add(4 + 8 * slot), &entry)?;
        self.used = self.used.wrapping_add(1);
        memory.write(places.used.wrapping_add(2), &self.used.to_le_bytes())
    }

    /// Whether the driver wanted an interrupt for returned chains when the available ring was last read.
    pub fn wanted_call(&self) -> bool {
        self.known(0) & 1 == 0
    }

    /// Whether the driver wants an interrupt for returned chains.
    ///
    /// # Errors
    /// The queue is not mapped.
    pub fn wants_call(&self, memory: &impl Memory) -> Result<bool, RingFault> {
        Ok(word(memory, self.ready()?.0.offered)? & 1 == 0)
    }
}

impl Chain {
    /// Content written by the driver.
    ///
    /// # Errors
    /// More than `most` bytes, or outside of guest memory.
    pub fn read(&self, memory: &impl Memory, most: u64) -> Result<Vec<u8>, RingFault> {
        let length: u64 = self.read.iter().map(|(_, n)| u64::from(*n)).sum();
        if length > most {
            return Err(RingFault::Buffer(length));
        }
        let mut out = vec![0; length as usize];
        let mut rest = out.as_mut_slice();
        for &(at, n) in &self.read {
            let (part, more) = rest.split_at_mut((n as usize).min(rest.len()));
            memory.read(at, part)?;
            rest = more;
        }
        Ok(out)
    }

    /// Writes data for the driver.
    ///
    /// # Errors
    /// The buffer is too small, or outside of guest memory.
    pub fn write(&self, memory: &impl Memory, bytes: &[u8]) -> Result<u32, RingFault> {
        let room: u64 = self.write.iter().map(|(_, n)| u64::from(*n)).sum();
        if room < bytes.len() as u64 {
            return Err(RingFault::Buffer(room));
        }
        let mut rest = bytes;
        for &(at, n) in &self.write {
            let (part, more) = rest.split_at((n as usize).min(rest.len()));
            memory.write(at, part)?;
            rest = more;
        }
        Ok(bytes.len() as u32)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::cell::RefCell;

    /// Memory from address 0x1000.
    pub(crate) struct OwnMemory(pub(crate) RefCell<Vec<u8>>);

    impl OwnMemory {
        fn range(&self, at: u64, n: usize) -> Result<std::ops::Range<usize>, RingFault> {
            let from = at.checked_sub(0x1000).ok_or(RingFault::Outside(at, n as u64))? as usize;
            let until = from.checked_add(n).filter(|end| *end <= self.0.borrow().len());
            Ok(from..until.ok_or(RingFault::Outside(at, n as u64))?)
        }
    }

    impl Memory for OwnMemory {
        fn read(&self, at: u64, to: &mut [u8]) -> Result<(), RingFault> {
            let range = self.range(at, to.len())?;
            to.copy_from_slice(&self.0.borrow()[range]);
            Ok(())
        }
        fn write(&self, at: u64, from: &[u8]) -> Result<(), RingFault> {
            let range = self.range(at, from.len())?;
            self.0.borrow_mut()[range].copy_from_slice(from);
            Ok(())
        }
    }

    const PLACES: Places = Places { table: 0x1000, offered: 0x1100, used: 0x1200 };

    fn ring() -> Ring {
        Ring { index: 1, size: 4, places: Some(PLACES), taken: 0, used: 0, seen: 0, offered: Vec::new() }
    }

    pub(crate) fn describe(m: &OwnMemory, table: u64, i: u64, at: u64, n: u32, flags: u16, next: u16) {
        let mut d = at.to_le_bytes().to_vec();
        d.extend(n.to_le_bytes());
        d.extend(flags.to_le_bytes());
        d.extend(next.to_le_bytes());
        m.write(table + 16 * i, &d).unwrap();
    }

    #[test]
    fn a_chain_is_taken_read_and_given_back() {
        let m = OwnMemory(RefCell::new(vec![0; 0x1000]));
        m.write(0x1400, b"hello").unwrap();
        m.write(0x1500, b" there").unwrap();
        describe(&m, PLACES.table, 2, 0x1400, 5, NEXT, 3);
        describe(&m, PLACES.table, 3, 0x1500, 6, NEXT, 0);
        describe(&m, PLACES.table, 0, 0x1600, 8, WRITE, 0);
        m.write(PLACES.offered, &[1, 0, 1, 0, 2, 0]).unwrap();
        let mut r = ring();
        let chain = r.take(&m).unwrap().unwrap();
        assert_eq!(chain.read(&m, 100).unwrap(), b"hello there");
        assert_eq!(chain.read(&m, 10), Err(RingFault::Buffer(11)));
        assert_eq!(chain.write(&m, b"answer").unwrap(), 6);
        assert_eq!(chain.write(&m, b"too long for it"), Err(RingFault::Buffer(8)));
        assert_eq!(&m.0.borrow()[0x600..0x606], b"answer");
        r.give_back(&m, &chain, 6).unwrap();
        assert_eq!(&m.0.borrow()[0x200..0x20c], &[0, 0, 1, 0, 2, 0, 0, 0, 6, 0, 0, 0]);
        assert!(!r.wants_call(&m).unwrap());
        assert!(r.take(&m).unwrap().is_none());
    }

    #[test]
    fn a_chain_of_distant_and_near_descriptors_is_read_in_its_order() {
        let m = OwnMemory(RefCell::new(vec![0; 0x1000]));
        for (at, letter) in [(0x1400, b"a"), (0x1410, b"b"), (0x1420, b"c"), (0x1430, b"d")] {
            m.write(at, letter).unwrap();
        }
        describe(&m, PLACES.table, 3, 0x1400, 1, NEXT, 0);
        describe(&m, PLACES.table, 0, 0x1410, 1, NEXT, 1);
        describe(&m, PLACES.table, 1, 0x1420, 1, NEXT, 2);
        describe(&m, PLACES.table, 2, 0x1430, 1, 0, 0);
        m.write(PLACES.offered, &[0, 0, 1, 0, 3, 0]).unwrap();
        let mut r = ring();
        assert_eq!(r.take(&m).unwrap().unwrap().read(&m, 4).unwrap(), b"abcd");
        assert!(!r.has_more());
        // The next one is found once the driver offers it.
        assert_eq!(r.take(&m), Ok(None));
        m.write(PLACES.offered, &[0, 0, 3, 0, 3, 0, 2, 0, 2, 0]).unwrap();
        assert!(r.take(&m).unwrap().is_some() && r.has_more() && r.wanted_call());
        m.write(PLACES.offered, &[1, 0]).unwrap();
        assert!(r.take(&m).unwrap().is_some() && !r.has_more() && r.wanted_call());
        assert_eq!((r.take(&m), r.wanted_call()), (Ok(None), false));
    }

    #[test]
    fn a_ring_of_descriptors_has_an_end() {
        let m = OwnMemory(RefCell::new(vec![0; 0x1000]));
        describe(&m, PLACES.table, 0, 0x1400, 5, NEXT, 1);
        describe(&m, PLACES.table, 1, 0x1400, 5, NEXT, 0);
        m.write(PLACES.offered, &[0, 0, 1, 0, 0, 0]).unwrap();
        assert_eq!(ring().take(&m), Err(RingFault::Chain));
        m.write(PLACES.offered, &[0, 0, 9, 0]).unwrap();
        assert_eq!(ring().take(&m), Err(RingFault::Offered));
        assert_eq!(Ring::default().take(&m), Err(RingFault::Unready(0)));
    }

    proptest! {
        /// For any memory content, the device terminates and touches no other memory.
        #[test]
        fn no_memory_breaks_a_queue(
            bytes in proptest::collection::vec(any::<u8>(), 0x400),
            size in any::<u16>(),
            taken in any::<u16>(),
            offered in 0x0f00u64..0x1500,
        ) {
            let m = OwnMemory(RefCell::new(bytes));
            let mut r = Ring { size, taken, seen: taken, places: Some(Places { offered, ..PLACES }), ..ring() };
            for _ in 0..8 {
                let Ok(Some(chain)) = r.take(&m) else { break };
                let _ = chain.read(&m, 2000);
                let _ = chain.write(&m, &[1; 60]);
                let _ = r.give_back(&m, &chain, 60);
                let _ = r.wants_call(&m);
            }
        }
    }
}
