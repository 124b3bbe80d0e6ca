//! Grammar of queues (`queue`).
//!
//! The words that `queue` takes.

use crate::leaf;
use crate::model::{Capacity, CoDel, Pie, Queue, Threshold};
use crate::reader::Reader;
use crate::red::{self, RED};
use crate::shape::{Field, Kind, Need, Shape, TableShape, Variant, field, table};
use crate::tree::Tree;

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
        name: "codel",
        doc: "Controlled delay: watches how long packets wait.",
        shape: Shape::Table(&CODEL),
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
    let bare = Tree { value: crate::tree::Value::Table(crate::tree::Table::default()), place: tree.place };
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
        "codel" => {
            let r = Reader::new(inner, &CODEL);
            Some(Queue::CoDel(CoDel {
                target: r.span("target")?,
                interval: r.span("interval")?,
                ecn: r.flag("ecn")?,
                limit: room(r)?,
            }))
        }
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

/// An amount as a limit.
pub(crate) fn capacity(tree: &Tree) -> Option<Capacity> {
    let (packets, bytes) = leaf::limits(tree).ok()?;
    Some(Capacity { packets, bytes })
}
