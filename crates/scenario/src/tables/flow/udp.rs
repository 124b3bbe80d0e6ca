//! Grammar of UDP flows (`transport = "udp"`): payload, header and lifetime of datagrams.

use crate::diagnostic::Diagnostic;
use crate::grammar::cx::Cx;
use crate::grammar::reader::chosen;
use crate::grammar::shape::{Need, Shape, TableShape, ValueKind, Variant, field, table};
use crate::grammar::tree::Tree;
use crate::model::Transport;

/// Variant `udp` of `transport`.
pub(crate) const VARIANT: Variant =
    Variant { name: "udp", doc: "Datagrams without rate control.", shape: Shape::Table(&UDP), bare: true };

static UDP: TableShape = table(
    "udp",
    "Datagrams without acknowledgement or retransmission, for messages on their own schedule.",
    &[
        field(
            "payload",
            Shape::One(ValueKind::Bytes),
            Need::Default("\"1472 B\""),
            "Most bytes of a message in one datagram; larger messages take several.",
        ),
        field(
            "header",
            Shape::One(ValueKind::Bytes),
            Need::Default("\"28 B\""),
            "Headers of each: IPv4 and UDP.",
        ),
        field(
            "lifetime",
            Shape::One(ValueKind::Span),
            Need::Optional,
            "Lifetime of each: its deadline for routers with queue = deadline. Without it, unlimited.",
        ),
    ],
);

/// Reads `transport`, if it is `udp`.
pub(crate) fn read(tree: &Tree, cx: &Cx<'_>) -> Option<Option<Transport>> {
    let (_, reader) = chosen(tree, |name| (name == "udp").then_some(&UDP))?;
    let size = |key: &str, least: u64| {
        let bytes = reader.bytes(key)?;
        let good = u32::try_from(bytes).ok().filter(|n| (least..=65_507).contains(&u64::from(*n)));
        if good.is_none() {
            let message = format!("`{key}` of a datagram is from {least} B to 65507 B");
            cx.push(Diagnostic::error("bad-value", reader.place(key), message));
        }
        good
    };
    let (payload, header) = (size("payload", 1), size("header", 0));
    let lifetime =
        if reader.get("lifetime").is_some() { reader.span("lifetime").map(Some) } else { Some(None) };
    Some((|| {
        Some(Transport::Udp(crate::model::Udp { payload: payload?, header: header?, lifetime: lifetime? }))
    })())
}
