//! Grammar of the channel keys of hops and links: sojourn limit, buffers, framing, allocation, ARQ, ordering,
//! flow control.

use super::queue::capacity;
use crate::diagnostic::Diagnostic;
use crate::diagnostic::source::SourceSpan;
use crate::grammar::cx::Cx;
use crate::grammar::reader::Reader;
use crate::grammar::shape::{Field, Need, Quantity, Shape, TableShape, ValueKind, field, table};
use crate::grammar::tree::Tree;
use crate::model::channel::{Allocation, Arq, Channel, Credit, Framing};
use crate::model::{Direction, LinkRate};
use base::Span;

static FRAMING: TableShape = table(
    "framing",
    "Treatment of a packet before transmission: compression, encapsulation, fragmentation into frames. Each frame is \
     sent, corrupted and retransmitted on its own; the packet arrives with its last frame.",
    &[
        field(
            "payload",
            Shape::One(ValueKind::Bytes),
            Need::Optional,
            "Payload of one frame. Without it, the whole packet.",
        ),
        field("overhead", Shape::One(ValueKind::Bytes), Need::Default("\"0 B\""), "Overhead of each frame."),
        field("around", Shape::One(ValueKind::Bytes), Need::Default("\"0 B\""), "Overhead of each packet."),
        field(
            "factor",
            Shape::One(ValueKind::Number(0.001, 100.0)),
            Need::Default("1"),
            "Factor on the size of each packet: below 1 for compression, above 1 for coding.",
        ),
        field(
            "padded",
            Shape::One(ValueKind::Flag),
            Need::Default("false"),
            "Whether the last frame of a packet is as long as the others.",
        ),
    ],
);
static ALLOCATION: TableShape = table(
    "allocation",
    "Resources that an idle link does not hold: an arriving packet waits until they are assigned.",
    &[
        field(
            "delay",
            Shape::One(ValueKind::Dist(Quantity::Span)),
            Need::Required("\"uniform(200 ms, 500 ms)\""),
            "Time to assign the resources.",
        ),
        field(
            "release",
            Shape::One(ValueKind::Dist(Quantity::Span)),
            Need::Default("\"0 s\""),
            "Time for which an idle link keeps the resources.",
        ),
    ],
);
static ARQ: TableShape = table(
    "arq",
    "A frame that was discarded as corrupted is retransmitted before new frames.",
    &[
        field(
            "feedback",
            Shape::One(ValueKind::Dist(Quantity::Span)),
            Need::Required("\"200 ms\""),
            "Time from the end of a frame until its feedback reaches the sender.",
        ),
        field(
            "attempts",
            Shape::One(ValueKind::Count(0, 1_000_000)),
            Need::Optional,
            "Maximum retransmissions of a frame before its packet is abandoned. Without it, unlimited.",
        ),
        field(
            "time",
            Shape::One(ValueKind::Span),
            Need::Optional,
            "Maximum time of retransmissions, from the start of the first frame of a packet. Without it, unlimited.",
        ),
        field(
            "window",
            Shape::One(ValueKind::Count(1, 1_000_000)),
            Need::Optional,
            "Maximum number of unacknowledged frames. Without it, unlimited.",
        ),
    ],
);
const FLOW_CONTROL_DOC: &str = "Credit from the next link of the path: this link may send one packet for each that \
                                has left the next link's queue. Other packets wait in this link's queue.";
const WINDOW: Field = field(
    "window",
    Shape::One(ValueKind::Count(1, 1_000_000)),
    Need::Required("4"),
    "Packets in flight to the next link or in its queue.",
);
const CREDIT_DELAY: Field =
    field("delay", Shape::One(ValueKind::Span), Need::Default("\"0 s\""), "Delay of the credit.");
static FLOW_CONTROL: TableShape = table("flow-control", FLOW_CONTROL_DOC, &[WINDOW, CREDIT_DELAY]);
static HOP_FLOW_CONTROL: TableShape = table(
    "flow-control",
    FLOW_CONTROL_DOC,
    &[
        WINDOW,
        CREDIT_DELAY,
        field(
            "directions",
            Shape::One(ValueKind::Word(&["down", "up", "both"])),
            Need::Default("\"down\""),
            "Directions. The last link of a path receives no credit.",
        ),
    ],
);

static STAY: Shape = Shape::One(ValueKind::Span);
static LIMITS: Shape = Shape::One(ValueKind::Limits);
static FRAMING_TABLE: Shape = Shape::Table(&FRAMING);
static ALLOCATION_TABLE: Shape = Shape::Table(&ALLOCATION);
static ARQ_TABLE: Shape = Shape::Table(&ARQ);

/// Delay classes of GPRS: 95th percentile of the delay of 128 octets (GSM 03.60 table 5).
const CLASSES: &[&str] = &["delay-class-1", "delay-class-2", "delay-class-3", "best-effort"];
static QOS: Shape = Shape::One(ValueKind::Word(CLASSES));
const QOS_DOC: &str = "Quality-of-service profile of the mobile's context, which sets `stay`: 1.5 s in delay class 1, 25 s in 2, 250 s in 3 \
     (GSM 03.60 table 5, 95 % of packets of 128 B); no limit with best effort. Without it, `stay` alone applies.";

/// Maximum sojourn of a delay class.
fn stay_of(class: &str) -> Option<Span> {
    match class {
        "delay-class-1" => Some(Span::from_millis(1500)),
        "delay-class-2" => Some(Span::from_secs(25)),
        "delay-class-3" => Some(Span::from_secs(250)),
        _ => None,
    }
}

const STAY_DOC: &str =
    "Maximum sojourn time in the queue; then the packet is dropped. Without it, unlimited.";
const SEND_DOC: &str = "Limit of the link's send buffer after the queue, without the packet in service; with `arq`, \
                        unacknowledged packets count. Without it, packets leave the queue when they are sent.";
const RECEIVE_DOC: &str = "Limit of the reordering buffer at the far end. With `arq` it bounds the data in flight; without, packets that find it full are lost. Without it, unlimited.";
const FRAMING_DOC: &str = "Frames, and overhead of the link.";
const ALLOCATION_DOC: &str = "Resources that an idle link must be assigned first.";
const ARQ_DOC: &str = "Corrupted frames are retransmitted.";
const FLOW_CONTROL_KEY_DOC: &str = "Back pressure: the next link stops this one when its queue is full.";

/// Channel keys of a hop.
pub(crate) mod of_hop {
    use super::*;

    pub(crate) const STAY: Field = field("stay", Shape::PerDirection(&super::STAY), Need::Optional, STAY_DOC);
    pub(crate) const QOS: Field = field("qos", Shape::PerDirection(&super::QOS), Need::Optional, QOS_DOC);
    pub(crate) const SEND_BUFFER: Field =
        field("send-buffer", Shape::PerDirection(&LIMITS), Need::Optional, SEND_DOC);
    pub(crate) const RECEIVE_BUFFER: Field =
        field("receive-buffer", Shape::PerDirection(&LIMITS), Need::Optional, RECEIVE_DOC);
    pub(crate) const FRAMING: Field =
        field("framing", Shape::PerDirection(&FRAMING_TABLE), Need::Optional, FRAMING_DOC);
    pub(crate) const ALLOCATION: Field =
        field("allocation", Shape::PerDirection(&ALLOCATION_TABLE), Need::Optional, ALLOCATION_DOC);
    pub(crate) const ARQ: Field = field("arq", Shape::PerDirection(&ARQ_TABLE), Need::Optional, ARQ_DOC);
    pub(crate) const FLOW_CONTROL: Field =
        field("flow-control", Shape::Table(&super::HOP_FLOW_CONTROL), Need::Optional, FLOW_CONTROL_KEY_DOC);
}
/// Channel keys of a link.
pub(crate) mod of_link {
    use super::*;

    pub(crate) const STAY: Field = field("stay", Shape::One(ValueKind::Span), Need::Optional, STAY_DOC);
    pub(crate) const QOS: Field = field("qos", Shape::One(ValueKind::Word(CLASSES)), Need::Optional, QOS_DOC);
    pub(crate) const SEND_BUFFER: Field =
        field("send-buffer", Shape::One(ValueKind::Limits), Need::Optional, SEND_DOC);
    pub(crate) const RECEIVE_BUFFER: Field =
        field("receive-buffer", Shape::One(ValueKind::Limits), Need::Optional, RECEIVE_DOC);
    pub(crate) const FRAMING: Field =
        field("framing", Shape::Table(&super::FRAMING), Need::Optional, FRAMING_DOC);
    pub(crate) const ALLOCATION: Field =
        field("allocation", Shape::Table(&super::ALLOCATION), Need::Optional, ALLOCATION_DOC);
    pub(crate) const ARQ: Field = field("arq", Shape::Table(&super::ARQ), Need::Optional, ARQ_DOC);
    pub(crate) const FLOW_CONTROL: Field =
        field("flow-control", Shape::Table(&super::FLOW_CONTROL), Need::Optional, FLOW_CONTROL_KEY_DOC);
}
/// Keys that a hop may split by direction.
pub(crate) const KEYS: [&str; 7] =
    ["stay", "qos", "send-buffer", "receive-buffer", "framing", "allocation", "arq"];
/// Key `order`: in-order or out-of-order delivery.
pub(crate) const ORDER: Field = field(
    "order",
    Shape::One(ValueKind::Word(&["kept", "free"])),
    Need::Default("\"kept\""),
    "Where errors delay frames, or frames are retransmitted: whether packets are delivered in the order in which they \
     were sent, or as soon as each is complete.",
);

/// Reads the channel of one direction; `pick` selects its part of each key. `None` inside for a plain link.
pub(crate) fn read<'t>(
    reader: Reader<'t>,
    pick: impl Fn(&str) -> Option<&'t Tree>,
    direction: Option<Direction>,
    rate: Option<&LinkRate>,
    cx: &Cx<'_>,
) -> Option<Option<Box<Channel>>> {
    let order_free = reader.word("order")? == "free";
    let credit = credit(reader, direction)?;
    if KEYS.iter().all(|key| pick(key).is_none()) && !order_free && credit.is_none() {
        return Some(None);
    }
    let mut channel = Channel { order_free, credit, ..Channel::default() };
    if let Some(tree) = pick("stay") {
        channel.stay = Some(crate::grammar::leaf::span(tree).ok()?);
    }
    if let Some(tree) = pick("qos") {
        if pick("stay").is_some() {
            let message = "`qos` and `stay` both limit how long packets may wait";
            cx.push(Diagnostic::error("impossible", tree.place, message).help("leave one of them out"));
            return None;
        }
        channel.stay = stay_of(tree.text()?);
    }
    if let Some(tree) = pick("send-buffer") {
        channel.send_buffer = Some(capacity(tree)?);
    }
    if let Some(tree) = pick("receive-buffer") {
        channel.receive_buffer = Some(capacity(tree)?);
    }
    if let Some(tree) = pick("framing") {
        channel.framing = framing(Reader::new(tree, &FRAMING), cx)?;
    }
    if let Some(tree) = pick("allocation") {
        let r = Reader::new(tree, &ALLOCATION);
        channel.allocation =
            Some(Allocation { delay: r.dist("delay", cx)?, release: r.dist("release", cx)? });
    }
    if let Some(tree) = pick("arq") {
        channel.arq = Some(arq(Reader::new(tree, &ARQ), cx)?);
        keeps_busy(&channel, rate, tree.place, cx);
    }
    Some(Some(Box::new(channel)))
}

/// Reads the flow control of one direction, if any.
fn credit(reader: Reader<'_>, direction: Option<Direction>) -> Option<Option<Credit>> {
    let Some(tree) = reader.get("flow-control") else { return Some(None) };
    let r = match direction {
        Some(direction) => {
            let r = Reader::new(tree, &HOP_FLOW_CONTROL);
            let word = r.word("directions")?;
            if word != "both" && word != direction.name() {
                return Some(None);
            }
            r
        }
        None => Reader::new(tree, &FLOW_CONTROL),
    };
    let window = u32::try_from(r.count("window")?).ok()?;
    Some(Some(Credit { window, delay: r.span("delay")? }))
}

fn framing(r: Reader<'_>, cx: &Cx<'_>) -> Option<Framing> {
    const MOST: u64 = 1 << 24;
    let small = |key: &str| -> Option<u32> {
        let bytes = r.bytes(key)?;
        if bytes > MOST {
            cx.push(
                Diagnostic::error("bad-value", r.place(key), format!("`{key}` is more than any packet"))
                    .help("give at most \"16 MiB\""),
            );
            return None;
        }
        Some(bytes as u32)
    };
    let payload = match r.get("payload") {
        Some(tree) if r.bytes("payload")? == 0 => {
            cx.push(
                Diagnostic::error("bad-value", tree.place, "frames that carry nothing never carry a packet")
                    .help("give at least \"1 B\"; without `payload` a frame carries the whole packet"),
            );
            return None;
        }
        Some(_) => Some(small("payload")?),
        None => None,
    };
    Some(Framing {
        factor: r.number("factor")?,
        around: small("around")?,
        payload,
        overhead: small("overhead")?,
        padded: r.flag("padded")?,
    })
}

fn arq(r: Reader<'_>, cx: &Cx<'_>) -> Option<Arq> {
    let count = |key: &str| match r.get(key) {
        Some(_) => r.count(key).map(|n| u32::try_from(n).ok()),
        None => Some(None),
    };
    let time = match r.get("time") {
        Some(_) => Some(r.span("time")?),
        None => None,
    };
    let feedback = r.dist("feedback", cx)?;
    Some(Arq { attempts: count("attempts")?, time, feedback, window: count("window")? })
}

/// Warns of an ARQ window smaller than the frames sent until the first acknowledgement, with which the link idles
/// (Seawind's rule for buffer sizes).
fn keeps_busy(channel: &Channel, rate: Option<&LinkRate>, place: SourceSpan, cx: &Cx<'_>) {
    let (Some(arq), Some(payload)) = (&channel.arq, channel.framing.payload) else { return };
    let Some(LinkRate::Constant(rate)) = rate else { return };
    let (Some(window), true) = (arq.window, arq.feedback.mean().is_finite()) else { return };
    let frame = rate.span_of(u64::from(payload + channel.framing.overhead)).as_secs_f64();
    let needed = 1.0 + arq.feedback.mean() / 1e9 / frame;
    if f64::from(window) < needed {
        let message = format!(
            "a window of {window} frames stalls the link: {:.0} frames are sent until the first feedback",
            libm::ceil(needed)
        );
        cx.push(
            Diagnostic::warning("small-window", place, message)
                .help(format!("window = {:.0} keeps it busy", libm::ceil(needed))),
        );
    }
}
