//! Time series of one repetition: congestion window, RTT and RTO, acknowledged bytes, timeouts, queue lengths, drops,
//! states of state machines, gate closures.
//!
//! A sample is valid from its time until the next sample of the same series and subject. Queue lengths are computed
//! from enqueue, service and drop events; states from state events; gate closures from the random streams of the run.

use crate::once::{Options, run_once};
use base::event::{Event, Record};
use base::rng::Seed;
use base::{Span, Time};
use scenario::Model;
use scenario::build::closures;
use std::collections::{BTreeMap, BTreeSet};

/// Name, unit and definition of every series.
pub const SERIES: &[(&str, &str, &str)] = &[
    ("cwnd_bytes", "B", "congestion window of the flow's sender"),
    ("ssthresh_bytes", "B", "slow-start threshold; no sample while it is unlimited"),
    ("flight_bytes", "B", "data outstanding"),
    ("srtt_s", "s", "smoothed RTT"),
    ("rto_s", "s", "retransmission timeout"),
    ("acked_bytes", "B", "data acknowledged cumulatively at the sender"),
    ("timeouts", "", "expirations of the retransmission timer so far"),
    ("queue_packets", "", "packets that wait at a link; the packet in service is not counted"),
    ("queue_bytes", "B", "bytes that wait at a link"),
    ("dropped", "", "packets dropped at a link or other element so far"),
    ("state", "", "number of the state that a state machine is in, in the order of the scenario"),
    ("gate_closed", "", "1 while a gate is closed, else 0"),
];

/// One sample.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Seconds from the start of the run.
    pub t: f64,
    /// A name of [`SERIES`].
    pub series: &'static str,
    /// Flow, link, state machine or gate.
    pub subject: String,
    /// Value from `t` on.
    pub value: f64,
}

/// Runs a repetition with its trace and returns the series of all flows, links, state machines and gates, in
/// time order.
pub fn series(model: &Model, repetition: u64) -> Vec<Sample> {
    let mut outcome = run_once(model, repetition, Options { trace: true, shuffle_ties: None });
    let mut records = outcome.world.network.tracer().take();
    // A link records past events when it is next polled, so that records are not in time order.
    records.sort_by_key(|record| record.t);
    let mut out = Vec::new();
    for (flow, ends) in model.flows.iter().zip(&outcome.world.flows) {
        endpoint(&records, ends.from.0, &flow.name, &mut out);
    }
    elements(&records, &outcome.world.names, &mut out);
    let last = records.last().map_or(Time::ZERO, |record| record.t);
    weather(model, repetition, &records, last, &mut out);
    out.sort_by(|a, b| a.t.total_cmp(&b.t));
    out
}

/// Samples of a flow's sender: windows, RTT, RTO, acknowledged data, timeouts.
fn endpoint(records: &[Record], sender: u32, flow: &str, out: &mut Vec<Sample>) {
    let (mut timeouts, mut acked) = (0.0, 0);
    for record in records.iter().filter(|record| record.source.0 == sender) {
        let mut add = |series, value| {
            out.push(Sample { t: record.t.as_secs_f64(), series, subject: flow.to_owned(), value });
        };
        match record.event {
            Event::Window { cwnd, ssthresh, flight } => {
                add("cwnd_bytes", f64::from(cwnd));
                if ssthresh != u32::MAX {
                    add("ssthresh_bytes", f64::from(ssthresh));
                }
                add("flight_bytes", f64::from(flight));
            }
            Event::Timer { rto, srtt, .. } => {
                if srtt > Span::ZERO {
                    add("srtt_s", srtt.as_secs_f64());
                }
                add("rto_s", rto.as_secs_f64());
            }
            // The SYN occupies the first sequence number.
            Event::AckReceived { ack, .. } if ack > acked => {
                acked = ack;
                add("acked_bytes", ack.saturating_sub(1) as f64);
            }
            Event::RtoFired { .. } => {
                timeouts += 1.0;
                add("timeouts", timeouts);
            }
            _ => {}
        }
    }
}

/// Queue length and drops of every element.
fn elements(records: &[Record], names: &[String], out: &mut Vec<Sample>) {
    let mut waiting: BTreeMap<u32, BTreeMap<u64, u32>> = BTreeMap::new();
    let mut dropped: BTreeMap<u32, f64> = BTreeMap::new();
    for record in records {
        let at = record.source.0;
        let changed = match record.event {
            Event::Enqueued { packet, size, .. } => {
                waiting.entry(at).or_default().insert(packet, size).is_none()
            }
            Event::ServiceStarted { packet } => waiting.entry(at).or_default().remove(&packet).is_some(),
            Event::Dropped { packet, .. } => {
                *dropped.entry(at).or_default() += 1.0;
                waiting.entry(at).or_default().remove(&packet).is_some()
            }
            _ => continue,
        };
        let Some(subject) = names.get(at as usize) else { continue };
        let mut add = |series, value| {
            out.push(Sample { t: record.t.as_secs_f64(), series, subject: subject.clone(), value });
        };
        if let Event::Dropped { .. } = record.event {
            add("dropped", dropped[&at]);
        }
        if changed {
            let queue = &waiting[&at];
            add("queue_packets", queue.len() as f64);
            add("queue_bytes", queue.values().map(|size| f64::from(*size)).sum());
        }
    }
}

/// States of state machines and gate closures.
fn weather(model: &Model, repetition: u64, records: &[Record], last: Time, out: &mut Vec<Sample>) {
    // Several links that follow one machine record the same change.
    let mut seen = BTreeSet::new();
    for record in records {
        let Event::StateEntered { machine, state, .. } = record.event else { continue };
        let Some(of) = model.machines.get(machine as usize) else { continue };
        if seen.insert((machine, record.t)) {
            let (t, value) = (record.t.as_secs_f64(), f64::from(state));
            out.push(Sample { t, series: "state", subject: of.name.clone(), value });
        }
    }
    let seed = Seed { seed: model.run.seed, repetition };
    for (gate, from, until) in closures(model, seed, last) {
        for (t, value) in [(from, 1.0), (until, 0.0)] {
            let subject = model.gates[gate].name.clone();
            out.push(Sample { t: t.as_secs_f64(), series: "gate_closed", subject, value });
        }
    }
}
