//! What do losses say of how much the path takes? While it is probed: where the loss rate passed 2 %, that much in
//! flight was too much (section 5.5.10.2). Otherwise: slow down toward what is delivered now (section 5.5.10.3). A
//! loss that was none gives back what it took (section 5.5.11).

use super::{BETA, HEADROOM, LEAST_SEGMENTS, LOSS_THRESHOLD, Mode, Sample, State, Undo};
use crate::tcp::cc::{Delivery, Window};
use base::Time;

impl State {
    /// Bytes lost since so much had been delivered.
    pub(super) fn lost_since(&self, delivered: u64) -> u64 {
        let before = self.losses.iter().rev().find(|(at, _)| *at <= delivered);
        self.lost - before.map_or(0, |(_, lost)| *lost)
    }

    /// Losses that were shown since the last acknowledgement, before this one counts as delivered.
    pub(super) fn hear_losses(&mut self, window: &Window, d: &Delivery) {
        if d.lost == self.lost {
            return;
        }
        (self.lost, self.ranges) = (d.lost, d.lost_ranges);
        self.note_loss();
        if let Some(last) = d.last_lost {
            let sample = Sample {
                in_flight: f64::from(last.then.in_flight),
                lost: self.lost_since(last.then.delivered) as f64,
                app_limited: last.then.app_limited,
                ..Sample::default()
            };
            // draft-ietf-ccwg-bbr section 5.5.10.2: HandleLostPacket
            if self.probe_sample && self.too_much(&sample) {
                let at_loss = flight_at_loss(&sample, last.bytes() as f64);
                self.react(window, d.now, Sample { in_flight: at_loss, ..sample });
            }
        }
        // What was lost until now was lost before anything that is sent from now on.
        self.losses.push_back((self.delivered, self.lost));
        while self.losses.len() > 64 {
            self.losses.pop_front();
        }
    }

    // draft-ietf-ccwg-bbr section 5.5.10.2: IsInflightTooHigh
    pub(super) fn too_much(&self, s: &Sample) -> bool {
        s.lost > s.in_flight * LOSS_THRESHOLD || (s.lost > 0.0 && !self.sack)
    }

    // draft-ietf-ccwg-bbr section 5.5.10.2: HandleInflightTooHigh
    fn react(&mut self, window: &Window, now: Time, s: Sample) {
        (self.too_high, self.probe_sample) = (true, false);
        if !s.app_limited {
            self.flight_long = s.in_flight.max(BETA * self.target(window));
        }
        if self.mode == Mode::Up {
            self.undo.mode = Some(Mode::Up);
            self.start_down(now);
        }
    }

    // draft-ietf-ccwg-bbr section 5.3.3.6: TargetInflight
    pub(super) fn target(&self, window: &Window) -> f64 {
        self.product(self.rate).min(window.cwnd)
    }

    pub(super) fn flight_with_headroom(&self) -> f64 {
        if self.flight_long.is_infinite() {
            return self.flight_long;
        }
        // draft-ietf-ccwg-bbr section 5.3.3.6: InflightWithHeadroom
        let headroom = (HEADROOM * self.flight_long).max(self.mss);
        (self.flight_long - headroom).max(LEAST_SEGMENTS * self.mss)
    }

    pub(super) fn note_loss(&mut self) {
        if !self.loss_in_round {
            self.loss_round = self.delivered;
            self.save_bounds();
        }
        self.loss_in_round = true;
    }

    pub(super) fn save_bounds(&mut self) {
        let State { rate_short, flight_short, flight_long, .. } = *self;
        self.undo = Undo { mode: None, rate_short, flight_short, flight_long };
    }

    // draft-ietf-ccwg-bbr section 5.5.11.2: HandleSpuriousLossDetection
    pub(super) fn undo_bounds(&mut self, now: Time) {
        self.loss_in_round = false;
        self.forget_full_pipe();
        self.rate_short = self.rate_short.max(self.undo.rate_short);
        self.flight_short = self.flight_short.max(self.undo.flight_short);
        self.flight_long = self.flight_long.max(self.undo.flight_long);
        match self.undo.mode.take() {
            Some(Mode::Startup) if self.mode != Mode::Startup => {
                self.filled = false;
                if self.mode != Mode::ProbeRtt {
                    self.enter(Mode::Startup);
                }
            }
            Some(Mode::Up) if self.mode != Mode::Up && self.mode != Mode::ProbeRtt => self.start_refill(),
            _ => {}
        }
        self.rate = self.most().min(self.rate_short);
        self.extra_since = now;
    }

    // draft-ietf-ccwg-bbr section 5.5.10.3: UpdateLatestDeliverySignals
    pub(super) fn note_delivery(&mut self, s: &Sample, prior: Option<u64>) {
        self.rate_latest = self.rate_latest.max(s.rate);
        self.flight_latest = self.flight_latest.max(s.delivered);
        self.loss_round_began = prior.is_some_and(|prior| prior >= self.loss_round);
        if self.loss_round_began {
            self.loss_round = self.delivered;
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
        if !self.loss_round_began {
            return;
        }
        let probing = matches!(self.mode, Mode::Startup | Mode::Refill | Mode::Up);
        if self.loss_in_round && !probing {
            if self.rate_short.is_infinite() {
                self.rate_short = self.most();
            }
            if self.flight_short.is_infinite() {
                self.flight_short = window.cwnd;
            }
            self.rate_short = self.rate_latest.max(BETA * self.rate_short);
            self.flight_short = self.flight_latest.max(BETA * self.flight_short);
        }
        self.loss_in_round = false;
    }

    pub(super) fn forget_signals(&mut self) {
        (self.loss_in_round, self.rate_latest, self.flight_latest) = (false, 0.0, 0.0);
    }

    pub(super) fn forget_short(&mut self) {
        (self.rate_short, self.flight_short) = (f64::INFINITY, f64::INFINITY);
    }
}

// draft-ietf-ccwg-bbr section 5.5.10.2: InflightAtLoss: where losses passed the threshold
fn flight_at_loss(s: &Sample, size: f64) -> f64 {
    let (before, lost_before) = (s.in_flight - size, s.lost - size);
    before + ((LOSS_THRESHOLD * before - lost_before) / (1.0 - LOSS_THRESHOLD)).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 100 kB in flight, 1.5 kB lost before a burst of 10 kB that is lost too: of that burst as much would have
    /// been safe as keeps the losses at 2 % of what was in flight.
    #[test]
    fn the_volume_at_which_two_percent_were_lost() {
        let sample = Sample { in_flight: 100_000.0, lost: 11_500.0, ..Sample::default() };
        let at = flight_at_loss(&sample, 10_000.0);
        let burst = at - 90_000.0;
        assert!(((1500.0 + burst) / (90_000.0 + burst) - 0.02).abs() < 1e-9, "{at}");
    }
}
