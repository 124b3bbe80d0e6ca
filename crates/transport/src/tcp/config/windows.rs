//! Options of the congestion window: initial values, after a loss, after idle time.

use super::*;

/// Options of the congestion window.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct WindowsConfig {
    /// Initial congestion window.
    pub initial: WindowSize,
    /// Initial slow-start threshold.
    pub initial_ssthresh: WindowSize,
    /// Loss window (LW of RFC 5681).
    pub after_loss: WindowSize,
    /// Congestion window validation (RFC 7661, RFC 2861).
    pub validation: Validation,
    /// Window after an idle period.
    pub idle_restart: IdleRestart,
}

impl Default for WindowsConfig {
    /// Initial window of RFC 6928, loss window and idle restart of RFC 5681.
    fn default() -> Self {
        WindowsConfig {
            initial: WindowSize::Rfc6928,
            initial_ssthresh: WindowSize::Unlimited,
            after_loss: WindowSize::Segments(1),
            validation: Validation::Off,
            idle_restart: IdleRestart::Rfc5681,
        }
    }
}
