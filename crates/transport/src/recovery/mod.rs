//! Parts of loss recovery that transports share: facts, round-trip times, the timer, the scoreboard.

pub mod digest;
pub mod rto;
pub mod rtt;
pub mod scoreboard;
