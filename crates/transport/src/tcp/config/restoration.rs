//! Options of responses to a spurious timeout: RFC 4015, staged response, restore-4.

use super::*;

/// Options of single responses.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RestorationConfig {
    /// Condition under which RFC 4015 adapts the retransmission timer.
    pub rfc4015_timer: Rfc4015Timer,
    /// Whether restore-4 also restores ssthresh as long as no loss was detected.
    pub threshold_before_loss: bool,
    /// Options of the staged response.
    pub staged: StagedConfig,
}

impl Default for RestorationConfig {
    /// As published.
    fn default() -> Self {
        RestorationConfig {
            rfc4015_timer: Rfc4015Timer::NewData,
            threshold_before_loss: false,
            staged: StagedConfig::default(),
        }
    }
}
