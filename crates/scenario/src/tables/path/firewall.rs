//! Grammar of the stateful firewall of a hop (`[hop.firewall]`).

use super::class::flow_names_at;
use crate::grammar::cx::Cx;
use crate::grammar::reader::Reader;
use crate::grammar::shape::{Field, Need, Shape, TableShape, ValueKind, field, table};
use crate::model::Firewall;
use path::firewall::{FirewallConfig, RefreshedBy, Unknown, WhenFull};

const SPAN: Shape = Shape::One(ValueKind::Span);

static TABLE: TableShape = table(
    "firewall",
    "A stateful firewall at the fixed side of the hop, as at the Gi interface of a GGSN. The mobile side opens \
     connections; packets without an entry are discarded. Addresses are not translated.",
    &[
        field(
            "established",
            SPAN,
            Need::Default("\"124 min\""),
            "Idle timeout of an established TCP connection (RFC 5382: at least 2 h 4 min; many networks have less).",
        ),
        field(
            "transitory",
            SPAN,
            Need::Default("\"4 min\""),
            "Idle timeout of a TCP connection that is half open, closed by both ends, or reset (RFC 5382).",
        ),
        field(
            "other",
            SPAN,
            Need::Default("\"5 min\""),
            "Idle timeout of all other protocols (RFC 4787: at least 2 min, 5 min recommended).",
        ),
        field(
            "refreshed-by",
            Shape::One(ValueKind::Word(RefreshedBy::NAMES)),
            Need::Default("\"both\""),
            "Packets that keep an entry alive: of both directions, or only those from the mobile side.",
        ),
        field(
            "unknown",
            Shape::One(ValueKind::Word(Unknown::NAMES)),
            Need::Default("\"discard\""),
            "A TCP segment without an entry that opens none is discarded, also answered by a reset, or adopted if it comes \
             from the mobile side (as Linux does with nf_conntrack_tcp_loose).",
        ),
        field(
            "open-to",
            Shape::List(&Shape::One(ValueKind::Name)),
            Need::Optional,
            "Flows whose connections the fixed side may open: static mappings. Without it, none.",
        ),
        field(
            "limit",
            Shape::One(ValueKind::Count(1, 10_000_000)),
            Need::Optional,
            "Largest number of entries. Without it, unlimited.",
        ),
        field(
            "when-full",
            Shape::One(ValueKind::Word(WhenFull::NAMES)),
            Need::Default("\"refuse\""),
            "A new connection while the table is full is refused, or replaces the entry that was idle for longest.",
        ),
        field("delay", SPAN, Need::Default("\"0 s\""), "Processing time of each packet."),
    ],
);

/// Key `firewall` of a hop.
pub(crate) const FIREWALL: Field = field(
    "firewall",
    Shape::Table(&TABLE),
    Need::Optional,
    "A stateful firewall between the fixed network and the hop.",
);

/// Reads the firewall of hop `name`; outer `None` if it could not be read.
pub(crate) fn read(hop: Reader<'_>, name: &str, flows: &[String], cx: &Cx<'_>) -> Option<Option<Firewall>> {
    let Some(tree) = hop.get("firewall") else { return Some(None) };
    let r = Reader::new(tree, &TABLE);
    let limit = match r.get("limit") {
        Some(_) => Some(r.count("limit")? as usize),
        None => None,
    };
    let config = FirewallConfig {
        established: r.span("established")?,
        transitory: r.span("transitory")?,
        other: r.span("other")?,
        refreshed_by: RefreshedBy::from_name(r.word("refreshed-by")?)?,
        unknown: Unknown::from_name(r.word("unknown")?)?,
        limit,
        when_full: WhenFull::from_name(r.word("when-full")?)?,
        delay: r.span("delay")?,
    };
    let open_to = flow_names_at(r, "open-to", flows, cx)?.unwrap_or_default();
    Some(Some(Firewall { name: format!("{name}.firewall"), links: [0; 2], config, open_to }))
}
