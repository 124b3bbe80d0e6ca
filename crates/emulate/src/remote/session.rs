//! Controller session with remote hosts (`RemoteSession`): orders from the model, devices of remote nodes and flow
//! ends, start, results.
//!
//! Without remote hosts, all operations do nothing.

use super::hosts::{CommandOrder, EndOrder, MachineOrder, Orders, RemoteHosts, RemoteResults};
use crate::accuracy::lateness::Timing;
use crate::sockets::endpoint::Report;
use crate::sockets::spec::EndWork;
use crate::{Error, Options, Surroundings};
use base::Time;
use base::rng::Seed;
use lab::node_addresses::start_of;
use lab::node_addresses::{addresses, hosts};
use netns::clock::Clock;
use netns::device::Device;
use netns::job::CommandExit;
use netns::output::{self, Outputs};
use scenario::Model;
use scenario::build::Ends;
use scenario::model::{Ip, Transport};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use transport::tcp::Role;

/// Orders to remote hosts, their devices and results.
pub(crate) struct RemoteSession<'a> {
    /// Remote hosts, if any.
    by: Option<&'a dyn RemoteHosts>,
    /// For each node: whether it is on a remote host.
    held: Vec<bool>,
    machines: BTreeMap<usize, Device>,
    ends: BTreeMap<(usize, bool), Device>,
    returned: RemoteResults,
}

impl<'a> RemoteSession<'a> {
    /// Sends the orders for the nodes on remote hosts and takes their devices.
    pub(crate) fn prepare(
        model: &Model,
        (seed, options): (Seed, Options),
        flows: &[Ends],
        around: &'a Surroundings,
        stop: &AtomicBool,
    ) -> Result<RemoteSession<'a>, Error> {
        let mut ordered = RemoteSession {
            by: around.elsewhere.as_deref(),
            held: vec![false; model.nodes.len()],
            machines: BTreeMap::new(),
            ends: BTreeMap::new(),
            returned: RemoteResults::default(),
        };
        let Some(by) = ordered.by else { return Ok(ordered) };
        ordered.held = model.nodes.iter().map(|node| by.holds(&node.name)).collect();
        let name = |node: usize| model.nodes[node].name.clone();
        let stations: Vec<usize> =
            model.stations.iter().copied().filter(|node| ordered.holds(*node)).collect();
        let machines = stations.iter().map(|&node| MachineOrder {
            node: name(node),
            at: addresses(node, around.level),
            linux: (&model.nodes[node].linux).into(),
        });
        let mut ends = Vec::new();
        for (i, (flow, at)) in model.flows.iter().zip(flows).enumerate() {
            let Some(linux) = flow.transport.linux() else { continue };
            if matches!(flow.transport, Transport::Ends(_)) {
                let held = [flow.from, flow.to].into_iter().find(|node| ordered.holds(*node));
                let Some(node) = held else { continue };
                let why = format!("the two ends of flow `{}` differ, and run on this host only", flow.name);
                return Err(Error::Agent { name: name(node), why });
            }
            for (node, role) in [(flow.from, Role::Active), (flow.to, Role::Passive)] {
                if ordered.holds(node) {
                    ends.push(EndOrder {
                        node: name(node),
                        flow: i,
                        opens: role == Role::Active,
                        linux: linux.into(),
                        six: linux.ip == Ip::V6,
                        start_ns: at.start.as_nanos(),
                        work: EndWork::of(flow, linux, seed),
                    });
                }
            }
        }
        let commands = model.commands.iter().enumerate().filter(|(_, command)| ordered.holds(command.node));
        let commands = commands.map(|(i, command)| CommandOrder {
            node: name(command.node),
            command: i,
            run: command.run.clone(),
            start_ns: start_of(command, seed).as_nanos(),
            serves: command.serves,
        });
        let orders = Orders {
            machines: machines.collect(),
            commands: commands.collect(),
            hosts: hosts(model, around.level),
            resolver: around.resolver.clone(),
            limit_ns: (Time::ZERO + model.run.limit).as_nanos(),
            ends,
            realtime: options.realtime,
            offload: options.offload,
        };
        let keys: Vec<(usize, bool)> = orders.ends.iter().map(|end| (end.flow, end.opens)).collect();
        let mut devices = by.prepare(orders, stop)?.into_iter();
        ordered.machines = stations.into_iter().zip(devices.by_ref()).collect();
        ordered.ends = keys.into_iter().zip(devices).collect();
        Ok(ordered)
    }

    /// Whether the emulation uses remote hosts.
    pub(crate) fn any(&self) -> bool {
        self.by.is_some()
    }

    /// Whether the node is on a remote host.
    pub(crate) fn holds(&self, node: usize) -> bool {
        self.held.get(node).copied().unwrap_or(false)
    }

    /// Device of a node with commands, if the node is on a remote host.
    pub(crate) fn machine(&mut self, node: usize) -> Option<Device> {
        self.machines.remove(&node)
    }

    /// Device of a flow end, if the end is on a remote host.
    pub(crate) fn end(&mut self, at: (usize, bool)) -> Option<Device> {
        self.ends.remove(&at)
    }

    /// Starts all remote hosts on this clock.
    pub(crate) fn start(&self, clock: Clock) -> Result<(), Error> {
        self.by.map_or(Ok(()), |by| by.start(clock))
    }

    /// Receives completions until `over`; sets `over` if a host is lost.
    pub(crate) fn attend(&self, over: &AtomicBool, done: &(dyn Fn() + Sync)) -> Result<(), Error> {
        let Some(by) = self.by else { return Ok(()) };
        let attended = by.attend(over, done);
        if attended.is_err() {
            over.store(true, Ordering::Relaxed);
        }
        attended
    }

    /// Collects the results; command output goes to `outputs`, or to `written` if it stays in memory.
    pub(crate) fn finish(
        &mut self,
        (ends, written): (&mut [CommandExit], &mut [[Vec<u8>; 2]]),
        timing: &mut Timing,
        outputs: &Outputs,
        model: &Model,
    ) -> Result<(), Error> {
        let Some(by) = self.by else { return Ok(()) };
        let (mut returned, between) = by.finish()?;
        timing.overrun += returned.overrun;
        timing.between = Some(between);
        for result in &mut returned.commands {
            let (Some(ended), Some(command)) =
                (ends.get_mut(result.command), model.commands.get(result.command))
            else {
                continue;
            };
            *ended = CommandExit {
                started: result.started_ns.map(Time::from_nanos),
                ended: result.ended_ns.map(Time::from_nanos),
                status: result.status.clone(),
                lacks: result.lacks.clone(),
            };
            match outputs {
                Outputs::Nowhere => {}
                Outputs::Folder(folder) => output::write(folder, &command.name, &result.outputs)?,
                Outputs::Memory => {
                    if let Some(written) = written.get_mut(result.command) {
                        *written = std::mem::take(&mut result.outputs);
                    }
                }
            }
        }
        self.returned = returned;
        Ok(())
    }

    /// Report of a flow end on a remote host.
    pub(crate) fn take_report(&mut self, at: (usize, bool)) -> Report {
        let found = self.returned.ends.iter_mut().find(|end| (end.flow, end.opens) == at);
        found.map_or_else(Report::default, |end| end.report())
    }

    /// Kernel counters of a flow end on a remote host.
    pub(crate) fn counters(&self, at: (usize, bool)) -> BTreeMap<String, u64> {
        let found = self.returned.ends.iter().find(|end| (end.flow, end.opens) == at);
        found.map(|end| end.counters.clone()).unwrap_or_default()
    }
}
