//! Grammar of traffic classes of a queue (`[[hop.class]]`): match rule, priority, weight, queue, policer and
//! shaper.
//!
//! Packets of no class wait in the link's own `queue`, which is served when all classes are empty.

use super::fault::{DIRECTIONS, Owner};
use super::queue::{QUEUES, queue};
use crate::diagnostic::Diagnostic;
use crate::grammar::cx::Cx;
use crate::grammar::leaf;
use crate::grammar::reader::Reader;
use crate::grammar::shape::{Field, Need, Shape, TableShape, ValueKind, field, table};
use crate::model::channel::{Class, PacketKind as Carries, Shaping};

const NAME_LIST: Shape = Shape::One(ValueKind::Name);

static POLICE: TableShape = table(
    "police",
    "A token bucket: packets beyond its rate and burst are dropped.",
    &[
        field("rate", Shape::One(ValueKind::Rate), Need::Required("\"64 kbit/s\""), "Fill rate."),
        field(
            "burst",
            Shape::One(ValueKind::Bytes),
            Need::Default("\"3000 B\""),
            "Capacity; at least a packet.",
        ),
    ],
);

static SHAPE: TableShape = table(
    "shape",
    "A token bucket: packets beyond its rate and burst are delayed.",
    &[
        field("rate", Shape::One(ValueKind::Rate), Need::Required("\"64 kbit/s\""), "Fill rate."),
        field(
            "burst",
            Shape::One(ValueKind::Bytes),
            Need::Default("\"3000 B\""),
            "Capacity; a larger packet waits until it is full.",
        ),
        field("limit", Shape::One(ValueKind::Bytes), Need::Optional, "Queue limit. Without it, unlimited."),
    ],
);

static CLASS: TableShape = table(
    "class",
    "Packets with a queue of their own: those that match all given conditions. The first class that matches takes a \
     packet. Packets without a class wait in the link's `queue` and are served last.",
    &[
        field("name", Shape::One(ValueKind::Name), Need::Required("\"voice\""), "How grids call it."),
        DIRECTIONS,
        field(
            "flows",
            Shape::List(&NAME_LIST),
            Need::Optional,
            "Packets of these flows, in both directions.",
        ),
        field(
            "dscp",
            Shape::One(ValueKind::Count(0, 63)),
            Need::Optional,
            "Packets with this service class in the IP header; those of the model have 0.",
        ),
        field("at-least", Shape::One(ValueKind::Bytes), Need::Optional, "Packets of at least this size."),
        field("at-most", Shape::One(ValueKind::Bytes), Need::Optional, "Packets of at most this size."),
        field(
            "carries",
            Shape::One(ValueKind::Word(&["anything", "data", "ack", "control", "background"])),
            Need::Default("\"anything\""),
            "Content: data, an acknowledgement only, the opening or the end of a connection, background load.",
        ),
        field(
            "priority",
            Shape::One(ValueKind::Count(0, 1_000_000)),
            Need::Default("1"),
            "Strict priority; the smallest number is served first.",
        ),
        field(
            "weight",
            Shape::One(ValueKind::Count(1, 1_000_000)),
            Need::Default("1"),
            "Weight in bytes among classes of equal priority (deficit round robin).",
        ),
        field(
            "turn-within",
            Shape::One(ValueKind::Span),
            Need::Optional,
            "Maximum time between two of its turns while it has packets; then it is served next, regardless of priorities and weights. Without it, unlimited.",
        ),
        field("queue", Shape::Choice(QUEUES), Need::Optional, "Queue limit. Without it, unlimited."),
        field(
            "stay",
            Shape::One(ValueKind::Span),
            Need::Optional,
            "Maximum sojourn time; then the packet is dropped.",
        ),
        field(
            "police",
            Shape::Table(&POLICE),
            Need::Optional,
            "Policer: packets that exceed a rate are dropped before the queue.",
        ),
        field(
            "shape",
            Shape::Table(&SHAPE),
            Need::Optional,
            "Shaper: packets that exceed a rate wait before the link's queue until they conform.",
        ),
    ],
);

/// `[[hop.class]]`, `[[link.class]]`.
pub(crate) const CLASSES: Field = field(
    "class",
    Shape::Tables(&CLASS),
    Need::Optional,
    "Classes of packets with a queue each, and their order of service.",
);

/// Reads the classes of a hop or link, each with its links. `flows` are the names of the scenario's flows.
pub(crate) fn read(
    reader: Reader<'_>,
    owner: &Owner<'_>,
    flows: &[String],
    cx: &Cx<'_>,
) -> Vec<(Class, Vec<usize>)> {
    reader.tables("class", &CLASS).filter_map(|r| one(r, owner, flows, cx)).collect()
}

/// Names under `flows`; outer `None` if a name is no flow.
pub(crate) fn flow_names(r: Reader<'_>, known: &[String], cx: &Cx<'_>) -> Option<Option<Vec<String>>> {
    flow_names_at(r, "flows", known, cx)
}

/// Names of flows under `key`; outer `None` if a name is no flow.
pub(crate) fn flow_names_at(
    r: Reader<'_>,
    key: &str,
    known: &[String],
    cx: &Cx<'_>,
) -> Option<Option<Vec<String>>> {
    let Some(tree) = r.get(key) else { return Some(None) };
    let names = tree.list()?.iter().map(|name| {
        let text = leaf::name(name).ok()?;
        if !known.contains(&text) {
            let message = format!("there is no flow `{text}`");
            let known = known.iter().map(String::as_str);
            let diagnostic = Diagnostic::error("no-flow", name.place, message);
            cx.push(match crate::grammar::spelling::nearest(&text, known.clone()) {
                Some(meant) => diagnostic.label(format!("did you mean `{meant}`?")),
                None => diagnostic
                    .help(format!("there is {}", crate::grammar::spelling::alternatives(known.take(12)))),
            });
            return None;
        }
        Some(text)
    });
    Some(Some(names.collect::<Option<Vec<String>>>()?))
}

fn one(r: Reader<'_>, owner: &Owner<'_>, known: &[String], cx: &Cx<'_>) -> Option<(Class, Vec<usize>)> {
    let links = owner.links(r, cx);
    let flows = flow_names(r, known, cx)?;
    let bytes = |key: &str| match r.get(key) {
        Some(_) => r.bytes(key).map(|n| Some(u32::try_from(n).unwrap_or(u32::MAX))),
        None => Some(None),
    };
    let (least, most) = (bytes("at-least")?, bytes("at-most")?);
    if let (Some(least), Some(most)) = (least, most)
        && least > most
    {
        cx.push(
            Diagnostic::error("impossible", r.place("at-most"), "no packet is as large and as small as that")
                .also(r.place("at-least"), "at least this")
                .help("make `at-least` the smaller of the two"),
        );
        return None;
    }
    let size = (least.is_some() || most.is_some()).then(|| (least.unwrap_or(0), most.unwrap_or(u32::MAX)));
    let kind = match r.word("carries")? {
        "data" => Some(Carries::Data),
        "ack" => Some(Carries::Ack),
        "control" => Some(Carries::Control),
        "background" => Some(Carries::Background),
        _ => None,
    };
    let dscp = match r.get("dscp") {
        Some(_) => Some(u8::try_from(r.count("dscp")?).ok()?),
        None => None,
    };
    let stay = match r.get("stay") {
        Some(_) => Some(r.span("stay")?),
        None => None,
    };
    let turn_within = match r.get("turn-within") {
        Some(_) => Some(r.span("turn-within")?),
        None => None,
    };
    let police = match r.get("police") {
        Some(tree) => {
            let police = Reader::new(tree, &POLICE);
            Some((police.rate("rate")?, police.bytes("burst")?))
        }
        None => None,
    };
    let shape = match r.get("shape") {
        Some(tree) => {
            let shape = Reader::new(tree, &SHAPE);
            let rate = shape.rate("rate")?;
            if rate.bps() == 0 {
                let message = "a rate of 0 lets no packet of this class through";
                cx.push(Diagnostic::error("bad-value", shape.place("rate"), message));
                return None;
            }
            let limit = shape.get("limit").and_then(|_| shape.bytes("limit"));
            Some(Shaping { rate, burst: shape.bytes("burst")?, limit })
        }
        None => None,
    };
    let class = Class {
        name: r.name()?,
        flows,
        dscp,
        size,
        kind,
        priority: u32::try_from(r.count("priority")?).ok()?,
        weight: u32::try_from(r.count("weight")?).ok()?,
        queue: queue(r.get("queue"))?,
        stay,
        police,
        shape,
        turn_within,
    };
    Some((class, links?))
}
