//! Run of one repetition with real kernels in virtual time: start of guests at flow ends, nodes and PCUs, end
//! of the workloads, reports.
//!
//! Each real flow end is a guest kernel with a task; all other elements are models. The kernels boot, take
//! turns with the network until all workloads are done, and report.

use crate::calendar::NEVER;
use crate::cpu::OwnCpu;
use crate::drive::{Driver, Next};
use crate::guest::{Guest, Setup};
use crate::guest_nodes::{self, file, settings};
use crate::kernel_nodes::{KernelNode, KernelRole, speaks};
use crate::task::{Bulk, ConnectionTask, Datagrams, NetworkCard, Task, TaskResult, Work};
use crate::{Error, KernelOutcome, Kernels, Options, pcu};
use base::rng::Seed;
use base::{Span, Time};
use host::{ADDRESSES, ExternalSockets, ExternalUdp, FlowPort, path_address};
use lab::capture::ports::{Capture, CapturedPort};
use lab::run::{self, Pending, Run, RunEnd};
use netns::facts::FlowFacts;
use netns::proc;
use path::{ElementId, Network};
use scenario::Model;
use scenario::build::{Ends, World, sink, workload};
use scenario::model::{App, Flow, Ip, Linux, Protocol};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicBool, Ordering};
use transport::app::datagrams::{DatagramSink, DatagramSource};
use transport::app::message_stream::MessageSchedule;
use transport::tcp::Role;

/// Time after the limit within which a guest reports.
const GRACE: Span = Span::from_secs(2);
/// Guest memory, MiB, with which the kernel chooses its default buffer sizes.
const MEMORY_MIB: u32 = 512;

/// Runs repetition `repetition` of a model in virtual time, with real kernels where the model requires them.
/// `stop`, once set, ends the run early. Until the end the calling thread and the kernels share one CPU.
///
/// # Errors
/// [`Error::Asked`] if a requirement of the model is not available; [`Error::Guest`] or [`Error::Refused`] if
/// a kernel or the system fails.
pub fn once(
    model: &Model,
    repetition: u64,
    kernels: &Kernels,
    options: &Options,
    stop: &AtomicBool,
) -> Result<KernelOutcome, Error> {
    let _cpu = OwnCpu::take();
    let (remotes, wired) = (Vec::new(), Vec::new());
    let mut clock = Turns { kernels, options, stop, remotes, wired, played: Played::default() };
    let ran = run::run(model, repetition, run::tracer(options.trace), &mut clock)?;
    let ran = ran.unwrap_or_else(|| unreachable!("an interrupted run has numbers"));
    let Played { facts, commands, capture } = clock.played;
    Ok(KernelOutcome { ran, facts, commands, capture })
}

/// Clock in virtual time: the network and the kernels take turns in event order.
struct Turns<'a> {
    kernels: &'a Kernels,
    options: &'a Options,
    stop: &'a AtomicBool,
    /// Workloads in the network that use connections of a kernel, by flow; active end first.
    remotes: Vec<[Option<ElementId>; 2]>,
    /// Elements of model endpoints whose other end is a kernel.
    wired: Vec<ElementId>,
    played: Played,
}

/// Results of a repetition in addition to the metrics of its flows.
#[derive(Default)]
struct Played {
    facts: Vec<Option<FlowFacts>>,
    commands: Vec<crate::Command>,
    capture: Option<Capture>,
}

/// Kernels of a repetition.
#[derive(Default)]
struct Posts {
    /// Kernels of flow ends, then of nodes, then of PCUs.
    kernel_nodes: Vec<KernelNode>,
    /// Flow and side (0 active, 1 passive) of each kernel of a flow end.
    owners: Vec<(usize, usize)>,
}

impl run::Clock for Turns<'_> {
    type Error = Error;

    fn attach(&mut self, run: &mut Run<'_>) -> Result<(), Error> {
        self.remotes = remotes(run.model, &mut run.world, run.seed);
        self.wired = run::wired(run.model, &run.world);
        if self.options.capture {
            self.wired.iter().for_each(|&id| host::keep_packets(&mut run.world.network, id));
        }
        Ok(())
    }

    fn drive(&mut self, run: &mut Run<'_>) -> Result<RunEnd, Error> {
        let mut all = Posts::default();
        self.start_flows(run, &mut all)?;
        self.start_machines(run, &mut all)?;
        let machines = all.kernel_nodes.len();
        self.start_pcus(run, &mut all)?;
        let Posts { kernel_nodes, owners } = all;
        let capture = self.options.capture.then(|| {
            let spot = |name: String, element: ElementId| CapturedPort { name, element, framing: None };
            let kernels = kernel_nodes
                .iter()
                .map(|kernel_node| spot(kernel_node.guest.name().to_owned(), kernel_node.packet_port));
            let models = self.wired.iter().map(|&id| spot(run.name_of(id), id));
            Capture::new(kernels.chain(models).collect())
        });
        let mut ending = Ending::new(run, &self.remotes, self.stop);
        let network = run.take_network();
        let mut driver = Driver { network, kernel_nodes, wired: std::mem::take(&mut self.wired), capture };
        driver.boot()?;
        driver.run(run.limit + GRACE, |network, kernel_nodes| ending.next(network, kernel_nodes))?;
        let Driver { network, mut kernel_nodes, capture, .. } = driver;
        run.world.network = network;
        pcu::close(run, &kernel_nodes.split_off(machines));
        let machines = kernel_nodes.split_off(owners.len());
        let (facts, flows_complete) = settle(run, &kernel_nodes, &owners)?;
        let results = machines
            .iter()
            .map(|kernel_node| Ok((kernel_node, task_result(kernel_node)?)))
            .collect::<Result<Vec<_>, Error>>()?;
        let commands_complete = results.iter().all(|(_, result)| result.finished.is_some());
        let commands = guest_nodes::commands(run.model, &results)?;
        self.played = Played { facts, commands, capture };
        let complete = ending.pending.is_empty() && flows_complete && commands_complete;
        Ok(if complete { RunEnd::Complete } else { RunEnd::Incomplete })
    }
}

impl Turns<'_> {
    /// Starts the kernels of flow ends.
    fn start_flows(&self, run: &Run<'_>, all: &mut Posts) -> Result<(), Error> {
        for (i, (flow, ends)) in run.model.flows.iter().zip(&run.world.flows).enumerate() {
            for (side, packet_port) in [ends.from, ends.to].into_iter().enumerate() {
                let Some(linux) = flow.transport.kernels()[side] else { continue };
                check(flow, linux, side)?;
                let largest = flow.transport.kernels().into_iter().flatten().map(|linux| linux.mtu).max();
                let task = task(flow, linux, *ends, run.limit, self.options, side == 0);
                let place = (&*run.name_of(packet_port), packet_port, KernelRole::Flow);
                let mut kernel_node =
                    self.start(run.seed, place, linux, &task, largest.unwrap_or(linux.mtu))?;
                kernel_node.remote = self.remotes[i][side];
                all.kernel_nodes.push(kernel_node);
                all.owners.push((i, side));
            }
        }
        Ok(())
    }

    /// Starts the kernels of nodes with commands.
    fn start_machines(&self, run: &mut Run<'_>, all: &mut Posts) -> Result<(), Error> {
        let model = run.model;
        for (&node, &packet_port) in model.stations.iter().zip(&run.world.stations) {
            let linux = &model.nodes[node].linux;
            let task = guest_nodes::task(model, node, run.seed, run.limit, self.kernels, &run.world.network)?;
            let largest = model.stations.iter().map(|&node| model.nodes[node].linux.mtu).max();
            let place = (&*model.nodes[node].name, packet_port, KernelRole::Machine);
            all.kernel_nodes.push(self.start(run.seed, place, linux, &task, largest.unwrap_or(linux.mtu))?);
            guest_nodes::introduce(model, &mut run.world.network, packet_port);
        }
        Ok(())
    }

    /// Starts the PCUs of cells, each in its own kernel.
    fn start_pcus(&self, run: &Run<'_>, all: &mut Posts) -> Result<(), Error> {
        for cell in pcu::cells(run.model, &run.world) {
            let (task, linux) = (cell.task(run.limit, self.kernels)?, Linux::default());
            let place = (&*format!("{}.pcu", cell.name), cell.station, KernelRole::Pcu);
            all.kernel_nodes.push(self.start(run.seed, place, &linux, &task, linux.mtu)?);
        }
        Ok(())
    }

    /// Starts a guest kernel; `largest` is the largest packet that its network card can receive, bytes.
    fn start(
        &self,
        seed: Seed,
        (name, packet_port, kind): (&str, ElementId, KernelRole),
        linux: &Linux,
        task: &Task,
        largest: u32,
    ) -> Result<KernelNode, Error> {
        let setup = Setup {
            kernel: self.kernels.find(linux.kernel.as_deref())?,
            init: self.kernels.init.clone(),
            chance: Some(self.kernels.chance.clone()),
            place: self.kernels.place.clone(),
            files: task.files(),
            seed: seed.stream(name, "kernel").bits(),
            memory_mib: MEMORY_MIB,
            modem: linux.modem,
            largest,
            patience: self.kernels.patience,
            name: name.to_owned(),
        };
        Ok(KernelNode { guest: Guest::start(&setup)?, packet_port, kind, remote: None })
    }
}

/// End of a repetition: workloads in the network, datagrams in flight, reports of the kernels.
struct Ending<'a> {
    /// Workloads in the network that are not done.
    pending: Pending,
    /// Datagram flows: index of the ledger of their data, and their ends.
    flying: Vec<(usize, Ends)>,
    limit: Time,
    stop: &'a AtomicBool,
    /// [`Next::Hush`] was returned.
    hushed: bool,
    /// [`Next::End`] was returned.
    ending: bool,
}

impl<'a> Ending<'a> {
    fn new(run: &Run<'_>, remotes: &[[Option<ElementId>; 2]], stop: &'a AtomicBool) -> Ending<'a> {
        let model = run.model;
        let datagrams = |flow: &Flow| flow.transport.linux().is_some_and(|l| l.protocol.payload().is_some());
        let flying = (0..model.flows.len()).filter(|&i| datagrams(&model.flows[i]));
        let flying: Vec<(usize, Ends)> = flying.map(|i| (2 * i, run.world.flows[i])).collect();
        let pending = Pending::new(hosts(model, &run.world, remotes));
        Ending { pending, hushed: flying.is_empty(), flying, limit: run.limit, stop, ending: false }
    }

    fn next(&mut self, network: &Network, kernel_nodes: &[KernelNode]) -> Next {
        let done = |kernel_node: &KernelNode| kernel_node.guest.state().done;
        let quiet = self.pending.is_over(network);
        if quiet && !self.hushed {
            self.hushed = true;
            return Next::Hush;
        }
        // A sender of datagrams is silent once it is done and its network card is empty.
        let silent = |kernel_node: &KernelNode| {
            !speaks(network, kernel_node) || kernel_node.guest.next_departure() == NEVER && done(kernel_node)
        };
        let over = quiet && kernel_nodes.iter().all(silent) && landed(network, &self.flying);
        let waited = over || network.now() >= self.limit;
        if waited && kernel_nodes.iter().all(done) || self.stop.load(Ordering::Relaxed) {
            return Next::Stop;
        }
        let idle = |kernel_node: &KernelNode| {
            done(kernel_node) || kernel_node.remote.is_some() || kernel_node.guest.state().idle
        };
        if waited && !self.ending && kernel_nodes.iter().all(idle) {
            self.ending = true;
            return Next::End;
        }
        Next::GoOn
    }
}

/// Passes the reports of the flows' kernels to their packet ports. Returns the kernel facts of each flow, and whether
/// all transfers of kernels are done.
fn settle(
    run: &mut Run<'_>,
    kernel_nodes: &[KernelNode],
    owners: &[(usize, usize)],
) -> Result<(Vec<Option<FlowFacts>>, bool), Error> {
    let mut facts: Vec<Option<FlowFacts>> = vec![None; run.model.flows.len()];
    let mut complete = true;
    for (kernel_node, &(owner, side)) in kernel_nodes.iter().zip(owners) {
        let result = task_result(kernel_node)?;
        let endless = run.model.flows[owner].app.bulk().is_some_and(|(bytes, _)| bytes.is_none());
        if kernel_node.remote.is_none() {
            complete &= result.finished.is_some() || (endless && side == 1);
        }
        note(facts[owner].get_or_insert_default(), kernel_node, side, &result)?;
        let report = report(&run.world.network, kernel_node, side, &result);
        let now = run.world.network.now();
        run.world.network.enter(now, kernel_node.packet_port, |packet_port: &mut FlowPort, _| {
            packet_port.set_external_report(report)
        });
    }
    Ok((facts, complete))
}

/// Report of one flow end: from the workload that uses the kernel's connections, or from the kernel's own
/// transfer.
fn report(
    network: &Network,
    kernel_node: &KernelNode,
    side: usize,
    result: &TaskResult,
) -> host::ExternalReport {
    let remote = kernel_node.remote.and_then(|remote| network.element::<ExternalSockets>(remote));
    let external_udp =
        kernel_node.remote.and_then(|external_udp| network.element::<ExternalUdp>(external_udp));
    match (remote, external_udp) {
        (Some(remote), _) => host::ExternalReport {
            finished: remote.workload().finished(),
            received: remote.received(),
            connections: remote.connections() as u64,
            stats: remote.workload().stats().clone(),
        },
        (_, Some(external_udp)) => host::ExternalReport {
            finished: external_udp.finished(),
            received: if side == 1 { external_udp.stats().bytes } else { 0 },
            connections: 0,
            stats: external_udp.stats().clone(),
        },
        (None, None) => host::ExternalReport {
            finished: result.finished,
            received: result.bytes,
            connections: 1,
            ..host::ExternalReport::default()
        },
    }
}

/// Rejects features that need real time.
fn check(flow: &Flow, linux: &Linux, side: usize) -> Result<(), Error> {
    let refused = |what: String, mend: &str| Err(Error::Asked { what, mend: mend.to_owned() });
    if linux.program.is_some() {
        let what = format!("an end of flow `{}` is a program, and that is for real time", flow.name);
        return refused(
            what,
            "`williwaw emulate` plays it; leave `program` out for a kernel in virtual time",
        );
    }
    if side == 1 && flow.reads.is_some() && linux.protocol != Protocol::Tcp {
        let what = format!("flow `{}` reads at a pace of its own, and not from a socket of TCP", flow.name);
        return refused(
            what,
            "data of SCTP and Multipath TCP are read at once; leave `read-rate` and `read-pause` out, or `protocol`",
        );
    }
    Ok(())
}

fn task(flow: &Flow, linux: &Linux, ends: Ends, limit: Time, options: &Options, sends: bool) -> Task {
    let (bytes, lasts) = flow.app.bulk().unwrap_or_default();
    let (here, there) = (usize::from(!sends), usize::from(sends));
    let [four, six] = ADDRESSES.map(|ends| ends[here]);
    let peer = ADDRESSES[usize::from(linux.ip == Ip::V6)][there];
    let (cc, protocol) = (linux.cc.clone(), linux.protocol);
    let work = match flow.app {
        App::Bulk { .. } => {
            let slowly = !sends && flow.reads.is_some();
            let (start, look) = (ends.start, options.look);
            Work::Bulk(Bulk { sends, peer, protocol, cc, start, bytes, look, slowly })
        }
        _ if protocol.payload().is_some() => Work::Datagrams(Datagrams { sends, peer, protocol }),
        App::Requests(_) | App::Messages(_) => {
            Work::Lines(ConnectionTask { opens: sends, peer, protocol, cc })
        }
    };
    let address = if let IpAddr::V4(four) = four { four } else { Ipv4Addr::UNSPECIFIED };
    let six = if let (IpAddr::V6(six), Ip::V6) = (six, linux.ip) { Some(six) } else { None };
    let others = (1..=flow.other_paths.len() as u8).map(|path| path_address(sends, path)).collect();
    Task {
        card: NetworkCard { address, width: 30, six, others, mtu: linux.mtu },
        sysctl: settings(linux).collect(),
        until: lasts.map_or(limit, |lasts| limit.min(ends.start + lasts)),
        work,
    }
}

/// Adds workloads that use a kernel's connections, by flow; active end first. None for bulk data, which the
/// guest transfers itself, unless the reader has a rate limit; none at a model's end.
fn remotes(model: &Model, world: &mut World, seed: Seed) -> Vec<[Option<ElementId>; 2]> {
    let mut all = Vec::with_capacity(model.flows.len());
    for (i, flow) in model.flows.iter().enumerate() {
        let (start, log) = (world.flows[i].start, world.logs[i].clone());
        let mut remote = |role: Role| {
            let (side, end) = if role == Role::Active { (0, flow.from) } else { (1, flow.to) };
            let linux = flow.transport.kernels()[side]?;
            let name = format!("{}@{}.app", flow.name, model.nodes[end].name);
            let id = match (linux.protocol.payload(), &flow.app) {
                (Some(payload), App::Messages(plan)) => {
                    let log = log.clone();
                    world.network.add(match role {
                        Role::Active => {
                            let schedule = MessageSchedule::new(plan, &flow.name, seed);
                            ExternalUdp::source(DatagramSource::new(payload, start, schedule, log))
                        }
                        Role::Passive => ExternalUdp::sink(DatagramSink::new(log, plan.useful)),
                    })
                }
                _ if role == Role::Passive && flow.reads.is_some() => {
                    world.network.add(ExternalSockets::reading(start, sink(flow)))
                }
                _ => world.network.add(ExternalSockets::new(role, start, workload(flow, role, &log, seed)?)),
            };
            world.names.push(name);
            Some(id)
        };
        let to = remote(Role::Passive);
        let from = remote(Role::Active);
        all.push([from, to]);
    }
    all
}

/// Ends of the workloads that run in the network: workloads of models, and workloads that use a kernel's connections.
fn hosts(model: &Model, world: &World, remotes: &[[Option<ElementId>; 2]]) -> Vec<Ends> {
    let flows = model.flows.iter().zip(&world.flows).zip(remotes);
    // For bulk data with a duration or without limit, the writing kernel determines the end.
    let waited = |flow: &Flow| flow.app.bulk().is_none_or(|all| matches!(all, (Some(_), None)));
    let runs = |flow: &Flow, remotes: &[Option<ElementId>; 2]| {
        flow.transport.kernels().contains(&None) || (remotes.iter().any(Option::is_some) && waited(flow))
    };
    flows
        .filter(|((flow, _), remotes)| runs(flow, remotes))
        .map(|((_, ends), [from, to])| Ends {
            from: from.unwrap_or(ends.from),
            to: to.unwrap_or(ends.to),
            start: ends.start,
        })
        .collect()
}

/// Whether all datagrams sent on these flows have been delivered or lost. Datagrams are not acknowledged, so a
/// workload can be done while its last datagrams are in flight.
fn landed(network: &Network, flows: &[(usize, Ends)]) -> bool {
    let counters = |id| network.element::<FlowPort>(id).map(FlowPort::counters).unwrap_or_default();
    flows.iter().all(|(ledger, ends)| {
        let lost = network.ledgers().get(*ledger).map_or(0, |l| l.queue_drops + l.other_drops);
        counters(ends.from).data_sent <= counters(ends.to).data_received + lost
    })
}

/// Text of a guest's result file; empty if the run ended before the file was written.
fn text(kernel_node: &KernelNode, name: &str) -> Result<String, Error> {
    Ok(String::from_utf8_lossy(&file(kernel_node, name)?).into_owned())
}

/// Result of a guest's task, from the file `told`.
fn task_result(kernel_node: &KernelNode) -> Result<TaskResult, Error> {
    Ok(TaskResult::read(&text(kernel_node, "told")?))
}

/// Adds the kernel counters of one flow end; for the sender also the `TCP_INFO` samples.
fn note(
    facts: &mut FlowFacts,
    kernel_node: &KernelNode,
    side: usize,
    result: &TaskResult,
) -> Result<(), Error> {
    let mut counters = proc::counters(&text(kernel_node, "netstat")?);
    counters.extend(proc::counters(&text(kernel_node, "snmp")?));
    counters.extend(proc::counters_6(&text(kernel_node, "snmp6")?));
    let end = ["from", "to"][side];
    facts.faults.extend(result.fault.as_ref().map(|fault| format!("{end}: {fault}")));
    if side == 1 {
        facts.to = counters;
        return Ok(());
    }
    facts.from = counters;
    facts.history = result.history.clone();
    facts.info = facts.history.last().map(|(_, info)| *info).unwrap_or_default();
    // The last sample is from the end of the flow, even if nothing changed.
    if let [.., (_, before), _] = &facts.history[..]
        && before.window() == facts.info.window()
    {
        facts.history.pop();
    }
    Ok(())
}
