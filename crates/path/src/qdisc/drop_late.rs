//! Drop-late queue: FIFO that drops packets past their deadline at the head, and at any position when full;
//! scenario options.

use super::fifo::limited;
use super::{Discard, Discipline, Queue, QueueSpec, Room, QueueSite};
use base::shape::{Values, Variant};

/// Options of a drop-late queue.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Options {
    /// Limit of the backlog, without the packet in service.
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
