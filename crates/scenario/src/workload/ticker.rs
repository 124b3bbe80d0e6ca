//! Grammar of the news ticker workload (`app.ticker`): occasional messages, each of which makes its
//! predecessor obsolete.

use super::{BYTES, CLASS, COUNT, LASTS, PLAYOUT, SPAN, count, optional, takes_time, useful};
use crate::grammar::cx::Cx;
use crate::grammar::reader::Reader;
use crate::grammar::shape::{Need, TableShape, Variant, Shape, field, table};
use crate::model::{App, MessagePlan, UsefulLife};

/// Variant `ticker` of `app`.
pub(super) const VARIANT: Variant = Variant {
    name: "ticker",
    doc: "A message now and then, which makes the one before it obsolete.",
    shape: Shape::Table(&TABLE),
    bare: false,
};

static TABLE: TableShape = table(
    "ticker",
    "Messages at intervals, each of which makes the previous one obsolete.",
    &[
        field("size", BYTES, Need::Required("\"1 kB\""), "Size of a message."),
        field("every", SPAN, Need::Required("\"5 s\""), "From one message to the next."),
        COUNT,
        LASTS,
        PLAYOUT,
        CLASS,
    ],
);

/// Reads the table `ticker`.
pub(super) fn read(r: Reader<'_>, cx: &Cx<'_>) -> Option<App> {
    let every = r.dist("every", cx)?;
    takes_time(&every, r, "every", cx)?;
    Some(App::Messages(Box::new(MessagePlan {
        size: r.dist("size", cx)?,
        every,
        bursts: None,
        count: count(r, "count")?,
        lasts: optional(r, "lasts", |key| r.span(key))?,
        useful: useful(r, UsefulLife::UntilNext, cx)?,
        stream: None,
    })))
}
