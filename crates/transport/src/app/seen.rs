//! Application statistics: times and counts.
//!
//! Times and counts, kept as they come; who measures asks for means and quantiles.

use base::{Span, Time};

/// A page, or a request alone, that was there whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// When its first request was made.
    pub began: Time,
    /// Until its last byte was there.
    pub took: Span,
    /// Bytes received for it.
    pub bytes: u64,
}

/// What an application counts and times.
#[derive(Clone, Default, Debug)]
pub struct Seen {
    /// From each request, the opening of its connection included, to the last byte of its answer.
    pub responses: Vec<Span>,
    /// From the first request of each page to the last byte of its last object.
    pub pages: Vec<Span>,
    /// The same pages with instants and sizes.
    pub transfers: Vec<Transfer>,
    /// Pages (or requests alone) given up by an impatient user.
    pub aborted: u64,
    /// Messages written.
    pub sent: u64,
    /// From the making of each message to the arrival of its last byte.
    pub delays: Vec<Span>,
    /// Messages that arrived too late to be of use.
    pub late: u64,
    /// Datagrams that arrived after one that was sent later.
    pub reordered: u64,
    /// Interarrival jitter, ns (RFC 3550 section 6.4.1).
    pub jitter_ns: f64,
    /// How long the last message (or datagram) was under way.
    last_transit: Option<Span>,
    /// Bytes of messages delivered whole.
    pub bytes: u64,
}

impl Seen {
    /// One more was `transit` under way.
    pub fn hear(&mut self, transit: Span) {
        if let Some(last) = self.last_transit.replace(transit) {
            //= RFC 3550 section 6.4.1: J(i) = J(i-1) + (|D(i-1,i)| - J(i-1))/16
            let difference = transit.as_nanos().abs_diff(last.as_nanos()) as f64;
            self.jitter_ns += (difference - self.jitter_ns) / 16.0;
        }
    }
}

/// The mean of these times, seconds.
pub fn mean_s(spans: &[Span]) -> Option<f64> {
    let sum: f64 = spans.iter().map(|s| s.as_secs_f64()).sum();
    (!spans.is_empty()).then(|| sum / spans.len() as f64)
}

/// The time that a share `p` of these do not exceed, seconds: the nearest rank.
pub fn quantile_s(spans: &[Span], p: f64) -> Option<f64> {
    let mut sorted = spans.to_vec();
    sorted.sort_unstable();
    let rank = (p * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.max(1) - 1).map(|s| s.as_secs_f64())
}
