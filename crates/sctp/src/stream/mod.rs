//! Streams of an association: messages of the application and their DATA chunks (RFC 9260 sections 6.5, 6.6,
//! 6.9; RFC 3758).

pub mod inbound;
pub mod outbound;

pub use inbound::Inbound;
pub use outbound::{Fragment, Outbound};
