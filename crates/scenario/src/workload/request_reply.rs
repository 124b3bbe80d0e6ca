//! Grammar of the request-reply workload (`app.request-reply`): sequential requests, each with its reply.

use super::{BYTES, COUNT, LASTS, PATIENCE, SERVE, SPAN, count, keep, optional, patience};
use crate::grammar::cx::Cx;
use crate::grammar::reader::Reader;
use crate::grammar::shape::{ValueKind, Need, Shape, TableShape, Variant, field, table};
use crate::model::{App, RequestPlan};
use base::dist::Dist;

/// Variant `request-reply` of `app`.
pub(super) const VARIANT: Variant = Variant {
    name: "request-reply",
    doc: "One request after the other, each with its reply.",
    shape: Shape::Table(&TABLE),
    bare: false,
};

static TABLE: TableShape = table(
    "request-reply",
    "Sequential requests: `from` sends each request, `to` replies.",
    &[
        field("request", BYTES, Need::Required("\"280 B\""), "Size of a request."),
        field("reply", BYTES, Need::Required("\"499 B\""), "Size of its reply."),
        COUNT,
        LASTS,
        field("think", SPAN, Need::Default("\"0 s\""), "From a reply to the next request."),
        field(
            "think-from",
            Shape::One(ValueKind::Word(&["reply", "request"])),
            Need::Default("\"reply\""),
            "request: `think` counts from the request, as ping does; a late reply delays the next one.",
        ),
        SERVE,
        PATIENCE,
        field(
            "keep",
            Shape::One(ValueKind::Word(&["session", "object"])),
            Need::Default("\"session\""),
            "session: one connection for all requests. object: one for each.",
        ),
    ],
);

/// Reads the table `request-reply`.
pub(super) fn read(r: Reader<'_>, cx: &Cx<'_>) -> Option<App> {
    Some(App::Requests(Box::new(RequestPlan {
        pages: count(r, "count")?,
        lasts: optional(r, "lasts", |key| r.span(key))?,
        request: r.dist("request", cx)?,
        reply: r.dist("reply", cx)?,
        objects: Dist::Constant(0.0),
        object: Dist::Constant(0.0),
        largest: 1 << 40,
        think: r.dist("think", cx)?,
        paced: r.word("think-from")? == "request",
        serve: r.dist("serve", cx)?,
        patience: patience(r, cx)?,
        connections: 1,
        keep: keep(r)?,
        pipelining: false,
    })))
}
