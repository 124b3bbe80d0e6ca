//! Final verdict on a retransmission: from the fates of the earlier copies of its bytes, or from the absence of
//! duplicate reports.

use super::{FinalVerdict, Judge, Need, Open, State, is_too_late, set};
use crate::facts::copies::{Copies, Copy, Evidence, Fate};
use crate::facts::ranges;
use crate::facts::rtt::Rtt;
use crate::facts::ts_clock::TimestampClock;
use base::Time;

impl Judge {
    /// The verdict with the evidence so far.
    pub(super) fn rule(&self, copies: &mut Copies, open: &Open, state: &State<'_>) -> FinalVerdict {
        self.ruling(copies, open, state.clock, state.rtt)
    }

    fn ruling(&self, copies: &mut Copies, open: &Open, clock: &TimestampClock, rtt: &Rtt) -> FinalVerdict {
        let (need, evidence) = open
            .settled
            .or_else(|| by_fates(copies, open))
            .or_else(|| self.by_silence(copies, open, rtt))
            .filter(|verdict| !self.depends_on_missing_frames(copies, open, verdict.1))
            .unwrap_or((Need::Unknown, Evidence::Nothing));
        let covered = open.covered.map(|c| c.0);
        let left = covered.zip(open.answer).and_then(|(t, stamp)| clock.left(t, stamp));
        FinalVerdict { result: open.result, need, evidence, covered, left }
    }

    /// Whether the capture lacks frames since the first copy of these bytes and the verdict depends on the whole
    /// sequence. Evidence from a single packet stays valid.
    fn depends_on_missing_frames(&self, copies: &Copies, open: &Open, evidence: Evidence) -> bool {
        use Evidence::{Acked, Dsack, Duplicate, Early, Echo, Sacked};
        let Some(torn) = self.torn else { return false };
        let first = copies.of(open.copy.seq, open.copy.end).map(|c| c.t).fold(open.copy.t, Time::min);
        torn > first && !matches!(evidence, Acked | Sacked | Dsack | Duplicate | Echo | Early)
    }

    /// Verdict needed from the absence of a DSACK: this copy and later ones were acknowledged without a duplicate
    /// report.
    fn by_silence(&self, copies: &mut Copies, open: &Open, rtt: &Rtt) -> Option<(Need, Evidence)> {
        open.covered?;
        let reports = self.reports_duplicates || self.may_report;
        if open.passed.is_none() && !(self.over && reports) {
            return None;
        }
        // Without a captured handshake, the use of SACK is unknown. A DSACK receiver sends no plain duplicate ACK.
        if !reports && !self.without_sack {
            return None;
        }
        // A duplicate ACK after this copy can have arrived may have been triggered by it.
        let answered = |t: Time| t > open.copy.t && !is_too_late(&open.copy, t, rtt);
        let quiet = open.reports == 0 && (reports || !self.idle_duplicate.is_some_and(answered));
        // The DSACK may be among the ACKs known to be lost.
        if self.answers_lost.is_some_and(|t| t > open.copy.t) {
            return None;
        }
        // A timestamp echo shows that another copy arrived first. Only DSACK would report this copy as a duplicate.
        let other = |c: &Copy| c.serial != open.copy.serial && c.fate == Fate::Arrived(Evidence::Echo);
        if !reports && copies.of(open.copy.seq.max(open.acked), open.copy.end).any(other) {
            return None;
        }
        if !quiet || !open.candidates.contains(&open.copy.serial) {
            return None;
        }
        let earlier: Vec<u64> = open.candidates.iter().copied().filter(|s| *s < open.copy.serial).collect();
        for serial in earlier {
            set(copies, serial, Fate::Lost(Evidence::Silence));
        }
        Some((Need::Needed, Evidence::Silence))
    }

    /// Closes all open verdicts when the capture ends.
    pub(crate) fn finish(
        &mut self,
        copies: &mut Copies,
        clock: &TimestampClock,
        rtt: &Rtt,
        out: &mut Vec<FinalVerdict>,
    ) {
        self.over = true;
        for open in self.open.take() {
            out.push(self.ruling(copies, &open, clock, rtt));
        }
    }
}

/// Verdict from the fates of the earlier copies.
fn by_fates(copies: &Copies, open: &Open) -> Option<(Need, Evidence)> {
    let (seq, end) = (open.copy.seq.max(open.acked), open.copy.end);
    let earlier = || copies.of(seq, end).filter(|c| c.serial < open.copy.serial);
    let mut how = None;
    let mut arrived: Vec<(u64, u64)> = earlier()
        .filter_map(|c| match c.fate {
            Fate::Arrived(e) => {
                how = Some(e);
                Some((c.seq, c.end))
            }
            _ => None,
        })
        .collect();
    if let Some(e) = how
        && ranges::cover(seq, end, &mut arrived)
    {
        return Some((Need::Unneeded, e));
    }
    // Needed with certainty if all earlier copies of some byte are known to be lost.
    let mut how = Evidence::Order;
    let mut possible: Vec<(u64, u64)> = earlier()
        .filter_map(|c| match c.fate {
            Fate::Lost(e) => {
                how = e;
                None
            }
            _ => Some((c.seq, c.end)),
        })
        .collect();
    (!ranges::cover(seq, end, &mut possible)).then_some((Need::Needed, how))
}
