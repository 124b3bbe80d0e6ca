//! Path: one destination address of the peer (RFC 9260 sections 6.3, 7, 8.2, 8.3), with its congestion window, retransmission
//! timer, error counter and heartbeats.

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
    /// Packets reach the peer.
    Active,
    /// More retransmissions in a row than Path.Max.Retrans (section 8.2).
    Inactive,
}

/// The window before a timeout, for a response to a spurious one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Saved {
    pub(crate) cwnd: u64,
    pub(crate) threshold: u64,
    /// The oldest number that was sent again.
    pub(crate) tsn: u64,
    /// It was judged.
    pub(crate) judged: bool,
}

/// One destination.
#[derive(Clone, Debug)]
pub struct Path {
    /// Largest IP packet that is known to pass, bytes (section 7.3).
    pub mtu: u32,
    /// The search for it by probes, if there is one.
    pub search: Option<Search>,
    /// Congestion window, bytes.
    pub cwnd: u64,
    /// Slow-start threshold, bytes.
    pub threshold: u64,
    /// Partial_bytes_acked: growth in congestion avoidance (section 7.2.2).
    pub partial: u64,
    /// Bytes of user data outstanding.
    pub flight: u64,
    /// T3-rtx.
    pub timer: RtoTimer,
    /// Errors in a row.
    pub errors: u32,
    /// Whether it is used.
    pub reach: Reachability,
    /// In fast recovery until this number is acknowledged.
    pub recovers_to: Option<u64>,
    /// The number that is timed, and when it was sent (section 6.3.1, C4 and C5).
    pub(crate) timed: Option<(u64, Time)>,
    /// Before the last timeout.
    pub(crate) saved: Option<Saved>,
    /// No reduction for marks below this number.
    pub(crate) marks_below: u64,
    /// Due time of the next heartbeat; [`Time::NEVER`] if none.
    pub(crate) beat_due: Time,
    /// The heartbeat that was not acknowledged yet: its nonce, and when it was sent.
    pub(crate) beat: Option<(u64, Time)>,
    /// Data were sent here since the last heartbeat was due.
    pub(crate) used: bool,
    /// Last time of data on this path.
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

    /// It may be sent to.
    pub fn is_active(&self) -> bool {
        self.reach == Reachability::Active
    }

    //= RFC 9260 section 7.2.3: ssthresh = max(cwnd / 2, 4 * PMDCS)
    fn halve(&mut self, config: &Config) {
        self.threshold = (self.cwnd / 2).max(u64::from(config.least_threshold) * config.packet());
        self.partial = 0;
    }

    /// T3-rtx has expired: the window becomes one packet (section 7.2.3), the timeout doubles (section 6.3.3, E2).
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

    /// A loss was found by missing reports (section 7.2.4). Within a recovery the window shrinks no further.
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

    /// The peer has seen a mark: as a loss, once for each window (RFC 4960 appendix A).
    pub(crate) fn on_mark(&mut self, config: &Config, tsn: u64, next: u64) {
        if tsn >= self.marks_below {
            self.halve(config);
            self.cwnd = self.threshold;
            self.marks_below = next;
        }
    }

    /// New data were acknowledged (sections 7.2.1, 7.2.2). `before` is the flight before that.
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
    /// Data are about to be sent: the window shrinks for every timeout without any. It never grows by that.
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

    /// Nothing is outstanding here any more (section 7.2.2, the last rule).
    pub(crate) fn all_acked(&mut self) {
        self.partial = 0;
    }

    /// A round trip was measured: the back-off is over.
    pub(crate) fn sample(&mut self, rtt: Span) {
        self.timer.sample(rtt);
        self.timer.end_backoff();
    }

    /// One more error in a row; true if the path is given up by it (section 8.2).
    pub(crate) fn error(&mut self, config: &Config) -> bool {
        self.errors += 1;
        let over = self.errors > config.path_max_retransmissions && self.reach != Reachability::Inactive;
        if over {
            self.reach = Reachability::Inactive;
        }
        over
    }

    /// The peer has acknowledged something that went this way.
    pub(crate) fn reached(&mut self) {
        self.errors = 0;
        self.reach = Reachability::Active;
    }

    //= RFC 9260 section 8.3: once per RTO of that address plus HB.interval, with jittering of +/- 50% of the RTO value
    /// Due time of the next heartbeat. An unconfirmed path is tested once per RTO (section 5.4).
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
