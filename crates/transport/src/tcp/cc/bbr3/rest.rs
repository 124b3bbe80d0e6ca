//! Minimum RTT filter and ProbeRTT of BBRv3.
//!
//! The minimum RTT covers ten seconds. After five seconds without a lower RTT, ProbeRTT keeps half of the
//! bandwidth-delay product in flight for 200 ms (section 5.3.4).

use super::{Feedback, LEAST_SEGMENTS, Mode, State};
use crate::tcp::cc::{Delivery, Window};
use base::Span;

// draft-ietf-ccwg-bbr sections 2.13.1, 2.13.2: BBR.MinRTTFilterLen, BBR.ProbeRTTInterval, BBR.ProbeRTTDuration
const BELIEVED: Span = Span::from_secs(10);
const INTERVAL: Span = Span::from_secs(5);
const LASTS: Span = Span::from_millis(200);

impl State {
    // draft-ietf-ccwg-bbr section 5.3.4.3: UpdateMinRTT
    pub(super) fn note_rtt(&mut self, d: &Delivery) {
        self.min_rtt.expired = self.min_rtt.recent.is_some() && d.now > self.min_rtt.recent_at + INTERVAL;
        if let Some(rtt) = d.rtt
            && (self.min_rtt.expired || self.min_rtt.recent.is_none_or(|least| rtt < least))
        {
            (self.min_rtt.recent, self.min_rtt.recent_at) = (Some(rtt), d.now);
        }
        let expired = d.now > self.min_rtt.least_at + BELIEVED;
        if let Some(delay) = self.min_rtt.recent
            && (expired || self.min_rtt.least.is_none_or(|least| delay < least))
        {
            (self.min_rtt.least, self.min_rtt.least_at) = (Some(delay), self.min_rtt.recent_at);
        }
    }

    pub(super) fn probe_rtt_window(&self) -> f64 {
        let half = Mode::ProbeRtt.gains().1;
        (half * self.product(self.rate)).max(LEAST_SEGMENTS * self.mss)
    }

    // draft-ietf-ccwg-bbr section 5.3.4.3: CheckProbeRTT, HandleProbeRTT
    pub(super) fn probe_rtt(&mut self, window: &mut Window, d: &Delivery) {
        if self.mode != Mode::ProbeRtt && self.min_rtt.expired && !self.resting {
            self.save_window(window);
            self.enter(Mode::ProbeRtt);
            self.min_rtt.probe_until = None;
            self.probe.feedback = Feedback::Stopping;
            self.start_round();
        }
        self.resting = false;
        if self.mode != Mode::ProbeRtt {
            return;
        }
        match self.min_rtt.probe_until {
            None if d.flight as f64 <= self.probe_rtt_window() => {
                (self.min_rtt.probe_until, self.min_rtt.probe_round_over) = (Some(d.now + LASTS), false);
                self.start_round();
            }
            None => {}
            Some(until) => {
                self.min_rtt.probe_round_over |= self.rounds.began;
                if self.min_rtt.probe_round_over && d.now > until {
                    self.min_rtt.recent_at = d.now;
                    window.cwnd = window.cwnd.max(self.saved.window);
                    // draft-ietf-ccwg-bbr section 5.3.4.4: ExitProbeRTT
                    self.forget_short();
                    if self.full_pipe.reached {
                        self.start_down(d.now);
                        self.enter(Mode::Cruise);
                    } else {
                        self.enter(Mode::Startup);
                    }
                }
            }
        }
    }
}
