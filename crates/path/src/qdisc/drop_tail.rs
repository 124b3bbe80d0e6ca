//! Drop-tail queue: FIFO that drops the arriving packet when full; scenario options.

use super::fifo::{limited, limited_by};
use super::{Discard, Discipline, Queue, QueueSpec, Room, QueueSite};
use base::shape::{Values, Variant};

/// Options of a drop-tail queue.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Options {
    /// Limit of the backlog, without the packet in service.
    pub limit: Room,
}

impl Discipline for Options {
    const VARIANT: Variant = limited(
        "drop-tail",
        "First in, first out; packets that arrive at a full queue are dropped.",
    );
    const PLAIN: bool = true;

    fn read(values: &dyn Values) -> Option<QueueSpec> {
        limited_by(values, |limit| QueueSpec::DropTail(Options { limit }))
    }

    fn limit(&self) -> Room {
        self.limit
    }

    fn words(&self) -> String {
        format!("drop-tail queue of {}", self.limit)
    }

    fn queue(&self, site: &QueueSite<'_>) -> Queue {
        site.fifo(self.limit, Discard::Tail)
    }
}
