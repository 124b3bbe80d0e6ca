//! DSACK detection of spurious retransmissions (RFC 3708; catalogue EI-22).
//!
//! Then nothing was lost: the receiver's duplicate reports, held against the list of what was resent (RFC 3708
//! section 3; catalogue EI-22). The verdict comes late, with the answers to retransmissions: going back cannot be
//! stopped, the state can be restored.
//!
//! When data sent after the last retransmission are acknowledged and some of what was resent was not
//! reported, it was needed, or its report was lost: genuine.

use super::{Case, Sight, Step, Watch, Word};
use crate::recovery::digest::AckDigest;
use crate::tcp::config::Config;
use base::tcp::Block;

/// What was resent, and what of it came twice.
#[derive(Clone, Debug)]
pub struct Dsack {
    list: Vec<Resent>,
    /// Number of the present case; entries of earlier ones are remembered for late reports.
    case: u32,
    due: bool,
    /// Everything sent when the last retransmission left lies below.
    sent: u64,
    /// Nothing is judged until this is acknowledged.
    barred: u64,
    /// The network duplicates packets: reports mean nothing on this connection.
    off: bool,
    judge_fast: bool,
    /// Every copy must be reported, but nothing is barred: as Linux counts.
    counts: bool,
}

#[derive(Clone, Copy, Debug)]
struct Resent {
    seq: u64,
    end: u64,
    times: u32,
    /// So many of those came twice.
    reports: u32,
    case: u32,
}

impl Resent {
    /// Whether every copy was unneeded.
    fn twice(&self, counts: bool) -> bool {
        self.reports >= if counts { self.times } else { 1 }
    }
}

impl Watch for Dsack {
    fn new(config: &Config) -> Self {
        Dsack {
            list: Vec::new(),
            case: 0,
            due: false,
            sent: 0,
            barred: 0,
            off: false,
            judge_fast: config.judge_fast_retransmits,
            counts: false,
        }
    }

    fn on_timeout(&mut self, sight: &Sight) -> Case {
        self.begin(sight)
    }

    fn on_fast_retransmit(&mut self, sight: &Sight) -> Case {
        if self.judge_fast { self.begin(sight) } else { Case::Same }
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

    fn on_ack(&mut self, ack: &AckDigest, sight: &Sight) -> Step {
        if let Some(block) = ack.twice
            && !self.off
        {
            let word = self.on_report(block, ack, sight);
            if word != Word::Open {
                self.due = false;
                return word.into();
            }
        }
        if self.due && ack.ack > self.sent {
            self.due = false;
            return Word::Genuine.into();
        }
        Step::default()
    }
}

impl Dsack {
    /// The one that counts.
    pub(super) fn counting(config: &Config) -> Self {
        Dsack { counts: true, ..Dsack::new(config) }
    }

    fn begin(&mut self, sight: &Sight) -> Case {
        if self.off || sight.una < self.barred {
            self.due = false;
            return Case::None;
        }
        self.case += 1;
        let (case, una) = (self.case, sight.una);
        self.list.retain(|r| r.case + 1 >= case);
        // What was resent before and is not acknowledged belongs to the window that is judged.
        for r in self.list.iter_mut().filter(|r| r.end > una) {
            r.case = case;
        }
        self.due = true;
        Case::New
    }

    fn bar(&mut self, sight: &Sight) -> Word {
        self.barred = sight.max;
        if self.due { Word::GivenUp } else { Word::Open }
    }

    fn on_report(&mut self, block: Block, ack: &AckDigest, sight: &Sight) -> Word {
        //= RFC 3708 section 3 step A.1: a window of acknowledgements seems to be lost
        if !self.counts && sight.scoreboard_empty && block.left == sight.una && ack.newly_acked > 0 {
            return self.bar(sight);
        }
        let mut found = false;
        let mut often = false;
        for r in &mut self.list {
            if r.seq < block.right && block.left < r.end {
                found = true;
                if block.left <= r.seq && r.end <= block.right {
                    //= RFC 3708 section 3 step A.2: resent once: it came twice
                    r.reports += 1;
                    often |= r.times > 1 && r.case == self.case;
                }
            }
        }
        if !found {
            //= RFC 3708 section 3 step A.4: never resent: the network duplicates, nothing is judged any more
            self.off = true;
            self.list = Vec::new();
            return if self.due { Word::GivenUp } else { Word::Open };
        }
        if often && !self.counts {
            //= RFC 3708 section 3 step A.3: resent more than once: nothing is concluded for this window
            return self.bar(sight);
        }
        let acked = ack.ack.max(sight.una);
        let open = |r: &Resent| r.case == self.case && !(r.twice(self.counts) && r.end <= acked);
        //= RFC 3708 section 3 step B.1: all of it was acknowledged and came twice: no loss
        if self.due && self.list.iter().any(|r| r.case == self.case) && !self.list.iter().any(open) {
            return Word::Late;
        }
        //= RFC 3708 section 3 step B.2: no conclusion yet
        Word::Open
    }
}
