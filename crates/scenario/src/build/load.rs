//! Builder of background load and its absorbers.
//!
//! Behind its own link, or behind a later one that it travels to, led on by the numbers of its packets.

use super::Builder;
use crate::model::Model;
use base::packet::FlowId;

/// A load that goes on beyond its own link.
#[derive(Clone, Debug)]
pub(super) struct Travel {
    /// The index of the background load.
    pub(super) background: usize,
    /// Its links, the one that it enters first.
    pub(super) way: Vec<usize>,
    /// The number that its packets bear; no flow has it.
    pub(super) flow: FlowId,
}

/// All loads that travel.
pub(super) fn travels(model: &Model) -> Vec<Travel> {
    let mut all = Vec::new();
    for (background, load) in model.backgrounds.iter().enumerate() {
        for (&link, beyond) in load.links.iter().zip(&load.beyond).filter(|(_, beyond)| !beyond.is_empty()) {
            let way = std::iter::once(link).chain(beyond.iter().copied()).collect();
            all.push(Travel { background, way, flow: FlowId((model.flows.len() + all.len()) as u32) });
        }
    }
    all
}

impl Builder<'_> {
    /// Whether load ends behind a link, and the numbers of what passes there all the same.
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

    /// The number of a load's packets, if it travels.
    pub(super) fn travelling(&self, background: usize, link: usize) -> Option<FlowId> {
        let travel = |t: &&Travel| t.background == background && t.way[0] == link;
        self.travels.iter().find(travel).map(|t| t.flow)
    }
}
