//! CUBIC congestion control (RFC 9438).
//!
//! The window is a cubic function of the time since the last reduction, with its plateau at the window of the
//! last loss. The window never grows more slowly than that of Reno (RFC 9438; Ha, Rhee, Xu 2008).
//!
//! Windows are in segments and times in seconds here, as in the RFC. An ACK of n segments counts n times, so
//! that delayed ACKs do not slow the growth.

use super::abe::{self, Abe};
use super::cubic_linux::CubicLinux;
use super::slow_start::SlowStarter;
use super::{Acked, CongestionAlgorithm, Reason, Reduction, Window};
use crate::tcp::config::{Config, CubicCurve};
use base::{Span, Time};

/// C, segments per cubic second (RFC 9438 section 5).
pub const C: f64 = 0.4;
/// Fraction of the window that remains after a reduction (RFC 9438 section 4.6).
pub const BETA: f64 = 0.7;
//= RFC 9438 section 4.3: alpha_cubic = 3 (1 - beta) / (1 + beta), Reno's rate with this beta
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);

/// Variables of the curve; saved before a reduction (RFC 9438 section 4.9).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Memory {
    /// W_max: plateau of the curve, segments; 0: unknown, as after a timeout.
    pub w_max: f64,
    /// K: time from the start of the epoch to the plateau, seconds.
    pub k: f64,
    /// Start of this epoch of congestion avoidance.
    pub epoch: Option<Time>,
    /// W_est: window that Reno would have, segments.
    pub w_est: f64,
    /// cwnd_prior: window before the last reduction, segments.
    pub prior: f64,
}

/// CUBIC state.
#[derive(Clone, Debug)]
pub struct Cubic {
    fast_convergence: bool,
    abe: Abe,
    slow_start: SlowStarter,
    memory: Memory,
    saved: Option<Memory>,
    /// State of CUBIC in Linux arithmetic, used in place of all other fields; boxed, so that other senders stay small.
    linux: Option<Box<CubicLinux>>,
}

impl Memory {
    /// Starts an epoch with a window of `cwnd` segments.
    fn begin(&mut self, now: Time, cwnd: f64) {
        self.epoch = Some(now);
        self.w_est = cwnd;
        if self.w_max > cwnd {
            //= RFC 9438 section 4.2: K = cbrt((W_max - cwnd_epoch) / C)
            self.k = libm::cbrt((self.w_max - cwnd) / C);
        } else {
            //= RFC 9438 section 4.8: without a preceding loss, K = 0 and W_max = cwnd
            (self.k, self.w_max) = (0.0, cwnd);
        }
    }

    /// W_cubic(t): window in segments, `t` seconds after the start of the epoch.
    pub fn curve(&self, t: f64) -> f64 {
        //= RFC 9438 section 4.2: W_cubic(t) = C (t - K)^3 + W_max
        let x = t - self.k;
        C * (x * x * x) + self.w_max
    }
}

impl Cubic {
    /// Current variables of the curve.
    pub fn memory(&self) -> &Memory {
        &self.memory
    }
}

impl CongestionAlgorithm for Cubic {
    fn new(config: &Config) -> Self {
        Cubic {
            fast_convergence: config.cubic.fast_convergence,
            abe: Abe::new(config),
            slow_start: SlowStarter::new(config),
            memory: Memory::default(),
            saved: None,
            linux: (config.cubic.curve == CubicCurve::Linux).then(|| Box::new(CubicLinux::new(config))),
        }
    }

    fn on_round_trip(&mut self, window: &mut Window, ack: &Acked) {
        if let Some(linux) = &mut self.linux {
            linux.on_round_trip(window, ack);
        }
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Acked) {
        if let Some(linux) = &mut self.linux {
            linux.on_ack(window, ack);
            return;
        }
        if window.in_slow_start() {
            self.slow_start.on_ack(window, ack);
            return;
        }
        let cwnd = window.cwnd / window.mss;
        let acked = ack.bytes as f64 / window.mss;
        let memory = &mut self.memory;
        if memory.epoch.is_none() {
            memory.begin(ack.now, cwnd);
        }
        let t = ack.now.since(memory.epoch.unwrap_or(ack.now)).as_secs_f64();
        //= RFC 9438 section 4.3: W_est grows like Reno, with alpha until it reaches cwnd_prior
        let alpha = if memory.w_est >= memory.prior { 1.0 } else { ALPHA };
        memory.w_est += alpha * acked / cwnd;
        let new = if memory.curve(t) < memory.w_est {
            //= RFC 9438 section 4.3: in the Reno-friendly region cwnd is W_est
            memory.w_est.max(cwnd)
        } else {
            //= RFC 9438 section 4.2: target = W_cubic(t + RTT), between cwnd and 1.5 cwnd
            let target = memory.curve(t + ack.srtt.as_secs_f64()).min(1.5 * cwnd).max(cwnd);
            //= RFC 9438 sections 4.4 and 4.5: cwnd grows by (target - cwnd) / cwnd
            cwnd + (target - cwnd) / cwnd * acked
        };
        window.cwnd = new * window.mss;
    }

    fn on_reduction(&mut self, window: &Window, reduction: &Reduction) -> f64 {
        if let Some(linux) = &mut self.linux {
            return linux.on_reduction(window, reduction);
        }
        let cwnd = window.cwnd / window.mss;
        let memory = &mut self.memory;
        memory.epoch = None;
        memory.prior = cwnd;
        memory.w_max = match reduction.reason {
            //= RFC 9438 section 4.8: after a timeout W_max is the window at which congestion avoidance
            // resumes
            Reason::Timeout => 0.0,
            //= RFC 9438 section 4.7: a window below the last W_max gives way to newer flows
            _ if self.fast_convergence && cwnd < memory.w_max => cwnd * (1.0 + BETA) / 2.0,
            _ => cwnd,
        };
        //= RFC 9438 section 4.6: ssthresh = flight_size * beta_cubic
        let left = if self.abe.takes_less(window, reduction.reason) { abe::CUBIC } else { BETA };
        reduction.outstanding * left
    }

    fn save(&mut self) {
        self.saved = Some(self.memory);
    }

    fn restore(&mut self, _now: Time, _window: &mut Window) {
        //= RFC 9438 section 4.9.1: W_max, K, t_epoch and W_est are as before the timeout
        if let Some(saved) = self.saved.take() {
            self.memory = saved;
        }
    }

    fn on_idle(&mut self, now: Time, idle: Span) {
        if let Some(linux) = &mut self.linux {
            linux.on_idle(now, idle);
        }
        //= RFC 9438 section 4.2: t does not include the time in which the application did not send
        if let Some(epoch) = &mut self.memory.epoch {
            *epoch += idle;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::config::CubicConfig;

    const MSS: f64 = 1000.0;

    fn window(cwnd: f64) -> Window {
        let mut window = Window::new(&Config { mss: 1000, ..Config::default() }, 1 << 30);
        (window.cwnd, window.ssthresh) = (cwnd * MSS, cwnd * MSS);
        window
    }

    fn ack(now: f64, srtt: f64) -> Acked {
        Acked {
            now: Time::from_secs_f64(now),
            bytes: 1000,
            ack: 0,
            sent: 0,
            sample: None,
            srtt: Span::from_secs_f64(srtt),
        }
    }

    fn loss(window: &Window) -> Reduction {
        let outstanding = window.cwnd;
        Reduction { reason: Reason::Loss, outstanding, half: outstanding / 2.0 }
    }

    /// A window of 1000 segments loses one: 700 remain, and K = cbrt(300 / 0.4) = 9.0856 s later the window
    /// is back at 1000, whatever the round trip (RFC 9438 equations 1 and 2). In between it follows the
    /// curve, a round trip ahead of the clock.
    #[test]
    fn the_window_follows_the_curve() {
        let mut cubic = Cubic::new(&Config::default());
        let mut window = window(1000.0);
        let ssthresh = cubic.on_reduction(&window, &loss(&window));
        assert!((ssthresh - 700.0 * MSS).abs() < 1e-6);
        (window.cwnd, window.ssthresh) = (ssthresh, ssthresh);
        // A round trip of 100 ms, an acknowledgement a segment.
        let (rtt, mut now) = (0.1, 0.0);
        let k = libm::cbrt(300.0 / C);
        assert!((k - 9.0856).abs() < 1e-4);
        let (mut at_k, mut checked) = (0.0, 0);
        while now < 15.0 {
            cubic.on_ack(&mut window, &ack(now, rtt));
            let (t, cwnd) = (now, window.cwnd / MSS);
            let curve = |t: f64| C * (t - k) * (t - k) * (t - k) + 1000.0;
            if t > 1.0 {
                // Between the curve now and the curve a round trip ahead, and half a segment.
                let (low, high) = (curve(t) - 0.5, curve(t + rtt) + 0.5);
                assert!((low..=high).contains(&cwnd), "t = {t}: {cwnd}, not in {low} to {high}");
                checked += 1;
            }
            if t <= k {
                at_k = cwnd;
            }
            now += rtt * MSS / window.cwnd;
        }
        assert!(checked > 100_000);
        assert!((at_k - 1000.0).abs() < 0.5, "{at_k} after K seconds");
    }

    /// With a short round trip the Reno-friendly window is the larger one: alpha = 9/17 segments a round
    /// trip until the old window, then one (RFC 9438 section 4.3).
    #[test]
    fn short_round_trips_are_shared_as_reno_would() {
        let mut cubic = Cubic::new(&Config::default());
        let mut window = window(20.0);
        let ssthresh = cubic.on_reduction(&window, &loss(&window));
        (window.cwnd, window.ssthresh) = (ssthresh, ssthresh);
        let (rtt, mut now, mut rounds) = (0.001, 0.0, Vec::new());
        for _ in 0..30 {
            rounds.push(window.cwnd / MSS);
            let end = now + rtt;
            let step = rtt * MSS / window.cwnd;
            while now < end {
                cubic.on_ack(&mut window, &ack(now, rtt));
                now += step;
            }
        }
        let grown = |i: usize| rounds[i + 1] - rounds[i];
        assert!((grown(2) - 9.0 / 17.0).abs() < 0.05, "{}", grown(2));
        assert!((grown(28) - 1.0).abs() < 0.08, "{}", grown(28));
        assert!(rounds[28] > 20.0);
    }

    #[test]
    fn a_second_loss_below_the_first_gives_way() {
        let mut cubic = Cubic::new(&Config::default());
        let mut w = window(100.0);
        cubic.on_reduction(&w, &loss(&w));
        assert_eq!(cubic.memory().w_max, 100.0);
        w.cwnd = 80.0 * MSS;
        cubic.on_reduction(&w, &loss(&w));
        assert!((cubic.memory().w_max - 68.0).abs() < 1e-9);
        let mut plain = Cubic::new(&Config {
            cubic: CubicConfig { fast_convergence: false, ..CubicConfig::default() },
            ..Config::default()
        });
        plain.on_reduction(&window(100.0), &loss(&window(100.0)));
        plain.on_reduction(&w, &loss(&w));
        assert_eq!(plain.memory().w_max, 80.0);
    }

    #[test]
    fn what_was_saved_comes_back() {
        let mut cubic = Cubic::new(&Config::default());
        let mut w = window(100.0);
        let ssthresh = cubic.on_reduction(&w, &loss(&w));
        (w.cwnd, w.ssthresh) = (ssthresh, ssthresh);
        cubic.on_ack(&mut w, &ack(3.0, 0.1));
        let before = *cubic.memory();
        assert!(before.k > 0.0);
        cubic.save();
        cubic.on_reduction(&w, &Reduction { reason: Reason::Timeout, ..loss(&w) });
        assert_ne!(*cubic.memory(), before);
        cubic.restore(Time::from_secs_f64(5.0), &mut w);
        assert_eq!(*cubic.memory(), before);
        // An idle second does not move the window along the curve.
        cubic.on_idle(Time::from_secs_f64(6.0), Span::from_secs(1));
        assert_eq!(cubic.memory().epoch, Some(Time::from_secs_f64(4.0)));
    }
}
