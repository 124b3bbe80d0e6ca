//! Machines of commands: namespaces, devices, addresses and host names.
//!
//! At machines: for each node that needs one, a network namespace with a device, addresses that the other machines
//! know, and the names of all of them.

use crate::driver::{Gateway, Kind};
use crate::remote::session::Ordered;
use crate::{Error, Surroundings};
use base::packet::NodeId;
use host::Machine as Gate;
use lab::machines::{addresses, hosts};
use netns::device::Device;
use netns::namespace::Namespace;
use path::{ElementId, Network};
use scenario::Model;
use scenario::model::Linux;

/// A node at which commands run.
#[derive(Debug)]
pub(crate) struct Machine {
    /// Its index in the model.
    pub(crate) node: usize,
    /// Its network.
    pub(crate) space: Namespace,
}

/// All of them.
#[derive(Debug)]
pub(crate) struct Stage {
    pub(crate) machines: Vec<Machine>,
    /// Their names and addresses, as `/etc/hosts` has them.
    pub(crate) hosts: String,
}

impl Stage {
    /// Makes the machines of a model whose network has been built with these doors.
    ///
    /// # Errors
    /// [`Error::Rights`]; what the kernel refused.
    pub(crate) fn new(
        model: &Model,
        doors: &[ElementId],
        network: &mut Network,
        around: &Surroundings,
        ordered: &mut Ordered<'_>,
        gateways: &mut Vec<Gateway>,
    ) -> Result<Stage, Error> {
        let mut stage = Stage { machines: Vec::new(), hosts: hosts(model, around.level) };
        for (&node, &door) in model.stations.iter().zip(doors) {
            if model.nodes[node].wire.is_some() {
                continue; // nothing of ours is there
            }
            let beyond = around.uplink.filter(|at| *at != node);
            let device = match ordered.machine(node) {
                Some(device) => device,
                None => {
                    let (space, device) = here(&model.nodes[node].linux, node, beyond, around.level)?;
                    stage.machines.push(Machine { node, space });
                    device
                }
            };
            gateways.push(Gateway { door, device, kind: Kind::Machine });
            let now = network.now();
            network.enter(now, door, |gate: &mut Gate, _| {
                for &other in &model.stations {
                    let (four, six) = addresses(other, around.level);
                    gate.knows(NodeId(other as u16), [Some(four.into()), Some(six.into())]);
                }
                if let Some(at) = beyond {
                    gate.leads_beyond(NodeId(at as u16));
                }
            });
        }
        Ok(stage)
    }

    /// The machine at a node.
    pub(crate) fn at(&self, node: usize) -> Result<&Machine, Error> {
        let found = self.machines.iter().find(|machine| machine.node == node);
        found
            .ok_or_else(|| Error::of("finding the machine of a command")(std::io::ErrorKind::NotFound.into()))
    }
}

/// Makes a machine at this host, and its device.
fn here(linux: &Linux, node: usize, beyond: Option<usize>, level: u8) -> Result<(Namespace, Device), Error> {
    let space = Namespace::machine()?;
    // What one run leaves behind shall be nothing to the next.
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
