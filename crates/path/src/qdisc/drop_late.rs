//! Drop-late queue: when full, packets past their deadline are dropped; at the head they always are.

use super::fifo::limited;
use super::{Discard, Discipline, Queue, QueueSpec, Room, QueueSite};
use base::shape::{Values, Variant};

/// Its limit.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Options {
    /// What may wait beside the packet in service.
    pub limit: Room,
}

impl Discipline for Options {
    const VARIANT: Variant = limited(
        "drop-late",
        "First in, first out; when full, packets whose deadline is over are dropped, then what comes.",
    );


    fn read(values: &dyn Values) -> Option<QueueSpec> {
        // Packets past their deadline leave at the head whatever the limit.
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
