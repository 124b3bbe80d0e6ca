//! Loss recovery shared by all transports: ACK digest, RTT estimators, retransmission timer, TCB cache, SACK
//! scoreboard, send records and their order of transmission.

pub mod config;
pub mod digest;
pub mod eifel_timer;
pub mod linux_rtt;
mod order;
pub mod rate;
pub mod rto;
pub mod rtt;
pub mod scoreboard;
pub mod sent;
pub mod tcb_cache;
pub mod wheel;
