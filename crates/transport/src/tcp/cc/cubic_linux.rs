//! CUBIC in the integer arithmetic of Linux.
//!
//! The curve of RFC 9438 in whole segments and clock ticks, computed as acknowledged segments per segment of
//! growth. The target is the curve one minimum RTT ahead, not one smoothed RTT. Before the first loss the window grows
//! by at least 5 % per RTT; growth is at most half of the window per RTT.
//!
//! The rules are those of Linux 6.12 (net/ipv4/tcp_cubic.c: `bictcp_update`, `cubictcp_recalc_ssthresh`,
//! `cubictcp_acked`, `cubictcp_state`, `cubictcp_cwnd_event`; net/ipv4/tcp_cong.c: `tcp_slow_start`,
//! `tcp_cong_avoid_ai`). The exit from slow start is in [`super::hystart`].

use super::slow_start::SlowStarter;
use super::{Acked, Reason, Reduction, Window};
use crate::recovery::wheel::{TICK, ticks};
use crate::tcp::config::Config;
use base::{Span, Time};

/// Clock ticks per second.
const HZ: u64 = 1_000_000_000 / TICK.as_nanos();
/// Time unit of the curve: 1/1024 s; its scale is 410/1024 segments per cubic second.
const UNIT: u64 = 1024;
const SCALE: u64 = 410;
/// Fraction of the window that remains after a reduction, 1024ths.
const BETA: u64 = 717;
/// Eight times the segments acknowledged for which Reno's estimate grows by one, over the window.
const FRIENDLY: u64 = 8 * (UNIT + BETA) / 3 / (UNIT - BETA);
/// With an unchanged window the curve is evaluated at most this often: every 1/32 s, in ticks.
const SELDOM: u64 = HZ / 32;
/// Before any loss the window grows by at least one segment per this many acknowledged (5 %).
const LEAST_GROWTH: u64 = 20;
/// RTT samples are ignored for this long after a reduction, ticks.
const SETTLES: u64 = HZ;

/// State of CUBIC in Linux.
#[derive(Clone, Copy, Debug)]
pub struct CubicLinux {
    fast_convergence: bool,
    starter: SlowStarter,
    /// Slow-start state restored by a timeout (connection state Loss).
    fresh: SlowStarter,
    /// HyStart ended slow start; it does not run again before a timeout.
    found: bool,
    /// Window before the last reduction, or less with fast convergence; 0: no reduction yet.
    last_max: u64,
    /// Start of this epoch, ticks; none: no epoch.
    epoch: Option<u64>,
    /// Time and window at the last evaluation of the curve, ticks and segments.
    asked: u64,
    asked_for: u64,
    /// Plateau of the curve, segments, and time of it, 1024ths of a second.
    origin: u64,
    k: u64,
    /// Reno's window, and the segments acknowledged towards its next segment.
    reno: u64,
    acked: u64,
    /// Acknowledged segments per segment of growth (`cnt`).
    every: u64,
    /// Segments acknowledged towards the next segment (`snd_cwnd_cnt`).
    count: u64,
    /// Acknowledged bytes short of a whole segment.
    odd: u64,
    /// Minimum RTT.
    least: Option<Span>,
}

impl CubicLinux {
    /// State of a new connection.
    pub fn new(config: &Config) -> Self {
        let starter = SlowStarter::new(config);
        CubicLinux {
            fast_convergence: config.cubic.fast_convergence,
            starter,
            fresh: starter,
            found: false,
            last_max: 0,
            epoch: None,
            asked: 0,
            asked_for: 0,
            origin: 0,
            k: 0,
            reno: 0,
            acked: 0,
            every: 1,
            count: 0,
            odd: 0,
            least: None,
        }
    }

    /// Processes an RTT sample that does not open the window. HyStart may thus end slow start in recovery
    /// too, while cwnd is below ssthresh.
    pub fn on_round_trip(&mut self, window: &mut Window, ack: &Acked) {
        if self.believes(ack) && !self.found && window.in_slow_start() && self.starter.tells(window, ack) {
            (self.found, window.ssthresh) = (true, window.cwnd);
        }
    }

    /// Updates the minimum RTT, except right after a reduction. Returns whether the sample was used.
    fn believes(&mut self, ack: &Acked) -> bool {
        let now = ticks(ack.now);
        let Some(rtt) = ack.sample.filter(|_| self.epoch.is_none_or(|epoch| now - epoch >= SETTLES)) else {
            return false;
        };
        self.least = Some(self.least.map_or(rtt, |least| least.min(rtt)));
        true
    }

    /// Opens the window for an ACK outside of recovery.
    pub fn on_ack(&mut self, window: &mut Window, ack: &Acked) {
        let now = ticks(ack.now);
        self.believes(ack);
        let mss = window.mss as u64;
        let bytes = ack.bytes + self.odd;
        let mut acked = bytes / mss;
        self.odd = bytes % mss;
        if window.in_slow_start() {
            let before = window.cwnd;
            if self.found {
                window.slow_start(ack.bytes);
            } else {
                self.starter.on_ack(window, ack);
            }
            if window.in_slow_start() {
                return;
            }
            if window.cwnd == before {
                // HyStart ended slow start: continue along the curve.
                self.found = true;
            } else {
                // Segments above ssthresh count for the curve.
                let most = window.ssthresh.max(before);
                acked = acked.min((window.cwnd - most).max(0.0) as u64 / mss);
                window.cwnd = most;
                if acked == 0 {
                    return;
                }
            }
        }
        let cwnd = segments(window);
        self.ask(now, cwnd, acked);
        window.cwnd = (self.avoid(cwnd, acked) * mss) as f64;
    }

    /// Updates `every`, the number of acknowledged segments per segment of growth.
    fn ask(&mut self, now: u64, cwnd: u64, acked: u64) {
        self.acked += acked;
        if self.asked_for == cwnd && now - self.asked <= SELDOM {
            return;
        }
        if self.epoch.is_none() || now != self.asked {
            (self.asked_for, self.asked) = (cwnd, now);
            self.follow(now, cwnd, acked);
        }
        let step = (cwnd * FRIENDLY) >> 3;
        while self.acked > step {
            self.acked -= step;
            self.reno += 1;
        }
        if self.reno > cwnd {
            self.every = self.every.min(cwnd / (self.reno - cwnd));
        }
        self.every = self.every.max(2);
    }

    /// Evaluates the curve (`bictcp_update`).
    fn follow(&mut self, now: u64, cwnd: u64, acked: u64) {
        let epoch = match self.epoch {
            Some(epoch) => epoch,
            None => {
                (self.epoch, self.acked, self.reno) = (Some(now), acked, cwnd);
                if self.last_max <= cwnd {
                    (self.k, self.origin) = (0, cwnd);
                } else {
                    //= RFC 9438 section 4.2: K = cbrt((W_max - cwnd_epoch) / C)
                    let seconds = (self.last_max - cwnd) as f64 * UNIT as f64 / SCALE as f64;
                    self.k = (libm::cbrt(seconds) * UNIT as f64) as u64;
                    self.origin = self.last_max;
                }
                now
            }
        };
        let ahead = self.least.map_or(0, |least| least.as_nanos().div_ceil(TICK.as_nanos()));
        let t = (now.saturating_sub(epoch) + ahead) * UNIT / HZ;
        let apart = u128::from(t.abs_diff(self.k));
        let delta = ((u128::from(SCALE) * apart * apart * apart) >> 40) as u64;
        let target = if t < self.k { self.origin.saturating_sub(delta) } else { self.origin + delta };
        self.every = if target > cwnd { cwnd / (target - cwnd) } else { 100 * cwnd };
        if self.last_max == 0 {
            self.every = self.every.min(LEAST_GROWTH);
        }
    }

    /// Counts acknowledged segments; returns the window, segments.
    fn avoid(&mut self, mut cwnd: u64, acked: u64) -> u64 {
        // Credit from a slower rate of growth is kept, but used for one segment only (`tcp_cong_avoid_ai`).
        let every = self.every.max(1);
        if self.count >= every {
            self.count = 0;
            cwnd += 1;
        }
        self.count += acked;
        if self.count >= every {
            cwnd += self.count / every;
            self.count %= every;
        }
        cwnd
    }

    /// Returns the new ssthresh at a reduction, bytes.
    pub fn on_reduction(&mut self, window: &Window, reduction: &Reduction) -> f64 {
        let cwnd = segments(window);
        (self.epoch, self.count) = (None, 0);
        self.last_max = if self.fast_convergence && cwnd < self.last_max {
            cwnd * (UNIT + BETA) / (2 * UNIT)
        } else {
            cwnd
        };
        if reduction.reason == Reason::Timeout {
            let fresh = self.fresh;
            *self = CubicLinux { starter: fresh, found: false, last_max: 0, least: None, ..*self };
            (self.k, self.origin, self.reno, self.acked) = (0, 0, 0, 0);
            (self.every, self.asked, self.asked_for) = (0, 0, 0);
        }
        ((cwnd * BETA / UNIT).max(2) * window.mss as u64) as f64
    }

    /// Shifts the epoch by an idle period, but not beyond the present.
    pub fn on_idle(&mut self, now: Time, idle: Span) {
        if let Some(epoch) = &mut self.epoch {
            *epoch = ticks(now).min(*epoch + idle.as_nanos() / TICK.as_nanos());
        }
    }
}

/// Window in whole segments.
fn segments(window: &Window) -> u64 {
    (window.cwnd / window.mss) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(segments: f64) -> Window {
        let mut window = Window::new(&Config { mss: 1000, ..Config::default() }, 1 << 30);
        (window.cwnd, window.ssthresh) = (segments * 1000.0, segments * 1000.0);
        window
    }

    fn ack(at: f64, rtt: f64) -> Acked {
        let sample = Some(Span::from_secs_f64(rtt));
        Acked {
            now: Time::from_secs_f64(at),
            bytes: 1000,
            ack: 0,
            sent: 0,
            sample,
            srtt: Span::from_secs_f64(1.0),
        }
    }

    /// Before any loss a window grows by a twentieth a round trip where the curve is still flat.
    #[test]
    fn a_twentieth_a_round_trip_before_the_first_loss() {
        let (mut cubic, mut window) = (CubicLinux::new(&Config::default()), window(40.0));
        (0..40).for_each(|i| cubic.on_ack(&mut window, &ack(1.0 + 0.001 * f64::from(i), 0.05)));
        assert_eq!(window.cwnd, 42_000.0);
        // After one it is left where it was.
        let mut window = super::tests::window(40.0);
        let left =
            cubic.on_reduction(&window, &Reduction { reason: Reason::Loss, outstanding: 0.0, half: 0.0 });
        assert_eq!(left, 28_000.0);
        (window.cwnd, window.ssthresh, cubic.last_max) = (40_000.0, 40_000.0, 40);
        (0..40).for_each(|i| cubic.on_ack(&mut window, &ack(9.0 + 0.001 * f64::from(i), 0.05)));
        assert_eq!(window.cwnd, 40_000.0);
    }

    /// Below ssthresh the ninth RTT sample of a round ends slow start, in recovery too.
    #[test]
    fn slow_start_may_end_in_recovery() {
        let mut config = Config::default();
        config.set("slow-start", "hystart").unwrap();
        let (mut cubic, mut window) = (CubicLinux::new(&config), window(27.0));
        window.ssthresh = 28_000.0;
        cubic.on_round_trip(&mut window, &Acked { bytes: 0, ack: 1, sent: 1000, ..ack(1.0, 0.1) });
        let mut thresholds = (0..9).map(|i| {
            let later = ack(2.0 + 0.012 * f64::from(i), 0.2);
            cubic.on_round_trip(&mut window, &Acked { bytes: 0, ack: 2000, sent: 3000, ..later });
            window.ssthresh
        });
        assert!(thresholds.by_ref().take(8).all(|threshold| threshold == 28_000.0));
        assert_eq!(thresholds.next(), Some(27_000.0));
    }

    /// The window meets the curve a least round trip ahead of the clock, not a smoothed one: 70 segments after a loss at 100,
    /// K = cbrt(30 / 0.4) = 4.217 s.
    #[test]
    fn it_looks_ahead_by_the_least_round_trip() {
        let (mut cubic, mut window) = (CubicLinux::new(&Config::default()), window(100.0));
        cubic.on_ack(&mut window, &ack(0.5, 0.1));
        let reduction = Reduction { reason: Reason::Loss, outstanding: 0.0, half: 0.0 };
        window.cwnd = cubic.on_reduction(&super::tests::window(100.0), &reduction);
        window.ssthresh = window.cwnd;
        // 1000 ACKs per second, so that the window always follows the curve.
        let mut seen = Vec::new();
        for i in 0..6000 {
            let t = 0.001 * f64::from(i);
            cubic.on_ack(&mut window, &ack(10.0 + t, 0.1));
            seen.push((t, window.cwnd / 1000.0));
        }
        let curve = |t: f64| 0.4 * (t - 4.217).powi(3) + 100.0;
        let near = seen.iter().filter(|(t, _)| (1.0..5.9).contains(t));
        for (t, cwnd) in near {
            // A segment is rounded off, and the window follows within some acknowledgements.
            assert!((curve(t + 0.1) - 3.5..curve(t + 0.1) + 1.5).contains(cwnd), "at {t} s: {cwnd}");
        }
    }
}
