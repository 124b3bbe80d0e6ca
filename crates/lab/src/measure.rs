//! What did a flow achieve, and at what cost? Numbers from always-on counters and the ledger of what
//! really happened; the names are those of the scenario's expectations.

use crate::ends::End;
use base::rng::Seed;
use base::truth::{Cause, Retransmission};
use base::{Span, Time};
use host::Host;
use results::row::{Column, Combine};
use scenario::build::{World, closures};
use scenario::metric::{Metric, Unit};
use scenario::model::{App, Model, Transport};

/// One flow's numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowMeasures {
    /// By position in [`Metric::ALL`]; `None` where there is no such number.
    pub values: Vec<Option<f64>>,
}

impl FlowMeasures {
    /// One number.
    pub fn get(&self, metric: Metric) -> Option<f64> {
        let i = Metric::ALL.iter().position(|m| *m == metric)?;
        self.values.get(i).copied().flatten()
    }
}

/// The columns of a table of measures.
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

/// Measures every flow of a finished run.
pub fn flows(model: &Model, world: &World, repetition: u64, limit: Time) -> Vec<FlowMeasures> {
    let seed = Seed { seed: model.run.seed, repetition };
    let mut all: Vec<FlowMeasures> =
        (0..model.flows.len()).map(|i| flow(model, world, i, seed, limit)).collect();
    let rates: Vec<f64> = all.iter().filter_map(|f| f.get(Metric::Throughput)).collect();
    let jain = jain_index(&rates);
    if let Some(i) = Metric::ALL.iter().position(|m| *m == Metric::JainIndex) {
        for f in &mut all {
            f.values[i] = jain;
        }
    }
    crate::radio::add(model, world, &mut all);
    all
}

/// Jain's fairness index: the square of the sum over n times the sum of squares (Jain, Chiu, Hawe 1984).
fn jain_index(rates: &[f64]) -> Option<f64> {
    let (sum, squares) = rates.iter().fold((0.0, 0.0), |(s, q), x| (s + x, q + x * x));
    (squares > 0.0).then(|| sum * sum / (rates.len() as f64 * squares))
}

/// How the verdicts on retransmissions add up.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Tally {
    /// Retransmissions of what arrives anyway.
    pub unneeded: u64,
    /// Timeouts that resent such a segment.
    pub spurious_timeouts: u64,
    /// All others.
    pub genuine_timeouts: u64,
    /// Fast retransmits that resent such a segment.
    pub spurious_fast: u64,
    /// Rows of timeouts for the same segment of which the first was spurious.
    pub spurious_rows: u64,
    /// All other rows.
    pub genuine_rows: u64,
}

impl Tally {
    /// Adds up verdicts.
    pub fn of(verdicts: &[Retransmission]) -> Tally {
        let mut tally = Tally::default();
        tally.add(verdicts);
        tally
    }

    /// Adds more of them, of another direction or connection.
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

/// The longest of these stretches, without the parts during which a gate was closed.
pub(crate) fn longest_silence(model: &Model, silences: &[(Time, Time)], seed: Seed) -> Span {
    let Some(&(_, end)) = silences.last() else { return Span::ZERO };
    let mut closed: Vec<(Time, Time)> =
        closures(model, seed, end).into_iter().map(|(_, from, until)| (from, until)).collect();
    closed.sort_unstable();
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

fn flow(model: &Model, world: &World, index: usize, seed: Seed, limit: Time) -> FlowMeasures {
    let (flow, ends) = (&model.flows[index], world.flows[index]);
    let config = match (&flow.transport, &flow.app) {
        (Transport::Linux(_), _) => return crate::real::flow(model, world, index, seed, limit),
        (Transport::Ends(_), App::Ask(_) | App::Tell(_)) => {
            return crate::workload::sockets(model, world, index, seed, limit);
        }
        (Transport::Ends(_), App::Bulk { .. }) => match world.network.element::<Host>(ends.from) {
            // With whom it talks: its segments are what both have agreed on.
            Some(host) => host.connection().config(),
            None => return crate::real::flow(model, world, index, seed, limit),
        },
        (Transport::Udp(_), _) => return crate::workload::datagrams(model, world, index, seed, limit),
        (_, App::Ask(_) | App::Tell(_)) => {
            return crate::workload::connections(model, world, index, seed, limit);
        }
        (Transport::Tcp { config, .. }, _) => config,
    };
    let from = world.network.element::<Host>(ends.from);
    let (Some(from), Some(to)) = (from, End::of(&world.network, ends.to)) else {
        return FlowMeasures { values: vec![None; Metric::ALL.len()] };
    };
    let (bytes, _) = flow.app.bulk().unwrap_or_default();
    let mss = f64::from(config.mss);
    let ledger = &world.network.ledgers()[2 * index];
    let tally = Tally::of(&ledger.verdicts());
    let sent = from.counters();
    let judged = from.connection().sender.verdicts();
    let delivered_bytes = to.received();
    let delivered = (delivered_bytes as f64 / mss).ceil();
    // Of a transfer that did not get through, what did.
    let minimum = bytes.map_or(delivered, |b| (b as f64 / mss).ceil().min(delivered));
    let data_sent = sent.data_sent as f64;
    let since_start = |t: Option<Time>| t.map(|t| t.since(ends.start).as_secs_f64());
    let download = since_start(to.finished());
    let duration = download.unwrap_or_else(|| limit.min(world.network.now()).since(ends.start).as_secs_f64());
    let ratio = |a: f64, b: f64| (b > 0.0).then(|| a / b);
    let ack_drops = world.network.ledgers()[2 * index + 1].ack_drops + ledger.ack_drops;
    let dropped = ledger.queue_drops + ledger.other_drops + ack_drops;
    // The workload ends when its sender is done, or with the run.
    let end = from.finished().unwrap_or(limit.min(world.network.now()));
    let gate_closures = if model.gates.is_empty() {
        0
    } else {
        closures(model, seed, end).iter().filter(|c| c.1 >= ends.start).count()
    };
    let value = |metric: &Metric| match metric {
        Metric::DownloadTime => download,
        Metric::CompletionTime => since_start(from.finished()),
        Metric::Throughput => ratio(8.0 * delivered_bytes as f64, duration),
        Metric::GoodputRatio => ratio(minimum, data_sent),
        Metric::GoodputLinkRatio => ratio(minimum, data_sent - ledger.queue_drops as f64),
        Metric::SegmentsSent => Some(data_sent),
        Metric::SegmentsDelivered => Some(delivered),
        Metric::SegmentsRetransmitted => Some(sent.data_resent as f64),
        Metric::UnneededRetransmissions => Some(tally.unneeded as f64),
        Metric::SpuriousTimeouts => Some(tally.spurious_timeouts as f64),
        Metric::GenuineTimeouts => Some(tally.genuine_timeouts as f64),
        Metric::SpuriousEpisodes => Some(tally.spurious_rows as f64),
        Metric::GenuineEpisodes => Some(tally.genuine_rows as f64),
        Metric::SpuriousFastRetransmits => Some(tally.spurious_fast as f64),
        Metric::TimeoutsJudgedSpurious => Some(judged.spurious_timeouts as f64),
        Metric::TimeoutsJudgedGenuine => Some(judged.genuine_timeouts as f64),
        Metric::FastRetransmitsJudgedSpurious => Some(judged.spurious_fast as f64),
        Metric::OutstandingAtTimeout => from.first_timeout_flight().map(|b| (b as f64 / mss).ceil()),
        Metric::LongestSilence => Some(longest_silence(model, from.silences(), seed).as_secs_f64()),
        Metric::GateClosures => Some(gate_closures as f64),
        Metric::PacketsDropped => Some(dropped as f64),
        Metric::QueueDelay => ratio(ledger.queue_delay_ns as f64 / 1e9, data_sent),
        // Fairness is for all flows; the rest is for workloads of other kinds.
        _ => None,
    };
    FlowMeasures { values: Metric::ALL.iter().map(value).collect() }
}
