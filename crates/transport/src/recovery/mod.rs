//! Parts of loss recovery that transports share: ACK digest, RTT estimators, retransmission timer,
//! scoreboard, record of transmissions and its order in time.

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
