//! RTP and RTCP (RFC 3550) with the static payload types of RFC 3551: packets, sender and receiver reports, report
//! intervals, and an endpoint that sends frames.
//!
//! There are no mixers and no translators: a session has two participants. The sequence-number probation of RFC 3550
//! appendix A.1 is left out, since the scenario names the source.

pub mod format;
pub mod interval;
pub mod packet;
pub mod reception;
pub mod reporter;
pub mod session;
pub mod wire;

pub use format::Format;
pub use packet::{Block, Compound, Content, Rtp, SenderInfo};
pub use reporter::Reporter;
pub use session::{Config, Session};
