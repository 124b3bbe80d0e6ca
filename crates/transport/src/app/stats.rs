//! Application statistics: times and counts.
//!
//! Raw times and counts; means and quantiles are computed from them on demand.

use base::{Span, Time};

/// A completed page or single request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// Time of the first request.
    pub began: Time,
    /// Time from the first request to the last byte.
    pub took: Span,
    /// Bytes received.
    pub bytes: u64,
}

/// Statistics of an application.
#[derive(Clone, Default, Debug)]
pub struct AppStats {
    /// Response times: from each request, connection setup included, to the last byte of its reply.
    pub responses: Vec<Span>,
    /// Page times: from the first request to the last byte of the last object.
    pub pages: Vec<Span>,
    /// Pages and single requests with start times, durations and sizes.
    pub transfers: Vec<Transfer>,
    /// Pages (or single requests) aborted by the user.
    pub aborted: u64,
    /// Messages sent.
    pub sent: u64,
    /// Message delays: from creation to the arrival of the last byte.
    pub delays: Vec<Span>,
    /// Messages that arrived after their useful time.
    pub late: u64,
    /// Messages abandoned at the end of their lifetime; none where nothing abandons them.
    pub expired: Option<u64>,
    /// Datagrams that arrived after a later one.
    pub reordered: u64,
    /// Interarrival jitter, ns (RFC 3550 section 6.4.1).
    pub jitter_ns: f64,
    /// Transit time of the last message or datagram.
    pub(super) last_transit: Option<Span>,
    /// Bytes of messages delivered whole.
    pub bytes: u64,
    /// Metrics of a stream, by name.
    pub named: Vec<(&'static str, f64)>,
}

impl AppStats {
    /// Adds a transit time to the jitter estimate.
    pub fn add_transit(&mut self, transit: Span) {
        if let Some(last) = self.last_transit.replace(transit) {
            //= RFC 3550 section 6.4.1: J(i) = J(i-1) + (|D(i-1,i)| - J(i-1))/16
            let difference = transit.as_nanos().abs_diff(last.as_nanos()) as f64;
            self.jitter_ns += (difference - self.jitter_ns) / 16.0;
        }
    }
}

/// Mean, seconds.
pub fn mean_s(spans: &[Span]) -> Option<f64> {
    let sum: f64 = spans.iter().map(|s| s.as_secs_f64()).sum();
    (!spans.is_empty()).then(|| sum / spans.len() as f64)
}

/// Quantile `p`, seconds: nearest rank.
pub fn quantile_s(spans: &[Span], p: f64) -> Option<f64> {
    let mut sorted = spans.to_vec();
    sorted.sort_unstable();
    let rank = (p * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.max(1) - 1).map(|s| s.as_secs_f64())
}
