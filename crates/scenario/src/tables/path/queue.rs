//! Grammar of queues (`queue`).
//!
//! The words that `queue` takes.

use super::red::{self, RED};
use crate::grammar::leaf;
use crate::grammar::reader::Reader;
use crate::grammar::shape::{Field, Kind, Need, Shape, TableShape, Variant, field, table};
use crate::grammar::tree::Tree;
use crate::model::{
    Another, Capacity, CoDel, Deadline, Dual, FqCoDel, Margin, Pie, Queue, Rearm, Threshold, Victim,
};
use path::deadline::{Check, Expired, Order, Overflow, Units};

static LIMITED: TableShape = table(
    "queue",
    "A queue that holds so much beside the packet in service.",
    &[field(
        "limit",
        Shape::One(Kind::Limits),
        Need::Required("\"10 packets\""),
        "What may wait: packets, data, or \"10 packets, 15 kB\" for whichever is reached first.",
    )],
);
static EMPTY: TableShape = table("unlimited", "No parameters.", &[]);

const LIMIT: Field = field(
    "limit",
    Shape::One(Kind::Limits),
    Need::Default("\"1000 packets\""),
    "What may wait at most: packets, data, or both with a comma.",
);
const ECN: Field = field(
    "ecn",
    Shape::One(Kind::Flag),
    Need::Default("false"),
    "Packets of connections with ECN are marked in place of dropped (RFC 3168).",
);

static THRESHOLD: TableShape = table(
    "threshold",
    "Marks every packet that finds so much waiting, if its connection has ECN; others wait until the queue is full.",
    &[field("mark", Shape::One(Kind::Limits), Need::Required("\"20 packets\""), "From how much on."), LIMIT],
);
static DUAL: TableShape = table(
    "dual-threshold",
    "One packet is dropped when the queue reaches the soft threshold, everything that comes at the hard one.",
    &[
        field(
            "soft",
            Shape::One(Kind::Limits),
            Need::Required("\"10 packets\""),
            "The soft threshold: about the link's bandwidth-delay product.",
        ),
        field(
            "hard",
            Shape::One(Kind::Limits),
            Need::Required("\"25 packets\""),
            "The hard threshold: two or three times as much.",
        ),
        field(
            "victim",
            Shape::One(Kind::Word(Victim::NAMES)),
            Need::Default("\"arriving\""),
            "Which packet goes.",
        ),
        field(
            "rearm",
            Shape::One(Kind::Word(Rearm::NAMES)),
            Need::Default("\"half\""),
            "To where the queue must fall before the next single drop: half of the soft threshold, below it, or empty.",
        ),
        field(
            "another-packets",
            Shape::One(Kind::Count(1, 1_000_000)),
            Need::Optional,
            "After so many more arrivals above the soft threshold a flow that has not lost one does.",
        ),
        field("another-time", Shape::One(Kind::Span), Need::Optional, "The same after so long."),
    ],
);
static FQ_CODEL: TableShape = table(
    "fq-codel",
    "FQ-CoDel (RFC 8290): a queue for each connection, served by deficit round robin and managed by CoDel; those that \
     have just become busy go first.",
    &[
        field(
            "flows",
            Shape::One(Kind::Count(1, 65_536)),
            Need::Default("1024"),
            "Queues, among which connections are spread by a hash.",
        ),
        field(
            "quantum",
            Shape::One(Kind::Bytes),
            Need::Default("\"1514 B\""),
            "What a queue may send in a round.",
        ),
        field("target", Shape::One(Kind::Span), Need::Default("\"5 ms\""), "A wait that is good."),
        field("interval", Shape::One(Kind::Span), Need::Default("\"100 ms\""), "A long round trip."),
        ECN,
        field(
            "limit",
            Shape::One(Kind::Limits),
            Need::Default("\"10240 packets\""),
            "What may wait at most in all of them together.",
        ),
    ],
);
static CODEL: TableShape = table(
    "codel",
    "CoDel (RFC 8289): drops at the head, sooner and sooner, while the wait stays above a target for longer than an \
     interval.",
    &[
        field("target", Shape::One(Kind::Span), Need::Default("\"5 ms\""), "A wait that is good."),
        field("interval", Shape::One(Kind::Span), Need::Default("\"100 ms\""), "A long round trip."),
        ECN,
        LIMIT,
    ],
);
static PIE: TableShape = table(
    "pie",
    "PIE (RFC 8033): drops packets as they come, with a probability that follows the wait and its growth.",
    &[
        field("target", Shape::One(Kind::Span), Need::Default("\"15 ms\""), "A wait that is good."),
        field(
            "update",
            Shape::One(Kind::Span),
            Need::Default("\"15 ms\""),
            "How often the probability moves.",
        ),
        field(
            "burst",
            Shape::One(Kind::Span),
            Need::Default("\"150 ms\""),
            "Nothing is dropped for so long.",
        ),
        ECN,
        LIMIT,
    ],
);

static DEADLINE: TableShape = table(
    "deadline",
    "A router that knows the lifetimes of packets (catalogue AT-21 to AT-28, AT-37, AT-40). Only packets of transports with a \
     `lifetime` have deadlines.",
    &[
        LIMIT,
        field(
            "check",
            Shape::One(Kind::Word(Check::NAMES)),
            Need::Default("\"queue\""),
            "When deadlines are looked at: off, at the head before each transmission, or in the whole queue at every packet.",
        ),
        field(
            "margin",
            Shape::One(Kind::Span),
            Need::Default("\"0 s\""),
            "Lifetime that a packet needs to be worth its transmission: an estimate of the one-way latency.",
        ),
        field(
            "margin-of",
            Shape::One(Kind::Word(&["estimate", "path"])),
            Need::Default("\"estimate\""),
            "Where that comes from: from `margin`, or from what the remaining links take at least.",
        ),
        field(
            "expired",
            Shape::One(Kind::Word(Expired::NAMES)),
            Need::Default("\"drop\""),
            "What becomes of expired packets: dropped, sent last, or sent as headers alone.",
        ),
        field(
            "header",
            Shape::One(Kind::Bytes),
            Need::Default("\"40 B\""),
            "Headers of a packet that is cut.",
        ),
        field(
            "order",
            Shape::One(Kind::Word(Order::NAMES)),
            Need::Default("\"fifo\""),
            "Which packet is sent next.",
        ),
        field(
            "units",
            Shape::One(Kind::Word(Units::NAMES)),
            Need::Default("\"ignore\""),
            "What is done with application data units: nothing, dropped whole after one drop, or collected before sending.",
        ),
        field(
            "overflow",
            Shape::One(Kind::Word(Overflow::NAMES)),
            Need::Default("\"tail\""),
            "Who makes room in a full queue: the packet that comes, or a less important one.",
        ),
        field(
            "clock-ahead",
            Shape::One(Kind::Span),
            Need::Default("\"0 s\""),
            "How far the router's clock is ahead of the senders'.",
        ),
        field("clock-behind", Shape::One(Kind::Span), Need::Default("\"0 s\""), "How far it is behind."),
        field(
            "signals",
            Shape::One(Kind::Flag),
            Need::Default("false"),
            "Whether the packet after expired ones says so (ATP's EXP bit).",
        ),
        field(
            "hold-below",
            Shape::One(Kind::Rate),
            Need::Optional,
            "While the link's rate is below this, packets wait for a better one as long as their deadlines allow.",
        ),
    ],
);

const fn limited(name: &'static str, doc: &'static str) -> Variant {
    Variant { name, doc, shape: Shape::Table(&LIMITED), bare: false }
}

/// All that `queue` can be.
pub(crate) static QUEUES: &[Variant] = &[
    Variant { name: "unlimited", doc: "Everything waits.", shape: Shape::Table(&EMPTY), bare: true },
    limited("drop-tail", "First in, first out; what finds the queue full is dropped."),
    limited("drop-head", "First in, first out; when full, the oldest waiting packet is dropped."),
    limited(
        "drop-random",
        "First in, first out; when full, one of those that wait or the one that comes is dropped.",
    ),
    limited(
        "drop-oldest",
        "First in, first out; when full, the packet that its sender sent first is dropped.",
    ),
    limited(
        "drop-late",
        "First in, first out; when full, packets whose deadline is over are dropped, then what comes.",
    ),
    Variant {
        name: "red",
        doc: "Random early detection: drops or marks before it is full.",
        shape: Shape::Table(&RED),
        bare: false,
    },
    Variant {
        name: "threshold",
        doc: "Marks above a threshold (ECN).",
        shape: Shape::Table(&THRESHOLD),
        bare: false,
    },
    Variant {
        name: "dual-threshold",
        doc: "Drops one packet at a soft threshold, everything at a hard one.",
        shape: Shape::Table(&DUAL),
        bare: false,
    },
    Variant {
        name: "fq-codel",
        doc: "A queue for each connection, managed by CoDel.",
        shape: Shape::Table(&FQ_CODEL),
        bare: true,
    },
    Variant {
        name: "codel",
        doc: "Controlled delay: watches how long packets wait.",
        shape: Shape::Table(&CODEL),
        bare: true,
    },
    Variant {
        name: "deadline",
        doc: "Drops, orders or cuts packets by their deadlines.",
        shape: Shape::Table(&DEADLINE),
        bare: true,
    },
    Variant {
        name: "pie",
        doc: "A controller moves the probability of a drop.",
        shape: Shape::Table(&PIE),
        bare: true,
    },
];

/// The queue that `tree` describes; unlimited without one.
pub(crate) fn queue(tree: Option<&Tree>) -> Option<Queue> {
    let Some(tree) = tree else { return Some(Queue::Unlimited) };
    let bare = Tree {
        value: crate::grammar::tree::Value::Table(crate::grammar::tree::Table::default()),
        place: tree.place,
    };
    let (key, inner) = match tree.table() {
        Some(table) => {
            let [entry] = table.entries.as_slice() else { return None };
            (entry.key.as_str(), &entry.tree)
        }
        None => (tree.text()?, &bare),
    };
    let room = |reader: Reader<'_>| capacity(&*reader.or_default("limit")?);
    let plain = |make: fn(Capacity) -> Queue| {
        room(Reader::new(inner, &LIMITED)).map(|c| if c.is_unlimited() { Queue::Unlimited } else { make(c) })
    };
    match key {
        "unlimited" => Some(Queue::Unlimited),
        "drop-tail" => plain(Queue::DropTail),
        "drop-head" => plain(Queue::DropHead),
        "drop-random" => plain(Queue::DropRandom),
        "drop-oldest" => plain(Queue::DropOldest),
        // At the head, packets whose deadline is over go whatever the limit.
        "drop-late" => room(Reader::new(inner, &LIMITED)).map(Queue::DropLate),
        "red" => red::read(Reader::new(inner, &RED)).map(Queue::Red),
        "threshold" => {
            let r = Reader::new(inner, &THRESHOLD);
            Some(Queue::Threshold(Threshold { mark: capacity(r.get("mark")?)?, limit: room(r)? }))
        }
        "dual-threshold" => {
            let r = Reader::new(inner, &DUAL);
            let packets = r.get("another-packets").and_then(|_| r.count("another-packets"));
            let another = packets.and_then(|n| u32::try_from(n).ok()).map(Another::Packets);
            let time = r.get("another-time").and_then(|_| r.span("another-time")).map(Another::Time);
            Some(Queue::Dual(Dual {
                soft: capacity(r.get("soft")?)?,
                hard: capacity(r.get("hard")?)?,
                victim: Victim::from_name(r.word("victim")?)?,
                rearm: Rearm::from_name(r.word("rearm")?)?,
                another: another.or(time),
            }))
        }
        "fq-codel" => {
            let r = Reader::new(inner, &FQ_CODEL);
            Some(Queue::FqCoDel(FqCoDel {
                flows: u32::try_from(r.count("flows")?).ok()?,
                quantum: u32::try_from(r.bytes("quantum")?).ok()?.max(1),
                target: r.span("target")?,
                interval: r.span("interval")?,
                ecn: r.flag("ecn")?,
                limit: room(r)?,
            }))
        }
        "codel" => {
            let r = Reader::new(inner, &CODEL);
            Some(Queue::CoDel(CoDel {
                target: r.span("target")?,
                interval: r.span("interval")?,
                ecn: r.flag("ecn")?,
                limit: room(r)?,
            }))
        }
        "deadline" => deadline(Reader::new(inner, &DEADLINE)).map(Queue::Deadline),
        "pie" => {
            let r = Reader::new(inner, &PIE);
            Some(Queue::Pie(Pie {
                target: r.span("target")?,
                update: r.span("update")?.max(base::Span::from_millis(1)),
                burst: r.span("burst")?,
                ecn: r.flag("ecn")?,
                limit: room(r)?,
            }))
        }
        _ => None,
    }
}

fn deadline(r: Reader<'_>) -> Option<Deadline> {
    let margin = if r.word("margin-of")? == "path" { Margin::Path } else { Margin::Fixed(r.span("margin")?) };
    let ns = |key: &str| Some(i64::try_from(r.span(key)?.as_nanos()).unwrap_or(i64::MAX));
    Some(Deadline {
        limit: capacity(&*r.or_default("limit")?)?,
        check: Check::from_name(r.word("check")?)?,
        margin,
        expired: Expired::from_name(r.word("expired")?)?,
        header: u32::try_from(r.bytes("header")?).ok()?,
        order: Order::from_name(r.word("order")?)?,
        units: Units::from_name(r.word("units")?)?,
        overflow: Overflow::from_name(r.word("overflow")?)?,
        skew_ns: ns("clock-ahead")?.saturating_sub(ns("clock-behind")?),
        signals: r.flag("signals")?,
        hold_below: match r.get("hold-below") {
            Some(_) => Some(r.rate("hold-below")?),
            None => None,
        },
    })
}

/// An amount as a limit.
pub(crate) fn capacity(tree: &Tree) -> Option<Capacity> {
    let (packets, bytes) = leaf::limits(tree).ok()?;
    Some(Capacity { packets, bytes })
}
