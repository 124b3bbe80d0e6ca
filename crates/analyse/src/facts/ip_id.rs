//! Sequence of a host's IP identifications (`IpIdSequence`): packets lost before the capture point, packets to other
//! hosts, stretch ACKs.
//!
//! Many hosts increment the IP identification by one for each packet: Linux per socket, others per peer or per host.
//! RFC 6864 section 4 does not require it, so the analyser learns from the capture whether this host does. A gap then
//! counts packets lost before the capture point, or packets that the host sent to other destinations.

/// Largest step between two identifications that counts packets.
const FAR: u64 = 1 << 12;
/// Distance between positions after a jump of unknown length; larger than any gap that counts packets.
const APART: u64 = 1 << 32;

/// IP identifications of one host's packets.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct IpIdSequence {
    /// Highest identification so far: field value, and position in the extended sequence.
    last: Option<(u16, u64)>,
    /// Packets seen after the first, without repeats.
    seen: u64,
    /// Sum of the forward steps, each at most [`FAR`].
    span: u64,
    /// Identifications between the lowest and the highest that were not seen.
    lacking: u64,
    /// ACKs in phases without loss.
    clean: u64,
    /// ACKs of `clean` after a gap larger than lost ACKs of this connection explain.
    foreign: u64,
    /// Positions around the last gap counted in `foreign`.
    gap: (u64, u64),
    /// Stretch ACKs: ACKs of `clean` that cover more than two segments for each identification used.
    many: u64,
}

impl IpIdSequence {
    /// Position of a packet in the host's extended sequence. None for identification 0, which stacks write where the
    /// field is unused.
    pub(crate) fn see(&mut self, id: Option<u16>) -> Option<u64> {
        let id = id.filter(|id| *id != 0)?;
        let Some((last, place)) = self.last else {
            self.last = Some((id, APART));
            return Some(APART);
        };
        let step = i64::from(id.wrapping_sub(last) as i16);
        // A repeated identification is a duplicate frame, not a further packet.
        self.seen += u64::from(step != 0);
        self.span += if step.unsigned_abs() > FAR { FAR } else { step.max(0) as u64 };
        let place = match step {
            // Some hosts skip 0 when the field wraps around.
            1.. if id < last || step as u64 > FAR => place + APART,
            1.. => {
                self.lacking += step as u64 - 1;
                place + step as u64
            }
            // A repeated packet.
            0 => return Some(place),
            _ if step.unsigned_abs() > FAR => place + APART,
            // A reordered packet fills a gap.
            _ => return Some(self.late(place - step.unsigned_abs())),
        };
        self.last = Some((id, place));
        Some(place)
    }

    /// Removes a reordered packet from the gap counts.
    fn late(&mut self, place: u64) -> u64 {
        self.lacking = self.lacking.saturating_sub(1);
        if (self.gap.0 + 1..self.gap.1).contains(&place) {
            (self.foreign, self.gap) = (self.foreign - 1, (0, 0));
        }
        place
    }

    /// Position of the last packet.
    pub(crate) fn place(&self) -> Option<u64> {
        self.last.map(|l| l.1)
    }

    /// Number of packets between two positions; None where the distance is unknown.
    pub(crate) fn between(before: u64, after: u64) -> Option<u64> {
        after.checked_sub(before + 1).filter(|n| *n <= FAR)
    }

    /// Records an ACK of `segments` segments in a phase without loss. `before` and `place` are the positions of the
    /// host's previous packet and of this one.
    pub(crate) fn clean(&mut self, segments: u64, before: u64, place: u64) {
        self.clean += 1;
        // Each segment but the last may have had an ACK of its own that was lost.
        let Some(missing) = IpIdSequence::between(before, place) else { return };
        if missing >= segments.max(1) {
            self.foreign += 1;
            self.gap = (before, place);
        }
        self.many += u64::from(segments > 2 * (missing + 1));
    }

    /// Whether the host counts packets: most identifications between the first and the last were seen.
    pub(crate) fn counts(&self) -> bool {
        self.seen >= LEAST && self.seen * 10 > self.span * 6
    }

    /// Share of `n` in the ACKs of `clean`, with a prior of 0.05 in 5.
    fn share(&self, n: u64) -> f64 {
        (n as f64 + 0.05) / (self.clean as f64 + 5.0)
    }

    /// Probability that the host sends other packets between two ACKs. None if it does not count packets, or if stretch
    /// ACKs are so frequent that the expected number of ACKs is unknown.
    pub(crate) fn foreign(&self) -> Option<f64> {
        let foreign = self.share(self.foreign);
        (self.counts() && foreign < MOST && self.share(self.many) < MOST).then(|| foreign.max(1e-4))
    }

    /// Probability of a stretch ACK: one ACK for more than two segments although no ACK was lost (RFC 2525 section
    /// 2.13). A busy host merges arrivals. The prior is 1 in 50.
    pub(crate) fn stretches(&self) -> f64 {
        (self.many as f64 + 1.0) / (self.clean as f64 + 50.0)
    }

    /// Packets lost before the capture point; None unless nearly all packets of the host belong to this connection.
    pub(crate) fn lost(&self) -> Option<u64> {
        self.foreign().filter(|foreign| *foreign < HARDLY).map(|_| self.lacking)
    }
}

/// Largest share of other packets at which a gap still counts as loss.
const HARDLY: f64 = 0.02;
/// Fewest packets from which counting is recognised.
const LEAST: u64 = 6;
/// Largest share of other packets, and of stretch ACKs, at which gaps are used at all.
const MOST: f64 = 0.1;

#[cfg(test)]
mod tests {
    use super::*;

    fn places(ids: &[u16]) -> Vec<Option<u64>> {
        let mut numbers = IpIdSequence::default();
        ids.iter().map(|id| numbers.see(Some(*id))).collect()
    }

    #[test]
    fn missing_identifications_are_counted() {
        let all = places(&[7, 8, 11, 10, 12]);
        let at = |i: usize| all[i].unwrap();
        assert_eq!(IpIdSequence::between(at(0), at(1)), Some(0));
        assert_eq!(IpIdSequence::between(at(1), at(2)), Some(2));
        // The reordered packet lies between them.
        assert_eq!(IpIdSequence::between(at(1), at(3)), Some(1));
        assert_eq!(IpIdSequence::between(at(3), at(2)), Some(0));
        assert_eq!(IpIdSequence::between(at(2), at(4)), Some(0));
    }

    /// A duplicate made by the network or by the capture does not change the number of missing packets.
    #[test]
    fn a_repeated_number_is_the_same_packet() {
        let lacking = |ids: &[u16]| {
            let mut numbers = IpIdSequence::default();
            ids.iter().for_each(|id| _ = numbers.see(Some(*id)));
            numbers.lacking
        };
        assert_eq!((lacking(&[7, 10, 11, 12]), lacking(&[7, 10, 10, 11, 11, 12])), (2, 2));
    }

    #[test]
    fn a_wrap_around_leaves_the_distance_unknown() {
        let all = places(&[65_534, 65_535, 1, 2]);
        assert_eq!(IpIdSequence::between(all[1].unwrap(), all[2].unwrap()), None);
        assert_eq!(IpIdSequence::between(all[2].unwrap(), all[3].unwrap()), Some(0));
        assert_eq!(places(&[0, 5, 0]), [None, Some(APART), None]);
    }

    #[test]
    fn only_a_host_that_counts_is_used() {
        let mut numbers = IpIdSequence::default();
        (10..30u16).for_each(|id| {
            let (before, place) = (numbers.place(), numbers.see(Some(id)));
            numbers.clean(1, before.unwrap_or(APART - 1), place.unwrap());
        });
        assert!(numbers.foreign().is_some_and(|f| f < 0.01));
        // Random identifications, and a host whose counter runs over all destinations.
        let mut random = IpIdSequence::default();
        (1..30u16).for_each(|n| _ = random.see(Some(n.wrapping_mul(40_503))));
        assert_eq!(random.foreign(), None);
        let mut busy = IpIdSequence::default();
        for id in (1..60u16).step_by(3).flat_map(|id| [id, id + 1]) {
            let (before, place) = (busy.place(), busy.see(Some(id)));
            busy.clean(1, before.unwrap_or(APART - 1), place.unwrap());
        }
        assert_eq!(busy.foreign(), None);
    }
}
