//! Outbox: packets and placeholders of signals in transit between elements, in the order of sending.
//!
//! Each packet has one cache line of reused memory. It is copied once into this line and read from there.

use crate::element::ElementId;
use base::packet::Packet;

/// Reserved element number: the entry stands for the next signal in [`crate::element::Core::signals`].
pub(crate) const SIGNAL: ElementId = ElementId(u32::MAX - 1);

/// A packet in transit from one element to the next.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(crate) struct Parcel {
    pub(crate) packet: Packet,
    pub(crate) to: ElementId,
    /// Input port of `to`; if the output port is not wired, the number of the sender. 32 bits wide as it is read: a
    /// load wider than the preceding store would wait until all earlier stores have reached the cache.
    pub(crate) port: u32,
}

const _: () = assert!(size_of::<Parcel>() == 64);

impl Parcel {
    /// Empty placeholder parcel.
    pub(crate) const NONE: Parcel = Parcel { packet: Packet::NONE, to: ElementId(0), port: 0 };
}

/// Packets in the order of sending.
#[derive(Default)]
pub(crate) struct Outbox {
    /// Reused memory; the first `len` entries are in use.
    room: Vec<Parcel>,
    len: usize,
}

impl Outbox {
    #[inline(always)]
    pub(crate) fn push(&mut self, packet: &Packet, to: ElementId, port: u32) {
        let Some(parcel) = self.room.get_mut(self.len) else { return self.push_more(packet, to, port) };
        parcel.packet = *packet;
        (parcel.to, parcel.port) = (to, port);
        self.len += 1;
    }

    /// [`Self::push`] beyond the memory, which grows.
    #[cold]
    #[inline(never)]
    fn push_more(&mut self, packet: &Packet, to: ElementId, port: u32) {
        self.room.resize(2 * self.room.len() + 2, Parcel { packet: *packet, to, port });
        self.len += 1;
    }

    #[inline]
    pub(crate) fn parcels(&self) -> &[Parcel] {
        self.room.get(..self.len).unwrap_or_default()
    }
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }
    #[inline]
    pub(crate) fn clear(&mut self) {
        self.len = 0;
    }
}
