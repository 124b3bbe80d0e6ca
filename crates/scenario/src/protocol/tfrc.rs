//! Plain TFRC flows in scenarios (RFC 5348, catalogue NS-14): `transport = "tfrc"`.

use super::dccp::{ACK_LIFETIME_FIELD, LIFETIME_FIELD, lifetime, lifetime_words, optional_span, payload};
use super::{UnsupportedWorkload, Site, Sizes, Spec, same};
use crate::grammar::cx::Cx;
use crate::grammar::reader::Reader;
use crate::grammar::shape::{ValueKind, Need, Shape, TableShape, Variant, field, table};
use crate::model::App;
use dccp::tfrc::Timeout;
use dccp::{Flow, FlowConfig};
use host::FlowEnd;
use std::sync::Arc;
use transport::app::messages::Manner;

/// Variant `tfrc` of `transport`.
pub(super) const VARIANT: Variant = Variant {
    name: "tfrc",
    doc: "Unreliable bulk data at TCP-friendly rate (RFC 5348), without a connection: a TFRC agent.",
    shape: Shape::Table(&TABLE),
    bare: true,
};

/// Options of TFRC.
pub(super) static TABLE: TableShape = table(
    "tfrc",
    "A TFRC agent at each end.",
    &[
        field("payload", Shape::One(ValueKind::Bytes), Need::Default("\"960 B\""), "Data in a packet."),
        field("header", Shape::One(ValueKind::Bytes), Need::Default("\"40 B\""), "Headers of a data packet."),
        field("report", Shape::One(ValueKind::Bytes), Need::Default("\"40 B\""), "A report of the receiver."),
        field(
            "initial-window",
            Shape::One(ValueKind::Count(0, 100)),
            Need::Default("0"),
            "In packets; 0: by RFC 5348 section 4.2.",
        ),
        field(
            "discounting",
            Shape::One(ValueKind::Flag),
            Need::Default("true"),
            "Whether old loss intervals count less after a long one (RFC 5348 section 5.5).",
        ),
        field(
            "damping",
            Shape::One(ValueKind::Flag),
            Need::Default("false"),
            "Whether the rate gives way to a rising round trip (RFC 5348 section 4.5).",
        ),
        field(
            "timeout",
            Shape::One(ValueKind::Word(Timeout::NAMES)),
            Need::Default("\"four-rtt\""),
            "The timeout in the throughput equation: four round trips (RFC 5348 section 3.1), or measured as by the agent of ns-2.35.",
        ),
        field(
            "loss-events",
            Shape::One(ValueKind::Word(&["by-time", "by-hole"])),
            Need::Default("\"by-time\""),
            "Of packets missing in a row: a loss event for each round trip of their nominal arrivals (RFC 5348 section 5.2), or one.",
        ),
        LIFETIME_FIELD,
        ACK_LIFETIME_FIELD,
    ],
);

/// TFRC with its options.
#[derive(Clone, Debug, PartialEq)]
struct Choice(FlowConfig);

/// Reads the table `tfrc`.
pub(super) fn read(reader: Reader<'_>, cx: &Cx<'_>) -> Option<Arc<dyn Spec>> {
    let size = |key: &str| u32::try_from(reader.bytes(key)?).ok().map(|n| n.min(65_000));
    Some(Arc::new(Choice(FlowConfig {
        payload: payload(reader, cx)?,
        header: size("header")?,
        report: size("report")?,
        initial_window: reader.count("initial-window")? as u32,
        discounting: reader.flag("discounting")?,
        damping: reader.flag("damping")?,
        timeout: Timeout::from_name(reader.word("timeout")?)?,
        one_event: reader.word("loss-events")? == "by-hole",
        lifetime: lifetime(reader, cx)?,
        ack_lifetime: optional_span(reader, "ack-lifetime")?,
    })))
}

impl Spec for Choice {
    fn name(&self) -> &'static str {
        "tfrc"
    }
    fn words(&self) -> String {
        format!("{} B payload{}", self.0.payload, lifetime_words(self.0.lifetime))
    }
    fn sizes(&self) -> Sizes {
        Sizes { payload: self.0.payload, header: self.0.header, window: 1 << 30, acked_each: 10.0 }
    }
    fn fits(&self, app: &App) -> Result<(), UnsupportedWorkload> {
        match app {
            App::Bulk { .. } => Ok(()),
            _ => Err(UnsupportedWorkload {
                message: "a TFRC agent carries bulk data and nothing else",
                help: "write transport = { dccp = { ccid = 3 } } for messages",
            }),
        }
    }
    fn end(&self, site: &Site<'_>) -> Box<dyn FlowEnd> {
        site.holding(Flow::new(self.0), Manner::default())
    }
    fn same(&self, other: &dyn Spec) -> bool {
        same(self, other)
    }
    fn unit_word(&self) -> &'static str {
        "packet"
    }
}
