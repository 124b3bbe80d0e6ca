//! BBR version 3 (draft-ietf-ccwg-bbr).
//!
//! Bandwidth and minimum RTT are estimated as in version 1. Two bounds limit the flight. The long-term bound
//! is the flight at which probing found less than 2 % loss. The short-term bound is the amount delivered in
//! the last round with a loss.
//!
//! The draft draws the wait between probes at random; here it is a hash of the time (as in `bbr`). Without
//! segmentation offload, the send quantum is the draft's formula. Losses are processed one by one. With `rack`, losses
//! are processed before the ACK that revealed them; recoveries that mark no losses report a segment when they
//! retransmit it. An ECN mark is congestion, as the draft requires; the draft does not specify the reaction. Here a
//! mark counts as a loss outside of probing, and as excessive loss while probing. After a timeout the window
//! grows from one segment by the bytes acknowledged; the end of recovery is not signalled.

mod bounds;
mod cycle;
mod rest;

use super::{Acked, CongestionAlgorithm, Delivery, Loss, Reason, Reduction, Window};
use crate::tcp::config::Config;
use base::{Span, Time, named};
use std::collections::VecDeque;

// draft-ietf-ccwg-bbr section 2.4: BBR.LossThresh, BBR.Beta, BBR.Headroom, BBR.MinPipeCwnd
const LOSS_THRESHOLD: f64 = 0.02;
const BETA: f64 = 0.7;
const HEADROOM: f64 = 0.15;
const LEAST_SEGMENTS: f64 = 4.0;
// draft-ietf-ccwg-bbr section 5.6.2: BBR.PacingMarginPercent
const MARGIN: f64 = 0.99;
// draft-ietf-ccwg-bbr section 5.3.1.3: BBRStartupFullLossCnt
const STARTUP_LOSSES: u64 = 6;
/// Window of the ACK-aggregation filter, rounds.
const EXTRA_ROUNDS: usize = 10;

named! {
    /// State of BBR (section 5.1).
    pub enum Mode {
        /// Startup: doubles the rate until it stops growing, or too much is lost.
        Startup = "startup",
        /// Drain: empties the queue built in Startup.
        Drain = "drain",
        /// ProbeBW_DOWN: paces below the estimate until the flight is low enough.
        Down = "down",
        /// ProbeBW_CRUISE: paces at the estimate until the next probe is due.
        Cruise = "cruise",
        /// ProbeBW_REFILL: paces at the estimate, with the short-term bounds lifted.
        Refill = "refill",
        /// ProbeBW_UP: paces above the estimate until a queue or losses appear.
        Up = "up",
        /// ProbeRTT: half of the bandwidth-delay product in flight, to measure the minimum RTT.
        ProbeRtt = "probe-rtt",
    }
}

impl Mode {
    // draft-ietf-ccwg-bbr section 5.6.1: pacing gain and window gain of each state
    fn gains(self) -> (f64, f64) {
        match self {
            Mode::Startup => (2.77, 2.0),
            Mode::Drain => (0.5, 2.0),
            Mode::Down => (0.9, 2.0),
            Mode::Cruise | Mode::Refill => (1.0, 2.0),
            Mode::Up => (1.25, 2.25),
            Mode::ProbeRtt => (1.0, 0.5),
        }
    }

    fn cycles(self) -> bool {
        matches!(self, Mode::Down | Mode::Cruise | Mode::Refill | Mode::Up)
    }
}

/// Phase of the ACKs relative to the last bandwidth probe (`BBR.ack_phase`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Feedback {
    None,
    Refilling,
    Starting,
    Probing,
    Stopping,
}

/// Delivery sample of one ACK, with the state at the transmission of its newest segment.
#[derive(Clone, Copy, Debug, Default)]
struct Sample {
    rate: f64,
    delivered: f64,
    app_limited: bool,
    /// Bytes in flight when the newest delivered segment was sent, with this segment.
    in_flight: f64,
    /// Bytes lost since that transmission.
    lost: f64,
}

/// Bounds and mode before a loss that may turn out to be spurious.
#[derive(Clone, Copy, Debug)]
struct Undo {
    mode: Option<Mode>,
    rate_short: f64,
    flight_short: f64,
    flight_long: f64,
}

/// Rounds, counted by data delivered (section 5.5.1).
#[derive(Clone, Debug, Default)]
struct Rounds {
    count: u64,
    began: bool,
    /// Delivered bytes at which the next round begins.
    next_delivered: u64,
}

/// Bounds of rate and flight from losses, bytes per second and bytes (section 5.5.10).
#[derive(Clone, Copy, Debug)]
struct Bounds {
    rate_short: f64,
    flight_short: f64,
    flight_long: f64,
    rate_latest: f64,
    flight_latest: f64,
}

/// Round that begins with a loss (section 5.5.10.3).
#[derive(Clone, Debug, Default)]
struct LossRound {
    began: bool,
    /// Delivered bytes at which the round ends.
    end: u64,
    lossy: bool,
}

/// Cycle of bandwidth probes (section 5.3.3).
#[derive(Clone, Debug)]
struct BandwidthProbe {
    /// Samples reflect a bandwidth probe, so that excessive loss sets the long-term bound (`BBR.bw_probe_samples`).
    sampling: bool,
    feedback: Feedback,
    up_acked: f64,
    /// Bytes acknowledged for each segment by which the long-term bound grows.
    up_each: f64,
    up_rounds: u32,
    rounds_since_up: u64,
    /// Time from one probe to the next.
    wait: Span,
    began: Time,
    too_high: bool,
    precautionary: bool,
}

/// Estimate of a full pipe (section 5.3.1.2).
#[derive(Clone, Debug, Default)]
struct FullPipe {
    rate: f64,
    rounds: u32,
    now: bool,
    reached: bool,
}

/// Minimum RTT filter and ProbeRTT (section 5.3.4).
#[derive(Clone, Debug, Default)]
struct MinRtt {
    /// Minimum RTT of the last ten seconds.
    least: Option<Span>,
    least_at: Time,
    /// Minimum RTT of the last five seconds.
    recent: Option<Span>,
    recent_at: Time,
    expired: bool,
    probe_until: Option<Time>,
    probe_round_over: bool,
}

/// State saved at a loss (sections 5.5.11 and 5.6.4.4).
#[derive(Clone, Debug)]
struct Saved {
    window: f64,
    recovering: bool,
    recovery_round: u64,
    undo: Undo,
}

/// ACK aggregation filter, bytes beyond the estimate (section 5.5.9).
#[derive(Clone, Debug, Default)]
struct Aggregation {
    extra: [f64; EXTRA_ROUNDS],
    since: Time,
    acked: f64,
}

/// Bytes lost, in all and by time.
#[derive(Clone, Debug, Default)]
struct Losses {
    /// Times of losses, each with the total of bytes lost up to that time.
    totals: VecDeque<(Time, u64)>,
    /// Total before the first entry of `totals`.
    before: u64,
    bytes: u64,
    round_bytes: u64,
    round_ranges: u64,
}

#[derive(Clone, Debug)]
struct State {
    mode: Mode,
    mss: f64,
    sack: bool,
    /// Initial window, bytes.
    initial: f64,
    pacing_rate: Option<f64>,
    rounds: Rounds,
    /// Maximum delivery rates of the last cycle and of the present cycle, bytes per second.
    rates: [f64; 2],
    /// Bandwidth estimate within all bounds, bytes per second.
    rate: f64,
    bounds: Bounds,
    loss_round: LossRound,
    probe: BandwidthProbe,
    full_pipe: FullPipe,
    drain_round: u64,
    min_rtt: MinRtt,
    resting: bool,
    saved: Saved,
    aggregation: Aggregation,
    losses: Losses,
    /// At the transmission of the newest delivered segment: bytes in flight, and whether the application
    /// limited the rate.
    latest: (f64, bool),
    latest_at: Time,
    delivered: u64,
}

/// BBR version 3 state.
#[derive(Clone, Debug)]
pub struct Bbr3(Box<State>);

impl Bbr3 {
    /// Current mode.
    pub fn mode(&self) -> Mode {
        self.0.mode
    }
    /// Estimated bottleneck bandwidth, bytes per second.
    pub fn rate(&self) -> f64 {
        self.0.most()
    }
    /// Total bytes lost.
    pub fn lost(&self) -> u64 {
        self.0.losses.bytes
    }
    /// Long-term bound of the flight, bytes; infinite before a probe lost too much.
    pub fn flight_bound(&self) -> f64 {
        self.0.bounds.flight_long
    }
}

impl State {
    fn most(&self) -> f64 {
        self.rates[0].max(self.rates[1])
    }

    fn product(&self, rate: f64) -> f64 {
        self.min_rtt.least.map_or(self.initial, |rtt| rate * rtt.as_secs_f64())
    }

    // draft-ietf-ccwg-bbr section 5.6.3: C.send_quantum, and 5.5.8: three of them
    fn quantized(&self, volume: f64) -> f64 {
        let quantum = (self.pacing_rate.unwrap_or(0.0) * 0.001).min(65_536.0).max(2.0 * self.mss);
        let volume = volume.max(3.0 * quantum).max(LEAST_SEGMENTS * self.mss);
        volume + if self.mode == Mode::Up { 2.0 * self.mss } else { 0.0 }
    }

    fn inflight(&self, rate: f64) -> f64 {
        self.quantized(self.product(rate))
    }

    fn start_round(&mut self) {
        self.rounds.next_delivered = self.delivered;
    }

    fn enter(&mut self, mode: Mode) {
        self.mode = mode;
    }

    // draft-ietf-ccwg-bbr section 5.5.1: rounds counted by data delivered
    fn count_round(&mut self, prior: Option<u64>) {
        self.rounds.began = prior.is_some_and(|prior| prior >= self.rounds.next_delivered);
        if self.rounds.began {
            self.start_round();
            self.rounds.count += 1;
            self.probe.rounds_since_up += 1;
            self.aggregation.extra[self.rounds.count as usize % EXTRA_ROUNDS] = 0.0;
        }
    }

    fn sample(&self, d: &Delivery) -> Sample {
        let Some(rate) = d.rate else {
            return Sample { in_flight: d.sent_in_flight as f64, ..Sample::default() };
        };
        Sample {
            rate: rate.rate(),
            delivered: rate.delivered as f64,
            app_limited: rate.app_limited,
            in_flight: d.sent_in_flight as f64,
            lost: self.lost_since(d.newest_sent) as f64,
        }
    }

    // draft-ietf-ccwg-bbr section 5.3.1.2: three rounds with less than a quarter more: the pipe is full
    fn notice_full_pipe(&mut self, s: &Sample) {
        if self.full_pipe.now || !self.rounds.began || s.app_limited {
            return;
        }
        if s.rate >= 1.25 * self.full_pipe.rate {
            self.forget_full_pipe();
            self.full_pipe.rate = s.rate;
            return;
        }
        self.full_pipe.rounds += 1;
        self.full_pipe.now = self.full_pipe.rounds >= 3;
        self.full_pipe.reached |= self.full_pipe.now;
    }

    fn forget_full_pipe(&mut self) {
        (self.full_pipe.rate, self.full_pipe.rounds, self.full_pipe.now) = (0.0, 0, false);
    }

    fn startup_and_drain(&mut self, d: &Delivery) {
        if self.mode == Mode::Startup {
            self.notice_startup_loss(d);
            if self.full_pipe.reached {
                self.enter(Mode::Drain);
                self.drain_round = self.rounds.count;
            }
        }
        // draft-ietf-ccwg-bbr section 5.3.2: until the queue is gone, or for three rounds
        let drained = d.flight as f64 <= self.inflight(self.rate) || self.rounds.count > self.drain_round + 3;
        if self.mode == Mode::Drain && drained {
            self.start_down(d.now);
        }
    }

    // draft-ietf-ccwg-bbr section 5.3.1.3: a full round in recovery, more than 2 % lost, in six places
    fn notice_startup_loss(&mut self, d: &Delivery) {
        if d.recovering && !self.saved.recovering {
            self.saved.recovery_round = self.rounds.count;
        }
        let enough = if self.sack {
            let lost = (d.lost - self.losses.round_bytes) as f64;
            self.rounds.began
                && self.rounds.count > self.saved.recovery_round
                && lost > LOSS_THRESHOLD * (d.sent_in_flight as f64).max(self.mss)
                && d.lost_ranges - self.losses.round_ranges >= STARTUP_LOSSES
        } else {
            self.loss_round.lossy
        };
        if self.rounds.began {
            (self.losses.round_bytes, self.losses.round_ranges) = (d.lost, d.lost_ranges);
        }
        if d.recovering && enough {
            self.saved.undo.mode = Some(Mode::Startup);
            self.full_pipe.reached = true;
            self.bounds.flight_long = self.product(self.rate).max(self.bounds.flight_latest);
        }
    }

    fn pace(&mut self, d: &Delivery) {
        let gain = self.mode.gains().0;
        match self.pacing_rate {
            // draft-ietf-ccwg-bbr section 5.6.2: InitPacingRate
            None => self.pacing_rate = d.rtt.map(|rtt| gain * self.initial / rtt.as_secs_f64().max(1e-6)),
            Some(now) => {
                let rate = gain * self.rate * MARGIN;
                if self.full_pipe.reached || rate > now {
                    self.pacing_rate = Some(rate);
                }
            }
        }
    }

    // draft-ietf-ccwg-bbr section 5.5.9: bunched acknowledgements need more in flight
    fn note_aggregation(&mut self, window: &Window, d: &Delivery) {
        let mut expected = self.rate * d.now.since(self.aggregation.since).as_secs_f64();
        if self.aggregation.acked <= expected {
            (self.aggregation.acked, self.aggregation.since, expected) = (0.0, d.now, 0.0);
        }
        self.aggregation.acked += d.fresh as f64;
        let extra = (self.aggregation.acked - expected).min(window.cwnd);
        let slot = &mut self.aggregation.extra[self.rounds.count as usize % EXTRA_ROUNDS];
        *slot = slot.max(extra);
    }

    fn extra(&self) -> f64 {
        if self.full_pipe.reached {
            return self.aggregation.extra.iter().copied().fold(0.0, f64::max);
        }
        self.aggregation.extra[self.rounds.count as usize % EXTRA_ROUNDS]
    }

    // draft-ietf-ccwg-bbr section 5.6.4.6: SetCwnd
    fn size_window(&mut self, window: &mut Window, d: &Delivery) {
        let acked = d.fresh as f64;
        if self.saved.recovering && !d.recovering {
            window.cwnd = window.cwnd.max(self.saved.window);
        }
        self.saved.recovering = d.recovering;
        let most = self.quantized(self.mode.gains().1 * self.product(self.rate) + self.extra());
        if self.full_pipe.reached {
            window.cwnd = (window.cwnd + acked).min(most);
        } else if window.cwnd < most || (d.delivered as f64) < self.initial {
            window.cwnd += acked;
        }
        let least = LEAST_SEGMENTS * self.mss;
        window.cwnd = window.cwnd.max(least);
        if self.mode == Mode::ProbeRtt {
            window.cwnd = window.cwnd.min(self.probe_rtt_window());
        }
        // draft-ietf-ccwg-bbr section 5.6.4.7: BoundCwndForModel
        let cap = match self.mode {
            Mode::Down | Mode::Refill | Mode::Up => self.bounds.flight_long,
            Mode::Cruise | Mode::ProbeRtt => self.flight_with_headroom(),
            Mode::Startup | Mode::Drain => f64::INFINITY,
        };
        window.cwnd = window.cwnd.min(cap.min(self.bounds.flight_short).max(least));
    }

    fn save_window(&mut self, window: &Window) {
        let kept =
            if !self.saved.recovering && self.mode != Mode::ProbeRtt { 0.0 } else { self.saved.window };
        self.saved.window = kept.max(window.cwnd);
    }
}

impl CongestionAlgorithm for Bbr3 {
    fn new(config: &Config) -> Self {
        let initial = config.windows.initial.bytes(config.mss, u64::from(u32::MAX)).min(u64::from(u32::MAX));
        let infinite = f64::INFINITY;
        Bbr3(Box::new(State {
            mode: Mode::Startup,
            mss: f64::from(config.mss),
            sack: config.uses_sack(),
            initial: initial as f64,
            pacing_rate: None,
            rounds: Rounds::default(),
            rates: [0.0; 2],
            rate: 0.0,
            bounds: Bounds {
                rate_short: infinite,
                flight_short: infinite,
                flight_long: infinite,
                rate_latest: 0.0,
                flight_latest: 0.0,
            },
            loss_round: LossRound::default(),
            probe: BandwidthProbe {
                sampling: false,
                feedback: Feedback::None,
                up_acked: 0.0,
                up_each: infinite,
                up_rounds: 0,
                rounds_since_up: 0,
                wait: Span::default(),
                began: Time::ZERO,
                too_high: false,
                precautionary: false,
            },
            full_pipe: FullPipe::default(),
            drain_round: 0,
            min_rtt: MinRtt::default(),
            resting: false,
            saved: Saved {
                window: 0.0,
                recovering: false,
                recovery_round: 0,
                undo: Undo { mode: None, rate_short: 0.0, flight_short: 0.0, flight_long: 0.0 },
            },
            aggregation: Aggregation::default(),
            losses: Losses::default(),
            latest: (0.0, false),
            latest_at: Time::ZERO,
            delivered: 0,
        }))
    }

    /// ACKs do not move the window; delivery samples do, in recovery and outside it.
    fn on_ack(&mut self, _window: &mut Window, _ack: &Acked) {}

    fn on_reduction(&mut self, window: &Window, reduction: &Reduction) -> f64 {
        let state = &mut *self.0;
        if reduction.reason == Reason::Mark {
            state.hear_mark(window);
        } else {
            // draft-ietf-ccwg-bbr section 5.6.4.4: SaveCwnd, SaveStateUponLoss
            state.save_window(window);
            state.save_bounds();
        }
        if reduction.reason == Reason::Timeout {
            state.saved.recovering = false;
        }
        f64::INFINITY
    }

    fn restore(&mut self, now: Time, window: &mut Window) {
        let state = &mut *self.0;
        if state.mode != Mode::ProbeRtt {
            window.cwnd = window.cwnd.max(state.saved.window);
        }
        state.saved.recovering = false;
        state.undo_bounds(now);
    }

    fn on_idle(&mut self, now: Time, _idle: Span) {
        // draft-ietf-ccwg-bbr section 5.4.1: after a rest at just the path's rate
        let state = &mut *self.0;
        state.resting = true;
        state.aggregation.since = now;
        if state.mode.cycles() {
            state.pacing_rate = Some(state.rate * MARGIN);
        }
    }

    fn on_delivery(&mut self, window: &mut Window, d: &Delivery) {
        let state = &mut *self.0;
        state.delivered = d.delivered;
        let sample = state.sample(d);
        (state.latest, state.latest_at) = ((sample.in_flight, sample.app_limited), d.now);
        let prior = d.rate.map(|rate| rate.prior_delivered);
        state.note_delivery(&sample, prior);
        state.count_round(prior);
        state.note_rate(&sample);
        state.adapt_short(window);
        state.note_aggregation(window, d);
        state.notice_full_pipe(&sample);
        state.startup_and_drain(d);
        state.cycle(window, d, &sample);
        state.note_rtt(d);
        state.probe_rtt(window, d);
        if state.loss_round.began {
            (state.bounds.rate_latest, state.bounds.flight_latest) = (sample.rate, sample.delivered);
        }
        state.rate = state.most().min(state.bounds.rate_short);
        state.pace(d);
        state.size_window(window, d);
    }

    fn on_lost(&mut self, window: &Window, loss: &Loss) {
        self.0.hear_loss(window, loss);
    }

    fn needs_losses(&self) -> bool {
        true
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
