//! Spurious detection at the sender: saved state, detector, verdict, response.
//!
//! The state is saved before it changes, the detector watches, its verdict is recorded, the response acts.

use super::{Saved, Sender};
use crate::endpoint::Io;
use crate::recovery::digest::AckDigest;
use crate::tcp::cc::Control;
use crate::tcp::config::{Flight, Spurious};
use crate::tcp::recovery::Strategy;
use crate::tcp::response::Scene;
use crate::tcp::spurious::{Case, Course, Episode, Judged, Sight, Word};
use base::Time;
use base::event::Event;

/// What the detector has said so far. A timeout is counted once for each time that the timer expired.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verdicts {
    /// Timeouts that it took for spurious.
    pub spurious_timeouts: u64,
    /// Timeouts that it took for genuine.
    pub genuine_timeouts: u64,
    /// Fast retransmits that it took for spurious.
    pub spurious_fast: u64,
    /// Fast retransmits that it took for genuine.
    pub genuine_fast: u64,
}

impl Sender {
    /// What the sender's own detector has said.
    pub fn verdicts(&self) -> Verdicts {
        self.verdicts
    }

    /// The state before a timeout or a fast retransmit changes it.
    pub(super) fn save(&self) -> Saved {
        Saved {
            cwnd: self.window.cwnd,
            ssthresh: self.window.ssthresh,
            flight: self.flight(),
            srtt: self.rto.srtt(),
            rttvar: self.rto.rttvar(),
            max: self.max,
            lossless: self.losses == 0,
        }
    }

    /// What a detector may see, when everything below `acked` is acknowledged.
    fn sight(&self, now: Time, acked: u64) -> Sight {
        let (una, max) = (self.una, self.max);
        let new_data = max < self.fin_end() && self.segment_end(max) <= acked + self.peer_window;
        Sight { now, una, max, scoreboard_empty: self.scoreboard.is_empty(), new_data }
    }

    /// The timer expired on data outside of recovery.
    pub(super) fn watch_timeout(&mut self, now: Time) {
        if !self.detector.watches() {
            return;
        }
        let sight = self.sight(now, self.una);
        match (self.detector.on_timeout(&sight), &mut self.case) {
            (Case::New, case) => *case = self.episode,
            (Case::Same, _) => {}
            (Case::None, case) => *case = None,
        }
    }

    /// Duplicates are about to cause a fast retransmit.
    pub(super) fn watch_fast_retransmit(&mut self, now: Time) {
        let saved = self.save();
        self.losses += 1;
        if !self.detector.watches() {
            return;
        }
        let sight = self.sight(now, self.una);
        match self.detector.on_fast_retransmit(&sight) {
            Case::New => {
                let judged = Judged::FastRetransmit;
                self.case = Some(Episode { judged, began: now, expirations: 0, saved });
            }
            Case::Same => {}
            Case::None => self.case = None,
        }
    }

    /// Whether the timeout of a SYN is judged: by timestamps, where its repetition has one of its own.
    pub(super) fn judges_syn(&self) -> bool {
        self.config.spurious == Spurious::Eifel && self.config.timestamps && !self.one_way()
    }

    /// An echo older than the first repetition of the SYN answers the first one.
    pub(super) fn first_syn_arrived(&self, ack: &AckDigest) -> bool {
        self.episode.is_some_and(|syn| ack.echo.is_some_and(|echo| echo < syn.began))
    }

    /// The SYN, which was repeated, is answered. Nothing was reduced, so that the verdict gives nothing back: what it is
    /// worth is the first window.
    #[cold]
    #[inline(never)]
    pub(super) fn judge_syn(&mut self, io: &mut Io<'_>, ack: &AckDigest) {
        let Some(syn) = self.episode.filter(|_| self.judges_syn() && ack.newly_acked > 0) else { return };
        let (spurious, detector) = (self.first_syn_arrived(ack), self.detector.name());
        io.record(|| Event::Verdict { spurious, detector });
        let counters = &mut self.verdicts;
        *(if spurious { &mut counters.spurious_timeouts } else { &mut counters.genuine_timeouts }) +=
            u64::from(syn.expirations);
    }

    /// The detector sees an acknowledgement, before which the scoreboard was empty if `unreported`; what it says is done.
    /// Returns what is to be sent.
    pub(super) fn hear_detector(&mut self, io: &mut Io<'_>, ack: &AckDigest, unreported: bool) -> Course {
        let sight = Sight { scoreboard_empty: unreported, ..self.sight(io.now, ack.ack) };
        let step = self.detector.on_ack(ack, &sight);
        match step.word {
            Word::Open => {}
            Word::GivenUp => self.case = None,
            word => self.judge(io, ack, word),
        }
        match step.course {
            Course::Usual => {}
            Course::New => self.go_on_with_new(),
            Course::Back => {
                //= RFC 5682 section 2.1 step 3 a: cwnd = 3 MSS, and what is unacknowledged goes again
                self.window.cwnd = 3.0 * self.window.mss;
                self.opened = true;
                if ack.ack < self.recover && self.strategy.goes_back() {
                    self.nxt = ack.ack.max(self.una);
                    self.marked = (0, 0);
                }
                self.recover = self.max;
            }
        }
        step.course
    }

    /// The detector has given its verdict.
    fn judge(&mut self, io: &mut Io<'_>, ack: &AckDigest, word: Word) {
        let Some(episode) = self.case.take() else { return };
        let spurious = word != Word::Genuine;
        let timeout = episode.judged == Judged::Timeout;
        let detector = self.detector.name();
        let times = u64::from(episode.expirations);
        let counters = &mut self.verdicts;
        if timeout {
            io.record(|| Event::Verdict { spurious, detector });
            *(if spurious { &mut counters.spurious_timeouts } else { &mut counters.genuine_timeouts }) +=
                times;
        } else {
            io.record(|| Event::FastRetransmitVerdict { spurious, detector });
            *(if spurious { &mut counters.spurious_fast } else { &mut counters.genuine_fast }) += 1;
        }
        if !spurious {
            if timeout {
                self.responder.on_genuine();
                self.rto.adapt_to_genuine();
            }
            return;
        }
        self.losses = self.losses.saturating_sub(1);
        self.lost_volume = None;
        let late = word == Word::Late;
        if !late {
            //= RFC 4015 section 3.1 step 8: go on with the next unsent segment
            self.go_on_with_new();
            // Nothing was resent, so duplicates below the old recovery point mean a loss again.
            self.recover = self.una.saturating_sub(u64::from(ack.newly_acked == 0));
        }
        if !timeout && self.strategy.recovering() {
            self.strategy.on_timeout(); // there is nothing to recover from
            io.record(|| Event::RecoveryEnded { ack: ack.ack });
        }
        if timeout {
            self.rto.adapt_to_spurious(ack.sample);
        } else {
            self.doubt_duplicates();
        }
        if !late {
            Strategy::on_spurious(self);
        }
        let scene = Scene {
            episode: &episode,
            ack,
            late,
            window: &mut self.window,
            rto: &mut self.rto,
            flight: self.max - ack.ack.max(self.una),
        };
        let before = (scene.window.cwnd, scene.window.ssthresh);
        self.opened = self.responder.on_spurious(scene);
        if before != (self.window.cwnd, self.window.ssthresh) {
            // Where the window comes back, what the congestion control remembered comes back with it.
            self.window.after_timeout = false;
            self.control.restore(io.now, &mut self.window);
        }
    }

    /// The next segment is one never sent before. What a timeout took for lost and was not resent stays marked, where the flight
    /// is counted by marks.
    fn go_on_with_new(&mut self) {
        if self.config.flight == Flight::Explicit && self.nxt < self.max {
            self.marked = (self.nxt, self.max);
        }
        self.nxt = self.max;
    }

    /// Bytes that are outstanding and marked as lost.
    pub(super) fn marked(&self) -> u64 {
        let (from, to) = self.marked;
        to.saturating_sub(from.max(self.una))
    }

    /// Sends up to `segments` segments never sent before, whatever the congestion window says.
    pub(super) fn send_new(&mut self, io: &mut Io<'_>, segments: usize) {
        self.nxt = self.nxt.max(self.max);
        for _ in 0..segments {
            if !self.send_one_within_peer_window(io) {
                return;
            }
        }
    }
}
