//! DCCP in scenarios (RFC 4340): `transport = { dccp = { ccid = 3 } }`.

use super::{UnsupportedWorkload, Site, Sizes, Spec, same};
use crate::diagnostic::Diagnostic;
use crate::grammar::cx::Cx;
use crate::grammar::reader::Reader;
use crate::grammar::shape::{Field, ValueKind, Need, Shape, TableShape, Variant, field, table};
use crate::model::App;
use dccp::connection::Lifetime;
use dccp::ccid::Rules;
use dccp::{Ccid, Config, Connection};
use host::FlowEnd;
use std::sync::Arc;
use transport::app::messages::Manner;

/// Variant `dccp` of `transport`.
pub(super) const VARIANT: Variant = Variant {
    name: "dccp",
    doc: "The Datagram Congestion Control Protocol (RFC 4340): datagrams with a connection and congestion control.",
    shape: Shape::Table(&TABLE),
    bare: true,
};

pub(super) const LIFETIME_FIELD: Field = field(
    "lifetime",
    Shape::One(ValueKind::Text),
    Need::Default("\"always\""),
    "Lifetime of data packets in the network: a time such as \"5 s\", rto (until the timeout), rto-and-rtt, message (that of their message), or always.",
);
pub(super) const ACK_LIFETIME_FIELD: Field = field(
    "ack-lifetime",
    Shape::One(ValueKind::Span),
    Need::Optional,
    "Lifetime of acknowledgements beyond the round trip. Without it, for ever.",
);

/// Options of DCCP.
pub(super) static TABLE: TableShape = table(
    "dccp",
    "DCCP between two models.",
    &[
        field(
            "ccid",
            Shape::One(ValueKind::Count(2, 3)),
            Need::Default("3"),
            "Congestion control: 2 TCP-like (RFC 4341), 3 TFRC (RFC 4342).",
        ),
        field("payload", Shape::One(ValueKind::Bytes), Need::Default("\"1000 B\""), "Most data in a packet."),
        field(
            "ack-ratio",
            Shape::One(ValueKind::Count(1, 1000)),
            Need::Default("2"),
            "Data packets per acknowledgement (ccid 2).",
        ),
        field(
            "ack-vectors",
            Shape::One(ValueKind::Flag),
            Need::Default("false"),
            "Whether acknowledgements of ccid 3 carry Ack Vectors too.",
        ),
        field(
            "sequence-window",
            Shape::One(ValueKind::Count(32, 1 << 40)),
            Need::Default("1000"),
            "Packets by which sequence numbers may run ahead before the ends synchronise.",
        ),
        field(
            "initial-window",
            Shape::One(ValueKind::Count(0, 100)),
            Need::Default("0"),
            "Initial window of ccid 3 in packets; 0: by RFC 5348 section 4.2.",
        ),
        field(
            "send-queue",
            Shape::One(ValueKind::Count(0, 1 << 20)),
            Need::Default("0"),
            "Most messages that wait to be sent; older ones are given up for newer ones. 0: any number.",
        ),
        field(
            "ecn",
            Shape::One(ValueKind::Flag),
            Need::Default("false"),
            "Whether data packets may be marked (RFC 3168).",
        ),
        field(
            "rules",
            Shape::One(ValueKind::Word(Rules::NAMES)),
            Need::Default("\"rfc\""),
            "Rules of ccid 3 where Linux departs from RFC 4342 and RFC 5348: window counter, times of reports, \
             samples of the round trip, first loss interval.",
        ),
        LIFETIME_FIELD,
        ACK_LIFETIME_FIELD,
    ],
);

/// DCCP with its options.
#[derive(Clone, Debug, PartialEq)]
struct Choice(Config);

/// Reads the key `lifetime`.
pub(super) fn lifetime(reader: Reader<'_>, cx: &Cx<'_>) -> Option<Lifetime> {
    let tree = reader.or_default("lifetime")?;
    match tree.text()? {
        "always" => return Some(Lifetime::Always),
        "rto" => return Some(Lifetime::Rto),
        "rto-and-rtt" => return Some(Lifetime::RtoAndRtt),
        "message" => return Some(Lifetime::Message),
        _ => {}
    }
    let span = crate::grammar::leaf::span(&tree).ok();
    if span.is_none() {
        let message = "`lifetime` is a time such as \"5 s\", or one of always, rto, rto-and-rtt, message";
        cx.push(Diagnostic::error("bad-value", reader.place("lifetime"), message));
    }
    span.map(Lifetime::For)
}

/// An optional time; outer `None` if it could not be read.
pub(super) fn optional_span(reader: Reader<'_>, key: &str) -> Option<Option<base::Span>> {
    match reader.get(key) {
        Some(_) => reader.span(key).map(Some),
        None => Some(None),
    }
}

/// Payload of a packet, from 1 B to the largest in an IP packet.
pub(super) fn payload(reader: Reader<'_>, cx: &Cx<'_>) -> Option<u32> {
    let bytes = reader.bytes("payload")?;
    let good = u32::try_from(bytes).ok().filter(|n| (1..=65_000).contains(n));
    if good.is_none() {
        cx.push(
            Diagnostic::error("bad-value", reader.place("payload"), "`payload` is from 1 B to 65000 B")
                .help("an Ethernet path takes 1440 B"),
        );
    }
    good
}

/// A lifetime in one line.
pub(super) fn lifetime_words(lifetime: Lifetime) -> String {
    match lifetime {
        Lifetime::Always => String::new(),
        Lifetime::Rto => ", lifetime RTO".to_owned(),
        Lifetime::RtoAndRtt => ", lifetime RTO and RTT".to_owned(),
        Lifetime::Message => ", lifetime of its message".to_owned(),
        Lifetime::For(span) => format!(", lifetime {span}"),
    }
}

/// Reads the table `dccp`.
pub(super) fn read(reader: Reader<'_>, cx: &Cx<'_>) -> Option<Arc<dyn Spec>> {
    let ccid = if reader.count("ccid")? == 2 { Ccid::Tcplike } else { Ccid::Tfrc };
    Some(Arc::new(Choice(Config {
        ccids: vec![ccid],
        payload: payload(reader, cx)?,
        ack_ratio: reader.count("ack-ratio")? as u16,
        ack_vectors: reader.flag("ack-vectors")?,
        sequence_window: reader.count("sequence-window")? as u64,
        initial_window: reader.count("initial-window")? as u32,
        send_queue: reader.count("send-queue")? as u32,
        ecn: reader.flag("ecn")?,
        rules: Rules::from_name(reader.word("rules")?)?,
        lifetime: lifetime(reader, cx)?,
        ack_lifetime: optional_span(reader, "ack-lifetime")?,
        ..Config::default()
    })))
}

//= RFC 4340 section 7.1: initial sequence numbers are chosen at random
/// Initial sequence number of an end.
pub(super) fn isn(site: &Site<'_>) -> u64 {
    let name = format!("{}@{:?}", site.flow.name, site.host.role);
    site.seed.stream(&name, "isn").bits() >> 20
}

/// Refuses requests and replies, which need reliable delivery.
pub(super) fn unreliable(app: &App) -> Result<(), UnsupportedWorkload> {
    match app {
        App::Requests(_) => Err(UnsupportedWorkload {
            message: "this transport does not retransmit losses; requests and replies need a reliable transport",
            help: "write transport = \"tcp\", or a workload such as app = { cbr = { rate = \"64 kbit/s\" } }",
        }),
        _ => Ok(()),
    }
}

impl Spec for Choice {
    fn name(&self) -> &'static str {
        "dccp"
    }
    fn words(&self) -> String {
        let ccid = self.0.ccids.first().map_or("3", |c| c.name());
        format!("ccid {ccid}, {} B payload{}", self.0.payload, lifetime_words(self.0.lifetime))
    }
    fn sizes(&self) -> Sizes {
        Sizes {
            payload: self.0.payload,
            header: 36,
            window: 1 << 30,
            acked_each: f64::from(self.0.ack_ratio),
        }
    }
    fn fits(&self, app: &App) -> Result<(), UnsupportedWorkload> {
        unreliable(app)
    }
    fn end(&self, site: &Site<'_>) -> Box<dyn FlowEnd> {
        let config = Config { isn: isn(site), ..self.0.clone() };
        let manner = match &site.flow.app {
            App::Messages(plan) => Manner::of(plan.useful),
            _ => Manner::default(),
        };
        site.holding(Connection::new(config, site.host.role), manner)
    }
    fn same(&self, other: &dyn Spec) -> bool {
        same(self, other)
    }
    fn unit_word(&self) -> &'static str {
        "packet"
    }
}
