//! ProbeBW phases of BBRv3: down, cruise, refill, up.
//!
//! One cycle takes two to three seconds, or less where Reno would have recovered its window sooner (section
//! 5.3.3).

use super::{Feedback, Mode, Sample, State};
use crate::tcp::cc::{Delivery, Window};
use base::rng::mix;
use base::{Span, Time};

/// Upper bound of Reno's recovery time, round trips.
const RENO_ROUNDS: f64 = 63.0;

impl State {
    // draft-ietf-ccwg-bbr section 5.3.3.6: StartProbeBW_DOWN
    pub(super) fn start_down(&mut self, now: Time) {
        self.forget_signals();
        self.probe.up_each = f64::INFINITY;
        let drawn = mix(now.as_nanos());
        self.probe.rounds_since_up = drawn & 1;
        self.probe.wait = Span::from_secs(2) + Span::from_nanos((drawn >> 1) % 1_000_000_000);
        self.probe.began = now;
        self.probe.feedback = Feedback::Stopping;
        self.start_round();
        self.enter(Mode::Down);
    }

    // draft-ietf-ccwg-bbr section 5.3.3.6: StartProbeBW_REFILL
    pub(super) fn start_refill(&mut self) {
        self.forget_short();
        (self.probe.up_rounds, self.probe.up_acked, self.probe.precautionary) = (0, 0.0, false);
        self.probe.feedback = Feedback::Refilling;
        self.start_round();
        self.enter(Mode::Refill);
    }

    fn start_up(&mut self, window: &Window, s: &Sample) {
        self.probe.feedback = Feedback::Starting;
        self.start_round();
        self.forget_full_pipe();
        self.full_pipe.rate = s.rate;
        self.enter(Mode::Up);
        self.raise_slope(window);
    }

    // draft-ietf-ccwg-bbr section 5.3.3.6: RaiseInflightLongtermSlope
    fn raise_slope(&mut self, window: &Window) {
        let growth = f64::from(1u32 << self.probe.up_rounds);
        self.probe.up_rounds = (self.probe.up_rounds + 1).min(30);
        self.probe.up_each = (window.cwnd / growth).max(self.mss);
    }

    // draft-ietf-ccwg-bbr section 5.3.3.6: UpdateProbeBWCyclePhase
    pub(super) fn cycle(&mut self, window: &Window, d: &Delivery, s: &Sample) {
        if !self.full_pipe.reached || self.adapt_long(window, d, s) {
            return;
        }
        let mode = self.mode;
        match mode {
            Mode::Down | Mode::Cruise => {
                let reno = (self.target(window) / self.mss).min(RENO_ROUNDS);
                // draft-ietf-ccwg-bbr section 5.3.3.5: by the clock, or as often as Reno needs
                if d.now > self.probe.began + self.probe.wait || self.probe.rounds_since_up as f64 >= reno {
                    self.start_refill();
                } else if self.mode == Mode::Down && self.has_room(d) {
                    self.enter(Mode::Cruise);
                }
            }
            Mode::Refill if self.rounds.began => {
                self.probe.sampling = true;
                self.start_up(window, s);
            }
            Mode::Up if self.is_time_to_go_down(window, d, s) => {
                self.probe.too_high = false;
                self.start_down(d.now);
            }
            _ => {}
        }
    }

    // draft-ietf-ccwg-bbr section 5.3.3.6: IsTimeToCruise
    fn has_room(&self, d: &Delivery) -> bool {
        let flight = d.flight as f64;
        flight <= self.flight_with_headroom() && flight <= self.inflight(self.most())
    }

    fn is_limited(&self, window: &Window, d: &Delivery) -> bool {
        (d.flight + d.fresh) as f64 + self.mss > window.cwnd
    }

    // draft-ietf-ccwg-bbr section 5.3.3.6: IsTimeToGoDown
    fn is_time_to_go_down(&mut self, window: &Window, d: &Delivery, s: &Sample) -> bool {
        if self.probe.too_high && (d.flight + d.fresh) as f64 >= self.bounds.flight_long {
            self.probe.precautionary = true;
            return true;
        }
        if self.is_limited(window, d) && window.cwnd >= self.bounds.flight_long {
            self.forget_full_pipe();
            self.full_pipe.rate = s.rate;
            return false;
        }
        self.full_pipe.now
    }

    // draft-ietf-ccwg-bbr section 5.3.3.6: AdaptLongTermModel; true if the phase has changed
    fn adapt_long(&mut self, window: &Window, d: &Delivery, s: &Sample) -> bool {
        if self.rounds.began && self.probe.feedback == Feedback::Starting {
            self.probe.feedback = Feedback::Probing;
        }
        if self.rounds.began && self.probe.feedback == Feedback::Stopping {
            (self.probe.sampling, self.probe.feedback) = (false, Feedback::None);
            if self.mode.cycles() {
                if !s.app_limited && self.rates[1] > 0.0 {
                    self.rates = [self.rates[1], 0.0];
                }
                if self.probe.precautionary && !self.probe.too_high {
                    self.start_refill();
                    return true;
                }
            }
        }
        if self.too_much(s) || self.bounds.flight_long.is_infinite() {
            return false;
        }
        self.bounds.flight_long = self.bounds.flight_long.max(s.in_flight);
        if self.mode == Mode::Up && self.is_limited(window, d) && window.cwnd >= self.bounds.flight_long {
            // draft-ietf-ccwg-bbr section 5.3.3.6: ProbeInflightLongtermUpward
            self.probe.up_acked += d.fresh as f64;
            if self.probe.up_acked >= self.probe.up_each {
                let steps = (self.probe.up_acked / self.probe.up_each).floor();
                self.probe.up_acked -= steps * self.probe.up_each;
                self.bounds.flight_long += steps * self.mss;
            }
            if self.rounds.began {
                self.raise_slope(window);
            }
        }
        false
    }
}
