//! Machines of commands: namespaces, devices, addresses and host names.
//!
//! At machines: for each node that needs one, a network namespace with a device, addresses that the other machines
//! know, and the names of all of them.

use crate::device::Device;
use crate::driver::{Gateway, Kind};
use crate::ordered::Ordered;
use crate::space::Space;
use crate::{Error, Surroundings};
use base::packet::NodeId;
use host::Machine as Gate;
use path::{ElementId, Network};
use scenario::Model;
use scenario::model::Linux;
use std::net::{Ipv4Addr, Ipv6Addr};

/// A node at which commands run.
#[derive(Debug)]
pub(crate) struct Machine {
    /// Its index in the model.
    pub(crate) node: usize,
    /// Its network.
    pub(crate) space: Space,
}

/// All of them.
#[derive(Debug)]
pub(crate) struct Stage {
    pub(crate) machines: Vec<Machine>,
    /// Their names and addresses, as `/etc/hosts` has them.
    pub(crate) hosts: String,
}

/// Links may be nested so deep: each level has addresses of its own.
pub const LEVELS: u8 = 16;

/// The addresses of a node: from the range for tests of networks (RFC 2544) and of a private prefix (RFC 4193), in
/// which each level of nesting has a network of its own.
pub fn addresses(node: usize, level: u8) -> (Ipv4Addr, Ipv6Addr) {
    let level = u16::from(level % LEVELS);
    let number = (node as u16 + 1) & 0x0fff;
    let host = level << 12 | number;
    let [high, low] = host.to_be_bytes();
    let six = Ipv6Addr::new(0xfd77, 0x696c, 0x6c69, level, 0, 0, 0, number);
    (Ipv4Addr::new(198, 18, high, low), six)
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
        found.ok_or_else(|| Error::Refused {
            what: "finding the machine of a command".into(),
            source: std::io::ErrorKind::NotFound.into(),
        })
    }
}

/// Makes a machine at this host, and its device.
fn here(linux: &Linux, node: usize, beyond: Option<usize>, level: u8) -> Result<(Space, Device), Error> {
    let space = Space::machine()?;
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

/// The names of all machines of a model, as `/etc/hosts` has them. A name leads to the address of version 4 alone: with
/// both, programs try version 6 first, and servers that do not speak it cost a round trip that nobody asked for.
pub fn hosts(model: &Model, level: u8) -> String {
    let mut text = "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n".to_owned();
    for &node in &model.stations {
        let ((four, six), name) = (addresses(node, level), &model.nodes[node].name);
        text.push_str(&format!("{four} {name}\n{six} {name}.ip6\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_do_not_share_addresses() {
        let mut seen = std::collections::BTreeSet::new();
        for level in 0..LEVELS {
            for node in [0, 1, 254, 255, 1000] {
                let (four, six) = addresses(node, level);
                assert!(four.octets()[..2] == [198, 18] && seen.insert(four.to_string()));
                assert!(seen.insert(six.to_string()));
            }
        }
    }
}
