//! Parts of loss recovery that transports share: facts, round-trip times, the timer, the scoreboard,
//! the record of transmissions.

pub mod digest;
pub mod eifel_timer;
pub mod linux_rtt;
pub mod rate;
pub mod rto;
pub mod rtt;
pub mod scoreboard;
pub mod sent;
