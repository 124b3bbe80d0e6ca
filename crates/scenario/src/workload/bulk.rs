//! Grammar of the bulk workload (`app.bulk`): amount or duration of data, and reading rate of the receiving
//! application.

use super::optional;
use crate::diagnostic::Diagnostic;
use crate::grammar::cx::Cx;
use crate::grammar::reader::Reader;
use crate::grammar::shape::{ValueKind, Need, Shape, TableShape, Variant, field, table};
use crate::model::{App, Reads};
use base::Span;

/// Variant `bulk` of `app`.
pub(super) const VARIANT: Variant = Variant {
    name: "bulk",
    doc: "Data as fast as the transport takes it.",
    shape: Shape::Table(&TABLE),
    bare: true,
};

static TABLE: TableShape = table(
    "bulk",
    "Data as fast as the transport takes it.",
    &[
        field("bytes", Shape::One(ValueKind::Bytes), Need::Optional, "Amount. Without it, unlimited."),
        field(
            "lasts",
            Shape::One(ValueKind::Span),
            Need::Optional,
            "Duration. Without it, until all data are delivered or the run ends.",
        ),
        field(
            "read-rate",
            Shape::One(ValueKind::Rate),
            Need::Optional,
            "Read rate of the other end; unread data fill its receive window. Without it, data are read at once.",
        ),
        field(
            "read-pause",
            Shape::One(ValueKind::Span),
            Need::Optional,
            "Time after its start during which the other end does not read. Without it, it reads from the start.",
        ),
    ],
);

/// Reads the table `bulk`.
pub(super) fn read(bulk: Reader<'_>, cx: &Cx<'_>) -> Option<App> {
    let bytes = optional(bulk, "bytes", |key| bulk.bytes(key))?;
    if bytes == Some(0) {
        cx.push(
            Diagnostic::error(
                "bad-value",
                bulk.place("bytes"),
                "a transfer of nothing ends before it begins",
            )
            .help("give at least 1 B, or remove `bytes` for a transfer without end"),
        );
        return None;
    }
    Some(App::Bulk { bytes, lasts: optional(bulk, "lasts", |key| bulk.span(key))? })
}

/// Reading rate of the receiver, if the workload has one.
pub(crate) fn reads(reader: Reader<'_>) -> Option<Reads> {
    let (_, bulk) = super::chosen_app(reader).filter(|(word, _)| *word == VARIANT.name)?;
    let (rate, pause) = (bulk.get("read-rate").is_some(), bulk.get("read-pause").is_some());
    if !rate && !pause {
        return None;
    }
    let rate = if rate { Some(bulk.rate("read-rate")?) } else { None };
    let pause = if pause { bulk.span("read-pause")? } else { Span::ZERO };
    Some(Reads { rate, pause })
}
