//! What crossed the doors? Every packet that came in and every one that went out, kept in memory while the run
//! goes on and written as pcapng afterwards, an interface a door. Times are counted from t = 0 of the run.

use base::Time;
use std::io::{self, Write};

/// Packets with the door and the instant at which they crossed it.
#[derive(Clone, Default, Debug, PartialEq, Eq)]
pub struct Capture {
    names: Vec<String>,
    /// Door, instant, and where its bytes begin.
    packets: Vec<(u32, Time, usize)>,
    bytes: Vec<u8>,
}

/// Link type of bare IP packets, either version.
const RAW: u16 = 101;
/// Where a first byte of the file says how the others are ordered.
const ORDER: u32 = 0x1A2B_3C4D;
/// Kept free for packets to come, so that the run need not wait for memory.
const ROOM: usize = 4 << 20;

impl Capture {
    /// Of doors with these names, with no packet yet.
    pub fn new(names: Vec<String>) -> Capture {
        Capture { names, packets: Vec::with_capacity(ROOM / 512), bytes: Vec::with_capacity(ROOM) }
    }
    /// A packet crossed a door.
    pub fn add(&mut self, door: usize, t: Time, packet: &[u8]) {
        self.packets.push((door as u32, t, self.bytes.len()));
        self.bytes.extend_from_slice(packet);
    }
    /// How many packets there are.
    pub fn len(&self) -> usize {
        self.packets.len()
    }
    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// Writes it as pcapng (draft-ietf-opsawg-pcapng).
    ///
    /// # Errors
    /// The writer's.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let mut head = Vec::new();
        head.extend(ORDER.to_le_bytes());
        head.extend([1u16.to_le_bytes(), 0u16.to_le_bytes()].concat());
        head.extend(u64::MAX.to_le_bytes()); // how long the section is: not said
        option(&mut head, 4, format!("williwaw {}", env!("CARGO_PKG_VERSION")).as_bytes());
        option(&mut head, 0, &[]);
        block(out, 0x0A0D_0D0A, &head)?;
        for name in &self.names {
            let mut interface = Vec::new();
            interface.extend(RAW.to_le_bytes());
            interface.extend([0; 2]);
            interface.extend(0u32.to_le_bytes()); // packets are kept whole
            option(&mut interface, 2, name.as_bytes());
            option(&mut interface, 9, &[9]); // nanoseconds
            option(&mut interface, 0, &[]);
            block(out, 1, &interface)?;
        }
        // Doors are emptied one after the other; readers want one order.
        let mut order: Vec<usize> = (0..self.packets.len()).collect();
        order.sort_by_key(|&i| self.packets[i].1);
        let mut body = Vec::new();
        for i in order {
            let (door, t, from) = self.packets[i];
            let until = self.packets.get(i + 1).map_or(self.bytes.len(), |next| next.2);
            let packet = self.bytes.get(from..until).unwrap_or_default();
            let ns = t.as_nanos();
            body.clear();
            for word in [door, (ns >> 32) as u32, ns as u32, packet.len() as u32, packet.len() as u32] {
                body.extend(word.to_le_bytes());
            }
            body.extend(packet);
            pad(&mut body);
            block(out, 6, &body)?;
        }
        out.flush()
    }
}

fn pad(bytes: &mut Vec<u8>) {
    bytes.resize(bytes.len().next_multiple_of(4), 0);
}

fn option(to: &mut Vec<u8>, code: u16, value: &[u8]) {
    to.extend(code.to_le_bytes());
    to.extend((value.len() as u16).to_le_bytes());
    to.extend(value);
    pad(to);
}

fn block(out: &mut impl Write, kind: u32, body: &[u8]) -> io::Result<()> {
    let length = (body.len() as u32 + 12).to_le_bytes();
    out.write_all(&kind.to_le_bytes())?;
    out.write_all(&length)?;
    out.write_all(body)?;
    out.write_all(&length)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads blocks back by their lengths: kind and body.
    fn blocks(mut bytes: &[u8]) -> Vec<(u32, &[u8])> {
        let word = |b: &[u8], at: usize| u32::from_le_bytes([b[at], b[at + 1], b[at + 2], b[at + 3]]);
        let mut out = Vec::new();
        while !bytes.is_empty() {
            let length = word(bytes, 4) as usize;
            assert_eq!(word(bytes, length - 4) as usize, length);
            out.push((word(bytes, 0), &bytes[8..length - 4]));
            bytes = &bytes[length..];
        }
        out
    }

    #[test]
    fn packets_stand_in_the_order_of_time() {
        let mut capture = Capture::new(vec!["a".into(), "bcdef".into()]);
        capture.add(1, Time::from_nanos(5_000_000_001), &[1, 2, 3]);
        capture.add(0, Time::from_nanos(7), &[4, 5, 6, 7, 8]);
        let mut file = Vec::new();
        capture.write(&mut file).unwrap();
        let blocks = blocks(&file);
        assert_eq!(blocks.iter().map(|b| b.0).collect::<Vec<_>>(), [0x0A0D_0D0A, 1, 1, 6, 6]);
        let (first, second) = (blocks[3].1, blocks[4].1);
        assert_eq!(
            (&first[..12], &first[20..28]),
            (&[0, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0][..], &[4, 5, 6, 7, 8, 0, 0, 0][..])
        );
        let ns = 5_000_000_001u64;
        assert_eq!(second[0], 1);
        assert_eq!(&second[4..8], &((ns >> 32) as u32).to_le_bytes());
        assert_eq!(&second[8..12], &(ns as u32).to_le_bytes());
        assert_eq!(&second[12..], &[3, 0, 0, 0, 3, 0, 0, 0, 1, 2, 3, 0]);
    }
}
