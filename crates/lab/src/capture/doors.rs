//! Packet capture at the doors to real stacks, joined with the path's events after the run.
//!
//! Every packet that came in and every one that went out, kept in memory while the run goes on. Afterwards it is
//! joined with what the path has recorded, so that every tap of the path has its packets too ([`super`]), or
//! written as it is, an interface a door. Times are counted from t = 0 of the run.

use super::{Crossing, Recorded};
use ::capture::{PcapngWriter, Shot, Tap};
use base::event::Category;
use base::wire::frame::Framing;
use base::wire::hdlc;
use base::{Span, Time};
use path::{ElementId, Network};
use scenario::Model;
use scenario::build::World;
use std::io::{self, Write};

/// A door at which packets are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spot {
    /// What it is called.
    pub name: String,
    /// The element.
    pub element: ElementId,
    /// What frames cross it; bare packets where there are none.
    pub framing: Option<Framing>,
}

/// What is to be noted of a packet beside its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Note {
    /// When it crossed the door.
    pub t: Time,
    /// Its number in the network, if it has one there.
    pub number: Option<u64>,
    /// How many events the network had recorded before.
    pub after: usize,
    /// It left, so much later than it was due; none: it came in.
    pub late: Option<Span>,
}

/// Packets with the door and the instant at which they crossed it.
#[derive(Clone, Default, Debug, PartialEq, Eq)]
pub struct Capture {
    doors: Vec<Spot>,
    /// Door, what was noted, and where its bytes begin.
    packets: Vec<(u32, Note, usize)>,
    bytes: Vec<u8>,
    /// How many events and sightings there were when the run ended.
    ended: Option<(usize, usize)>,
}

/// Kept free for packets to come, so that the run need not wait for memory.
const ROOM: usize = 4 << 20;
/// The same for events of the path.
const EVENTS: usize = 1 << 17;

/// What the network must record beside the packets.
pub const RECORDED: [Category; 3] = [Category::Path, Category::Transport, Category::Packets];

impl Capture {
    /// Of these doors, with no packet yet.
    pub fn new(doors: Vec<Spot>) -> Capture {
        let (packets, bytes) = (Vec::with_capacity(ROOM / 512), Vec::with_capacity(ROOM));
        Capture { doors, packets, bytes, ended: None }
    }
    /// Begins: makes room for what the network will record.
    pub fn begin(&self, network: &mut Network) {
        network.tracer().reserve(EVENTS);
    }
    /// A packet crossed a door.
    pub fn add(&mut self, door: usize, note: Note, packet: &[u8]) {
        self.packets.push((door as u32, note, self.bytes.len()));
        // Readers of captures expect no check sequence.
        let framing = self.doors.get(door).and_then(|spot| spot.framing);
        let check = if framing == Some(Framing::Ppp) { hdlc::CHECK } else { 0 };
        let packet = packet.get(..packet.len().saturating_sub(check)).unwrap_or_default();
        self.bytes.extend_from_slice(packet);
    }
    /// They as they came: the door's number, the instant, the bytes.
    pub fn packets(&self) -> impl Iterator<Item = (usize, Time, &[u8])> {
        (0..self.packets.len()).map(|i| {
            let (door, note, from) = self.packets[i];
            (door as usize, note.t, self.bytes_of(i, from))
        })
    }
    fn bytes_of(&self, i: usize, from: usize) -> &[u8] {
        let until = self.packets.get(i + 1).map_or(self.bytes.len(), |next| next.2);
        self.bytes.get(from..until).unwrap_or_default()
    }
    /// The run is over: what the network records from now on, nobody has seen.
    pub fn end(&mut self, network: &Network) {
        self.ended = Some((network.records().len(), network.sightings().len()));
    }

    /// What was seen at every tap of the path, with what `world` has recorded ([`RECORDED`]).
    pub fn at_all_taps(&self, model: &Model, world: &World) -> super::Capture<'_> {
        let crossing = |(i, (door, note, from)): (usize, &(u32, Note, usize))| {
            let Note { t, number: packet, after, late } = *note;
            let door = self.doors.get(*door as usize)?.element;
            Some(Crossing { door, t, after, packet, bytes: self.bytes_of(i, *from), late })
        };
        let crossings: Vec<_> = self.packets.iter().enumerate().filter_map(crossing).collect();
        let (records, sightings) = (world.network.records(), world.network.sightings());
        let (events, seen) = self.ended.unwrap_or((records.len(), sightings.len()));
        let recorded = Recorded {
            records: records.get(..events).unwrap_or(records),
            sightings: sightings.get(..seen).unwrap_or(sightings),
            crossings: &crossings,
            framing: self.doors.iter().find_map(|spot| spot.framing),
        };
        super::Capture::of(model, world, recorded)
    }
    /// How many packets there are.
    pub fn len(&self) -> usize {
        self.packets.len()
    }
    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// Writes what crossed the doors as pcapng (draft-ietf-opsawg-pcapng).
    ///
    /// # Errors
    /// The writer's.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let tap = |spot: &Spot| Tap { link: super::link(spot.framing), ..Tap::ip(&spot.name) };
        let taps = self.doors.iter().map(tap).collect();
        let mut writer = PcapngWriter::new(out, taps, concat!("williwaw ", env!("CARGO_PKG_VERSION")))?;
        // Doors are emptied one after the other; readers want one order.
        let mut order: Vec<usize> = (0..self.packets.len()).collect();
        order.sort_by_key(|&i| self.packets[i].1.t);
        for i in order {
            let (tap, note, from) = self.packets[i];
            let bytes = self.bytes_of(i, from);
            let (time_ns, wire_len) = (note.t.as_nanos(), bytes.len() as u32);
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
        let spot = |name: &str| Spot { name: name.into(), element: ElementId(0), framing: None };
        let note = |ns| Note { t: Time::from_nanos(ns), number: None, after: 0, late: None };
        let mut capture = Capture::new(vec![spot("a"), spot("bcdef")]);
        capture.add(1, note(5_000_000_001), &[1, 2, 3]);
        capture.add(0, note(7), &[4, 5, 6, 7, 8]);
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
