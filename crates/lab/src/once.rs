//! Driver of one repetition in virtual time: workloads, drain, evaluation.
//!
//! A repetition runs until every workload is done and then until no packet is in flight, so that the fate of
//! every packet is known ([`crate::run`]).

use crate::run::{self, DRAIN, Pending, Run};
use base::Time;
use base::trace::Tracer;
use path::Network;
use scenario::Model;
use scenario::build::World;
use std::sync::atomic::{AtomicBool, Ordering};

pub use crate::run::{RunOutcome, finished};

/// Optional recording and tie-break of a repetition.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Options {
    /// Keep the events of path and transport.
    pub trace: bool,
    /// Seed of a random tie-break; `None` breaks ties by position.
    pub shuffle_ties: Option<u64>,
}

/// Number of wake-ups between two checks whether all workloads are done.
pub(crate) const LOOK_EVERY: u32 = 16;

/// Runs repetition `repetition` of a model.
pub fn run_once(model: &Model, repetition: u64, options: Options) -> RunOutcome {
    run_recorded(model, repetition, run::tracer(options.trace), options.shuffle_ties)
}

/// [`run_once`] that ends early, without an outcome, some milliseconds after `stop` is set.
pub fn run_until_stopped(
    model: &Model,
    repetition: u64,
    options: Options,
    stop: &AtomicBool,
) -> Option<RunOutcome> {
    recorded_until_stopped(model, repetition, run::tracer(options.trace), options.shuffle_ties, stop)
}

/// [`run_until_stopped`] with a recorder of the caller's choice.
pub(crate) fn recorded_until_stopped(
    model: &Model,
    repetition: u64,
    tracer: Tracer,
    shuffle_ties: Option<u64>,
    stop: &AtomicBool,
) -> Option<RunOutcome> {
    run_while(model, repetition, tracer, shuffle_ties, &|| !stop.load(Ordering::Relaxed))
}

/// [`run_until_stopped`] for a model whose missing endpoints `attach` adds to the network. The run ends early when
/// `goes_on` returns false.
///
/// # Errors
/// Errors of `attach`.
pub fn run_attached<E>(
    model: &Model,
    repetition: u64,
    shuffle_ties: Option<u64>,
    attach: &mut dyn FnMut(&mut World) -> Result<(), E>,
    goes_on: &dyn Fn() -> bool,
) -> Result<Option<RunOutcome>, E> {
    let mut running = Running::new(model, repetition, Tracer::off(), shuffle_ties);
    attach(running.world())?;
    Ok(running.judged(goes_on))
}

/// [`run_once`] with a recorder of the caller's choice.
pub fn run_recorded(model: &Model, repetition: u64, tracer: Tracer, shuffle_ties: Option<u64>) -> RunOutcome {
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
) -> Option<RunOutcome> {
    Running::new(model, repetition, tracer, shuffle_ties).judged(goes_on)
}

/// Runs a repetition to its end. `each` is called whenever `full` returns true, and at the end of workloads and
/// drain; an error of `each` ends the repetition.
pub(crate) fn run_in_parts<E>(
    running: &mut Running<'_>,
    full: &mut dyn FnMut(&Network) -> bool,
    each: &mut dyn FnMut(&mut World) -> Result<(), E>,
) -> Result<(), E> {
    for phase in [Running::work, Running::drain] {
        loop {
            let over = phase(running, full);
            each(running.world())?;
            if over {
                break;
            }
        }
    }
    Ok(())
}

/// A running repetition, in three phases: workloads, drain, evaluation.
pub(crate) struct Running<'m> {
    run: Run<'m>,
    pending: Pending,
    /// Latest end of the drain, once the drain has begun.
    drained: Option<Time>,
}

impl<'m> Running<'m> {
    /// Builds the network and queries every element for its first wake-up.
    pub(crate) fn new(model: &'m Model, repetition: u64, tracer: Tracer, shuffle_ties: Option<u64>) -> Self {
        let mut run = Run::new(model, repetition, tracer);
        run.world.network.start(shuffle_ties);
        let pending = Pending::new(run.world.flows.clone());
        Running { run, pending, drained: None }
    }

    /// Runs to the end and returns the outcome; `None` once `goes_on` returns false.
    fn judged(mut self, goes_on: &dyn Fn() -> bool) -> Option<RunOutcome> {
        let mut stopped = |_: &Network| !goes_on();
        if !self.work(&mut stopped) || !self.drain(&mut stopped) {
            return None;
        }
        Some(self.judge())
    }

    /// The network and the index of its elements.
    pub(crate) fn world(&mut self) -> &mut World {
        &mut self.run.world
    }

    /// Runs until every workload is done or the limit is reached. Returns false if `stopped` ended the run earlier; a
    /// further call continues.
    pub(crate) fn work(&mut self, stopped: &mut dyn FnMut(&Network) -> bool) -> bool {
        let (limit, pending, mut halted) = (self.run.limit, &mut self.pending, false);
        // With background load the run ends at the exact wake-up, so that its results do not depend on how
        // often this loop checks.
        let every = if self.run.world.backgrounds.is_empty() { LOOK_EVERY } else { 1 };
        self.run.world.network.run_while(
            limit,
            |network| {
                let over = pending.is_over(network);
                halted = !over && stopped(network);
                halted || over
            },
            every,
        );
        !halted
    }

    /// Closes background loads. If all workloads are done, runs until no packet is in flight. Returns false if
    /// `stopped` ended the drain earlier; a further call continues.
    pub(crate) fn drain(&mut self, stopped: &mut dyn FnMut(&Network) -> bool) -> bool {
        let run = &mut self.run;
        let end = *self.drained.get_or_insert_with(|| {
            run.close_background();
            run.world.network.now() + DRAIN
        });
        if !self.pending.is_empty() {
            return true;
        }
        let network = &mut self.run.world.network;
        if network.run_while(end, stopped, LOOK_EVERY) && network.next_wake().is_some_and(|due| due <= end) {
            return false;
        }
        network.run_until(end);
        true
    }

    /// Metrics of the flows and populations.
    pub(crate) fn judge(self) -> RunOutcome {
        let complete = self.pending.is_empty();
        self.run.measured(complete)
    }
}
