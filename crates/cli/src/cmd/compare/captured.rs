//! Captures as a side of a comparison: metrics of bulk flows that the analyser derives from packets.
//!
//! A capture counts as one repetition of the other side's scenario, whatever its clock or network. Only metrics that a
//! capture at the sender shows are used; where a verdict is unknown, the metric is absent.

use super::Args;
use super::side::{Side, SideSource};
use crate::cmd::analyse::source::{self, Which};
use crate::console::exit::Failure;
use crate::console::streams::Console;
use crate::output::table;
use analyse::{Flow, FlowDirection, Limits, Need, RecoveryVerdict};
use base::Time;
use base::dist::Dist;
use capture::Reader;
use lab::sweep::Sweep;
use results::{Header, Row, Summary};
use scenario::Model;
use scenario::metric::Metric;
use scenario::model::{self, Transport};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::{Path, PathBuf};

/// Metrics that a capture at the sender shows.
const SHOWN: [Metric; 9] = [
    Metric::CompletionTime,
    Metric::GoodputRatio,
    Metric::SegmentsSent,
    Metric::SegmentsDelivered,
    Metric::SegmentsRetransmitted,
    Metric::UnneededRetransmissions,
    Metric::SpuriousTimeouts,
    Metric::GenuineTimeouts,
    Metric::SpuriousFastRetransmits,
];

/// The side as captures of the other side's scenario; `None` if the side has no captures.
pub(super) fn side(args: &Args, side: usize) -> Result<Option<SideSource>, Failure> {
    let Some(b) = &args.b else { return Ok(None) };
    let captures = [&args.a, b].map(|path| named(path));
    let all = captures.iter().filter(|captures| captures.is_some()).count();
    if all == 2 {
        return Err(Failure::usage(
            "both sides are captures, and none names the scenario",
            "compare each capture with the scenario, or with a run of it",
        ));
    }
    if all == 1 && [&args.a, b].contains(&&PathBuf::from("-")) {
        return Err(Failure::usage(
            "a comparison with a capture reads the scenario twice, and stdin can be read only once",
            "put the scenario into a file",
        ));
    }
    let (own, other, changes) = match side {
        0 => (&args.a, b, [&args.set_b, &args.set_a]),
        _ => (b, &args.a, [&args.set_a, &args.set_b]),
    };
    let Some(captures) = captures.into_iter().nth(side).flatten() else { return Ok(None) };
    if !changes[1].is_empty() {
        return Err(Failure::usage(
            format!("`{}` is a capture; --set cannot change it", own.display()),
            "change the scenario of the other side with --set-a or --set-b",
        ));
    }
    let set = [&args.changes.set[..], changes[0]].concat();
    SideSource::captured(own, captures, other, &set).map(Some)
}

/// Captures at a path: a file, or all captures in a folder that is no run folder.
fn named(path: &Path) -> Option<Vec<PathBuf>> {
    let capture = |path: &PathBuf| File::open(path).is_ok_and(|file| Reader::open(file).is_ok());
    if path.is_file() {
        let path = path.to_owned();
        return capture(&path).then(|| vec![path]);
    }
    if !path.is_dir() || path.join(results::folder::RUN).is_file() {
        return None;
    }
    let mut files: Vec<PathBuf> = std::fs::read_dir(path).ok()?.flatten().map(|entry| entry.path()).collect();
    files.retain(capture);
    files.sort();
    (!files.is_empty()).then_some(files)
}

/// Cell and repetition from the file names of `run --pcap` (`cell4.rep0.server.pcapng`) and `emulate --captures`
/// (`4-0.pcapng`); `None` for other names.
fn place(path: &Path) -> Option<(Option<u32>, u64)> {
    let name = path.file_name()?.to_string_lossy().into_owned();
    let mut parts = name.split('.');
    let first = parts.next()?;
    if let Some(cell) = first.strip_prefix("cell").and_then(|n| n.parse().ok()) {
        return Some((Some(cell), parts.next()?.strip_prefix("rep")?.parse().ok()?));
    }
    if let Some(repetition) = first.strip_prefix("rep") {
        return Some((None, repetition.parse().ok()?));
    }
    let (cell, repetition) = first.split_once('-')?;
    Some((Some(cell.parse().ok()?), repetition.parse().ok()?))
}

/// Header and rows of captures of a scenario.
pub(super) fn read(
    files: &[PathBuf],
    sweep: &Sweep,
    console: &Console,
) -> Result<(Header, Vec<Row>), Failure> {
    let mut header = sweep.header.clone();
    let names = SHOWN.map(Metric::name);
    header.columns.retain(|column| names.contains(&column.name.as_str()));
    let (mut rows, mut seen) = (Vec::new(), BTreeSet::new());
    for (number, file) in files.iter().enumerate() {
        let (cell, repetition) = place(file).unwrap_or((None, number as u64));
        let cell = match cell {
            Some(cell) => cell,
            None if sweep.cells.len() == 1 => 0,
            None => {
                return Err(Failure::usage(
                    format!("the name of `{}` does not identify a cell of the grid", file.display()),
                    "choose one cell with --set, or name the file cellN.repM.pcapng",
                ));
            }
        };
        let Some(prepared) = sweep.cells.good(cell as usize) else {
            return Err(Failure::usage(
                format!(
                    "`{}` is of cell {cell}, and the grid has {} cells",
                    file.display(),
                    sweep.cells.len()
                ),
                "give the scenario that was captured",
            ));
        };
        if !seen.insert((cell, repetition)) {
            return Err(Failure::usage(
                format!("`{}` shows repetition {repetition} a second time", file.display()),
                "put the captures of one host into a folder of their own",
            ));
        }
        let whole = source::read(file, &Which::of(None, None, None)?, keep(), console)?;
        whole.notices.iter().for_each(|notice| console.note(&format!("note: {notice}")));
        for (name, values) in flows(file, &prepared.model, &whole.flows)? {
            let values = header.columns.iter().map(|column| {
                let measured = values.iter().find(|(metric, _)| metric.name() == column.name);
                measured.and_then(|(_, value)| *value)
            });
            rows.push(Row { cell, repetition, flow: name, values: values.collect() });
        }
    }
    Ok((header, rows))
}

fn keep() -> Limits {
    Limits { points: true, ..Limits::default() }
}

type Values = Vec<(Metric, Option<f64>)>;

/// Metrics of each bulk flow. Connections are matched with flows in the order of their start.
fn flows(file: &Path, model: &Model, seen: &[(usize, Flow)]) -> Result<Vec<(String, Values)>, Failure> {
    let tcp = |transport: &Transport| {
        matches!(transport, Transport::Tcp { .. } | Transport::Linux(_) | Transport::Ends(_))
    };
    let mut wanted: Vec<_> =
        model.flows.iter().filter(|flow| tcp(&flow.transport) && flow.app.bulk().is_some()).collect();
    in_order(&mut wanted)?;
    let carries = |flow: &&Flow| flow.directions[flow.main()].data_packets > 0;
    let mut found: Vec<&Flow> = seen.iter().map(|(_, flow)| flow).filter(carries).collect();
    found.sort_by_key(|flow| flow.first);
    if wanted.is_empty() {
        return Err(Failure::usage(
            "the scenario has no bulk flow over TCP, and captures are compared by bulk flows only",
            "`williwaw analyse` reports what the capture shows",
        ));
    }
    // The only flow of a scenario is the largest connection: a host's capture may contain others.
    if wanted.len() == 1 {
        let largest = found.iter().max_by_key(|flow| flow.directions[flow.main()].data_bytes).copied();
        found = largest.into_iter().collect();
    }
    if found.len() != wanted.len() {
        return Err(Failure::usage(
            format!(
                "`{}` holds {} TCP connections with data, and the scenario has {} such flows",
                file.display(),
                found.len(),
                wanted.len()
            ),
            "give a capture of this scenario, taken at the sending host",
        ));
    }
    for flow in &found {
        if !flow.opened {
            return Err(Failure::usage(
                format!("`{}` begins in the middle of a connection", file.display()),
                "begin the capture before the transfer: its duration is counted from the first SYN",
            ));
        }
    }
    Ok(wanted.iter().zip(found).map(|(flow, seen)| (flow.name.clone(), values(seen))).collect())
}

/// Sorts flows by their start. Starts must be fixed and distinct, or connections cannot be matched with flows.
fn in_order(flows: &mut [&model::Flow]) -> Result<(), Failure> {
    let start = |flow: &model::Flow| match flow.start {
        Dist::Constant(ns) => ns,
        _ => f64::NAN,
    };
    flows.sort_by(|a, b| start(a).total_cmp(&start(b)));
    // A drawn start is NaN here, and compares as false.
    let apart = |pair: &[&model::Flow]| start(pair[0]) < start(pair[1]);
    match flows.windows(2).find(|pair| !apart(pair)) {
        None => Ok(()),
        Some(pair) => Err(Failure::usage(
            format!(
                "a capture does not show which connection is the flow {} and which is {}",
                pair[0].name, pair[1].name
            ),
            "let them begin at different fixed times, or capture a scenario with one flow",
        )),
    }
}

fn values(flow: &Flow) -> Values {
    let direction = &flow.directions[flow.main()];
    let sure = |count: u64, unknown: bool| (!unknown).then_some(count as f64);
    let timeouts = |kind: RecoveryVerdict| {
        direction.timeouts.iter().filter(|timeout| timeout.kind == kind).count() as u64
    };
    let fast = |kind: RecoveryVerdict| {
        direction.fast_retransmits.iter().filter(|fast| fast.kind == kind).count() as u64
    };
    let unknown_timeouts = timeouts(RecoveryVerdict::Unknown) > 0;
    let sent = direction.data_segments as f64;
    let unit = f64::from(direction.options.longest.max(1));
    let delivered = (direction.delivered_bytes as f64 / unit).ceil();
    let value = |metric: Metric| match metric {
        Metric::CompletionTime => completed(direction).map(|end| end.since(flow.first).as_secs_f64()),
        Metric::GoodputRatio => (sent > 0.0).then(|| delivered / sent),
        Metric::SegmentsSent => Some(sent),
        Metric::SegmentsDelivered => Some(delivered),
        Metric::SegmentsRetransmitted => Some(direction.retransmissions.len() as f64),
        Metric::UnneededRetransmissions => {
            sure(direction.count(Need::Unneeded), direction.count(Need::Unknown) > 0)
        }
        Metric::SpuriousTimeouts => sure(timeouts(RecoveryVerdict::Spurious), unknown_timeouts),
        Metric::GenuineTimeouts => sure(timeouts(RecoveryVerdict::Genuine), unknown_timeouts),
        Metric::SpuriousFastRetransmits => {
            sure(fast(RecoveryVerdict::Spurious), fast(RecoveryVerdict::Unknown) > 0)
        }
        _ => None,
    };
    SHOWN.iter().map(|metric| (*metric, value(*metric))).collect()
}

/// Time at which the sender received the ACK of its last byte; `None` if that ACK is missing.
fn completed(direction: &FlowDirection) -> Option<Time> {
    let end = direction.transmissions.iter().map(|sent| sent.end).max()?;
    direction.acks.iter().find(|ack| ack.ack >= end).map(|ack| ack.t)
}

/// Rank of one capture among the repetitions of the other side.
///
/// The random conditions of one captured transfer are unknown, so a difference from a single repetition means little.
/// The rank shows how often the model yields such a value.
pub(super) struct Rank {
    metric: String,
    /// Value of the capture.
    value: f64,
    /// Repetitions of the other side with a smaller value.
    less: usize,
    /// Repetitions with a larger value.
    more: usize,
    others: Summary,
    text: String,
}

impl Rank {
    /// Rank by one metric; `None` for several captures, several cells, or fewer than [`LEAST`] repetitions.
    pub(super) fn of(sides: [&Side; 2], metric: &str) -> Option<Rank> {
        let at = sides.iter().position(|side| side.captured)?;
        let (capture, other) = (sides[at], sides[1 - at]);
        if other.header.cells.len() > 1 {
            return None;
        }
        let [value] = by_repetition(capture, metric)[..] else { return None };
        let all = by_repetition(other, metric);
        let others = Summary::of(&all).filter(|others| others.n >= LEAST)?;
        let less = all.iter().filter(|other| **other < value).count();
        let more = all.iter().filter(|other| **other > value).count();
        let unit = &other.header.columns[other.header.column(metric)?].unit;
        let face = table::face(metric, unit, &[&others]);
        let text = format!(
            "Of the {} repetitions of {}, {less} have less {} than {}, and {more} have more: {} against a median of \
             {}, and 10 to 90 % between {} and {}.",
            others.n,
            other.label,
            face.words(),
            capture.label,
            face.quantity(value),
            face.quantity(others.median),
            face.number(others.p10),
            face.quantity(others.p90),
        );
        Some(Rank { metric: metric.to_owned(), value, less, more, others, text })
    }

    pub(super) fn sentence(&self) -> &str {
        &self.text
    }

    pub(super) fn document(&self) -> serde_json::Value {
        let Rank { metric, value, less, more, others, text } = self;
        json!({
            "metric": metric, "value": value, "less": less, "more": more, "n": others.n,
            "median": others.median, "p10": others.p10, "p90": others.p90, "sentence": text,
        })
    }
}

/// Fewest repetitions with a meaningful 10th percentile.
const LEAST: u64 = 10;

/// Values of a metric, one for each repetition that has it, over all flows.
fn by_repetition(side: &Side, metric: &str) -> Vec<f64> {
    let Some(at) = side.header.column(metric) else { return Vec::new() };
    let mut flows: BTreeMap<(u32, u64), Vec<Option<f64>>> = BTreeMap::new();
    for row in 0..side.rows.len() {
        let (cell, repetition, _) = side.rows.key(row);
        flows.entry((cell, repetition)).or_default().push(side.rows.value(row, at));
    }
    let combine = side.header.columns[at].combine;
    flows.into_values().filter_map(|values| combine.over(values)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_cell_and_repetition() {
        let place = |name: &str| place(Path::new(name));
        assert_eq!(place("runs/cell4.rep12.server.pcapng"), Some((Some(4), 12)));
        assert_eq!(place("rep3.pcapng"), Some((None, 3)));
        assert_eq!(place("captures/0-7.pcapng"), Some((Some(0), 7)));
        assert_eq!(place("phone.pcapng"), None);
        assert_eq!(place("report.pcap"), None);
        assert_eq!(place("2026-11-23.pcap"), None);
    }
}
