//! Protocol endpoints as pure state machines: told the time, never asking; they know no links.

pub mod app;
pub mod endpoint;
pub mod recovery;
pub mod tcp;

pub use endpoint::{Io, Outgoing};
