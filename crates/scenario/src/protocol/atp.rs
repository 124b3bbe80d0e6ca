//! ATP in scenarios: `transport = { atp = { lifetime = "5 s" } }`, and SR-RTP as `transport = { atp = {
//! carrier = "rtp" } }`.
//!
//! Source: Gurtov and Ludwig, "Exploiting Packet Lifetime for Efficient Real-Time Transport".

use super::dccp::{ACK_LIFETIME_FIELD, optional_span, payload, unreliable};
use super::{UnsupportedWorkload, Site, Sizes, Spec, same};
use crate::diagnostic::Diagnostic;
use crate::grammar::cx::Cx;
use crate::grammar::reader::Reader;
use crate::grammar::shape::{ValueKind, Need, Shape, TableShape, Variant, field, table};
use crate::model::{App, UsefulLife};
use ::atp::{AtpEnd, Carrier, Config, FragmentLife, Method, OverDccp};
use ::dccp::Ccid;
use host::{FlowEnd, MultiConnectionHost};
use std::sync::Arc;
use transport::app::connections::Workload;
use transport::app::messages::Manner;
use transport::app::message_stream::MessageSchedule;
use transport::app::units::{UnitSink, UnitSource};
use transport::tcp::Role;
use transport::tcp::config::Lifetime;

/// Variant `atp` of `transport`.
pub(super) const VARIANT: Variant = Variant {
    name: "atp",
    doc: "Application data units with lifetimes and selective retransmission within them (ATP); carrier = \"rtp\" is \
          SR-RTP.",
    shape: Shape::Table(&TABLE),
    bare: true,
};

/// Options of ATP.
pub(super) static TABLE: TableShape = table(
    "atp",
    "ATP between two models. A message of the workload is a unit.",
    &[
        field(
            "carrier",
            Shape::One(ValueKind::Word(Carrier::NAMES)),
            Need::Default("\"udp\""),
            "Carrier of its packets: UDP, RTP, a DCCP connection, RTP over DCCP (SR-RTP, the real-time stack of the overview), or a TCP connection for each unit, aborted at the end of its lifetime.",
        ),
        field("payload", Shape::One(ValueKind::Bytes), Need::Default("\"640 B\""), "Most data in a fragment."),
        field(
            "lifetime",
            Shape::One(ValueKind::Span),
            Need::Optional,
            "Lifetime of units. Without it, the playout delay of the workload, or for ever.",
        ),
        field(
            "fragment-lifetime",
            Shape::One(ValueKind::Word(FragmentLife::NAMES)),
            Need::Default("\"rto\""),
            "Lifetime of a fragment in the network: until the timeout, that and a round trip, its unit's, or for ever.",
        ),
        field(
            "retransmit",
            Shape::One(ValueKind::Flag),
            Need::Default("true"),
            "Whether lost fragments are retransmitted.",
        ),
        field(
            "control",
            Shape::One(ValueKind::Word(Method::NAMES)),
            Need::Default("\"aimd\""),
            "Congestion control. Over DCCP it is the connection's: tfrc is CCID 3, aimd CCID 2.",
        ),
        field(
            "weight",
            Shape::One(ValueKind::Count(1, 1000)),
            Need::Default("1"),
            "Weight of the window relative to other flows between these two nodes (control = \"shared\").",
        ),
        field(
            "bandwidth",
            Shape::One(ValueKind::Rate),
            Need::Default("\"64 kbit/s\""),
            "Session bandwidth over RTP; RTCP reports use 5 % of it (RFC 3550 section 6.2).",
        ),
        field(
            "ack-every",
            Shape::One(ValueKind::Count(1, 1000)),
            Need::Default("2"),
            "Fragments per acknowledgement (aimd, shared).",
        ),
        field(
            "ack-delay",
            Shape::One(ValueKind::Span),
            Need::Default("\"500 ms\""),
            "Longest delay of an acknowledgement.",
        ),
        ACK_LIFETIME_FIELD,
        field(
            "feasibility",
            Shape::One(ValueKind::Flag),
            Need::Default("true"),
            "Whether units that cannot arrive in time are abandoned at once.",
        ),
        field(
            "exp-forgives",
            Shape::One(ValueKind::Flag),
            Need::Default("true"),
            "Whether losses that a router signals as expiry are no sign of congestion.",
        ),
        field(
            "ecn",
            Shape::One(ValueKind::Flag),
            Need::Default("false"),
            "Whether fragments may be marked (RFC 3168).",
        ),
        field(
            "initiated",
            Shape::One(ValueKind::Word(&["sender", "receiver"])),
            Need::Default("\"sender\""),
            "End that begins: with `receiver`, the sender waits for its request.",
        ),
        field(
            "receiver-lifetime",
            Shape::One(ValueKind::Span),
            Need::Optional,
            "Lifetime that the receiver sets: a file transfer with a deadline. Without it, the sender's applies.",
        ),
        field(
            "patience",
            Shape::One(ValueKind::Span),
            Need::Optional,
            "The receiver gives a unit up that is not whole after this. Without it, at its deadline.",
        ),
        field(
            "unbinds",
            Shape::One(ValueKind::Span),
            Need::Optional,
            "Time at which the receiver's port closes; ICMP reports it to the sender. Without it, never.",
        ),
        field(
            "connect",
            Shape::One(ValueKind::Flag),
            Need::Default("false"),
            "Whether a connection is opened and closed around the units.",
        ),
        field(
            "buffer",
            Shape::One(ValueKind::Bytes),
            Need::Default("\"1 MB\""),
            "Largest unit that the receiver takes.",
        ),
        field(
            "processes",
            Shape::One(ValueKind::Rate),
            Need::Optional,
            "Processing rate of the receiver; it requests a lower rate (CE) when its backlog exceeds half a second. Without it, unlimited.",
        ),
        field(
            "coverage",
            Shape::One(ValueKind::Bytes),
            Need::Optional,
            "Part of the payload that the checksum covers. Without it, all.",
        ),
        field(
            "important-every",
            Shape::One(ValueKind::Count(0, 1000)),
            Need::Default("0"),
            "One unit in this many is important; the others yield in routers with classes. 0: all are important.",
        ),
        field(
            "on-congestion",
            Shape::One(ValueKind::Word(&["keep", "slow-down"])),
            Need::Default("\"keep\""),
            "Reaction of the application to a major loss (cng): it keeps its interval, or doubles it up to 16 times and recovers with acknowledged units.",
        ),
        field(
            "timer",
            Shape::One(ValueKind::Word(&["rfc6298", "eifel"])),
            Need::Default("\"rfc6298\""),
            "The retransmission timer.",
        ),
    ],
);

/// ATP with its options.
#[derive(Clone, Debug, PartialEq)]
struct Choice {
    config: Config,
    /// The application lengthens its sending interval on congestion notification.
    adapts: bool,
}

/// Reads the table `atp`.
pub(super) fn read(reader: Reader<'_>, cx: &Cx<'_>) -> Option<Arc<dyn Spec>> {
    let buffer = reader.bytes("buffer")?;
    if buffer == 0 {
        cx.push(
            Diagnostic::error(
                "bad-value",
                reader.place("buffer"),
                "a receive buffer of 0 B accepts no unit",
            )
            .help("give at least the size of a message"),
        );
        return None;
    }
    let coverage = match reader.get("coverage") {
        Some(_) => u32::try_from(reader.bytes("coverage")?).unwrap_or(u32::MAX),
        None => u32::MAX,
    };
    let processes = match reader.get("processes") {
        Some(_) => Some(reader.rate("processes")?.bps() / 8),
        None => None,
    };
    let mut config = Config {
        carrier: Carrier::from_name(reader.word("carrier")?)?,
        payload: payload(reader, cx)?,
        lifetime: optional_span(reader, "lifetime")?,
        fragment: FragmentLife::from_name(reader.word("fragment-lifetime")?)?,
        retransmit: reader.flag("retransmit")?,
        control: Method::from_name(reader.word("control")?)?,
        weight: reader.count("weight")? as u32,
        bandwidth: reader.rate("bandwidth")?.bps() as f64 / 8.0,
        ack_every: reader.count("ack-every")? as u32,
        ack_delay: reader.span("ack-delay")?,
        ack_lifetime: optional_span(reader, "ack-lifetime")?,
        feasibility: reader.flag("feasibility")?,
        exp_forgives: reader.flag("exp-forgives")?,
        ecn: reader.flag("ecn")?,
        receiver_initiated: reader.word("initiated")? == "receiver",
        receiver_lifetime: optional_span(reader, "receiver-lifetime")?,
        receiver_patience: optional_span(reader, "patience")?,
        unbinds: optional_span(reader, "unbinds")?,
        connect: reader.flag("connect")?,
        buffer,
        processes,
        coverage,
        important_every: reader.count("important-every")? as u32,
        ..Config::default()
    };
    if config.carrier.is_dccp() && !matches!(config.control, Method::Aimd | Method::Tfrc) {
        let message = "over DCCP, the DCCP connection determines the congestion control";
        cx.push(
            Diagnostic::error("impossible", reader.place("control"), message)
                .help("write control = \"tfrc\" for CCID 3, or \"aimd\" for CCID 2"),
        );
        return None;
    }
    if reader.word("timer")? == "eifel" {
        config.use_eifel_timer();
    }
    let adapts = reader.word("on-congestion")? == "slow-down";
    Some(Arc::new(Choice { config, adapts }))
}

impl Choice {
    /// TCP of a unit's connection: fragments as segments, the lifetime of segments, the timer.
    fn tcp(&self) -> transport::tcp::Config {
        let Config { payload, fragment, rto, .. } = &self.config;
        // Paper III.E and IV.B: the lifetime of a segment is RTO + RTT, since the timeout that will apply is unknown.
        let lifetime = match fragment {
            FragmentLife::Always => Lifetime::Always,
            FragmentLife::Rto => Lifetime::Rto,
            FragmentLife::RtoAndRtt | FragmentLife::Adu => Lifetime::RtoAndRtt,
        };
        transport::tcp::Config { mss: *payload, rto: *rto, lifetime, ..transport::tcp::Config::default() }
    }

    fn over_tcp(&self, site: &Site<'_>) -> Box<dyn FlowEnd> {
        let App::Messages(plan) = &site.flow.app else {
            // The reader refuses other workloads; an end of bulk data would have no units.
            return site.holding(
                AtpEnd::new(Config::default(), site.host.role, site.window.clone()),
                Manner::default(),
            );
        };
        let log = site.log.clone();
        let useful = if let UsefulLife::For(span) = plan.useful { Some(span) } else { None };
        let workload: Box<dyn Workload> = match site.host.role {
            Role::Active => {
                let schedule = MessageSchedule::new(plan, &site.flow.name, site.seed);
                Box::new(UnitSource::new(schedule, self.config.lifetime.or(useful), log))
            }
            Role::Passive => Box::new(UnitSink::new(log, plan.useful)),
        };
        Box::new(MultiConnectionHost::new(site.host, Arc::new(self.tcp()), workload))
    }
}

impl Spec for Choice {
    fn name(&self) -> &'static str {
        "atp"
    }
    fn words(&self) -> String {
        let Config { carrier, payload, fragment, control, .. } = &self.config;
        let lifetime = self.config.lifetime.map_or(String::new(), |span| format!(", units live {span}"));
        format!("over {carrier}, {payload} B fragments that live {fragment}, {control}{lifetime}")
    }
    fn sizes(&self) -> Sizes {
        if self.config.carrier == Carrier::Tcp {
            let config = self.tcp();
            let acked_each = f64::from(config.receiver.ack_every);
            return Sizes { payload: config.mss, header: 40, window: 1 << 30, acked_each };
        }
        // Over DCCP: IP header and DCCP-DataAck header.
        let below = if self.config.carrier.is_dccp() { 44 } else { 0 };
        let header = ::atp::packet::HEADER + self.config.carrier.header() + below + self.config.option;
        Sizes {
            payload: self.config.payload,
            header,
            window: 1 << 30,
            acked_each: f64::from(self.config.ack_every),
        }
    }
    fn fits(&self, app: &App) -> Result<(), UnsupportedWorkload> {
        match app {
            App::Bulk { .. } if self.config.carrier == Carrier::Tcp => Err(UnsupportedWorkload {
                message: "over TCP each unit has a connection of its own, and bulk data have no units",
                help: "write transport = \"tcp\", or a workload such as app = { ticker = { size = \"5 kB\", every = \"5 s\" } }",
            }),
            _ => unreliable(app),
        }
    }
    fn end(&self, site: &Site<'_>) -> Box<dyn FlowEnd> {
        let manner = match &site.flow.app {
            App::Messages(plan) => Manner { adapts: self.adapts, ..Manner::of(plan.useful) },
            _ => Manner::default(),
        };
        let (config, role) = (self.config.clone(), site.host.role);
        if config.carrier == Carrier::Tcp {
            return self.over_tcp(site);
        }
        let chance = site.seed.stream(&format!("{}@{role:?}", site.flow.name), "rtp");
        if config.carrier.is_dccp() {
            let ccid = if config.control == Method::Tfrc { Ccid::Tfrc } else { Ccid::Tcplike };
            let end = OverDccp::new(config, ccid, super::dccp::isn(site), role).reporting(chance);
            return site.holding(end, manner);
        }
        site.holding(AtpEnd::new(config, role, site.window.clone()).reporting(chance), manner)
    }
    fn carries_streams(&self) -> bool {
        self.config.carrier != Carrier::Tcp
    }
    fn same(&self, other: &dyn Spec) -> bool {
        same(self, other)
    }
    fn unit_word(&self) -> &'static str {
        "fragment"
    }
}
