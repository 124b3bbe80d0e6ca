//! Wiring of hosts, links and routers along the routes of flows.
//!
//! Each link leads into the next link of the flow's route, or into the host at its end. A router stands where
//! flows part.

use super::{Builder, Ends, path_numbers};
use crate::model::Transport;
use path::checksum::Checksum;
use path::router::Router;
use path::{ElementId, Port};
use transport::tcp::Role;

/// Route of packets from one host over links to another.
pub(super) struct HostRoute {
    /// Flow direction of the packets.
    pub(super) ledger: usize,
    pub(super) route: Vec<usize>,
    /// Element at its end.
    pub(super) to: ElementId,
}

impl Builder<'_> {
    /// Checksum element before a host, which discards packets with bit errors.
    fn checksum(&mut self, host: ElementId) -> ElementId {
        let name = format!("{}.checksum", self.names[host.0 as usize]);
        let id = self.add(name, Checksum);
        self.network.wire(id, Port(0), host, Port(0));
        id
    }

    /// Wires hosts to their first link, and each link to the next one or to the host at its end.
    pub(super) fn wire(&mut self, ends: &[Ends], stations: &[ElementId]) {
        let mut after: Vec<Vec<(usize, (ElementId, Port))>> = vec![Vec::new(); self.model.links.len()];
        // Entry element of each host: its checksum element where bit errors can occur.
        let checked: Vec<[ElementId; 2]> = ends
            .iter()
            .enumerate()
            .map(|(i, ends)| {
                let flow = &self.model.flows[i];
                let mut check = |route: &[usize], to, role| {
                    let real = matches!(flow.transport.at(role), Transport::Linux(_));
                    let others = flow
                        .other_paths
                        .iter()
                        .any(|[a, b]| self.may_be_corrupt(a) || self.may_be_corrupt(b));
                    let first =
                        if !real && (others || self.may_be_corrupt(route)) { self.checksum(to) } else { to };
                    let first =
                        if role == Role::Passive { self.throttle(first, to, i, flow.to) } else { first };
                    let cut = !real && self.may_be_cut(flow);
                    if cut { self.reassembly(first, to, flow, role) } else { first }
                };
                [check(&flow.route, ends.to, Role::Passive), check(&flow.way_back, ends.from, Role::Active)]
            })
            .collect();
        // Users of a system are wired to it and not to links.
        let users = || self.model.systems.iter().flat_map(|s| &s.users).map(|u| u.flow);
        let of_systems = users().min().unwrap_or(0)..users().max().map_or(0, |last| last + 1);
        let mut ways = Vec::new();
        let mut way = |ledger: usize, route: &[usize], from: ElementId, port: Port, to: ElementId| {
            ways.push(HostRoute { ledger, route: route.to_vec(), to });
            let mut targets: Vec<(ElementId, Port)> =
                route.iter().filter_map(|&l| self.chains[l].map(|c| c.entry)).collect();
            targets.push((to, Port(0)));
            if ledger < 2 * of_systems.start || ledger >= 2 * of_systems.end {
                self.network.wire(from, port, targets[0].0, targets[0].1);
            }
            for (k, &link) in route.iter().enumerate() {
                after[link].push((ledger, targets[k + 1]));
            }
        };
        for (i, (flow, ends)) in self.model.flows.iter().zip(ends).enumerate() {
            way(2 * i, &flow.route, ends.from, Port(0), checked[i][0]);
            way(2 * i + 1, &flow.way_back, ends.to, Port(0), checked[i][1]);
            for (k, number) in path_numbers(self.model, i).enumerate() {
                let ([there, back], port) = (&flow.other_paths[k], Port(k as u16 + 1));
                way(2 * number, there, ends.from, port, checked[i][0]);
                way(2 * number + 1, back, ends.to, port, checked[i][1]);
            }
        }
        let of = |node: usize| self.model.stations.iter().zip(stations).find(|(n, _)| **n == node);
        let mut used = vec![0; self.model.nodes.len()];
        let mut port = |node: usize| {
            used[node] += 1;
            Port(used[node] - 1)
        };
        for (i, pair) in self.model.pairs.iter().enumerate() {
            let [a, b] = pair.ends;
            let (Some((_, &from)), Some((_, &to))) = (of(a), of(b)) else { continue };
            let ledger = 2 * (ends.len() + self.travels.len() + i);
            way(ledger, &pair.there, from, port(a), to);
            way(ledger + 1, &pair.back, to, port(b), from);
        }
        for travel in self.travels.clone() {
            for pair in travel.way.windows(2) {
                if let Some(next) = self.chains[pair[1]] {
                    after[pair[0]].push((2 * travel.flow.0 as usize, next.entry));
                }
            }
        }
        for (link, nexts) in after.into_iter().enumerate() {
            let Some(chain) = self.chains[link] else { continue };
            let name = self.model.nodes[self.model.links[link].to].name.clone();
            self.lead(chain.exit, nexts, name);
        }
        self.wire_errors(&ways);
    }

    /// Wires a port to the next element of each ledger: directly if all agree, otherwise through a router.
    pub(super) fn lead(
        &mut self,
        exit: (ElementId, Port),
        nexts: Vec<(usize, (ElementId, Port))>,
        name: String,
    ) {
        let Some(&(_, first)) = nexts.first() else { return };
        if nexts.iter().all(|(_, to)| *to == first) {
            return self.network.wire(exit.0, exit.1, first.0, first.1);
        }
        let mut targets: Vec<(ElementId, Port)> = Vec::new();
        let mut ports = vec![None; 2 * self.numbers()];
        for (ledger, to) in nexts {
            let port = targets.iter().position(|t| *t == to).unwrap_or_else(|| {
                targets.push(to);
                targets.len() - 1
            });
            ports[ledger] = Some(Port(port as u16));
        }
        let router = self.add(name, Router::new(ports));
        self.network.wire(exit.0, exit.1, router, Port(0));
        for (port, (to, into)) in targets.into_iter().enumerate() {
            self.network.wire(router, Port(port as u16), to, into);
        }
    }
}
