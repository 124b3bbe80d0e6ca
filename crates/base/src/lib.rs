//! Words everyone shares: time, units, names, randomness, packets, events, truth.
//!
//! Nothing here behaves: these are the nouns of the laboratory. Whatever needs a clock, a file or
//! the environment is handed in by a driver (see `docs/architecture.md`).

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
pub mod tcp;
pub mod time;
pub mod trace;
pub mod truth;
pub mod units;
pub mod wire;

pub use packet::{Flags, FlowId, NodeId, Packet};
pub use time::{Span, Time};
pub use units::Rate;
