//! Basic types of the simulator: simulated time, units, random streams, packets and their bodies, trace
//! events, ledger of ground truth, wire formats.
//!
//! This crate contains data types without behaviour of their own. Drivers pass in everything that needs a
//! clock, a file or the environment (see `docs/architecture.md`).

pub mod alternation;
pub mod body;
pub mod dist;
pub mod event;
pub mod named;
pub mod packet;
pub mod pool;
pub mod rng;
mod serial;
pub mod shape;
mod slab;
pub mod spelling;
pub mod tcp;
pub mod time;
pub mod trace;
pub mod truth;
pub mod units;
pub mod wire;

pub use packet::{Flags, FlowId, NodeId, Packet};
pub use time::{Span, Time};
pub use units::Rate;
