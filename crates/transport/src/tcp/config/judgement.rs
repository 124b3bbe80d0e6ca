//! Options of spurious detection: which timeouts and fast retransmits a detector judges.

/// Options of the detector: which events it judges.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct JudgementConfig {
    /// Whether timeouts inside loss recovery are judged too.
    pub in_recovery: bool,
    /// Whether a repeated timeout is judged although the first of the series, inside recovery, was not.
    pub later_expirations: bool,
    /// Whether fast retransmits are judged too.
    pub fast_retransmits: bool,
    /// Whether Eifel judges a timeout spurious even if all ACKs seem to be lost.
    pub lost_acks: bool,
}

impl Default for JudgementConfig {
    /// Timeouts outside of recovery, and fast retransmits.
    fn default() -> Self {
        JudgementConfig {
            in_recovery: false,
            later_expirations: false,
            fast_retransmits: true,
            lost_acks: false,
        }
    }
}
