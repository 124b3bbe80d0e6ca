//! Candidates for the copy that triggered an ACK (cumulative or SACK): copies that cannot have arrived by then are
//! excluded.
//!
//! Several copies may carry the bytes that an ACK covers. They stay candidates until later ACKs decide.

use super::{Judge, Need, State, is_too_late, set};
use crate::facts::copies::{Copies, Copy, Evidence, Fate, later};
use crate::facts::digest::AckDigest;
use crate::facts::rtt::Rtt;

impl Judge {
    /// Copy that filled the gap at the left edge: identified by the timestamp echo, or the only possible copy. Earlier
    /// copies had not arrived.
    pub(super) fn filler(&self, copies: &mut Copies, d: &AckDigest, rtt: &Rtt) -> Option<u64> {
        // The echo identifies the copy only if the left edge before it was seen.
        if !d.edge_heard {
            return None;
        }
        let edge = d.before;
        let only = |mut all: Box<dyn Iterator<Item = u64> + '_>| match (all.next(), all.next()) {
            (Some(one), None) => Some(one),
            _ => None,
        };
        let named = d.echo.and_then(|echo| {
            let named = copies.of(edge, edge + 1).filter(move |c| c.stamp == Some(echo));
            only(Box::new(named.map(|c| c.serial)))
        });
        let possible = |c: &&Copy| !matches!(c.fate, Fate::Lost(_)) && !is_too_late(c, d.t, rtt);
        let filler =
            named.or_else(|| only(Box::new(copies.of(edge, edge + 1).filter(possible).map(|c| c.serial))))?;
        let how = if named.is_some() { Evidence::Echo } else { Evidence::Order };
        let earlier: Vec<u64> = copies.of(edge, edge + 1).map(|c| c.serial).filter(|s| *s < filler).collect();
        let open: Vec<u64> =
            earlier.into_iter().filter(|s| copies.get(*s).is_some_and(|c| c.fate == Fate::Open)).collect();
        // With several open earlier copies, data loss and ACK loss cannot be separated.
        if let [one] = open[..] {
            set(copies, one, Fate::Lost(how));
        }
        set(copies, filler, Fate::Arrived(how));
        Some(filler)
    }

    /// Determines the candidates for the first arrival of each retransmission that this ACK covers.
    pub(super) fn cover(&mut self, copies: &mut Copies, d: &AckDigest, latest: u64, state: &State<'_>) {
        let mut unanswered: Option<Vec<u64>> = None;
        // Retransmissions reached by the cumulative ACK, and retransmissions in newly SACKed ranges.
        let mut some: Vec<u64> = self.open.waiting(0, d.ack + 1).collect();
        for &(left, right) in d.news() {
            some.extend(self.open.waiting(left, right));
        }
        some.sort_unstable();
        some.dedup();
        for serial in some {
            let Some(open) = self.open.get(serial) else { continue };
            let (seq, end) = (open.copy.seq.max(open.acked), open.copy.end);
            if end > d.ack && !state.sacked.holds(seq.max(d.ack), end) {
                continue;
            }
            let mut evidence = Evidence::Order;
            let mut all = Vec::new();
            let (mut lost, mut after) = (Vec::new(), Vec::new());
            for c in copies.of(seq, end) {
                if is_too_late(c, d.t, state.rtt) {
                    evidence = Evidence::Early;
                } else if c.serial > latest {
                    after.push(c.serial);
                } else if let (Some(stamp), Some(echo)) = (c.stamp, d.echo)
                    && d.edge_heard
                    && c.seq <= d.before
                    && d.advances()
                    && later(stamp, echo)
                {
                    evidence = Evidence::Echo;
                } else if let Fate::Lost(_) = c.fate {
                    lost.push(c.serial);
                } else {
                    all.push(c.serial);
                }
            }
            if all.is_empty() && !after.is_empty() {
                // The intermediate ACKs were lost.
                all = after;
            } else if all.is_empty() {
                // Copies marked as lost were reordered.
                if let Some(&last) = lost.iter().max() {
                    self.disorder = self.disorder.max(self.front.saturating_sub(last));
                }
                all = lost;
            }
            let unanswered = unanswered.get_or_insert_with(|| unanswered_once(copies, d, state));
            let jumped = self.answers_are_missing(copies, serial, d, unanswered);
            self.open.cover(serial, (d.t, d.ack), state.stamp);
            let Some(open) = self.open.get_mut(serial) else { continue };
            if jumped {
                open.settled = Some((Need::Unneeded, Evidence::Jump));
            } else if !all.is_empty() && all.iter().all(|s| *s < serial) {
                open.settled.get_or_insert((Need::Unneeded, evidence));
            }
            match all[..] {
                [one] => set(copies, one, Fate::Arrived(evidence)),
                _ => self.open.set_candidates(serial, all),
            }
        }
    }

    /// Evidence of ACK loss: segments sent once before the retransmission have arrived, and none of them can have
    /// triggered an earlier ACK. Earlier copies of the retransmitted bytes have then most likely arrived too.
    fn answers_are_missing(&self, copies: &Copies, serial: u64, d: &AckDigest, unanswered: &[u64]) -> bool {
        let Some(open) = self.open.get(serial) else { return false };
        let missing = unanswered.iter().filter(|s| **s < open.copy.serial).count();
        if missing < if d.held { 1 } else { 2 } {
            return false;
        }
        let earlier =
            |c: &Copy| c.serial < open.copy.serial && !matches!(c.fate, Fate::Lost(Evidence::Order));
        copies.of(open.copy.seq.max(open.acked), open.copy.end).any(earlier)
    }

    /// Excludes candidates by edges. The byte at an edge was missing when the retransmission was covered, and arrived
    /// later; so did every packet sent after the copy of that byte.
    pub(super) fn edges(&mut self, copies: &mut Copies, ack: u64) {
        // Edges passed by this ACK first, then edges whose first arrival has become known.
        let mut some = self.open.with_edge(self.narrowed, ack);
        self.narrowed = self.narrowed.max(ack);
        loop {
            for serial in some {
                let edge = self.open.get(serial).and_then(|o| o.covered).map_or(u64::MAX, |c| c.1);
                if edge < ack
                    && let Some(first) = first_arrival(copies, edge)
                {
                    self.came_before(copies, serial, first + self.disorder);
                }
            }
            let Some((seq, end)) = copies.arrived.pop() else { return };
            some = self.open.with_edge(seq, end.min(ack));
        }
    }

    /// Records that the packet with this serial arrived now, and later packets after it. Ranges covered before were
    /// then covered by earlier copies.
    pub(super) fn comes_now(&mut self, copies: &mut Copies, serial: u64) {
        let limit = serial + self.disorder;
        for open in self.open.with_candidate_from(limit) {
            self.came_before(copies, open, limit);
        }
    }

    /// Restricts the candidates to copies with a serial below `limit`.
    fn came_before(&mut self, copies: &mut Copies, serial: u64, limit: u64) {
        let Some(open) = self.open.get_mut(serial) else { return };
        let kept: Vec<u64> = open.candidates.iter().copied().filter(|s| *s < limit).collect();
        if kept.is_empty() || kept.len() == open.candidates.len() {
            return;
        }
        if kept.iter().all(|s| *s < serial) {
            open.settled.get_or_insert((Need::Unneeded, Evidence::Order));
        }
        if let [one] = kept[..] {
            set(copies, one, Fate::Arrived(Evidence::Order));
        }
        self.open.set_candidates(serial, kept);
    }
}

/// Serials of the first two newly acknowledged segments that were sent once and can have triggered no earlier ACK.
fn unanswered_once(copies: &Copies, d: &AckDigest, state: &State<'_>) -> Vec<u64> {
    if !d.advances() {
        return Vec::new();
    }
    let unanswered = |c: &&Copy| {
        let due = c.t + state.rtt.floor(c.end - c.seq).unwrap_or_default();
        let told = state.sacked.holds(c.seq, c.end);
        c.end <= d.ack && !told && d.heard.is_none_or(|heard| heard < due)
    };
    let once = |c: &&Copy| copies.of(c.seq, c.end).nth(1).is_none();
    copies.firsts_of(d.before, d.ack).filter(unanswered).filter(once).map(|c| c.serial).take(2).collect()
}

/// Serial of the copy of this byte that arrived first, if known.
fn first_arrival(copies: &Copies, byte: u64) -> Option<u64> {
    let mut all = copies.of(byte, byte + 1);
    match (all.next(), all.next()) {
        (Some(only), None) => Some(only.serial),
        _ => {
            let arrived = |c: &&Copy| matches!(c.fate, Fate::Arrived(_));
            copies.of(byte, byte + 1).filter(arrived).map(|c| c.serial).min()
        }
    }
}
