//! Packet capture at packet ports to real stacks, kept in memory during the run: export as pcapng, or join
//! with the path's events at every tap.
//!
//! Packets in both directions stay in memory during the run. Afterwards they are joined with the path's
//! events, so that every tap has its packets ([`super`]), or written as one interface per packet port. Times
//! count from t = 0 of the run.

use super::{PortCrossing, Recorded};
use ::capture::{OutgoingFrame, PcapngWriter, Tap};
use base::event::Category;
use base::wire::frame::Framing;
use base::wire::hdlc;
use base::{Span, Time};
use path::{ElementId, Network};
use scenario::Model;
use scenario::build::World;
use std::io::{self, Write};

/// A packet port whose packets are captured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CapturedPort {
    /// Name of the packet port.
    pub name: String,
    /// Element of the packet port.
    pub element: ElementId,
    /// Framing of the packet port; `None` for bare IP packets.
    pub framing: Option<Framing>,
}

/// Metadata of a captured packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketMeta {
    /// Time at which it crossed the packet port.
    pub t: Time,
    /// Packet number in the network; `None` for a packet that did not enter it.
    pub number: Option<u64>,
    /// Number of events that the network recorded before the packet.
    pub after: usize,
    /// Egress: lateness against the due time. `None`: ingress.
    pub late: Option<Span>,
}

/// Captured packets, each with its packet port and the time at which it crossed.
#[derive(Clone, Default, Debug, PartialEq, Eq)]
pub struct Capture {
    packet_ports: Vec<CapturedPort>,
    /// Packet port, metadata, and offset of the packet in `bytes`.
    packets: Vec<(u32, PacketMeta, usize)>,
    bytes: Vec<u8>,
    /// Number of events and sightings at the end of the run.
    ended: Option<(usize, usize)>,
}

/// Bytes reserved before the run, so that no memory allocation delays a packet.
const ROOM: usize = 4 << 20;
/// Events reserved before the run.
const EVENTS: usize = 1 << 17;

/// Event categories that [`Capture::at_all_taps`] needs.
pub const RECORDED: [Category; 3] = [Category::Path, Category::Transport, Category::Packets];

impl Capture {
    /// An empty capture of these packet ports.
    pub fn new(packet_ports: Vec<CapturedPort>) -> Capture {
        let (packets, bytes) = (Vec::with_capacity(ROOM / 512), Vec::with_capacity(ROOM));
        Capture { packet_ports, packets, bytes, ended: None }
    }
    /// Reserves memory for the events of the network.
    pub fn begin(&self, network: &mut Network) {
        network.tracer().reserve(EVENTS);
    }
    /// Adds a packet that crossed a packet port.
    pub fn add(&mut self, packet_port: usize, note: PacketMeta, packet: &[u8]) {
        self.packets.push((packet_port as u32, note, self.bytes.len()));
        // Readers of captures expect no FCS (link type PPP).
        let framing = self.packet_ports.get(packet_port).and_then(|spot| spot.framing);
        let check = if framing == Some(Framing::Ppp) { hdlc::CHECK } else { 0 };
        let packet = packet.get(..packet.len().saturating_sub(check)).unwrap_or_default();
        self.bytes.extend_from_slice(packet);
    }
    /// Packets in order of capture: packet port index, time, bytes.
    pub fn packets(&self) -> impl Iterator<Item = (usize, Time, &[u8])> {
        (0..self.packets.len()).map(|i| {
            let (packet_port, note, from) = self.packets[i];
            (packet_port as usize, note.t, self.bytes_of(i, from))
        })
    }
    fn bytes_of(&self, i: usize, from: usize) -> &[u8] {
        let until = self.packets.get(i + 1).map_or(self.bytes.len(), |next| next.2);
        self.bytes.get(from..until).unwrap_or_default()
    }
    /// Ends the capture: events that the network records later are ignored.
    pub fn end(&mut self, network: &Network) {
        self.ended = Some((network.records().len(), network.sightings().len()));
    }

    /// Capture at every tap of the path, from the crossings and the events of `world` ([`RECORDED`]).
    pub fn at_all_taps(&self, model: &Model, world: &World) -> super::Capture<'_> {
        let crossing = |(i, (packet_port, note, from)): (usize, &(u32, PacketMeta, usize))| {
            let PacketMeta { t, number: packet, after, late } = *note;
            let packet_port = self.packet_ports.get(*packet_port as usize)?.element;
            Some(PortCrossing { packet_port, t, after, packet, bytes: self.bytes_of(i, *from), late })
        };
        let crossings: Vec<_> = self.packets.iter().enumerate().filter_map(crossing).collect();
        let (records, sightings) = (world.network.records(), world.network.sightings());
        let (events, seen) = self.ended.unwrap_or((records.len(), sightings.len()));
        let recorded = Recorded {
            records: records.get(..events).unwrap_or(records),
            sightings: sightings.get(..seen).unwrap_or(sightings),
            crossings: &crossings,
            framing: self.packet_ports.iter().find_map(|spot| spot.framing),
        };
        super::Capture::of(model, world, recorded)
    }
    /// Number of packets.
    pub fn len(&self) -> usize {
        self.packets.len()
    }
    /// True if no packet was captured.
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// Writes the packet port crossings as pcapng (draft-ietf-opsawg-pcapng).
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let tap = |spot: &CapturedPort| Tap { link: super::link(spot.framing), ..Tap::ip(&spot.name) };
        let taps = self.packet_ports.iter().map(tap).collect();
        let mut writer = PcapngWriter::new(out, taps, concat!("williwaw ", env!("CARGO_PKG_VERSION")))?;
        // Packet ports are polled in turn, so that packets of several packet ports are not in time order.
        let mut order: Vec<usize> = (0..self.packets.len()).collect();
        order.sort_by_key(|&i| self.packets[i].1.t);
        for i in order {
            let (tap, note, from) = self.packets[i];
            let bytes = self.bytes_of(i, from);
            let (time_ns, wire_len) = (note.t.as_nanos(), bytes.len() as u32);
            writer.write(&OutgoingFrame { time_ns, tap, wire_len, bytes, comment: "" })?;
        }
        writer.finish().map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_stand_in_the_order_of_time() {
        let spot = |name: &str| CapturedPort { name: name.into(), element: ElementId(0), framing: None };
        let note = |ns| PacketMeta { t: Time::from_nanos(ns), number: None, after: 0, late: None };
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
