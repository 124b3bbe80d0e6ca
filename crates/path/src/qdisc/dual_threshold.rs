//! Dual-threshold AQM: drops one packet at a soft threshold, and all arrivals at a hard one (Gurtov, "Efficient Data
//! Transport and Transport Layer Triggers for Wireless Networks", overview, section 4.1; catalogue QM-06,
//! QM-07).
//!
//! The soft threshold is about the bandwidth-delay product of the link; a single loss there ends the slow start
//! of a sender. The hard threshold, two or three times as large, is the limit of the queue. The source specifies
//! neither which packet is dropped nor what rearms the single drop: both are parameters here ([`Victim`],
//! [`Rearm`]). With several flows a counter or a timer ([`Another`]) permits a drop from another flow while the
//! backlog is above the soft threshold.

use super::{Aqm, Discipline, Queue, QueueSpec, Room, QueueSite, AqmVerdict, QueueView, room};
use base::shape::{ValueKind, Need, Shape, TableShape, Values, Variant, field, table};
use base::{Span, Time};

static TABLE: TableShape = table(
    "dual-threshold",
    "One packet is dropped when the queue reaches the soft threshold, every arriving packet at the hard threshold.",
    &[
        field(
            "soft",
            Shape::One(ValueKind::Limits),
            Need::Required("\"10 packets\""),
            "The soft threshold: about the link's bandwidth-delay product.",
        ),
        field(
            "hard",
            Shape::One(ValueKind::Limits),
            Need::Required("\"25 packets\""),
            "The hard threshold: two or three times as much.",
        ),
        field(
            "victim",
            Shape::One(ValueKind::Word(Victim::NAMES)),
            Need::Default("\"arriving\""),
            "Which packet is dropped.",
        ),
        field(
            "rearm",
            Shape::One(ValueKind::Word(Rearm::NAMES)),
            Need::Default("\"half\""),
            "Level to which the queue must fall before the next single drop: half of the soft threshold, below it, or \
             empty.",
        ),
        field(
            "another-packets",
            Shape::One(ValueKind::Count(1, 1_000_000)),
            Need::Optional,
            "After this number of further arrivals above the soft threshold, a flow without a loss loses one packet.",
        ),
        field("another-time", Shape::One(ValueKind::Span), Need::Optional, "After this time above the soft threshold, a flow without a loss loses one packet."),
    ],
);

/// Parameters of a dual-threshold queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Backlog at which a single packet is dropped.
    pub soft: Room,
    /// Limit of the queue.
    pub hard: Room,
    /// Packet that is dropped.
    pub victim: Victim,
    /// Condition that rearms the single drop.
    pub rearm: Rearm,
    /// Condition for a drop from another flow.
    pub another: Option<Another>,
}

impl Discipline for Options {
    const VARIANT: Variant = Variant {
        name: "dual-threshold",
        doc: "Drops one packet at a soft threshold, everything at a hard one.",
        shape: Shape::Table(&TABLE),
        bare: false,
    };

    fn read(values: &dyn Values) -> Option<QueueSpec> {
        let packets = values.count("another-packets").and_then(|n| u32::try_from(n).ok());
        let time = values.span("another-time").map(Another::Time);
        Some(QueueSpec::Dual(Options {
            soft: room(values, "soft")?,
            hard: room(values, "hard")?,
            victim: Victim::from_name(values.word("victim")?)?,
            rearm: Rearm::from_name(values.word("rearm")?)?,
            another: packets.map(Another::Packets).or(time),
        }))
    }

    fn limit(&self) -> Room {
        self.hard
    }

    fn words(&self) -> String {
        let victim = self.victim.name();
        format!("queue that drops one packet ({victim}) at {}, all from {} on", self.soft, self.hard)
    }

    fn queue(&self, site: &QueueSite<'_>) -> Queue {
        site.managed(self.hard, DualThreshold::new(self.soft, self.victim, self.rearm, self.another))
    }
}

base::named! {
    /// Packet dropped at the soft threshold.
    pub enum Victim {
        /// The arriving packet.
        Arriving = "arriving",
        /// The next packet to depart: its sender detects the loss earlier by the queueing delay.
        Head = "head",
    }
}

base::named! {
    /// Condition that rearms the single drop.
    pub enum Rearm {
        /// The backlog has fallen to half of the soft threshold.
        Half = "half",
        /// The backlog has fallen below the soft threshold.
        Below = "below",
        /// The queue has been empty.
        Empty = "empty",
    }
}

/// Condition for a drop from another flow while the queue stays above the soft threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Another {
    /// This number of further arrivals is exceeded.
    Packets(u32),
    /// This time has passed since the last drop.
    Time(Span),
}

/// Dual-threshold state of one queue.
#[derive(Clone, Debug)]
pub struct DualThreshold {
    soft: Room,
    victim: Victim,
    rearm: Rearm,
    another: Option<Another>,
    /// Whether the next arrival at the soft threshold causes the single drop.
    armed: bool,
    /// Whether the next departing packet is dropped ([`Victim::Head`]).
    pending: bool,
    /// Ledger numbers of the flows with a drop since the backlog was last below the soft threshold.
    dropped: Vec<u64>,
    /// Arrivals at or above the soft threshold since the last drop.
    arrivals: u32,
    /// Time of the last drop.
    last: Time,
}

impl DualThreshold {
    /// An armed algorithm with the soft threshold `soft`; the hard threshold is the limit of the queue.
    pub fn new(soft: Room, victim: Victim, rearm: Rearm, another: Option<Another>) -> Self {
        DualThreshold {
            soft,
            victim,
            rearm,
            another,
            armed: true,
            pending: false,
            dropped: Vec::new(),
            arrivals: 0,
            last: Time::ZERO,
        }
    }

    /// Whether the backlog is at least 1/`share` of the soft threshold.
    fn reaches(&self, view: QueueView, share: u64) -> bool {
        self.soft.packets.is_some_and(|n| share * view.packets as u64 >= u64::from(n))
            || self.soft.bytes.is_some_and(|n| share * view.bytes >= n)
    }

    fn enqueue(&mut self, view: QueueView) -> AqmVerdict {
        let low = match self.rearm {
            Rearm::Half => !self.reaches(view, 2),
            Rearm::Below => !self.reaches(view, 1),
            Rearm::Empty => view.packets == 0,
        };
        if low {
            self.armed = true;
        }
        if !self.reaches(view, 1) {
            self.dropped.clear();
            return AqmVerdict::Pass;
        }
        self.arrivals = self.arrivals.saturating_add(1);
        let next = match self.another {
            None => false,
            Some(Another::Packets(n)) => self.arrivals > n,
            Some(Another::Time(span)) => view.now.since(self.last) >= span,
        };
        if !(self.armed || next && !self.dropped.contains(&view.flow)) {
            return AqmVerdict::Pass;
        }
        self.armed = false;
        self.dropped.push(view.flow);
        (self.arrivals, self.last) = (0, view.now);
        if self.victim == Victim::Arriving {
            return AqmVerdict::Drop;
        }
        self.pending = true;
        AqmVerdict::Pass
    }
}

impl Aqm for DualThreshold {
    fn comes(&mut self, view: QueueView) -> AqmVerdict {
        self.enqueue(view)
    }

    fn leaves(&mut self, _view: QueueView) -> AqmVerdict {
        if std::mem::take(&mut self.pending) { AqmVerdict::Drop } else { AqmVerdict::Pass }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(packets: usize, flow: u64, ms: u64) -> QueueView {
        let now = Time::ZERO + Span::from_millis(ms);
        QueueView { now, packets, bytes: 1000 * packets as u64, flow, ..QueueView::default() }
    }

    fn dual(victim: Victim, rearm: Rearm, another: Option<Another>) -> DualThreshold {
        DualThreshold::new(Room { packets: Some(6), bytes: None }, victim, rearm, another)
    }

    /// One drop when the backlog reaches the soft threshold; the next one only after rearming (QM-06).
    #[test]
    fn a_single_packet_goes_at_the_soft_threshold() {
        for (rearm, low) in [(Rearm::Half, 2), (Rearm::Below, 5), (Rearm::Empty, 0)] {
            let mut queue = dual(Victim::Arriving, rearm, None);
            assert!((0..6).all(|n| queue.comes(at(n, 0, 0)) == AqmVerdict::Pass));
            assert_eq!(queue.comes(at(6, 0, 0)), AqmVerdict::Drop);
            assert!((6..12).all(|n| queue.comes(at(n, 0, 0)) == AqmVerdict::Pass));
            assert_eq!(queue.comes(at(low + 1, 0, 0)), AqmVerdict::Pass);
            assert_eq!(
                queue.comes(at(6, 0, 0)) == AqmVerdict::Drop,
                low + 1 < 3 && rearm == Rearm::Half,
                "{rearm:?}"
            );
            queue.comes(at(low, 0, 0));
            let again = queue.comes(at(6, 0, 0));
            assert!(again == AqmVerdict::Drop || rearm == Rearm::Half, "{rearm:?}");
        }
    }

    /// With the head as victim the arriving packet passes, and the next departing one is dropped.
    #[test]
    fn the_head_goes_in_place_of_the_arrival() {
        let mut queue = dual(Victim::Head, Rearm::Half, None);
        assert_eq!((queue.leaves(QueueView::default()), queue.comes(at(6, 0, 0))), (AqmVerdict::Pass, AqmVerdict::Pass));
        assert_eq!((queue.leaves(QueueView::default()), queue.leaves(QueueView::default())), (AqmVerdict::Drop, AqmVerdict::Pass));
    }

    /// Each other flow loses one packet after a number of arrivals or a time; no flow loses two (QM-07).
    #[test]
    fn another_flow_follows_by_counter_or_timer() {
        let mut queue = dual(Victim::Arriving, Rearm::Half, Some(Another::Packets(3)));
        assert_eq!(queue.comes(at(6, 0, 0)), AqmVerdict::Drop);
        assert!((0..3).all(|_| queue.comes(at(7, 1, 0)) == AqmVerdict::Pass));
        assert_eq!(queue.comes(at(7, 0, 0)), AqmVerdict::Pass);
        assert_eq!(queue.comes(at(7, 1, 0)), AqmVerdict::Drop);
        let mut queue = dual(Victim::Arriving, Rearm::Half, Some(Another::Time(Span::from_millis(50))));
        assert_eq!(queue.comes(at(6, 0, 1)), AqmVerdict::Drop);
        assert_eq!((queue.comes(at(7, 1, 50)), queue.comes(at(7, 0, 60))), (AqmVerdict::Pass, AqmVerdict::Pass));
        assert_eq!(queue.comes(at(7, 1, 61)), AqmVerdict::Drop);
        // Below the soft threshold but not at half: no rearming, but the timer permits another drop of the first flow.
        assert_eq!((queue.comes(at(5, 0, 70)), queue.comes(at(6, 0, 80))), (AqmVerdict::Pass, AqmVerdict::Pass));
        assert_eq!(queue.comes(at(6, 0, 111)), AqmVerdict::Drop);
    }
}
