//! Spurious detection at the sender: saved state, detector, verdict.
//!
//! The state is saved before a timeout or fast retransmit changes it; the detector then processes every ACK.
//! [`super::spurious_response`] carries out its verdict.

use super::{Saved, Tcb};
use crate::endpoint::{Io, Verdicts};
use crate::recovery::digest::AckDigest;
use crate::tcp::config::{Config, Flight, Spurious};
use crate::tcp::spurious::{Detector, Episode, Judged, Judging, SenderView};
use base::Time;
use base::event::Event;

/// Timeouts and fast retransmits under judgement.
#[derive(Clone, Debug)]
pub(super) struct SpuriousJudgement {
    /// Whether the detector processes ACKs.
    pub(super) detecting: bool,
    /// The detector permits only new data on this ACK; nothing is resent.
    pub(super) only_new: bool,
    /// The response has already opened the window for this ACK.
    pub(super) opened: bool,
    /// Timeouts since data were last acknowledged.
    pub(super) episode: Option<Episode>,
    /// Episode under judgement.
    pub(super) case: Option<Episode>,
    pub(super) verdicts: Verdicts,
    /// Timeouts and fast retransmits, without those found spurious.
    pub(super) losses: u64,
    /// First byte and end of the data that stay marked lost after a spurious timeout. Used only where the
    /// flight is counted from marks.
    pub(super) marked: (u64, u64),
    pub(super) detector: Detector,
}

impl SpuriousJudgement {
    pub(super) fn new(config: &Config) -> Self {
        let detector = Detector::new(config);
        SpuriousJudgement {
            detecting: detector.is_on(),
            only_new: false,
            opened: false,
            episode: None,
            case: None,
            verdicts: Verdicts::default(),
            losses: 0,
            marked: (0, 0),
            detector,
        }
    }

    /// Whether the connection never had a timeout or fast retransmit.
    #[inline]
    pub(super) fn is_pristine(&self) -> bool {
        self.losses == 0
            && self.case.is_none()
            && self.episode.is_none()
            && self.verdicts == Verdicts::default()
    }

    /// Keeps the timeouts of the SYN and their verdict when the handshake changes the options.
    pub(super) fn carry_over(&mut self, old: &SpuriousJudgement) {
        (self.episode, self.case) = (old.episode, old.case);
        (self.losses, self.verdicts) = (old.losses, old.verdicts);
    }
}

impl Tcb {
    /// The state before a timeout or a fast retransmit changes it.
    pub(super) fn save(&self) -> Saved {
        Saved {
            cwnd: self.window.cwnd,
            ssthresh: self.window.ssthresh,
            flight: self.flight(),
            srtt: self.rto.srtt(),
            rttvar: self.rto.rttvar(),
            max: self.seq.max,
            lossless: self.judging.losses == 0,
        }
    }

    /// Sender variables as the detector sees them once everything below `acked` is acknowledged.
    pub(super) fn sender_view(&self, now: Time, acked: u64) -> SenderView {
        let (una, max) = (self.seq.una, self.seq.max);
        let new_data = max < self.fin_end() && self.segment_end(max) <= acked + self.peer.window;
        SenderView { now, una, max, scoreboard_empty: self.scoreboard.is_empty(), new_data }
    }

    /// Starts or continues an episode at a timeout outside of recovery.
    pub(super) fn open_timeout_case(&mut self, now: Time) {
        if !self.judging.detector.is_on() {
            return;
        }
        let view = self.sender_view(now, self.seq.una);
        match (self.judging.detector.on_timeout(&view), &mut self.judging.case) {
            (Judging::New, case) => *case = self.judging.episode,
            (Judging::Same, _) => {}
            (Judging::None, case) => *case = None,
        }
    }

    /// Starts an episode before a fast retransmit.
    pub(super) fn open_fast_retransmit_case(&mut self, now: Time) {
        let saved = self.save();
        self.judging.losses += 1;
        if !self.judging.detector.is_on() {
            return;
        }
        let view = self.sender_view(now, self.seq.una);
        match self.judging.detector.on_fast_retransmit(&view) {
            Judging::New => {
                let judged = Judged::FastRetransmit;
                self.judging.case = Some(Episode { judged, began: now, expirations: 0, saved });
            }
            Judging::Same => {}
            Judging::None => self.judging.case = None,
        }
    }

    /// Whether a timeout of the SYN is judged: by timestamps (Eifel), since the retransmitted SYN has its
    /// own.
    pub(super) fn judges_syn(&self) -> bool {
        self.config.spurious == Spurious::Eifel && self.config.timestamps && !self.one_way()
    }

    /// Whether the first SYN arrived: the echoed timestamp is older than its first retransmission.
    pub(super) fn first_syn_arrived(&self, ack: &AckDigest) -> bool {
        self.judging.episode.is_some_and(|syn| ack.echo.is_some_and(|echo| echo < syn.began))
    }

    /// Judges the timeout of a retransmitted SYN when the SYN-ACK arrives. Nothing was reduced, so nothing is
    /// restored; the verdict decides the initial window.
    #[cold]
    #[inline(never)]
    pub(super) fn judge_syn(&mut self, io: &mut Io<'_>, ack: &AckDigest) {
        let Some(syn) = self.judging.episode.filter(|_| self.judges_syn() && ack.newly_acked > 0) else {
            return;
        };
        let (spurious, detector) = (self.first_syn_arrived(ack), self.judging.detector.name());
        io.record(|| Event::Verdict { spurious, detector });
        let counters = &mut self.judging.verdicts;
        *(if spurious { &mut counters.spurious_timeouts } else { &mut counters.genuine_timeouts }) +=
            u64::from(syn.expirations);
    }

    /// Continues with unsent data. Where the flight is counted from marks, segments that the timeout marked
    /// lost and that were not resent keep their mark.
    pub(super) fn continue_with_new_data(&mut self) {
        if self.config.flight == Flight::Explicit && self.seq.nxt < self.seq.max {
            self.judging.marked = (self.seq.nxt, self.seq.max);
        }
        self.seq.nxt = self.seq.max;
    }

    /// Outstanding bytes marked as lost.
    pub(super) fn marked(&self) -> u64 {
        let (from, to) = self.judging.marked;
        to.saturating_sub(from.max(self.seq.una))
    }

    /// Sends up to `segments` new segments regardless of the congestion window.
    pub(super) fn send_new(&mut self, io: &mut Io<'_>, segments: usize) {
        self.seq.nxt = self.seq.nxt.max(self.seq.max);
        for _ in 0..segments {
            if !self.send_one_within_peer_window(io) {
                return;
            }
        }
    }
}
