//! Flow ends with kernels or programs (`RealFlow`): namespaces and devices, threads of the workload, reports, kernel
//! facts of the flow.
//!
//! The opposite end of a flow may be a model in the network.

use crate::driver::{Gateway, PortOwner};
use crate::remote::session::RemoteSession;
use crate::sockets::bulk::PORT;
use crate::sockets::endpoint::{self, Part, Report};
use crate::sockets::multi::Times;
use crate::sockets::program::{self, Program};
use crate::sockets::spec::EndWork;
use crate::sockets::spec::KernelSettings;
use crate::{Error, Surroundings};
use base::Time;
use base::rng::Seed;
use host::ADDRESSES;
use netns::clock::Clock;
use netns::device::Device;
use netns::facts::FlowFacts;
use netns::namespace::Namespace;
use scenario::Model;
use scenario::build::Ends;
use scenario::model::{App, Flow, Ip, Linux};
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::AtomicBool;
use std::thread::{Scope, ScopedJoinHandle};
use transport::app::arrival_log;
use transport::app::connections::MessageLog;
use transport::app::message_stream::MessageSchedule;
use transport::tcp::Role;

/// Kind of a flow end.
enum EndKind {
    /// Sockets and a workload thread, in a network namespace.
    Sockets(Namespace, Part),
    /// A program in a network namespace.
    Program(Box<Program>),
    /// Flow end on another host.
    Away,
    /// A model in the network.
    Model,
}

/// Flow with a kernel or a program at one or both ends.
pub(crate) struct RealFlow {
    /// Index in the model.
    pub(crate) flow: usize,
    pub(crate) ends: Ends,
    limit: Time,
    /// Active end and passive end.
    players: [EndKind; 2],
    plan: Flow,
    seed: Seed,
    /// Upper limit of message bytes in a datagram, for datagram flows.
    payload: Option<u32>,
}

/// Threads of the active and of the passive end, if the end is local.
pub(crate) type Workers<'scope> = [Option<ScopedJoinHandle<'scope, Report>>; 2];

/// Sysctl settings applied before the scenario's settings: the kernel does not use TCP metrics of an earlier run.
const ALWAYS: &[(&str, &str)] = &[("net.ipv4.tcp_no_metrics_save", "1")];

/// Inputs for both ends of a flow.
pub(crate) struct FlowContext<'a> {
    pub(crate) model: &'a Model,
    pub(crate) around: &'a Surroundings,
    pub(crate) seed: Seed,
    pub(crate) limit: Time,
    /// Segmentation offload at the devices.
    pub(crate) offload: bool,
}

/// Location of a flow end, before its sockets are created.
enum EndPlace {
    Space(Namespace),
    Away,
    Model,
}

impl RealFlow {
    /// Creates both ends, or takes their remote devices; None if neither end has a kernel or program.
    pub(crate) fn new(
        index: usize,
        ends: Ends,
        site: &FlowContext<'_>,
        ordered: &mut RemoteSession<'_>,
        gateways: &mut Vec<Gateway>,
    ) -> Result<Option<RealFlow>, Error> {
        let flow = &site.model.flows[index];
        let kernels = flow.transport.kernels();
        let Some(any) = flow.transport.linux() else { return Ok(None) };
        let mixed = kernels.contains(&None);
        let mut place = |role: Role, packet_port| {
            let opens = role == Role::Active;
            let Some(linux) = kernels[usize::from(!opens)] else { return Ok(EndPlace::Model) };
            let (place, device) = match ordered.end((index, opens)) {
                Some(device) => (EndPlace::Away, device),
                None => here(linux, address(opens, linux.ip, mixed), site.offload)
                    .map(|(space, device)| (EndPlace::Space(space), device))?,
            };
            gateways.push(Gateway { packet_port, device, kind: PortOwner::Flow });
            Ok::<_, Error>(place)
        };
        let places = [place(Role::Active, ends.from)?, place(Role::Passive, ends.to)?];
        let log = MessageLog::default();
        let shared = places.iter().all(|place| !matches!(place, EndPlace::Away)).then_some(&log);
        let player = |place: EndPlace, role| {
            let opens = role == Role::Active;
            let (space, linux) = match (place, kernels[usize::from(!opens)]) {
                (EndPlace::Space(space), Some(linux)) => (space, linux),
                (EndPlace::Away, _) => return Ok(EndKind::Away),
                _ => return Ok(EndKind::Model),
            };
            if linux.program.is_some() {
                let node = if opens { flow.from } else { flow.to };
                let at = program::ProgramAddress {
                    node: &site.model.nodes[node].name,
                    addresses: [opens, !opens].map(|opens| address(opens, linux.ip, mixed)),
                    port: PORT,
                    start: opens.then_some(ends.start),
                };
                let program = Program::new(space, (flow, linux), &at, site.around)?;
                return Ok(EndKind::Program(Box::new(program)));
            }
            let work = EndWork::of(flow, linux, site.seed);
            let to = SocketAddr::new(address(false, linux.ip, mixed), PORT);
            let at = (&space, &KernelSettings::from(linux), linux.ip);
            let part = Part::new((&work, opens), at, (ends.start, site.limit), (to, shared))?;
            Ok::<_, Error>(EndKind::Sockets(space, part))
        };
        let [from, to] = places;
        // The passive end is created first.
        let to = player(to, Role::Passive)?;
        let players = [player(from, Role::Active)?, to];
        let (plan, payload) = (flow.clone(), any.protocol.payload());
        let (limit, seed) = (site.limit, site.seed);
        Ok(Some(RealFlow { flow: index, ends, limit, players, plan, seed, payload }))
    }

    /// Starts passive programs.
    pub(crate) fn serve(&mut self, given_up: impl Fn() -> bool + Copy) -> Result<(), Error> {
        for player in &mut self.players {
            if let EndKind::Program(program) = player {
                program.serve(given_up)?;
            }
        }
        Ok(())
    }

    /// Number of ends that signal completion: models are polled, and programs are not awaited.
    pub(crate) fn awaited(&self) -> usize {
        let awaited = |player: &&EndKind| matches!(player, EndKind::Sockets(..) | EndKind::Away);
        self.players.iter().filter(awaited).count()
    }

    /// Starts the threads of local ends; each awaited end calls `done` once.
    pub(crate) fn start<'scope, 'env>(
        &'env mut self,
        scope: &'scope Scope<'scope, 'env>,
        (clock, realtime): (Clock, bool),
        over: &'env AtomicBool,
        done: &'env (impl Fn() + Sync),
    ) -> Workers<'scope> {
        let times = Times { clock, start: self.ends.start, limit: self.limit, over, realtime };
        self.players.each_mut().map(|player| match player {
            EndKind::Sockets(space, part) => Some(scope.spawn(move || part.run(space, times, done))),
            EndKind::Program(program) => Some(scope.spawn(move || program.run(clock, over))),
            EndKind::Away | EndKind::Model => None,
        })
    }

    /// Whether the run waits for packets in flight at the end: datagrams are not acknowledged.
    pub(crate) fn trails(&self) -> bool {
        self.payload.is_some()
    }

    /// Whether an end is on another host.
    fn is_apart(&self) -> bool {
        self.players.iter().any(|player| matches!(player, EndKind::Away))
    }

    /// Completes the reports of two ends on different hosts: completion time of the passive end, message statistics
    /// of the receiver.
    pub(crate) fn settle(&self, [from, to]: &mut [Report; 2]) {
        if !self.is_apart() || self.plan.app.bulk().is_some() {
            return;
        }
        to.external.finished = from.external.finished;
        let App::Messages(plan) = &self.plan.app else { return };
        let schedule = MessageSchedule::new(plan, &self.plan.name, self.seed);
        let (sent, arrivals) = (
            arrival_log::sent_messages(schedule, self.payload, &from.send_times),
            std::mem::take(&mut to.arrivals),
        );
        if self.trails() {
            let (stats, last) = arrival_log::replay_datagrams(&sent, &arrivals, plan.useful);
            to.external.finished = to.external.finished.map(|at| at.max(last));
            (to.external.received, to.external.stats) = (stats.bytes, stats);
        } else {
            to.external.stats = arrival_log::replay_stream(&sent, &arrivals, plan.useful);
        }
    }

    /// Whether the workload was completed.
    pub(crate) fn complete(&self, [from, to]: &[Report; 2]) -> bool {
        let timed = matches!(self.plan.app, App::Bulk { lasts: Some(_), .. });
        // Workloads of models are polled in the network; with a program, the opposite model determines completion.
        let [writes, reads] =
            self.players.each_ref().map(|player| matches!(player, EndKind::Sockets(..) | EndKind::Away));
        (!writes || from.external.finished.is_some()) && (!reads || timed || to.external.finished.is_some())
    }

    /// Packets dropped by the devices of local ends.
    pub(crate) fn overrun(&self) -> Result<u64, Error> {
        self.players.iter().filter_map(EndKind::space).map(|space| Ok(space.overrun()?)).sum()
    }

    /// Kernel facts of the flow. `TCP_INFO` is that of the end that wrote more bytes.
    pub(crate) fn facts(
        &self,
        reports: &[Report; 2],
        ordered: &RemoteSession<'_>,
    ) -> Result<FlowFacts, Error> {
        let [from, to] = reports;
        let faults = [("from", from), ("to", to)];
        let faults = faults
            .iter()
            .filter_map(|(end, report)| Some(format!("{end}: {}", report.fault.as_ref()?)))
            .collect();
        let Report { watch, lasts, .. } = if to.written > from.written { to } else { from };
        let counters = |player: &EndKind, opens| match player {
            EndKind::Sockets(space, _) => space.counters(),
            EndKind::Program(program) => program.space.counters(),
            EndKind::Away => Ok(ordered.counters((self.flow, opens))),
            EndKind::Model => Ok(BTreeMap::new()),
        };
        let mut facts = FlowFacts {
            info: watch.info,
            // A state of 0 means that no connection existed.
            connections: lasts.iter().filter(|info| info.state != 0).copied().collect(),
            history: watch.history.clone(),
            from: counters(&self.players[0], true)?,
            to: counters(&self.players[1], false)?,
            faults,
        };
        if self.awaited() > 0 && facts.info.state == 0 && to.external.received == 0 && !self.trails() {
            facts.faults.push("the connection was never established".into());
        }
        Ok(facts)
    }
}

impl EndKind {
    /// Namespace of a local end.
    fn space(&self) -> Option<&Namespace> {
        match self {
            EndKind::Sockets(space, _) => Some(space),
            EndKind::Program(program) => Some(&program.space),
            EndKind::Away | EndKind::Model => None,
        }
    }
}

/// Address of an end; opposite a model, the address that the model writes into its packets.
fn address(opens: bool, ip: Ip, mixed: bool) -> IpAddr {
    if !mixed {
        return endpoint::address(opens, ip);
    }
    ADDRESSES[usize::from(ip == Ip::V6)][usize::from(!opens)]
}

/// Creates the namespace and device of a local end.
fn here(linux: &Linux, at: IpAddr, offload: bool) -> Result<(Namespace, Device), Error> {
    let space = endpoint::space(linux.ip)?;
    for (name, value) in ALWAYS {
        space.set(name, value)?;
    }
    for (name, value) in &linux.sysctl {
        space.set(name, value)?;
    }
    let device = space.device(at, linux.mtu, offload)?;
    Ok((space, device))
}
