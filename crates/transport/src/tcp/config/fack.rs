//! Options of forward acknowledgement (FACK; Mathis and Mahdavi 1996).

/// Options of FACK.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct FackConfig {
    /// Reduces the window over one RTT (rampdown).
    pub rampdown: bool,
    /// Reduces by three quarters after a loss in slow start (overdamping).
    pub overdamping: bool,
    /// Counts duplicate ACKs as SACK does once reordering was seen.
    pub until_reordering: bool,
}

impl Default for FackConfig {
    /// Plain FACK.
    fn default() -> Self {
        FackConfig { rampdown: false, overdamping: false, until_reordering: false }
    }
}
