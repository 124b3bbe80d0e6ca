//! Packets inside a bearer and the LLC frames that carry them: a slab each, reassembly, fates.
//!
//! A packet leaves the bearer when all its frames have arrived, and ends with its first lost frame. A frame
//! exists while a queue or acknowledged LLC holds it.

use base::Time;
use base::packet::Packet;

/// Number of a frame.
pub(crate) type FrameId = u32;

#[derive(Clone, Copy)]
struct PacketEntry {
    packet: Packet,
    /// Number of frames that have not arrived.
    missing: u16,
    /// Number of frames that exist.
    frames: u16,
    /// The packet ended, by the loss of a frame.
    ended: bool,
}

/// An LLC frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    held: u32,
    /// Octets, headers included.
    pub(crate) octets: u32,
    /// True once it has arrived.
    pub(crate) delivered: bool,
    /// Number of queues and state machines that hold it.
    holders: u8,
    /// Time of its entry into RLC.
    pub(crate) since: Time,
    /// It carries user data; false for a retransmission by a faulty mobile.
    pub(crate) genuine: bool,
    /// Its index in the content log.
    pub(crate) serial: u32,
    /// Index of its traffic class; an index beyond the last class means no class.
    pub(crate) traffic: u8,
    /// RLC abandoned one of its blocks.
    pub(crate) spoiled: bool,
}

/// A slab with a free list.
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
    /// Number of packets inside that have not ended.
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

    /// Number of packets inside.
    pub(crate) fn inside(&self) -> usize {
        self.inside
    }

    /// Adds a packet and creates its frames with one holder each. Their indexes in the content log start at
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

    /// A frame.
    pub(crate) fn get(&self, id: FrameId) -> &Frame {
        &self.frames.all[id as usize]
    }
    /// A frame, mutable.
    pub(crate) fn get_mut(&mut self, id: FrameId) -> &mut Frame {
        &mut self.frames.all[id as usize]
    }
    /// The packet of a frame.
    pub(crate) fn packet(&self, id: FrameId) -> &Packet {
        &self.held.all[self.frames.all[id as usize].held as usize].packet
    }

    /// Adds a holder to a frame.
    pub(crate) fn hold(&mut self, id: FrameId) {
        self.frames.all[id as usize].holders += 1;
    }

    /// Removes a holder from a frame.
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

    /// A frame has arrived; returns its packet if the packet is complete.
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

    /// A frame is lost; returns its packet if the packet ends with it.
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

    /// A duplicate of an arrived frame, which only uses air time.
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
