//! One repetition in real time: build, drive, drain, measure.
//!
//! As in virtual time, but for the clock: the network is built from the model, each end of a real flow and each
//! machine gets a namespace with a device, the driver runs until every workload is done. What is still under way then
//! is run through without waiting, so that the truth about every packet is known.

use crate::driver::trigger_socket::Hotline;
use crate::driver::{Driver, Gateway};
use crate::nodes::Stage;
use crate::remote::session::Ordered;
use crate::sockets::endpoint::Report;
use crate::sockets::ends::Real;
use crate::wire::Ends as Wires;
use crate::{Error, Options, Outcome, Surroundings};
use base::dist::Sampler;
use base::event::Category;
use base::rng::Seed;
use base::trace::Tracer;
use base::{Span, Time};
use host::Door;
use lab::capture::doors::{self, Capture, Spot};
use lab::measure;
use netns::clock::Clock;
use netns::facts::FlowFacts;
use netns::job::CommandFacts;
use netns::job::{self, Ended, Job};
use netns::keeper::{Keeper, Plan, Streams};
use netns::mounts::View;
use netns::output::{self, Memory, Outputs};
use netns::uplink;
use path::{Network, Signal};
use scenario::Model;
use scenario::build::{Ends, build};
use scenario::model::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Between the last preparation and t = 0: time for the threads to start, several runs beside each other.
const LEAD: Span = Span::from_millis(100);
/// The same where other hosts have to hear of it.
const LEAD_BETWEEN_HOSTS: Span = Span::from_millis(500);
/// What is still on its way when all workloads are done may take so long.
const DRAIN: Span = Span::from_secs(3600);
/// A stack notices the end of a run within this.
const GRACE: Span = Span::from_secs(2);

/// Plays repetition `repetition` of a model in real time. Flows of the model TCP run beside the kernel's, at
/// their exact logical times. `stop`, once set, ends it early.
///
/// # Errors
/// [`Error::Rights`] if there are flows of the kernel's TCP and the process may not make namespaces or devices;
/// else what the kernel refused.
pub fn once(model: &Model, repetition: u64, options: &Options, stop: &AtomicBool) -> Result<Outcome, Error> {
    play(model, repetition, options, &Surroundings::default(), stop)
}

/// As [`once`], for a model with commands too: `around` says what they need of the process that plays them.
///
/// # Errors
/// As of [`once`].
pub fn play(
    model: &Model,
    repetition: u64,
    options: &Options,
    around: &Surroundings,
    stop: &AtomicBool,
) -> Result<Outcome, Error> {
    let seed = Seed { seed: model.run.seed, repetition };
    let tracer = match (options.capture, options.trace) {
        (true, _) => Tracer::of(&doors::RECORDED),
        (false, true) => Tracer::of(&[Category::Path, Category::Transport]),
        (false, false) => Tracer::off(),
    };
    let mut world = build(model, seed, tracer);
    world.network.start(None);
    let flows = world.flows.clone();
    let limit = Time::ZERO + model.run.limit;
    let mut ordered = Ordered::prepare(model, (seed, options.realtime), &flows, around, stop)?;
    let (mut reals, mut gateways) = (Vec::new(), Vec::new());
    for (i, (flow, ends)) in model.flows.iter().zip(&flows).enumerate() {
        if let Some(linux) = flow.transport.linux() {
            let times = (seed, limit);
            reals.push(Real::new((i, flow), linux, *ends, times, &mut ordered, &mut gateways)?);
        }
    }
    let stage = Stage::new(model, &world.stations, &mut world.network, around, &mut ordered, &mut gateways)?;
    let wires = Wires::open(model, &world.stations, &mut gateways)?;
    // Kept until the end: dropped, it parts the networks again.
    let _uplink = match around.uplink {
        Some(node) => Some(uplink::join(around.program()?, &stage.at(node)?.space, around.level)?),
        None => None,
    };
    let door = |gateway: &Gateway| {
        let name = world.names.get(gateway.door.0 as usize).cloned().unwrap_or_default();
        Spot { name, element: gateway.door, framing: wires.framing(model, gateway.door) }
    };
    let doors: Vec<_> = gateways.iter().map(door).collect();
    let (mut jobs, mut ends, mut memories) = jobs(model, seed, &stage, around, &ordered)?;
    // Set when the driver ends, so that no workload outlives it; `stop` is somebody else's.
    let over = AtomicBool::new(false);
    let network = taken(&mut world.network);
    let mut driver = Driver::new(network, gateways, Clock::starting_in(LEAD), options.spin)
        .map_err(Error::of("setting up a timer"))?;
    // Who serves from the start is up before it: its packets cross the network before t = 0 at once, if there are any.
    let given_up =
        || stop.load(Ordering::Relaxed) || around.foreground.as_ref().is_some_and(|front| front.is_called());
    let mut servers = Vec::new();
    for (i, job) in jobs.iter_mut().enumerate() {
        let serves = model.commands.get(i).is_some_and(|c| c.serves);
        if let Some(job) = job.take_if(|job| serves && job.start == Time::ZERO) {
            servers.push((i, job.begin(around.program()?, &mut ends[i], given_up)?));
        }
    }
    if let Some(opened) = around.opened.as_ref().filter(|_| wires.any()) {
        opened(&wires.facts(model, &driver.network));
    }
    let clock = Clock::starting_in(if ordered.any() { LEAD_BETWEEN_HOSTS } else { LEAD });
    ordered.start(clock)?;
    driver.begin(clock);
    if options.capture {
        let capture = Capture::new(doors);
        capture.begin(&mut driver.network);
        driver.capture = Some(capture);
    }
    driver.live = around.live.clone();
    let mut hotline = None;
    if let Some(name) = &around.called {
        let (mut line, ear) = Hotline::new(name)?;
        for machine in &stage.machines {
            line.listen_at(&machine.space)?;
        }
        driver.hear(ear);
        hotline = Some(line);
    }
    let users = around.users();
    let waited_for = |i: usize| model.commands.get(i).is_some_and(|c| !c.serves);
    let front = around.foreground.is_some();
    let working = AtomicUsize::new(2 * reals.len() + (0..jobs.len()).filter(|i| waited_for(*i)).count());
    let done = || {
        working.fetch_sub(1, Ordering::AcqRel);
    };
    let mut hosts: Vec<Ends> = flows
        .iter()
        .zip(&model.flows)
        .filter(|(_, flow)| flow.transport.linux().is_none())
        .map(|(ends, _)| *ends)
        .collect();
    let trails = reals.iter().any(Real::trails);
    let mut complete = false;
    let (driven, told, ended, attended) = std::thread::scope(|scope| {
        let (over, working, done) = (&over, &working, &done);
        let workers: Vec<_> =
            reals.iter_mut().map(|real| real.start(scope, (clock, options.realtime), over, done)).collect();
        let mut commanded: Vec<_> = jobs
            .into_iter()
            .enumerate()
            .filter_map(|(i, job)| Some((i, job?)))
            .map(|(i, job)| {
                let in_front = job.foreground.is_some();
                let worker = scope.spawn(move || {
                    let ended = around.program().and_then(|program| Ok(job.run(program, clock, over)?));
                    if waited_for(i) {
                        done();
                    }
                    if in_front {
                        over.store(true, Ordering::Relaxed);
                    }
                    ended
                });
                (i, worker)
            })
            .collect();
        commanded.extend(servers.into_iter().map(|(i, keeper)| {
            let mut ended = ends[i].clone();
            ended.started = Some(Time::ZERO);
            (i, scope.spawn(move || Ok(serve(keeper, ended, clock, over))))
        }));
        let ordered = &ordered;
        let attended = scope.spawn(move || ordered.attend(over, done));
        if let Some(line) = &hotline {
            let users = &users;
            scope.spawn(move || line.answer(over, users));
        }
        let driving = scope.spawn(|| {
            driver.settle_in(options.realtime);
            let result = driver.run(|network, now| {
                while hosts.last().is_some_and(|ends| lab::once::finished(network, ends)) {
                    hosts.pop();
                }
                let idle = working.load(Ordering::Acquire) == 0;
                // Of a wire nobody knows when it is done.
                complete = idle && hosts.is_empty() && !wires.any() && !(trails && network.bodies() > 0);
                let late = now > limit && (idle || now > limit + GRACE) && !front;
                // Also when another host is gone.
                let left = over.load(Ordering::Relaxed);
                complete || late || left || stop.load(Ordering::Relaxed)
            });
            over.store(true, Ordering::Relaxed);
            result
        });
        // Everything that takes rights is done but for commands that are still to be started.
        let driven = driving.join();
        let told: Vec<[Option<Report>; 2]> = workers
            .into_iter()
            .map(|both| both.map(|worker| worker.map(|worker| worker.join().unwrap_or_default())))
            .collect();
        let ended: Vec<_> = commanded.into_iter().map(|(i, worker)| (i, worker.join())).collect();
        (driven, told, ended, attended.join())
    });
    match driven {
        Ok(result) => result.map_err(Error::of("driving the network"))?,
        Err(panic) => std::panic::resume_unwind(panic),
    }
    for (i, result) in ended {
        match result {
            Ok(ended) => ends[i] = ended?,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
    match attended {
        Ok(result) => result?,
        Err(panic) => std::panic::resume_unwind(panic),
    }
    let mut written: Vec<[Vec<u8>; 2]> = vec![Default::default(); ends.len()];
    for ((memory, written), ended) in memories.iter_mut().zip(&mut written).zip(&mut ends) {
        if let Some(memory) = memory {
            *written = memory.read(&mut ended.lacks)?;
        }
    }
    ordered.finish((&mut ends, &mut written), &mut driver.timing, &around.outputs, model)?;
    driver.timing.overrun += driver.overrun();
    let Driver { network, mut timing, mut capture, .. } = driver;
    if let Some(capture) = &mut capture {
        capture.end(&network);
    }
    world.network = network;
    let network = &mut world.network;
    let mut facts: Vec<Option<FlowFacts>> = vec![None; model.flows.len()];
    for (real, told) in reals.iter().zip(told) {
        timing.overrun += real.overrun()?;
        let [from, to] = told;
        let mut told = [(from, true), (to, false)]
            .map(|(told, opens)| told.unwrap_or_else(|| ordered.told((real.flow, opens))));
        real.settle(&mut told);
        complete &= real.complete(&told);
        let doors = [(real.ends.from, &told[0]), (real.ends.to, &told[1])];
        for (door, report) in doors {
            let at = network.now();
            network.enter(at, door, |door: &mut Door, _| door.tell(report.told.clone()));
        }
        facts[real.flow] = Some(real.facts(&told, &ordered)?);
    }
    for machine in &stage.machines {
        timing.overrun += machine.space.overrun()?;
    }
    // What is under way then is to come through; loads that never end have done their part.
    for &id in &world.backgrounds {
        network.signal(network.now(), id, Signal::Close);
    }
    if complete {
        let end = network.now() + DRAIN;
        network.run_until(end);
    }
    let flows = measure::flows(model, &world, repetition, limit);
    let commands = model.commands.iter().zip(ends).map(|(command, ended)| CommandFacts {
        name: command.name.clone(),
        serves: command.serves,
        ended,
    });
    let commands = commands.collect();
    let wires = wires.facts(model, &world.network);
    Ok(Outcome {
        ran: lab::once::Outcome { flows, populations: Vec::new(), world, complete },
        facts,
        commands,
        written,
        wires,
        timing,
        capture,
    })
}

/// Looks after a server that is up.
fn serve(keeper: Keeper, mut ended: Ended, clock: Clock, over: &AtomicBool) -> Ended {
    job::look_after(keeper, &mut ended, clock, over, None);
    ended
}

/// The commands of a model, ready to be started, nothing yet about how they ended, and the memory that they write to, if
/// they do.
#[allow(clippy::type_complexity, reason = "three lists")]
fn jobs<'a>(
    model: &Model,
    seed: Seed,
    stage: &'a Stage,
    around: &'a Surroundings,
    ordered: &Ordered<'_>,
) -> Result<(Vec<Option<Job<'a>>>, Vec<Ended>, Vec<Option<Memory>>), Error> {
    let (mut jobs, mut memories) = (Vec::new(), Vec::new());
    for command in &model.commands {
        if ordered.holds(command.node) {
            jobs.push(None);
            memories.push(None);
            continue;
        }
        let start = start_of(command, seed);
        let foreground = around.foreground.as_ref().filter(|front| front.name == command.name);
        let words = match foreground {
            Some(front) => front.words.clone(),
            None => ["/bin/sh", "-c", &command.run].map(Into::into).to_vec(),
        };
        let mut variables = around.variables.clone();
        variables.extend(around.user.iter().flat_map(|user| user.variables()));
        variables.push(("WILLIWAW_NODE".into(), model.nodes[command.node].name.clone().into()));
        let mut memory = None;
        let streams = match (&around.outputs, foreground) {
            (_, Some(_)) => Streams::Inherited,
            (Outputs::Folder(folder), None) => output::files(folder, &command.name)?,
            (Outputs::Memory, None) => memory.insert(Memory::new()?).streams()?,
            (Outputs::Nowhere, None) => Streams::Nowhere,
        };
        memories.push(memory);
        let resolver = around.resolver.clone();
        let plan = Plan {
            words,
            variables,
            view: View { hosts: Some(stage.hosts.clone()), resolver: Some(resolver) },
            user: around.user.clone(),
            terminal: foreground.is_some_and(|front| front.has_terminal()),
            apart: foreground.is_none(),
            start_file: foreground.and_then(|front| front.start_file.clone()),
            outside: false,
        };
        let space = &stage.at(command.node)?.space;
        jobs.push(Some(Job { space, start, plan, streams, foreground }));
    }
    let ends = vec![Ended::default(); jobs.len()];
    Ok((jobs, ends, memories))
}

/// When a command starts in this repetition.
pub(crate) fn start_of(command: &Command, seed: Seed) -> Time {
    let ns = Sampler::new(command.start.clone(), seed.stream(&command.name, "start")).draw();
    Time::from_nanos(ns as u64)
}

/// The network, for the driver; an empty one stays until it comes back.
fn taken(network: &mut Network) -> Network {
    std::mem::replace(network, Network::new(0, Tracer::off()))
}
