//! The real clock: the network of a scenario, driven by time itself, with real stacks at its ends.
//!
//! The elements between the ends are those of virtual time, built by the same builder from the same file.
//! What is added is a door for each end ([`space`]: an anonymous network namespace with one TUN device), and
//! one thread that reads, models and writes ([`driver`]). Logical time is made of arrival stamps and never of
//! the moment at which something is looked at, so late wake-ups delay a packet and bend nothing after it;
//! how late each packet left is measured and reported ([`lateness`]).
//!
//! Linux only. Elsewhere everything compiles and [`once`] says that it cannot.

pub mod agreement;
pub mod capture;
pub mod facts;
pub mod lateness;
pub mod proc;
mod traces;

#[cfg(target_os = "linux")]
pub mod bulk;
#[cfg(target_os = "linux")]
pub mod clock;
#[cfg(target_os = "linux")]
pub mod driver;
#[cfg(target_os = "linux")]
mod once;
#[cfg(target_os = "linux")]
pub mod space;
#[cfg(target_os = "linux")]
mod sys;

#[cfg(target_os = "linux")]
pub use once::once;
#[cfg(target_os = "linux")]
pub use sys::rights;

use base::Span;
use capture::Capture;
use facts::FlowFacts;
use lateness::Timing;
use std::io;

/// Why nothing could be emulated.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Not Linux.
    #[error("real time needs Linux: namespaces and TUN devices")]
    System,
    /// The process may not make namespaces or devices.
    #[error("{what} needs rights that this process lacks: {source}")]
    Rights {
        /// What was refused.
        what: &'static str,
        /// How.
        source: io::Error,
    },
    /// The kernel refused something else.
    #[error("{what}: {source}")]
    Refused {
        /// What was tried.
        what: String,
        /// How it was refused.
        source: io::Error,
    },
}

impl Error {
    /// Of something that takes rights.
    #[cfg(target_os = "linux")]
    pub(crate) fn right(what: &'static str) -> impl FnOnce(io::Error) -> Error {
        move |source| match source.kind() {
            io::ErrorKind::PermissionDenied | io::ErrorKind::NotFound => Error::Rights { what, source },
            _ => Error::Refused { what: what.into(), source },
        }
    }

    #[cfg(target_os = "linux")]
    pub(crate) fn of(what: impl Into<String>) -> impl FnOnce(io::Error) -> Error {
        let what = what.into();
        move |source| Error::Refused { what, source }
    }
}

/// How to emulate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Keep the events of path and transport.
    pub trace: bool,
    /// Keep the packets that cross the doors.
    pub capture: bool,
    /// Ask for real-time priority; without rights the run goes on without.
    pub realtime: bool,
    /// So long before a packet is due the driver stops sleeping and spins, if it has real-time priority.
    pub spin: Span,
    /// A run in which more than one packet in a hundred is later than this is not faithful.
    pub lateness_limit: Span,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            trace: false,
            capture: false,
            realtime: true,
            spin: Span::ZERO,
            lateness_limit: Span::from_millis(1),
        }
    }
}

/// A repetition that has been played.
pub struct Outcome {
    /// What was measured, as in virtual time.
    pub ran: lab::once::Outcome,
    /// What the kernels say of the flows that are theirs, by position in the model.
    pub facts: Vec<Option<FlowFacts>>,
    /// How exact it was.
    pub timing: Timing,
    /// What crossed the doors, if that was wanted.
    pub capture: Option<Capture>,
}

impl Outcome {
    /// Why it does not count, if it does not.
    pub fn unfaithful(&self, options: &Options) -> Option<String> {
        self.timing.fault(options.lateness_limit)
    }
}

/// Plays one repetition: not here.
///
/// # Errors
/// Always [`Error::System`].
#[cfg(not(target_os = "linux"))]
pub fn once(
    _model: &scenario::Model,
    _repetition: u64,
    _options: &Options,
    _stop: &std::sync::atomic::AtomicBool,
) -> Result<Outcome, Error> {
    Err(Error::System)
}

/// What this process may not do that an emulation needs.
///
/// # Errors
/// Always [`Error::System`].
#[cfg(not(target_os = "linux"))]
pub fn rights() -> Result<(), Error> {
    Err(Error::System)
}
