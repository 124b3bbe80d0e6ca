//! Nodes with commands (`CommandNodes`): network namespace, device, addresses of each, and host names of all in
//! `/etc/hosts` format.

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

/// Node at which commands run, on this host.
#[derive(Debug)]
pub(crate) struct CommandNode {
    /// Index of the node in the model.
    pub(crate) node: usize,
    /// Network namespace.
    pub(crate) space: Namespace,
}

/// Nodes with commands of a repetition.
#[derive(Debug)]
pub(crate) struct CommandNodes {
    pub(crate) machines: Vec<CommandNode>,
    /// Host names and addresses in the format of `/etc/hosts`.
    pub(crate) hosts: String,
}

impl CommandNodes {
    /// Creates the nodes with commands of a model, for the given packet ports; with segmentation offload if `offload`.
    ///
    /// # Errors
    /// [`netns::Error::Rights`]; an error of the kernel.
    pub(crate) fn new(
        model: &Model,
        packet_ports: &[ElementId],
        network: &mut Network,
        (around, offload): (&Surroundings, bool),
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
                    let (space, device) =
                        here(&model.nodes[node].linux, node, beyond, (around.level, offload))?;
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

    /// Node with this index.
    pub(crate) fn at(&self, node: usize) -> Result<&CommandNode, Error> {
        let found = self.machines.iter().find(|machine| machine.node == node);
        found
            .ok_or_else(|| Error::of("finding the machine of a command")(std::io::ErrorKind::NotFound.into()))
    }
}

/// Creates the namespace of a node on this host, and its device.
fn here(
    linux: &Linux,
    node: usize,
    beyond: Option<usize>,
    (level, offload): (u8, bool),
) -> Result<(Namespace, Device), Error> {
    let space = Namespace::machine()?;
    // TCP metrics cached by an earlier run are not used.
    space.set("net.ipv4.tcp_no_metrics_save", "1")?;
    if let Some(cc) = &linux.cc {
        space.set("net.ipv4.tcp_congestion_control", cc)?;
    }
    for (name, value) in &linux.sysctl {
        space.set(name, value)?;
    }
    let gateway = beyond.map(|at| addresses(at, level).0);
    let device = space.gateway(addresses(node, level), linux.mtu, gateway, offload)?;
    Ok((space, device))
}
