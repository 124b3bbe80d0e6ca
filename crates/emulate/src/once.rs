//! How is one repetition played? As in virtual time, but for the clock: the network is built from the
//! model, each end of a real flow gets a namespace with a device, the driver runs until every workload is done.
//! What is still under way then is run through without waiting, so that the truth about every packet is known.

use crate::bulk::{self, Job};
use crate::capture::Capture;
use crate::clock::Clock;
use crate::driver::{Driver, Gateway};
use crate::facts::FlowFacts;
use crate::space::Space;
use crate::{Error, Options, Outcome};
use base::event::Category;
use base::rng::Seed;
use base::trace::Tracer;
use base::{Span, Time};
use host::{Door, Host, Told};
use lab::measure;
use path::Network;
use scenario::Model;
use scenario::build::{Ends, build};
use scenario::model::{App, Linux};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Between the last preparation and t = 0: time for the threads to start, several runs beside each other.
const LEAD: Span = Span::from_millis(100);
/// What is still on its way when all workloads are done may take so long.
const DRAIN: Span = Span::from_secs(3600);
/// A stack notices the end of a run within this.
const GRACE: Span = Span::from_secs(2);

/// A flow whose ends are kernels.
struct Real {
    flow: usize,
    ends: Ends,
    job: Job,
    spaces: [Space; 2],
    listener: TcpListener,
    stream: TcpStream,
}

/// Addresses of the range for tests of networks (RFC 2544): they exist nowhere else. Namespaces do not see each
/// other, so all flows may have the same two.
const FROM: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 1);
const TO: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 2);

/// What every namespace is set to before the scenario's own settings: what one run leaves behind shall be
/// nothing to the next.
const ALWAYS: &[(&str, &str)] = &[("net.ipv4.tcp_no_metrics_save", "1")];

/// Plays repetition `repetition` of a model in real time. Flows of the model TCP run beside the kernel's, at
/// their exact logical times. `stop`, once set, ends it early.
///
/// # Errors
/// [`Error::Rights`] if there are flows of the kernel's TCP and the process may not make namespaces or devices;
/// else what the kernel refused.
pub fn once(model: &Model, repetition: u64, options: &Options, stop: &AtomicBool) -> Result<Outcome, Error> {
    let seed = Seed { seed: model.run.seed, repetition };
    let tracer =
        if options.trace { Tracer::of(&[Category::Path, Category::Transport]) } else { Tracer::off() };
    let mut world = build(model, seed, tracer);
    world.network.start(None);
    let flows = world.flows.clone();
    let mut reals = Vec::new();
    let mut gateways = Vec::new();
    for (i, (flow, ends)) in model.flows.iter().zip(&flows).enumerate() {
        if let Some(linux) = flow.transport.linux() {
            let App::Bulk { bytes, lasts, .. } = flow.app;
            let limit = Time::ZERO + model.run.limit;
            let job = Job { start: ends.start, limit, bytes, lasts };
            reals.push(real(i, *ends, linux, job, &mut gateways)?);
        }
    }
    let limit = Time::ZERO + model.run.limit;
    let clock = Clock::starting_in(LEAD);
    let mut driver = Driver::new(taken(&mut world.network), gateways, clock, options.spin)
        .map_err(Error::of("setting up a timer"))?;
    if options.capture {
        let doors = reals.iter().flat_map(|real| [real.ends.from, real.ends.to]);
        let names = doors.map(|door| world.names.get(door.0 as usize).cloned().unwrap_or_default());
        driver.capture = Some(Capture::new(names.collect()));
    }
    // Set when the driver ends, so that no workload outlives it; `stop` is somebody else's.
    let over = AtomicBool::new(false);
    let working = AtomicUsize::new(2 * reals.len());
    let mut hosts: Vec<Ends> = flows
        .iter()
        .zip(&model.flows)
        .filter(|(_, flow)| flow.transport.linux().is_none())
        .map(|(ends, _)| *ends)
        .collect();
    let mut complete = false;
    let (driven, told) = std::thread::scope(|scope| {
        let (over, working) = (&over, &working);
        let workers: Vec<_> = reals
            .iter()
            .map(|real| {
                let (job, stream) = (real.job, &real.stream);
                let listener = &real.listener;
                let done = move || {
                    working.fetch_sub(1, Ordering::AcqRel);
                };
                let to = scope.spawn(move || bulk::receive(listener, job, clock, over, done));
                let from = scope.spawn(move || {
                    let told = bulk::send(stream, TO, job, clock, over);
                    done();
                    told
                });
                (from, to)
            })
            .collect();
        let driving = scope.spawn(|| {
            driver.settle_in(options.realtime);
            let result = driver.run(|network, now| {
                while hosts.last().is_some_and(|ends| finished(network, ends)) {
                    hosts.pop();
                }
                let idle = working.load(Ordering::Acquire) == 0;
                complete = idle && hosts.is_empty();
                let late = now > limit && (idle || now > limit + GRACE);
                complete || late || stop.load(Ordering::Relaxed)
            });
            over.store(true, Ordering::Relaxed);
            result
        });
        let driven = driving.join();
        let told: Vec<[bulk::Told; 2]> = workers
            .into_iter()
            .map(|(from, to)| [from, to].map(|worker| worker.join().unwrap_or_default()))
            .collect();
        (driven, told)
    });
    match driven {
        Ok(result) => result.map_err(Error::of("driving the network"))?,
        Err(panic) => std::panic::resume_unwind(panic),
    }
    let Driver { network, mut timing, capture, .. } = driver;
    world.network = network;
    let network = &mut world.network;
    let mut facts: Vec<Option<FlowFacts>> = vec![None; model.flows.len()];
    for (real, told) in reals.iter().zip(told) {
        timing.overrun += real.spaces[0].overrun()? + real.spaces[1].overrun()?;
        let [from, to] = &told;
        complete &= from.finished.is_some() && (to.finished.is_some() || real.job.bytes.is_none());
        let doors = [(real.ends.from, from), (real.ends.to, to)];
        for (door, told) in doors {
            let at = network.now();
            let told = Told { finished: told.finished, received: told.bytes };
            network.enter(at, door, |door: &mut Door, _| door.tell(told));
        }
        facts[real.flow] = Some(self::facts(real, &told)?);
    }
    if complete {
        let end = network.now() + DRAIN;
        network.run_until(end);
    }
    let flows = measure::flows(model, &world, repetition, limit);
    Ok(Outcome { ran: lab::once::Outcome { flows, world, complete }, facts, timing, capture })
}

/// The network, for the driver; an empty one stays until it comes back.
fn taken(network: &mut Network) -> Network {
    std::mem::replace(network, Network::new(0, Tracer::off()))
}

/// Sets up both ends of a real flow.
fn real(
    flow: usize,
    ends: Ends,
    linux: &Linux,
    job: Job,
    gateways: &mut Vec<Gateway>,
) -> Result<Real, Error> {
    let spaces = [Space::new()?, Space::new()?];
    for (space, (at, door)) in spaces.iter().zip([(FROM, ends.from), (TO, ends.to)]) {
        for (name, value) in ALWAYS {
            space.set(name, value)?;
        }
        for (name, value) in &linux.sysctl {
            space.set(name, value)?;
        }
        gateways.push(Gateway { door, device: space.device(at, linux.mtu)? });
    }
    let listener = bulk::listen(&spaces[1])?;
    let stream = bulk::socket(&spaces[0], linux.cc.as_deref())?;
    Ok(Real { flow, ends, job, spaces, listener, stream })
}

fn facts(real: &Real, told: &[bulk::Told; 2]) -> Result<FlowFacts, Error> {
    let [from, to] = told;
    let faults = [("from", from), ("to", to)];
    let faults =
        faults.iter().filter_map(|(end, told)| Some(format!("{end}: {}", told.fault.as_ref()?))).collect();
    let mut facts = FlowFacts {
        info: from.info,
        history: from.history.clone(),
        from: real.spaces[0].counters()?,
        to: real.spaces[1].counters()?,
        faults,
    };
    if facts.info.state == 0 {
        facts.faults.push("the connection was never established".into());
    }
    Ok(facts)
}

fn finished(network: &Network, ends: &Ends) -> bool {
    let done = |id| network.element::<Host>(id).is_none_or(|h| h.finished().is_some());
    done(ends.from) && done(ends.to)
}
