//! Random-drop queue: FIFO that drops a random packet, possibly the arriving one, when full; scenario options.

use super::fifo::{limited, limited_by};
use super::{Discard, Discipline, Queue, QueueSpec, Room, QueueSite};
use base::shape::{Values, Variant};

/// Options of a random-drop queue.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Options {
    /// Limit of the backlog, without the packet in service.
    pub limit: Room,
}

impl Discipline for Options {
    const VARIANT: Variant = limited(
        "drop-random",
        "First in, first out; when full, one of the waiting packets or the arriving one is dropped.",
    );


    fn read(values: &dyn Values) -> Option<QueueSpec> {
        limited_by(values, |limit| QueueSpec::DropRandom(Options { limit }))
    }

    fn limit(&self) -> Room {
        self.limit
    }

    fn words(&self) -> String {
        format!("drop-random queue of {}", self.limit)
    }

    fn queue(&self, site: &QueueSite<'_>) -> Queue {
        site.fifo(self.limit, Discard::Random(site.stream("queue")))
    }
}
