//! TCB cache of one destination ([`TcbCache`]): temporal sharing of RTT, ssthresh, cwnd and timer state (RFC 9040
//! section 6; RFC 2140).
//!
//! When a connection closes, its path information is
//! stored in a per-destination cache of its host, and the next connection starts with these values ("Responding"
//! section IV.B; catalogue EI-27).
//!
//! The RFC does not specify how old and new values are merged (section 6.2), but calls the cached RTT an
//! average (section 6.3): here all values are averaged. The RFC's table lacks the minimum RTT and the
//! adapted timer state. The cache keeps the smaller minimum RTT, and the timer state of the last
//! connection, since a genuine timeout must reset that state. The Linux rules are those of `tcp_update_metrics`. The
//! RFC specifies no maximum age; the default of an hour is that of Linux. The RFC's other values (segment sizes,
//! options) are constant here. Only a closed connection updates the cache; a reset or aborted connection does
//! not.

use super::rto::AdaptedRto;
use crate::recovery::config::{Share, ShareConfig};
use base::{Span, Time};
use std::sync::{Arc, Mutex, PoisonError};

/// Cached path information; none: unknown.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct CachedPath {
    /// SRTT and RTTVAR.
    pub rtt: Option<(Span, Span)>,
    /// Minimum RTT.
    pub min_rtt: Option<Span>,
    /// Slow-start threshold, bytes.
    pub ssthresh: Option<f64>,
    /// Congestion window, bytes.
    pub cwnd: Option<f64>,
    /// Adapted timer state.
    pub lesson: Option<AdaptedRto>,
}

/// Values of a connection at its close.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Closing {
    /// SRTT and RTTVAR, if any RTT was measured.
    pub rtt: Option<(Span, Span)>,
    /// Minimum RTT, if a detector uses it.
    pub min_rtt: Option<Span>,
    /// Slow-start threshold, bytes; infinite without congestion.
    pub ssthresh: f64,
    /// Congestion window, bytes.
    pub cwnd: f64,
    /// Loss recovery is in progress.
    pub recovering: bool,
    /// The retransmission timer is backed off.
    pub backed_off: bool,
    /// Adapted timer state.
    pub lesson: AdaptedRto,
}

/// Cache for one destination, shared by its connections.
#[derive(Clone, Debug, Default)]
pub struct TcbCache(Arc<Mutex<Option<(Time, CachedPath)>>>);

impl TcbCache {
    /// Cached values, unless older than `age` (zero: unlimited).
    pub fn recall(&self, now: Time, age: Span) -> Option<CachedPath> {
        let entry = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        entry.filter(|(at, _)| age.is_zero() || now.since(*at) <= age).map(|(_, known)| known)
    }

    //= RFC 9040 section 6.2: at CLOSE, the connection's values are merged with the cached ones
    /// Merges the values of a closing connection, as far as `share` permits.
    pub fn merge(&self, now: Time, share: &ShareConfig, closing: &Closing) {
        let old = self.recall(now, share.age).unwrap_or_default();
        let new = CachedPath {
            rtt: match share.rtt {
                Share::Off => old.rtt,
                Share::Rfc9040 => rtt_by_mean(old.rtt, closing.rtt),
                Share::Linux => rtt_of_linux(old.rtt, closing),
            },
            min_rtt: if share.min_rtt {
                old.min_rtt.into_iter().chain(closing.min_rtt).min()
            } else {
                old.min_rtt
            },
            ssthresh: match share.ssthresh {
                Share::Off => old.ssthresh,
                Share::Rfc9040 => {
                    // A connection without congestion has no ssthresh.
                    let current = closing.ssthresh.is_finite().then_some(closing.ssthresh);
                    mean(old.ssthresh, current)
                }
                Share::Linux => ssthresh_of_linux(old.ssthresh, closing),
            },
            cwnd: if share.cwnd { mean(old.cwnd, Some(closing.cwnd)) } else { old.cwnd },
            lesson: if share.rto { Some(closing.lesson) } else { old.lesson },
        };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((now, new));
    }
}

//= RFC 9040 section 6.3: without a cached value the current one is cached
fn mean(old: Option<f64>, current: Option<f64>) -> Option<f64> {
    match (old, current) {
        (Some(old), Some(current)) => Some((old + current) / 2.0),
        (old, current) => current.or(old),
    }
}

type RoundTrip = Option<(Span, Span)>;

//= RFC 9040 section 6.3: the cached RTT and its variation are averages of the cached and the current ones
fn rtt_by_mean(old: RoundTrip, current: RoundTrip) -> RoundTrip {
    let half = |a: Span, b: Span| Span::from_nanos(u64::midpoint(a.as_nanos(), b.as_nanos()));
    match (old, current) {
        (Some(old), Some(current)) => Some((half(old.0, current.0), half(old.1, current.1))),
        (old, current) => current.or(old),
    }
}

/// A larger RTT replaces the cached one, a smaller one has a weight of 1/8. A connection whose last data
/// needed a timeout clears it. The variation is at least half of the difference.
fn rtt_of_linux(old: RoundTrip, closing: &Closing) -> RoundTrip {
    let (rtt, var) = closing.rtt.filter(|_| !closing.backed_off)?;
    let (old_rtt, old_var) = old.unwrap_or_default();
    let (rtt, old_rtt, old_var) = (rtt.as_nanos(), old_rtt.as_nanos(), old_var.as_nanos());
    let smoothed = if rtt >= old_rtt { rtt } else { old_rtt - (old_rtt - rtt) / 8 };
    // Linux stores eight times SRTT and four times the variation: half of the stored difference is the whole
    // difference here.
    let current = var.as_nanos().max(old_rtt.abs_diff(rtt));
    let varied = if current >= old_var { current } else { old_var - (old_var - current) / 4 };
    Some((Span::from_nanos(smoothed), Span::from_nanos(varied)))
}

/// In congestion avoidance ssthresh is known. In the first slow start, or during recovery, a cached value may
/// only grow.
fn ssthresh_of_linux(old: Option<f64>, closing: &Closing) -> Option<f64> {
    let half = closing.cwnd / 2.0;
    if closing.ssthresh.is_infinite() {
        return old.map(|old| old.max(half));
    }
    if closing.cwnd >= closing.ssthresh && !closing.recovering {
        return Some(closing.ssthresh.max(half));
    }
    old.map(|old| old.max(closing.ssthresh))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::Config;

    const fn ms(ms: u64) -> Span {
        Span::from_millis(ms)
    }
    fn at(s: f64) -> Time {
        Time::from_secs_f64(s)
    }
    fn share(word: &str) -> ShareConfig {
        let mut config = Config::default();
        for key in ["share.rtt", "share.ssthresh"] {
            config.set(key, word).unwrap();
        }
        for key in ["share.min-rtt", "share.cwnd", "share.rto"] {
            config.set(key, "true").unwrap();
        }
        config.share
    }
    fn closing(rtt: u64, var: u64, ssthresh: f64, cwnd: f64) -> Closing {
        Closing {
            rtt: Some((ms(rtt), ms(var))),
            min_rtt: Some(ms(rtt / 2)),
            ssthresh,
            cwnd,
            recovering: false,
            backed_off: false,
            lesson: AdaptedRto::default(),
        }
    }

    /// EI-27: the first connection's values are stored, later ones averaged; of the minimum RTT the smaller
    /// one is kept.
    #[test]
    fn values_are_averaged_at_the_close() {
        let cache = TcbCache::default();
        assert_eq!(cache.recall(at(0.0), Span::ZERO), None);
        cache.merge(at(1.0), &share("rfc9040"), &closing(800, 400, 20_000.0, 30_000.0));
        let known = cache.recall(at(1.0), ms(0)).unwrap();
        assert_eq!((known.rtt, known.cwnd), (Some((ms(800), ms(400))), Some(30_000.0)));
        let kept = AdaptedRto { kept: 4, ..AdaptedRto::default() };
        cache.merge(
            at(2.0),
            &share("rfc9040"),
            &Closing { lesson: kept, ..closing(400, 100, 10_000.0, 10_000.0) },
        );
        let known = cache.recall(at(2.0), ms(0)).unwrap();
        assert_eq!((known.rtt, known.min_rtt), (Some((ms(600), ms(250))), Some(ms(200))));
        assert_eq!((known.ssthresh, known.cwnd), (Some(15_000.0), Some(20_000.0)));
        // The adapted timer state is that of the last connection.
        assert_eq!(known.lesson, Some(kept));
        // Without congestion there is no threshold to average.
        cache.merge(at(3.0), &share("rfc9040"), &closing(600, 250, f64::INFINITY, 20_000.0));
        assert_eq!(cache.recall(at(3.0), ms(0)).unwrap().ssthresh, Some(15_000.0));
    }

    /// EI-27: values that are too old are neither used nor averaged.
    #[test]
    fn values_age() {
        let cache = TcbCache::default();
        let share = ShareConfig { age: ms(10_000), ..share("rfc9040") };
        cache.merge(at(1.0), &share, &closing(800, 400, 20_000.0, 30_000.0));
        assert!(cache.recall(at(11.0), share.age).is_some());
        assert_eq!(cache.recall(at(11.1), share.age), None);
        cache.merge(at(20.0), &share, &closing(400, 100, 10_000.0, 10_000.0));
        assert_eq!(cache.recall(at(20.0), share.age).unwrap().rtt, Some((ms(400), ms(100))));
    }

    /// EI-27, by the kernel's `tcp_update_metrics`: 800 ms, then 400: 800 - 400/8; the variation is the difference.
    #[test]
    fn linux_overestimates_rather() {
        let cache = TcbCache::default();
        let share = share("linux");
        cache.merge(at(1.0), &share, &closing(800, 100, f64::INFINITY, 30_000.0));
        let known = cache.recall(at(1.0), ms(0)).unwrap();
        assert_eq!((known.rtt, known.ssthresh), (Some((ms(800), ms(800))), None));
        cache.merge(at(2.0), &share, &closing(400, 100, 10_000.0, 30_000.0));
        let known = cache.recall(at(2.0), ms(0)).unwrap();
        // 800 - (800 - 400)/4 = 700.
        assert_eq!((known.rtt, known.ssthresh), (Some((ms(750), ms(700))), Some(15_000.0)));
        // In slow start after a loss a known threshold only grows.
        cache.merge(at(3.0), &share, &closing(750, 100, 8000.0, 4000.0));
        assert_eq!(cache.recall(at(3.0), ms(0)).unwrap().ssthresh, Some(15_000.0));
        cache.merge(at(4.0), &share, &closing(750, 100, 18_000.0, 4000.0));
        assert_eq!(cache.recall(at(4.0), ms(0)).unwrap().ssthresh, Some(18_000.0));
        // The last data needed a timeout: the RTT is cleared.
        cache.merge(at(5.0), &share, &Closing { backed_off: true, ..closing(750, 100, 8000.0, 4000.0) });
        assert_eq!(cache.recall(at(5.0), ms(0)).unwrap().rtt, None);
    }
}
