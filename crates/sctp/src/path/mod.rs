//! Path of an association: one destination address with congestion window, retransmission timer, error
//! counter and heartbeats (RFC 9260 sections 6.3, 7, 8.2, 8.3).

pub mod search;

use crate::config::{Config, Repeated};
use base::rng::Stream;
use base::{Span, Time};
use search::Search;
use transport::recovery::rto::RtoTimer;

/// Reachability of the peer on a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reachability {
    /// No heartbeat was acknowledged yet (section 5.4).
    Unconfirmed,
    /// The peer can be reached.
    Active,
    /// More consecutive errors than Path.Max.Retrans (section 8.2).
    Inactive,
}

/// Congestion window and threshold before a timeout, for the response to a spurious timeout.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Saved {
    /// Congestion window, bytes.
    pub(crate) cwnd: u64,
    /// Slow-start threshold, bytes.
    pub(crate) threshold: u64,
    /// Oldest TSN that the timeout retransmitted.
    pub(crate) tsn: u64,
    /// Whether the timeout was judged.
    pub(crate) judged: bool,
}

/// A path to one destination address.
#[derive(Clone, Debug)]
pub struct Path {
    /// Largest IP packet known to pass, bytes (section 7.3).
    pub mtu: u32,
    /// Search for the path MTU by probes, if enabled.
    pub search: Option<Search>,
    /// Congestion window, bytes.
    pub cwnd: u64,
    /// Slow-start threshold, bytes.
    pub threshold: u64,
    /// Partial_bytes_acked: growth in congestion avoidance (section 7.2.2).
    pub partial: u64,
    /// User data in flight, bytes.
    pub flight: u64,
    /// T3-rtx timer.
    pub timer: RtoTimer,
    /// Number of consecutive errors.
    pub errors: u32,
    /// Reachability of the peer on this path.
    pub reach: Reachability,
    /// Fast recovery ends when this TSN is acknowledged; `None` outside of recovery.
    pub recovers_to: Option<u64>,
    /// TSN of the RTT measurement in progress, and its transmission time (section 6.3.1, C4 and C5).
    pub(crate) timed: Option<(u64, Time)>,
    /// Congestion window and threshold before the last timeout.
    pub(crate) saved: Option<Saved>,
    /// TSN below which an ECN-Echo causes no reduction.
    pub(crate) marks_below: u64,
    /// Due time of the next heartbeat; [`Time::NEVER`] if none.
    pub(crate) beat_due: Time,
    /// Heartbeat not yet acknowledged: nonce and transmission time.
    pub(crate) beat: Option<(u64, Time)>,
    /// Whether data were sent on this path since the last heartbeat was due.
    pub(crate) used: bool,
    /// Time of the last data sent on this path; [`Time::NEVER`] before the first.
    pub(crate) last_sent: Time,
}

impl Path {
    pub(crate) fn new(config: &Config, primary: bool) -> Path {
        Path {
            mtu: config.mtu,
            search: None,
            cwnd: config.first_window(),
            threshold: config.initial_threshold.unwrap_or(u64::MAX),
            partial: 0,
            flight: 0,
            timer: RtoTimer::new(config.rto),
            errors: 0,
            reach: if primary { Reachability::Active } else { Reachability::Unconfirmed },
            recovers_to: None,
            timed: None,
            saved: None,
            marks_below: 0,
            beat_due: Time::NEVER,
            beat: None,
            used: false,
            last_sent: Time::NEVER,
        }
    }

    /// Whether packets may be sent on this path.
    pub fn is_active(&self) -> bool {
        self.reach == Reachability::Active
    }

    //= RFC 9260 section 7.2.3: ssthresh = max(cwnd / 2, 4 * PMDCS)
    /// Halves the slow-start threshold after a loss.
    fn halve(&mut self, config: &Config) {
        self.threshold = (self.cwnd / 2).max(u64::from(config.least_threshold) * config.packet());
        self.partial = 0;
    }

    /// Processes an expiry of T3-rtx: the window becomes one packet (section 7.2.3), the timeout doubles
    /// (section 6.3.3, E2).
    pub(crate) fn on_timeout(&mut self, config: &Config, tsn: u64) {
        if self.saved.is_none_or(|saved| saved.judged || saved.tsn != tsn) {
            self.saved = Some(Saved { cwnd: self.cwnd, threshold: self.threshold, tsn, judged: false });
        }
        if self.cwnd > config.packet() || config.repeated_timeouts == Repeated::Reduces {
            self.halve(config);
        }
        self.cwnd = config.packet();
        self.recovers_to = None;
        self.timed = None;
        self.timer.back_off();
    }

    /// Processes a loss found by missing reports (section 7.2.4). During recovery the window is not reduced
    /// again.
    pub(crate) fn on_loss(&mut self, config: &Config, highest_sent: u64) {
        if config.fast_recovery && self.recovers_to.is_some() {
            return;
        }
        self.halve(config);
        self.cwnd = self.threshold;
        if config.fast_recovery {
            self.recovers_to = Some(highest_sent);
        }
    }

    /// Processes an ECN-Echo: reduces the window as after a loss, at most once per window (RFC 4960 appendix
    /// A).
    pub(crate) fn on_mark(&mut self, config: &Config, tsn: u64, next: u64) {
        if tsn >= self.marks_below {
            self.halve(config);
            self.cwnd = self.threshold;
            self.marks_below = next;
        }
    }

    /// Increases the window for newly acknowledged data (sections 7.2.1, 7.2.2). `before` is the flight
    /// before the acknowledgement.
    pub(crate) fn grow(&mut self, config: &Config, acked: u64, before: u64) {
        if self.recovers_to.is_some() {
            return;
        }
        let full = before >= self.cwnd || !config.grows_if_full;
        if self.cwnd <= self.threshold {
            //= RFC 9260 section 7.2.1: by the lesser of the newly acknowledged bytes and one packet
            if full {
                self.cwnd += acked.min(config.packet());
            }
            return;
        }
        self.partial += acked;
        if self.partial >= self.cwnd && full {
            self.partial -= self.cwnd;
            self.cwnd += config.packet();
        } else if self.partial >= self.cwnd {
            //= RFC 9260 section 7.2.2: set partial_bytes_acked to cwnd
            self.partial = self.cwnd;
        }
    }

    //= RFC 9260 section 7.2.1: max(cwnd / 2, 4 * PMDCS) once per RTO without data, ssthresh = cwnd before the first
    /// Reduces the window before data are sent after an idle time, once for each RTO; it never increases the
    /// window.
    pub(crate) fn after_pause(&mut self, config: &Config, now: Time) {
        let pause = if self.last_sent > now { Span::ZERO } else { now.since(self.last_sent) };
        let periods = pause.as_nanos() / self.timer.timeout().as_nanos().max(1);
        self.last_sent = now;
        if !config.idle_decay || self.flight > 0 || periods == 0 {
            return;
        }
        let least = u64::from(config.least_threshold) * config.packet();
        self.threshold = self.cwnd;
        self.cwnd = self.cwnd.min((self.cwnd >> periods.min(63)).max(least));
    }

    /// Resets the growth counter when no data are outstanding (section 7.2.2, last rule).
    pub(crate) fn all_acked(&mut self) {
        self.partial = 0;
    }

    /// Adds an RTT sample, which ends the back-off.
    pub(crate) fn sample(&mut self, rtt: Span) {
        self.timer.sample(rtt);
        self.timer.end_backoff();
    }

    /// Counts an error; true if this error makes the path inactive (section 8.2).
    pub(crate) fn error(&mut self, config: &Config) -> bool {
        self.errors += 1;
        let over = self.errors > config.path_max_retransmissions && self.reach != Reachability::Inactive;
        if over {
            self.reach = Reachability::Inactive;
        }
        over
    }

    /// Resets the error counter: the peer has acknowledged data or a heartbeat sent on this path.
    pub(crate) fn reached(&mut self) {
        self.errors = 0;
        self.reach = Reachability::Active;
    }

    //= RFC 9260 section 8.3: once per RTO of that address plus HB.interval, with jittering of +/- 50% of the RTO value
    /// Schedules the next heartbeat. An unconfirmed path is probed once per RTO (section 5.4).
    pub(crate) fn schedule_beat(&mut self, config: &Config, now: Time, chance: &mut Stream) {
        let unconfirmed = self.reach == Reachability::Unconfirmed;
        let interval = match config.heartbeat {
            _ if unconfirmed && config.verifies_path => Span::ZERO,
            Some(_) if unconfirmed => Span::ZERO,
            Some(interval) => interval,
            None => {
                self.beat_due = Time::NEVER;
                return;
            }
        };
        let rto = self.timer.timeout();
        let jitter = (rto.as_nanos() as f64 * (0.5 + chance.uniform())) as u64;
        self.beat_due = now + interval + Span::from_nanos(jitter);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path() -> (Config, Path) {
        let config = Config::default();
        let path = Path::new(&config, true);
        (config, path)
    }

    #[test]
    fn slow_start_grows_by_bytes_acknowledged_but_at_most_a_packet() {
        let (config, mut path) = path();
        let (first, packet) = (path.cwnd, config.packet());
        path.grow(&config, packet / 2, first);
        assert_eq!(path.cwnd, first + packet / 2);
        path.grow(&config, 2 * packet, path.cwnd);
        assert_eq!(path.cwnd, first + packet / 2 + packet);
        let before = path.cwnd;
        path.grow(&config, packet, before - 1);
        assert_eq!(path.cwnd, before, "a window that was not used up does not grow");
    }

    #[test]
    fn congestion_avoidance_adds_a_packet_for_each_window() {
        let (config, mut path) = path();
        let packet = config.packet();
        (path.cwnd, path.threshold) = (10 * packet, 5 * packet);
        for _ in 0..9 {
            path.grow(&config, packet, path.cwnd);
        }
        assert_eq!(path.cwnd, 10 * packet);
        path.grow(&config, packet, path.cwnd);
        assert_eq!((path.cwnd, path.partial), (11 * packet, 0));
    }

    #[test]
    fn a_timeout_leaves_one_packet_and_a_threshold_of_four_at_least() {
        let (config, mut path) = path();
        path.on_timeout(&config, 0);
        assert_eq!((path.cwnd, path.threshold), (config.packet(), 4 * config.packet()));
    }

    #[test]
    fn a_second_loss_of_the_same_flight_reduces_nothing() {
        let (config, mut path) = path();
        path.cwnd = 20 * config.packet();
        path.on_loss(&config, 100);
        path.on_loss(&config, 105);
        assert_eq!((path.cwnd, path.recovers_to), (10 * config.packet(), Some(100)));
    }
}
