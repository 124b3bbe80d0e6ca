//! CoDel AQM (RFC 8289): drops at the head by sojourn time.
//!
//! When the minimum sojourn time of an interval exceeds a target, CoDel drops a packet at the head. Further drops
//! follow at decreasing intervals until the sojourn time falls below the target.

use super::{Aqm, Discipline, ECN, LIMIT, Queue, QueueSpec, Room, QueueSite, AqmVerdict, QueueView, room};
use base::shape::{ValueKind, Need, Shape, TableShape, Values, Variant, field, table};
use base::{Span, Time};

static TABLE: TableShape = table(
    "codel",
    "CoDel (RFC 8289): drops at the head, at increasing rate, while the sojourn time stays above a target for longer \
     than an interval.",
    &[
        field("target", Shape::One(ValueKind::Span), Need::Default("\"5 ms\""), "Target sojourn time."),
        field("interval", Shape::One(ValueKind::Span), Need::Default("\"100 ms\""), "A long round trip."),
        ECN,
        LIMIT,
    ],
);

/// Parameters of CoDel and the limit of its queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Acceptable sojourn time.
    pub target: Span,
    /// Upper bound of the usual RTT.
    pub interval: Span,
    /// ECN-capable packets are marked instead of dropped.
    pub ecn: bool,
    /// Queue limit.
    pub limit: Room,
}

impl Discipline for Options {
    const VARIANT: Variant = Variant {
        name: "codel",
        doc: "Controlled delay: watches how long packets wait.",
        shape: Shape::Table(&TABLE),
        bare: true,
    };

    fn read(values: &dyn Values) -> Option<QueueSpec> {
        Some(QueueSpec::CoDel(Options {
            target: values.span("target")?,
            interval: values.span("interval")?,
            ecn: values.flag("ecn")?,
            limit: room(values, "limit")?,
        }))
    }

    fn limit(&self) -> Room {
        self.limit
    }

    fn words(&self) -> String {
        format!("CoDel queue of {}, {} for {}", self.limit, self.target, self.interval)
    }

    fn queue(&self, site: &QueueSite<'_>) -> Queue {
        site.managed(self.limit, CoDel::new(self.target, self.interval, self.ecn))
    }
}

/// CoDel state of one queue.
#[derive(Clone, Copy, Debug)]
pub struct CoDel {
    target: Span,
    interval: Span,
    ecn: bool,
    /// Time at which the sojourn time will have exceeded the target for a whole interval.
    long_at: Option<Time>,
    /// Whether the algorithm is in the dropping state.
    dropping: bool,
    /// Time of the next drop in the dropping state.
    next: Time,
    /// Drops since the dropping state was entered, or resumed from an earlier one.
    count: u32,
    /// `count` at the last entry of the dropping state.
    last_count: u32,
}

/// Largest backlog, bytes, that causes no drops: one full-sized packet (RFC 8289 section 5.4).
const FULL_PACKET: u64 = 1514;

impl CoDel {
    /// `target`: acceptable sojourn time; `interval`: upper bound of the usual RTT; `ecn`: whether ECN-capable
    /// packets are marked instead of dropped.
    pub fn new(target: Span, interval: Span, ecn: bool) -> Self {
        CoDel {
            target,
            interval,
            ecn,
            long_at: None,
            dropping: false,
            next: Time::ZERO,
            count: 0,
            last_count: 0,
        }
    }

    /// Dequeue routine of RFC 8289 section 5.5: decision for the packet at the head.
    fn dequeue(&mut self, view: QueueView) -> AqmVerdict {
        let long = self.is_long(view);
        if self.dropping {
            if !long {
                self.dropping = false;
                return AqmVerdict::Pass;
            }
            if view.now < self.next {
                return AqmVerdict::Pass;
            }
            self.count += 1;
            self.next = self.after(self.next);
            return self.verdict(view.ecn);
        }
        if !long {
            return AqmVerdict::Pass;
        }
        self.dropping = true;
        //= RFC 8289 section 5.5: if dropping ended recently, it resumes at the rate that worked then
        let since_last = self.count - self.last_count;
        let recent = view.now.since(self.next) < self.interval.times(16);
        self.count = if since_last > 1 && recent { since_last } else { 1 };
        self.last_count = self.count;
        self.next = self.after(view.now);
        self.verdict(view.ecn)
    }

    fn is_long(&mut self, view: QueueView) -> bool {
        //= RFC 8289 section 5.4: a sojourn time below the target, or a backlog below a full packet, restarts
        // the interval
        if view.span < self.target || view.bytes <= FULL_PACKET {
            self.long_at = None;
            return false;
        }
        let at = *self.long_at.get_or_insert(view.now + self.interval);
        view.now >= at
    }

    /// Time of the drop after one at `t`, by the control law: interval / sqrt(count) later.
    fn after(&self, t: Time) -> Time {
        t + Span::from_nanos((self.interval.as_nanos() as f64 / f64::from(self.count.max(1)).sqrt()) as u64)
    }

    fn verdict(&self, ecn: u8) -> AqmVerdict {
        if self.ecn && ecn != 0 { AqmVerdict::Mark } else { AqmVerdict::Drop }
    }
}

impl Aqm for CoDel {
    fn leaves(&mut self, view: QueueView) -> AqmVerdict {
        self.dequeue(view)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(x: u64) -> Span {
        Span::from_millis(x)
    }

    /// Times, ms, at which packets are dropped: one packet per ms with a constant sojourn time of `wait` ms.
    fn drops(wait: u64, until_ms: u64) -> Vec<u64> {
        let mut codel = CoDel::new(ms(5), ms(100), false);
        (0..until_ms)
            .filter(|&t| {
                let view = QueueView {
                    now: Time::ZERO + ms(t),
                    packets: 50,
                    bytes: 50_000,
                    ecn: 0,
                    span: ms(wait),
                    ..QueueView::default()
                };
                codel.leaves(view) == AqmVerdict::Drop
            })
            .collect()
    }

    /// The first drop is after one interval, drop n + 1 after a further 100 ms / sqrt(n).
    #[test]
    fn codel_drops_sooner_and_sooner() {
        // 100; + 100/sqrt(1) = 200; + 100/sqrt(2) = 270.7; + 100/sqrt(3) = 328.4; + 50 = 378.4.
        assert_eq!(drops(20, 379), [100, 200, 271, 329]);
        assert_eq!(drops(4, 5000), Vec::<u64>::new());
    }

    #[test]
    fn codel_lets_a_queue_of_one_packet_be() {
        let mut codel = CoDel::new(ms(5), ms(100), false);
        let view = |t| QueueView {
            now: Time::ZERO + ms(t),
            packets: 1,
            bytes: 1500,
            ecn: 0,
            span: ms(400),
            ..QueueView::default()
        };
        assert!((0..2000).all(|t| codel.leaves(view(t)) == AqmVerdict::Pass));
    }
}
