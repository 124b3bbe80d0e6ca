//! ATP, the application-data-unit transport of Gurtov and Ludwig, "Exploiting Packet Lifetime for Efficient Real-Time
//! Transport": units with lifetimes, selective retransmission within them, over UDP, RTP, DCCP and TCP.
//!
//! The paper leaves the protocol tentative. Gaps (encodings, timers of SYN and requests, the unit of a SACK vector)
//! are filled here, each with a comment at its place.

pub mod config;
pub mod control;
pub mod endpoint;
pub mod over_dccp;
pub mod packet;
mod receiver;
mod sender;
pub mod wire;

pub use config::{Config, Counters, FragmentLife};
pub use control::{Method, SharedWindow};
pub use endpoint::AtpEnd;
pub use over_dccp::OverDccp;
pub use packet::{Atp, Carrier};
