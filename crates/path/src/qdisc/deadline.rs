//! Deadline-aware queue: its options, and what remains of it on a link with radio parts.
//!
//! On a plain link the whole of it is the element [`crate::deadline::DeadlineLink`]. A channel looks at deadlines at the
//! head of its queue and when the queue is full.

use super::{Discard, Discipline, LIMIT, Queue, QueueSpec, Room, QueueSite, room};
use crate::deadline::{Check, Expired, Order, Overflow, Units};
use base::shape::{Kind, Need, Shape, TableShape, Values, Variant, field, table};
use base::{Rate, Span};

static TABLE: TableShape = table(
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

/// Options of a deadline-aware queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// What may wait at most.
    pub limit: Room,
    /// When deadlines are looked at.
    pub check: Check,
    /// Lifetime that a packet needs.
    pub margin: Margin,
    /// What becomes of expired packets.
    pub expired: Expired,
    /// Bytes of their headers.
    pub header: u32,
    /// Which packet is sent next.
    pub order: Order,
    /// What is done with whole units.
    pub units: Units,
    /// Which packet makes room.
    pub overflow: Overflow,
    /// The router's clock less the senders', nanoseconds.
    pub skew_ns: i64,
    /// The packet after an expired one says so.
    pub signals: bool,
    /// Below this rate packets wait as long as they can.
    pub hold_below: Option<Rate>,
}

/// Lifetime that a packet needs at a router to be worth its transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Margin {
    /// This much.
    Fixed(Span),
    /// What the remaining links take at least.
    Path,
}

impl Discipline for Options {
    const VARIANT: Variant = Variant {
        name: "deadline",
        doc: "Drops, orders or cuts packets by their deadlines.",
        shape: Shape::Table(&TABLE),
        bare: true,
    };
    const PLAIN: bool = true;

    fn read(values: &dyn Values) -> Option<QueueSpec> {
        let of_path = values.word("margin-of")? == "path";
        let margin = if of_path { Margin::Path } else { Margin::Fixed(values.span("margin")?) };
        let ns = |key: &str| Some(i64::try_from(values.span(key)?.as_nanos()).unwrap_or(i64::MAX));
        Some(QueueSpec::Deadline(Options {
            limit: room(values, "limit")?,
            check: Check::from_name(values.word("check")?)?,
            margin,
            expired: Expired::from_name(values.word("expired")?)?,
            header: u32::try_from(values.bytes("header")?).ok()?,
            order: Order::from_name(values.word("order")?)?,
            units: Units::from_name(values.word("units")?)?,
            overflow: Overflow::from_name(values.word("overflow")?)?,
            skew_ns: ns("clock-ahead")?.saturating_sub(ns("clock-behind")?),
            signals: values.flag("signals")?,
            hold_below: values.rate("hold-below"),
        }))
    }

    fn limit(&self) -> Room {
        self.limit
    }

    fn words(&self) -> String {
        let Options { limit, check, expired, order, units, .. } = self;
        let skew = match self.skew_ns {
            0 => String::new(),
            ns => format!(", clock {} ms off", ns / 1_000_000),
        };
        format!("deadline queue of {limit}, check {check}, expired {expired}, order {order}, units {units}{skew}")
    }

    fn queue(&self, site: &QueueSite<'_>) -> Queue {
        site.fifo(self.limit, Discard::Late)
    }
}
