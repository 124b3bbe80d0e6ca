//! Errors of the agreement with Linux: unreadable cases or recorded facts, and runs that failed.

/// Why a case cannot be read or run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AgreementError {
    /// The text is no TOML.
    #[error(transparent)]
    Toml(#[from] toml::de::Error),
    /// A key of the cases is missing.
    #[error("there is no `{0}`")]
    Missing(String),
    /// A recorded run lacks a key.
    #[error("{case} has no {key}")]
    Incomplete {
        /// Name of the case.
        case: String,
        /// The missing key.
        key: String,
    },
    /// The scenario does not take the overrides, for example an option that this build lacks: the diagnostics.
    #[error("{0}")]
    Scenario(String),
    /// The emulation failed.
    #[error(transparent)]
    Emulation(#[from] crate::Error),
    /// The emulation was not faithful: the reason.
    #[error("not faithful: {0}")]
    Unfaithful(String),
}
