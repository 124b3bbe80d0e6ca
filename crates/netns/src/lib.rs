//! Linux network namespaces with TUN or veth devices, commands under supervisor processes, clock of a run, kernel
//! statistics, uplink.
//!
//! Objects own their descriptors and processes and release them on drop. The crate is independent of scenarios, paths
//! and transports.

pub mod admission;
#[cfg(target_os = "linux")]
pub mod clock;
#[cfg(target_os = "linux")]
pub mod device;
pub mod facts;
#[cfg(target_os = "linux")]
pub mod foreground;
#[cfg(target_os = "linux")]
pub mod job;
#[cfg(target_os = "linux")]
pub mod keeper;
#[cfg(target_os = "linux")]
pub mod mounts;
#[cfg(target_os = "linux")]
pub mod namespace;
#[cfg(target_os = "linux")]
pub mod output;
pub mod proc;
#[cfg(target_os = "linux")]
pub mod sys;
#[cfg(target_os = "linux")]
pub mod uplink;
#[cfg(target_os = "linux")]
pub mod user;

#[cfg(target_os = "linux")]
pub use namespace::rights;

use std::io;

/// Reason why a kernel network cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The system is not Linux.
    #[error("real time needs Linux: namespaces and TUN devices")]
    System,
    /// The process may not create namespaces or devices.
    #[error("{what} needs rights that this process lacks: {source}")]
    Rights {
        /// The refused operation.
        what: &'static str,
        /// The kernel's error.
        source: io::Error,
    },
    /// The host's network cannot be reached through a helper program.
    #[error("the network outside cannot be reached: {0}")]
    Helper(String),
    /// The kernel refused another operation.
    #[error("{what}: {source}")]
    Refused {
        /// The refused operation.
        what: String,
        /// The kernel's error.
        source: io::Error,
    },
}

#[cfg(target_os = "linux")]
impl Error {
    /// Error of an operation that needs privileges.
    pub fn right(what: &'static str) -> impl FnOnce(io::Error) -> Error {
        move |source| match source.kind() {
            io::ErrorKind::PermissionDenied | io::ErrorKind::NotFound | io::ErrorKind::StorageFull => {
                Error::Rights { what, source } // full: limit of namespaces for this user
            }
            _ => Error::Refused { what: what.into(), source },
        }
    }

    /// Error of any other operation.
    pub fn of(what: impl Into<String>) -> impl FnOnce(io::Error) -> Error {
        let what = what.into();
        move |source| Error::Refused { what, source }
    }
}

/// Whether this process may create namespaces and devices.
///
/// # Errors
/// Always [`Error::System`].
#[cfg(not(target_os = "linux"))]
pub fn rights() -> Result<(), Error> {
    Err(Error::System)
}
