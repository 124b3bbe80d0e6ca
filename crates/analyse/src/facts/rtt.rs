//! RTT statistics of one direction (`Rtt`): samples of segments sent once, minimum by segment length, SRTT and RTO of
//! RFC 6298, alternation of successive samples.

use base::alternation::{Alternation, AlternationDetector};
use base::{Span, Time};

/// RTT statistics between the capture point and the receiver.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rtt {
    least: Option<Span>,
    /// Longest segment sampled, bytes, and its minimum RTT: on a slow link, serialisation adds to the RTT.
    least_full: Option<(u64, Span)>,
    /// Handshake RTT, and bytes and duration of ACK trains at the bottleneck rate. Together they give the RTT of a full
    /// segment on an empty path, which may never have been sampled.
    pub(crate) alone: Option<(Span, (u64, Span))>,
    /// The handshake was timed, so the minimum RTT is that of an empty path. Otherwise it may include a standing queue.
    pub(crate) empty_path: bool,
    most: Span,
    sum: f64,
    count: u64,
    srtt: Option<f64>,
    rttvar: f64,
    last: Option<Span>,
    zigzag: AlternationDetector,
}

/// Assumed largest ratio of the RTT with a standing queue to the RTT of an empty path.
const QUEUED: u64 = 8;

/// RTT statistics of the report, seconds.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct RttSummary {
    /// Number of samples.
    pub samples: u64,
    /// Minimum RTT.
    pub min_s: f64,
    /// Mean RTT.
    pub mean_s: f64,
    /// Maximum RTT.
    pub max_s: f64,
    /// Mean minus minimum: queueing delay.
    pub queueing_s: f64,
    /// Set if samples alternate between two levels.
    pub alternates: Option<Alternation>,
}

impl Rtt {
    /// Adds the RTT sample `span` of a segment of `len` bytes that was sent once.
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

    /// Upper bound `span` of the RTT of a segment of `len` bytes.
    pub(crate) fn bound(&mut self, span: Span, len: u64) {
        self.least = Some(self.least.map_or(span, |l| l.min(span)));
        self.least_full = match self.least_full {
            Some((full, least)) if len < full => Some((full, least)),
            Some((full, least)) if len == full => Some((full, least.min(span))),
            _ => Some((len, span)),
        };
    }

    /// Minimum RTT of a segment of `len` bytes so far.
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

    /// Lower bound of the RTT of a segment of `len` bytes.
    pub(crate) fn floor(&self, len: u64) -> Option<Span> {
        self.least(len).map(|least| self.without_queue(least))
    }

    /// Lower bound of an RTT whose minimum sample is `least`: divided by [`QUEUED`] unless the path was once empty.
    pub(crate) fn without_queue(&self, least: Span) -> Span {
        if self.empty_path { least } else { Span::from_nanos(least.as_nanos() / QUEUED) }
    }

    /// Minimum over segments of all lengths.
    pub(crate) fn least_of_all(&self) -> Option<Span> {
        self.least
    }

    /// Smoothed RTT (RFC 6298).
    pub(crate) fn smoothed(&self) -> Option<Span> {
        self.srtt.map(Span::from_secs_f64)
    }

    /// RTO of RFC 6298 without its minimum.
    pub(crate) fn timeout(&self) -> Option<Span> {
        self.srtt.map(|srtt| Span::from_secs_f64(srtt + 4.0 * self.rttvar))
    }

    /// Statistics for the report.
    pub(crate) fn summary(&self) -> Option<RttSummary> {
        let least = self.least?.as_secs_f64();
        // Upper bounds are not samples.
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

/// Time from `then` to `now`; [`Span::FOREVER`] without `then`.
pub(crate) fn age(now: Time, then: Option<Time>) -> Span {
    then.map_or(Span::FOREVER, |then| now.since(then))
}
