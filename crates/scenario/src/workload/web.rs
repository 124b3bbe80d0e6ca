//! Grammar of the web workload (`app.web`): pages of objects, reading times, HTTP connection lifetime and
//! pipelining.

use super::{BYTES, LASTS, PATIENCE, SERVE, SPAN, count, keep, optional, patience};
use crate::grammar::cx::Cx;
use crate::grammar::reader::Reader;
use crate::grammar::shape::{ValueKind, Need, Quantity, Shape, TableShape, Variant, field, table};
use crate::model::{App, RequestPlan};

/// Variant `web` of `app`.
pub(super) const VARIANT: Variant = Variant {
    name: "web",
    doc: "Pages with objects in them.",
    shape: Shape::Table(&TABLE),
    bare: true,
};

static TABLE: TableShape = table(
    "web",
    "Pages: a main object, then the objects in it, then reading time: `from` requests, `to` replies. The defaults are those of \
     the EGPRS study (its table IV), which gives mean and maximum of the number of objects; the shape follows from the two.",
    &[
        field(
            "pages",
            Shape::One(ValueKind::Count(1, 1 << 40)),
            Need::Optional,
            "Number of pages. Without it, unlimited.",
        ),
        LASTS,
        field("request", BYTES, Need::Default("\"250 B\""), "Size of each request."),
        field(
            "main",
            BYTES,
            Need::Default("\"lognormal(10710 B, 25032 B)\""),
            "Size of a page's main object.",
        ),
        field(
            "objects",
            Shape::One(ValueKind::Dist(Quantity::Number)),
            Need::Default("\"pareto(1, 0.74, 55)\""),
            "Number of objects in a page; rounded. They are known when the main object has arrived.",
        ),
        field("object", BYTES, Need::Default("\"lognormal(7758 B, 126168 B)\""), "Size of each of them."),
        field(
            "largest",
            Shape::One(ValueKind::Bytes),
            Need::Default("\"1 GB\""),
            "Maximum object size; larger draws are cut.",
        ),
        field(
            "reading",
            SPAN,
            Need::Default("\"exponential(30 s)\""),
            "From the end of a page to the next one.",
        ),
        SERVE,
        PATIENCE,
        field(
            "connections",
            Shape::One(ValueKind::Count(1, 1000)),
            Need::Default("1"),
            "Maximum number of concurrent connections.",
        ),
        field(
            "keep",
            Shape::One(ValueKind::Word(&["object", "page", "session"])),
            Need::Default("\"page\""),
            "Lifetime of a connection: one object (HTTP 1.0), a page, or all pages.",
        ),
        field(
            "pipelining",
            Shape::One(ValueKind::Flag),
            Need::Default("false"),
            "Whether a request may leave before the reply to the previous one has arrived.",
        ),
    ],
);

/// Reads the table `web`.
pub(super) fn read(r: Reader<'_>, cx: &Cx<'_>) -> Option<App> {
    Some(App::Requests(Box::new(RequestPlan {
        pages: count(r, "pages")?,
        lasts: optional(r, "lasts", |key| r.span(key))?,
        request: r.dist("request", cx)?,
        reply: r.dist("main", cx)?,
        objects: r.dist("objects", cx)?,
        object: r.dist("object", cx)?,
        largest: r.bytes("largest")?.max(1),
        think: r.dist("reading", cx)?,
        paced: false,
        serve: r.dist("serve", cx)?,
        patience: patience(r, cx)?,
        connections: r.count("connections")? as u32,
        keep: keep(r)?,
        pipelining: r.flag("pipelining")?,
    })))
}
