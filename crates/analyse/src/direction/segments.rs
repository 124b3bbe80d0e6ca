//! Wire segments of a captured frame that offload merged (TSO, GSO, GRO, LRO): segment size, and split of the frame.
//!
//! A capture shows such a frame as one packet of up to 64 KB. Loss, SACK blocks and duplicate ACKs concern segments,
//! so the send log contains segments.

use super::Direction;
use crate::facts::copies::Copy;
use crate::findings::flow::Transmission;
use crate::hypotheses::hmm::SentPacket;
use crate::intake::observation::Observation;

/// Payload above which a frame was merged by offload, bytes.
pub(super) const WHOLE: u32 = 1500;
/// Least segment size assumed in merged frames, bytes.
pub(super) const SHORT: u32 = 500;
/// Bytes of the timestamp option with its padding, in every segment (RFC 7323 appendix A).
const TIMESTAMPS: u32 = 12;
/// Smallest plausible segment, bytes: the smallest MSS of Linux, 48, less [`TIMESTAMPS`].
const LEAST: u32 = 48 - TIMESTAMPS;

impl Direction {
    /// Bytes of data in a wire segment of this frame: the negotiated MSS less options, or without a handshake the
    /// longest payload that fits into an Ethernet frame. `None`: the frame is one segment, or the size is unknown.
    pub(super) fn wire_segment(&mut self, o: &Observation) -> Option<u32> {
        if o.payload <= WHOLE {
            self.ordinary = self.ordinary.max(o.payload);
        }
        let options = if o.head.timestamps.is_some() { TIMESTAMPS } else { 0 };
        let size = match self.mss.map(u32::from) {
            Some(mss) => mss.checked_sub(options)?,
            None if o.payload > WHOLE && self.ordinary >= SHORT => self.ordinary,
            None => return None,
        };
        (size >= LEAST && o.payload > size).then_some(size)
    }

    /// Processes a wire segment. `behind`: the segment was captured after its ACK.
    pub(super) fn on_segment(&mut self, mut segment: Copy, behind: bool) {
        let Copy { seq, end, t, stamp, .. } = segment;
        let flight = self.max.max(end) - self.una.min(self.max);
        segment.flight = flight;
        let again = if seq >= self.max || behind {
            self.copies.push(segment, false);
            None
        } else {
            let seen = self.note_age(&segment);
            self.trouble(self.peer.numbers.place());
            self.resent(segment, seen)
        };
        if end >= self.max {
            self.newest = Some(segment);
        }
        self.max = self.max.max(end);
        let result = again.map(|at| (at as usize, self.una));
        self.replay.sent(SentPacket { seq, end, t, stamp, result }, self.max);
        if self.keep.is_some_and(|k| k.points) {
            let point = Transmission { t, seq: self.told(seq), end: self.told(end), again, flight };
            self.stats.transmissions.push(point);
        }
    }
}

/// Segments of a captured copy, in order. The IP identification increases by one with each segment.
pub(super) fn segments(copy: Copy, size: Option<u32>) -> impl Iterator<Item = Copy> {
    let size = size.map_or(u64::MAX, u64::from);
    let (mut seq, mut id) = (copy.seq, copy.id);
    std::iter::from_fn(move || {
        if seq >= copy.end {
            return None;
        }
        let end = copy.end.min(seq.saturating_add(size));
        let segment = Copy { seq, end, id, ..copy };
        seq = end;
        id = id.map(|id| if id == 0 { 0 } else { id.wrapping_add(1) });
        Some(segment)
    })
}
