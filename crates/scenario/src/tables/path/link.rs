//! Grammar of links (`[[link]]`): queue, rate, delay, faults.
//!
//! Queue, rate and delay from one node to another, and the faults of the link. `[[link]]` is one direction of
//! a general graph with routers; `[[hop]]` is two links.
//!
//! Defaults: unlimited rate, no delay, unlimited queue.

use super::background;
use super::channel;
use super::class;
use super::delay_trace::{self, DELAY_TRACE};
use super::error;
use super::fault;
use super::queue::QUEUES;
use crate::diagnostic::Diagnostic;
use crate::grammar::cx::Cx;
use crate::grammar::leaf;
use crate::grammar::reader::Reader;
use crate::grammar::shape::{Field, Need, Quantity, Shape, TableShape, ValueKind, field, table};
use crate::grammar::tree::Tree;
use crate::grammar::validate::alternative;
use crate::model::{Delay, HeaderCompression, LinkRate, Mtu, Schedule};
use base::wire::fragment::LEAST_MTU;
use base::{Span, Time};

const STEP_OF_RATE: Shape = Shape::Pair(ValueKind::Span, ValueKind::Rate);
const STEP_OF_DELAY: Shape = Shape::Pair(ValueKind::Span, ValueKind::Span);

static RATE_SCHEDULE: TableShape = table(
    "schedule",
    "A rate that changes in steps.",
    &[
        field(
            "schedule",
            Shape::List(&STEP_OF_RATE),
            Need::Required("[[\"0 s\", \"300 kbit/s\"], [\"10 s\", \"10 kbit/s\"]]"),
            "From which time on, which rate; the first at \"0 s\".",
        ),
        field("repeat", Shape::One(ValueKind::Span), Need::Optional, "Period after which it restarts."),
    ],
);
static RATE_TRACE: TableShape = table(
    "trace",
    "A rate recorded in a file. Mahimahi: one opportunity a line, in whole milliseconds, repeated from the end of the \
     file and served evenly over the millisecond before it. Steps: `t_s,bit_per_s` a line.",
    &[
        field(
            "trace",
            Shape::One(ValueKind::File),
            Need::Required("\"lte.trace\""),
            "The file, in the folder of the scenario.",
        ),
        field(
            "opportunity",
            Shape::One(ValueKind::Bytes),
            Need::Default("\"1504 B\""),
            "Bytes per opportunity, headers included.",
        ),
    ],
);
static DELAY_SCHEDULE: TableShape = table(
    "schedule",
    "A delay that changes in steps; a packet takes the delay of the instant it is sent.",
    &[
        field(
            "schedule",
            Shape::List(&STEP_OF_DELAY),
            Need::Required("[[\"0 s\", \"300 ms\"], [\"10 s\", \"50 ms\"]]"),
            "From which time on, which delay; the first at \"0 s\".",
        ),
        field("repeat", Shape::One(ValueKind::Span), Need::Optional, "Period after which it restarts."),
    ],
);
static RANDOM_DELAY: TableShape = table(
    "random delay",
    "A delay drawn for each packet.",
    &[
        field(
            "random",
            Shape::One(ValueKind::Dist(Quantity::Span)),
            Need::Required("\"normal(100 ms, 20 ms)\""),
            "The distribution.",
        ),
        field(
            "reorder",
            Shape::One(ValueKind::Flag),
            Need::Default("false"),
            "Whether a packet with a short delay may overtake one with a long delay.",
        ),
    ],
);
static RATE_ONE: Shape =
    Shape::Either(&[Shape::One(ValueKind::Rate), Shape::Table(&RATE_SCHEDULE), Shape::Table(&RATE_TRACE)]);
static DELAY_ONE: Shape = Shape::Either(&[
    Shape::One(ValueKind::Dist(Quantity::Span)),
    Shape::Table(&DELAY_SCHEDULE),
    Shape::Table(&RANDOM_DELAY),
    Shape::Table(&DELAY_TRACE),
]);
static QUEUE_ONE: Shape = Shape::Choice(QUEUES);

/// Key `rate` of hops and links; a hop may split it by direction.
pub(crate) const RATE: Field =
    field("rate", Shape::PerDirection(&RATE_ONE), Need::Optional, "Service rate. Without it, infinite.");
pub(crate) const DELAY: Field = field(
    "delay",
    Shape::PerDirection(&DELAY_ONE),
    Need::Optional,
    "One-way propagation; transmission time is extra. Without it, none. A distribution is drawn for each packet.",
);
pub(crate) const QUEUE: Field = field(
    "queue",
    Shape::PerDirection(&QUEUE_ONE),
    Need::Optional,
    "Queue limit, without the packet in service. Without it, unlimited.",
);

/// Key `header-compression`; on a hop it applies to both directions.
pub(crate) const COMPRESSION: Field = field(
    "header-compression",
    Shape::One(ValueKind::Word(&["none", "rfc1144", "rfc2507", "rohc"])),
    Need::Default("\"none\""),
    "Compression of the headers of TCP models. rfc1144: after a lost data packet the following ones are discarded \
     until a retransmission; connections with timestamps are not compressed; sizes do not change. rfc2507: this loss \
     of context also with timestamps; 40 B of headers become 4 B with data and 7 B without; retransmissions, SYNs and \
     timestamps are not compressed. rohc: no loss of context; headers become 5 B with data and 4 B without, and 2 B \
     more with timestamps.",
);

/// Key `mtu` of hops and links.
pub(crate) const MTU: Field = field(
    "mtu",
    Shape::One(ValueKind::Bytes),
    Need::Optional,
    "The largest IP packet of the link, headers counted. Larger packets are fragmented before its queue, or dropped \
     there if they must not be fragmented (DF). Without it, packets of any size pass.",
);
/// Key `icmp`: whether the router before the link sends ICMP errors for packets above the MTU.
pub(crate) const ICMP: Field = field(
    "icmp",
    Shape::One(ValueKind::Flag),
    Need::Default("true"),
    "Whether the router before the link sends ICMP errors for packets that exceed its `mtu` (RFC 1191); false: it is a black hole for them.",
);

/// Reads the MTU of a link or hop; inner `None` without one.
pub(crate) fn mtu(reader: Reader<'_>, cx: &Cx<'_>) -> Option<Option<Mtu>> {
    if reader.get("mtu").is_none() {
        if let Some(tree) = reader.get("icmp") {
            let message = "`icmp` has an effect only with `mtu`";
            cx.push(Diagnostic::warning("no-effect", tree.place, message).help("add mtu, or remove it"));
        }
        return Some(None);
    }
    let size = reader.bytes("mtu")?;
    let range = u64::from(LEAST_MTU)..=65_535;
    if !range.contains(&size) {
        let message = format!("an MTU is from {LEAST_MTU} B (RFC 791) to 65535 B");
        cx.push(
            Diagnostic::error("bad-value", reader.place("mtu"), message).help("Ethernet's is \"1500 B\""),
        );
        return None;
    }
    Some(Some(Mtu { size: size as u32, tells: reader.flag("icmp")? }))
}

/// Reads the header compression.
pub(crate) fn compression(reader: Reader<'_>) -> Option<HeaderCompression> {
    reader.word("header-compression").and_then(HeaderCompression::from_name)
}

/// `[[link]]`.
pub(crate) static LINK: TableShape = table(
    "link",
    "One direction between two nodes.",
    &[
        field(
            "name",
            Shape::One(ValueKind::Name),
            Need::Required("\"core\""),
            "How routes, grids and results call it.",
        ),
        field("from", Shape::One(ValueKind::Name), Need::Required("\"server\""), "The node it leaves."),
        field("to", Shape::One(ValueKind::Name), Need::Required("\"router\""), "The node it reaches."),
        field(
            "rate",
            Shape::Either(&[
                Shape::One(ValueKind::Rate),
                Shape::Table(&RATE_SCHEDULE),
                Shape::Table(&RATE_TRACE),
            ]),
            Need::Optional,
            "Service rate. Without it, infinite.",
        ),
        field(
            "delay",
            Shape::Either(&[
                Shape::One(ValueKind::Dist(Quantity::Span)),
                Shape::Table(&DELAY_SCHEDULE),
                Shape::Table(&RANDOM_DELAY),
            ]),
            Need::Optional,
            "One-way propagation; transmission time is extra. Without it, none.",
        ),
        field("queue", Shape::Choice(QUEUES), Need::Optional, "Queue limit. Without it, unlimited."),
        channel::of_link::STAY,
        channel::of_link::QOS,
        channel::of_link::SEND_BUFFER,
        channel::of_link::RECEIVE_BUFFER,
        channel::of_link::FRAMING,
        channel::of_link::ALLOCATION,
        channel::of_link::ARQ,
        channel::of_link::FLOW_CONTROL,
        channel::ORDER,
        class::CLASSES,
        error::ERRORS,
        fault::GATES,
        fault::RATE_CHANGES,
        fault::LOSSES,
        fault::DUPLICATIONS,
        background::BACKGROUNDS,
        COMPRESSION,
        MTU,
        ICMP,
    ],
);

/// `node.congestion-manager`.
pub(crate) static MANAGER: TableShape = table(
    "congestion-manager",
    "One receive window for all TCP connections of a node: slightly above the bandwidth-delay product of its access link.",
    &[
        field(
            "hop",
            Shape::One(ValueKind::Name),
            Need::Required("\"radio\""),
            "The access hop or link. Its rate and delay are known to the node, also when a state of the world changes them.",
        ),
        field(
            "beyond",
            Shape::One(ValueKind::Span),
            Need::Default("\"0 s\""),
            "The round trip beyond the access link, which is added to twice its delay and the time of a packet of 1500 B.",
        ),
        field(
            "headroom",
            Shape::One(ValueKind::Number(0.1, 100.0)),
            Need::Default("1.2"),
            "The aggregate window, in bandwidth-delay products.",
        ),
        field(
            "ahead",
            Shape::One(ValueKind::Span),
            Need::Default("\"0 s\""),
            "Lead time of the link layer's notice before a change of rate or delay, such as a handover.",
        ),
        field(
            "datagrams",
            Shape::One(ValueKind::Word(&["free", "drop", "mark"])),
            Need::Default("\"free\""),
            "Treatment at the node of datagrams beyond their flow's share of the access rate, by `flow.priority`: dropped, or marked for senders with congestion control. The connections share the rest of the window.",
        ),
        field(
            "estimate",
            Shape::One(ValueKind::Bytes),
            Need::Optional,
            "The rate is not known: the window begins with this much and is estimated by additive increase and \
             multiplicative decrease.",
        ),
    ],
);

/// `node.sender-congestion-manager`.
pub(crate) static SENDING: TableShape = table(
    "sender-congestion-manager",
    "One congestion window for all TCP connections from a node to the same node, present and later ones (RFC 3124).",
    &[field(
        "scheduler",
        Shape::One(ValueKind::Word(&["weighted", "round-robin"])),
        Need::Default("\"weighted\""),
        "Which connection sends next: in turn by `flow.priority` as weight, or all equally.",
    )],
);

/// `[[node]]`.
pub(crate) static NODE: TableShape = table(
    "node",
    "An end or a router. The ends of hops need not be declared.",
    &[
        field(
            "name",
            Shape::One(ValueKind::Name),
            Need::Required("\"router\""),
            "How links and flows call it.",
        ),
        field(
            "linux",
            Shape::Table(&crate::tables::flow::linux::MACHINE),
            Need::Optional,
            "Settings of the kernel at this node when commands run there.",
        ),
        field(
            "wire",
            Shape::Choice(super::wire::WIRES),
            Need::Optional,
            "Source and destination of the frames of `williwaw wire` at this node. Two nodes have one.",
        ),
        field(
            "congestion-manager",
            Shape::Table(&MANAGER),
            Need::Optional,
            "The node shares one receive window among its TCP connections, by `flow.priority`.",
        ),
        field(
            "sender-congestion-manager",
            Shape::Table(&SENDING),
            Need::Optional,
            "The TCP connections of models that send from the node to one other node share a congestion window (RFC 3124). \
             They recover by `reno` or `newreno`, or without `sack`, with `cc = \"reno\"`, `spurious = \"none\"` and no pacing.",
        ),
    ],
);

/// Rate that `tree` describes; unlimited without one.
pub(crate) fn rate(tree: Option<&Tree>, cx: &Cx<'_>) -> Option<LinkRate> {
    let Some(tree) = tree else { return Some(LinkRate::Unlimited) };
    if tree.table().is_none() {
        let rate = leaf::rate(tree).ok()?;
        if rate.bps() == 0 {
            cx.push(
                Diagnostic::error("bad-value", tree.place, "a rate of 0 never sends a packet").help(
                    "for an interruption write a gate or a rate-change; without `rate` there is no limit",
                ),
            );
            return None;
        }
        return Some(LinkRate::Constant(rate));
    }
    if let Some(Shape::Table(found)) =
        alternative(tree, &[Shape::Table(&RATE_SCHEDULE), Shape::Table(&RATE_TRACE)])
        && std::ptr::eq(*found, &RATE_TRACE)
    {
        let reader = Reader::new(tree, &RATE_TRACE);
        let file = reader.get("trace")?;
        let bytes = reader.bytes("opportunity")?;
        let Some(bytes) = u32::try_from(bytes).ok().filter(|n| (1..=1 << 24).contains(n)) else {
            cx.push(
                Diagnostic::error(
                    "bad-value",
                    reader.place("opportunity"),
                    "an opportunity carries from 1 B to 16 MB",
                )
                .help("mahimahi's is \"1504 B\""),
            );
            return None;
        };
        return cx.trace(file.text()?, bytes, file.place);
    }
    let steps = schedule(Reader::new(tree, &RATE_SCHEDULE), |t| leaf::rate(t).ok(), cx)?;
    if steps.steps.iter().all(|(_, rate)| rate.bps() == 0) {
        cx.push(Diagnostic::error("bad-value", tree.place, "a rate that is always 0 never sends a packet"));
        return None;
    }
    Some(LinkRate::Schedule(steps))
}

/// Delay that `tree` describes; zero without one.
pub(crate) fn delay(tree: Option<&Tree>, cx: &Cx<'_>) -> Option<Delay> {
    let Some(tree) = tree else { return Some(Delay::Constant(Span::ZERO)) };
    if tree.table().is_none() {
        return Some(constant_or_drawn(leaf::dist(tree, Quantity::Span, cx).ok()?, false));
    }
    let tables = [Shape::Table(&DELAY_SCHEDULE), Shape::Table(&RANDOM_DELAY), Shape::Table(&DELAY_TRACE)];
    match alternative(tree, &tables)? {
        Shape::Table(found) if std::ptr::eq(*found, &DELAY_TRACE) => {
            delay_trace::read(Reader::new(tree, &DELAY_TRACE), cx).map(Delay::Schedule)
        }
        Shape::Table(found) if std::ptr::eq(*found, &RANDOM_DELAY) => {
            let reader = Reader::new(tree, &RANDOM_DELAY);
            Some(constant_or_drawn(reader.dist("random", cx)?, reader.flag("reorder")?))
        }
        _ => schedule(Reader::new(tree, &DELAY_SCHEDULE), |t| leaf::span(t).ok(), cx).map(Delay::Schedule),
    }
}

fn constant_or_drawn(dist: base::dist::Dist, reorder: bool) -> Delay {
    match dist {
        base::dist::Dist::Constant(ns) => Delay::Constant(Span::from_nanos(ns as u64)),
        dist => Delay::PerPacket { dist, reorder },
    }
}

fn schedule<T>(reader: Reader<'_>, value: impl Fn(&Tree) -> Option<T>, cx: &Cx<'_>) -> Option<Schedule<T>> {
    let tree = reader.get("schedule")?;
    let mut steps: Vec<(Time, T)> = Vec::new();
    let mut good = true;
    for step in tree.list()? {
        let [from, to] = step.list()? else { return None };
        let from_span = leaf::span(from).ok()?;
        let at = Time::from_nanos(from_span.as_nanos());
        let mut complain = |message: &str, help: &str| {
            good = false;
            cx.push(Diagnostic::error("bad-value", from.place, message).help(help));
        };
        match steps.last() {
            None if at != Time::ZERO => {
                complain("a schedule starts at the start of the run", "the first step is at \"0 s\"")
            }
            Some((before, _)) if at <= *before => {
                complain("the steps of a schedule go forward in time", "sort them; no two at one time")
            }
            _ => {}
        }
        steps.push((at, value(to)?));
    }
    let last = steps.last().map(|(at, _)| *at);
    let Some(last) = last else {
        cx.push(
            Diagnostic::error("bad-value", tree.place, "this schedule is empty")
                .help("it needs at least one step, at \"0 s\""),
        );
        return None;
    };
    let repeat = match reader.get("repeat") {
        Some(_) => Some(reader.span("repeat")?),
        None => None,
    };
    if let Some(period) = repeat
        && Time::ZERO + period <= last
    {
        let message = format!("the schedule repeats after {period}, before its last step");
        cx.push(
            Diagnostic::error("bad-value", reader.place("repeat"), message)
                .help(format!("repeat after more than {}", last.since(Time::ZERO))),
        );
        return None;
    }
    good.then_some(Schedule { steps, repeat })
}
