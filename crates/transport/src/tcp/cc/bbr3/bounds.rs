//! Inflight bounds of BBRv3 from losses (section 5.5.10.2).
//!
//! While ProbeBW probes, the flight at which the loss rate passed 2 % becomes the upper bound (section
//! 5.5.10.2). Otherwise a loss reduces the bounds toward the present delivery rate (section 5.5.10.3). A
//! spurious loss restores them (section 5.5.11).

use super::{BETA, Bounds, HEADROOM, LEAST_SEGMENTS, LOSS_THRESHOLD, Mode, Sample, State, Undo};
use crate::tcp::cc::{Loss, Window};
use base::Time;

/// Maximum number of loss times stored, far more than occur in one RTT.
const REMEMBERED: usize = 1024;

impl State {
    /// Bytes lost after the transmission at `sent` (`C.lost - P.lost`).
    pub(super) fn lost_since(&self, sent: Time) -> u64 {
        let before = self.losses.totals.iter().rev().find(|(at, _)| *at <= sent);
        self.losses.bytes - before.map_or(self.losses.before, |(_, lost)| *lost)
    }

    // draft-ietf-ccwg-bbr section 5.5.10.2: HandleLostPacket
    pub(super) fn hear_loss(&mut self, window: &Window, loss: &Loss) {
        self.delivered = loss.delivered;
        self.note_loss();
        self.count_loss(loss.now, loss.lost);
        let then = &loss.record.then;
        let sample = Sample {
            in_flight: f64::from(then.in_flight),
            lost: self.lost_since(loss.record.sent) as f64,
            app_limited: then.app_limited,
            ..Sample::default()
        };
        if self.probe.sampling && self.too_much(&sample) {
            let at_loss = flight_at_loss(&sample, loss.record.bytes() as f64);
            self.react(window, loss.now, Sample { in_flight: at_loss, ..sample });
        }
    }

    /// Records the total lost by `now`; later transmissions compare with it.
    fn count_loss(&mut self, now: Time, lost: u64) {
        self.losses.bytes = lost;
        match self.losses.totals.back_mut() {
            Some((at, before)) if *at == now => *before = lost,
            _ => self.losses.totals.push_back((now, lost)),
        }
        if self.losses.totals.len() > REMEMBERED {
            self.losses.before = self.losses.totals.pop_front().map_or(0, |(_, lost)| lost);
        }
    }

    // draft-ietf-ccwg-bbr section 3.7: CE marks must be treated as congestion; how is left open
    /// Processes an ECN mark: a loss outside of probing, excessive loss while probing.
    pub(super) fn hear_mark(&mut self, window: &Window) {
        self.note_loss();
        if self.mode == Mode::Startup {
            self.full_pipe.reached = true;
            self.bounds.flight_long = self.product(self.rate).max(self.bounds.flight_latest);
        } else if self.probe.sampling {
            let (in_flight, app_limited) = self.latest;
            self.react(window, self.latest_at, Sample { in_flight, app_limited, ..Sample::default() });
        }
    }

    // draft-ietf-ccwg-bbr section 5.5.10.2: IsInflightTooHigh
    pub(super) fn too_much(&self, s: &Sample) -> bool {
        s.lost > s.in_flight * LOSS_THRESHOLD || (s.lost > 0.0 && !self.sack)
    }

    // draft-ietf-ccwg-bbr section 5.5.10.2: HandleInflightTooHigh
    fn react(&mut self, window: &Window, now: Time, s: Sample) {
        (self.probe.too_high, self.probe.sampling) = (true, false);
        if !s.app_limited {
            self.bounds.flight_long = s.in_flight.max(BETA * self.target(window));
        }
        if self.mode == Mode::Up {
            self.saved.undo.mode = Some(Mode::Up);
            self.start_down(now);
        }
    }

    // draft-ietf-ccwg-bbr section 5.3.3.6: TargetInflight
    pub(super) fn target(&self, window: &Window) -> f64 {
        self.product(self.rate).min(window.cwnd)
    }

    pub(super) fn flight_with_headroom(&self) -> f64 {
        if self.bounds.flight_long.is_infinite() {
            return self.bounds.flight_long;
        }
        // draft-ietf-ccwg-bbr section 5.3.3.6: InflightWithHeadroom
        let headroom = (HEADROOM * self.bounds.flight_long).max(self.mss);
        (self.bounds.flight_long - headroom).max(LEAST_SEGMENTS * self.mss)
    }

    pub(super) fn note_loss(&mut self) {
        if !self.loss_round.lossy {
            self.loss_round.end = self.delivered;
            self.save_bounds();
        }
        self.loss_round.lossy = true;
    }

    pub(super) fn save_bounds(&mut self) {
        let Bounds { rate_short, flight_short, flight_long, .. } = self.bounds;
        self.saved.undo = Undo { mode: None, rate_short, flight_short, flight_long };
    }

    // draft-ietf-ccwg-bbr section 5.5.11.2: HandleSpuriousLossDetection
    pub(super) fn undo_bounds(&mut self, now: Time) {
        self.loss_round.lossy = false;
        self.forget_full_pipe();
        self.bounds.rate_short = self.bounds.rate_short.max(self.saved.undo.rate_short);
        self.bounds.flight_short = self.bounds.flight_short.max(self.saved.undo.flight_short);
        self.bounds.flight_long = self.bounds.flight_long.max(self.saved.undo.flight_long);
        match self.saved.undo.mode.take() {
            Some(Mode::Startup) if self.mode != Mode::Startup => {
                self.full_pipe.reached = false;
                if self.mode != Mode::ProbeRtt {
                    self.enter(Mode::Startup);
                }
            }
            Some(Mode::Up) if self.mode != Mode::Up && self.mode != Mode::ProbeRtt => self.start_refill(),
            _ => {}
        }
        self.rate = self.most().min(self.bounds.rate_short);
        self.aggregation.since = now;
    }

    // draft-ietf-ccwg-bbr section 5.5.10.3: UpdateLatestDeliverySignals
    pub(super) fn note_delivery(&mut self, s: &Sample, prior: Option<u64>) {
        self.bounds.rate_latest = self.bounds.rate_latest.max(s.rate);
        self.bounds.flight_latest = self.bounds.flight_latest.max(s.delivered);
        self.loss_round.began = prior.is_some_and(|prior| prior >= self.loss_round.end);
        if self.loss_round.began {
            self.loss_round.end = self.delivered;
        }
    }

    // draft-ietf-ccwg-bbr section 5.5.5: UpdateMaxBw
    pub(super) fn note_rate(&mut self, s: &Sample) {
        if s.rate > 0.0 && (s.rate >= self.most() || !s.app_limited) {
            self.rates[1] = self.rates[1].max(s.rate);
        }
    }

    // draft-ietf-ccwg-bbr section 5.5.10.3: AdaptLowerBoundsFromCongestion, once a round
    pub(super) fn adapt_short(&mut self, window: &Window) {
        if !self.loss_round.began {
            return;
        }
        let probing = matches!(self.mode, Mode::Startup | Mode::Refill | Mode::Up);
        if self.loss_round.lossy && !probing {
            if self.bounds.rate_short.is_infinite() {
                self.bounds.rate_short = self.most();
            }
            if self.bounds.flight_short.is_infinite() {
                self.bounds.flight_short = window.cwnd;
            }
            self.bounds.rate_short = self.bounds.rate_latest.max(BETA * self.bounds.rate_short);
            self.bounds.flight_short = self.bounds.flight_latest.max(BETA * self.bounds.flight_short);
        }
        self.loss_round.lossy = false;
    }

    pub(super) fn forget_signals(&mut self) {
        (self.loss_round.lossy, self.bounds.rate_latest, self.bounds.flight_latest) = (false, 0.0, 0.0);
    }

    pub(super) fn forget_short(&mut self) {
        (self.bounds.rate_short, self.bounds.flight_short) = (f64::INFINITY, f64::INFINITY);
    }
}

// draft-ietf-ccwg-bbr section 5.5.10.2: InflightAtLoss: where losses passed the threshold
fn flight_at_loss(s: &Sample, size: f64) -> f64 {
    let (before, lost_before) = (s.in_flight - size, s.lost - size);
    before + (LOSS_THRESHOLD * before - lost_before) / (1.0 - LOSS_THRESHOLD)
}

#[cfg(test)]
mod tests {
    use super::super::Bbr3;
    use super::*;
    use crate::recovery::sent::{Record, Snapshot};
    use crate::tcp::Config;
    use crate::tcp::cc::{CongestionAlgorithm, Reason, Reduction};

    fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    /// Probing for more at 1 MB/s and 100 ms, of which 30 kB are the target: `BETA` times it bounds nothing here.
    fn probing() -> (Bbr3, Window) {
        let mut config = Config::default();
        config.set("sack", "true").unwrap();
        let mut bbr = Bbr3::new(&config);
        let s = &mut *bbr.0;
        (s.mode, s.full_pipe.reached, s.probe.sampling) = (Mode::Up, true, true);
        (s.rates, s.rate, s.min_rtt.least) = ([1e6; 2], 3e5, Some(base::Span::from_millis(100)));
        (s.delivered, s.latest, s.latest_at) = (500_000, (80_000.0, false), at(990));
        let mut window = Window::new(&config, 1 << 30);
        window.cwnd = 120_000.0;
        (bbr, window)
    }

    /// The `k`-th segment of a flight that was sent at once, with `k` of them in flight; `lost` bytes so far.
    fn loss(k: u64, lost: u64, now: Time) -> Loss {
        let then = Snapshot {
            delivered: 400_000,
            delivered_at: at(800),
            flight_began: at(800),
            app_limited: false,
            in_flight: 1000 * k as u32,
        };
        let record = Record {
            start: 1000 * k,
            end: 1000 * (k + 1),
            sent: at(900),
            first_sent: at(900),
            resent: false,
            sacked: false,
            lost: true,
            counted: false,
            then,
        };
        Loss { now, record, lost, delivered: 510_000 }
    }

    /// Section 5.5.10.2, InflightAtLoss: 100 kB in flight, 1.5 kB lost before a burst of 10 kB that is lost
    /// too. The bound includes the part of that burst at which the loss rate is 2 %.
    #[test]
    fn the_volume_at_which_two_percent_were_lost() {
        let sample = Sample { in_flight: 100_000.0, lost: 11_500.0, ..Sample::default() };
        let at = flight_at_loss(&sample, 10_000.0);
        let burst = at - 90_000.0;
        assert!(((1500.0 + burst) / (90_000.0 + burst) - 0.02).abs() < 1e-9, "{at}");
    }

    /// Section 5.5.10.2, HandleLostPacket: an ACK reveals ten lost segments, the 50th and from the 92nd on.
    /// Each is judged by the flight at its transmission and the losses since. One of 50 is at most 2 %, two
    /// of 92 are more: there the probe ends, once.
    #[test]
    fn of_several_losses_the_one_decides_that_passes_the_threshold() {
        let (mut bbr, window) = probing();
        bbr.on_lost(&window, &loss(50, 1000, at(1000)));
        assert_eq!((bbr.mode(), bbr.flight_bound()), (Mode::Up, f64::INFINITY));
        bbr.on_lost(&window, &loss(92, 2000, at(1000)));
        // (0.02 x 91000 - 1000) / 0.98 more than 91 kB.
        let bound = 91_000.0 + 820.0 / 0.98;
        assert!((bbr.flight_bound() - bound).abs() < 1e-6, "{}", bbr.flight_bound());
        assert_eq!(bbr.mode(), Mode::Down);
        for k in 93..100 {
            bbr.on_lost(&window, &loss(k, 1000 * (k - 90), at(1000)));
        }
        assert!((bbr.flight_bound() - bound).abs() < 1e-6, "only reacts once for each probe");
        assert_eq!(bbr.lost(), 9000);
    }

    /// Section 5.5.10.2: losses before a segment's transmission do not count against it (C.lost - P.lost).
    #[test]
    fn losses_before_a_segment_was_sent_are_not_its() {
        let (mut bbr, window) = probing();
        bbr.on_lost(&window, &Loss { now: at(880), ..loss(20, 400, at(880)) });
        bbr.0.probe.sampling = true;
        bbr.on_lost(&window, &loss(60, 1400, at(1000)));
        assert_eq!((bbr.mode(), bbr.flight_bound()), (Mode::Up, f64::INFINITY));
    }

    /// Section 5.5.10.3, NoteLoss: the round of a loss ends when data sent after the loss are delivered; data
    /// delivered by the current ACK count as already delivered.
    #[test]
    fn the_round_of_a_loss_begins_with_it() {
        let (mut bbr, window) = probing();
        bbr.on_lost(&window, &loss(50, 1000, at(1000)));
        assert_eq!((bbr.0.loss_round.end, bbr.0.loss_round.lossy), (510_000, true));
        bbr.0.note_delivery(&Sample::default(), Some(509_999));
        assert!(!bbr.0.loss_round.began);
        bbr.0.note_delivery(&Sample::default(), Some(510_000));
        assert!(bbr.0.loss_round.began);
    }

    /// Section 3.7: marks are congestion. One ends startup and a probe as losses do; while cruising the round it
    /// falls into takes from the short bounds.
    #[test]
    fn a_mark_is_congestion_in_every_phase() {
        let marked = |mode: Mode| {
            let (mut bbr, window) = probing();
            (bbr.0.mode, bbr.0.full_pipe.reached) = (mode, mode != Mode::Startup);
            let said = bbr.on_reduction(
                &window,
                &Reduction { reason: Reason::Mark, outstanding: 80_000.0, half: 40_000.0 },
            );
            assert!(said.is_infinite(), "the window is its own");
            bbr.0.loss_round.began = true;
            bbr.0.adapt_short(&window);
            bbr
        };
        let up = marked(Mode::Up);
        assert_eq!((up.mode(), up.flight_bound()), (Mode::Down, 80_000.0));
        let startup = marked(Mode::Startup);
        assert!(startup.0.full_pipe.reached && startup.flight_bound() == 30_000.0);
        let mut cruise = probing().0;
        (cruise.0.mode, cruise.0.probe.sampling) = (Mode::Cruise, false);
        cruise.0.hear_mark(&probing().1);
        cruise.0.loss_round.began = true;
        cruise.0.adapt_short(&probing().1);
        assert_eq!((cruise.0.bounds.rate_short, cruise.0.bounds.flight_short), (0.7e6, BETA * 120_000.0));
    }
}
