//! Memory limits of the analyser.

/// Limits on stored data.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Every data segment and acknowledgement, for pictures.
    pub points: bool,
    /// Every packet with its identification, to be joined with another capture.
    pub arrivals: bool,
    /// Findings of one kind per connection; further ones only count in totals.
    pub happenings: usize,
    /// Concurrent connections; beyond it the ones idle longest are closed.
    pub flows: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { points: false, arrivals: false, happenings: 1 << 20, flows: 1 << 16 }
    }
}
