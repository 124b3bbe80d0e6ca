//! Result table of links: number of segments that each link carried, and share of unneeded retransmissions
//! (catalogue TA-12).
//!
//! A data segment reaches a link unless a queue drop or a loss ended it before. A link carries all segments
//! that reach it, except those that its queue drops; a segment lost on the air was carried. Both directions
//! of a flow count. Segments in flight at the end of the run count as delivered. Flows with several network
//! paths are left out, because their segments alternate between paths.

use super::tables::{Rows, Table};
use base::truth::{DataDrop, Ledger};
use path::ElementId;
use results::row::{Column, Combine};
use scenario::build::World;
use scenario::model::Model;
use std::collections::BTreeMap;

/// Whether a run of the model fills the table of links.
pub(super) fn wanted(model: &Model) -> bool {
    model.run.links
}

/// Name and columns of the table.
pub(super) fn table() -> Table {
    let count = |name: &str| Column::new(name, "", Combine::Sum);
    let columns = vec![
        count("segments_reached"),
        count("segments_queue_dropped"),
        count("segments_lost"),
        count("segments_carried"),
        count("unneeded_carried"),
        Column::new("unneeded_carried_ratio", "", Combine::Mean),
    ];
    Table { name: "links", row: "a link in one direction", columns, wanted }
}

/// Segment counts of one link.
#[derive(Clone, Copy, Default)]
struct Carried {
    reached: u64,
    queue_dropped: u64,
    lost: u64,
    unneeded: u64,
}

/// Rows of the links that flows cross, in the order of the model.
pub(super) fn rows(model: &Model, world: &World) -> Rows {
    let mut all: Vec<Option<Carried>> = vec![None; model.links.len()];
    for (i, flow) in model.flows.iter().enumerate().filter(|(_, flow)| flow.other_paths.is_empty()) {
        let ends = world.flows[i];
        for (side, (end, way)) in
            [(ends.from, &flow.route), (ends.to, &flow.way_back)].into_iter().enumerate()
        {
            let report = host::report(&world.network, end);
            if let (Some(report), Some(ledger)) = (report, world.network.ledgers().get(2 * i + side)) {
                direction(way, &world.links, ledger, report.counters.data_sent, &mut all);
            }
        }
    }
    let named = model.links.iter().zip(all);
    named.filter_map(|(link, carried)| carried.map(|c| (link.name.clone(), c.values()))).collect()
}

/// Adds the `sent` segments of one direction of a flow to the links of its route.
fn direction(
    way: &[usize],
    links: &[Vec<ElementId>],
    ledger: &Ledger,
    sent: u64,
    all: &mut [Option<Carried>],
) {
    // A fragmented segment ends at its first lost fragment along the path; other fragments do not count.
    let place = |drop: &DataDrop| way.iter().position(|l| links[*l].contains(&ElementId(drop.element)));
    let mut ended: BTreeMap<u32, (usize, bool)> = BTreeMap::new();
    for drop in &ledger.drops {
        if let Some(at) = place(drop) {
            let end = ended.entry(drop.ordinal).or_insert((at, drop.queued));
            *end = (*end).min((at, drop.queued));
        }
    }
    let unneeded: Vec<u32> = ledger.verdicts().iter().filter(|v| v.unneeded).map(|v| v.ordinal).collect();
    let mut reached = sent;
    for (at, link) in way.iter().enumerate() {
        let here = |queued: bool| ended.values().filter(|end| **end == (at, queued)).count() as u64;
        let carries = |ordinal: &&u32| {
            ended.get(ordinal).is_none_or(|&(place, queued)| place > at || (place == at && !queued))
        };
        let counts = all[*link].get_or_insert_default();
        let (queue_dropped, lost) = (here(true), here(false));
        counts.reached += reached;
        counts.queue_dropped += queue_dropped;
        counts.lost += lost;
        counts.unneeded += unneeded.iter().filter(carries).count() as u64;
        reached = reached.saturating_sub(queue_dropped + lost);
    }
}

impl Carried {
    /// Values in the order of the columns.
    fn values(self) -> Vec<Option<f64>> {
        let carried = self.reached.saturating_sub(self.queue_dropped);
        let counts = [self.reached, self.queue_dropped, self.lost, carried, self.unneeded];
        let ratio = (carried > 0).then(|| self.unneeded as f64 / carried as f64);
        counts.into_iter().map(|n| Some(n as f64)).chain([ratio]).collect()
    }
}
