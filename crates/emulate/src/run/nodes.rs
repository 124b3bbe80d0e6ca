//! Machines of commands: namespaces, devices, addresses and host names.
//!
//! Each node with commands gets a network namespace with a device, addresses known to all machines, and the
//! host names of all of them.

use crate::driver::{Gateway, PortOwner};
use crate::remote::session::RemoteSession;
use crate::{Error, Surroundings};
use base::packet::NodeId;
use host::NodePort as Gate;
use lab::node_addresses::{addresses, hosts};
use netns::device::Device;
use netns::namespace::Namespace;
use path::{ElementId, Network};
use scenario::Model;
use scenario::model::Linux;

/// A node at which commands run.
#[derive(Debug)]
pub(crate) struct CommandNode {
    /// Index in the model.
    pub(crate) node: usize,
    /// Network namespace.
    pub(crate) space: Namespace,
}

/// Machines of a repetition.
#[derive(Debug)]
pub(crate) struct CommandNodes {
    pub(crate) machines: Vec<CommandNode>,
    /// Names and addresses, in the format of `/etc/hosts`.
    pub(crate) hosts: String,
}

impl CommandNodes {
    /// Creates the machines of a model with these packet ports.
    ///
    /// # Errors
    /// [`Error::Rights`]; an error of the kernel.
    pub(crate) fn new(
        model: &Model,
        packet_ports: &[ElementId],
        network: &mut Network,
        around: &Surroundings,
        ordered: &mut RemoteSession<'_>,
        gateways: &mut Vec<Gateway>,
    ) -> Result<CommandNodes, Error> {
        let mut stage = CommandNodes { machines: Vec::new(), hosts: hosts(model, around.level) };
        for (&node, &packet_port) in model.stations.iter().zip(packet_ports) {
            if model.nodes[node].wire.is_some() {
                continue; // the machine is on another host
            }
            let beyond = around.uplink.filter(|at| *at != node);
            let device = match ordered.machine(node) {
                Some(device) => device,
                None => {
                    let (space, device) = here(&model.nodes[node].linux, node, beyond, around.level)?;
                    stage.machines.push(CommandNode { node, space });
                    device
                }
            };
            gateways.push(Gateway { packet_port, device, kind: PortOwner::Machine });
            let now = network.now();
            network.enter(now, packet_port, |gate: &mut Gate, _| {
                for &other in &model.stations {
                    let (four, six) = addresses(other, around.level);
                    gate.set_addresses(NodeId(other as u16), [Some(four.into()), Some(six.into())]);
                }
                if let Some(at) = beyond {
                    gate.set_default_route(NodeId(at as u16));
                }
            });
        }
        Ok(stage)
    }

    /// Machine at a node.
    pub(crate) fn at(&self, node: usize) -> Result<&CommandNode, Error> {
        let found = self.machines.iter().find(|machine| machine.node == node);
        found
            .ok_or_else(|| Error::of("finding the machine of a command")(std::io::ErrorKind::NotFound.into()))
    }
}

/// Creates a machine at this host, and its device.
fn here(linux: &Linux, node: usize, beyond: Option<usize>, level: u8) -> Result<(Namespace, Device), Error> {
    let space = Namespace::machine()?;
    // A run must not depend on TCP metrics cached by an earlier one.
    space.set("net.ipv4.tcp_no_metrics_save", "1")?;
    if let Some(cc) = &linux.cc {
        space.set("net.ipv4.tcp_congestion_control", cc)?;
    }
    for (name, value) in &linux.sysctl {
        space.set(name, value)?;
    }
    let gateway = beyond.map(|at| addresses(at, level).0);
    let device = space.gateway(addresses(node, level), linux.mtu, gateway)?;
    Ok((space, device))
}
