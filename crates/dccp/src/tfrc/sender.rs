//! TFRC sender (RFC 5348 section 4): allowed rate, feedback, the nofeedback timer, packet spacing.

use super::{Feedback, equation};
use base::{Span, Time};

base::named! {
    /// The retransmission timeout of the TCP in the throughput equation.
    pub enum Timeout {
        /// Four round trips (RFC 5348 section 3.1).
        FourRtt = "four-rtt",
        /// Smoothed round trip and four times its variation, in whole ticks of 100 ms, as the agent of ns-2.35 has it.
        Measured = "measured",
    }
}

/// Configuration of a sender.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SenderConfig {
    /// Nominal packet size, bytes: the segment size of the initial window, and `s` of the equation until [`Sender::on_size`].
    pub size: u32,
    /// Initial window in packets of `size`; 0: RFC 5348 section 4.2, min(4 s, max(2 s, 4380)).
    pub initial_window: u32,
    /// Damps the send rate by the square root of the round trip (RFC 5348 section 4.5).
    pub damping: bool,
    /// The timeout in the equation.
    pub timeout: Timeout,
}

impl Default for SenderConfig {
    fn default() -> Self {
        SenderConfig { size: 1000, initial_window: 0, damping: false, timeout: Timeout::FourRtt }
    }
}

/// Longest time between packets (RFC 5348 section 4.3: t_mbi).
const MAX_BACKOFF_S: f64 = 64.0;
/// Memory of the mean packet size, as in Linux (net/dccp/ccids/ccid3.c: ccid3_hc_tx_update_s).
const SIZE_MEMORY: f64 = 0.9;
/// Memory of the smoothed round trip (RFC 5348 section 4.3: q).
const RTT_MEMORY: f64 = 0.9;
/// Nofeedback timer before the first report (RFC 5348 section 4.2).
const INITIAL_TIMER: Span = Span::from_secs(2);
/// Granularity of a measured timeout, seconds (ns-2.35, tcl/lib/ns-default.tcl: tcp_tick_).
const TICK_S: f64 = 0.1;

/// A timeout measured in whole ticks, with the scaled integers of 4.3BSD (Jacobson 1988, appendix A): its variation never
/// falls below three quarters of a tick once it was above.
#[derive(Clone, Copy, Debug)]
struct Ticks {
    /// Smoothed round trip, eighths of a tick.
    rtt: i64,
    /// Its variation, quarters of a tick.
    variation: i64,
}

impl Ticks {
    fn sampled(before: Option<Ticks>, sample: f64) -> Ticks {
        let ticks = ((sample / TICK_S + 0.5) as i64).max(1);
        let Some(Ticks { rtt, variation }) = before else {
            return Ticks { rtt: ticks << 3, variation: ticks << 1 };
        };
        let delta = ticks - (rtt >> 3);
        let spread = delta.abs() - (variation >> 2);
        Ticks { rtt: (rtt + delta).max(1), variation: (variation + spread).max(1) }
    }

    /// Round trip and four times its variation, seconds.
    fn timeout(self) -> f64 {
        (((self.variation << 3) + self.rtt) >> 3) as f64 * TICK_S
    }
}

/// Share of a receive rate that is kept while the application limits the rate and losses rise.
const LIMITED_SHARE: f64 = 0.85;

/// A reported receive rate and its arrival time; no rate: not limited yet.
#[derive(Clone, Copy, Debug)]
struct Reported {
    rate: Option<f64>,
    at: Time,
}

/// TFRC sender of one flow.
#[derive(Clone, Debug)]
pub struct Sender {
    config: SenderConfig,
    /// Mean packet size, bytes: `s` of the equation.
    size: f64,
    /// Allowed rate, bytes per second.
    rate: f64,
    /// Smoothed round trip, seconds.
    rtt: Option<f64>,
    /// The round trip for a measured timeout.
    measured: Option<Ticks>,
    /// Smoothed square root of the round trip, and the last one.
    root: (f64, f64),
    loss: f64,
    reported: Vec<Reported>,
    /// Last doubling of the rate; none before the first report.
    doubled: Option<Time>,
    timer: Time,
    /// Earliest time of the next packet.
    next: Time,
    /// Last time at which the application kept the sender busy.
    busy: Time,
    /// Send time of the newest packet of the last report.
    covered: Time,
    /// A packet was sent since the nofeedback timer was set.
    sent_since: bool,
    expirations: u64,
    reports: u64,
}

impl Sender {
    /// Before the first packet: one packet a second.
    pub fn new(config: SenderConfig) -> Self {
        Sender {
            //= RFC 5348 section 4.2: the initial sending rate is one packet per second
            rate: f64::from(config.size),
            size: f64::from(config.size),
            config,
            rtt: None,
            measured: None,
            root: (0.0, 0.0),
            loss: 0.0,
            reported: vec![Reported { rate: None, at: Time::ZERO }],
            doubled: None,
            timer: Time::NEVER,
            next: Time::ZERO,
            busy: Time::ZERO,
            covered: Time::ZERO,
            sent_since: false,
            expirations: 0,
            reports: 0,
        }
    }

    fn least(&self) -> f64 {
        self.size / MAX_BACKOFF_S
    }

    /// The rate of the initial window, bytes per second.
    fn initial_rate(&self, rtt: f64) -> f64 {
        let s = f64::from(self.config.size);
        let window = match self.config.initial_window {
            //= RFC 5348 section 4.2: W_init = MIN(4*MSS, MAX(2*MSS, 4380))
            0 => (4.0 * s).min((2.0 * s).max(4380.0)),
            packets => f64::from(packets) * s,
        };
        window / rtt
    }

    //= RFC 5348 section 4.2: with a round trip from connection establishment the initial rate holds at once
    /// A round trip is known before the first packet.
    pub fn seed(&mut self, now: Time, rtt: Span) {
        let seconds = rtt.as_secs_f64().max(1e-6);
        if self.rtt.is_none() {
            self.rtt = Some(seconds);
            self.rate = self.initial_rate(seconds);
            self.doubled = Some(now);
        }
    }

    /// Earliest time of the next packet.
    pub fn next_send(&self) -> Time {
        self.next
    }

    //= RFC 5348 section 4.1: the sender can compute the average segment size
    /// The next packet has this size in bytes: it enters the mean, of which the first packet is the beginning.
    pub fn on_size(&mut self, bytes: u32) {
        let bytes = f64::from(bytes.max(1));
        self.size =
            if self.timer.is_never() { bytes } else { SIZE_MEMORY * self.size + (1.0 - SIZE_MEMORY) * bytes };
    }

    /// A packet leaves now.
    pub fn on_send(&mut self, now: Time, more_waits: bool) {
        let first = self.timer.is_never();
        if first {
            self.timer = now + INITIAL_TIMER;
        }
        self.sent_since = true;
        if more_waits {
            self.busy = now;
        }
        let gap = Span::from_nanos((1e9 * self.size / self.instant_rate()) as u64);
        // Slots that were not used are not saved up beyond one packet.
        //= RFC 5348 section 4.6: t_(i+1) = t_i + t_ipi
        let saved = Time::from_nanos(now.as_nanos().saturating_sub(gap.as_nanos()));
        let nominal = if first { now } else { self.next.max(saved) };
        self.next = nominal + gap;
    }

    /// The application had data that the rate did not let go.
    pub fn on_blocked(&mut self, now: Time) {
        self.busy = now;
    }

    /// The rate for the space before the next packet.
    fn instant_rate(&self) -> f64 {
        let (smoothed, last) = self.root;
        if self.config.damping && last > 0.0 {
            //= RFC 5348 section 4.5: X_inst = X * R_sqmean / sqrt(R_sample)
            return (self.rate * smoothed / last).max(self.least());
        }
        self.rate.max(self.least())
    }

    /// A report arrived.
    pub fn on_feedback(&mut self, now: Time, feedback: &Feedback) {
        self.reports += 1;
        let sample = now.since(feedback.sent).as_secs_f64() - feedback.held.as_secs_f64();
        let sample = sample.max(1e-6);
        let rtt = self.rtt.map_or(sample, |rtt| RTT_MEMORY * rtt + (1.0 - RTT_MEMORY) * sample);
        self.rtt = Some(rtt);
        self.measured = Some(Ticks::sampled(self.measured, sample));
        let root = libm::sqrt(sample);
        self.root.0 =
            if self.root.0 > 0.0 { RTT_MEMORY * self.root.0 + (1.0 - RTT_MEMORY) * root } else { root };
        self.root.1 = root;
        let worse = feedback.loss > self.loss;
        self.loss = feedback.loss;
        let limited = self.busy < self.covered;
        self.covered = feedback.sent;
        match self.doubled {
            None => {
                self.rate = self.initial_rate(rtt);
                self.doubled = Some(now);
                // The first packet alone gives no estimate of the path's rate.
                if feedback.rate > 0.0 {
                    self.update(now, feedback.rate);
                }
            }
            Some(_) => {
                let limit = self.receive_limit(now, feedback.rate, limited, worse);
                self.set_rate(now, limit);
            }
        }
        self.arm(now);
    }

    //= RFC 5348 section 4.3: step 4, X_recv_set and recv_limit
    fn receive_limit(&mut self, now: Time, rate: f64, limited: bool, worse: bool) -> f64 {
        if limited && worse {
            for item in &mut self.reported {
                item.rate = item.rate.map(|r| r / 2.0);
            }
            self.maximize(now, LIMITED_SHARE * rate);
            return self.most_reported();
        }
        if limited {
            self.maximize(now, rate);
        } else {
            self.update(now, rate);
        }
        2.0 * self.most_reported()
    }

    fn update(&mut self, now: Time, rate: f64) {
        let two = Span::from_nanos((2e9 * self.rtt.unwrap_or(0.0)) as u64);
        self.reported.retain(|item| item.rate.is_some() && item.at + two >= now);
        self.reported.push(Reported { rate: Some(rate), at: now });
    }

    fn maximize(&mut self, now: Time, rate: f64) {
        let most = self.reported.iter().filter_map(|item| item.rate).fold(rate, f64::max);
        self.reported = vec![Reported { rate: Some(most), at: now }];
    }

    fn most_reported(&self) -> f64 {
        self.reported.iter().map(|item| item.rate.unwrap_or(f64::INFINITY)).fold(0.0, f64::max)
    }

    /// Step 5 of section 4.3: the allowed rate below `limit`.
    fn set_rate(&mut self, now: Time, limit: f64) {
        let Some(rtt) = self.rtt else { return };
        if self.loss > 0.0 {
            let equation = self.equation(rtt);
            self.rate = equation.min(limit).max(self.least());
        } else if self.doubled.is_none_or(|t| now.since(t).as_secs_f64() >= rtt) {
            self.rate = (2.0 * self.rate).min(limit).max(self.initial_rate(rtt));
            self.doubled = Some(now);
        }
    }

    /// The rate of the throughput equation, bytes per second, at the present loss event rate.
    fn equation(&self, rtt: f64) -> f64 {
        let rto = match (self.config.timeout, self.measured) {
            (Timeout::Measured, Some(ticks)) => ticks.timeout() / rtt,
            _ => equation::RTO_IN_RTT,
        };
        equation::throughput_with(self.size, rtt, rto, self.loss)
    }

    fn arm(&mut self, now: Time) {
        let slow = 2.0 * self.size / self.rate;
        //= RFC 5348 section 4.3: RTO = max(4*R, 2*s/X)
        let wait = self.rtt.map_or(INITIAL_TIMER.as_secs_f64(), |rtt| (4.0 * rtt).max(slow));
        self.timer = now + Span::from_nanos((1e9 * wait) as u64);
        self.sent_since = false;
    }

    /// Expiry of the nofeedback timer.
    pub fn next_timeout(&self) -> Time {
        self.timer
    }

    /// The nofeedback timer expired (RFC 5348 section 4.4).
    pub fn on_timeout(&mut self, now: Time) {
        if self.timer > now {
            return;
        }
        self.expirations += 1;
        let received = self.most_reported();
        match self.rtt {
            None => self.rate = (self.rate / 2.0).max(self.least()),
            Some(rtt) => {
                let recover = self.initial_rate(rtt);
                let slow = if self.loss > 0.0 { received < recover } else { self.rate < 2.0 * recover };
                if slow && !self.sent_since {
                    // Idle, and already as slow as a new flow: nothing to take back.
                } else if self.loss <= 0.0 {
                    self.rate = (self.rate / 2.0).max(self.least());
                } else {
                    let equation = self.equation(rtt);
                    let limit = if equation > 2.0 * received { received } else { equation / 2.0 };
                    self.limit(now, limit);
                }
            }
        }
        // A packet that waits for a slot of the old rate keeps it; the next one has the new space.
        self.arm(now);
    }

    //= RFC 5348 section 4.4: Update_Limits
    fn limit(&mut self, now: Time, limit: f64) {
        let limit = limit.max(self.least());
        self.reported = vec![Reported { rate: Some(limit / 2.0), at: now }];
        self.set_rate(now, limit);
    }

    /// Allowed rate, bytes per second.
    pub fn rate(&self) -> f64 {
        self.rate
    }
    /// Smoothed round trip; zero before the first report.
    pub fn rtt(&self) -> Span {
        self.rtt.map_or(Span::ZERO, |s| Span::from_nanos((1e9 * s) as u64))
    }
    /// Retransmission timeout of the equation's TCP: four round trips; none before the first report.
    pub fn rto(&self) -> Option<Span> {
        self.rtt.map(|s| Span::from_nanos((4e9 * s) as u64))
    }
    /// Loss event rate of the newest report.
    pub fn loss(&self) -> f64 {
        self.loss
    }
    /// Expirations of the nofeedback timer.
    pub fn expirations(&self) -> u64 {
        self.expirations
    }
    /// Reports that have arrived.
    pub fn reports(&self) -> u64 {
        self.reports
    }
}
