//! Transport protocol endpoints as pure state machines: time and packets are inputs, links are unknown here.

pub mod app;
pub mod endpoint;
pub mod macroflow;
pub mod recovery;
pub mod tcp;

pub use endpoint::{Io, Outgoing};
