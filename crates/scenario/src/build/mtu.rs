//! Builder of MTUs: fragmentation or rejection at the entrance of links, reassembly before hosts, and the
//! return path of ICMP errors.

use super::wiring::HostRoute;
use super::{Builder, path_numbers};
use crate::model::{Flow, Mtu, Transport};
use path::fragment::{self, ERRORS, HOST_ERRORS};
use path::reassembly::Reassembly;
use path::{ElementId, Port};
use std::collections::BTreeMap;
use transport::tcp::Role;
use transport::tcp::config::PathMtu;

/// Whether the endpoint discovers the path MTU, so that its packets must not be fragmented.
fn learns(flow: &Flow, role: Role) -> bool {
    match flow.transport.at(role) {
        Transport::Tcp { config, .. } => config.path_mtu != PathMtu::Off,
        Transport::Model(spec) => spec.learns_mtu(),
        _ => false,
    }
}

impl Builder<'_> {
    /// MTU element at the entrance of a link.
    pub(super) fn mtu(&mut self, link: usize, mtu: Mtu) -> ElementId {
        let model = self.model;
        let of = |flow: &Flow| [Role::Active, Role::Passive].map(|role| learns(flow, role));
        let mut whole: Vec<bool> = model.flows.iter().flat_map(of).collect();
        // Flow numbers of further network paths are larger than those of all flows.
        for (i, flow) in model.flows.iter().enumerate() {
            for number in path_numbers(model, i) {
                whole.resize(whole.len().max(2 * number + 2), false);
                whole[2 * number..2 * number + 2].copy_from_slice(&of(flow));
            }
        }
        let name = format!("{}.mtu", model.links[link].name);
        let id = self.add(name, fragment::Mtu::new(mtu.size, mtu.tells, whole));
        self.mtus.push((link, id));
        id
    }

    /// Whether any path of a flow has a link with an MTU.
    pub(super) fn may_be_cut(&self, flow: &Flow) -> bool {
        let ways = flow.other_paths.iter().flatten().chain([&flow.route, &flow.way_back]);
        ways.flatten().any(|&link| self.model.links[link].mtu.is_some())
    }

    /// Reassembly element before a model's host. Packets continue to `first`; ICMP errors go to `host`.
    pub(super) fn reassembly(
        &mut self,
        first: ElementId,
        host: ElementId,
        flow: &Flow,
        role: Role,
    ) -> ElementId {
        let name = format!("{}.reassembly", self.names[host.0 as usize]);
        let id = self.add(name, Reassembly::new(learns(flow, role)));
        self.network.wire(id, Port(0), first, Port(0));
        self.network.wire(id, ERRORS, host, HOST_ERRORS);
        id
    }

    /// Wires ICMP errors from each link with an MTU back to the senders, along the route of the returning
    /// packets from the router at which the error arises.
    pub(super) fn wire_errors(&mut self, ways: &[HostRoute]) {
        let links = &self.model.links;
        if self.mtus.is_empty() {
            return;
        }
        let by_ledger: BTreeMap<usize, &HostRoute> = ways.iter().map(|way| (way.ledger, way)).collect();
        for (link, id) in std::mem::take(&mut self.mtus) {
            let mut targets = Vec::new();
            for way in ways {
                let Some(place) = way.route.iter().position(|&l| l == link) else { continue };
                let Some(back) = by_ledger.get(&(way.ledger ^ 1)) else { continue };
                let onward = back.route.iter().find(|&&l| links[l].from == links[link].from);
                let target = match (place, onward) {
                    (0, _) => Some((back.to, Port(0))),
                    (_, Some(&l)) => self.chains[l].map(|chain| chain.entry),
                    (_, None) => None,
                };
                targets.extend(target.map(|target| (back.ledger, target)));
            }
            let name = self.model.nodes[self.model.links[link].from].name.clone();
            self.lead((id, ERRORS), targets, name);
        }
    }
}
