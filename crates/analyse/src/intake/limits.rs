//! Memory limits of the capture analyser (`Limits`): stored points, stored packets, findings and concurrent
//! connections.

/// Limits on stored data.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Store every data segment and ACK, for pictures.
    pub points: bool,
    /// Store every packet with its identification, for the join with another capture.
    pub arrivals: bool,
    /// Upper limit of listed findings of one kind per connection; further ones only count in totals.
    pub happenings: usize,
    /// Upper limit of concurrent connections; beyond it connections that were idle longest are closed.
    pub flows: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { points: false, arrivals: false, happenings: 1 << 20, flows: 1 << 16 }
    }
}
