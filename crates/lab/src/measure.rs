//! Metrics of each flow from the reports of its two ends and from the ledger (ground truth).
//!
//! Metrics have the names of the scenario's expectations.

use crate::closures::GateClosures;
use base::rng::Seed;
use base::truth::{Cause, Ledger, Retransmission};
use base::{Span, Time};
use host::EndReport;
use path::ElementId;
use path::firewall::Firewall;
use path::meter::Meter;
use results::row::{Column, Combine};
use scenario::build::{World, path_numbers};
use scenario::metric::{Metric, Unit};
use scenario::model::{Flow, Model};
use std::collections::BTreeSet;
use transport::tcp::sender::Verdicts;

/// Metric values of one flow.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowMeasures {
    /// Values by position in [`Metric::ALL`]; `None` where a metric does not apply.
    pub values: Vec<Option<f64>>,
}

impl FlowMeasures {
    /// No metric applies.
    pub(crate) fn none() -> Self {
        FlowMeasures { values: vec![None; Metric::ALL.len()] }
    }

    /// Value of a metric.
    pub fn get(&self, metric: Metric) -> Option<f64> {
        self.values.get(metric as usize).copied().flatten()
    }

    /// Sets the value of a metric; `None`: it does not apply.
    pub(crate) fn set(&mut self, metric: Metric, value: Option<f64>) {
        if let Some(place) = self.values.get_mut(metric as usize) {
            *place = value;
        }
    }

    /// Adds to the value of a metric; one that did not apply counts from zero.
    pub(crate) fn add(&mut self, metric: Metric, value: f64) {
        self.set(metric, Some(self.get(metric).unwrap_or(0.0) + value));
    }
}

/// The columns of a table of flow metrics.
pub fn columns() -> Vec<Column> {
    Metric::ALL
        .iter()
        .map(|metric| {
            let unit = match metric.unit() {
                Unit::Seconds => "s",
                Unit::BitsPerSecond => "bit/s",
                Unit::Ratio | Unit::Count => "",
            };
            let combine = match metric {
                Metric::DownloadTime
                | Metric::CompletionTime
                | Metric::ResponseTimeMax
                | Metric::PageTimeMax
                | Metric::MessageDelayMax => Combine::Max,
                Metric::Throughput => Combine::Sum,
                _ if metric.unit() == Unit::Count => Combine::Sum,
                _ => Combine::Mean,
            };
            Column::new(metric.name(), unit, combine)
        })
        .collect()
}

/// Metrics of every flow of a finished run.
pub fn flows(model: &Model, world: &World, repetition: u64, limit: Time) -> Vec<FlowMeasures> {
    let seed = Seed { seed: model.run.seed, repetition };
    let gates = GateClosures::new(model, seed, world.network.now());
    let mut all: Vec<FlowMeasures> =
        (0..model.flows.len()).map(|i| flow(model, world, i, &gates, limit)).collect();
    charge(model, world, &mut all);
    firewalls(model, world, &mut all);
    let rates: Vec<f64> = all.iter().filter_map(|f| f.get(Metric::Throughput)).collect();
    let jain = jain_index(&rates);
    for f in &mut all {
        f.set(Metric::JainIndex, jain);
    }
    crate::radio::add(model, world, &mut all);
    all
}

/// Adds the charging counters of hops with `charging` to each flow, both directions.
fn charge(model: &Model, world: &World, all: &mut [FlowMeasures]) {
    for (link, charging) in model.links.iter().filter_map(|link| Some((link, link.charging?))) {
        for (place, bill) in [("gateway", Metric::BilledGateway), ("radio", Metric::BilledRadio)] {
            let name = format!("{}.{place}", link.name);
            let element = world.names.iter().position(|known| *known == name);
            let meter = element.and_then(|at| world.network.element::<Meter>(ElementId(at as u32)));
            let Some(meter) = meter else { continue };
            for (i, flow) in all.iter_mut().enumerate() {
                let both = [meter.volume(2 * i), meter.volume(2 * i + 1)];
                flow.add(bill, both.iter().map(|v| charging.bill(v.bytes, v.resent_bytes)).sum());
                if bill == Metric::BilledRadio {
                    flow.add(Metric::BilledResent, both.iter().map(|v| v.resent_bytes as f64).sum());
                }
            }
        }
    }
}

/// Adds the counters of the firewalls on the route of each flow.
fn firewalls(model: &Model, world: &World, all: &mut [FlowMeasures]) {
    for (i, (flow, measures)) in model.flows.iter().zip(all).enumerate() {
        let ways = || flow.other_paths.iter().flatten().chain([&flow.route, &flow.way_back]).flatten();
        let passed = model.firewalls.iter().filter(|f| ways().any(|link| f.links.contains(link)));
        for firewall in passed {
            let element = world.names.iter().position(|known| *known == firewall.name);
            let element = element.and_then(|at| world.network.element::<Firewall>(ElementId(at as u32)));
            let Some(element) = element else { continue };
            let numbers = std::iter::once(i).chain(path_numbers(model, i));
            for counts in numbers.map(|number| element.counts(number as u32)) {
                for (metric, count) in [
                    (Metric::FirewallEntries, counts.opened),
                    (Metric::FirewallExpired, counts.expired),
                    (Metric::FirewallRefused, counts.refused),
                    (Metric::FirewallResets, counts.resets),
                ] {
                    measures.add(metric, count as f64);
                }
            }
        }
    }
}

/// Jain's fairness index: the square of the sum over n times the sum of squares (Jain, Chiu, Hawe 1984).
fn jain_index(rates: &[f64]) -> Option<f64> {
    let (sum, squares) = rates.iter().fold((0.0, 0.0), |(s, q), x| (s + x, q + x * x));
    (squares > 0.0).then(|| sum * sum / (rates.len() as f64 * squares))
}

/// Counts of verdicts on retransmissions.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Tally {
    /// Unneeded retransmissions: another copy of the data reaches the receiver.
    pub unneeded: u64,
    /// Timeouts whose retransmission was unneeded.
    pub spurious_timeouts: u64,
    /// Timeouts whose retransmission was needed.
    pub genuine_timeouts: u64,
    /// Fast retransmits whose retransmission was unneeded.
    pub spurious_fast: u64,
    /// Runs of consecutive timeouts for one segment whose first timeout was spurious.
    pub spurious_rows: u64,
    /// Runs of consecutive timeouts whose first timeout was genuine.
    pub genuine_rows: u64,
}

impl Tally {
    /// Tally of these verdicts.
    pub fn of(verdicts: &[Retransmission]) -> Tally {
        let mut tally = Tally::default();
        tally.add(verdicts);
        tally
    }

    /// Adds verdicts of another direction or connection.
    pub fn add(&mut self, verdicts: &[Retransmission]) {
        let tally = self;
        let mut row = None;
        for v in verdicts {
            if v.cause == Cause::Timeout && row.replace(v.seq) != Some(v.seq) {
                *(if v.unneeded { &mut tally.spurious_rows } else { &mut tally.genuine_rows }) += 1;
            }
            tally.unneeded += u64::from(v.unneeded);
            match (v.cause, v.unneeded) {
                (Cause::Timeout, true) => tally.spurious_timeouts += 1,
                (Cause::Timeout, false) => tally.genuine_timeouts += 1,
                (Cause::Fast, true) => tally.spurious_fast += 1,
                _ => {}
            }
        }
    }
}

/// Unneeded retransmissions that no queue dropped, so that a link carried them.
fn unneeded_carried(verdicts: &[Retransmission], ledgers: &[&Ledger]) -> usize {
    // The ledgers of a network path are data direction first, then reverse. All network paths share the
    // sender's packet numbers.
    let drops = ledgers.iter().step_by(2).flat_map(|ledger| &ledger.drops);
    let queued: BTreeSet<u32> = drops.filter(|d| d.queued).map(|d| d.ordinal).collect();
    verdicts.iter().filter(|v| v.unneeded && !queued.contains(&v.ordinal)).count()
}

/// Longest interval of `silences`, without the time in which each network path of the flow had a closed gate.
fn longest_silence(gates: &GateClosures<'_>, flow: &Flow, silences: &[(Time, Time)]) -> Span {
    let Some(&(_, end)) = silences.last() else { return Span::ZERO };
    let closed = gates.shut(flow, end);
    let open_part = |&(from, until): &(Time, Time)| {
        let mut open = Span::ZERO;
        let mut at = from;
        for &(start, end) in &closed {
            if start < until && end > at {
                open += start.max(at).since(at);
                at = end.min(until);
            }
        }
        open + until.since(at)
    };
    silences.iter().map(open_part).max().unwrap_or_default()
}

/// Counters of both ends of a flow and of its path.
pub(crate) struct Counted<'a> {
    pub(crate) from: EndReport,
    pub(crate) to: EndReport,
    /// Ledgers of the data direction and the reverse direction, then of both directions of further network paths.
    pub(crate) ledgers: Vec<&'a Ledger>,
    /// Start of the workload.
    pub(crate) start: Time,
    /// Present time, at most the limit.
    pub(crate) now: Time,
}

impl Counted<'_> {
    fn of<'w>(model: &Model, world: &'w World, index: usize, limit: Time) -> Option<Counted<'w>> {
        let (ends, network) = (world.flows[index], &world.network);
        let all = network.ledgers();
        let others = path_numbers(model, index).flat_map(|number| [2 * number, 2 * number + 1]);
        Some(Counted {
            from: host::report(network, ends.from)?,
            to: host::report(network, ends.to)?,
            ledgers: [2 * index, 2 * index + 1]
                .into_iter()
                .chain(others)
                .filter_map(|l| all.get(l))
                .collect(),
            start: ends.start,
            now: limit.min(network.now()),
        })
    }

    /// Sum of a count over all ledgers.
    pub(crate) fn sum(&self, count: impl Fn(&Ledger) -> u64) -> u64 {
        self.ledgers.iter().map(|ledger| count(ledger)).sum()
    }

    /// Seconds since the start.
    pub(crate) fn since_start(&self, t: Option<Time>) -> Option<f64> {
        t.map(|t| t.since(self.start).as_secs_f64())
    }

    /// Number of gate closures while the workload ran.
    pub(crate) fn gate_closures(&self, gates: &GateClosures<'_>, end: Time) -> f64 {
        gates.before(end).filter(|c| c.0 >= self.start).count() as f64
    }

    /// Counters of data that arrived after their deadline; `again` is the number of unneeded retransmissions.
    #[inline] // asked for each metric, as is `named`
    pub(crate) fn late(&self, metric: Metric, again: u64) -> Option<f64> {
        let received = || self.to.counters.data_received as f64;
        let late = || self.to.counters.data_late as f64;
        match metric {
            Metric::PacketsLate => Some(late()),
            Metric::PacketsValid => Some(received() - late()),
            Metric::UnneededRatio => (received() > 0.0).then(|| (late() + again as f64) / received()),
            _ => None,
        }
    }

    /// Whether the protocol of an end defines counters of its own.
    #[inline]
    fn defines_metrics(&self) -> bool {
        !(self.from.named.is_empty() && self.to.named.is_empty())
    }

    /// Sum over both ends of a counter that one protocol defines.
    #[inline]
    pub(crate) fn named(&self, metric: Metric) -> Option<f64> {
        if !self.defines_metrics() {
            return None;
        }
        let ends = self.from.named.iter().chain(&self.to.named);
        ends.filter(|(name, _)| *name == metric.name()).map(|(_, value)| *value).reduce(|a, b| a + b)
    }
}

fn flow(model: &Model, world: &World, index: usize, gates: &GateClosures<'_>, limit: Time) -> FlowMeasures {
    let Some(counted) = Counted::of(model, world, index, limit) else {
        return FlowMeasures::none();
    };
    let flow = &model.flows[index];
    match flow.app.bulk() {
        Some((bytes, _)) => bulk(flow, &counted, bytes, gates),
        None => crate::workload::measure(flow, &counted, gates),
    }
}

/// Measures a bulk flow over any transport. Metrics of the retransmission timer are absent if the timer
/// cannot be seen from outside.
fn bulk(flow: &Flow, counted: &Counted<'_>, bytes: Option<u64>, gates: &GateClosures<'_>) -> FlowMeasures {
    let Counted { from, to, ledgers, start, now } = counted;
    let (start, now) = (*start, *now);
    let unit = f64::from(from.unit);
    let Some(ledger) = ledgers.first() else {
        return FlowMeasures::none();
    };
    let verdicts = ledger.verdicts();
    let tally = Tally::of(&verdicts);
    let delivered = (to.received as f64 / unit).ceil();
    // Minimum number of segments; for an unfinished transfer, of the data delivered.
    let minimum = bytes.map_or(delivered, |b| (b as f64 / unit).ceil().min(delivered));
    let data_sent = from.counters.data_sent as f64;
    // Data that arrived before the path MTU fell needed fewer segments: those that brought something new.
    let minimum = match from.reduced {
        true => minimum.min(to.counters.data_received.saturating_sub(tally.unneeded) as f64),
        false => minimum,
    };
    let download = counted.since_start(to.finished);
    let duration = download.unwrap_or_else(|| now.since(start).as_secs_f64());
    let ratio = |a: f64, b: f64| (b > 0.0).then(|| a / b);
    let queue_drops = counted.sum(|l| l.queue_drops) - ledgers.get(1).map_or(0, |back| back.queue_drops);
    let back = ledgers.get(1).map_or(0, |back| back.queue_drops + back.other_drops);
    let data_dropped = counted.sum(|l| l.queue_drops + l.other_drops) - back;
    let dropped = data_dropped + counted.sum(|l| l.ack_drops);
    // The workload ends when its sender is done, or with the run.
    let end = from.finished.unwrap_or(now);
    let timers = from.judged.is_some();
    let seen = |count: u64| timers.then_some(count as f64);
    let judged = |count: fn(&Verdicts) -> u64| from.judged.as_ref().map(|v| count(v) as f64);
    let carried = unneeded_carried(&verdicts, ledgers);
    let mut measures = FlowMeasures::none();
    for metric in [Metric::PacketsLate, Metric::PacketsValid, Metric::UnneededRatio] {
        measures.set(metric, counted.late(metric, tally.unneeded));
    }
    if counted.defines_metrics() {
        for (metric, value) in Metric::ALL.iter().filter_map(|m| Some((*m, counted.named(*m)?))) {
            measures.set(metric, Some(value));
        }
    }
    // Fairness is computed over all flows.
    for (metric, value) in [
        (Metric::DownloadTime, download),
        (Metric::CompletionTime, counted.since_start(from.finished)),
        (Metric::Throughput, ratio(8.0 * to.received as f64, duration)),
        (Metric::GoodputRatio, ratio(minimum, data_sent)),
        (Metric::GoodputLinkRatio, ratio(minimum, data_sent - queue_drops as f64)),
        (Metric::SegmentsSent, Some(data_sent)),
        (Metric::SegmentsDelivered, Some(delivered)),
        (Metric::SegmentsRetransmitted, Some(from.counters.data_resent as f64)),
        (Metric::UnneededRetransmissions, Some(tally.unneeded as f64)),
        (Metric::UnneededLinkRatio, ratio(carried as f64, data_sent - queue_drops as f64)),
        (Metric::SpuriousTimeouts, seen(tally.spurious_timeouts)),
        (Metric::GenuineTimeouts, seen(tally.genuine_timeouts)),
        (Metric::SpuriousEpisodes, seen(tally.spurious_rows)),
        (Metric::GenuineEpisodes, seen(tally.genuine_rows)),
        (Metric::SpuriousFastRetransmits, seen(tally.spurious_fast)),
        (Metric::TimeoutsJudgedSpurious, judged(|v| v.spurious_timeouts)),
        (Metric::TimeoutsJudgedGenuine, judged(|v| v.genuine_timeouts)),
        (Metric::FastRetransmitsJudgedSpurious, judged(|v| v.spurious_fast)),
        (Metric::OutstandingAtTimeout, from.first_timeout_flight.map(|b| (b as f64 / unit).ceil())),
        (Metric::LongestSilence, Some(longest_silence(gates, flow, &from.silences).as_secs_f64())),
        (Metric::GateClosures, Some(counted.gate_closures(gates, end))),
        (Metric::PacketsDropped, Some(dropped as f64)),
        (Metric::SegmentsDropped, Some(data_dropped as f64)),
        (Metric::QueueDelay, ratio(ledger.queue_delay_ns as f64 / 1e9, data_sent)),
    ] {
        measures.set(metric, value);
    }
    measures
}
