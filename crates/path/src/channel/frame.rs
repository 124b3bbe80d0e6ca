//! Framing: compression, encapsulation overhead and segmentation of a packet.
//!
//! A packet may be compressed, encapsulated, and cut into frames with overhead each (catalogue SW-25, SW-26).
//! Transports observe only the transmission time, and without ARQ the loss of the packet with any of its frames.

/// Framing of packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Framing {
    /// Factor on the packet size: below 1 for compression, above 1 for redundancy of coding.
    pub factor: f64,
    /// Overhead per packet, bytes.
    pub around: u32,
    /// Payload per frame, bytes; none: one frame per packet.
    pub payload: Option<u32>,
    /// Overhead per frame, bytes.
    pub overhead: u32,
    /// Whether the last frame is padded to full length.
    pub padded: bool,
}

impl Default for Framing {
    fn default() -> Self {
        Framing { factor: 1.0, around: 0, payload: None, overhead: 0, padded: false }
    }
}

impl Framing {
    /// Bytes to be cut into frames (the body) of a packet of `size` bytes.
    pub fn body(&self, size: u32) -> u32 {
        let shrunk = if self.factor == 1.0 { size } else { libm::ceil(f64::from(size) * self.factor) as u32 };
        shrunk.saturating_add(self.around)
    }

    /// Number of frames of a body; at least one.
    pub fn count(&self, body: u32) -> u32 {
        self.payload.map_or(1, |payload| body.div_ceil(payload.max(1)).max(1))
    }

    /// Bytes of frame `number` of a body, overhead included; numbers start at 0.
    pub fn bytes(&self, body: u32, number: u32) -> u32 {
        let Some(payload) = self.payload else { return body.saturating_add(self.overhead) };
        let carried = if self.padded { payload } else { payload.min(body - (number * payload).min(body)) };
        carried.saturating_add(self.overhead)
    }
}

/// Frames of a packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct PacketFrames {
    /// Size of the packet, bytes.
    size: u32,
    /// Bytes to be cut into frames.
    pub(super) body: u32,
    /// Number of frames.
    pub(super) count: u32,
    /// Bytes of the first frame.
    pub(super) first: u32,
}

impl PacketFrames {
    /// Frames of a packet of `size` bytes.
    pub(super) fn of(framing: &Framing, size: u32) -> Self {
        let body = framing.body(size);
        PacketFrames { size, body, count: framing.count(body), first: framing.bytes(body, 0) }
    }

    /// [`PacketFrames::of`], computed for a size other than the last one only.
    #[inline]
    pub(super) fn again(&mut self, framing: &Framing, size: u32) -> Self {
        if self.size != size {
            *self = PacketFrames::of(framing, size);
        }
        *self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// SW-25, SW-26: blocks as in RLC, of 20 bytes with 3 bytes of overhead.
    #[test]
    fn sw_25_frames_carry_what_the_packet_has() {
        let framing = Framing { payload: Some(20), overhead: 3, around: 2, ..Framing::default() };
        let body = framing.body(43);
        assert_eq!((body, framing.count(body)), (45, 3));
        assert_eq!([0, 1, 2].map(|i| framing.bytes(body, i)), [23, 23, 8]);
        let padded = Framing { padded: true, ..framing };
        assert_eq!([0, 1, 2].map(|i| padded.bytes(body, i)), [23, 23, 23]);
    }

    proptest! {
        /// SW-26: each byte is in exactly one frame, for any sizes.
        #[test]
        fn sw_26_bytes_add_up(size in 1u32..70_000, factor in 0.1f64..3.0, around in 0u32..50, payload in 1u32..2000, overhead in 0u32..50) {
            let framing = Framing { factor, around, payload: Some(payload), overhead, padded: false };
            let body = framing.body(size);
            let frames = framing.count(body);
            let sum: u32 = (0..frames).map(|i| framing.bytes(body, i)).sum();
            prop_assert_eq!(sum, body + frames * overhead);
            prop_assert!((0..frames).all(|i| framing.bytes(body, i) > overhead));
        }
    }
}
