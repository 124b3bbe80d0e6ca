//! BBR version 1: sending rate and window from a model of bandwidth and minimum RTT.
//!
//! BBR measures the maximum delivery rate and the minimum RTT, sends at that rate, and keeps about their
//! product in flight.
//!
//! This is version 1: draft-cardwell-iccrg-bbr-congestion-control-00, which is Linux's "bbr" since 4.9;
//! Cardwell, Cheng, Gunn, Yeganeh, Jacobson 2016. Losses do not reduce its window, except for one round of
//! packet conservation; ECN marks have no effect. Not modelled: the long-term rate behind a policer, and the
//! extra window for ACK aggregation on Wi-Fi. After a timeout the window grows from one segment by the bytes
//! acknowledged, up to the model's target.
//!
//! Flows must not all probe at the same time. The draft draws the first phase of the cycle at random. Here a
//! hash of the time at which probing begins chooses it: no random stream is needed, and unsynchronised flows
//! stay unsynchronised.

use super::{Acked, CongestionAlgorithm, Delivery, Reason, Reduction, Window};
use crate::tcp::config::Config;
use base::rng::mix;
use base::{Span, Time, named};

// draft-cardwell-iccrg-bbr-congestion-control-00 section 4.1.1: 2 / ln 2 doubles the rate every round
const HIGH_GAIN: f64 = 2.885_390_081_777_927;
// draft-cardwell-iccrg-bbr-congestion-control-00 section 4.3.4.2: probe, drain, and cruise for six
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// cwnd gain in ProbeBW, above 1 because of delayed and aggregated ACKs (section 4.2.3.2).
const CWND_GAIN: f64 = 2.0;
/// Window of the maximum-rate filter, rounds (section 4.1.1.3).
const RATE_ROUNDS: usize = 10;
/// Window of the minimum-RTT filter (section 4.1.2.3).
const RTT_BELIEVED: Span = Span::from_secs(10);
/// Duration of ProbeRTT at the minimum window (section 4.3.5).
const PROBE_RTT_LASTS: Span = Span::from_millis(200);
/// Minimum window, and the window in ProbeRTT, segments (section 4.2.3.1).
const LEAST_SEGMENTS: f64 = 4.0;
/// Linux paces 1 % below its estimate, so that a queue drains in the long run.
const MARGIN: f64 = 0.99;

named! {
    /// State of BBR (section 4.3).
    pub enum Mode {
        /// Startup: doubles the rate until it stops growing.
        Startup = "startup",
        /// Drain: empties the queue built in Startup.
        Drain = "drain",
        /// ProbeBW: paces at the estimated bandwidth, and probes for more bandwidth every eight RTTs.
        ProbeBw = "probe-bw",
        /// ProbeRTT: reduces the flight to four segments, to measure the minimum RTT.
        ProbeRtt = "probe-rtt",
    }
}

/// Path model and state machine.
#[derive(Clone, Debug)]
struct State {
    mode: Mode,
    /// Maximum rate of each of the last rounds, bytes per second.
    rates: [f64; RATE_ROUNDS],
    round: usize,
    /// `delivered` at which the current round ends.
    next_round: u64,
    round_began: bool,
    least_rtt: Option<Span>,
    least_at: Time,
    /// Earliest end of ProbeRTT, set once the flight is small.
    probe_until: Option<Time>,
    probe_round_over: bool,
    full_rate: f64,
    rounds_without_growth: u32,
    filled: bool,
    phase: usize,
    phase_began: Time,
    pacing_gain: f64,
    cwnd_gain: f64,
    pacing_rate: Option<f64>,
    /// cwnd before a recovery, a timeout, or ProbeRTT.
    prior: f64,
    was_recovering: bool,
    /// Packet conservation: the first round of a recovery sends no more than is delivered.
    conserving: bool,
    resting: bool,
    initial: f64,
}

/// BBR state.
#[derive(Clone, Debug)]
pub struct Bbr(Box<State>);

impl Bbr {
    /// Current mode.
    pub fn mode(&self) -> Mode {
        self.0.mode
    }
    /// Estimated bottleneck bandwidth, bytes per second.
    pub fn rate(&self) -> f64 {
        self.0.rate()
    }
    /// Estimated minimum RTT; none before the first sample.
    pub fn least_rtt(&self) -> Option<Span> {
        self.0.least_rtt
    }
}

impl State {
    fn rate(&self) -> f64 {
        self.rates.iter().copied().fold(0.0, f64::max)
    }

    /// `gain` times the estimated bandwidth-delay product, bytes.
    fn inflight(&self, gain: f64) -> f64 {
        match self.least_rtt {
            Some(rtt) => gain * self.rate() * rtt.as_secs_f64(),
            None => self.initial,
        }
    }

    /// Send quantum (section 4.2.2): bytes per burst, for which the window needs room.
    fn quantum(&self, mss: f64) -> f64 {
        let rate = self.pacing_rate.unwrap_or(0.0);
        if rate < 150_000.0 {
            mss
        } else if rate < 3_000_000.0 {
            2.0 * mss
        } else {
            (rate * 0.001).min(65_536.0)
        }
    }

    // draft-cardwell-iccrg-bbr-congestion-control-00 section 4.1.1.2: rounds counted by data delivered
    fn count_round(&mut self, d: &Delivery) {
        self.round_began = d.rate.is_some_and(|r| r.prior_delivered >= self.next_round);
        if self.round_began {
            self.next_round = d.delivered;
            self.round += 1;
            self.rates[self.round % RATE_ROUNDS] = 0.0;
            self.conserving = false;
        }
    }

    fn note_rate(&mut self, d: &Delivery) {
        let Some(sample) = d.rate else { return };
        let rate = sample.rate();
        // draft-cardwell-iccrg-bbr-congestion-control-00 section 4.1.1.3: an application-limited sample counts only if
        // it exceeds the present estimate
        if !sample.app_limited || rate >= self.rate() {
            let slot = &mut self.rates[self.round % RATE_ROUNDS];
            *slot = slot.max(rate);
        }
    }

    // draft-cardwell-iccrg-bbr-congestion-control-00 section 4.3.2.1: three rounds with less than a
    // quarter more: the pipe is full
    fn notice_full_pipe(&mut self, d: &Delivery) {
        if self.filled || !self.round_began || d.rate.is_some_and(|r| r.app_limited) {
            return;
        }
        let rate = self.rate();
        if rate >= 1.25 * self.full_rate {
            (self.full_rate, self.rounds_without_growth) = (rate, 0);
            return;
        }
        self.rounds_without_growth += 1;
        self.filled = self.rounds_without_growth >= 3;
    }

    fn drain(&mut self, d: &Delivery) {
        if self.mode == Mode::Startup && self.filled {
            (self.mode, self.pacing_gain, self.cwnd_gain) = (Mode::Drain, 1.0 / HIGH_GAIN, HIGH_GAIN);
        }
        if self.mode == Mode::Drain && d.flight as f64 <= self.inflight(1.0) {
            self.probe_rate(d.now);
        }
    }

    fn probe_rate(&mut self, now: Time) {
        (self.mode, self.cwnd_gain) = (Mode::ProbeBw, CWND_GAIN);
        // draft-cardwell-iccrg-bbr-congestion-control-00 section 4.3.4.3: any phase but the draining one
        let drawn = (mix(now.as_nanos()) % 7) as usize;
        self.enter_phase(now, if drawn == 0 { 0 } else { drawn + 1 });
    }

    fn enter_phase(&mut self, now: Time, phase: usize) {
        (self.phase, self.phase_began) = (phase, now);
        self.pacing_gain = CYCLE[phase];
    }

    fn cycle(&mut self, d: &Delivery) {
        if self.mode != Mode::ProbeBw {
            return;
        }
        let least = self.least_rtt.unwrap_or_default();
        let long = d.now.since(self.phase_began) > least;
        let before = (d.flight + d.fresh) as f64;
        let over = if self.pacing_gain > 1.0 {
            // draft-cardwell-iccrg-bbr-congestion-control-00 section 4.3.4.3: until the queue shows
            long && (d.recovering || before >= self.inflight(self.pacing_gain))
        } else if self.pacing_gain < 1.0 {
            long || before <= self.inflight(1.0)
        } else {
            long
        };
        if over {
            self.enter_phase(d.now, (self.phase + 1) % CYCLE.len());
        }
    }

    fn note_rtt(&mut self, window: &mut Window, d: &Delivery) {
        // draft-cardwell-iccrg-bbr-congestion-control-00 section 4.1.2.3: the least of ten seconds
        let expired = self.least_rtt.is_some() && d.now > self.least_at + RTT_BELIEVED;
        if let Some(rtt) = d.rtt
            && (expired || self.least_rtt.is_none_or(|least| rtt <= least))
        {
            (self.least_rtt, self.least_at) = (Some(rtt), d.now);
        }
        if expired && !self.resting && self.mode != Mode::ProbeRtt {
            (self.mode, self.pacing_gain, self.cwnd_gain) = (Mode::ProbeRtt, 1.0, 1.0);
            self.prior = window.cwnd;
            self.probe_until = None;
        }
        self.resting = false;
        if self.mode != Mode::ProbeRtt {
            return;
        }
        match self.probe_until {
            None if d.flight as f64 <= LEAST_SEGMENTS * window.mss => {
                self.probe_until = Some(d.now + PROBE_RTT_LASTS);
                self.probe_round_over = false;
                self.next_round = d.delivered;
            }
            None => {}
            Some(until) => {
                self.probe_round_over |= self.round_began;
                if self.probe_round_over && d.now >= until {
                    self.least_at = d.now;
                    window.cwnd = window.cwnd.max(self.prior);
                    if self.filled {
                        self.probe_rate(d.now);
                    } else {
                        (self.mode, self.pacing_gain, self.cwnd_gain) = (Mode::Startup, HIGH_GAIN, HIGH_GAIN);
                    }
                }
            }
        }
    }

    fn pace(&mut self, d: &Delivery) {
        match self.pacing_rate {
            // draft-cardwell-iccrg-bbr-congestion-control-00 section 4.2.1: before any rate is known
            None => {
                self.pacing_rate = d.rtt.map(|rtt| HIGH_GAIN * self.initial / rtt.as_secs_f64().max(1e-6))
            }
            Some(now) => {
                let rate = self.pacing_gain * self.rate() * MARGIN;
                if self.filled || rate > now {
                    self.pacing_rate = Some(rate);
                }
            }
        }
    }

    fn size_window(&mut self, window: &mut Window, d: &Delivery) {
        let (acked, flight) = (d.fresh as f64, d.flight as f64);
        // draft-cardwell-iccrg-bbr-congestion-control-00 section 4.2.3.4: recovery begins and ends
        if d.recovering && !self.was_recovering {
            self.conserving = true;
            self.next_round = d.delivered;
            window.cwnd = flight + acked.max(window.mss);
        } else if !d.recovering && self.was_recovering {
            self.conserving = false;
            window.cwnd = window.cwnd.max(self.prior);
        }
        self.was_recovering = d.recovering;
        if self.conserving {
            window.cwnd = window.cwnd.max(flight + acked);
        } else {
            let target = self.inflight(self.cwnd_gain) + 3.0 * self.quantum(window.mss);
            // draft-cardwell-iccrg-bbr-congestion-control-00 section 4.2.3.5: toward the target
            if self.filled {
                window.cwnd = (window.cwnd + acked).min(target);
            } else if window.cwnd < target || (d.delivered as f64) < self.initial {
                window.cwnd += acked;
            }
        }
        window.cwnd = window.cwnd.max(LEAST_SEGMENTS * window.mss);
        if self.mode == Mode::ProbeRtt {
            window.cwnd = window.cwnd.min(LEAST_SEGMENTS * window.mss);
        }
    }
}

impl CongestionAlgorithm for Bbr {
    fn new(config: &Config) -> Self {
        let initial = config.windows.initial.bytes(config.mss, u64::from(u32::MAX)).min(u64::from(u32::MAX));
        Bbr(Box::new(State {
            mode: Mode::Startup,
            rates: [0.0; RATE_ROUNDS],
            round: 0,
            next_round: 0,
            round_began: false,
            least_rtt: None,
            least_at: Time::ZERO,
            probe_until: None,
            probe_round_over: false,
            full_rate: 0.0,
            rounds_without_growth: 0,
            filled: false,
            phase: 0,
            phase_began: Time::ZERO,
            pacing_gain: HIGH_GAIN,
            cwnd_gain: HIGH_GAIN,
            pacing_rate: None,
            prior: 0.0,
            was_recovering: false,
            conserving: false,
            resting: false,
            initial: initial as f64,
        }))
    }

    /// ACKs do not move the window; delivery samples do, in recovery and outside it.
    fn on_ack(&mut self, _window: &mut Window, _ack: &Acked) {}

    fn on_reduction(&mut self, window: &Window, reduction: &Reduction) -> f64 {
        let state = &mut *self.0;
        if !state.was_recovering && state.mode != Mode::ProbeRtt && reduction.reason != Reason::Mark {
            state.prior = window.cwnd;
        }
        if reduction.reason == Reason::Timeout {
            (state.was_recovering, state.conserving) = (false, false);
            (state.full_rate, state.rounds_without_growth) = (0.0, 0);
        }
        f64::INFINITY
    }

    fn restore(&mut self, _now: Time, window: &mut Window) {
        let state = &mut *self.0;
        (state.full_rate, state.rounds_without_growth) = (0.0, 0);
        (state.was_recovering, state.conserving) = (false, false);
        if state.mode != Mode::ProbeRtt {
            window.cwnd = window.cwnd.max(state.prior);
        }
    }

    fn on_idle(&mut self, _now: Time, _idle: Span) {
        // draft-cardwell-iccrg-bbr-congestion-control-00 section 4.3.4.4: after a rest at the path's rate
        let state = &mut *self.0;
        state.resting = true;
        if state.mode == Mode::ProbeBw {
            state.pacing_rate = Some(state.rate());
        }
    }

    fn on_delivery(&mut self, window: &mut Window, d: &Delivery) {
        let state = &mut *self.0;
        state.count_round(d);
        state.note_rate(d);
        state.cycle(d);
        state.notice_full_pipe(d);
        state.drain(d);
        state.note_rtt(window, d);
        state.pace(d);
        state.size_window(window, d);
    }

    fn wants_rates(&self) -> bool {
        true
    }

    fn holds_back(&self) -> bool {
        self.0.mode == Mode::ProbeRtt
    }

    fn owns_window(&self) -> bool {
        true
    }

    fn pacing_rate(&self) -> Option<f64> {
        self.0.pacing_rate.filter(|rate| *rate > 0.0)
    }
}
