//! Unlimited FIFO queue, the default discipline; it has no scenario options.

use super::{Discard, Discipline, Queue, QueueSpec, Room, QueueSite};
use base::shape::{Shape, TableShape, Values, Variant, table};

static TABLE: TableShape = table("unlimited", "No parameters.", &[]);

/// The discipline, without options.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Options;

impl Discipline for Options {
    const VARIANT: Variant =
        Variant { name: "unlimited", doc: "Everything waits.", shape: Shape::Table(&TABLE), bare: true };
    const PLAIN: bool = true;

    fn read(_values: &dyn Values) -> Option<QueueSpec> {
        Some(QueueSpec::default())
    }

    fn limit(&self) -> Room {
        Room::default()
    }

    fn words(&self) -> String {
        "no limit to the queue".to_owned()
    }

    fn queue(&self, site: &QueueSite<'_>) -> Queue {
        site.fifo(Room::default(), Discard::Tail)
    }
}
