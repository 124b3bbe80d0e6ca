//! What happens on an acknowledgement? Digest, round trip, verdict, response, recovery, in that order.

use super::Sender;
use crate::endpoint::Io;
use crate::recovery::digest::AckDigest;
use crate::tcp::config::{BackoffReset, Timing};
use crate::tcp::recovery::Strategy;
use crate::tcp::response::Scene;
use crate::tcp::spurious::Step;
use base::event::Event;
use base::tcp::Segment;
use base::{Span, Time};

impl Sender {
    /// Takes in the acknowledgement that `segment` carries.
    pub fn on_ack(&mut self, io: &mut Io<'_>, segment: &Segment) {
        if segment.ack > self.max {
            return; // acknowledges what was never sent (RFC 9293 section 3.10.7.4)
        }
        let window_changed = u64::from(segment.window) != self.peer_window;
        if segment.ack >= self.una {
            self.peer_window = u64::from(segment.window);
        }
        let digest = self.digest(io.now, segment, window_changed);
        io.record(|| Event::AckReceived {
            ack: digest.ack,
            window: segment.window,
            duplicate: digest.newly_acked == 0,
        });
        if !segment.sack.is_empty() {
            self.record_sack(io, segment);
        }
        if digest.newly_acked > 0 {
            self.take_sample(&digest);
        }
        match self.detector.on_ack(&digest) {
            Step::Undecided => {}
            step => self.judge(io, &digest, step == Step::Spurious),
        }
        Strategy::on_ack(self, io, &digest);
        self.opened = false;
        if digest.newly_acked > 0 {
            self.episode = None;
            if self.una >= self.quiet_mark {
                self.quiet_mark = self.max;
                self.responder.on_quiet_window();
            }
        }
        self.record_state(io);
    }

    fn digest(&mut self, now: Time, segment: &Segment, window_changed: bool) -> AckDigest {
        let ack = segment.ack;
        let newly_acked = ack.saturating_sub(self.una);
        let mut sack_news = false;
        let mut dsack = false;
        if !segment.sack.is_empty() {
            let blocks = segment.sack.as_slice();
            //= RFC 2883 section 4: below the cumulative ACK, or within the second block
            dsack = blocks[0].right <= ack
                || blocks.get(1).is_some_and(|b| b.left <= blocks[0].left && blocks[0].right <= b.right);
            let from = ack.max(self.una);
            self.scoreboard.acked(from);
            for block in blocks {
                sack_news |= self.scoreboard.add(*block, from, self.max);
            }
        }
        let echo = segment.timestamps.map(|t| t.echo).filter(|_| self.config.timestamps);
        let outstanding = self.max > self.una;
        AckDigest {
            now,
            ack,
            newly_acked,
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
            echo,
            sample: if newly_acked > 0 { self.sample(now, ack, echo) } else { None },
            ece: segment.ece,
        }
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

    fn take_sample(&mut self, ack: &AckDigest) {
        let partial = self.strategy.repairs_partially() && ack.ack < self.recover;
        let sample = ack.sample.filter(|_| !partial || self.config.rto.sample_partial_acks);
        if let Some(rtt) = sample {
            self.rto.sample(rtt);
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

    /// The detector has given its verdict on the last timeout.
    fn judge(&mut self, io: &mut Io<'_>, ack: &AckDigest, spurious: bool) {
        let Some(episode) = self.episode else { return };
        let detector = self.detector.name();
        io.record(|| Event::Verdict { spurious, detector });
        if !spurious {
            self.responder.on_genuine();
            return;
        }
        //= RFC 4015 section 3.2 step 5: go on with the next unsent segment
        self.nxt = self.max;
        // Nothing was resent, so duplicates below the old recovery point mean a loss again.
        self.recover = self.una;
        let scene = Scene {
            episode: &episode,
            ack,
            window: &mut self.window,
            rto: &mut self.rto,
            flight: self.max - ack.ack,
        };
        self.opened = self.responder.on_spurious(scene);
    }
}
