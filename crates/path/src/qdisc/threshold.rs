//! Threshold AQM: marks ECN-capable packets that arrive at a backlog from a threshold on.
//!
//! The threshold applies to the instantaneous backlog, not to an average, as senders that count marks
//! require (Alizadeh and others, "Data Center TCP", 2010, section 3.1). Packets without ECN pass and are
//! subject to the limit only.

use super::{Aqm, Discipline, LIMIT, Queue, QueueSpec, Room, QueueSite, AqmVerdict, QueueView, room};
use base::shape::{ValueKind, Need, Shape, TableShape, Values, Variant, field, table};

static TABLE: TableShape = table(
    "threshold",
    "Marks every packet that arrives above a queue threshold, if its connection has ECN; other packets wait until the \
     queue is full.",
    &[field("mark", Shape::One(ValueKind::Limits), Need::Required("\"20 packets\""), "The threshold."), LIMIT],
);

/// Threshold and limit of the queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Backlog from which packets are marked.
    pub mark: Room,
    /// Queue limit.
    pub limit: Room,
}

impl Discipline for Options {
    const VARIANT: Variant = Variant {
        name: "threshold",
        doc: "Marks above a threshold (ECN).",
        shape: Shape::Table(&TABLE),
        bare: false,
    };

    fn read(values: &dyn Values) -> Option<QueueSpec> {
        Some(QueueSpec::Threshold(Options { mark: room(values, "mark")?, limit: room(values, "limit")? }))
    }

    fn limit(&self) -> Room {
        self.limit
    }

    fn words(&self) -> String {
        format!("queue of {} that marks from {} on", self.limit, self.mark)
    }

    fn queue(&self, site: &QueueSite<'_>) -> Queue {
        site.managed(self.limit, Threshold(self.mark))
    }
}

/// AQM algorithm that marks packets which arrive at this backlog or more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Threshold(pub Room);

impl Aqm for Threshold {
    fn acts_at_departure(&self) -> bool {
        false
    }
    fn comes(&mut self, view: QueueView) -> AqmVerdict {
        let long = self.0.packets.is_some_and(|n| view.packets >= n as usize)
            || self.0.bytes.is_some_and(|n| view.bytes >= n);
        //= RFC 3168 section 5: not-ECT is '00', and such packets are not marked
        if long && view.ecn != 0 { AqmVerdict::Mark } else { AqmVerdict::Pass }
    }
}
