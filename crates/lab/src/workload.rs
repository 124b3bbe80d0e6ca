//! Metrics of workloads of requests, pages, messages or datagrams: response times, page times, message delays,
//! jitter, and segments sent, retransmitted and dropped.
//!
//! Counters of segments are sums over both directions, because both can carry data.

use crate::closures::GateClosures;
use crate::measure::{Counted, FlowMeasures, Tally};
use base::truth::Ledger;
use base::{Span, Time};
use scenario::metric::Metric;
use scenario::model::{App, Flow, Transport};
use transport::app::stats::{AppStats, mean_s, quantile_s};
use transport::tcp::sender::Verdicts;

/// Application statistics of both ends, and counters common to all workloads.
struct View<'a> {
    from: &'a AppStats,
    to: &'a AppStats,
    /// True for request and reply workloads.
    asks: bool,
    counted: &'a Counted<'a>,
    start: Time,
    finished: Option<Time>,
    /// End of the workload, or of the run.
    end: Time,
    sent: f64,
    /// Segments sent for the first time; `None` for datagrams, which are never retransmitted.
    first: Option<f64>,
    gate_closures: f64,
}

impl View<'_> {
    fn value(&self, metric: Metric) -> Option<f64> {
        let (from, to) = (self.from, self.to);
        let asked = |value: u64| self.asks.then_some(value as f64);
        let told = |value: u64| (!self.asks).then_some(value as f64);
        let since_start = |t: Option<Time>| t.map(|t| t.since(self.start).as_secs_f64());
        let sum = |count: fn(&Ledger) -> u64| self.counted.sum(count) as f64;
        let ratio = |a: f64, b: f64| (b > 0.0).then(|| a / b);
        let queue_drops = sum(|l| l.queue_drops);
        match metric {
            Metric::DownloadTime | Metric::CompletionTime => since_start(self.finished),
            Metric::Throughput => {
                let bytes = if self.asks { from.bytes } else { to.bytes };
                ratio(8.0 * bytes as f64, self.end.since(self.start).as_secs_f64())
            }
            Metric::GoodputRatio => self.first.and_then(|first| ratio(first, self.sent)),
            Metric::GoodputLinkRatio => self.first.and_then(|first| ratio(first, self.sent - queue_drops)),
            Metric::SegmentsSent => Some(self.sent),
            Metric::GateClosures => Some(self.gate_closures),
            Metric::PacketsDropped => Some(queue_drops + sum(|l| l.other_drops) + sum(|l| l.ack_drops)),
            Metric::SegmentsDropped => Some(queue_drops + sum(|l| l.other_drops)),
            Metric::QueueDelay => ratio(sum(|l| l.queue_delay_ns) / 1e9, self.sent),
            Metric::ResponseTime => mean_s(&from.responses),
            Metric::ResponseTimeMedian => quantile_s(&from.responses, 0.5),
            Metric::ResponseTimeP90 => quantile_s(&from.responses, 0.9),
            Metric::ResponseTimeMin => quantile_s(&from.responses, 0.0),
            Metric::ResponseTimeMax => quantile_s(&from.responses, 1.0),
            Metric::ResponseTimeAlternation => alternation_s(&from.responses),
            Metric::Responses if !from.responses.is_empty() => Some(from.responses.len() as f64),
            Metric::Responses => asked(0),
            Metric::PageTime => mean_s(&from.pages),
            Metric::PageTimeMedian => quantile_s(&from.pages, 0.5),
            Metric::PageTimeP90 => quantile_s(&from.pages, 0.9),
            Metric::PageTimeMax => quantile_s(&from.pages, 1.0),
            Metric::Pages => asked(from.pages.len() as u64),
            Metric::PagesAborted => asked(from.aborted),
            Metric::MessagesSent => told(from.sent),
            Metric::MessagesDelivered => told(to.delays.len() as u64),
            Metric::MessagesLate => told(to.late),
            Metric::MessageDelay => mean_s(&to.delays),
            Metric::MessageDelayP99 => quantile_s(&to.delays, 0.99),
            Metric::MessageDelayMax => quantile_s(&to.delays, 1.0),
            Metric::LossRatio if !self.asks => {
                ratio(from.sent.saturating_sub(to.delays.len() as u64) as f64, from.sent as f64)
            }
            Metric::Jitter => told(0).filter(|_| to.delays.len() > 1).map(|_| to.jitter_ns / 1e9),
            _ => None,
        }
    }
}

/// Metrics of a flow of requests, pages or messages over any transport. Datagrams are never retransmitted.
/// Metrics of the retransmission timer are absent if the timer cannot be seen from outside.
pub(crate) fn measure(flow: &Flow, counted: &Counted<'_>, gates: &GateClosures<'_>) -> FlowMeasures {
    let Counted { from, to, ledgers, start, now } = counted;
    let (Some(from_saw), Some(to_saw)) = (&from.stats, &to.stats) else {
        return FlowMeasures::none();
    };
    let datagrams = match &flow.transport {
        Transport::Udp(_) => true,
        Transport::Model(spec) => spec.datagrams(),
        other => other.linux().is_some_and(|linux| linux.protocol.payload().is_some()),
    };
    let mut tally = Tally::default();
    for ledger in ledgers.iter().take(2) {
        tally.add(&ledger.verdicts());
    }
    let sent = (from.counters.data_sent + to.counters.data_sent) as f64;
    let again = (from.counters.data_resent + to.counters.data_resent) as f64;
    let bytes = from.received.saturating_add(to.received);
    let unit = from.unit.max(to.unit);
    // A datagram flow ends with the last datagram that arrives.
    let last = to.datagrams_over.filter(|_| datagrams);
    let finished = from.finished.map(|t| last.map_or(t, |last| last.max(t)));
    let end = finished.unwrap_or(*now);
    let view = View {
        from: from_saw,
        to: to_saw,
        asks: matches!(flow.app, App::Requests(_)),
        counted,
        start: *start,
        finished,
        end,
        sent,
        first: (!datagrams).then_some(sent - again),
        gate_closures: counted.gate_closures(gates, end),
    };
    let timers = from.judged.is_some() && to.judged.is_some();
    let seen = |count: u64| timers.then_some(count as f64);
    let judged = |count: fn(&Verdicts) -> u64| {
        let (from, to) = (from.judged.as_ref()?, to.judged.as_ref()?);
        Some((count(from) + count(to)) as f64)
    };
    let value = |metric: &Metric| match metric {
        Metric::SegmentsDelivered if datagrams => Some(to.counters.data_received as f64),
        Metric::SegmentsDelivered => Some((bytes as f64 / f64::from(unit)).ceil()),
        Metric::Reordered if datagrams => Some(to_saw.reordered as f64),
        Metric::SegmentsRetransmitted if !datagrams => Some(again),
        Metric::UnneededRetransmissions if !datagrams => Some(tally.unneeded as f64),
        Metric::SpuriousTimeouts => seen(tally.spurious_timeouts),
        Metric::GenuineTimeouts => seen(tally.genuine_timeouts),
        Metric::SpuriousEpisodes => seen(tally.spurious_rows),
        Metric::GenuineEpisodes => seen(tally.genuine_rows),
        Metric::SpuriousFastRetransmits => seen(tally.spurious_fast),
        Metric::TimeoutsJudgedSpurious => judged(|v| v.spurious_timeouts),
        Metric::TimeoutsJudgedGenuine => judged(|v| v.genuine_timeouts),
        Metric::FastRetransmitsJudgedSpurious => judged(|v| v.spurious_fast),
        Metric::Connections if !datagrams => Some(from.connections as f64),
        Metric::UnitsInTime if view.asks => None,
        Metric::UnitsInTime => {
            let in_time = to_saw.delays.len() as f64 - to_saw.late as f64;
            (from_saw.sent > 0).then(|| in_time / from_saw.sent as f64)
        }
        metric => {
            let late = || counted.late(*metric, tally.unneeded);
            view.value(*metric).or_else(|| counted.named(*metric)).or_else(late)
        }
    };
    FlowMeasures { values: Metric::ALL.iter().map(value).collect() }
}

/// Absolute difference between the mean of the values with even index and the mean of those with odd index, s.
fn alternation_s(values: &[Span]) -> Option<f64> {
    let mean = |first: usize| {
        let every_second = values.iter().skip(first).step_by(2);
        let (sum, n) = every_second.fold((0.0, 0u32), |(s, n), v| (s + v.as_secs_f64(), n + 1));
        (n > 0).then(|| sum / f64::from(n))
    };
    Some((mean(0)? - mean(1)?).abs())
}
