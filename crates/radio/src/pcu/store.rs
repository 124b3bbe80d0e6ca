//! Packets of one direction as octets of LLC frames or of their information fields, and their reassembly (3GPP TS 44.064,
//! 44.065).
//!
//! The model's packets have no octets; the octets are generated from packet and segment numbers. A frame with altered
//! octets is counted, and its packet is not delivered.

use crate::llc::{LlcMode, Segmentation};
use crate::wire::llc::{self, Numbers};
use base::packet::Packet;
use std::collections::VecDeque;

/// A packet in flight.
struct PacketInFlight {
    packet: Packet,
    number: u32,
    /// Octets of each segment.
    sizes: Vec<u32>,
    /// Bit set of the segments received.
    have: u32,
}

/// Effect of a received frame.
#[derive(Default)]
pub(super) struct FrameResult {
    /// Packet completed by the frame.
    pub(super) packet: Option<Packet>,
    /// Earlier incomplete packets, which are lost.
    pub(super) lost: Vec<Packet>,
}

/// Packets in flight in one direction of one mobile.
pub(super) struct Store {
    up: bool,
    segmentation: Segmentation,
    under: VecDeque<PacketInFlight>,
    packets: u32,
    frames: u32,
    /// Acknowledged mode: number of the packet that is being received, modulo 256, and of its next segment.
    current: Option<(u32, u8)>,
    /// Frames received with altered octets.
    pub(super) wrong: u64,
}

impl Store {
    pub(super) fn new(up: bool, n201: u32, mode: LlcMode) -> Store {
        let segmentation = Segmentation { n201, mode };
        Store { up, segmentation, under: VecDeque::new(), packets: 0, frames: 0, current: None, wrong: 0 }
    }

    /// Number of packets in flight.
    pub(super) fn len(&self) -> usize {
        self.under.len()
    }

    /// Number of LLC frames of a packet of `packet` octets, and the sum of their sizes.
    pub(super) fn size(&self, packet: u32) -> (u32, u64) {
        self.segmentation.frames(packet).fold((0, 0), |(n, all), octets| (n + 1, all + u64::from(octets)))
    }

    /// Adds a packet; returns its number and its LLC frames, in acknowledged mode their information fields.
    pub(super) fn take(&mut self, packet: Packet) -> (u32, Vec<Vec<u8>>) {
        let number = self.packets;
        self.packets += 1;
        let sizes: Vec<u32> = self.segmentation.segments(packet.size).collect();
        let mut frames = Vec::with_capacity(sizes.len());
        for (i, octets) in sizes.iter().enumerate() {
            let numbers = Numbers {
                mode: self.segmentation.mode,
                up: self.up,
                frame: self.frames,
                expected: 0,
                packet: number,
                segment: i as u8,
                more: i + 1 < sizes.len(),
            };
            self.frames += 1;
            let segment = segment(number, i as u32, *octets);
            frames.push(match numbers.mode {
                LlcMode::Unacknowledged => llc::frame(&numbers, &segment),
                LlcMode::Acknowledged => llc::field(&numbers, &segment),
            });
        }
        self.under.push_back(PacketInFlight { packet, number, sizes, have: 0 });
        (number, frames)
    }

    /// Removes and returns all packets in flight.
    pub(super) fn clear(&mut self) -> Vec<Packet> {
        self.under.drain(..).map(|u| u.packet).collect()
    }

    /// Removes a packet in flight by number; `None` if the packet had already ended.
    pub(super) fn end(&mut self, number: u32) -> Option<Packet> {
        let at = self.under.iter().position(|u| u.number == number)?;
        self.under.remove(at).map(|u| u.packet)
    }

    /// Takes a received frame. Frames without a packet segment, such as LLC dummy commands, are ignored.
    pub(super) fn arrived(&mut self, frame: &[u8]) -> FrameResult {
        let arrived = FrameResult::default();
        let Some(read) = llc::read(frame).filter(|read| read.sapi == llc::SAPI) else { return arrived };
        let Some(got) = llc::read_segment(read.information) else { return arrived };
        let (Some(number), Some(part)) = (got.packet, got.segment) else { return arrived };
        let Some(at) = self.under.iter().position(|u| u.number % 4096 == number) else { return arrived };
        self.put(at, part, got.octets)
    }

    /// Takes the information field of an I frame; LLC delivers them in order. Packets that were delivered before are discarded
    /// by their number.
    pub(super) fn joined(&mut self, field: &[u8]) -> FrameResult {
        let Some(got) = llc::read_segment(field) else { return FrameResult::default() };
        let (number, part) = match (got.packet, self.current) {
            (Some(number), _) => (number, 0),
            (None, Some((number, part))) => (number, part),
            (None, None) => return FrameResult::default(),
        };
        self.current = got.more.then_some((number, part + 1));
        match self.under.iter().position(|u| u.number % 256 == number) {
            Some(at) => self.put(at, part, got.octets),
            None => FrameResult::default(),
        }
    }

    /// Adds a received segment to the packet at `at`.
    fn put(&mut self, at: usize, part: u8, octets: &[u8]) -> FrameResult {
        let mut arrived = FrameResult::default();
        let under = &mut self.under[at];
        let sent = under.sizes.get(usize::from(part)).map(|n| segment(under.number, u32::from(part), *n));
        if sent.as_deref() != Some(octets) {
            self.wrong += 1;
            return arrived;
        }
        under.have |= 1 << part;
        if under.have.count_ones() as usize == under.sizes.len() {
            arrived.packet = self.under.remove(at).map(|u| u.packet);
            // RLC preserves order: earlier incomplete packets are lost.
            arrived.lost = self.under.drain(..at).map(|u| u.packet).collect();
        }
        arrived
    }
}

/// The octets of a segment.
fn segment(number: u32, part: u32, octets: u32) -> Vec<u8> {
    (0..octets).map(|i| (i.wrapping_mul(7) ^ number.wrapping_mul(31) ^ part << 5) as u8).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_come_back_whole_and_in_order() {
        let mut store = Store::new(false, 500, LlcMode::Unacknowledged);
        let packet = |id| Packet { id, size: 1500, ..Packet::NONE };
        let frames: Vec<Vec<Vec<u8>>> = (0..3).map(|id| store.take(packet(id)).1).collect();
        assert_eq!(frames[0].len(), 4);
        assert!(store.arrived(&frames[0][0]).packet.is_none());
        let mut bad = frames[2][0].clone();
        bad[9] ^= 1;
        assert!(store.arrived(&bad).packet.is_none() && store.wrong == 0, "its check is wrong");
        let last = frames[1].iter().map(|f| store.arrived(f)).last().unwrap();
        assert_eq!(last.packet.map(|p| p.id), Some(1));
        assert_eq!(last.lost.iter().map(|p| p.id).collect::<Vec<_>>(), [0]);
        assert_eq!((store.end(2).map(|p| p.id), store.len()), (Some(2), 0));
    }

    /// GP-22, GP-23: segments of acknowledged mode have no numbers but that of the packet in the first; what comes twice is
    /// discarded.
    #[test]
    fn gp_22_segments_of_acknowledged_mode_are_joined_in_order() {
        let mut store = Store::new(true, 500, LlcMode::Acknowledged);
        let fields: Vec<Vec<u8>> =
            (0..2).flat_map(|id| store.take(Packet { id, size: 1200, ..Packet::NONE }).1).collect();
        assert_eq!(fields.len(), 6);
        let mut got = Vec::new();
        // The first packet comes again from its first segment on, when it has been delivered.
        for i in [0, 1, 2, 0, 1, 2, 3, 4, 5] {
            got.extend(store.joined(&fields[i]).packet.map(|p| (i, p.id)));
        }
        assert_eq!((got, store.len(), store.wrong), (vec![(2, 0), (5, 1)], 0, 0));
        assert!(store.joined(&fields[4]).packet.is_none(), "without its first segment");
    }
}
