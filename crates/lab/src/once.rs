//! One repetition in virtual time: build, run, drain.
//!
//! Built, driven until every workload is done, then until nothing is on its way any more, so that the truth about
//! every packet is known.

use crate::measure::{self, FlowMeasures};
use base::event::Category;
use base::rng::Seed;
use base::trace::Tracer;
use base::{Span, Time};
use path::{Network, Signal};
use scenario::Model;
use scenario::build::{Ends, World, build};
use std::sync::atomic::{AtomicBool, Ordering};

/// What to record beside the counters.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Options {
    /// Keep the events of path and transport.
    pub trace: bool,
    /// Break ties by this seed instead of by position.
    pub shuffle_ties: Option<u64>,
}

/// A repetition that has been run.
pub struct Outcome {
    /// What each flow measured, in the order of the model.
    pub flows: Vec<FlowMeasures>,
    /// The network as it was left, with its trace.
    pub world: World,
    /// Populations of networks of cells: name and numbers, in the order of the model.
    pub populations: Vec<(String, FlowMeasures)>,
    /// Every workload was done before the limit.
    pub complete: bool,
}

/// How often the end is looked for: after so many wake-ups.
pub(crate) const LOOK_EVERY: u32 = 16;
/// What is still on its way when all workloads are done may take so long.
const DRAIN: Span = Span::from_secs(3600);

/// Runs repetition `repetition` of a model.
pub fn run_once(model: &Model, repetition: u64, options: Options) -> Outcome {
    let tracer = if options.trace {
        Tracer::of(&[Category::Path, Category::Transport, Category::Radio])
    } else {
        Tracer::off()
    };
    run_recorded(model, repetition, tracer, options.shuffle_ties)
}

/// [`run_once`] that ends early, without an outcome, once `stop` is set: within some milliseconds.
pub fn run_until_stopped(
    model: &Model,
    repetition: u64,
    options: Options,
    stop: &AtomicBool,
) -> Option<Outcome> {
    let tracer = if options.trace {
        Tracer::of(&[Category::Path, Category::Transport, Category::Radio])
    } else {
        Tracer::off()
    };
    run_while(model, repetition, tracer, options.shuffle_ties, &|| !stop.load(Ordering::Relaxed))
}

/// The same, with a recorder of the caller's choice.
pub fn run_recorded(model: &Model, repetition: u64, tracer: Tracer, shuffle_ties: Option<u64>) -> Outcome {
    match run_while(model, repetition, tracer, shuffle_ties, &|| true) {
        Some(outcome) => outcome,
        None => unreachable!("nothing stops it"),
    }
}

fn run_while(
    model: &Model,
    repetition: u64,
    tracer: Tracer,
    shuffle_ties: Option<u64>,
    goes_on: &dyn Fn() -> bool,
) -> Option<Outcome> {
    let seed = Seed { seed: model.run.seed, repetition };
    let mut world = build(model, seed, tracer);
    world.network.start(shuffle_ties);
    let limit = Time::ZERO + model.run.limit;
    let mut waiting: Vec<Ends> = world.flows.clone();
    let complete = world.network.run_while(
        limit,
        |network| {
            while waiting.last().is_some_and(|ends| finished(network, ends)) {
                waiting.pop();
            }
            waiting.is_empty() || !goes_on()
        },
        LOOK_EVERY,
    );
    if !goes_on() {
        return None;
    }
    for &id in &world.backgrounds {
        world.network.signal(world.network.now(), id, Signal::Close);
    }
    if complete {
        let end = world.network.now() + DRAIN;
        world.network.run_until(end);
    }
    let flows = measure::flows(model, &world, repetition, limit);
    let populations = crate::system::populations(model, &world, &flows, limit);
    Some(Outcome { flows, populations, world, complete })
}

/// Whether the workload of a flow is done; true for doors, whose workloads are outside.
pub fn finished(network: &Network, ends: &Ends) -> bool {
    let done = |id| host::finished(network, id).is_none_or(|finished| finished.is_some());
    done(ends.from) && done(ends.to)
}
