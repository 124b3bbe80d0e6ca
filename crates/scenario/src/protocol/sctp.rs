//! SCTP in scenarios (RFC 9260): a profile, options over it, and construction of associations.

use super::{UnsupportedWorkload, Site, Sizes, Spec, same};
use crate::diagnostic::Diagnostic;
use crate::grammar::cx::Cx;
use crate::grammar::reader::Reader;
use crate::grammar::shape::{ValueKind, Need, Shape, TableShape, Variant, field, table};
use crate::model::{App, Protocol};
use base::Span;
use host::{CodecConfig, FlowEnd};
use sctp::config::{
    Burst, Config, Immediate, InitialWindow, Missing, PathMtu, Repeated, Response, Spurious, WindowUnit,
};
use sctp::wire::Codec;
use sctp::{Association, chunk};
use std::fmt::Write as _;
use std::sync::Arc;
use transport::app::messages::Manner;
use transport::endpoint::Role;

pub(super) const VARIANT: Variant = Variant {
    name: "sctp",
    doc: "A model of SCTP (RFC 9260): a profile, and any option over it.",
    shape: Shape::Table(&TABLE),
    bare: true,
};

const NO: Need = Need::Optional;
const COUNT: Shape = Shape::One(ValueKind::Count(1, 1 << 30));
const FLAG: Shape = Shape::One(ValueKind::Flag);
const SPAN: Shape = Shape::One(ValueKind::Span);
const BYTES: Shape = Shape::One(ValueKind::Bytes);

/// Least advertised window, bytes; a peer refuses an association with a smaller one.
const LEAST_WINDOW: u64 = 1500;

/// Names of the profiles, in the order of `sctp::config::PROFILES`; a test compares them.
const PROFILES: &[&str] = &["rfc9260", "rfc4960", "rfc2960", "ns2-2002", "ns2-2.35", "linux-6.x"];

pub(super) static TABLE: TableShape = table(
    "sctp",
    "The model of SCTP. An option that is left out is the profile's.",
    &[
        field(
            "profile",
            Shape::One(ValueKind::Word(PROFILES)),
            Need::Default("\"rfc9260\""),
            "Profile that sets the defaults of the options.",
        ),
        field("mtu", BYTES, NO, "Largest IP packet."),
        field(
            "path-mtu",
            Shape::One(ValueKind::Word(PathMtu::NAMES)),
            NO,
            "How the MTU of each path is learned. With `icmp` packets must not be fragmented, as RFC 9260 recommends; \
             `probe` also searches for the largest packet by probes (RFC 8899); with `off` routers fragment them.",
        ),
        field("probe-timer", SPAN, NO, "Timeout of a path MTU probe, at least 1 s (PROBE_TIMER)."),
        field("chunk", BYTES, NO, "Maximum user data in a DATA chunk. Without it, as much as the MTU allows."),
        field(
            "data-header",
            BYTES,
            NO,
            "Size of a packet of one DATA chunk beyond its user data. Without it, the real size.",
        ),
        field("sack-size", BYTES, NO, "Size of a packet of one SACK. Without it, the real size."),
        field("bundle", FLAG, NO, "Several DATA chunks, and a SACK before them, share a packet."),
        field("window", BYTES, NO, "Receive buffer."),
        field("window-chunks", COUNT, NO, "Receive buffer in full chunks, instead of `window`."),
        field(
            "window-unit",
            Shape::One(ValueKind::Word(WindowUnit::NAMES)),
            NO,
            "Unit that congestion control counts as one packet.",
        ),
        field("initial-window", Shape::One(ValueKind::Word(InitialWindow::NAMES)), NO, "First congestion window."),
        field("initial-threshold", BYTES, NO, "First slow-start threshold. Without it, the peer's window."),
        field("least-threshold", COUNT, NO, "Least slow-start threshold after a loss, packets."),
        field(
            "repeated-timeouts",
            Shape::One(ValueKind::Word(Repeated::NAMES)),
            NO,
            "Effect of further timeouts of a flight on the slow-start threshold.",
        ),
        field("missing-reports", COUNT, NO, "Missing reports that make a fast retransmit."),
        field(
            "missing",
            Shape::One(ValueKind::Word(Missing::NAMES)),
            NO,
            "Which chunks a SACK counts as missing.",
        ),
        field("fast-recovery", FLAG, NO, "The window shrinks once for all losses of a flight."),
        field("grows-if-full", FLAG, NO, "The congestion window grows only if it was used up."),
        field(
            "grows-on-gaps",
            FLAG,
            NO,
            "The congestion window grows with gap reports too, not only when the cumulative number advances (RFC 8540).",
        ),
        field("idle-decay", FLAG, NO, "The congestion window shrinks in pauses of the application."),
        field("sends-on-duplicates", FLAG, NO, "A SACK that acknowledges nothing new allows new data to be sent."),
        field("burst", Shape::One(ValueKind::Word(Burst::NAMES)), NO, "Quantity that the burst limit bounds."),
        field("max-burst", COUNT, NO, "Max.Burst, packets."),
        field("sack-every", COUNT, NO, "Number of packets per SACK."),
        field("sack-delay", SPAN, NO, "Maximum delay of a SACK."),
        field(
            "sacks-first",
            FLAG,
            NO,
            "The first packet with data of an association is acknowledged at once.",
        ),
        field("gap-blocks", Shape::One(ValueKind::Count(1, 300)), NO, "Most gap blocks in a SACK."),
        field(
            "restarts-on-fast",
            FLAG,
            NO,
            "A fast retransmission of the oldest outstanding chunk restarts T3-rtx (RFC 9260).",
        ),
        field(
            "counts-marked",
            FLAG,
            NO,
            "Chunks that are acknowledged while they wait for retransmission open the congestion window.",
        ),
        field("reports-duplicates", FLAG, NO, "SACKs report duplicate chunks."),
        field(
            "immediate",
            Shape::One(ValueKind::Word(Immediate::NAMES)),
            NO,
            "Which chunks request an immediate SACK while the association closes (I bit, RFC 7053).",
        ),
        field("rto-initial", SPAN, NO, "RTO.Initial."),
        field("rto-min", SPAN, NO, "RTO.Min."),
        field("rto-max", SPAN, NO, "RTO.Max."),
        field("path-max-retransmissions", Shape::One(ValueKind::Count(0, 1000)), NO, "Path.Max.Retrans."),
        field(
            "association-max-retransmissions",
            Shape::One(ValueKind::Count(0, 1000)),
            NO,
            "Association.Max.Retrans.",
        ),
        field("init-max-retransmissions", Shape::One(ValueKind::Count(0, 1000)), NO, "Max.Init.Retransmits."),
        field("heartbeat", FLAG, NO, "Heartbeats test paths that are idle."),
        field("heartbeat-interval", SPAN, NO, "HB.interval."),
        field(
            "verifies-path",
            FLAG,
            NO,
            "The end that opens the association confirms its path by a heartbeat, and times it, before it sends data.",
        ),
        field("cookie-life", SPAN, NO, "Valid.Cookie.Life."),
        field("streams", Shape::One(ValueKind::Count(1, 65_535)), NO, "Outbound streams."),
        field("ecn", FLAG, NO, "Explicit congestion notification."),
        field(
            "partial-reliability",
            FLAG,
            NO,
            "FORWARD TSN (RFC 3758): messages of limited use are given up.",
        ),
        field(
            "spurious",
            Shape::One(ValueKind::Word(Spurious::NAMES)),
            NO,
            "Detector of spurious timeouts.",
        ),
        field(
            "response",
            Shape::One(ValueKind::Word(Response::NAMES)),
            NO,
            "Response to a spurious timeout.",
        ),
        field(
            "message-streams",
            Shape::One(ValueKind::Count(1, 65_535)),
            Need::Default("1"),
            "Messages go to this many streams in turn.",
        ),
        field("unordered", FLAG, Need::Default("false"), "Messages may be delivered out of order."),
        field(
            "message-retransmissions",
            Shape::One(ValueKind::Count(0, 1000)),
            NO,
            "Maximum retransmissions of a message before it is given up.",
        ),
    ],
);

/// SCTP with its options, and the manner of sending messages.
#[derive(Clone, PartialEq, Debug)]
struct Sctp {
    profile: &'static str,
    config: Config,
    manner: Manner,
}

/// Sets an option if the table has a value.
fn over<T>(target: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *target = value;
    }
}

pub(super) fn read(reader: Reader<'_>, cx: &Cx<'_>) -> Option<Arc<dyn Spec>> {
    let profile = reader.word("profile")?;
    let mut c = Config::profile(profile)?;
    let bytes = |key: &str| reader.bytes(key).filter(|_| reader.get(key).is_some());
    let small = |key: &str| bytes(key).map(|n| u32::try_from(n).unwrap_or(u32::MAX));
    let count = |key: &str| reader.count(key).and_then(|n| u32::try_from(n).ok());
    let short = |key: &str| reader.count(key).and_then(|n| u16::try_from(n).ok());
    let word = |key: &str| reader.word(key);
    over(&mut c.mtu, small("mtu"));
    over(&mut c.path_mtu, word("path-mtu").and_then(PathMtu::from_name));
    over(&mut c.probe_timer, reader.span("probe-timer"));
    if c.probe_timer < Span::from_secs(1) {
        let message = "the timer of probes is 1 s at least (RFC 8899 section 5.1.1)";
        cx.push(
            Diagnostic::error("bad-value", reader.place("probe-timer"), message)
                .help("write probe-timer = \"1 s\" or more"),
        );
        return None;
    }
    c.chunk = small("chunk").or(c.chunk);
    c.data_header = small("data-header").or(c.data_header);
    c.sack_size = small("sack-size").or(c.sack_size);
    over(&mut c.bundle, reader.flag("bundle"));
    let least = chunk::IP_HEADER + chunk::COMMON_HEADER + chunk::DATA_HEADER + 4;
    if c.mtu < least || c.mtu > 65_535 {
        let message = format!("an MTU of SCTP is from {least} B to 65535 B");
        cx.push(Diagnostic::error("bad-value", reader.place("mtu"), message));
        return None;
    }
    over(&mut c.window_unit, word("window-unit").and_then(WindowUnit::from_name));
    over(&mut c.window, bytes("window"));
    let packet = c.packet();
    over(&mut c.window, count("window-chunks").map(|n| u64::from(n) * packet));
    if c.window < LEAST_WINDOW {
        let place = reader.place(if reader.get("window").is_some() { "window" } else { "window-chunks" });
        let message =
            format!("a receive buffer of SCTP has at least {LEAST_WINDOW} B (RFC 9260 section 3.3.2)");
        cx.push(Diagnostic::error("bad-value", place, message).help("write window = \"1500 B\" or more"));
        return None;
    }
    over(&mut c.initial_window, word("initial-window").and_then(InitialWindow::from_name));
    c.initial_threshold = bytes("initial-threshold").or(c.initial_threshold);
    over(&mut c.least_threshold, count("least-threshold"));
    over(&mut c.repeated_timeouts, word("repeated-timeouts").and_then(Repeated::from_name));
    over(&mut c.missing_reports, count("missing-reports"));
    over(&mut c.missing, word("missing").and_then(Missing::from_name));
    over(&mut c.fast_recovery, reader.flag("fast-recovery"));
    over(&mut c.grows_if_full, reader.flag("grows-if-full"));
    over(&mut c.grows_on_gaps, reader.flag("grows-on-gaps"));
    over(&mut c.idle_decay, reader.flag("idle-decay"));
    over(&mut c.sends_on_duplicates, reader.flag("sends-on-duplicates"));
    over(&mut c.burst, word("burst").and_then(Burst::from_name));
    over(&mut c.max_burst, count("max-burst"));
    over(&mut c.sack_every, count("sack-every"));
    over(&mut c.sack_delay, reader.span("sack-delay"));
    over(&mut c.sacks_first, reader.flag("sacks-first"));
    over(&mut c.gap_blocks, count("gap-blocks"));
    over(&mut c.restarts_on_fast, reader.flag("restarts-on-fast"));
    over(&mut c.counts_marked, reader.flag("counts-marked"));
    over(&mut c.reports_duplicates, reader.flag("reports-duplicates"));
    over(&mut c.immediate, word("immediate").and_then(Immediate::from_name));
    over(&mut c.rto.initial, reader.span("rto-initial"));
    over(&mut c.rto.min, reader.span("rto-min"));
    over(&mut c.rto.max, reader.span("rto-max"));
    over(&mut c.path_max_retransmissions, count("path-max-retransmissions"));
    over(&mut c.association_max_retransmissions, count("association-max-retransmissions"));
    over(&mut c.init_max_retransmissions, count("init-max-retransmissions"));
    match (reader.flag("heartbeat"), reader.span("heartbeat-interval")) {
        (Some(false), _) => c.heartbeat = None,
        (Some(true), interval) => c.heartbeat = interval.or(c.heartbeat).or(Config::default().heartbeat),
        (None, interval) => c.heartbeat = interval.or(c.heartbeat),
    }
    over(&mut c.verifies_path, reader.flag("verifies-path"));
    over(&mut c.cookie_life, reader.span("cookie-life"));
    over(&mut c.streams, short("streams"));
    over(&mut c.ecn, reader.flag("ecn"));
    over(&mut c.forward_tsn, reader.flag("partial-reliability"));
    over(&mut c.spurious, word("spurious").and_then(Spurious::from_name));
    over(&mut c.response, word("response").and_then(Response::from_name));
    if c.rto.min > c.rto.max {
        let message = format!("the minimum timeout ({}) is above the maximum ({})", c.rto.min, c.rto.max);
        cx.push(
            Diagnostic::error("impossible", reader.place("rto-min"), message)
                .help("make rto-max larger than rto-min"),
        );
        return None;
    }
    let streams = short("message-streams")?;
    c.streams = c.streams.max(streams);
    let (unordered, retransmissions) = (reader.flag("unordered")?, count("message-retransmissions"));
    let manner = Manner { streams, unordered, retransmissions, ..Manner::default() };
    Some(Arc::new(Sctp { profile, config: c, manner }))
}

impl Spec for Sctp {
    fn name(&self) -> &'static str {
        "sctp"
    }

    fn words(&self) -> String {
        let c = &self.config;
        let mut out = format!("like {}, {} B a chunk, window {} B", self.profile, c.chunk(), c.window);
        let _ = write!(out, ", rto.min {}", c.rto.min);
        if c.spurious != Spurious::None {
            let _ = write!(out, ", spurious {}, response {}", c.spurious, c.response);
        }
        out
    }

    fn sizes(&self) -> Sizes {
        let c = &self.config;
        let header = chunk::IP_HEADER + chunk::COMMON_HEADER + chunk::DATA_HEADER;
        Sizes {
            payload: c.chunk(),
            header: c.data_header.unwrap_or(header),
            window: c.window,
            acked_each: f64::from(c.sack_every),
        }
    }

    fn fits(&self, _app: &App) -> Result<(), UnsupportedWorkload> {
        Ok(())
    }

    fn end(&self, site: &Site<'_>) -> Box<dyn FlowEnd> {
        let mut config = self.config.clone();
        config.paths = site.flow.other_paths.len() as u8 + 1;
        let mut manner = self.manner;
        match &site.flow.app {
            App::Messages(plan) => manner.lifetime = Manner::of(plan.useful).lifetime,
            // Each connection of the workload is one stream.
            App::Requests(_) => config.streams = u16::MAX,
            App::Bulk { .. } => {}
        }
        let here = if site.host.role == Role::Active { "from" } else { "to" };
        let chance = site.seed.stream(&site.flow.name, &format!("sctp {here}"));
        // As in captures of TCP, the port of the connecting end identifies the flow.
        let ports = [49_152 + (site.index % 16_384) as u16, 5001 + (site.index / 16_384) as u16];
        let ports = if site.host.role == Role::Active { ports } else { [ports[1], ports[0]] };
        if let Some(codec) = &site.codec {
            let ports = CodecConfig::ports(site.host.role == Role::Active);
            let association = Association::new(config, site.host.role, ports, chance);
            return site.coded(association, Codec::new(codec, ports));
        }
        site.holding(Association::new(config, site.host.role, ports, chance), manner)
    }

    fn same(&self, other: &dyn Spec) -> bool {
        same(self, other)
    }

    fn learns_mtu(&self) -> bool {
        self.config.path_mtu != PathMtu::Off
    }

    fn kernel_protocol(&self) -> Option<Protocol> {
        Some(Protocol::Sctp)
    }

    fn unit_word(&self) -> &'static str {
        "chunk"
    }

    fn paths(&self) -> usize {
        8
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_profiles_of_the_grammar_are_those_of_the_protocol() {
        let names: Vec<&str> = sctp::config::PROFILES.iter().map(|(name, _, _)| *name).collect();
        assert_eq!(super::PROFILES, names);
    }
}
