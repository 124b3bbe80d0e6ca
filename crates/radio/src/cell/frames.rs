//! Packets in a bearer and the LLC frames that carry these packets: slab storage, reassembly, delivery or loss.
//!
//! A packet is delivered when all its frames have arrived, and ends with its first lost frame. A frame is stored while a
//! queue or acknowledged LLC refers to it.

use base::Time;
use base::packet::Packet;

/// Index of a frame in its slab.
pub(crate) type FrameId = u32;

#[derive(Clone, Copy)]
struct PacketEntry {
    packet: Packet,
    /// Number of the packet's frames that have not arrived.
    missing: u16,
    /// Number of the packet's frames in storage.
    frames: u16,
    /// The packet ended by the loss of a frame.
    ended: bool,
}

/// An LLC frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    held: u32,
    /// Size in octets, headers and FCS included.
    pub(crate) octets: u32,
    /// True once the frame has arrived.
    pub(crate) delivered: bool,
    /// Number of queues and state machines that refer to the frame.
    holders: u8,
    /// Time at which the frame entered RLC.
    pub(crate) since: Time,
    /// The frame carries user data; false for a duplicate sent by a mobile with an implementation fault.
    pub(crate) genuine: bool,
    /// Index of the frame in the content log.
    pub(crate) serial: u32,
    /// Index of the frame's traffic class; an index beyond the last class means no class.
    pub(crate) traffic: u8,
    /// RLC abandoned a block with octets of the frame.
    pub(crate) spoiled: bool,
}

/// Storage of values by index, with a list of free indexes.
struct Slab<T> {
    all: Vec<T>,
    free: Vec<u32>,
}

impl<T: Copy> Slab<T> {
    fn put(&mut self, value: T) -> u32 {
        if let Some(i) = self.free.pop() {
            self.all[i as usize] = value;
            return i;
        }
        self.all.push(value);
        self.all.len() as u32 - 1
    }
}

/// Packets and frames of one mobile.
pub(crate) struct Frames {
    held: Slab<PacketEntry>,
    frames: Slab<Frame>,
    /// Number of packets in the bearer that have not ended.
    inside: usize,
}

impl Frames {
    pub(crate) fn new() -> Self {
        Frames {
            held: Slab { all: Vec::new(), free: Vec::new() },
            frames: Slab { all: Vec::new(), free: Vec::new() },
            inside: 0,
        }
    }

    /// Number of packets in the bearer that have not ended.
    pub(crate) fn inside(&self) -> usize {
        self.inside
    }

    /// Adds a packet and creates its frames, each with one reference. Their indexes in the content log start at
    /// `serial`.
    pub(crate) fn take(
        &mut self,
        packet: Packet,
        serial: u32,
        traffic: u8,
        sizes: impl Iterator<Item = u32>,
        mut each: impl FnMut(FrameId, u32),
    ) {
        let held = self.held.put(PacketEntry { packet, missing: 0, frames: 0, ended: false });
        self.inside += 1;
        for (i, octets) in sizes.enumerate() {
            let since = Time::ZERO;
            let serial = serial + i as u32;
            let (delivered, spoiled) = (false, false);
            let frame =
                Frame { held, octets, delivered, holders: 1, since, genuine: true, serial, traffic, spoiled };
            let id = self.frames.put(frame);
            let h = &mut self.held.all[held as usize];
            (h.missing, h.frames) = (h.missing + 1, h.frames + 1);
            each(id, octets);
        }
    }

    /// Frame by index.
    pub(crate) fn get(&self, id: FrameId) -> &Frame {
        &self.frames.all[id as usize]
    }
    /// Frame by index, mutable.
    pub(crate) fn get_mut(&mut self, id: FrameId) -> &mut Frame {
        &mut self.frames.all[id as usize]
    }
    /// Packet of a frame.
    pub(crate) fn packet(&self, id: FrameId) -> &Packet {
        &self.held.all[self.frames.all[id as usize].held as usize].packet
    }

    /// Adds a reference to a frame.
    pub(crate) fn hold(&mut self, id: FrameId) {
        self.frames.all[id as usize].holders += 1;
    }

    /// Removes a reference from a frame; without references the frame is deleted.
    pub(crate) fn release(&mut self, id: FrameId) {
        let frame = &mut self.frames.all[id as usize];
        frame.holders -= 1;
        if frame.holders > 0 {
            return;
        }
        let held = frame.held;
        self.frames.free.push(id);
        let h = &mut self.held.all[held as usize];
        h.frames -= 1;
        if h.frames == 0 {
            self.held.free.push(held);
        }
    }

    /// Records the arrival of a frame; returns its packet if the packet is complete.
    pub(crate) fn arrived(&mut self, id: FrameId) -> Option<Packet> {
        let frame = &mut self.frames.all[id as usize];
        frame.delivered = true;
        let h = &mut self.held.all[frame.held as usize];
        h.missing = h.missing.saturating_sub(1);
        if h.missing > 0 || h.ended {
            return None;
        }
        h.ended = true;
        self.inside -= 1;
        Some(h.packet)
    }

    /// Records the loss of a frame; returns its packet if the packet ends with this loss.
    pub(crate) fn lost(&mut self, id: FrameId) -> Option<Packet> {
        let frame = &self.frames.all[id as usize];
        if frame.delivered || !frame.genuine {
            return None;
        }
        let h = &mut self.held.all[frame.held as usize];
        if h.ended {
            return None;
        }
        h.ended = true;
        self.inside -= 1;
        Some(h.packet)
    }

    /// Adds a duplicate of an arrived frame, which uses air time and delivers nothing.
    pub(crate) fn copy(&mut self, octets: u32, packet: Packet, serial: u32) -> FrameId {
        let held = self.held.put(PacketEntry { packet, missing: 0, frames: 1, ended: true });
        let since = Time::ZERO;
        let (delivered, genuine, traffic, spoiled) = (false, false, u8::MAX, false);
        self.frames.put(Frame {
            held,
            octets,
            delivered,
            holders: 1,
            since,
            genuine,
            serial,
            traffic,
            spoiled,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_leave_with_their_last_frame_and_end_with_the_first_lost() {
        let mut f = Frames::new();
        let mut ids = Vec::new();
        f.take(Packet { id: 7, ..Packet::NONE }, 0, u8::MAX, [506, 506].into_iter(), |id, _| ids.push(id));
        assert_eq!((f.inside(), f.arrived(ids[0]).is_none()), (1, true));
        assert_eq!(f.arrived(ids[1]).map(|p| p.id), Some(7));
        assert_eq!(f.inside(), 0);
        ids.drain(..).for_each(|id| f.release(id));
        f.take(Packet { id: 8, ..Packet::NONE }, 0, u8::MAX, [506, 100].into_iter(), |id, _| ids.push(id));
        assert_eq!(f.held.all.len(), 1, "places are used again");
        assert_eq!(f.lost(ids[1]).map(|p| p.id), Some(8));
        assert!(f.lost(ids[0]).is_none() && f.arrived(ids[0]).is_none());
        assert_eq!(f.inside(), 0);
    }
}
