//! Facts of one direction: copies in flight, ACK digest, RTT, receiver clock, sequence ranges, trigger of a retransmission.

pub(crate) mod copies;
pub(crate) mod digest;
pub(crate) mod ip_id;
pub(crate) mod ranges;
pub mod reason;
pub(crate) mod rtt;
pub(crate) mod ts_clock;
