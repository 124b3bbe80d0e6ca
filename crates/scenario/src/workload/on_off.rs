//! Grammar of the on-off workload (`app.on-off`): messages at a constant rate in bursts with idle periods
//! between them.

use super::{CLASS, COUNT, LASTS, PLAYOUT, SPAN, paced, takes_time};
use crate::grammar::cx::Cx;
use crate::grammar::reader::Reader;
use crate::grammar::shape::{ValueKind, Need, Shape, TableShape, Variant, field, table};
use crate::model::App;

/// Variant `on-off` of `app`.
pub(super) const VARIANT: Variant = Variant {
    name: "on-off",
    doc: "Messages in bursts with silences between.",
    shape: Shape::Table(&TABLE),
    bare: false,
};

static TABLE: TableShape = table(
    "on-off",
    "Messages at a constant rate, in bursts with silences between.",
    &[
        field(
            "rate",
            Shape::One(ValueKind::Rate),
            Need::Required("\"64 kbit/s\""),
            "Rate within a burst, without headers.",
        ),
        field(
            "packet",
            Shape::One(ValueKind::Bytes),
            Need::Default("\"160 B\""),
            "Each message, without headers.",
        ),
        field(
            "on",
            SPAN,
            Need::Required("\"exponential(1 s)\""),
            "How long a burst lasts. The first one begins at once.",
        ),
        field("off", SPAN, Need::Required("\"exponential(1.35 s)\""), "How long the silence after it lasts."),
        COUNT,
        LASTS,
        PLAYOUT,
        CLASS,
    ],
);

/// Reads the table `on-off`.
pub(super) fn read(r: Reader<'_>, cx: &Cx<'_>) -> Option<App> {
    let (on, off) = (r.dist("on", cx)?, r.dist("off", cx)?);
    takes_time(&on, r, "on", cx)?;
    paced(r, Some((on, off)), cx)
}
