//! Grammar of traffic classes, tariff and cell load of a GPRS bearer.

use super::gprs::optional;
use crate::diagnostic::Diagnostic;
use crate::grammar::cx::Cx;
use crate::grammar::leaf;
use crate::grammar::reader::Reader;
use crate::grammar::shape::{Field, Need, Shape, TableShape, ValueKind, field, table};
use crate::model::Direction;
use crate::model::radio::{Tariff, Traffic};
use crate::tables::path::{class, hop};
use radio::cell::config::CellLoad;

static SPAN: Shape = Shape::One(ValueKind::Span);
const NAME_LIST: Shape = Shape::One(ValueKind::Name);
pub(super) static TRAFFIC: TableShape = table(
    "traffic",
    "A traffic class: packets that match all given conditions. The first class that matches takes a packet.",
    &[
        field("name", Shape::One(ValueKind::Name), Need::Required("\"interactive\""), "How grids call it."),
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
        field(
            "hold",
            Shape::PerDirection(&SPAN),
            Need::Optional,
            "Time that a TBF with such packets is kept. Without it, `tbf.hold`.",
        ),
        field(
            "repeats",
            Shape::One(ValueKind::Flag),
            Need::Default("true"),
            "Acknowledged RLC retransmits their blocks. If not, a block reported missing that carries nothing else is \
             given up, and its packets are lost.",
        ),
    ],
);
const PRICE: Shape = Shape::One(ValueKind::Number(0.0, 1e9));
const fn price(key: &'static str, doc: &'static str) -> Field {
    field(key, PRICE, Need::Default("0"), doc)
}
pub(super) static TARIFF: TableShape = table(
    "tariff",
    "Prices of the bearer's use, in any currency: `bill_gateway`, `bill_radio`, `bill_surcharges`.",
    &[
        price(
            "kilobyte",
            "1000 octets of packets: at the gateway those sent, in the radio network those delivered.",
        ),
        price("repeated-kilobyte", "1000 octets of retransmitted radio blocks: poor radio."),
        price("reselection", "A change of cell: mobility."),
        price("allocation", "A TBF that is set up: bursty traffic."),
    ],
);
pub(super) static LOAD: TableShape = table(
    "cell-load",
    "Other users of the cell: circuit-switched calls on its timeslots, and packet users. Both arrive at random (Poisson) \
     and stay for exponentially distributed times. The first mobile of the cell sets it.",
    &[
        field(
            "calls",
            Shape::One(ValueKind::Number(0.0, 100.0)),
            Need::Default("0"),
            "Offered voice traffic, Erlang. A call takes the highest free timeslot that is not reserved, or is lost.",
        ),
        field("call-lasts", Shape::One(ValueKind::Span), Need::Default("\"90 s\""), "Mean length of a call."),
        field(
            "reserved",
            Shape::One(ValueKind::Count(1, 8)),
            Need::Default("1"),
            "Timeslots, from the lowest, that calls do not take.",
        ),
        field(
            "users",
            Shape::One(ValueKind::Number(0.0, 1000.0)),
            Need::Default("0"),
            "Mean number of other packet users with data. They spread over the timeslots and take turns there.",
        ),
        field(
            "user-stays",
            Shape::One(ValueKind::Span),
            Need::Default("\"20 s\""),
            "Mean time for which one has data.",
        ),
    ],
);
/// Reads the cell's calls and packet users; outer `None` if they could not be read.
pub(super) fn cell_load(r: Reader<'_>, timeslots: u8, cx: &Cx<'_>) -> Option<Option<CellLoad>> {
    let Some(tree) = r.get("cell-load") else { return Some(None) };
    let r = Reader::new(tree, &LOAD);
    let reserved = r.count("reserved")? as u8;
    if reserved > timeslots {
        cx.push(
            Diagnostic::error(
                "bad-value",
                r.place("reserved"),
                format!("more timeslots are reserved than the cell has ({timeslots})"),
            )
            .help("write fewer, or give the cell more `timeslots`"),
        );
        return None;
    }
    Some(Some(CellLoad {
        calls: r.number("calls")?,
        call_lasts: r.span("call-lasts")?,
        reserved,
        users: r.number("users")?,
        user_stays: r.span("user-stays")?,
    }))
}

pub(super) fn traffic(r: Reader<'_>, flows: &[String], cx: &Cx<'_>) -> Option<Traffic> {
    let hold = |d: Direction| match hop::of(r.get("hold"), d) {
        Some(tree) => leaf::span(tree).ok().map(Some),
        None => Some(None),
    };
    Some(Traffic {
        name: r.name()?,
        flows: class::flow_names(r, flows, cx)?,
        dscp: optional(r, "dscp", |r, k| r.count(k))?.map(|n| n as u8),
        hold: [hold(Direction::Down)?, hold(Direction::Up)?],
        repeats: r.flag("repeats")?,
    })
}

pub(super) fn tariff(r: Reader<'_>) -> Option<Tariff> {
    Some(Tariff {
        kilobyte: r.number("kilobyte")?,
        repeated_kilobyte: r.number("repeated-kilobyte")?,
        reselection: r.number("reselection")?,
        allocation: r.number("allocation")?,
    })
}
