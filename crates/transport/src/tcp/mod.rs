//! TCP: sender, receiver, loss recovery, congestion control, spurious detection and response.
//!
//! Facts ([`crate::recovery::digest`]), judgement (`spurious`), consequence
//! (`response`, `recovery`, `cc`); `sender` calls them in that order for every acknowledgement.
//!
//! RFC 9293 for the segments, 5681 for congestion control, 6298 for the timer, 6582 and 6675 for
//! recovery, 2018 and 2883 for SACK, 3042, 3522, 4015, 7323.

pub mod cc;
pub mod config;
pub mod connection;
pub mod ecn;
mod endpoint;
mod offer;
pub mod receiver;
pub mod recovery;
pub mod response;
pub mod sender;
pub mod spurious;

pub use config::{Config, OptionKind, OptionSpec};
pub use connection::{Connection, Role};
pub use offer::Offer;
