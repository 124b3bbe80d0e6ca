//! Deadline-aware queue discipline: scenario options, and the drop-late queue that a channel builds from them.
//!
//! A plain link with this discipline is the element [`crate::deadline::DeadlineLink`], which uses all options. A
//! channel uses the limit only: it drops expired packets at the head of its queue and when the queue is full.

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
            "When deadlines are checked: off, at the head before each transmission, or in the whole queue at every \
             packet.",
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
            "Source of the margin: `margin`, or the minimum time of the remaining links.",
        ),
        field(
            "expired",
            Shape::One(ValueKind::Word(Expired::NAMES)),
            Need::Default("\"drop\""),
            "Treatment of expired packets: dropped, sent last, or sent as headers alone.",
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
            "Treatment of application data units: none, dropped completely after one drop, or collected before \
             sending.",
        ),
        field(
            "overflow",
            Shape::One(ValueKind::Word(Overflow::NAMES)),
            Need::Default("\"tail\""),
            "Which packet a full queue drops: the arriving one, or a less important one.",
        ),
        field(
            "clock-ahead",
            Shape::One(ValueKind::Span),
            Need::Default("\"0 s\""),
            "How far the router's clock is ahead of the senders'.",
        ),
        field("clock-behind", Shape::One(ValueKind::Span), Need::Default("\"0 s\""), "How far the router's clock is behind the senders'."),
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
            "While the link's rate is below this, packets wait for a higher rate as long as their deadlines allow.",
        ),
    ],
);

/// Options of a deadline-aware queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Queue limit.
    pub limit: Room,
    /// Check of deadlines.
    pub check: Check,
    /// Remaining lifetime below which a packet counts as expired.
    pub margin: Margin,
    /// Treatment of expired packets.
    pub expired: Expired,
    /// Size of the headers that are sent for an expired packet, bytes.
    pub header: u32,
    /// Order of transmission.
    pub order: Order,
    /// Treatment of data units.
    pub units: Units,
    /// Drop policy of a full queue.
    pub overflow: Overflow,
    /// Router's clock minus the senders' clocks, nanoseconds.
    pub skew_ns: i64,
    /// Whether the next packet of a flow after an expired one carries the EXP bit.
    pub signals: bool,
    /// Rate of the link below which packets wait for a higher one as long as their deadlines allow.
    pub hold_below: Option<Rate>,
}

/// Remaining lifetime below which a packet counts as expired at a router.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Margin {
    /// Fixed lifetime.
    Fixed(Span),
    /// Minimum time over the remaining links of the path.
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
