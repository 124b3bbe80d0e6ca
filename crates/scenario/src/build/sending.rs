//! Sender-side congestion managers: the hosts of one node that send to another one form a macroflow (RFC 3124).

use super::Builder;
use crate::model::{Flow, Scheduler};
use host::{GRANTS, Granter, Membership};
use path::{ElementId, Port};
use transport::macroflow::Macroflow;
use transport::tcp::Config;

/// Macroflow under construction.
pub(super) struct Sending {
    macroflow: Macroflow,
    /// Hosts by the numbers of their owners.
    hosts: Vec<ElementId>,
}

impl Builder<'_> {
    /// Place of the next host of a flow in the macroflow from `here` to `there`, if `here` has a manager. The
    /// first host's initial window is the macroflow's.
    pub(super) fn membership(
        &mut self,
        here: usize,
        there: usize,
        flow: &Flow,
        config: &Config,
    ) -> Option<Membership> {
        let scheduler = self.model.nodes[here].sending?;
        let initial = config.initial_window.bytes(config.mss, u64::from(u32::MAX)).max(u64::from(config.mss));
        let known = self
            .macroflows
            .entry((here, there))
            .or_insert_with(|| Sending { macroflow: Macroflow::new(initial), hosts: Vec::new() });
        let weight = if scheduler == Scheduler::Weighted { flow.priority } else { 1 };
        Some(Membership { macroflow: known.macroflow.clone(), owner: known.hosts.len() as u16, weight })
    }

    /// Notes the element of a host with a membership.
    pub(super) fn enrol(&mut self, here: usize, there: usize, member: Option<Membership>, host: ElementId) {
        if let (Some(_), Some(known)) = (member, self.macroflows.get_mut(&(here, there))) {
            known.hosts.push(host);
        }
    }

    /// Elements that pass grants, wired to and from their hosts.
    pub(super) fn place_granters(&mut self) -> Vec<(usize, usize, ElementId)> {
        let mut placed = Vec::new();
        for ((here, there), Sending { macroflow, hosts }) in std::mem::take(&mut self.macroflows) {
            let [from, to] = [here, there].map(|node| &self.model.nodes[node].name);
            let name = format!("{from}.macroflow-{to}");
            let id = self.add(name, Granter::new(macroflow));
            for (owner, host) in hosts.into_iter().enumerate() {
                self.network.wire(id, Port(owner as u16), host, GRANTS);
                self.network.wire(host, GRANTS, id, Port(owner as u16));
            }
            placed.push((here, there, id));
        }
        placed
    }
}
