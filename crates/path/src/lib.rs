//! Network path between two endpoints: an arena of elements driven by simulated time.
//!
//! An element is woken at the times that it requests, forwards packets through numbered ports, and keeps all
//! other state private. Most elements read the head of a packet only; fragmentation, reassembly and the hash of
//! connections read its body. `path` is independent of any transport.

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
mod lookahead;
pub mod loss;
pub mod meter;
pub mod network;
mod node;
mod outbox;
pub mod outside;
pub mod qdisc;
pub mod reassembly;
mod ring;
pub mod router;
mod router_answer;
pub mod rst_flush;
pub mod schedule;
pub mod shaper;
pub mod states;
pub mod throttle;
pub mod trigger;
mod wires;

pub use element::{Cx, Element, ElementId, Port, Signal};
pub use network::Network;
