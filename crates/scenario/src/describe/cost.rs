//! Cost estimate of a run before it starts: cells, repetitions, simulated seconds, packets, packet hops; and
//! the question before a very large run.
//!
//! The counts of cells and runs are exact; the rest is within a factor of a few. A bulk transfer runs at the
//! rate of its slowest link or of its window. Gate closures lengthen it; background load runs meanwhile.
//! Retransmissions are not estimated.

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::model::{App, CountedFrom, Flow, MessagePlan, Model, RequestPlan, Timing};
use crate::protocol::Sizes;
use crate::scenario::Scenario;
use base::dist::Dist;
use std::fmt;

/// Number of runs above which the user is asked.
pub const RUNS_TO_ASK: u64 = 1_000_000;
/// Packets times hops above which the user is asked: a few hours of one core.
pub const PACKET_HOPS_TO_ASK: f64 = 1e11;
/// Upper bound of cells in the estimate; larger grids are sampled evenly.
const SAMPLE: u64 = 64;

/// Cost of a scenario.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Cost {
    /// Combinations of the grid.
    pub cells: u64,
    /// Repetitions of each cell.
    pub repetitions: u32,
    /// Number of runs, cells times repetitions, saturating at `u64::MAX`.
    pub runs: u64,
    /// Simulated seconds of all runs, estimated.
    pub simulated_s: f64,
    /// Packets sent in all runs, estimated.
    pub packets: f64,
    /// Sum over packets of the links crossed, estimated; the run time is proportional to it.
    pub packet_hops: f64,
}

impl Scenario {
    /// Estimates the cost.
    pub fn cost(&self) -> Cost {
        let cells = self.cell_count().unwrap_or(u64::MAX);
        let repetitions = self.first().run.repetitions;
        let sample = cells.clamp(1, SAMPLE);
        let (mut simulated_s, mut packets, mut packet_hops, mut looked_at) = (0.0, 0.0, 0.0, 0.0);
        for i in 0..sample {
            let index = (u128::from(i) * u128::from(cells) / u128::from(sample)) as u64;
            let Ok(cell) = self.cell(index) else { continue };
            let one = one_run(&cell.model);
            looked_at += 1.0;
            simulated_s += one.0;
            packets += one.1;
            packet_hops += one.2;
        }
        let all = cells as f64 * f64::from(repetitions) / f64::max(looked_at, 1.0);
        Cost {
            cells,
            repetitions,
            runs: cells.saturating_mul(u64::from(repetitions)),
            simulated_s: simulated_s * all,
            packets: packets * all,
            packet_hops: packet_hops * all,
        }
    }

    /// Question before the start of a run whose size may be a mistake.
    pub fn question(&self) -> Option<Diagnostics> {
        let cost = self.cost();
        let (runs, work) = (cost.runs > RUNS_TO_ASK, cost.packet_hops > PACKET_HOPS_TO_ASK);
        if !(runs || work) {
            return None;
        }
        let axes = self.axis_sizes();
        let place = axes.first().map_or_else(Default::default, |(place, _)| *place);
        let message = if runs {
            format!("these are {} runs: {cost}", grouped(cost.runs as f64))
        } else {
            format!("this is a long computation: {cost}")
        };
        let mut diagnostic = Diagnostic::warning("huge", place, message);
        match axes.split_first() {
            Some(((_, n), others)) => {
                diagnostic = diagnostic.label(format!("times {n}"));
                for (place, n) in others.iter().take(4).filter(|(_, n)| *n > 1) {
                    diagnostic = diagnostic.also(*place, format!("times {n}"));
                }
                diagnostic = diagnostic.help(
                    "vary fewer keys at once, give several keys one axis (\"a, b\" = [[..., ...], ...]), or repeat \
                     less often",
                );
            }
            None => diagnostic = diagnostic.help("repeat less often, or give `run.limit` a shorter time"),
        }
        Some(self.diagnose(vec![diagnostic]))
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = |n: f64, word: &str| format!("{} {word}{}", grouped(n), if n == 1.0 { "" } else { "s" });
        write!(
            f,
            "{} of {}, about {} simulated and {} packets",
            plural(self.cells as f64, "cell"),
            plural(f64::from(self.repetitions), "repetition"),
            duration(self.simulated_s),
            grouped(two_digits(self.packets)),
        )
    }
}

/// Simulated seconds, packets, and packet hops of one repetition.
fn one_run(model: &Model) -> (f64, f64, f64) {
    let limit = model.run.limit.as_secs_f64();
    let (mut until, mut packets, mut hops) = (0.0f64, 0.0, 0.0);
    for flow in &model.flows {
        let (ends, data, acks) = one_flow(model, flow, limit);
        until = until.max(ends);
        packets += data + acks;
        hops += data * flow.route.len() as f64 + acks * flow.way_back.len() as f64;
    }
    let until = until.min(limit);
    for system in &model.systems {
        // A radio block costs about as much as ten packet hops; a mobile rarely keeps more than one timeslot
        // busy.
        let c = &system.plan.config;
        let slots = (3 * c.side * c.side * c.mac.slots) as f64;
        hops += 10.0 * 50.0 * until * slots.min(system.users.len() as f64);
    }
    for load in &model.backgrounds {
        let each = load.rate.bps() as f64 / (8.0 * f64::from(load.packet.max(1)));
        let sent = each * (until - typical(&load.start) / 1e9).max(0.0);
        for beyond in &load.beyond {
            packets += sent;
            hops += sent * (1 + beyond.len()) as f64;
        }
    }
    (until, packets, hops)
}

/// End of a flow in seconds, its data packets and its ACKs.
fn one_flow(model: &Model, flow: &Flow, limit: f64) -> (f64, f64, f64) {
    // A kernel counts as a model with default options, which is accurate enough for an estimate.
    let sizes = match (flow.transport.tcp(), flow.transport.model()) {
        (Some(config), _) => of_tcp(config),
        (_, Some(spec)) => spec.sizes(),
        _ => of_tcp(&transport::tcp::Config::default()),
    };
    let start = typical(&flow.start) / 1e9;
    let (bytes, lasts) = match &flow.app {
        App::Bulk { bytes, lasts } => (bytes, lasts),
        App::Requests(plan) => return asking(plan, sizes.payload, start, limit),
        App::Messages(plan) => return telling(plan, start, limit),
    };
    let links = || flow.route.iter().chain(&flow.way_back).map(|&l| &model.links[l]);
    let mss = f64::from(sizes.payload.max(1));
    let on_wire = mss + f64::from(sizes.header);
    // Payload rate of the slowest link on the route, and the round trip with one packet on each link.
    let share = |&l: &usize| Some(model.links[l].rate.mean_bps()? / greedy(model, l));
    let bps = flow.route.iter().filter_map(share).fold(f64::INFINITY, f64::min);
    let trip: f64 = links()
        .map(|l| l.delay.mean_s() + l.rate.mean_bps().map_or(0.0, |r| on_wire * 8.0 / r.max(1.0)))
        .sum();
    let window = sizes.window.min(1 << 30) as f64;
    let by_link = bps / 8.0 * mss / on_wire;
    let by_window = if trip > 0.0 { window / trip } else { f64::INFINITY };
    let open =
        links().flat_map(|l| &l.gates).fold(1.0f64, |open, &g| open.min(share_open(&model.gates[g].timing)));
    // Bytes per second; bounded, so that an unlimited path still takes time.
    let speed = (by_link.min(by_window) * open).clamp(1.0, 1e10);
    let time = lasts.map_or(limit, |l| l.as_secs_f64()).min((limit - start).max(0.0));
    let most = speed * time;
    let sent = bytes.map_or(most, |b| (b as f64).min(most));
    let segments = (sent / mss).ceil();
    let slow_start = trip * libm::log2(1.0 + segments).min(10.0);
    let ends = if bytes.is_some() { start + sent / speed + slow_start } else { start + time };
    (ends, segments, segments / sizes.acked_each.max(1.0))
}

fn of_tcp(config: &transport::tcp::Config) -> Sizes {
    let receiver = &config.receiver;
    Sizes {
        payload: config.mss,
        header: config.wire.header + if config.timestamps { config.wire.timestamps } else { 0 },
        window: receiver.window.bytes(config.mss, 1 << 20),
        acked_each: if receiver.ack_delay.is_zero() { 1.0 } else { f64::from(receiver.ack_every.max(1)) },
    }
}

/// Estimate for request and reply. Reply times are unknown, so that only think times count.
fn asking(plan: &RequestPlan, mss: u32, start: f64, limit: f64) -> (f64, f64, f64) {
    let pages = plan.pages.map_or(f64::INFINITY, |n| n as f64);
    let objects = typical(&plan.objects).min(1e6);
    let think = typical(&plan.think) / 1e9;
    let time = plan.lasts.map_or(limit, |l| l.as_secs_f64()).min((limit - start).max(0.0));
    // At least 0.1 s per page, so that a workload without think time has an end.
    let pages = pages.min(time / think.max(0.1));
    let most = plan.largest as f64;
    let segments = |bytes: f64| (bytes.min(most) / f64::from(mss.max(1))).ceil().max(1.0);
    let replies = segments(typical(&plan.reply)) + objects * segments(typical(&plan.object));
    let each = replies + (1.0 + objects) * segments(typical(&plan.request));
    (start + (pages * think.max(0.1)).min(time), pages * each, pages * each)
}

/// Estimate for messages.
fn telling(plan: &MessagePlan, start: f64, limit: f64) -> (f64, f64, f64) {
    let every = typical(&plan.every) / 1e9;
    let share = plan.bursts.as_ref().map_or(1.0, |(on, off)| share_of(typical(on), typical(off)));
    let time = plan.lasts.map_or(limit, |l| l.as_secs_f64()).min((limit - start).max(0.0));
    let messages = plan.count.map_or(f64::INFINITY, |n| n as f64).min(time / every.max(1e-9) * share);
    let packets = messages * (typical(&plan.size).min(1e12) / 1460.0).ceil();
    (start + (messages * every / share.max(1e-9)).min(time), packets, 0.0)
}

/// Estimated end of a flow, seconds.
pub fn ends(model: &Model, flow: &Flow) -> f64 {
    one_flow(model, flow, model.run.limit.as_secs_f64()).0
}

/// Number of bulk flows on a link, at least 1; they are taken to share its rate evenly.
fn greedy(model: &Model, link: usize) -> f64 {
    let bulk = |flow: &&Flow| matches!(flow.app, App::Bulk { .. }) && flow.route.contains(&link);
    model.flows.iter().filter(bulk).count().max(1) as f64
}

/// `on` as a share of `on` + `off`; 1 if both are 0.
fn share_of(on: f64, off: f64) -> f64 {
    if on + off > 0.0 { on / (on + off) } else { 1.0 }
}

/// Mean, or the median of a distribution without mean (Cauchy; Pareto with shape up to 1); not negative.
fn typical(dist: &Dist) -> f64 {
    let mean = dist.mean();
    let value = match dist {
        _ if mean.is_finite() => mean,
        Dist::Cauchy(median, _) => *median,
        Dist::Pareto(least, shape, _) => least * libm::pow(2.0, 1.0 / shape.max(0.1)),
        _ => 0.0,
    };
    value.max(0.0)
}

/// Share of time in which a gate is open, at least 0.05.
fn share_open(timing: &Timing) -> f64 {
    let share = match timing {
        Timing::Every { every, from, lasts, .. } => {
            let (every, lasts) = (typical(every), typical(lasts));
            let period = if *from == CountedFrom::End { every + lasts } else { every };
            1.0 - lasts / period
        }
        _ => 1.0,
    };
    if share.is_finite() { share.clamp(0.05, 1.0) } else { 0.05 }
}

/// A number with thousands separated: "1 234 567".
pub(crate) fn grouped(n: f64) -> String {
    let digits = format!("{n:.0}");
    let mut out = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(' ');
        }
        out.push(c);
    }
    out
}

/// Rounds to two significant digits, the precision of an estimate.
fn two_digits(n: f64) -> f64 {
    if n < 100.0 {
        return n.round();
    }
    let scale = libm::pow(10.0, libm::floor(libm::log10(n)) - 1.0);
    (n / scale).round() * scale
}

/// Duration in words, two significant digits.
fn duration(s: f64) -> String {
    let years = 365.25 * 86_400.0;
    for (unit, name) in [(years, "years"), (86_400.0, "days"), (3600.0, "h"), (60.0, "min")] {
        if s >= 3.0 * unit {
            return format!("{} {name}", grouped(two_digits(s / unit)));
        }
    }
    format!("{} s", grouped(two_digits(s)))
}
