//! Spurious detection at the sender: saved state, detector, verdict.
//!
//! The state is saved before it changes, the detector watches. What follows from its verdict is `consequence`.

use super::{Saved, Tcb};
use crate::endpoint::{Io, Verdicts};
use crate::recovery::digest::AckDigest;
use crate::tcp::config::{Config, Flight, Spurious};
use crate::tcp::spurious::{Case, Detector, Episode, Judged, Sight};
use base::Time;
use base::event::Event;

/// Timeouts and fast retransmits under judgement.
#[derive(Clone, Debug)]
pub(super) struct Judging {
    /// Whether the detector looks at acknowledgements.
    pub(super) watches: bool,
    /// On this acknowledgement nothing is resent: the detector asks for new data alone.
    pub(super) only_new: bool,
    /// The response has already counted what this acknowledgement lets out.
    pub(super) opened: bool,
    /// The expirations since data were last acknowledged.
    pub(super) episode: Option<Episode>,
    /// What the detector is to judge.
    pub(super) case: Option<Episode>,
    pub(super) verdicts: Verdicts,
    /// Timeouts and fast retransmits, without those found spurious.
    pub(super) losses: u64,
    /// From, to: bytes that stay marked as lost though the timeout was spurious. Only where the flight is counted by
    /// marks.
    pub(super) marked: (u64, u64),
    pub(super) detector: Detector,
}

impl Judging {
    pub(super) fn new(config: &Config) -> Self {
        let detector = Detector::new(config);
        Judging {
            watches: detector.watches(),
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

    /// The SYN's expirations and their verdict stay when other choices are agreed upon.
    pub(super) fn go_on_from(&mut self, old: &Judging) {
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

    /// What a detector may see, when everything below `acked` is acknowledged.
    pub(super) fn sight(&self, now: Time, acked: u64) -> Sight {
        let (una, max) = (self.seq.una, self.seq.max);
        let new_data = max < self.fin_end() && self.segment_end(max) <= acked + self.peer.window;
        Sight { now, una, max, scoreboard_empty: self.scoreboard.is_empty(), new_data }
    }

    /// The timer expired on data outside of recovery.
    pub(super) fn watch_timeout(&mut self, now: Time) {
        if !self.judging.detector.watches() {
            return;
        }
        let sight = self.sight(now, self.seq.una);
        match (self.judging.detector.on_timeout(&sight), &mut self.judging.case) {
            (Case::New, case) => *case = self.judging.episode,
            (Case::Same, _) => {}
            (Case::None, case) => *case = None,
        }
    }

    /// Duplicates are about to cause a fast retransmit.
    pub(super) fn watch_fast_retransmit(&mut self, now: Time) {
        let saved = self.save();
        self.judging.losses += 1;
        if !self.judging.detector.watches() {
            return;
        }
        let sight = self.sight(now, self.seq.una);
        match self.judging.detector.on_fast_retransmit(&sight) {
            Case::New => {
                let judged = Judged::FastRetransmit;
                self.judging.case = Some(Episode { judged, began: now, expirations: 0, saved });
            }
            Case::Same => {}
            Case::None => self.judging.case = None,
        }
    }

    /// Whether the timeout of a SYN is judged: by timestamps, where its repetition has one of its own.
    pub(super) fn judges_syn(&self) -> bool {
        self.config.spurious == Spurious::Eifel && self.config.timestamps && !self.one_way()
    }

    /// An echo older than the first repetition of the SYN answers the first one.
    pub(super) fn first_syn_arrived(&self, ack: &AckDigest) -> bool {
        self.judging.episode.is_some_and(|syn| ack.echo.is_some_and(|echo| echo < syn.began))
    }

    /// The SYN, which was repeated, is answered. Nothing was reduced, so that the verdict gives nothing back: what it is
    /// worth is the first window.
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

    /// The next segment is one never sent before. What a timeout took for lost and was not resent stays marked, where the flight
    /// is counted by marks.
    pub(super) fn go_on_with_new(&mut self) {
        if self.config.flight == Flight::Explicit && self.seq.nxt < self.seq.max {
            self.judging.marked = (self.seq.nxt, self.seq.max);
        }
        self.seq.nxt = self.seq.max;
    }

    /// Bytes that are outstanding and marked as lost.
    pub(super) fn marked(&self) -> u64 {
        let (from, to) = self.judging.marked;
        to.saturating_sub(from.max(self.seq.una))
    }

    /// Sends up to `segments` segments never sent before, whatever the congestion window says.
    pub(super) fn send_new(&mut self, io: &mut Io<'_>, segments: usize) {
        self.seq.nxt = self.seq.nxt.max(self.seq.max);
        for _ in 0..segments {
            if !self.send_one_within_peer_window(io) {
                return;
            }
        }
    }
}
