//! Memory limits of the analyser.

/// How much is kept.
#[derive(Clone, Copy, Debug)]
pub struct Keep {
    /// Every data segment and acknowledgement, for pictures.
    pub points: bool,
    /// Every packet with its identification, to be joined with another capture.
    pub arrivals: bool,
    /// Happenings of one kind and connection; more are counted in the verdicts' sums only.
    pub happenings: usize,
    /// Connections at once; beyond that the one that was silent longest is closed.
    pub flows: usize,
}

impl Default for Keep {
    fn default() -> Self {
        Keep { points: false, arrivals: false, happenings: 1 << 20, flows: 1 << 16 }
    }
}
