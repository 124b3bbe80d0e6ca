//! Cost estimate of a run from pilot repetitions: simulated time, packets, frames, events, memory and
//! processor time.
//!
//! Some repetitions of the grid are run as by [`crate::once`], drain included, for a bounded number of
//! wake-ups. For a repetition that ends within the bound all counts are exact, except for other weather; a
//! longer one is extrapolated along the progress of its flows. Processor time and memory are measured on the
//! pilots with the driver's meters. A repetition with real kernels has no pilot and keeps the estimate of
//! [`scenario::Cost`].

use crate::once::{LOOK_EVERY, Running, finished};
use crate::run::DRAIN;
use base::trace::Tracer;
use base::{Span, Time};
use path::{ElementId, Network};
use scenario::build::World;
use scenario::model::{App, Model};
use scenario::{Cost, Scenario};
use std::cell::Cell;

/// Bound on the wake-ups of all pilots together; they take some tenths of a second in a release build.
const BUDGET: u64 = 1_500_000;
/// Processor time of a simulated second of a mobile in a system of cells, in wake-ups (about 40 us beside
/// 2 us, benches/README.md): a system passes over all mobiles once a radio block.
const MOBILE_SECOND: f64 = 20.0;
/// Upper bound of pilot repetitions, spread over the grid.
const PILOTS: u64 = 24;
/// Wake-ups between two readings of the number of packets in the network.
const READ_EVERY: u64 = 256;
/// Bytes of a packet in an element, body included.
const PACKET: f64 = 280.0;
/// Bytes that the ledgers keep of a packet sent: one bit, in a vector that doubles.
const ARRIVAL: f64 = 1.5 / 8.0;
/// Bytes that a repetition keeps of a retransmission (record, first copy, verdict), of a dropped data packet, and of the
/// time of a message, response or page (with the copy that is sorted); vectors that double included.
const RECORDS: [f64; 3] = [220.0, 18.0, 20.0];

/// Meters of the process, passed in by the driver.
#[derive(Clone, Copy)]
pub struct Meters<'a> {
    /// Processor time of the calling thread so far.
    pub processor: &'a dyn Fn() -> Span,
    /// Resident memory of the process, bytes.
    pub resident: &'a dyn Fn() -> f64,
}

impl std::fmt::Debug for Meters<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Meters")
    }
}

/// Cost of a scenario, all repetitions of all cells together.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Forecast {
    /// Simulated seconds.
    pub simulated_s: f64,
    /// Packets sent.
    pub packets: f64,
    /// Packets delivered by links.
    pub packet_hops: f64,
    /// Frames that channels sent, repeats included.
    pub frames: f64,
    /// Wake-ups (calendar events).
    pub events: f64,
    /// Peak memory of one repetition at a time, bytes.
    pub memory: f64,
    /// Processor time, seconds of one core.
    pub seconds: f64,
    /// Share of the pilots that ran to their end.
    pub exact: f64,
}

/// Nanoseconds of one core in a release build for a wake-up, a delivery over one link, a frame, and the
/// set-up and evaluation of a repetition (benches/README.md). Then bytes of resident memory before the first
/// repetition.
const UNMEASURED: ([f64; 4], f64) = ([60.0, 90.0, 60.0, 60_000.0], 9e6);

/// Forecasts a scenario in virtual time without meters: processor time and memory are rough.
pub fn forecast(scenario: &Scenario, cost: &Cost) -> Forecast {
    let mut of = measured(scenario, cost, Meters { processor: &|| Span::ZERO, resident: &|| 0.0 });
    let (ns, bytes) = UNMEASURED;
    let work = of.events * ns[0] + of.packet_hops * ns[1] + of.frames * ns[2] + cost.runs as f64 * ns[3];
    of.seconds = 1e-9 * work;
    of.memory += bytes;
    of
}

/// Forecasts a scenario in virtual time; processor time and memory are measured on the pilots.
pub fn measured(scenario: &Scenario, cost: &Cost, meters: Meters<'_>) -> Forecast {
    let mut sum = Forecast::default();
    let pilots = cost.runs.clamp(1, PILOTS);
    let (mut ran, mut left) = (0.0, BUDGET);
    for i in 0..pilots {
        let run = u128::from(i) * u128::from(cost.runs) / u128::from(pilots);
        let repetitions = u128::from(cost.repetitions.max(1));
        let began = (meters.processor)();
        let Ok(cell) = scenario.cell((run / repetitions) as u64) else { continue };
        // Wake-ups that short pilots leave unused go to later pilots.
        let budget = left / (pilots - i);
        let (one, used) = pilot(&cell.model, (run % repetitions) as u64, budget, meters, began);
        left = left.saturating_sub(used);
        ran += 1.0;
        sum.simulated_s += one.simulated_s;
        sum.packets += one.packets;
        sum.packet_hops += one.packet_hops;
        sum.frames += one.frames;
        sum.events += one.events;
        sum.seconds += one.seconds;
        sum.memory = f64::max(sum.memory, one.memory);
        sum.exact += one.exact;
    }
    let all = cost.runs as f64 / f64::max(ran, 1.0);
    for value in [
        &mut sum.simulated_s,
        &mut sum.packets,
        &mut sum.packet_hops,
        &mut sum.frames,
        &mut sum.events,
        &mut sum.seconds,
    ] {
        *value *= all;
    }
    sum.exact /= f64::max(ran, 1.0);
    sum
}

/// Work inside the systems of cells of a model in a simulated second, in wake-ups that take as long.
pub fn system_work(model: &Model) -> f64 {
    MOBILE_SECOND * model.systems.iter().map(|system| system.users.len() as f64).sum::<f64>()
}

/// Counters of a network at one instant.
#[derive(Clone, Copy, Default)]
struct Reading {
    at: f64,
    sent: f64,
    hops: f64,
    frames: f64,
    wakes: f64,
    inside: f64,
    /// Bytes of records kept until the end.
    records: f64,
    /// Bytes that the receivers of bulk flows have received.
    progress: f64,
    /// Processor time since the pilot began, seconds.
    processor: f64,
    /// Resident memory of the process, bytes.
    resident: f64,
}

/// Meters of one pilot, and the processor time that does not count: time before its cell was built, and cost
/// of the readings (a read of resident memory costs as much as hundreds of wake-ups).
struct Gauge<'a> {
    model: &'a Model,
    /// Both ends of each flow.
    ends: Vec<[ElementId; 2]>,
    meters: Meters<'a>,
    began: Cell<Span>,
}

impl Gauge<'_> {
    /// Processor time of the pilot so far, seconds.
    fn processor(&self) -> f64 {
        (self.meters.processor)().as_secs_f64() - self.began.get().as_secs_f64()
    }

    /// A reading whose processor time is not charged to the pilot.
    fn free<T>(&self, read: impl FnOnce() -> T) -> T {
        let before = (self.meters.processor)();
        let value = read();
        let cost = (self.meters.processor)() - before;
        self.began.set(self.began.get() + cost);
        value
    }

    /// Resident memory, bytes.
    fn resident(&self) -> f64 {
        self.free(self.meters.resident)
    }

    /// Bytes of the records that ledgers and applications keep until the end.
    fn records(&self, network: &Network) -> f64 {
        let ledgers = network.ledgers().iter();
        let kept = ledgers.map(|l| [l.retransmissions(), l.drops.len()]);
        let times = |id: &ElementId| {
            let stats = host::report(network, *id).and_then(|report| report.stats).unwrap_or_default();
            stats.delays.len() + stats.responses.len() + stats.pages.len()
        };
        let times: usize = self.ends.iter().flatten().map(times).sum();
        let sum = |at: usize| kept.clone().map(|kept| kept[at]).sum::<usize>() as f64;
        sum(0) * RECORDS[0] + sum(1) * RECORDS[1] + times as f64 * RECORDS[2]
    }
}

impl Reading {
    fn of(gauge: &Gauge<'_>, network: &Network) -> Reading {
        let model = gauge.model;
        let counters = network.counters();
        let bulk =
            |(i, _): (usize, _)| network.ledgers().get(2 * i).map_or(0, |ledger| ledger.acknowledged());
        let flows = model.flows.iter().enumerate().filter(|(_, flow)| matches!(flow.app, App::Bulk { .. }));
        Reading {
            at: network.now().as_secs_f64(),
            sent: counters.sent as f64,
            hops: counters.hops as f64,
            frames: counters.frames as f64,
            wakes: counters.wakes as f64,
            inside: network.packets_inside() as f64,
            progress: flows.map(bulk).sum::<u64>() as f64,
            processor: gauge.processor(),
            // Read before the reports of the ends are copied, which takes memory.
            resident: gauge.resident(),
            records: gauge.free(|| gauge.records(network)),
        }
    }

    /// Extrapolates the counters that grow with work: packets, hops, frames, wake-ups, records, processor
    /// time. Adds `times` the difference `self - before` to `self`.
    fn on(self, before: Reading, times: f64) -> Reading {
        let on = |now: f64, before: f64| now + (now - before).max(0.0) * times;
        Reading {
            sent: on(self.sent, before.sent),
            hops: on(self.hops, before.hops),
            frames: on(self.frames, before.frames),
            wakes: on(self.wakes, before.wakes),
            records: on(self.records, before.records),
            processor: on(self.processor, before.processor),
            ..self
        }
    }

    /// Packets that have left the network.
    fn left(self) -> f64 {
        self.sent - self.inside
    }
}

/// Forecast from the beginning of a repetition, and the work it took: wake-ups and work inside of systems,
/// at most about `budget`. `began` is the processor time before its cell was built.
fn pilot(model: &Model, repetition: u64, budget: u64, meters: Meters<'_>, began: Span) -> (Forecast, u64) {
    let mut running = Running::new(model, repetition, Tracer::off(), None);
    let ends = running.world().flows.iter().map(|ends| [ends.from, ends.to]).collect();
    let gauge = Gauge { model, ends, meters, began: Cell::new(began) };
    let mut half = None;
    let mut peak = 0;
    let inside_systems = system_work(model);
    let work =
        |network: &Network| network.counters().wakes + (inside_systems * network.now().as_secs_f64()) as u64;
    let mut spent = |network: &Network| {
        let wakes = network.counters().wakes;
        if wakes % READ_EVERY < u64::from(LOOK_EVERY) {
            peak = peak.max(network.packets_inside());
        }
        let work = work(network);
        if half.is_none() && work >= budget / 2 {
            half = Some(Reading::of(&gauge, network));
        }
        work >= budget
    };
    let worked = running.work(&mut spent);
    let worked_at = Reading::of(&gauge, &running.world().network);
    let drained = worked && running.drain(&mut spent);
    let now = Reading::of(&gauge, &running.world().network);
    let used = work(&running.world().network);
    let half = half.unwrap_or_default();
    let (exact, peak) = (f64::from(u8::from(drained)), peak as f64);
    let (end, then) = if drained {
        drop(running.judge());
        (worked_at.at, Reading { processor: gauge.processor(), ..now })
    } else if worked {
        (worked_at.at, drained_on(worked_at, now))
    } else {
        worked_on(model, running.world(), half, now)
    };
    let grown = (then.inside.max(peak) - now.inside.max(peak)) * PACKET
        + (then.sent - now.sent) * ARRIVAL
        + (then.records - now.records);
    let forecast = Forecast {
        simulated_s: end,
        packets: then.sent,
        packet_hops: then.hops,
        frames: then.frames,
        events: then.wakes,
        memory: [half, worked_at, now].iter().map(|r| r.resident).fold(0.0, f64::max) + grown,
        seconds: then.processor,
        exact,
    };
    (forecast, used)
}

/// End of the workloads, s, and counters after the drain, for a repetition that is at `now` within its
/// workloads. Extrapolates the interval from `half` to `now`.
fn worked_on(model: &Model, world: &World, half: Reading, now: Reading) -> (f64, Reading) {
    let end = end_of(model, world, half, now);
    let lasted = (now.at - half.at).max(1e-9);
    let times = (end - now.at).max(0.0) / lasted;
    let mut then = now.on(half, times);
    // A queue without a limit keeps growing at its rate; other queues keep their length.
    if now.inside > half.inside * 1.5 {
        then.inside = now.inside + (now.inside - half.inside) * times;
    }
    let left = now.left() - half.left();
    if end < model.run.limit.as_secs_f64() && left > 0.0 {
        // Packets in the network leave at the rate seen so far, for at most the length of a drain.
        let drained = then.inside.min(left / lasted * DRAIN.as_secs_f64());
        let drain = now.on(half, drained / left);
        let counted = |then: f64, drain: f64, now: f64| then + drain - now;
        then = Reading {
            hops: counted(then.hops, drain.hops, now.hops),
            frames: counted(then.frames, drain.frames, now.frames),
            wakes: counted(then.wakes, drain.wakes, now.wakes),
            processor: counted(then.processor, drain.processor, now.processor),
            ..then
        };
    }
    (end, then)
}

/// Counters after the drain, for a repetition that is at `now` within a drain that began at `from`.
fn drained_on(from: Reading, now: Reading) -> Reading {
    let lasted = (now.at - from.at).max(1e-9);
    let longest = (DRAIN.as_secs_f64() - lasted).max(0.0) / lasted;
    let left = from.inside - now.inside;
    let times = if left > 0.0 { (now.inside / left).min(longest) } else { longest };
    now.on(from, times)
}

/// Expected end of the workloads, s, of a repetition that is at `now`.
fn end_of(model: &Model, world: &World, from: Reading, now: Reading) -> f64 {
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
            App::Requests(_) | App::Messages(_) => scenario::cost::ends(model, flow).max(now.at),
        };
        end = end.max(until);
    }
    end.clamp(now.at, limit.max(now.at))
}

/// Total bytes of a bulk flow; `None` for other workloads.
fn bytes(flow: &scenario::model::Flow) -> Option<f64> {
    match flow.app {
        App::Bulk { bytes, .. } => bytes.map(|bytes| bytes as f64),
        _ => None,
    }
}
