//! Forecast of a run from pilot runs: simulated time, packets, frames, events, memory and processor time.
//!
//! Some cells of the grid are run for a bounded number of wake-ups. A repetition that ends within the bound is known
//! exactly, up to its weather; a longer one is extrapolated along the progress of its flows. What no pilot can run,
//! because real kernels take part, keeps the estimate of [`scenario::Cost`].

use crate::once::{LOOK_EVERY, finished};
use base::rng::Seed;
use base::trace::Tracer;
use base::{Span, Time};
use scenario::build::{World, build};
use scenario::model::{App, Model};
use scenario::{Cost, Scenario};
use std::cell::Cell;

/// Wake-ups of all pilots together: some hundredths of a second.
const BUDGET: u64 = 600_000;
/// Repetitions that are piloted at most, spread over the grid.
const PILOTS: u64 = 24;
/// Nanoseconds of one core that a wake-up, a delivery over one link and a frame take in a release build, and a
/// repetition to be built and judged (benches/README.md, and the comparison with 1 000 random scenarios in
/// fuzz/README.md).
const NS: [f64; 4] = [60.0, 90.0, 60.0, 60_000.0];
/// Bytes of the program before it runs anything; of a packet inside an element, its body and its record in the ledger
/// of a flow.
const BYTES: [f64; 3] = [9e6, 280.0, 60.0];

/// What a scenario will take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Forecast {
    /// Simulated seconds, all repetitions of all cells together.
    pub simulated_s: f64,
    /// Packets sent.
    pub packets: f64,
    /// Packets delivered by links.
    pub packet_hops: f64,
    /// Frames that channels sent, repeats included.
    pub frames: f64,
    /// Wake-ups: events of the calendar.
    pub events: f64,
    /// Peak memory of one repetition at a time, bytes.
    pub memory: f64,
    /// Processor time of one core, seconds.
    pub seconds: f64,
    /// Share of the piloted repetitions that ran to their end.
    pub exact: f64,
}

/// Forecasts a scenario in virtual time.
pub fn forecast(scenario: &Scenario, cost: &Cost) -> Forecast {
    let mut sum = Forecast {
        simulated_s: 0.0,
        packets: 0.0,
        packet_hops: 0.0,
        frames: 0.0,
        events: 0.0,
        memory: BYTES[0],
        seconds: 0.0,
        exact: 0.0,
    };
    let pilots = cost.runs.clamp(1, PILOTS);
    let mut ran = 0.0;
    for i in 0..pilots {
        let run = u128::from(i) * u128::from(cost.runs) / u128::from(pilots);
        let repetitions = u128::from(cost.repetitions.max(1));
        let Ok(cell) = scenario.cell((run / repetitions) as u64) else { continue };
        let one = pilot(&cell.model, (run % repetitions) as u64, BUDGET / pilots);
        ran += 1.0;
        sum.simulated_s += one.simulated_s;
        sum.packets += one.packets;
        sum.packet_hops += one.packet_hops;
        sum.frames += one.frames;
        sum.events += one.events;
        sum.memory = f64::max(sum.memory, one.memory);
        sum.exact += one.exact;
    }
    let all = cost.runs as f64 / f64::max(ran, 1.0);
    for value in
        [&mut sum.simulated_s, &mut sum.packets, &mut sum.packet_hops, &mut sum.frames, &mut sum.events]
    {
        *value *= all;
    }
    sum.exact /= f64::max(ran, 1.0);
    sum.seconds =
        1e-9 * (sum.events * NS[0] + sum.packet_hops * NS[1] + sum.frames * NS[2] + cost.runs as f64 * NS[3]);
    sum
}

/// Counters of a network at one instant.
#[derive(Clone, Copy, Default)]
struct Sight {
    at: f64,
    sent: f64,
    hops: f64,
    frames: f64,
    wakes: f64,
    inside: f64,
    /// Bytes that the receivers of bulk flows have, by flow.
    progress: f64,
}

fn pilot(model: &Model, repetition: u64, budget: u64) -> Forecast {
    let seed = Seed { seed: model.run.seed, repetition };
    let mut world = build(model, seed, Tracer::off());
    world.network.start(None);
    let limit = Time::ZERO + model.run.limit;
    let mut waiting = world.flows.clone();
    let (over, peak) = (Cell::new(false), Cell::new(0usize));
    let half = Cell::new(None::<Sight>);
    let ended = world.network.run_while(
        limit,
        |network| {
            while waiting.last().is_some_and(|ends| finished(network, ends)) {
                waiting.pop();
            }
            over.set(waiting.is_empty());
            let counters = network.counters();
            if counters.wakes % 256 < u64::from(LOOK_EVERY) {
                peak.set(peak.get().max(network.packets_inside()));
            }
            if half.get().is_none() && counters.wakes >= budget / 2 {
                half.set(Some(sight(model, network)));
            }
            over.get() || counters.wakes >= budget
        },
        LOOK_EVERY,
    );
    let now = sight(model, &world.network);
    let peak = peak.get().max(world.network.packets_inside()) as f64;
    let exact = over.get() || !ended;
    let end = if exact {
        f64::max(now.at, 0.0)
    } else {
        end_of(model, &world, half.get().unwrap_or_default(), now)
    };
    let from = half.get().unwrap_or_default();
    // The second half of the pilot is what goes on; a pilot that ended needs no more.
    let factor = if exact || now.at <= from.at { 0.0 } else { (end - now.at).max(0.0) / (now.at - from.at) };
    let on = |then: f64, before: f64| then + (then - before) * factor;
    // A queue without a limit grows on as it grew; others stay as full as they are.
    let inside = if now.inside > from.inside * 1.5 { on(now.inside, from.inside) } else { peak };
    let packets = on(now.sent, from.sent);
    Forecast {
        simulated_s: end,
        packets,
        packet_hops: on(now.hops, from.hops),
        frames: on(now.frames, from.frames),
        events: on(now.wakes, from.wakes),
        memory: BYTES[0] + inside.max(peak) * BYTES[1] + packets * BYTES[2],
        seconds: 0.0,
        exact: f64::from(u8::from(exact)),
    }
}

fn sight(model: &Model, network: &path::Network) -> Sight {
    let counters = network.counters();
    let bulk = |(i, _): (usize, _)| network.ledgers().get(2 * i).map_or(0, |ledger| ledger.acknowledged());
    let flows = model.flows.iter().enumerate().filter(|(_, flow)| matches!(flow.app, App::Bulk { .. }));
    Sight {
        at: network.now().as_secs_f64(),
        sent: counters.sent as f64,
        hops: counters.hops as f64,
        frames: counters.frames as f64,
        wakes: counters.wakes as f64,
        inside: network.packets_inside() as f64,
        progress: flows.map(bulk).sum::<u64>() as f64,
    }
}

/// When a repetition will end that has come to `now`.
fn end_of(model: &Model, world: &World, from: Sight, now: Sight) -> f64 {
    let limit = model.run.limit.as_secs_f64();
    let mut end = 0.0f64;
    for (flow, ends) in model.flows.iter().zip(&world.flows) {
        if finished(&world.network, ends) {
            continue;
        }
        let start = ends.start.since(Time::ZERO).as_secs_f64();
        let lasts = |lasts: &Option<Span>| lasts.map_or(limit, |span| start + span.as_secs_f64());
        let until = match &flow.app {
            App::Bulk { bytes: Some(_), lasts: longest } => {
                let all: f64 = model.flows.iter().filter_map(bytes).sum();
                let speed = (now.progress - from.progress) / (now.at - from.at).max(1e-9);
                let left = (all - now.progress).max(0.0);
                lasts(longest).min(if speed > 0.0 { now.at + left / speed } else { limit })
            }
            App::Bulk { lasts: longest, .. } => lasts(longest),
            App::Ask(_) | App::Tell(_) => scenario::cost::ends(model, flow).max(now.at),
        };
        end = end.max(until);
    }
    end.clamp(now.at, limit.max(now.at))
}

/// Bytes of a bulk flow.
fn bytes(flow: &scenario::model::Flow) -> Option<f64> {
    match flow.app {
        App::Bulk { bytes, .. } => bytes.map(|bytes| bytes as f64),
        _ => None,
    }
}
