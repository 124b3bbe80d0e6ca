//! Grammar of hops (`[[hop]]`): two links between two nodes.
//!
//! The usual case of a mobile path: two nodes and a link in each direction, the fixed end first. `down` leads
//! to the mobile end. A single value applies to both directions; `{ down = ..., up = ... }` gives one for
//! each.

use super::background;
use super::channel;
use super::class;
use super::error;
use super::fault;
use super::link::{COMPRESSION, DELAY, ICMP, MTU, QUEUE, RATE};
use crate::diagnostic::Diagnostic;
use crate::grammar::cx::Cx;
use crate::grammar::reader::Reader;
use crate::grammar::shape::{Field, Need, Shape, TableShape, ValueKind, field, table};
use crate::grammar::tree::Tree;
use crate::grammar::validate::split;
use crate::model::{Charging, Direction};
use crate::preset::PRESET;

const RST_FLUSH: Field = field(
    "rst-flush",
    Shape::One(ValueKind::Flag),
    Need::Default("false"),
    "A reset from the mobile end deletes the packets of the connection that wait at the fixed side of the hop, and passes on.",
);
const DELETE_COPIES: Field = field(
    "delete-copies",
    Shape::One(ValueKind::Flag),
    Need::Default("false"),
    "A retransmission whose data still wait toward the mobile end is dropped.",
);
const CHARGING: Field = field(
    "charging",
    Shape::One(ValueKind::Flag),
    Need::Default("false"),
    "Volume is counted for charging: at the gateway, before the queue toward the mobile end, and in the radio \
     network, after the link.",
);
const RESENT_CHARGE: Field = field(
    "resent-charge",
    Shape::One(ValueKind::Number(0.0, 1.0)),
    Need::Optional,
    "With `charging`: share of its volume at which retransmitted data are billed. Without it, retransmitted data are \
     billed like all other data.",
);

/// Reads the charging rule of a hop; outer `None` if it could not be read.
pub(crate) fn charging(reader: Reader<'_>, cx: &Cx<'_>) -> Option<Option<Charging>> {
    let share = reader.get("resent-charge");
    if reader.flag("charging")? {
        let resent = if share.is_some() { reader.number("resent-charge")? } else { 1.0 };
        return Some(Some(Charging { resent }));
    }
    if let Some(tree) = share {
        let message = "`resent-charge` lowers a bill, and this hop has none";
        cx.push(Diagnostic::error("impossible", tree.place, message).help("add `charging = true`"));
        return None;
    }
    Some(None)
}

/// `[[hop]]`.
pub(crate) static HOP: TableShape = table(
    "hop",
    "Two nodes and a link in each direction between them.",
    &[
        field(
            "name",
            Shape::One(ValueKind::Name),
            Need::Required("\"radio\""),
            "How routes, grids and results call it. Its links are NAME.down and NAME.up.",
        ),
        field(
            "between",
            Shape::Pair(ValueKind::Name, ValueKind::Name),
            Need::Required("[\"server\", \"phone\"]"),
            "Its two nodes, the fixed end first. They need not be declared.",
        ),
        PRESET,
        crate::radio::RADIO,
        super::process::PROCESS,
        RATE,
        DELAY,
        QUEUE,
        channel::of_hop::STAY,
        channel::of_hop::QOS,
        channel::of_hop::SEND_BUFFER,
        channel::of_hop::RECEIVE_BUFFER,
        channel::of_hop::FRAMING,
        channel::of_hop::ALLOCATION,
        channel::of_hop::ARQ,
        channel::of_hop::FLOW_CONTROL,
        channel::ORDER,
        class::CLASSES,
        error::ERRORS,
        fault::GATES,
        fault::RATE_CHANGES,
        fault::LOSSES,
        fault::DUPLICATIONS,
        background::BACKGROUNDS,
        COMPRESSION,
        MTU,
        ICMP,
        super::firewall::FIREWALL,
        RST_FLUSH,
        DELETE_COPIES,
        CHARGING,
        RESENT_CHARGE,
    ],
);

/// Part of a value for `direction`.
pub(crate) fn of(tree: Option<&Tree>, direction: Direction) -> Option<&Tree> {
    let tree = tree?;
    if split(tree) { tree.get(direction.name()) } else { Some(tree) }
}

/// False if the value is split and lacks this direction, which has a diagnostic already.
pub(crate) fn complete(tree: Option<&Tree>, direction: Direction) -> bool {
    tree.is_none_or(|t| !split(t) || t.get(direction.name()).is_some())
}
