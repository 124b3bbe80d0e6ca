//! Facts about one direction of a connection: send log, ACK digest, RTT, receiver's timestamp clock, byte ranges, IP
//! identification, trigger of a retransmission.

pub(crate) mod copies;
pub(crate) mod digest;
pub(crate) mod ip_id;
pub(crate) mod ranges;
pub mod reason;
pub(crate) mod rtt;
pub(crate) mod ts_clock;
