//! Run loop of one repetition, for any clock: build, start, drive, drain, measure.
//!
//! A [`Clock`] is what differs: the machine's time (`emulate`), real kernels in virtual time (`uml`). Virtual time with
//! models alone (`once`) steps through the same phases, so a scenario means one thing under all of them.

use crate::measure::{self, FlowMeasures};
use base::event::Category;
use base::rng::Seed;
use base::trace::Tracer;
use base::{Span, Time};
use path::{Network, Signal};
use scenario::Model;
use scenario::build::{Ends, World, build};

/// Longest time that packets may take to leave the network once all workloads are done.
pub(crate) const DRAIN: Span = Span::from_secs(3600);

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

/// A repetition while it runs.
pub struct Run<'m> {
    /// The checked scenario.
    pub model: &'m Model,
    /// Number of the repetition, from 0.
    pub repetition: u64,
    /// Seed of its random streams.
    pub seed: Seed,
    /// End of the run, whatever is still to be done.
    pub limit: Time,
    /// The network and where its parts are.
    pub world: World,
}

/// How driving a repetition ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Every workload was done before the limit.
    Complete,
    /// The limit, or the caller, came first; the numbers are those of an unfinished run.
    Incomplete,
    /// The caller wants no numbers.
    Abandoned,
}

/// A source of time for a repetition, with the endpoints that live outside the model.
pub trait Clock {
    /// Why a repetition cannot be run.
    type Error;

    /// Adds to the network what the model lacks under this clock. Called once, before the network starts.
    ///
    /// # Errors
    /// An endpoint cannot be had.
    fn attach(&mut self, _run: &mut Run<'_>) -> Result<(), Self::Error> {
        Ok(())
    }

    /// Seed that breaks ties between events of one instant; by position where there is none.
    fn shuffle_ties(&self) -> Option<u64> {
        None
    }

    /// Lets time pass until all workloads are done, the limit is reached or the caller stops it, and hands the reports
    /// of outside endpoints to their ports. Called once, after the network has started.
    ///
    /// # Errors
    /// An endpoint failed, or the system refused something.
    fn drive(&mut self, run: &mut Run<'_>) -> Result<End, Self::Error>;
}

/// Runs repetition `repetition` of a model under a clock; no outcome if the clock abandons it.
///
/// # Errors
/// The clock's.
pub fn run<C: Clock>(
    model: &Model,
    repetition: u64,
    tracer: Tracer,
    clock: &mut C,
) -> Result<Option<Outcome>, C::Error> {
    let mut run = Run::new(model, repetition, tracer);
    clock.attach(&mut run)?;
    run.world.network.start(clock.shuffle_ties());
    let end = clock.drive(&mut run)?;
    Ok((end != End::Abandoned).then(|| run.finish(end == End::Complete)))
}

impl<'m> Run<'m> {
    /// Builds the network of a repetition.
    pub(crate) fn new(model: &'m Model, repetition: u64, tracer: Tracer) -> Self {
        let seed = Seed { seed: model.run.seed, repetition };
        let limit = Time::ZERO + model.run.limit;
        Run { model, repetition, seed, limit, world: build(model, seed, tracer) }
    }

    /// Closes background load.
    pub(crate) fn close_background(&mut self) {
        let network = &mut self.world.network;
        for &id in &self.world.backgrounds {
            network.signal(network.now(), id, Signal::Cease);
        }
    }

    /// Closes background load, lets packets under way arrive, and measures.
    fn finish(mut self, complete: bool) -> Outcome {
        self.close_background();
        if complete {
            let end = self.world.network.now() + DRAIN;
            self.world.network.run_until(end);
        }
        self.measured(complete)
    }

    /// Measures of the flows and populations.
    pub(crate) fn measured(self, complete: bool) -> Outcome {
        let flows = measure::flows(self.model, &self.world, self.repetition, self.limit);
        let populations = crate::system::populations(self.model, &self.world, &flows, self.limit);
        Outcome { flows, populations, world: self.world, complete }
    }

    /// The network, for a driver that owns it; an empty one stays until it is put back.
    pub fn take_network(&mut self) -> Network {
        std::mem::replace(&mut self.world.network, Network::new(0, Tracer::off()))
    }

    /// Name of an element.
    pub fn name_of(&self, id: path::ElementId) -> String {
        self.world.names.get(id.0 as usize).cloned().unwrap_or_default()
    }
}

/// Recorder of the events of path, transport and radio, if they are wanted.
pub fn tracer(trace: bool) -> Tracer {
    let wanted = [Category::Path, Category::Transport, Category::Radio];
    if trace { Tracer::of(&wanted) } else { Tracer::off() }
}

/// Models that have a real stack at the other end of their flow.
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
    /// These.
    pub fn new(flows: Vec<Ends>) -> Pending {
        Pending(flows)
    }

    /// Whether all workloads are done. A flow that was done once is not looked at again.
    pub fn is_over(&mut self, network: &Network) -> bool {
        while self.0.last().is_some_and(|ends| finished(network, ends)) {
            self.0.pop();
        }
        self.0.is_empty()
    }

    /// Whether they were all done at the last look.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Whether the workload of a flow is done; true for ports to outside stacks, whose workloads are outside.
pub fn finished(network: &Network, ends: &Ends) -> bool {
    let done = |id| host::finished(network, id).is_none_or(|finished| finished.is_some());
    done(ends.from) && done(ends.to)
}
