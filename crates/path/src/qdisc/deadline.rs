//! Deadline-aware queue: its options, and the part of it that a link with radio stages supports.
//!
//! On a plain link it is the element [`crate::deadline::DeadlineLink`]. A channel checks deadlines at the
//! head of its queue and when the queue is full.

use super::{Discard, Discipline, LIMIT, Queue, QueueSpec, Room, QueueSite, room};
use crate::deadline::{Check, Expired, Order, Overflow, Units};
use base::shape::{ValueKind, Need, Shape, TableShape, Values, Variant, field, table};
use base::{Rate, Span};

static TABLE: TableShape = table(
    "deadline",
    "A router that knows the lifetimes of packets (catalogue AT-21 to AT-28, AT-37, AT-40). Only packets of transports with a \
     `lifetime` have deadlines.",
    &[
        LIMIT,
        field(
            "check",
            Shape::One(ValueKind::Word(Check::NAMES)),
            Need::Default("\"queue\""),
            "When deadlines are looked at: off, at the head before each transmission, or in the whole queue at every packet.",
        ),
        field(
            "margin",
            Shape::One(ValueKind::Span),
            Need::Default("\"0 s\""),
            "Lifetime that a packet needs to be worth its transmission: an estimate of the one-way latency.",
        ),
        field(
            "margin-of",
            Shape::One(ValueKind::Word(&["estimate", "path"])),
            Need::Default("\"estimate\""),
            "Where that comes from: from `margin`, or from what the remaining links take at least.",
        ),
        field(
            "expired",
            Shape::One(ValueKind::Word(Expired::NAMES)),
            Need::Default("\"drop\""),
            "What becomes of expired packets: dropped, sent last, or sent as headers alone.",
        ),
        field(
            "header",
            Shape::One(ValueKind::Bytes),
            Need::Default("\"40 B\""),
            "Headers of a packet that is cut.",
        ),
        field(
            "order",
            Shape::One(ValueKind::Word(Order::NAMES)),
            Need::Default("\"fifo\""),
            "Which packet is sent next.",
        ),
        field(
            "units",
            Shape::One(ValueKind::Word(Units::NAMES)),
            Need::Default("\"ignore\""),
            "What is done with application data units: nothing, dropped whole after one drop, or collected before sending.",
        ),
        field(
            "overflow",
            Shape::One(ValueKind::Word(Overflow::NAMES)),
            Need::Default("\"tail\""),
            "Who makes room in a full queue: the packet that comes, or a less important one.",
        ),
        field(
            "clock-ahead",
            Shape::One(ValueKind::Span),
            Need::Default("\"0 s\""),
            "How far the router's clock is ahead of the senders'.",
        ),
        field("clock-behind", Shape::One(ValueKind::Span), Need::Default("\"0 s\""), "How far it is behind."),
        field(
            "signals",
            Shape::One(ValueKind::Flag),
            Need::Default("false"),
            "Whether the packet after expired ones reports them (ATP's EXP bit).",
        ),
        field(
            "hold-below",
            Shape::One(ValueKind::Rate),
            Need::Optional,
            "While the link's rate is below this, packets wait for a better one as long as their deadlines allow.",
        ),
    ],
);

/// Options of a deadline-aware queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Queue limit.
    pub limit: Room,
    /// When deadlines are checked.
    pub check: Check,
    /// Lifetime that a packet needs.
    pub margin: Margin,
    /// Handling of expired packets.
    pub expired: Expired,
    /// Size of their headers, bytes.
    pub header: u32,
    /// Order of transmission.
    pub order: Order,
    /// Handling of data units.
    pub units: Units,
    /// Drop policy of a full queue.
    pub overflow: Overflow,
    /// Offset of the router's clock from the senders', nanoseconds.
    pub skew_ns: i64,
    /// The next packet after an expired one carries the EXP bit.
    pub signals: bool,
    /// Rate below which packets wait as long as their deadlines allow.
    pub hold_below: Option<Rate>,
}

/// Lifetime that a packet needs at a router to be worth its transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Margin {
    /// Fixed lifetime.
    Fixed(Span),
    /// Minimum time of the remaining links.
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
