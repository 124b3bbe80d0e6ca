//! Congestion controller of a macroflow: AIMD (RFC 3124 section 5.2).

use super::{Feedback, LossMode};
use base::{Span, Time};

/// Congestion state of a macroflow.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct MacroflowState {
    /// Congestion window, bytes.
    pub window: f64,
    /// Slow-start threshold, bytes; infinite before the first loss.
    pub threshold: f64,
    /// Bytes outstanding.
    pub outstanding: u64,
}

/// State of the path (`cm_query`).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Query {
    /// Rate, bit/s.
    pub rate: f64,
    /// Smoothed RTT.
    pub srtt: Span,
    /// Mean deviation of the RTT.
    pub rttdev: Span,
}

/// Minimum idle time after which the window restarts from its initial value.
const LEAST_IDLE: Span = Span::from_secs(1);

#[derive(Debug)]
pub(super) struct Controller {
    initial: f64,
    state: MacroflowState,
    /// Smoothed RTT and its mean deviation.
    rtt: Option<(Span, Span)>,
    /// Time of the last reduction, and whether it was by a timeout.
    reduced: Option<(Time, bool)>,
    /// Time at which data were last sent.
    last_sent: Time,
}

impl Controller {
    pub(super) fn new(initial_window: u64) -> Self {
        let initial = initial_window as f64;
        Controller {
            initial,
            state: MacroflowState { window: initial, threshold: f64::INFINITY, outstanding: 0 },
            rtt: None,
            reduced: None,
            last_sent: Time::ZERO,
        }
    }

    pub(super) fn state(&self) -> MacroflowState {
        self.state
    }
    pub(super) fn window(&self) -> f64 {
        self.state.window
    }
    pub(super) fn outstanding(&self) -> u64 {
        self.state.outstanding
    }

    /// Processes a stream's request to send; `reserved`: bytes granted and not sent yet.
    pub(super) fn wake(&mut self, now: Time, reserved: u64) {
        let Some((srtt, dev)) = self.rtt else { return };
        let rto = (srtt + dev.times(4)).max(LEAST_IDLE);
        if self.state.outstanding == 0 && reserved == 0 && now.since(self.last_sent) > rto {
            //= RFC 5681 section 4.1: RW = min(IW, cwnd)
            self.state.window = self.state.window.min(self.initial);
            self.last_sent = now;
        }
    }

    pub(super) fn notify(&mut self, now: Time, sent: u64) {
        self.state.outstanding += sent;
        if sent > 0 {
            self.last_sent = now;
        }
    }

    /// Removes bytes for which no feedback will arrive.
    pub(super) fn forget(&mut self, bytes: u64) {
        self.state.outstanding -= bytes;
    }

    pub(super) fn query(&self) -> Option<Query> {
        let (srtt, rttdev) = self.rtt.filter(|(srtt, _)| !srtt.is_zero())?;
        Some(Query { rate: 8.0 * self.state.window / srtt.as_secs_f64(), srtt, rttdev })
    }

    pub(super) fn update(&mut self, now: Time, mtu: u64, feedback: &Feedback) {
        let mtu = mtu as f64;
        if let Some(sample) = feedback.rtt {
            self.rtt = Some(smoothed(self.rtt, sample));
        }
        self.forget(feedback.received + feedback.lost);
        match feedback.mode {
            LossMode::NoCongestion => self.grow(feedback.received as f64, mtu),
            LossMode::LossFeedback | LossMode::ExplicitCongestion => {
                if !self.is_covered(now, false) {
                    self.state.window = (self.state.window / 2.0).max(mtu);
                    self.state.threshold = self.state.window;
                    self.reduced = Some((now, false));
                }
            }
            LossMode::NoFeedback => {
                if !self.is_covered(now, true) {
                    self.state.threshold = (self.state.window / 2.0).max(2.0 * mtu);
                    self.reduced = Some((now, true));
                }
                self.state.window = mtu;
            }
        }
    }

    /// Whether the window was reduced for the same congestion: within the last round trip.
    fn is_covered(&self, now: Time, timeout: bool) -> bool {
        let srtt = self.rtt.map_or(Span::ZERO, |(srtt, _)| srtt);
        self.reduced.is_some_and(|(at, by_timeout)| now.since(at) < srtt && (by_timeout || !timeout))
    }

    fn grow(&mut self, received: f64, mtu: f64) {
        let state = &mut self.state;
        let slow = (state.threshold - state.window).clamp(0.0, received);
        state.window += slow;
        if slow < received {
            state.window += (received - slow) * mtu / state.window;
        }
    }
}

/// Smoothed RTT and mean deviation after a sample (RFC 6298 section 2).
fn smoothed(known: Option<(Span, Span)>, sample: Span) -> (Span, Span) {
    let Some((srtt, dev)) = known else { return (sample, Span::from_nanos(sample.as_nanos() / 2)) };
    let (old, new, dev) = (srtt.as_nanos(), sample.as_nanos(), dev.as_nanos());
    let dev = dev - dev / 4 + old.abs_diff(new) / 4;
    (Span::from_nanos(old - old / 8 + new / 8), Span::from_nanos(dev))
}
