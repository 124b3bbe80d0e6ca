//! Builder of congestion windows shared by the hosts of one node toward another: macroflows of sender-side
//! congestion managers (RFC 3124), shared windows of ATP.

use super::Builder;
use crate::model::{Flow, Scheduler};
use host::{GRANTS, Granter, Membership};
use path::{ElementId, Port};
use transport::macroflow::Macroflow;
use transport::tcp::Config;

/// Macroflow under construction.
pub(super) struct Sending {
    macroflow: Macroflow,
    /// Elements of the member hosts; the position is the owner number in the macroflow.
    hosts: Vec<ElementId>,
}

/// Shared window under construction.
#[derive(Default)]
pub(super) struct Window {
    pub(super) shared: atp::SharedWindow,
    /// Member number and element of each host.
    hosts: Vec<(u16, ElementId)>,
}

impl Builder<'_> {
    /// Records the element of a host, if it is member `number` of the shared window between two nodes.
    pub(super) fn hold(&mut self, between: (usize, usize), number: usize, host: ElementId) {
        if let Some(window) = self.windows.get_mut(&between)
            && window.shared.members() > number
        {
            window.hosts.push((number as u16, host));
        }
    }

    /// Membership of the next host in the macroflow from `here` to `there`; `None` if `here` has no manager. The first
    /// host sets the initial window of the macroflow.
    pub(super) fn membership(
        &mut self,
        here: usize,
        there: usize,
        flow: &Flow,
        config: &Config,
    ) -> Option<Membership> {
        let scheduler = self.model.nodes[here].sending?;
        let initial =
            config.windows.initial.bytes(config.mss, u64::from(u32::MAX)).max(u64::from(config.mss));
        let known = self
            .macroflows
            .entry((here, there))
            .or_insert_with(|| Sending { macroflow: Macroflow::new(initial), hosts: Vec::new() });
        let weight = if scheduler == Scheduler::Weighted { flow.priority } else { 1 };
        Some(Membership { macroflow: known.macroflow.clone(), owner: known.hosts.len() as u16, weight })
    }

    /// Records the element of a host with a membership.
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
        for ((here, there), Window { shared, hosts }) in std::mem::take(&mut self.windows) {
            // A window of one host has no other flow to wake.
            if hosts.len() < 2 {
                continue;
            }
            let [from, to] = [here, there].map(|node| &self.model.nodes[node].name);
            let id = self.add(format!("{from}.window-{to}"), Granter::new(shared));
            for (number, host) in hosts {
                self.network.wire(id, Port(number), host, GRANTS);
                self.network.wire(host, GRANTS, id, Port(number));
            }
        }
        placed
    }
}
