//! Builder of MTUs: the entrance of links that cut packets up or refuse them, reassembly before hosts, and the ways of ICMP
//! errors back to senders.

use super::wiring::Way;
use super::{Builder, path_numbers};
use crate::model::{Flow, Mtu, Transport};
use path::fragment::{self, ERRORS, HOST_ERRORS};
use path::reassembly::Reassembly;
use path::{ElementId, Port};
use std::collections::BTreeMap;
use transport::tcp::Role;
use transport::tcp::config::PathMtu;

/// Whether the model at an end of a flow learns the path's MTU, so that its packets must not be cut up.
fn learns(flow: &Flow, role: Role) -> bool {
    match flow.transport.at(role) {
        Transport::Tcp { config, .. } => config.path_mtu != PathMtu::Off,
        Transport::Model(spec) => spec.learns_mtu(),
        _ => false,
    }
}

impl Builder<'_> {
    /// The entrance of a link with an MTU.
    pub(super) fn mtu(&mut self, link: usize, mtu: Mtu) -> ElementId {
        let model = self.model;
        let of = |flow: &Flow| [Role::Active, Role::Passive].map(|role| learns(flow, role));
        let mut whole: Vec<bool> = model.flows.iter().flat_map(of).collect();
        // Other network paths of a flow have numbers behind those of all flows.
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

    /// Whether packets of a flow may be cut up or refused on any of its ways.
    pub(super) fn may_be_cut(&self, flow: &Flow) -> bool {
        let ways = flow.other_paths.iter().flatten().chain([&flow.route, &flow.way_back]);
        ways.flatten().any(|&link| self.model.links[link].mtu.is_some())
    }

    /// What stands before a model's host on such ways; `first` is what packets reach there, `host` whom errors are for.
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

    /// Leads ICMP errors from each link with an MTU back to the senders: along the way of the packets that come back,
    /// from the router on where the error arises.
    pub(super) fn wire_errors(&mut self, ways: &[Way]) {
        let links = &self.model.links;
        if self.mtus.is_empty() {
            return;
        }
        let by_ledger: BTreeMap<usize, &Way> = ways.iter().map(|way| (way.ledger, way)).collect();
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
