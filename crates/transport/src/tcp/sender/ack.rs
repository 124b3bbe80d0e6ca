//! ACK processing: digest, RTT sample, verdict, response, recovery.
//!
//! Digest, round trip, verdict, response, recovery, in that order.

use super::Sender;
use crate::endpoint::Io;
use crate::recovery::digest::AckDigest;
use crate::recovery::rate::RateSample;
use crate::recovery::rtt::Round;
use crate::recovery::sent::Record;
use crate::tcp::cc::{Control, Delivery, Loss};
use crate::tcp::config::{BackoffReset, RtoSeed, Timing};
use crate::tcp::recovery::Strategy;
use crate::tcp::spurious::Course;
use base::event::Event;
use base::tcp::Segment;
use base::{Span, Time};

impl Sender {
    /// Takes in the acknowledgement that `segment` carries.
    #[inline(always)] // the connection's only call
    pub fn on_ack(&mut self, io: &mut Io<'_>, segment: &Segment) {
        self.probe_answered(io.now, segment.ack);
        if segment.ack > self.max || self.gave_up {
            return; // acknowledges what was never sent (RFC 9293 section 3.10.7.4)
        }
        let window_changed = u64::from(segment.window).min(self.most_window) != self.peer_window;
        if segment.ack >= self.una {
            if window_changed {
                self.note_window(u64::from(segment.window));
            }
            self.peer_window = u64::from(segment.window).min(self.most_window);
        }
        //= RFC 3708 section 3 step A.1: what was reported before this acknowledgement, which may take all of it away
        let unreported = self.scoreboard.is_empty();
        let digest = self.digest(io.now, segment, window_changed);
        io.record(|| Event::AckReceived {
            ack: digest.ack,
            window: segment.window,
            duplicate: digest.newly_acked == 0,
        });
        if !segment.sack.is_empty() {
            self.record_sack(io, segment);
        }
        if digest.newly_acked > 0 || digest.sample.is_some() {
            self.take_sample(&digest);
        }
        if self.wants_rates && !self.losses_first {
            self.deliver(io.now);
        }
        let (course, judged) = if self.watches {
            if !self.established {
                self.judge_syn(io, &digest);
            }
            let before = self.verdicts;
            (self.hear_detector(io, &digest, unreported), before != self.verdicts)
        } else {
            (Course::Usual, false)
        };
        if digest.ece {
            self.on_echo(io, &digest);
        }
        if self.lost_volume.is_some() {
            self.take_off_lost_volume(&digest);
        }
        self.only_new = course == Course::New;
        let sent = io.out.len();
        if self.special_duplicates {
            self.recover_specially(io, &digest);
        } else {
            Strategy::on_ack(self, io, &digest);
        }
        match course {
            // What a verdict gave back may let out something, whatever the acknowledgement itself does.
            Course::Usual if judged => self.send_window(io, 0),
            Course::Usual => {}
            Course::New => self.send_new(io, 2 - (io.out.len() - sent).min(2)),
            Course::Back => self.send_window(io, 0),
        }
        if self.hears_losses {
            self.hear_losses(io.now);
        }
        self.opened = false;
        if digest.newly_acked > 0 {
            if self.episode.is_some() {
                self.episode = None;
            }
            if self.una >= self.quiet_mark {
                self.quiet_mark = self.max;
                self.responder.on_quiet_window();
            }
        }
        self.record_state(io);
    }

    /// Recovery, where duplicates do more than it makes of them.
    #[inline(never)]
    fn recover_specially(&mut self, io: &mut Io<'_>, digest: &AckDigest) {
        let seen = self.filter_duplicate(io, digest);
        Strategy::on_ack(self, io, &seen);
        if seen.duplicate {
            self.after_duplicate(io, &seen);
        }
    }

    /// Tells the congestion control what was found lost since it was last told.
    #[inline(never)]
    pub(super) fn hear_losses(&mut self, now: Time) {
        let Some(sent) = &mut self.sent else { return };
        let delivered = sent.delivered();
        for (record, lost) in sent.take_losses() {
            self.control.on_lost(&self.window, &Loss { now, record, lost, delivered });
        }
    }

    /// The recovery has taken for lost what the acknowledgement shows to be, and is about to send: a congestion
    /// control that wants to know hears of it, and then of what was delivered.
    #[inline]
    pub(in crate::tcp) fn hear_then_deliver(&mut self, now: Time) {
        if self.losses_first {
            self.hear_losses(now);
            self.deliver(now);
        }
    }

    /// Tells the congestion control what was delivered, and how fast.
    #[inline(never)]
    fn deliver(&mut self, now: Time) {
        let Some(sent) = &self.sent else { return };
        let Some(newest) = sent.newest() else { return };
        let rtt = (!newest.resent).then(|| now.since(newest.sent));
        if let Some(rtt) = rtt {
            self.min_rtt = Some(self.min_rtt.map_or(rtt, |least| least.min(rtt)));
        }
        let delivery = Delivery {
            now,
            rate: RateSample::of(sent, self.min_rtt),
            delivered: sent.delivered(),
            fresh: sent.fresh().iter().map(Record::bytes).sum(),
            flight: sent.in_flight(),
            rtt,
            recovering: self.strategy.recovering(),
            sent_in_flight: newest.then.in_flight,
            lost: sent.found_lost().bytes,
            lost_ranges: sent.found_lost().ranges,
            newest_sent: newest.sent,
        };
        self.control.on_delivery(&mut self.window, &delivery);
    }

    #[inline(always)]
    fn digest(&mut self, now: Time, segment: &Segment, window_changed: bool) -> AckDigest {
        let ack = segment.ack;
        let newly_acked = ack.saturating_sub(self.una);
        let mut sack_news = false;
        let mut dsack = false;
        let mut sacked_up_to = 0;
        let reported = self.scoreboard.bytes();
        if let Some(sent) = &mut self.sent {
            sent.begin();
        }
        if reported > 0 || !segment.sack.is_empty() {
            self.scoreboard.acked(ack.max(self.una));
        }
        if !segment.sack.is_empty() {
            let blocks = segment.sack.as_slice();
            //= RFC 2883 section 4: below the cumulative ACK, or within the second block
            dsack = blocks[0].right <= ack
                || blocks.get(1).is_some_and(|b| b.left <= blocks[0].left && blocks[0].right <= b.right);
            let from = ack.max(self.una);
            for block in blocks {
                sack_news |= self.scoreboard.add_telling(*block, from, self.max, |part| {
                    if let Some(sent) = &mut self.sent {
                        sent.sack(now, part);
                    }
                });
                sacked_up_to = block.right.max(sacked_up_to);
            }
        }
        if let Some(sent) = &mut self.sent {
            sent.acked(now, ack);
        }
        let echo = segment.timestamps.map(|t| t.echo).filter(|_| self.config.timestamps);
        let outstanding = self.max > self.una;
        let (mss, twice) = (u64::from(self.config.mss), segment.sack.as_slice().first());
        let twice = twice.filter(|_| dsack && self.config.dsack_delivers);
        let twice = twice.map_or(0, |block| block.right.saturating_sub(block.left).div_ceil(mss) * mss);
        AckDigest {
            now,
            ack,
            newly_acked,
            delivered: (newly_acked + self.scoreboard.bytes()).saturating_sub(reported) + twice,
            old: ack < self.una,
            //= RFC 5681 section 2: same acknowledgement and window, data outstanding, none carried
            duplicate: ack == self.una
                && outstanding
                && !window_changed
                && segment.len == 0
                && !segment.syn
                && !segment.fin,
            sack_news,
            dsack,
            twice: segment.sack.as_slice().first().copied().filter(|_| dsack),
            sacked_up_to,
            resent_echo: segment.resent_echo,
            echo,
            sample: match (self.config.rto.sample_reports, newly_acked > 0) {
                (true, moved) => self.sample_of_records(now, ack).or_else(|| {
                    let sample = moved.then(|| self.sample(now, ack, echo));
                    sample.flatten()
                }),
                (false, true) => self.sample(now, ack, echo),
                (false, false) => None,
            },
            ece: segment.ece && !segment.syn,
        }
    }

    /// The round trip of the first segment acknowledged, if none of them was sent again, else of the first that is reported and was
    /// sent once (Linux 6.12, net/ipv4/tcp_input.c: `tcp_clean_rtx_queue`, `tcp_ack_update_rtt`).
    fn sample_of_records(&self, now: Time, ack: u64) -> Option<Span> {
        let fresh = self.sent.as_ref()?.fresh();
        let (acked, reported) = (|r: &&Record| r.end <= ack, |r: &&Record| r.end > ack && !r.resent);
        let again = fresh.iter().filter(acked).any(|record| record.resent);
        let first = fresh.iter().filter(acked).min_by_key(|record| record.start).filter(|_| !again);
        let first = first.or_else(|| fresh.iter().filter(reported).min_by_key(|record| record.start));
        first.map(|record| now.since(record.sent))
    }

    /// The round trip that this acknowledgement measured.
    fn sample(&mut self, now: Time, ack: u64, echo: Option<Time>) -> Option<Span> {
        if self.config.timestamps {
            return echo.map(|e| now.since(e));
        }
        if self.config.rto.timing == Timing::Segment {
            let mut last = None;
            while self.timed.each.front().is_some_and(|(end, _)| *end <= ack) {
                last = self.timed.each.pop_front();
            }
            return last.map(|(_, sent)| now.since(sent));
        }
        self.timed.one.filter(|(end, _)| *end <= ack).map(|(_, sent)| now.since(sent))
    }

    #[inline(always)]
    fn take_sample(&mut self, ack: &AckDigest) {
        let partial = self.strategy.repairs_partially() && ack.ack < self.recover;
        let sample = ack.sample.filter(|_| !partial || self.config.rto.sample_partial_acks);
        // A SYN is shorter than a segment: its round trip need not be where the estimate begins.
        let sample = sample.filter(|_| self.established || self.config.rto.seed == RtoSeed::Syn);
        if let Some(rtt) = sample {
            let round = Round {
                acked_to: ack.ack,
                next: self.max,
                flight: self.flight(),
                acked: ack.newly_acked,
                mss: self.config.mss,
                cwnd: self.window.bytes(),
            };
            self.rto.sample_in(rtt, &round);
            self.responder.on_sample(ack.ack, rtt, &mut self.rto);
        }
        let timed = self.timed.one.is_some_and(|(end, _)| end <= ack.ack);
        if timed {
            self.timed.one = None;
        }
        let ends = match self.config.rto.backoff_reset {
            BackoffReset::TimedSegment => timed,
            BackoffReset::Sample => sample.is_some(),
            BackoffReset::NewAck => true,
        };
        if ends {
            self.rto.end_backoff();
        }
    }
}
