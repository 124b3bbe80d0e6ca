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
pub(crate) const DRAIN: Span = Span::from_secs(3600);

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
    let mut running = Running::new(model, repetition, tracer, shuffle_ties);
    let mut stopped = |_: &Network| !goes_on();
    if !running.work(&mut stopped) || !running.drain(&mut stopped) {
        return None;
    }
    Some(running.judge())
}

/// Drives a repetition to its end and lets `each` look whenever `full` says so, and at the end. Its error ends the
/// repetition.
pub(crate) fn run_in_parts<E>(
    running: &mut Running<'_>,
    full: &mut dyn FnMut(&Network) -> bool,
    each: &mut dyn FnMut(&mut World) -> Result<(), E>,
) -> Result<(), E> {
    for phase in [Running::work, Running::drain] {
        loop {
            let over = phase(running, full);
            each(&mut running.world)?;
            if over {
                break;
            }
        }
    }
    Ok(())
}

/// A repetition under way. Its phases follow each other: workloads, drain, judgement.
pub(crate) struct Running<'m> {
    model: &'m Model,
    repetition: u64,
    pub(crate) world: World,
    waiting: Vec<Ends>,
    complete: bool,
    /// End of the drain, once it has begun.
    drained: Option<Time>,
}

impl<'m> Running<'m> {
    /// Builds the network and asks every element for its first wake-up.
    pub(crate) fn new(model: &'m Model, repetition: u64, tracer: Tracer, shuffle_ties: Option<u64>) -> Self {
        let seed = Seed { seed: model.run.seed, repetition };
        let mut world = build(model, seed, tracer);
        world.network.start(shuffle_ties);
        let waiting = world.flows.clone();
        Running { model, repetition, world, waiting, complete: false, drained: None }
    }

    fn limit(&self) -> Time {
        Time::ZERO + self.model.run.limit
    }

    /// Drives until every workload is done or the limit is reached. False if `stopped` was true before; a further
    /// call goes on.
    pub(crate) fn work(&mut self, stopped: &mut dyn FnMut(&Network) -> bool) -> bool {
        let limit = self.limit();
        let (waiting, mut halted) = (&mut self.waiting, false);
        self.world.network.run_while(
            limit,
            |network| {
                while waiting.last().is_some_and(|ends| finished(network, ends)) {
                    waiting.pop();
                }
                halted = !waiting.is_empty() && stopped(network);
                halted || waiting.is_empty()
            },
            LOOK_EVERY,
        );
        self.complete = self.waiting.is_empty();
        !halted
    }

    /// Closes background loads and drives until nothing is on its way. False if `stopped` was true before; a further
    /// call goes on.
    pub(crate) fn drain(&mut self, stopped: &mut dyn FnMut(&Network) -> bool) -> bool {
        let network = &mut self.world.network;
        let end = *self.drained.get_or_insert_with(|| {
            let now = network.now();
            for &id in &self.world.backgrounds {
                network.signal(now, id, Signal::Close);
            }
            now + DRAIN
        });
        if !self.complete {
            return true;
        }
        if network.run_while(end, stopped, LOOK_EVERY) && network.next_wake().is_some_and(|due| due <= end) {
            return false;
        }
        network.run_until(end);
        true
    }

    /// Measures of the flows and populations.
    pub(crate) fn judge(self) -> Outcome {
        let (model, world, limit) = (self.model, self.world, Time::ZERO + self.model.run.limit);
        let flows = measure::flows(model, &world, self.repetition, limit);
        let populations = crate::system::populations(model, &world, &flows, limit);
        Outcome { flows, populations, world, complete: self.complete }
    }
}

/// Whether the workload of a flow is done; true for doors, whose workloads are outside.
pub fn finished(network: &Network, ends: &Ends) -> bool {
    let done = |id| host::finished(network, id).is_none_or(|finished| finished.is_some());
    done(ends.from) && done(ends.to)
}
