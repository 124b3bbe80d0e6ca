//! Grammar of the CBR workload (`app.cbr`): messages of one size at a constant rate.

use super::{CLASS, COUNT, LASTS, PLAYOUT, paced};
use crate::grammar::cx::Cx;
use crate::grammar::reader::Reader;
use crate::grammar::shape::{ValueKind, Need, Shape, TableShape, Variant, field, table};
use crate::model::App;

/// Variant `cbr` of `app`.
pub(super) const VARIANT: Variant = Variant {
    name: "cbr",
    doc: "Messages of one size at a constant rate.",
    shape: Shape::Table(&TABLE),
    bare: false,
};

static TABLE: TableShape = table(
    "cbr",
    "Messages of one size at a constant rate.",
    &[
        field(
            "rate",
            Shape::One(ValueKind::Rate),
            Need::Required("\"64 kbit/s\""),
            "Rate, without headers.",
        ),
        field(
            "packet",
            Shape::One(ValueKind::Bytes),
            Need::Default("\"160 B\""),
            "Each message, without headers.",
        ),
        COUNT,
        LASTS,
        PLAYOUT,
        CLASS,
    ],
);

/// Reads the table `cbr`.
pub(super) fn read(r: Reader<'_>, cx: &Cx<'_>) -> Option<App> {
    paced(r, None, cx)
}
