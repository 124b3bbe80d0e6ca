//! Tables of cell reselection: times, controlling side, components of the outage, faults of implementations.

use super::{DIST, SPAN};
use crate::grammar::shape::{Field, Need, Shape, TableShape, ValueKind, field, table};
use radio::mobility::ReselectionControl;

const fn share(key: &'static str, default: &'static str, doc: &'static str) -> Field {
    field(key, Shape::One(ValueKind::Number(0.0, 1.0)), Need::Default(default), doc)
}
pub(in crate::radio) static FAULTS: TableShape = table(
    "faults",
    "Faults of implementations, as found in a real network.",
    &[
        field(
            "resent-frames",
            Shape::One(ValueKind::Count(0, 2)),
            Need::Default("0"),
            "LLC frames that the mobile retransmits in the new cell.",
        ),
        field(
            "flush-new-cell",
            Shape::One(ValueKind::Flag),
            Need::Default("false"),
            "The SGSN sends FLUSH-LL to the new cell.",
        ),
        field(
            "dummy-outage",
            SPAN,
            Need::Default("\"0 s\""),
            "Dummy LLC frames stop LLC data for this long.",
        ),
    ],
);
const TIMES: Shape = Shape::One(ValueKind::Span);
pub(in crate::radio) static RESELECTION: TableShape = table(
    "reselection",
    "Changes of cell. Without `every`, `at` and `file`, only when triggered (`HOP.reselect`).",
    &[
        field("every", DIST, Need::Optional, "From the start of one to the start of the next."),
        field("at", Shape::List(&TIMES), Need::Optional, "At these times."),
        field("file", Shape::One(ValueKind::File), Need::Optional, "At times from a file, one t_s a line."),
        field(
            "outage",
            DIST,
            Need::Optional,
            "Duration of the interruption, in place of the sum of the components.",
        ),
        field(
            "control",
            Shape::One(ValueKind::Word(ReselectionControl::NAMES)),
            Need::Default("\"autonomous\""),
            "Control of cell changes, and network assistance (NC0, NC2, NACC).",
        ),
        field(
            "standing",
            Shape::One(ValueKind::Flag),
            Need::Default("false"),
            "The user does not move; with network control the mobile stays in its cell.",
        ),
        share("same-bsc", "0", "Share of changes within one BSC."),
        share("routing-area", "0", "Share of changes to another routing area."),
        share("inter-sgsn", "0", "Share of changes to another SGSN; the rest are cell updates."),
        share(
            "location-area",
            "0",
            "Share of changes of routing area or SGSN that change the location area too, updated on its own before.",
        ),
        share("failure", "0", "Probability that the new cell is not reached."),
        field("failed", DIST, Need::Default("\"120 s\""), "Additional time of a failed change."),
        share("deletes", "1", "Probability that downlink data of the old cell are deleted and not moved."),
        field(
            "synchronise",
            DIST,
            Need::Default("\"uniform(50 ms, 300 ms)\""),
            "Component: FCCH and SCH of the new cell.",
        ),
        field(
            "system-information",
            DIST,
            Need::Default("\"uniform(500 ms, 1900 ms)\""),
            "Component: SI3 and SI13.",
        ),
        field(
            "assisted",
            DIST,
            Need::Default("\"uniform(50 ms, 150 ms)\""),
            "Component: remaining system information with NACC.",
        ),
        field("access", DIST, Need::Default("\"uniform(150 ms, 300 ms)\""), "Component: random access."),
        field(
            "cell-update",
            DIST,
            Need::Default("\"uniform(60 ms, 150 ms)\""),
            "Component: the uplink LLC frame to the SGSN.",
        ),
        field(
            "routing-area-update",
            DIST,
            Need::Default("\"uniform(800 ms, 2 s)\""),
            "Component: the exchange of a routing area update.",
        ),
        field(
            "sgsn-context",
            DIST,
            Need::Default("\"uniform(1 s, 3 s)\""),
            "Component: additional time of another SGSN.",
        ),
        field(
            "location-update",
            DIST,
            Need::Default("\"uniform(1.5 s, 3 s)\""),
            "Component: the exchange of a location update on a dedicated channel.",
        ),
        field(
            "resume",
            DIST,
            Need::Default("\"uniform(150 ms, 350 ms)\""),
            "Component: flush, and downlink assignment in the new cell.",
        ),
        field("faults", Shape::Table(&FAULTS), Need::Optional, "Faults of implementations."),
    ],
);
