//! RTP in scenarios (RFC 3550): `transport = { rtp = { format = "pcmu" } }`.
//!
//! With retransmission within a lifetime it is `transport = { atp = { carrier = "rtp" } }`.

use super::dccp::payload;
use super::{UnsupportedWorkload, Site, Sizes, Spec, same};
use crate::diagnostic::Diagnostic;
use crate::grammar::cx::Cx;
use crate::grammar::reader::Reader;
use crate::grammar::shape::{ValueKind, Need, Shape, TableShape, Variant, field, table};
use crate::model::App;
use ::rtp::session::Lifetime;
use ::rtp::{Config, Format, Session};
use host::FlowEnd;
use std::sync::Arc;
use transport::app::messages::Manner;

/// Variant `rtp` of `transport`.
pub(super) const VARIANT: Variant = Variant {
    name: "rtp",
    doc: "Frames over RTP and UDP with RTCP reports (RFC 3550), without retransmission; for that see atp with carrier = \"rtp\".",
    shape: Shape::Table(&TABLE),
    bare: true,
};

/// Options of RTP.
pub(super) static TABLE: TableShape = table(
    "rtp",
    "RTP between two models. A message of the workload is a frame: its packets have one timestamp.",
    &[
        field(
            "format",
            Shape::One(ValueKind::Word(Format::NAMES)),
            Need::Default("\"dynamic\""),
            "Payload format: payload type, clock and payload header of RFC 3551; `dynamic` is video of type 96.",
        ),
        field(
            "clock",
            Shape::One(ValueKind::Count(1, 1 << 31)),
            Need::Default("90000"),
            "Ticks of the timestamp per second with `dynamic`; the other formats have their own.",
        ),
        field(
            "payload",
            Shape::One(ValueKind::Bytes),
            Need::Default("\"1400 B\""),
            "Most media data in a packet.",
        ),
        field(
            "bandwidth",
            Shape::One(ValueKind::Rate),
            Need::Default("\"64 kbit/s\""),
            "Session bandwidth; reports use 5 % of it (RFC 3550 section 6.2).",
        ),
        field(
            "lifetime",
            Shape::One(ValueKind::Text),
            Need::Default("\"always\""),
            "Lifetime of packets in the network: a time such as \"300 ms\", message (that of their frame), or always.",
        ),
        field(
            "on-congestion",
            Shape::One(ValueKind::Word(&["keep", "slow-down"])),
            Need::Default("\"keep\""),
            "Reaction of the application to a report of more than 4 % losses: it keeps its interval, or doubles it up to 16 times and recovers as reports improve.",
        ),
    ],
);

/// RTP with its options.
#[derive(Clone, Debug, PartialEq)]
struct Choice {
    config: Config,
    /// The application lengthens its interval on reports of losses.
    adapts: bool,
}

fn lifetime(reader: Reader<'_>, cx: &Cx<'_>) -> Option<Lifetime> {
    let tree = reader.or_default("lifetime")?;
    match tree.text()? {
        "always" => return Some(Lifetime::Always),
        "message" => return Some(Lifetime::Message),
        _ => {}
    }
    let span = crate::grammar::leaf::span(&tree).ok();
    if span.is_none() {
        let message = "`lifetime` is a time such as \"300 ms\", or one of always, message";
        cx.push(Diagnostic::error("bad-value", reader.place("lifetime"), message));
    }
    span.map(Lifetime::For)
}

/// Reads the table `rtp`.
pub(super) fn read(reader: Reader<'_>, cx: &Cx<'_>) -> Option<Arc<dyn Spec>> {
    let config = Config {
        format: Format::from_name(reader.word("format")?)?,
        clock: reader.count("clock")? as u32,
        payload: payload(reader, cx)?,
        bandwidth: reader.rate("bandwidth")?.bps() as f64 / 8.0,
        lifetime: lifetime(reader, cx)?,
        ..Config::default()
    };
    Some(Arc::new(Choice { config, adapts: reader.word("on-congestion")? == "slow-down" }))
}

impl Spec for Choice {
    fn name(&self) -> &'static str {
        "rtp"
    }
    fn words(&self) -> String {
        let properties = self.config.properties();
        let (kind, clock, payload) = (properties.payload_type, properties.clock, self.config.payload);
        format!("{} (type {kind}, {clock} Hz), {payload} B payload", self.config.format)
    }
    fn sizes(&self) -> Sizes {
        let header = ::rtp::packet::BELOW + ::rtp::packet::HEADER + self.config.properties().header;
        Sizes { payload: self.config.payload, header, window: 1 << 30, acked_each: 1000.0 }
    }
    fn fits(&self, app: &App) -> Result<(), UnsupportedWorkload> {
        match app {
            App::Messages(_) => Ok(()),
            _ => Err(UnsupportedWorkload {
                message: "RTP carries frames at their own pace; this workload needs a reliable stream",
                help: "write transport = \"tcp\", or a workload such as app = { cbr = { rate = \"64 kbit/s\" } }",
            }),
        }
    }
    fn end(&self, site: &Site<'_>) -> Box<dyn FlowEnd> {
        let manner = match &site.flow.app {
            App::Messages(plan) => Manner { adapts: self.adapts, reports: true, ..Manner::of(plan.useful) },
            App::Bulk { .. } | App::Requests(_) => Manner::default(),
        };
        let chance = site.seed.stream(&format!("{}@{:?}", site.flow.name, site.host.role), "rtp");
        site.holding(Session::new(self.config.clone(), site.host.role, chance), manner)
    }
    fn same(&self, other: &dyn Spec) -> bool {
        same(self, other)
    }
    fn unit_word(&self) -> &'static str {
        "packet"
    }
}
