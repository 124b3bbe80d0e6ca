//! Who else uses a link? `[[hop.background]]`: packets of one size at a constant rate, which wait in the same
//! queue and end right behind the link. Nobody answers them, so they slow down for nothing.

use crate::cx::Cx;
use crate::diagnostic::Diagnostic;
use crate::fault::{DIRECTIONS, Owner};
use crate::model::Background;
use crate::reader::Reader;
use crate::shape::{Field, Kind, Need, Quantity, Shape, TableShape, field, table};

static BACKGROUND: TableShape = table(
    "background",
    "Packets at a constant rate that compete for the queue and end behind the link; nobody answers them.",
    &[
        field("name", Shape::One(Kind::Name), Need::Required("\"voice\""), "How grids and results call it."),
        DIRECTIONS,
        field(
            "rate",
            Shape::One(Kind::Rate),
            Need::Required("\"1 Mbit/s\""),
            "How fast they come, headers counted; 0 is none.",
        ),
        field("packet", Shape::One(Kind::Bytes), Need::Default("\"1000 B\""), "Each one, headers counted."),
        field(
            "start",
            Shape::One(Kind::Dist(Quantity::Span)),
            Need::Default("\"0 s\""),
            "When the first one comes.",
        ),
    ],
);

/// `[[hop.background]]`, `[[link.background]]`.
pub(crate) const BACKGROUNDS: Field =
    field("background", Shape::Tables(&BACKGROUND), Need::Optional, "Load that nobody answers.");

/// Reads the background loads of one hop or link; those of rate 0 are none.
pub(crate) fn read(reader: Reader<'_>, owner: &Owner<'_>, cx: &Cx<'_>) -> Vec<Background> {
    reader.tables("background", &BACKGROUND).filter_map(|r| one(r, owner, cx)).collect()
}

fn one(r: Reader<'_>, owner: &Owner<'_>, cx: &Cx<'_>) -> Option<Background> {
    let links = owner.links(r, cx);
    let start = r.dist("start", cx);
    let packet = r.bytes("packet")?;
    let Some(packet) = u32::try_from(packet).ok().filter(|n| (1..=1 << 24).contains(n)) else {
        cx.push(
            Diagnostic::error("bad-value", r.place("packet"), "a packet has from 1 B to 16 MB")
                .help("\"1000 B\" is usual"),
        );
        return None;
    };
    let rate = r.rate("rate")?;
    if rate.bps() == 0 {
        return None;
    }
    let name = format!("{}.{}", owner.name, r.name()?);
    Some(Background { name, rate, packet, start: start?, links: links? })
}
