//! Metrics of request, page and message workloads.
//!
//! Times as its ends saw them, and what it cost, the packets of both directions together where both carry data.

use crate::ends::End;
use crate::measure::{FlowMeasures, Tally};
use base::Time;
use base::rng::Seed;
use base::truth::Ledger;
use host::{Hearer, Party, Speaker};
use scenario::Model;
use scenario::build::{World, closures};
use scenario::metric::Metric;
use transport::app::seen::{Seen, mean_s, quantile_s};

/// What both ends saw, and what is common to all workloads.
struct View<'a> {
    from: &'a Seen,
    to: &'a Seen,
    /// Whether the ends ask and answer.
    asks: bool,
    ledgers: &'a [Ledger],
    start: Time,
    finished: Option<Time>,
    /// When the workload was over, or the run.
    end: Time,
    sent: f64,
    /// Segments sent for the first time; none for datagrams, which are never repeated.
    first: Option<f64>,
    gate_closures: f64,
}

impl View<'_> {
    fn value(&self, metric: Metric) -> Option<f64> {
        let (from, to) = (self.from, self.to);
        let asked = |value: u64| self.asks.then_some(value as f64);
        let told = |value: u64| (!self.asks).then_some(value as f64);
        let since_start = |t: Option<Time>| t.map(|t| t.since(self.start).as_secs_f64());
        let sum = |count: fn(&Ledger) -> u64| self.ledgers.iter().map(count).sum::<u64>() as f64;
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
            Metric::QueueDelay => ratio(sum(|l| l.queue_delay_ns) / 1e9, self.sent),
            Metric::ResponseTime => mean_s(&from.responses),
            Metric::ResponseTimeMedian => quantile_s(&from.responses, 0.5),
            Metric::ResponseTimeP90 => quantile_s(&from.responses, 0.9),
            Metric::ResponseTimeMin => quantile_s(&from.responses, 0.0),
            Metric::ResponseTimeMax => quantile_s(&from.responses, 1.0),
            Metric::Responses => asked(from.responses.len() as u64),
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

fn nothing() -> FlowMeasures {
    FlowMeasures { values: vec![None; Metric::ALL.len()] }
}

fn gates_closed(model: &Model, seed: Seed, start: Time, end: Time) -> f64 {
    if model.gates.is_empty() {
        return 0.0;
    }
    closures(model, seed, end).iter().filter(|c| c.1 >= start).count() as f64
}

/// Measures a flow whose workload may have several connections.
pub(crate) fn connections(
    model: &Model,
    world: &World,
    index: usize,
    seed: Seed,
    limit: Time,
) -> FlowMeasures {
    let (flow, ends) = (&model.flows[index], world.flows[index]);
    let party = |id| world.network.element::<Party>(id);
    let (Some(from), Some(to)) = (party(ends.from), party(ends.to)) else { return nothing() };
    let Some(config) = flow.transport.tcp() else { return nothing() };
    let ledgers = &world.network.ledgers()[2 * index..2 * index + 2];
    let mut tally = Tally::default();
    for ledger in ledgers {
        tally.add(&ledger.verdicts());
    }
    let (mut judged_spurious, mut judged_genuine, mut judged_fast, mut bytes) = (0, 0, 0, 0);
    for host in from.connections().chain(to.connections()) {
        use transport::app::Socket as _;
        let judged = host.connection().sender.verdicts();
        judged_spurious += judged.spurious_timeouts;
        judged_genuine += judged.genuine_timeouts;
        judged_fast += judged.spurious_fast;
        bytes += host.connection().received();
    }
    let (mine, theirs) = (from.counters(), to.counters());
    let sent = (mine.data_sent + theirs.data_sent) as f64;
    let again = (mine.data_resent + theirs.data_resent) as f64;
    let finished = from.workload().finished();
    let end = finished.unwrap_or(limit.min(world.network.now()));
    let seen = from.workload().seen();
    let asks = matches!(flow.app, scenario::model::App::Ask(_));
    let view = View {
        from: seen,
        to: to.workload().seen(),
        asks,
        ledgers,
        start: ends.start,
        finished,
        end,
        sent,
        first: Some(sent - again),
        gate_closures: gates_closed(model, seed, ends.start, end),
    };
    let value = |metric: &Metric| match metric {
        Metric::SegmentsDelivered => Some((bytes as f64 / f64::from(config.mss)).ceil()),
        Metric::SegmentsRetransmitted => Some(again),
        Metric::UnneededRetransmissions => Some(tally.unneeded as f64),
        Metric::SpuriousTimeouts => Some(tally.spurious_timeouts as f64),
        Metric::GenuineTimeouts => Some(tally.genuine_timeouts as f64),
        Metric::SpuriousEpisodes => Some(tally.spurious_rows as f64),
        Metric::GenuineEpisodes => Some(tally.genuine_rows as f64),
        Metric::SpuriousFastRetransmits => Some(tally.spurious_fast as f64),
        Metric::TimeoutsJudgedSpurious => Some(judged_spurious as f64),
        Metric::TimeoutsJudgedGenuine => Some(judged_genuine as f64),
        Metric::FastRetransmitsJudgedSpurious => Some(judged_fast as f64),
        Metric::Connections => Some(from.connections().count() as f64),
        metric => view.value(*metric),
    };
    FlowMeasures { values: Metric::ALL.iter().map(value).collect() }
}

/// Measures a flow of datagrams.
pub(crate) fn datagrams(model: &Model, world: &World, index: usize, seed: Seed, limit: Time) -> FlowMeasures {
    let ends = world.flows[index];
    let from = world.network.element::<Speaker>(ends.from);
    let (Some(from), Some(to)) = (from, world.network.element::<Hearer>(ends.to)) else { return nothing() };
    let finished = from.finished();
    // What is sent last still arrives.
    let over = finished.map(|t| t.max(to.last()));
    let end = over.unwrap_or(limit.min(world.network.now()));
    let view = View {
        from: from.seen(),
        to: to.seen(),
        asks: false,
        ledgers: &world.network.ledgers()[2 * index..=2 * index],
        start: ends.start,
        finished: over,
        end,
        sent: f64::from(from.datagrams()),
        first: None,
        gate_closures: gates_closed(model, seed, ends.start, end),
    };
    let value = |metric: &Metric| match metric {
        Metric::SegmentsDelivered => Some(to.datagrams() as f64),
        Metric::Reordered => Some(to.seen().reordered as f64),
        metric => view.value(*metric),
    };
    FlowMeasures { values: Metric::ALL.iter().map(value).collect() }
}

/// Measures a flow over a kernel's sockets, at both ends or at one.
pub(crate) fn sockets(model: &Model, world: &World, index: usize, seed: Seed, limit: Time) -> FlowMeasures {
    let (flow, ends) = (&model.flows[index], world.flows[index]);
    let stands = |id| End::of(&world.network, id);
    let (Some(from), Some(to)) = (stands(ends.from), stands(ends.to)) else { return nothing() };
    let (Some(from_saw), Some(to_saw)) = (from.seen(), to.seen()) else { return nothing() };
    let ledgers = &world.network.ledgers()[2 * index..2 * index + 2];
    let datagrams = flow.transport.linux().is_some_and(|linux| linux.protocol.payload().is_some());
    let mut tally = Tally::default();
    for ledger in ledgers {
        tally.add(&ledger.verdicts());
    }
    let (mine, theirs) = (from.counters(), to.counters());
    let sent = (mine.data_sent + theirs.data_sent) as f64;
    let again = (mine.data_resent + theirs.data_resent) as f64;
    let bytes = from.received().saturating_add(to.received());
    let largest = from.largest_segment().max(to.largest_segment());
    // Datagrams are over when the last one that came has come.
    let last = to.finished().filter(|_| datagrams);
    let finished = from.finished().map(|t| last.map_or(t, |last| last.max(t)));
    let end = finished.unwrap_or(limit.min(world.network.now()));
    let view = View {
        from: from_saw,
        to: to_saw,
        asks: matches!(flow.app, scenario::model::App::Ask(_)),
        ledgers,
        start: ends.start,
        finished,
        end,
        sent,
        first: (!datagrams).then_some(sent - again),
        gate_closures: gates_closed(model, seed, ends.start, end),
    };
    let value = |metric: &Metric| match metric {
        Metric::SegmentsDelivered if datagrams => Some(to.counters().data_received as f64),
        Metric::SegmentsDelivered => Some((bytes as f64 / f64::from(largest)).ceil()),
        Metric::Reordered if datagrams => Some(to_saw.reordered as f64),
        Metric::SegmentsRetransmitted if !datagrams => Some(again),
        Metric::UnneededRetransmissions if !datagrams => Some(tally.unneeded as f64),
        Metric::Connections if !datagrams => Some(from.connections() as f64),
        // Nobody outside a kernel sees a timer, or why something is sent again.
        metric => view.value(*metric),
    };
    FlowMeasures { values: Metric::ALL.iter().map(value).collect() }
}
