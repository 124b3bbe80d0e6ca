//! Errors of the comparison between TCP model and Linux kernel: invalid cases, incomplete recorded results, failed
//! runs.

/// Reason why a case cannot be read or run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AgreementError {
    /// The text is not TOML.
    #[error(transparent)]
    Toml(#[from] toml::de::Error),
    /// A key of the cases is missing.
    #[error("there is no `{0}`")]
    Missing(String),
    /// A recorded result lacks a key.
    #[error("{case} has no {key}")]
    Incomplete {
        /// Case.
        case: String,
        /// Missing key.
        key: String,
    },
    /// The scenario refuses the overrides, for example an option that this build lacks: the diagnostics.
    #[error("{0}")]
    Scenario(String),
    /// The emulation failed.
    #[error(transparent)]
    Emulation(#[from] crate::Error),
    /// The emulation was not faithful: the reason.
    #[error("not faithful: {0}")]
    Unfaithful(String),
}
