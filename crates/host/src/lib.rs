//! Where path and transport meet: the one element that holds an endpoint and its application, and
//! gives every packet its head. Nothing else knows both sides.

mod door;
mod host;

pub use self::door::{Door, DoorConfig, Leaving, Told};
pub use self::host::{Host, HostConfig, HostCounters};
