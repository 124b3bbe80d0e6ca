//! Grammar of background load (`[[hop.background]]`), and the further links that a load crosses.
//!
//! A load has packets of one size, evenly spaced or at random times. They share the queue and end behind the
//! link or a later one. Without ACKs the load does not slow down.

use super::fault::{DIRECTIONS, Owner};
use super::hop::HOP;
use super::link::LINK;
use crate::diagnostic::Diagnostic;
use crate::grammar::cx::Cx;
use crate::grammar::leaf;
use crate::grammar::reader::Reader;
use crate::grammar::shape::{Field, Need, Quantity, Shape, TableShape, ValueKind, field, table};
use crate::model::Background;
use crate::topology::Graph;

static BACKGROUND: TableShape = table(
    "background",
    "Background packets that compete for the queue and leave the network after the link.",
    &[
        field(
            "name",
            Shape::One(ValueKind::Name),
            Need::Required("\"voice\""),
            "How grids and results call it.",
        ),
        DIRECTIONS,
        field(
            "rate",
            Shape::One(ValueKind::Rate),
            Need::Required("\"1 Mbit/s\""),
            "Rate, headers included; 0 is none.",
        ),
        field(
            "packet",
            Shape::One(ValueKind::Bytes),
            Need::Default("\"1000 B\""),
            "Each one, headers counted.",
        ),
        field(
            "start",
            Shape::One(ValueKind::Dist(Quantity::Span)),
            Need::Default("\"0 s\""),
            "Time of the first one.",
        ),
        field(
            "gaps",
            Shape::One(ValueKind::Word(&["even", "random"])),
            Need::Default("\"even\""),
            "Whether all gaps between them are equal, or exponential with that mean (Poisson).",
        ),
        field(
            "until",
            Shape::One(ValueKind::Name),
            Need::Optional,
            "The hop or link after which they leave the network, by the shortest route. Without it, this one.",
        ),
    ],
);

/// `[[hop.background]]`, `[[link.background]]`.
pub(crate) const BACKGROUNDS: Field = field(
    "background",
    Shape::Tables(&BACKGROUND),
    Need::Optional,
    "Background load without acknowledgements.",
);

/// Reads the background loads of a hop or link; loads of rate 0 are dropped.
pub(crate) fn read(reader: Reader<'_>, owner: &Owner<'_>, cx: &Cx<'_>) -> Vec<Background> {
    reader.tables("background", &BACKGROUND).filter_map(|r| one(r, owner, cx)).collect()
}

fn one(r: Reader<'_>, owner: &Owner<'_>, cx: &Cx<'_>) -> Option<Background> {
    let links = owner.links(r, cx);
    let start = r.dist("start", cx);
    let packet = r.bytes("packet")?;
    let Some(packet) = u32::try_from(packet).ok().filter(|n| (1..=1 << 24).contains(n)) else {
        cx.push(
            Diagnostic::error("bad-value", r.place("packet"), "a packet has from 1 B to 16 MB")
                .help("\"1000 B\" is usual"),
        );
        return None;
    };
    let rate = r.rate("rate")?;
    if rate.bps() == 0 {
        return None;
    }
    let name = format!("{}.{}", owner.name, r.name()?);
    let links = links?;
    let beyond = vec![Vec::new(); links.len()];
    Some(Background { name, rate, packet, start: start?, random: r.word("gaps")? == "random", links, beyond })
}

/// Finds the links that loads with `until` cross, once all hops and links are known.
pub(crate) fn routes(root: Reader<'_>, graph: &mut Graph, cx: &Cx<'_>) {
    for owner in root.tables("hop", &HOP).chain(root.tables("link", &LINK)) {
        let Some(name) = owner.name() else { continue };
        for load in owner.tables("background", &BACKGROUND) {
            let Some((until, called)) = load.get("until").zip(load.name()) else { continue };
            let Some(target) = leaf::name(until).ok() else { continue };
            let called = format!("{name}.{called}");
            let Some(index) = graph.backgrounds.iter().position(|b| b.name == called) else { continue };
            let links = graph.backgrounds[index].links.clone();
            for (i, link) in links.into_iter().enumerate() {
                match way(graph, link, &target) {
                    Some(way) => graph.backgrounds[index].beyond[i] = way,
                    None if graph.complete => cx.push(
                        Diagnostic::error(
                            "no-route",
                            until.place,
                            format!("no way leads from `{}` on to `{target}`", graph.links[link].name),
                        )
                        .help("name a hop or link further on; or write `directions`, if the load has one direction only"),
                    ),
                    None => {}
                }
            }
        }
    }
}

/// Shortest path from the end of a link over a link of `target`, without U-turns.
fn way(graph: &Graph, from: usize, target: &str) -> Option<Vec<usize>> {
    let links = &graph.links;
    if links[from].owner == target {
        return Some(Vec::new());
    }
    let mut before: Vec<Option<usize>> = vec![None; links.len()];
    let mut waiting = std::collections::VecDeque::from([from]);
    while let Some(at) = waiting.pop_front() {
        if at != from && links[at].owner == target {
            let mut way = vec![at];
            while let Some(previous) = before[way[way.len() - 1]].filter(|p| *p != from) {
                way.push(previous);
            }
            way.reverse();
            return Some(way);
        }
        for (next, link) in links.iter().enumerate() {
            let back = link.from == links[at].to && link.to == links[at].from;
            if link.from == links[at].to && !back && next != from && before[next].is_none() {
                before[next] = Some(at);
                waiting.push_back(next);
            }
        }
    }
    None
}
