//! Results of a repetition in real time as rows, JSON document, text, capture, event log and picture, with
//! kernel state and lateness.

use super::rep_report::RepReport;
use crate::output::{kernel_state, labels};
use base::{Span, event};
use emulate::accuracy::calibrate::Calibration;
use emulate::accuracy::lateness::{Histogram, Timing};
use emulate::accuracy::overhead::Overhead;
use emulate::{EmulationOutcome, Options};
use lab::sweep::{Prepared, Sweep};
use netns::facts::{FlowFacts, TcpInfo};
use netns::job::CommandFacts;
use results::Row;
use scenario::metric::Metric;
use scenario::model::App;
use serde_json::{Value, json};

/// Application name in captures.
pub(crate) const APPLICATION: &str = concat!("williwaw ", env!("CARGO_PKG_VERSION"));

/// A finished repetition.
pub(crate) struct PlayedRep {
    pub(crate) cell: usize,
    pub(crate) repetition: u64,
    pub(crate) outcome: EmulationOutcome,
}

impl PlayedRep {
    /// One row for each flow, and one with the duration for each command that is no server.
    pub(crate) fn rows(&self, sweep: &Sweep) -> Vec<Row> {
        let row = |flow: &str, values: Vec<Option<f64>>| Row {
            cell: self.cell as u32,
            repetition: self.repetition,
            flow: flow.to_owned(),
            values,
        };
        let flows = sweep.cells.held()[self.cell].model.flows.iter().zip(&self.outcome.ran.flows);
        let mut rows: Vec<Row> =
            flows.map(|(flow, measures)| row(&flow.name, measures.values.clone())).collect();
        for facts in self.outcome.commands.iter().filter(|facts| !facts.serves) {
            rows.push(row(&facts.name, values(facts)));
        }
        rows
    }

    pub(crate) fn document(&self, sweep: &Sweep, options: &Options) -> Value {
        let model = &sweep.cells.held()[self.cell].model;
        let flows: serde_json::Map<String, Value> = model
            .flows
            .iter()
            .zip(&self.outcome.facts)
            .filter_map(|(flow, facts)| Some((flow.name.clone(), facts_document(facts.as_ref()?))))
            .collect();
        let commands: serde_json::Map<String, Value> =
            self.outcome.commands.iter().map(|facts| (facts.name.clone(), command(facts))).collect();
        let triggers = self.outcome.ran.world.network.triggers().done();
        let triggers: Vec<Value> =
            triggers.map(|(at, name)| json!({ "t": at.as_secs_f64(), "name": name })).collect();
        json!({
            "cell": self.cell,
            "repetition": self.repetition,
            "complete": self.outcome.ran.complete,
            "flows": flows,
            "commands": commands,
            "triggers": triggers,
            "timing": timing(&self.outcome.timing),
            "unfaithful": self.outcome.unfaithful(options),
        })
    }

    /// Report with all results except the files.
    pub(crate) fn report(&self, sweep: &Sweep, options: &Options) -> RepReport {
        let (complaints, failed) = self.complaints(options);
        RepReport {
            cell: self.cell as u32,
            repetition: self.repetition,
            complete: self.outcome.ran.complete,
            rows: self.rows(sweep).into_iter().map(|row| (row.flow, row.values)).collect(),
            document: self.document(sweep, options),
            said: self.text(&sweep.cells.held()[self.cell]),
            complaints,
            failed,
            faithful: self.outcome.unfaithful(options).is_none(),
        }
    }

    /// Text with a line for each kernel and command, and for lateness.
    fn text(&self, cell: &Prepared) -> String {
        let mut text = format!("repetition {}", self.repetition);
        let label = labels::cell(&cell.params);
        if !label.is_empty() {
            text.push_str(&format!(" of {label}"));
        }
        for (flow, facts) in cell.model.flows.iter().zip(&self.outcome.facts) {
            let Some(facts) = facts else { continue };
            if flow.transport.linux().is_some_and(|linux| linux.protocol.payload().is_some()) {
                continue; // a kernel has no counters of retransmissions for datagrams
            }
            let writer = flow.transport.kernels()[0];
            if writer.is_none_or(|linux| linux.program.is_some()) && flow.app.bulk().is_some() {
                continue; // a sending model's measures are in the table, and a program reports its own
            }
            // If both ends send, both have statistics.
            let asks = matches!(flow.app, App::Requests(_));
            let other = |name: &str| facts.to.get(name).copied().filter(|_| asks).unwrap_or(0);
            let names =
                ["TcpRetransSegs", "TCPTimeouts", "TCPSpuriousRTOs", "TCPLossProbes", "TCPFastRetrans"];
            let counted: Vec<String> =
                names.iter().map(|name| format!("{name} {}", facts.counter(name) + other(name))).collect();
            let undone = if facts.undone() { "undone" } else { "nothing undone" };
            text.push_str(&format!("\n  {}: the kernel reports {}; {undone}", flow.name, counted.join(", ")));
        }
        for facts in self.outcome.commands.iter().filter(|facts| !facts.serves) {
            let end = match &facts.ended.status {
                Some(status) => format!("status {}", status.code),
                None => "ended with the run".to_owned(),
            };
            text.push_str(&format!("\n  {}: {end}", facts.name));
        }
        let t = &self.outcome.timing;
        text.push_str(&lateness(t));
        if let Some(between) = &t.between {
            text.push_str(&way_between(between));
        }
        text
    }

    /// Faults, and whether a command failed.
    fn complaints(&self, options: &Options) -> (Vec<(String, String)>, bool) {
        let which = format!("repetition {} of cell {}", self.repetition, self.cell);
        let (mut complaints, mut failed) = (Vec::new(), false);
        for facts in &self.outcome.commands {
            let (more, one_failed) = command_complaints(facts, &which);
            complaints.extend(more);
            failed |= one_failed;
        }
        if let Some(why) = self.outcome.unfaithful(options) {
            complaints.push(("unfaithful".to_owned(), format!("{which}: {why}")));
        }
        let faults = self.outcome.facts.iter().flatten().flat_map(|facts| &facts.faults);
        complaints.extend(faults.map(|fault| ("warning".to_owned(), fault.clone())));
        (complaints, failed)
    }

    /// Capture of all taps, as the bytes of a file.
    pub(crate) fn capture(&self, sweep: &Sweep) -> Option<Vec<u8>> {
        let capture = self.outcome.at_all_taps(&sweep.cells.held()[self.cell].model)?;
        // Writing to memory does not fail.
        capture.write(Vec::new(), None, 0, APPLICATION).ok()
    }

    /// Event log, as the bytes of a file with one JSON line per event.
    pub(crate) fn events(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        // Writing to memory does not fail.
        let _ = write_events(&mut bytes, self);
        bytes
    }

    /// Picture of the first flow as JSON; `None` without flows.
    pub(crate) fn drawn(&self, sweep: &Sweep) -> Option<Vec<u8>> {
        let model = &sweep.cells.held()[self.cell].model;
        let mut records = self.outcome.ran.world.network.records().to_vec();
        records.sort_by_key(|record| record.t);
        model.flows.first()?;
        let mut picture = lab::picture::draw(model, self.repetition, 0, &self.outcome.ran, &records);
        if let Some(facts) = self.outcome.facts.first().and_then(Option::as_ref) {
            kernel_state::annotate(&mut picture, facts);
        }
        serde_json::to_vec(&picture).ok()
    }
}

/// Measures of a command: its duration.
pub(crate) fn values(facts: &CommandFacts) -> Vec<Option<f64>> {
    let took = facts.ended.started.zip(facts.ended.ended).map(|(from, to)| to.since(from).as_secs_f64());
    Metric::ALL.iter().map(|metric| took.filter(|_| *metric == Metric::CompletionTime)).collect()
}

/// Faults of a command, and whether it failed.
pub(crate) fn command_complaints(facts: &CommandFacts, which: &str) -> (Vec<(String, String)>, bool) {
    let lacks = facts.ended.lacks.iter();
    let mut complaints: Vec<_> =
        lacks.map(|lack| ("warning".to_owned(), format!("{which}, {}: {lack}", facts.name))).collect();
    let status = facts.ended.status.as_ref().filter(|status| status.code != 0);
    if let Some(status) = status {
        let why = status.fault.clone().unwrap_or_else(|| format!("ended with status {}", status.code));
        complaints.push(("failed".to_owned(), format!("{which}, {}: {why}", facts.name)));
    }
    (complaints, status.is_some())
}

/// Writes one JSON line per event, in order of time: time, element, event, and its fields.
fn write_events(out: &mut impl std::io::Write, p: &PlayedRep) -> std::io::Result<()> {
    let world = &p.outcome.ran.world;
    let mut records: Vec<_> = world.network.records().iter().collect();
    records.sort_by_key(|record| record.t);
    for record in records {
        let place = world.names.get(record.source.0 as usize);
        let mut line = json!({ "t": record.t.as_secs_f64(), "at": place, "event": record.event.name() });
        record.event.fields(|name, value| {
            line[name] = match value {
                event::Value::Int(n) => json!(n),
                event::Value::Seconds(s) => json!(s),
                event::Value::Word(word) => json!(word),
                event::Value::Bool(yes) => json!(yes),
            };
        });
        writeln!(out, "{line}")?;
    }
    Ok(())
}

/// Text on the lateness of a run.
pub(crate) fn lateness(t: &Timing) -> String {
    format!(
        "\n  late by {:.0} us (half), {:.0} us (99 %), {:.0} us (at most) over {} packets{}{}",
        us(t.egress.quantile(0.5)),
        us(t.egress.quantile(0.99)),
        us(t.egress.max()),
        t.egress.count(),
        if t.realtime { "" } else { ", without real-time priority" },
        if t.offload { "" } else { ", without segmentation offload" }
    )
}

fn us(span: Span) -> f64 {
    span.as_secs_f64() * 1e6
}

/// Text on the calibration of a host.
pub(crate) fn calibrated(c: &Calibration, machine: &str) -> String {
    let (way, late) = (c.method(), c.late());
    let how = match (way.realtime, way.spin.is_zero()) {
        (false, _) => "asleep".to_owned(),
        (true, true) => "asleep, with real-time priority".to_owned(),
        (true, false) => format!("spinning for {}, with real-time priority", way.spin),
    };
    format!(
        "{machine} is {}: {how} it wakes up {:.0} us late (half), {:.0} us (99 %), {:.0} us (at most)",
        if c.quiet() { "quiet" } else { "noisy" },
        us(late.quantile(0.5)),
        us(late.quantile(0.99)),
        us(late.max())
    )
}

pub(crate) fn calibration(c: &Calibration) -> Value {
    let trial = |(i, trial): (usize, &emulate::accuracy::calibrate::LatenessTrial)| json!({ "realtime": trial.method.realtime, "spin_s": trial.method.spin.as_secs_f64(), "late": histogram(&trial.late), "chosen": i == c.best });
    json!({ "quiet": c.quiet(), "trials": c.trials.iter().enumerate().map(trial).collect::<Vec<_>>() })
}

pub(crate) fn command(facts: &CommandFacts) -> Value {
    let ended = &facts.ended;
    let t = |t: Option<base::Time>| t.map(base::Time::as_secs_f64);
    json!({
        "serves": facts.serves,
        "started": t(ended.started),
        "ended": t(ended.ended),
        "status": ended.status.as_ref().map(|s| s.code),
        "signal": ended.status.as_ref().and_then(|s| s.signal),
        "fault": ended.status.as_ref().and_then(|s| s.fault.clone()),
        "lacks": ended.lacks,
    })
}

fn info(info: &TcpInfo) -> Value {
    info.fields()
        .into_iter()
        .map(|(name, value)| (name.to_owned(), json!(value)))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

pub(crate) fn facts_document(facts: &FlowFacts) -> Value {
    let history: Vec<Value> = facts
        .history
        .iter()
        .map(|(t, i)| {
            json!({ "t": t, "cwnd": i.snd_cwnd, "ssthresh": i.snd_ssthresh, "rto_us": i.rto, "backoff": i.backoff,
                    "ca_state": i.ca_state, "retransmissions": i.total_retrans, "unacked": i.unacked, "sacked": i.sacked, "lost": i.lost })
        })
        .collect();
    json!({
        // A kernel without connection has no TCP_INFO: datagrams, or a receiver opposite a model.
        "tcp_info": (facts.info.state != 0).then(|| info(&facts.info)),
        "connections": facts.connections.iter().map(info).collect::<Vec<_>>(),
        "undone": facts.undone(),
        "from": facts.from,
        "to": facts.to,
        "history": history,
        "faults": facts.faults,
    })
}

fn histogram(h: &Histogram) -> Value {
    json!({ "n": h.count(), "p50_us": us(h.quantile(0.5)), "p90_us": us(h.quantile(0.9)), "p99_us": us(h.quantile(0.99)),
            "p999_us": us(h.quantile(0.999)), "max_us": us(h.max()) })
}

pub(crate) fn timing(t: &Timing) -> Value {
    json!({
        "egress": histogram(&t.egress),
        "ingress_bound": histogram(&t.ingress),
        "refused": t.refused,
        "overrun": t.overrun,
        "strange": t.strange,
        "realtime": t.realtime,
        "offload": t.offload,
        "between_hosts": t.between.as_ref().map(between),
    })
}

/// JSON of the delays between hosts of a distributed run.
fn between(b: &Overhead) -> Value {
    let clocks: serde_json::Map<String, Value> = b
        .clocks
        .iter()
        .map(|(name, clock)| {
            let offset = json!({ "ahead_us": clock.ahead_ns as f64 / 1e3, "uncertain_us": us(clock.uncertain), "looks": clock.looks });
            (name.clone(), offset)
        })
        .collect();
    json!({
        "to_path": histogram(&b.to_path),
        "from_path": histogram(&b.from_path),
        "lost": b.lost,
        "overtaken": b.overtaken,
        "clocks": clocks,
        "clock_limit_us": us(b.clock_limit),
    })
}

fn way_between(b: &Overhead) -> String {
    let mut text = String::new();
    for (way, name) in [(&b.to_path, "to the path"), (&b.from_path, "from the path")] {
        text.push_str(&format!(
            "\n  between hosts, {name}: {:.0} us (half), {:.0} us (99 %), {:.0} us (at most) over {} packets",
            us(way.quantile(0.5)),
            us(way.quantile(0.99)),
            us(way.max()),
            way.count()
        ));
    }
    for (name, clock) in &b.clocks {
        text.push_str(&format!(
            "\n  the clock of {name} is {} us ahead of that of the host with the path, known to {:.0} us",
            clock.ahead_ns / 1000,
            us(clock.uncertain)
        ));
    }
    text
}
