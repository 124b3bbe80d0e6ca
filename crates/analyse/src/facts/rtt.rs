//! RTT samples of segments sent once, and the RTO of RFC 6298.
//!
//! Samples of segments that were sent once, their least, their spread, and the timeout that RFC 6298 makes of them.

use base::alternation::{Alternation, Zigzag};
use base::{Span, Time};

/// What is known of round trips between the capture and the receiver.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rtt {
    least: Option<Span>,
    /// The least of segments of full length: on a slow link a long packet takes longer.
    least_full: Option<(u64, Span)>,
    /// The opening, and bytes that the bottleneck let through in so long: what a full segment takes that finds the path
    /// empty, for none may have been seen.
    pub(crate) alone: Option<(Span, (u64, Span))>,
    /// The opening was timed: then the least is that of an empty path, else a queue may have stood all the while.
    pub(crate) empty_path: bool,
    most: Span,
    sum: f64,
    count: u64,
    srtt: Option<f64>,
    rttvar: f64,
    last: Option<Span>,
    zigzag: Zigzag,
}

/// A standing queue makes a round trip at most so many times longer than the empty path.
const QUEUED: u64 = 8;

/// What is told of round trips, s.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct RttSummary {
    /// How many samples.
    pub samples: u64,
    /// The least.
    pub min_s: f64,
    /// Their mean.
    pub mean_s: f64,
    /// The greatest.
    pub max_s: f64,
    /// Mean less least: the time that packets waited on top.
    pub queueing_s: f64,
    /// They go to and fro between two levels.
    pub alternates: Option<Alternation>,
}

impl Rtt {
    /// A segment of `len` bytes, sent once, was acknowledged after `span`.
    pub(crate) fn sample(&mut self, span: Span, len: u64) {
        self.bound(span, len);
        self.most = self.most.max(span);
        let s = span.as_secs_f64();
        self.sum += s;
        self.zigzag.push(s);
        self.count += 1;
        self.last = Some(span);
        //= RFC 6298 section 2
        match self.srtt {
            None => (self.srtt, self.rttvar) = (Some(s), s / 2.0),
            Some(srtt) => {
                self.rttvar += ((srtt - s).abs() - self.rttvar) / 4.0;
                self.srtt = Some(srtt + (s - srtt) / 8.0);
            }
        }
    }

    /// It took no longer than `span` for a segment of `len` bytes.
    pub(crate) fn bound(&mut self, span: Span, len: u64) {
        self.least = Some(self.least.map_or(span, |l| l.min(span)));
        self.least_full = match self.least_full {
            Some((full, least)) if len < full => Some((full, least)),
            Some((full, least)) if len == full => Some((full, least.min(span))),
            _ => Some((len, span)),
        };
    }

    /// The shortest that a segment of `len` bytes took so far.
    pub(crate) fn least(&self, len: u64) -> Option<Span> {
        match self.least_full {
            Some((full, least)) if len >= full => Some(match self.alone {
                Some((opening, (bytes, took))) => {
                    let each = took.as_nanos() as f64 / bytes as f64;
                    least.min(opening + Span::from_nanos((each * full as f64) as u64))
                }
                None => least,
            }),
            _ => self.least,
        }
    }

    /// No answer to a segment of `len` bytes comes sooner.
    pub(crate) fn floor(&self, len: u64) -> Option<Span> {
        self.least(len).map(|least| self.without_queue(least))
    }

    /// The same of what was measured, where the capture may never have seen the path empty.
    pub(crate) fn without_queue(&self, least: Span) -> Span {
        if self.empty_path { least } else { Span::from_nanos(least.as_nanos() / QUEUED) }
    }

    /// The shortest of all.
    pub(crate) fn least_of_all(&self) -> Option<Span> {
        self.least
    }

    /// The smoothed round trip.
    pub(crate) fn smoothed(&self) -> Option<Span> {
        self.srtt.map(Span::from_secs_f64)
    }

    /// The timeout of RFC 6298 without its least value.
    pub(crate) fn timeout(&self) -> Option<Span> {
        self.srtt.map(|srtt| Span::from_secs_f64(srtt + 4.0 * self.rttvar))
    }

    /// What is told in the end.
    pub(crate) fn summary(&self) -> Option<RttSummary> {
        let least = self.least?.as_secs_f64();
        // Bounds alone are no samples.
        let mean = if self.count > 0 { self.sum / self.count as f64 } else { least };
        Some(RttSummary {
            samples: self.count,
            min_s: least,
            mean_s: mean,
            max_s: self.most.as_secs_f64(),
            queueing_s: mean - least,
            alternates: self.zigzag.found(),
        })
    }
}

/// How long `now` lies after `then`.
pub(crate) fn age(now: Time, then: Option<Time>) -> Span {
    then.map_or(Span::FOREVER, |then| now.since(then))
}
