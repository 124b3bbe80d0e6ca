//! ProbeRTT of BBRv3: minimum RTT filter.
//!
//! The minimum RTT is taken over ten seconds. After five seconds without a lower one, half of the
//! bandwidth-delay product is kept in flight for 200 ms (section 5.3.4).

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
        self.delay_expired = self.delay.is_some() && d.now > self.delay_at + INTERVAL;
        if let Some(rtt) = d.rtt
            && (self.delay_expired || self.delay.is_none_or(|least| rtt < least))
        {
            (self.delay, self.delay_at) = (Some(rtt), d.now);
        }
        let expired = d.now > self.least_at + BELIEVED;
        if let Some(delay) = self.delay
            && (expired || self.least_rtt.is_none_or(|least| delay < least))
        {
            (self.least_rtt, self.least_at) = (Some(delay), self.delay_at);
        }
    }

    pub(super) fn probe_rtt_window(&self) -> f64 {
        let half = Mode::ProbeRtt.gains().1;
        (half * self.product(self.rate)).max(LEAST_SEGMENTS * self.mss)
    }

    // draft-ietf-ccwg-bbr section 5.3.4.3: CheckProbeRTT, HandleProbeRTT
    pub(super) fn probe_rtt(&mut self, window: &mut Window, d: &Delivery) {
        if self.mode != Mode::ProbeRtt && self.delay_expired && !self.resting {
            self.save_window(window);
            self.enter(Mode::ProbeRtt);
            self.probe_until = None;
            self.feedback = Feedback::Stopping;
            self.start_round();
        }
        self.resting = false;
        if self.mode != Mode::ProbeRtt {
            return;
        }
        match self.probe_until {
            None if d.flight as f64 <= self.probe_rtt_window() => {
                (self.probe_until, self.probe_round_over) = (Some(d.now + LASTS), false);
                self.start_round();
            }
            None => {}
            Some(until) => {
                self.probe_round_over |= self.round_began;
                if self.probe_round_over && d.now > until {
                    self.delay_at = d.now;
                    window.cwnd = window.cwnd.max(self.prior);
                    // draft-ietf-ccwg-bbr section 5.3.4.4: ExitProbeRTT
                    self.forget_short();
                    if self.filled {
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
