//! DSACK detection of spurious retransmissions (RFC 3708; catalogue EI-22).
//!
//! DSACK blocks are compared with the list of retransmitted ranges; if all of them are reported, nothing was
//! lost (RFC 3708 section 3; catalogue EI-22). The verdict comes late, with the ACKs of retransmissions:
//! go-back-N is over by then, but the state can be restored.
//!
//! If data sent after the last retransmission are acknowledged and part of the retransmitted data was not
//! reported, either it was needed or its report was lost. The verdict is then genuine.

use super::{Decision, Judging, SenderView, SpuriousDetector, SpuriousVerdict};
use crate::recovery::digest::AckDigest;
use crate::tcp::config::Config;
use base::tcp::Block;

/// Retransmitted ranges, and their DSACK reports.
#[derive(Clone, Debug)]
pub struct Dsack {
    list: Vec<Resent>,
    /// Number of the current case; entries of the previous case are kept for late reports.
    case: u32,
    due: bool,
    /// One past the highest byte sent at the last retransmission.
    sent: u64,
    /// No verdict until this offset is acknowledged.
    barred: u64,
    /// The network duplicates packets: DSACK is meaningless on this connection.
    off: bool,
    judge_fast: bool,
    /// Counting variant of Linux: every copy must be reported, and no window is barred.
    counts: bool,
}

#[derive(Clone, Copy, Debug)]
struct Resent {
    seq: u64,
    end: u64,
    times: u32,
    /// Number of DSACK reports for this range.
    reports: u32,
    case: u32,
}

impl Resent {
    /// Whether every copy was unneeded.
    fn twice(&self, counts: bool) -> bool {
        self.reports >= if counts { self.times } else { 1 }
    }
}

impl SpuriousDetector for Dsack {
    fn new(config: &Config) -> Self {
        Dsack {
            list: Vec::new(),
            case: 0,
            due: false,
            sent: 0,
            barred: 0,
            off: false,
            judge_fast: config.judgement.fast_retransmits,
            counts: false,
        }
    }

    fn on_timeout(&mut self, view: &SenderView) -> Judging {
        self.begin(view)
    }

    fn on_fast_retransmit(&mut self, view: &SenderView) -> Judging {
        if self.judge_fast { self.begin(view) } else { Judging::Same }
    }

    fn on_resent(&mut self, seq: u64, end: u64, max: u64) {
        if self.off {
            return;
        }
        self.sent = max;
        let case = self.case;
        match self.list.iter_mut().find(|r| r.case == case && r.seq < end && seq < r.end) {
            Some(r) => {
                (r.seq, r.end) = (r.seq.min(seq), r.end.max(end));
                r.times += 1;
            }
            None => self.list.push(Resent { seq, end, times: 1, reports: 0, case }),
        }
    }

    #[inline]
    fn rests_on(&self, ack: &AckDigest) -> bool {
        ack.twice.is_none() && !self.due
    }

    fn on_ack(&mut self, ack: &AckDigest, view: &SenderView) -> Decision {
        if let Some(block) = ack.twice
            && !self.off
        {
            let word = self.on_report(block, ack, view);
            if word != SpuriousVerdict::Open {
                self.due = false;
                return word.into();
            }
        }
        if self.due && ack.ack > self.sent {
            self.due = false;
            return SpuriousVerdict::Genuine.into();
        }
        Decision::default()
    }
}

impl Dsack {
    /// The counting variant.
    pub(super) fn counting(config: &Config) -> Self {
        Dsack { counts: true, ..Dsack::new(config) }
    }

    fn begin(&mut self, view: &SenderView) -> Judging {
        if self.off || view.una < self.barred {
            self.due = false;
            return Judging::None;
        }
        self.case += 1;
        let (case, una) = (self.case, view.una);
        self.list.retain(|r| r.case + 1 >= case);
        // Unacknowledged earlier retransmissions belong to the window under judgement.
        for r in self.list.iter_mut().filter(|r| r.end > una) {
            r.case = case;
        }
        self.due = true;
        Judging::New
    }

    fn bar(&mut self, view: &SenderView) -> SpuriousVerdict {
        self.barred = view.max;
        if self.due { SpuriousVerdict::GivenUp } else { SpuriousVerdict::Open }
    }

    fn on_report(&mut self, block: Block, ack: &AckDigest, view: &SenderView) -> SpuriousVerdict {
        //= RFC 3708 section 3 step A.1: a whole window of ACKs seems to be lost
        if !self.counts && view.scoreboard_empty && block.left == view.una && ack.newly_acked > 0 {
            return self.bar(view);
        }
        let mut found = false;
        let mut often = false;
        for r in &mut self.list {
            if r.seq < block.right && block.left < r.end {
                found = true;
                if block.left <= r.seq && r.end <= block.right {
                    //= RFC 3708 section 3 step A.2: retransmitted once: it arrived twice
                    r.reports += 1;
                    often |= r.times > 1 && r.case == self.case;
                }
            }
        }
        if !found {
            //= RFC 3708 section 3 step A.4: never retransmitted: the network duplicates, detection stops
            self.off = true;
            self.list = Vec::new();
            return if self.due { SpuriousVerdict::GivenUp } else { SpuriousVerdict::Open };
        }
        if often && !self.counts {
            //= RFC 3708 section 3 step A.3: retransmitted more than once: no verdict for this window
            return self.bar(view);
        }
        let acked = ack.ack.max(view.una);
        let open = |r: &Resent| r.case == self.case && !(r.twice(self.counts) && r.end <= acked);
        //= RFC 3708 section 3 step B.1: all of it was acknowledged and arrived twice: no loss
        if self.due && self.list.iter().any(|r| r.case == self.case) && !self.list.iter().any(open) {
            return SpuriousVerdict::Late;
        }
        //= RFC 3708 section 3 step B.2: no conclusion yet
        SpuriousVerdict::Open
    }
}
