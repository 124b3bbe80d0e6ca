//! F-RTO detection (RFC 5682), with SACK.
//!
//! It resends one segment, and when that is acknowledged it sends new data instead of old. If the next
//! acknowledgement moves on, it can only answer what was sent before the timeout: F-RTO, RFC 5682; catalogue EI-20.
//! It says nothing of fast retransmits.
//!
//! With nothing new to send, or no room for it at the peer, no verdict is given.

use super::{Case, Course, Sight, Step, Watch, Word};
use crate::recovery::digest::AckDigest;
use crate::tcp::config::Config;

/// F-RTO.
#[derive(Clone, Copy, Debug)]
pub struct Frto {
    /// With the rules of section 3, for SACK.
    sack: bool,
    /// What a SACK block tells first is news; not so where recovery forgets what was told before.
    news: bool,
    phase: Phase,
    /// "recover" or "RecoveryPoint", one past it: recovery from a timeout goes on up to here.
    recover: u64,
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    Off,
    /// Step 2 is next.
    Resent {
        /// The retransmission ends here.
        end: u64,
        /// One past the highest byte sent when the timer first expired. Duplicates may let out new data
        /// before step 2, of which the RFC does not speak; their acknowledgement tells nothing.
        max: u64,
    },
    /// Step 3 is next: what was sent after the timeout begins here.
    NewData(u64),
}

impl Watch for Frto {
    fn new(config: &Config) -> Self {
        Frto { news: !config.recovery.forgets_reports(), ..Frto::with(config.uses_sack()) }
    }

    fn on_timeout(&mut self, sight: &Sight) -> Case {
        //= RFC 5682 section 2.1 step 1: not while recovery from an earlier timeout goes on below "recover"
        if self.recover > sight.una {
            (self.phase, self.recover) = (Phase::Off, sight.max);
            return Case::None;
        }
        // "recover" is set with the first acknowledgement only, so that timeouts in a row are judged.
        let max = match self.phase {
            Phase::Resent { max, .. } => max,
            _ => sight.max,
        };
        self.phase = Phase::Resent { end: sight.una, max };
        Case::New
    }

    fn on_fast_retransmit(&mut self, _: &Sight) -> Case {
        // Something else is resent: what comes next tells nothing.
        self.phase = Phase::Off;
        Case::None
    }

    fn on_resent(&mut self, _: u64, end: u64, _: u64) {
        if let Phase::Resent { end: upto, .. } = &mut self.phase {
            *upto = end.max(*upto);
        }
    }

    fn on_ack(&mut self, ack: &AckDigest, sight: &Sight) -> Step {
        let new = ack.newly_acked > 0;
        //= RFC 5682 section 2.1: what neither acknowledges new data nor is a duplicate is ignored
        if !new && !ack.duplicate {
            return Step::default();
        }
        match self.phase {
            Phase::Off => Step::default(),
            //= RFC 5682 section 3.1 step 2: with SACK duplicates are waited out
            Phase::Resent { .. } if !new && self.sack => Step::default(),
            Phase::Resent { end, max } => {
                (self.phase, self.recover) = (Phase::Off, sight.max);
                if !new {
                    //= RFC 5682 section 2.1 step 2 a: a duplicate: conventional recovery
                    return Word::Genuine.into();
                }
                //= RFC 5682 section 2.1 step 2 a: nothing is left to tell, or not all of the retransmission
                if ack.ack >= max || (ack.ack < end && !self.sack) {
                    return Word::GivenUp.into();
                }
                //= RFC 5682 section 2.1 step 2 b: no new data, or no room at the peer: conventional recovery
                if !sight.new_data {
                    return Word::GivenUp.into();
                }
                //= RFC 5682 section 2.1 step 2 b: up to two new segments
                self.phase = Phase::NewData(max);
                Step { word: Word::Open, course: Course::New }
            }
            Phase::NewData(point) => {
                self.phase = Phase::Off;
                let genuine = if self.sack {
                    //= RFC 5682 section 3.1 step 3 a: new data acknowledged, or nothing old
                    ack.ack.max(ack.sacked_up_to) > point || !(new || ack.sack_news && self.news)
                } else {
                    //= RFC 5682 section 2.1 step 3 a: a duplicate
                    !new
                };
                if genuine {
                    //= RFC 5682 section 2.1 step 3 a: at most three segments, and back to what is unacknowledged
                    return Step { word: Word::Genuine, course: Course::Back };
                }
                //= RFC 5682 section 2.1 step 3 b: spurious; "recover" is SND.UNA
                self.recover = ack.ack;
                Word::Spurious.into()
            }
        }
    }
}

impl Frto {
    pub(super) fn with(sack: bool) -> Self {
        Frto { sack, news: true, phase: Phase::Off, recover: 0 }
    }

    /// Nothing is to be judged any more; somebody else has done it.
    pub(super) fn done(self) -> Self {
        Frto { phase: Phase::Off, recover: 0, ..self }
    }
}
