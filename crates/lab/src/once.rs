//! One repetition in virtual time.
//!
//! Driven until every workload is done, then until nothing is on its way any more, so that the truth about every packet
//! is known ([`crate::run`]).

use crate::run::{self, Clock, End, Pending, Run};
use base::trace::Tracer;
use scenario::Model;
use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, Ordering};

pub use crate::run::{Outcome, finished};

/// What to record beside the counters.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Options {
    /// Keep the events of path and transport.
    pub trace: bool,
    /// Break ties by this seed instead of by position.
    pub shuffle_ties: Option<u64>,
}

/// Wake-ups between two looks at whether the run is over.
pub(crate) const LOOK_EVERY: u32 = 16;

/// Virtual time: the next instant is that of the next event.
struct Virtual<'a> {
    shuffle_ties: Option<u64>,
    goes_on: &'a dyn Fn() -> bool,
}

impl Clock for Virtual<'_> {
    type Error = Infallible;

    fn shuffle_ties(&self) -> Option<u64> {
        self.shuffle_ties
    }

    fn drive(&mut self, run: &mut Run<'_>) -> Result<End, Infallible> {
        let mut pending = Pending::new(run.world.flows.clone());
        let goes_on = self.goes_on;
        let over = |network: &path::Network| pending.is_over(network) || !goes_on();
        let complete = run.world.network.run_while(run.limit, over, LOOK_EVERY);
        Ok(match (goes_on(), complete) {
            (false, _) => End::Abandoned,
            (true, true) => End::Complete,
            (true, false) => End::Incomplete,
        })
    }
}

/// Runs repetition `repetition` of a model.
pub fn run_once(model: &Model, repetition: u64, options: Options) -> Outcome {
    run_recorded(model, repetition, run::tracer(options.trace), options.shuffle_ties)
}

/// [`run_once`] that ends early, without an outcome, once `stop` is set: within some milliseconds.
pub fn run_until_stopped(
    model: &Model,
    repetition: u64,
    options: Options,
    stop: &AtomicBool,
) -> Option<Outcome> {
    let tracer = run::tracer(options.trace);
    run_while(model, repetition, tracer, options.shuffle_ties, &|| !stop.load(Ordering::Relaxed))
}

/// [`run_once`] with a recorder of the caller's choice.
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
    let Ok(outcome) = run::run(model, repetition, tracer, &mut Virtual { shuffle_ties, goes_on });
    outcome
}
