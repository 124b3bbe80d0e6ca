//! Grammar of the radio bearer of a hop (`[[hop]] radio`): choice between GPRS and framed bearers, keys that
//! it excludes.
//!
//! A hop with `radio` has rate, delay, queues and retransmission of its own, so that the keys for these are
//! errors.

mod circuit;
mod framed;
pub(crate) mod gprs;
pub(crate) mod real;
mod restart;
mod service;
mod shape;

use crate::diagnostic::Diagnostic;
use crate::grammar::cx::Cx;
use crate::grammar::reader::Reader;
use crate::grammar::shape::{Field, Need, Shape, Variant, field};
use crate::model::Bearer;
use crate::model::radio::BearerKind;

static BEARERS: &[Variant] = &[
    Variant {
        name: "gprs",
        doc: "GPRS and EGPRS: TBFs on shared timeslots, RLC, LLC, SGSN with flow control, changes of cell.",
        shape: Shape::Table(&shape::GPRS),
        bare: true,
    },
    Variant {
        name: "hscsd",
        doc: "High-speed circuit-switched data, and basic GSM data with one timeslot of 9.6 kbit/s.",
        shape: Shape::Table(&framed::HSCSD),
        bare: true,
    },
    Variant {
        name: "wcdma",
        doc: "W-CDMA of release 99: RLC in acknowledged mode.",
        shape: Shape::Table(&framed::WCDMA),
        bare: true,
    },
    Variant {
        name: "cdma2000",
        doc: "cdma2000 1x: RLP type 3.",
        shape: Shape::Table(&framed::CDMA2000),
        bare: true,
    },
];

/// Key `radio` of a hop.
pub(crate) const RADIO: Field = field(
    "radio",
    Shape::Choice(BEARERS),
    Need::Optional,
    "A radio bearer, both directions at once. It replaces `rate`, `delay`, `queue` and all other keys of the link.",
);

/// Keys that conflict with `radio`.
const OTHERS: &[&str] = &[
    "rate",
    "delay",
    "queue",
    "stay",
    "qos",
    "send-buffer",
    "receive-buffer",
    "framing",
    "allocation",
    "arq",
    "flow-control",
    "class",
    "error",
    "gate",
    "rate-change",
    "background",
];

/// Reads the bearer of hop `name`; outer `None` if it could not be read.
pub(crate) fn read(hop: Reader<'_>, name: &str, flows: &[String], cx: &Cx<'_>) -> Option<Option<Bearer>> {
    let Some(tree) = hop.get("radio") else { return Some(None) };
    for key in OTHERS {
        if let Some(other) = hop.get(key) {
            cx.push(
                Diagnostic::error(
                    "conflict",
                    other.place,
                    format!("`{key}` with `radio`: the bearer has its own"),
                )
                .also(tree.place, "the bearer")
                .help(format!("remove `{key}`, or put it on a hop of its own before the radio hop")),
            );
            return None;
        }
    }
    let bare = crate::grammar::tree::Tree {
        value: crate::grammar::tree::Value::Table(crate::grammar::tree::Table::default()),
        place: tree.place,
    };
    let (key, inner) = match tree.table() {
        Some(table) => {
            let [entry] = table.entries.as_slice() else { return None };
            (entry.key.as_str(), &entry.tree)
        }
        None => (tree.text()?, &bare),
    };
    let kind = match key {
        "gprs" => BearerKind::Gprs(gprs::read(Reader::new(inner, &shape::GPRS), name, flows, cx)?),
        "hscsd" => BearerKind::Framed(framed::hscsd(Reader::new(inner, &framed::HSCSD), name, cx)?),
        "wcdma" => BearerKind::Framed(framed::wcdma(Reader::new(inner, &framed::WCDMA), name, cx)?),
        "cdma2000" => BearerKind::Framed(framed::cdma2000(Reader::new(inner, &framed::CDMA2000), name, cx)?),
        _ => return None,
    };
    Some(Some(Bearer { name: name.to_owned(), kind, links: [0; 2] }))
}
