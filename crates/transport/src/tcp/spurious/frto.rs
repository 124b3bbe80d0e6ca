//! F-RTO detection (RFC 5682), with SACK.
//!
//! After a timeout the sender retransmits one segment and, when it is acknowledged, sends new data instead of
//! further retransmissions. If the next ACK advances SND.UNA, it must acknowledge data sent before the
//! timeout (RFC 5682; catalogue EI-20). F-RTO does not judge fast retransmits.
//!
//! No verdict is given without new data to send, or without room in the peer's window.

use super::{Decision, Judging, SenderView, SpuriousDetector, SpuriousVerdict, Transmit};
use crate::recovery::digest::AckDigest;
use crate::tcp::config::Config;

/// F-RTO state.
#[derive(Clone, Copy, Debug)]
pub struct Frto {
    /// Uses the rules of section 3, for SACK.
    sack: bool,
    /// New SACK information is reliable; not so where recovery clears the scoreboard.
    news: bool,
    phase: Phase,
    /// "recover" or "RecoveryPoint", one past it: end of the recovery from a timeout.
    recover: u64,
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    Off,
    /// Waiting for step 2.
    Resent {
        /// End of the retransmission.
        end: u64,
        /// One past the highest byte sent at the first expiry of the timer. Duplicate ACKs may send new data
        /// before step 2, which the RFC does not cover; their ACK is inconclusive.
        max: u64,
    },
    /// Waiting for step 3: start of the data sent after the timeout.
    NewData(u64),
}

impl SpuriousDetector for Frto {
    fn new(config: &Config) -> Self {
        Frto { news: !config.recovery.forgets_reports(), ..Frto::with(config.uses_sack()) }
    }

    fn on_timeout(&mut self, view: &SenderView) -> Judging {
        //= RFC 5682 section 2.1 step 1: not while recovery from an earlier timeout goes on below "recover"
        if self.recover > view.una {
            (self.phase, self.recover) = (Phase::Off, view.max);
            return Judging::None;
        }
        // "recover" is set only with the first ACK, so that repeated timeouts are judged.
        let max = match self.phase {
            Phase::Resent { max, .. } => max,
            _ => view.max,
        };
        self.phase = Phase::Resent { end: view.una, max };
        Judging::New
    }

    fn on_fast_retransmit(&mut self, _: &SenderView) -> Judging {
        // A different segment is retransmitted: the following ACKs are inconclusive.
        self.phase = Phase::Off;
        Judging::None
    }

    fn on_resent(&mut self, _: u64, end: u64, _: u64) {
        if let Phase::Resent { end: upto, .. } = &mut self.phase {
            *upto = end.max(*upto);
        }
    }

    #[inline]
    fn rests_on(&self, _: &AckDigest) -> bool {
        matches!(self.phase, Phase::Off)
    }

    fn on_ack(&mut self, ack: &AckDigest, view: &SenderView) -> Decision {
        let new = ack.newly_acked > 0;
        //= RFC 5682 section 2.1: an ACK that is neither of new data nor a duplicate is ignored
        if !new && !ack.duplicate {
            return Decision::default();
        }
        match self.phase {
            Phase::Off => Decision::default(),
            //= RFC 5682 section 3.1 step 2: with SACK, duplicate ACKs are ignored here
            Phase::Resent { .. } if !new && self.sack => Decision::default(),
            Phase::Resent { end, max } => {
                (self.phase, self.recover) = (Phase::Off, view.max);
                if !new {
                    //= RFC 5682 section 2.1 step 2 a: a duplicate: conventional recovery
                    return SpuriousVerdict::Genuine.into();
                }
                //= RFC 5682 section 2.1 step 2 a: everything is acknowledged, or only part of the
                // retransmission
                if ack.ack >= max || (ack.ack < end && !self.sack) {
                    return SpuriousVerdict::GivenUp.into();
                }
                //= RFC 5682 section 2.1 step 2 b: no new data, or no room at the peer: conventional recovery
                if !view.new_data {
                    return SpuriousVerdict::GivenUp.into();
                }
                //= RFC 5682 section 2.1 step 2 b: up to two new segments
                self.phase = Phase::NewData(max);
                Decision { verdict: SpuriousVerdict::Open, transmit: Transmit::New }
            }
            Phase::NewData(point) => {
                self.phase = Phase::Off;
                let genuine = if self.sack {
                    //= RFC 5682 section 3.1 step 3 a: new data acknowledged, or no old data
                    ack.ack.max(ack.sacked_up_to) > point || !(new || ack.sack_news && self.news)
                } else {
                    //= RFC 5682 section 2.1 step 3 a: a duplicate
                    !new
                };
                if genuine {
                    //= RFC 5682 section 2.1 step 3 a: at most three segments, and unacknowledged data are
                    // resent
                    return Decision { verdict: SpuriousVerdict::Genuine, transmit: Transmit::GoBackN };
                }
                //= RFC 5682 section 2.1 step 3 b: spurious; "recover" is SND.UNA
                self.recover = ack.ack;
                SpuriousVerdict::Spurious.into()
            }
        }
    }
}

impl Frto {
    pub(super) fn with(sack: bool) -> Self {
        Frto { sack, news: true, phase: Phase::Off, recover: 0 }
    }

    /// Ends detection, when another detector has given the verdict.
    pub(super) fn done(self) -> Self {
        Frto { phase: Phase::Off, recover: 0, ..self }
    }
}
