//! One repetition of an emulation in real time (`once`, `play`): namespaces, devices, commands and wires around the
//! network of a model, and results.
//!
//! The driver runs until all workloads are done. Then packets in flight are simulated without waiting, so that the
//! fate of every packet is known ([`lab::run`]).

mod commands;
pub(crate) mod ends;
pub(crate) mod nodes;
mod threads;

use self::commands::Commands;
use self::ends::{FlowContext, RealFlow};
use self::nodes::CommandNodes;
use self::threads::Threads;
use crate::driver::trigger_socket::TriggerSocket;
use crate::driver::{Driver, Gateway};
use crate::remote::session::RemoteSession;
use crate::sockets::endpoint::Report;
use crate::wire::Ends as Wires;
use crate::{EmulationOutcome, Error, Options, Surroundings, link_process};
use base::event::Category;
use base::trace::Tracer;
use base::{Span, Time};
use host::FlowPort;
use lab::capture::ports::{self, Capture, CapturedPort};
use lab::priorities::Managers;
use lab::run::{self, Pending, Run, RunEnd};
use lab::serving::Mobiles;
use netns::clock::Clock;
use netns::facts::FlowFacts;
use netns::keeper::Keeper;
use netns::uplink;
use path::ElementId;
use scenario::Model;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;

/// Time from the end of the preparation to t = 0, which suffices for the start of all threads, even with parallel
/// runs.
const LEAD: Span = Span::from_millis(100);
/// Time from the end of the preparation to t = 0 with remote hosts.
const LEAD_BETWEEN_HOSTS: Span = Span::from_millis(500);

/// Runs repetition `repetition` of a model in real time. Flows of the TCP model run in the same network at their
/// exact logical times. `stop`, once set, ends the run early.
///
/// # Errors
/// [`netns::Error::Rights`] if there are kernel flows and the process may not create namespaces or devices;
/// other errors of the kernel.
pub fn once(
    model: &Model,
    repetition: u64,
    options: &Options,
    stop: &AtomicBool,
) -> Result<EmulationOutcome, Error> {
    play(model, repetition, options, &Surroundings::default(), stop)
}

/// Like [`once`], for a model with commands; `around` is their environment.
///
/// # Errors
/// The errors of [`once`], and those of commands, wires and remote hosts.
pub fn play(
    model: &Model,
    repetition: u64,
    options: &Options,
    around: &Surroundings,
    stop: &AtomicBool,
) -> Result<EmulationOutcome, Error> {
    let tracer = match (options.capture, options.trace) {
        (true, true) => Tracer::of(&[&ports::RECORDED[..], &[Category::Radio]].concat()),
        (true, false) => Tracer::of(&ports::RECORDED),
        (false, trace) => run::tracer(trace),
    };
    let mut clock = RealTime { options, around, stop, played: Played::default() };
    let ran = if model.processes.is_empty() {
        run::run(model, repetition, tracer, &mut clock)?
    } else {
        with_programs(model, repetition, tracer, &mut clock)?
    };
    let ran = ran.ok_or(Error::Stopped)?;
    let Played { facts, commands, written, wires, timing, capture } = clock.played;
    // Counters at the ends of a wire include packets that were in flight at the end of the run.
    let wires = wires.facts(model, &ran.world.network);
    Ok(EmulationOutcome { ran, facts, commands, written, wires, timing, capture })
}

/// Runs a repetition with link processes. A fault of a link process stops the run.
fn with_programs(
    model: &Model,
    repetition: u64,
    tracer: Tracer,
    clock: &mut RealTime<'_>,
) -> Result<Option<run::RunOutcome>, Error> {
    let (sender, faults) = link_process::faults();
    let stop = clock.stop;
    let (ran, first) = std::thread::scope(|scope| {
        // The thread ends at the first fault, or when all senders are dropped.
        let watch = scope.spawn(move || {
            let first = faults.recv().ok();
            stop.fetch_or(first.is_some(), Ordering::Relaxed);
            first
        });
        let mut clock = Attached { clock, faults: sender };
        let mut ran = run::run(model, repetition, tracer, &mut clock);
        if let Ok(Some(outcome)) = &mut ran {
            link_process::detach(&mut outcome.world);
        }
        drop(clock);
        (ran, watch.join().ok().flatten())
    });
    match first {
        Some(why) => Err(Error::LinkProcess(why)),
        None => ran,
    }
}

/// Clock in real time, with link processes attached.
struct Attached<'a, 'b> {
    clock: &'a mut RealTime<'b>,
    faults: Sender<String>,
}

impl run::Clock for Attached<'_, '_> {
    type Error = Error;

    fn attach(&mut self, run: &mut Run<'_>) -> Result<(), Error> {
        let (model, seed) = (run.model, run.seed);
        link_process::attach(model, seed, &mut run.world, &self.faults).map_err(Error::LinkProcess)
    }

    fn drive(&mut self, run: &mut Run<'_>) -> Result<RunEnd, Error> {
        self.clock.drive(run)
    }
}

/// Clock in real time, with real stacks at the ends of the network.
struct RealTime<'a> {
    options: &'a Options,
    around: &'a Surroundings,
    stop: &'a AtomicBool,
    played: Played,
}

/// Results of a repetition in real time, in addition to the measurements of its flows.
#[derive(Default)]
struct Played {
    facts: Vec<Option<FlowFacts>>,
    commands: Vec<netns::job::CommandFacts>,
    written: Vec<[Vec<u8>; 2]>,
    wires: Wires,
    timing: crate::accuracy::lateness::Timing,
    capture: Option<Capture>,
}

/// Resources outside of the network: flow ends, nodes with commands, ends of wires, local and remote.
struct Outside<'a> {
    ordered: RemoteSession<'a>,
    reals: Vec<RealFlow>,
    /// Models opposite a real stack.
    wired: Vec<ElementId>,
    stage: CommandNodes,
    wires: Wires,
    gateways: Vec<Gateway>,
    /// Process of the uplink to the host's network, kept until the end of the run.
    _uplink: Option<Keeper>,
}

impl<'a> Outside<'a> {
    fn prepare(run: &mut Run<'_>, clock: &RealTime<'a>) -> Result<Outside<'a>, Error> {
        let (model, world, around) = (run.model, &mut run.world, clock.around);
        let options = clock.options;
        let mut ordered =
            RemoteSession::prepare(model, (run.seed, *options), &world.flows, around, clock.stop)?;
        let (mut reals, mut gateways) = (Vec::new(), Vec::new());
        let site = FlowContext { model, around, seed: run.seed, limit: run.limit, offload: options.offload };
        for (i, ends) in world.flows.iter().enumerate() {
            reals.extend(RealFlow::new(i, *ends, &site, &mut ordered, &mut gateways)?);
        }
        let stations = &world.stations;
        let stage = CommandNodes::new(
            model,
            stations,
            &mut world.network,
            (around, options.offload),
            &mut ordered,
            &mut gateways,
        )?;
        let wires = Wires::open(model, stations, &mut gateways)?;
        let uplink = match around.uplink {
            Some(node) => Some(uplink::join(around.program()?, &stage.at(node)?.space, around.level)?),
            None => None,
        };
        let wired = run::wired(model, world);
        Ok(Outside { ordered, reals, wired, stage, wires, gateways, _uplink: uplink })
    }
}

impl run::Clock for RealTime<'_> {
    type Error = Error;

    fn drive(&mut self, run: &mut Run<'_>) -> Result<RunEnd, Error> {
        let Outside { mut ordered, mut reals, wired, stage, wires, gateways, _uplink } =
            Outside::prepare(run, self)?;
        let models =
            wired.iter().map(|&id| CapturedPort { name: run.name_of(id), element: id, framing: None });
        let packet_ports = gateways.iter().map(|gateway| spot(run, &wires, gateway)).chain(models).collect();
        let (model, around) = (run.model, self.around);
        let mut commands = Commands::prepare(model, run.seed, &stage, around, &ordered)?;
        let mut driver =
            Driver::new(run.take_network(), gateways, Clock::starting_in(LEAD), self.options.spin);
        let stop = self.stop;
        let given_up = || {
            stop.load(Ordering::Relaxed) || around.foreground.as_ref().is_some_and(|front| front.is_called())
        };
        commands.serve(model, around, given_up)?;
        for real in &mut reals {
            real.serve(given_up)?;
        }
        if let Some(opened) = around.opened.as_ref().filter(|_| wires.any()) {
            opened(&wires.facts(model, &driver.network));
        }
        let clock = Clock::starting_in(if ordered.any() { LEAD_BETWEEN_HOSTS } else { LEAD });
        ordered.start(clock)?;
        self.begin(&mut driver, clock, (packet_ports, wired));
        let shown = (Mobiles::of(model, &run.world), Managers::of(model, &run.world));
        let trigger_socket = self.triggers(&mut driver, &stage, shown)?;
        let threads = Threads {
            clock,
            limit: run.limit,
            realtime: self.options.realtime,
            around,
            stop: self.stop,
            ordered: &ordered,
            trigger_socket: trigger_socket.as_ref(),
            wired: wires.any(),
        };
        let models = model.flows.iter().zip(&run.world.flows);
        let modelled = models.filter(|(flow, _)| flow.transport.kernels().contains(&None));
        let models = modelled.map(|(_, ends)| *ends);
        let pending = Pending::new(models.collect());
        let (complete, reports) = threads.run(model, &mut driver, &mut reals, &mut commands, pending)?;
        let mut written = commands.written()?;
        let collected = (&mut commands.ended[..], &mut written[..]);
        ordered.finish(collected, &mut driver.timing, &around.outputs, model)?;
        let commands = commands.facts(model);
        driver.timing.overrun += driver.overrun();
        let Driver { network, mut timing, mut capture, .. } = driver;
        if let Some(capture) = &mut capture {
            capture.end(&network);
        }
        run.world.network = network;
        let (facts, settled) = settle(run, &reals, reports, &mut ordered)?;
        for real in &reals {
            timing.overrun += real.overrun()?;
        }
        for machine in &stage.machines {
            timing.overrun += machine.space.overrun()?;
        }
        self.played = Played { facts, commands, written, wires, timing, capture };
        Ok(if complete && settled { RunEnd::Complete } else { RunEnd::Incomplete })
    }
}

impl RealTime<'_> {
    /// Prepares driver and capture for t = 0.
    fn begin(
        &self,
        driver: &mut Driver,
        clock: Clock,
        (packet_ports, wired): (Vec<CapturedPort>, Vec<ElementId>),
    ) {
        driver.begin(clock);
        if self.options.capture {
            driver.keep_packets_of(wired);
            let capture = Capture::new(packet_ports);
            capture.begin(&mut driver.network);
            driver.capture = Some(capture);
        }
        driver.live = self.around.live.clone();
    }

    /// Opens the trigger socket, if the run has a name.
    fn triggers(
        &self,
        driver: &mut Driver,
        stage: &CommandNodes,
        (mobiles, managers): (Mobiles, Managers),
    ) -> Result<Option<TriggerSocket>, Error> {
        let Some(name) = &self.around.called else { return Ok(None) };
        let (mut line, mut ear) = TriggerSocket::new(name)?;
        ear.tell_of(mobiles, managers);
        for machine in &stage.machines {
            line.listen_at(&machine.space)?;
        }
        driver.hear(ear);
        Ok(Some(line))
    }
}

/// Name and framing of a gateway's packet port in the capture.
fn spot(run: &Run<'_>, wires: &Wires, gateway: &Gateway) -> CapturedPort {
    let framing = wires.framing(run.model, gateway.packet_port);
    CapturedPort { name: run.name_of(gateway.packet_port), element: gateway.packet_port, framing }
}

/// Passes the reports of flow ends to their packet ports. Returns the facts of each flow, and whether all workloads
/// were completed.
fn settle(
    run: &mut Run<'_>,
    reals: &[RealFlow],
    reports: Vec<[Option<Report>; 2]>,
    ordered: &mut RemoteSession<'_>,
) -> Result<(Vec<Option<FlowFacts>>, bool), Error> {
    let mut facts: Vec<Option<FlowFacts>> = vec![None; run.model.flows.len()];
    let mut complete = true;
    let network = &mut run.world.network;
    for (real, [from, to]) in reals.iter().zip(reports) {
        let mut reports = [(from, true), (to, false)]
            .map(|(report, opens)| report.unwrap_or_else(|| ordered.take_report((real.flow, opens))));
        real.settle(&mut reports);
        complete &= real.complete(&reports);
        for (packet_port, report) in [(real.ends.from, &reports[0]), (real.ends.to, &reports[1])] {
            let at: Time = network.now();
            network.enter(at, packet_port, |packet_port: &mut FlowPort, _| {
                packet_port.set_external_report(report.external.clone())
            });
        }
        facts[real.flow] = Some(real.facts(&reports, ordered)?);
    }
    Ok((facts, complete))
}
