//! What crossed the doors? Every packet that came in and every one that went out, kept in memory while the run
//! goes on and written as pcapng afterwards, an interface a door. Times are counted from t = 0 of the run.

use ::capture::{Link, PcapngWriter, Shot, Tap};
use base::Time;
use base::wire::frame::Framing;
use base::wire::hdlc;
use std::io::{self, Write};

/// Packets with the door and the instant at which they crossed it.
#[derive(Clone, Default, Debug, PartialEq, Eq)]
pub struct Capture {
    /// What the doors are called, and what frames cross them; bare packets where there are none.
    doors: Vec<(String, Option<Framing>)>,
    /// Door, instant, and where its bytes begin.
    packets: Vec<(u32, Time, usize)>,
    bytes: Vec<u8>,
}

/// Kept free for packets to come, so that the run need not wait for memory.
const ROOM: usize = 4 << 20;

impl Capture {
    /// Of doors with these names, with no packet yet.
    pub fn new(names: Vec<String>) -> Capture {
        Capture::of(names.into_iter().map(|name| (name, None)).collect())
    }
    /// Of doors with these names and frames, with none yet.
    pub fn of(doors: Vec<(String, Option<Framing>)>) -> Capture {
        Capture { doors, packets: Vec::with_capacity(ROOM / 512), bytes: Vec::with_capacity(ROOM) }
    }
    /// A packet crossed a door.
    pub fn add(&mut self, door: usize, t: Time, packet: &[u8]) {
        self.packets.push((door as u32, t, self.bytes.len()));
        // Readers of captures expect no check sequence.
        let check = if let Some((_, Some(Framing::Ppp))) = self.doors.get(door) { hdlc::CHECK } else { 0 };
        let packet = packet.get(..packet.len().saturating_sub(check)).unwrap_or_default();
        self.bytes.extend_from_slice(packet);
    }
    /// They as they came: the door's number, the instant, the bytes.
    pub fn packets(&self) -> impl Iterator<Item = (usize, Time, &[u8])> {
        (0..self.packets.len()).map(|i| {
            let (door, t, from) = self.packets[i];
            let until = self.packets.get(i + 1).map_or(self.bytes.len(), |next| next.2);
            (door as usize, t, self.bytes.get(from..until).unwrap_or_default())
        })
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
        let tap = |(name, framing): &(String, Option<Framing>)| {
            let link = match framing {
                None => Link::RAW,
                Some(Framing::Ethernet) => Link::ETHERNET,
                Some(Framing::Ppp) => Link::PPP,
            };
            Tap { link, ..Tap::ip(name) }
        };
        let taps = self.doors.iter().map(tap).collect();
        let mut writer = PcapngWriter::new(out, taps, concat!("williwaw ", env!("CARGO_PKG_VERSION")))?;
        // Doors are emptied one after the other; readers want one order.
        let mut order: Vec<usize> = (0..self.packets.len()).collect();
        order.sort_by_key(|&i| self.packets[i].1);
        for i in order {
            let (tap, t, from) = self.packets[i];
            let until = self.packets.get(i + 1).map_or(self.bytes.len(), |next| next.2);
            let bytes = self.bytes.get(from..until).unwrap_or_default();
            let (time_ns, wire_len) = (t.as_nanos(), bytes.len() as u32);
            writer.write(&Shot { time_ns, tap, wire_len, bytes, comment: "" })?;
        }
        writer.finish().map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_stand_in_the_order_of_time() {
        let mut capture = Capture::new(vec!["a".into(), "bcdef".into()]);
        capture.add(1, Time::from_nanos(5_000_000_001), &[1, 2, 3]);
        capture.add(0, Time::from_nanos(7), &[4, 5, 6, 7, 8]);
        let mut file = Vec::new();
        capture.write(&mut file).unwrap();
        let mut reader = ::capture::Reader::open(&file[..]).unwrap();
        let mut seen = Vec::new();
        while let Some(frame) = reader.next().unwrap() {
            seen.push((frame.interface, frame.time_ns, frame.bytes.to_vec()));
        }
        assert_eq!(seen, [(0, 7, vec![4, 5, 6, 7, 8]), (1, 5_000_000_001, vec![1, 2, 3])]);
        let names: Vec<_> = reader.interfaces().iter().filter_map(|i| i.name.as_deref()).collect();
        assert_eq!(names, ["a", "bcdef"]);
    }
}
