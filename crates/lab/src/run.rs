//! Run loop of one repetition under any clock: build, start, drive, drain, evaluate.
//!
//! A [`Clock`] attaches the endpoints outside of the model and advances time: real time (`emulate`), or real
//! kernels in virtual time (`uml`). Virtual time with models only (`once`) has the same phases, so that metrics
//! have the same definitions under all clocks.

use crate::measure::{self, FlowMeasures};
use base::event::Category;
use base::rng::Seed;
use base::trace::Tracer;
use base::{Span, Time};
use path::{Network, Signal};
use scenario::Model;
use scenario::build::{Ends, World, build};

/// Upper bound of the drain: time in which packets leave the network after the end of all workloads.
pub(crate) const DRAIN: Span = Span::from_secs(3600);

/// Result of a finished repetition.
pub struct RunOutcome {
    /// Metrics of each flow, in the order of the model.
    pub flows: Vec<FlowMeasures>,
    /// The network at the end of the run, with its trace.
    pub world: World,
    /// Populations of networks of cells: name and metrics, in the order of the model.
    pub populations: Vec<(String, FlowMeasures)>,
    /// True if every workload was done before the limit.
    pub complete: bool,
}

/// A repetition while it runs.
pub struct Run<'m> {
    /// The checked scenario.
    pub model: &'m Model,
    /// Number of the repetition, from 0.
    pub repetition: u64,
    /// Seed of the repetition's random streams.
    pub seed: Seed,
    /// Time at which the run ends even if workloads are not done.
    pub limit: Time,
    /// The network and the index of its elements.
    pub world: World,
}

/// Outcome of [`Clock::drive`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunEnd {
    /// Every workload was done before the limit.
    Complete,
    /// The limit or the caller ended the run first; the metrics are those of an unfinished run.
    Incomplete,
    /// The caller needs no metrics.
    Abandoned,
}

/// Clock of a repetition, with the endpoints that are not part of the model.
pub trait Clock {
    /// Error that prevents a repetition.
    type Error;

    /// Adds the endpoints that the model lacks under this clock to the network. Called once, before the
    /// network starts.
    ///
    /// # Errors
    /// An endpoint is not available.
    fn attach(&mut self, _run: &mut Run<'_>) -> Result<(), Self::Error> {
        Ok(())
    }

    /// Seed that breaks ties between events of one instant; `None` breaks ties by position.
    fn shuffle_ties(&self) -> Option<u64> {
        None
    }

    /// Advances time until all workloads are done, the limit is reached or the caller stops it. Delivers the
    /// reports of outside endpoints to their packet ports. Called once, after the network has started.
    ///
    /// # Errors
    /// An endpoint or a system call failed.
    fn drive(&mut self, run: &mut Run<'_>) -> Result<RunEnd, Self::Error>;
}

/// Runs repetition `repetition` of a model under a clock; no outcome if the clock abandons it.
///
/// # Errors
/// Errors of the clock.
pub fn run<C: Clock>(
    model: &Model,
    repetition: u64,
    tracer: Tracer,
    clock: &mut C,
) -> Result<Option<RunOutcome>, C::Error> {
    let mut run = Run::new(model, repetition, tracer);
    clock.attach(&mut run)?;
    run.world.network.start(clock.shuffle_ties());
    let end = clock.drive(&mut run)?;
    Ok((end != RunEnd::Abandoned).then(|| run.finish(end == RunEnd::Complete)))
}

impl<'m> Run<'m> {
    /// Builds the network of a repetition.
    pub(crate) fn new(model: &'m Model, repetition: u64, tracer: Tracer) -> Self {
        let seed = Seed { seed: model.run.seed, repetition };
        let limit = Time::ZERO + model.run.limit;
        Run { model, repetition, seed, limit, world: build(model, seed, tracer) }
    }

    /// Closes background loads.
    pub(crate) fn close_background(&mut self) {
        let network = &mut self.world.network;
        for &id in &self.world.backgrounds {
            network.signal(network.now(), id, Signal::Cease);
        }
    }

    /// Closes background loads, delivers packets in flight if all workloads are done, and evaluates the metrics.
    fn finish(mut self, complete: bool) -> RunOutcome {
        self.close_background();
        if complete {
            let end = self.world.network.now() + DRAIN;
            self.world.network.run_until(end);
        }
        self.measured(complete)
    }

    /// Metrics of the flows and populations.
    pub(crate) fn measured(self, complete: bool) -> RunOutcome {
        let flows = measure::flows(self.model, &self.world, self.repetition, self.limit);
        let populations = crate::system::populations(self.model, &self.world, &flows, self.limit);
        RunOutcome { flows, populations, world: self.world, complete }
    }

    /// Moves the network out, for a driver that owns it; the caller moves it back.
    pub fn take_network(&mut self) -> Network {
        std::mem::replace(&mut self.world.network, Network::new(0, Tracer::off()))
    }

    /// Name of an element.
    pub fn name_of(&self, id: path::ElementId) -> String {
        self.world.names.get(id.0 as usize).cloned().unwrap_or_default()
    }
}

/// Tracer for path, transport and radio events; off without `trace`.
pub fn tracer(trace: bool) -> Tracer {
    let wanted = [Category::Path, Category::Transport, Category::Radio];
    if trace { Tracer::of(&wanted) } else { Tracer::off() }
}

/// Elements of model endpoints whose flow has a real stack at the other end.
pub fn wired(model: &Model, world: &World) -> Vec<path::ElementId> {
    let flows = model.flows.iter().zip(&world.flows);
    flows
        .flat_map(|(flow, ends)| {
            let kernels = flow.transport.kernels();
            let mixed = kernels.iter().any(Option::is_some);
            [ends.from, ends.to].into_iter().zip(kernels).filter(move |(_, kernel)| mixed && kernel.is_none())
        })
        .map(|(id, _)| id)
        .collect()
}

/// Flows whose workloads are not known to be done.
#[derive(Clone, Debug, Default)]
pub struct Pending(Vec<Ends>);

impl Pending {
    /// Pending set of these flows.
    pub fn new(flows: Vec<Ends>) -> Pending {
        Pending(flows)
    }

    /// Whether all workloads are done. A finished flow is not polled again.
    pub fn is_over(&mut self, network: &Network) -> bool {
        while self.0.last().is_some_and(|ends| finished(network, ends)) {
            self.0.pop();
        }
        self.0.is_empty()
    }

    /// Whether all workloads were done at the last check.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Whether the workload of a flow is done at both ends; a packet port of a real stack counts as done.
pub fn finished(network: &Network, ends: &Ends) -> bool {
    let done = |id| host::finished(network, id).is_none_or(|finished| finished.is_some());
    done(ends.from) && done(ends.to)
}
