//! Drop-late queue: when full, packets past their deadline are dropped; such packets are always dropped at
//! the head.

use super::fifo::limited;
use super::{Discard, Discipline, Queue, QueueSpec, Room, QueueSite};
use base::shape::{Values, Variant};

/// Options of the queue.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Options {
    /// Limit of the backlog beside the packet in service.
    pub limit: Room,
}

impl Discipline for Options {
    const VARIANT: Variant = limited(
        "drop-late",
        "First in, first out; when full, packets whose deadline is over are dropped, then arriving ones.",
    );


    fn read(values: &dyn Values) -> Option<QueueSpec> {
        // Expired packets are dropped at the head even without a limit.
        Some(QueueSpec::DropLate(Options { limit: super::room(values, "limit")? }))
    }

    fn limit(&self) -> Room {
        self.limit
    }

    fn words(&self) -> String {
        format!("drop-late queue of {}", self.limit)
    }

    fn queue(&self, site: &QueueSite<'_>) -> Queue {
        site.fifo(self.limit, Discard::Late)
    }
}
