//! Network path between two endpoints: an arena of elements driven by simulated time.
//!
//! Elements read packet heads only. They are woken at the times that they request, forward packets through
//! numbered ports, and keep all other state private. `path` is independent of any transport.

pub mod background;
pub mod capacity;
pub mod channel;
pub mod checksum;
pub mod compression;
pub mod deadline;
pub mod element;
pub mod firewall;
pub mod fragment;
pub mod gate;
pub mod hold;
pub mod jitter;
pub mod link;
pub mod loaded;
pub mod loss;
pub mod meter;
pub mod network;
mod outbox;
pub mod outside;
pub mod qdisc;
pub mod reassembly;
mod ring;
pub mod router;
pub mod rst_flush;
pub mod schedule;
pub mod shaper;
pub mod states;
pub mod throttle;
pub mod trigger;
mod wires;

pub use element::{Cx, Element, ElementId, Port, Signal};
pub use network::Network;
