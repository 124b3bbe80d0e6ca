//! Drop-oldest queue: FIFO that drops the packet with the earliest sending time when full; scenario options.

use super::fifo::{limited, limited_by};
use super::{Discard, Discipline, Queue, QueueSpec, Room, QueueSite};
use base::shape::{Values, Variant};

/// Options of a drop-oldest queue.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Options {
    /// Limit of the backlog, without the packet in service.
    pub limit: Room,
}

impl Discipline for Options {
    const VARIANT: Variant = limited(
        "drop-oldest",
        "First in, first out; when full, the packet that its sender sent first is dropped.",
    );


    fn read(values: &dyn Values) -> Option<QueueSpec> {
        limited_by(values, |limit| QueueSpec::DropOldest(Options { limit }))
    }

    fn limit(&self) -> Room {
        self.limit
    }

    fn words(&self) -> String {
        format!("drop-oldest queue of {}", self.limit)
    }

    fn queue(&self, site: &QueueSite<'_>) -> Queue {
        site.fifo(self.limit, Discard::Oldest)
    }
}
