//! IP identification numbering: packets of the peer lost before the capture point.
//!
//! Many hosts number the packets of a connection one after the other in the identification of IP: Linux counts for
//! each socket, others for each peer or for the whole host. Nothing obliges them to (RFC 6864 section 4), so whether
//! this one counts is learned from it. A gap is what was lost on its way here, or what went elsewhere.

/// Where the numbers jump further than this, they say nothing.
const FAR: u64 = 1 << 12;
/// So much lies between two numbers of which nobody knows how far they are apart.
const APART: u64 = 1 << 32;

/// The numbers of one host's packets.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Numbers {
    /// The highest so far, as it was and as a place in the row.
    last: Option<(u16, u64)>,
    /// So many were seen after the first, and so far the numbers went on.
    seen: u64,
    span: u64,
    /// So many between those that were seen have not come so far.
    lacking: u64,
    /// Acknowledgements while nothing was amiss; those before which more was missing than anything here can have caused.
    clean: u64,
    foreign: u64,
    /// Between these places the last of the latter were missing.
    gap: (u64, u64),
    /// Those that answered more than two segments and had none of the answers to them missing.
    many: u64,
}

impl Numbers {
    /// The place of this packet in the row of all that its sender sent; none if it has no number. A number of 0 is none: stacks
    /// write it where the identification is of no use.
    pub(crate) fn see(&mut self, id: Option<u16>) -> Option<u64> {
        let id = id.filter(|id| *id != 0)?;
        let Some((last, place)) = self.last else {
            self.last = Some((id, APART));
            return Some(APART);
        };
        let step = i64::from(id.wrapping_sub(last) as i16);
        // Who repeats a number does not count.
        self.seen += u64::from(step != 0);
        self.span += if step.unsigned_abs() > FAR { FAR } else { step.max(0) as u64 };
        let place = match step {
            // Some leave out the 0 where the numbers begin again.
            1.. if id < last || step as u64 > FAR => place + APART,
            1.. => {
                self.lacking += step as u64 - 1;
                place + step as u64
            }
            // The same packet again.
            0 => return Some(place),
            _ if step.unsigned_abs() > FAR => place + APART,
            // It was overtaken.
            _ => return Some(self.late(place - step.unsigned_abs())),
        };
        self.last = Some((id, place));
        Some(place)
    }

    /// What seemed to be missing was only overtaken.
    fn late(&mut self, place: u64) -> u64 {
        self.lacking = self.lacking.saturating_sub(1);
        if (self.gap.0 + 1..self.gap.1).contains(&place) {
            (self.foreign, self.gap) = (self.foreign - 1, (0, 0));
        }
        place
    }

    /// The place of the last packet.
    pub(crate) fn place(&self) -> Option<u64> {
        self.last.map(|l| l.1)
    }

    /// So many packets lie between the two; nothing if nobody knows.
    pub(crate) fn between(before: u64, after: u64) -> Option<u64> {
        after.checked_sub(before + 1).filter(|n| *n <= FAR)
    }

    /// While nothing was amiss an acknowledgement of so many segments came with this place, `before` being that of the packet before it.
    pub(crate) fn clean(&mut self, segments: u64, before: u64, place: u64) {
        self.clean += 1;
        // Each segment but the last may have had an answer of its own that was lost.
        let Some(missing) = Numbers::between(before, place) else { return };
        if missing >= segments.max(1) {
            self.foreign += 1;
            self.gap = (before, place);
        }
        self.many += u64::from(segments > 2 * (missing + 1));
    }

    /// Most of the numbers between the first and the last were seen.
    pub(crate) fn counts(&self) -> bool {
        self.seen >= LEAST && self.seen * 10 > self.span * 6
    }

    /// So many of the clean acknowledgements, with a little put by for what was not seen yet.
    fn share(&self, n: u64) -> f64 {
        (n as f64 + 0.05) / (self.clean as f64 + 5.0)
    }

    /// How often the host sends something else between two answers; nothing if its numbers do not count, or if it answers so
    /// many segments at once that nobody knows how many answers to expect.
    pub(crate) fn foreign(&self) -> Option<f64> {
        let foreign = self.share(self.foreign);
        (self.counts() && foreign < MOST && self.share(self.many) < MOST).then(|| foreign.max(1e-4))
    }

    /// How often an answer stands for more than two segments though none was lost: a host that is late with its work merges what
    /// came meanwhile (stretch ACKs, RFC 2525 section 2.13). One in fifty, until as many clean acknowledgements have been seen.
    pub(crate) fn stretches(&self) -> f64 {
        (self.many as f64 + 1.0) / (self.clean as f64 + 50.0)
    }

    /// So many packets between the first and the last that came did not, if nearly all that the host sends goes here.
    pub(crate) fn lost(&self) -> Option<u64> {
        self.foreign().filter(|foreign| *foreign < HARDLY).map(|_| self.lacking)
    }
}

/// A host that sends elsewhere more often may have lost nothing.
const HARDLY: f64 = 0.02;
/// So many must have been seen.
const LEAST: u64 = 6;
/// A host that is so busy elsewhere tells nothing of this connection.
const MOST: f64 = 0.1;

#[cfg(test)]
mod tests {
    use super::*;

    fn places(ids: &[u16]) -> Vec<Option<u64>> {
        let mut numbers = Numbers::default();
        ids.iter().map(|id| numbers.see(Some(*id))).collect()
    }

    #[test]
    fn what_is_missing_is_counted() {
        let all = places(&[7, 8, 11, 10, 12]);
        let at = |i: usize| all[i].unwrap();
        assert_eq!(Numbers::between(at(0), at(1)), Some(0));
        assert_eq!(Numbers::between(at(1), at(2)), Some(2));
        // The one that was overtaken lies between them.
        assert_eq!(Numbers::between(at(1), at(3)), Some(1));
        assert_eq!(Numbers::between(at(3), at(2)), Some(0));
        assert_eq!(Numbers::between(at(2), at(4)), Some(0));
    }

    /// A copy that the network made, or that the capture took, leaves the count of what is lacking as it is.
    #[test]
    fn a_repeated_number_is_the_same_packet() {
        let lacking = |ids: &[u16]| {
            let mut numbers = Numbers::default();
            ids.iter().for_each(|id| _ = numbers.see(Some(*id)));
            numbers.lacking
        };
        assert_eq!((lacking(&[7, 10, 11, 12]), lacking(&[7, 10, 10, 11, 11, 12])), (2, 2));
    }

    #[test]
    fn where_numbers_begin_again_nothing_is_known() {
        let all = places(&[65_534, 65_535, 1, 2]);
        assert_eq!(Numbers::between(all[1].unwrap(), all[2].unwrap()), None);
        assert_eq!(Numbers::between(all[2].unwrap(), all[3].unwrap()), Some(0));
        assert_eq!(places(&[0, 5, 0]), [None, Some(APART), None]);
    }

    #[test]
    fn only_who_counts_is_believed() {
        let mut numbers = Numbers::default();
        (10..30u16).for_each(|id| {
            let (before, place) = (numbers.place(), numbers.see(Some(id)));
            numbers.clean(1, before.unwrap_or(APART - 1), place.unwrap());
        });
        assert!(numbers.foreign().is_some_and(|f| f < 0.01));
        // Random ones, and such that also count what goes elsewhere.
        let mut random = Numbers::default();
        (1..30u16).for_each(|n| _ = random.see(Some(n.wrapping_mul(40_503))));
        assert_eq!(random.foreign(), None);
        let mut busy = Numbers::default();
        for id in (1..60u16).step_by(3).flat_map(|id| [id, id + 1]) {
            let (before, place) = (busy.place(), busy.see(Some(id)));
            busy.clean(1, before.unwrap_or(APART - 1), place.unwrap());
        }
        assert_eq!(busy.foreign(), None);
    }
}
