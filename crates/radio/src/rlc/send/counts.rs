//! Counters of the RLC sender: effect of one report, blocks sent by reason.

/// Changes of block states by a report.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ReportEffect {
    /// Blocks newly acknowledged.
    pub acknowledged: u32,
    /// Blocks reported missing that will be retransmitted.
    pub missing: u32,
    /// Blocks reported missing but not marked missing, because the hold-off time after their transmission has not passed.
    pub held_off: u32,
    /// No data are queued and all blocks sent are acknowledged.
    pub all: bool,
}

/// Counters of one TBF direction over the sender's lifetime.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SendCounts {
    /// RLC blocks sent for the first time.
    pub new: u64,
    /// RLC blocks retransmitted because they were reported missing.
    pub missing: u64,
    /// RLC blocks retransmitted pre-emptively.
    pub idle: u64,
    /// Transmission opportunities with data queued and a closed window.
    pub stalled: u64,
}
