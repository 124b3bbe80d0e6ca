//! Background load that crosses several links, and flow numbers of packets that belong to no flow (loads,
//! further network paths).

use super::{Builder, draw_time};
use crate::model::{Delay, Model, Position, Queue};
use base::packet::FlowId;
use path::background::Source;
use std::ops::Range;

/// Route of a background load that continues beyond its own link.
#[derive(Clone, Debug)]
pub(super) struct LoadRoute {
    /// Index of the background load.
    pub(super) background: usize,
    /// Links of its path, in order.
    pub(super) way: Vec<usize>,
    /// Flow number of its packets, used by no flow of the model.
    pub(super) flow: FlowId,
}

/// Routes of all loads that continue beyond their own link.
pub(super) fn travels(model: &Model) -> Vec<LoadRoute> {
    let mut all = Vec::new();
    for (background, load) in model.backgrounds.iter().enumerate() {
        for (&link, beyond) in load.links.iter().zip(&load.beyond).filter(|(_, beyond)| !beyond.is_empty()) {
            let way = std::iter::once(link).chain(beyond.iter().copied()).collect();
            all.push(LoadRoute { background, way, flow: FlowId((model.flows.len() + all.len()) as u32) });
        }
    }
    all
}

/// Flow numbers of a flow's packets on its further network paths, in order; unique among flows, loads and pairs of
/// stations.
pub fn path_numbers(model: &Model, flow: usize) -> Range<usize> {
    let before: usize = model.flows.iter().take(flow).map(|flow| flow.other_paths.len()).sum();
    let own = model.flows.get(flow).map_or(0, |flow| flow.other_paths.len());
    if own == 0 {
        return 0..0;
    }
    let first = model.flows.len() + travels(model).len() + model.pairs.len() + before;
    first..first + own
}

impl Builder<'_> {
    /// Flow numbers of loads that continue through this link, if another load ends behind it; otherwise `None`.
    pub(super) fn absorbs(&self, link: usize) -> Option<Vec<FlowId>> {
        let here =
            |background: usize| !self.travels.iter().any(|t| t.background == background && t.way[0] == link);
        let own = self.model.links[link].backgrounds.iter().any(|&b| here(b));
        let ends = self.travels.iter().any(|t| t.way.last() == Some(&link));
        if !own && !ends {
            return None;
        }
        let through = self.travels.iter().filter(|t| t.way.contains(&link) && t.way.last() != Some(&link));
        Some(through.map(|t| t.flow).collect())
    }

    /// Whether the load of a link meets only its queue and transmitter. Such load needs no wake-ups
    /// ([`path::loaded`]). A traced run schedules it normally, because the trace shows each of its packets.
    pub(super) fn load_keeps_to(&self, index: usize) -> bool {
        let link = &self.model.links[index];
        let held = |&gate: &usize| self.model.gates[gate].at == Position::BeforeQueue;
        !link.backgrounds.is_empty()
            && matches!(link.queue, Queue::DropTail(_) | Queue::Red(_))
            && matches!(link.delay, Delay::Constant(_))
            && link.channel.is_none()
            && link.bearer.is_none()
            && link.losses.is_empty()
            && link.compression.is_none()
            && !link.gates.iter().any(held)
            && !self.travels.iter().any(|travel| travel.way.contains(&index))
            && !self.network.is_traced()
    }

    /// Source of a background load on a link.
    pub(super) fn source(&self, background: usize, link: usize) -> Source {
        let (load, name) = (&self.model.backgrounds[background], &self.model.links[link].name);
        let start = draw_time(&load.start, self.seed, &load.name, "start");
        let mut source = Source::new(load.rate, load.packet, start);
        if load.random {
            source = source.random(self.seed.stream(&format!("{}@{name}", load.name), "gaps"));
        }
        match self.travelling(background, link) {
            Some(flow) => source.travelling(flow),
            None => source,
        }
    }

    /// Flow number of a load's packets, if the load continues beyond its link.
    pub(super) fn travelling(&self, background: usize, link: usize) -> Option<FlowId> {
        let travel = |t: &&LoadRoute| t.background == background && t.way[0] == link;
        self.travels.iter().find(travel).map(|t| t.flow)
    }
}
