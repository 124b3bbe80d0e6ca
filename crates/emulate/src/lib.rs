//! The real clock: the network of a scenario, driven by time itself, with real stacks at its ends.
//!
//! The elements between the ends are those of virtual time, built by the same builder from the same file.
//! What is added is a door for each end ([`space`]: an anonymous network namespace with one TUN device), and
//! one thread that reads, models and writes ([`driver`]). Logical time is made of arrival stamps and never of
//! the moment at which something is looked at, so late wake-ups delay a packet and bend nothing after it;
//! how late each packet left is measured and reported ([`lateness`]).
//!
//! Linux only. Elsewhere everything compiles and [`once`] says that it cannot.

pub mod admission;
pub mod agreement;
pub mod between;
pub mod capture;
pub mod facts;
pub mod lateness;
pub mod live;
pub mod proc;
mod traces;

#[cfg(target_os = "linux")]
pub mod bulk;
#[cfg(target_os = "linux")]
pub mod calibrate;
#[cfg(target_os = "linux")]
pub mod clock;
#[cfg(target_os = "linux")]
pub mod device;
#[cfg(target_os = "linux")]
pub mod driver;
#[cfg(target_os = "linux")]
pub mod elsewhere;
#[cfg(target_os = "linux")]
pub mod foreground;
#[cfg(target_os = "linux")]
pub mod hotline;
#[cfg(target_os = "linux")]
pub mod job;
#[cfg(target_os = "linux")]
pub mod keeper;
#[cfg(target_os = "linux")]
mod kernel;
#[cfg(target_os = "linux")]
pub mod lent;
#[cfg(target_os = "linux")]
mod messages;
#[cfg(target_os = "linux")]
mod once;
#[cfg(target_os = "linux")]
mod ordered;
#[cfg(target_os = "linux")]
pub mod output;
#[cfg(target_os = "linux")]
mod part;
#[cfg(target_os = "linux")]
pub mod plans;
#[cfg(target_os = "linux")]
mod player;
#[cfg(target_os = "linux")]
mod reader;
#[cfg(target_os = "linux")]
pub mod returned;
#[cfg(target_os = "linux")]
pub mod space;
#[cfg(target_os = "linux")]
pub mod stage;
#[cfg(target_os = "linux")]
mod strain;
#[cfg(target_os = "linux")]
mod sys;
#[cfg(target_os = "linux")]
pub mod twin;
#[cfg(target_os = "linux")]
pub mod uplink;
#[cfg(target_os = "linux")]
pub mod user;
#[cfg(target_os = "linux")]
pub mod view;
#[cfg(target_os = "linux")]
mod watch;
#[cfg(target_os = "linux")]
pub mod wire;

#[cfg(target_os = "linux")]
pub use once::{once, play};
#[cfg(target_os = "linux")]
pub use sys::rights;

use base::Span;
use capture::Capture;
use facts::FlowFacts;
use lateness::Timing;
use std::io;
#[cfg(target_os = "linux")]
use std::path::{Path, PathBuf};
#[cfg(target_os = "linux")]
use std::sync::Arc;

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
    /// It was told to stop before it began.
    #[error("stopped before it began")]
    Stopped,
    /// A host that lends machines did not do as it was asked.
    #[error("agent `{name}`: {why}")]
    Agent {
        /// What the user calls it.
        name: String,
        /// What it did instead.
        why: String,
    },
    /// A wire cannot end there.
    #[error("{why}")]
    Wire {
        /// What is wrong with the end.
        why: String,
        /// What would help; may be empty.
        mend: String,
    },
    /// The world outside cannot be reached.
    #[error("the network outside cannot be reached: {0}")]
    Helper(String),
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
            io::ErrorKind::PermissionDenied | io::ErrorKind::NotFound | io::ErrorKind::StorageFull => {
                Error::Rights { what, source } // full: no more namespaces for this user
            }
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
    /// Keep the packets that cross the doors, and what every tap of the path needs.
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

/// Told what the ends of a wire are.
#[cfg(target_os = "linux")]
pub type Opened = Box<dyn Fn(&[wire::WireFacts]) + Send + Sync>;

/// What commands need of the process that plays them.
#[cfg(target_os = "linux")]
#[derive(Default)]
pub struct Surroundings {
    /// This program, to be started as a keeper (see [`keeper`]); without it no command can be played.
    pub program: Option<PathBuf>,
    /// Whose the commands are; none: they stay whose the process is.
    pub user: Option<user::User>,
    /// How many links there are around this one, below [`stage::LEVELS`].
    pub level: u8,
    /// Variables of their environment.
    pub variables: Vec<(String, std::ffi::OsString)>,
    /// The text of their `/etc/resolv.conf`.
    pub resolver: String,
    /// The node by which the world outside is reached, if it is.
    pub uplink: Option<usize>,
    /// Where it goes what they write.
    pub outputs: output::Outputs,
    /// The command in front of the user, if one is: the run ends with it.
    pub foreground: Option<foreground::Foreground>,
    /// What `williwaw trigger` calls it; none: it is not to be called.
    pub called: Option<String>,
    /// Where the driver notes how exact it is, while it runs.
    pub live: Option<Arc<live::Live>>,
    /// What is to be done when the ends of a wire are open, just before the run begins: it is told what they are.
    pub opened: Option<Opened>,
    /// Other hosts that hold nodes of the model, if there are.
    pub elsewhere: Option<Arc<dyn elsewhere::Elsewhere>>,
}

#[cfg(target_os = "linux")]
impl Surroundings {
    /// Those who may call it: whose the process is, and whose the commands are.
    fn users(&self) -> Vec<u32> {
        let mut users = vec![0, sys::process::ids().0];
        users.extend(self.user.as_ref().map(|user| user.uid));
        users
    }

    fn program(&self) -> Result<&Path, Error> {
        self.program.as_deref().ok_or_else(|| Error::Refused {
            what: "starting a command without a program to keep it".into(),
            source: io::ErrorKind::Unsupported.into(),
        })
    }
}

/// What became of a command.
#[cfg(target_os = "linux")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandFacts {
    /// Its name.
    pub name: String,
    /// It served, and was ended when all others were done.
    pub serves: bool,
    /// When and how it ended.
    pub ended: job::Ended,
}

/// A repetition that has been played.
pub struct Outcome {
    /// What was measured, as in virtual time.
    pub ran: lab::once::Outcome,
    /// What the kernels say of the flows that are theirs, by position in the model.
    pub facts: Vec<Option<FlowFacts>>,
    /// What became of the commands, by position in the model.
    #[cfg(target_os = "linux")]
    pub commands: Vec<CommandFacts>,
    /// What each wrote, as of [`output::NAMES`], where that was to be kept in memory.
    #[cfg(target_os = "linux")]
    pub written: Vec<[Vec<u8>; 2]>,
    /// What there is to tell of the ends of a wire, if there is one.
    #[cfg(target_os = "linux")]
    pub wires: Vec<wire::WireFacts>,
    /// How exact it was.
    pub timing: Timing,
    /// What crossed the doors, if that was wanted.
    pub capture: Option<Capture>,
}

impl Outcome {
    /// What was seen at every tap of the path, if packets were kept.
    pub fn at_all_taps(&self, model: &scenario::Model) -> Option<lab::capture::Capture<'_>> {
        Some(self.capture.as_ref()?.at_all_taps(model, &self.ran.world))
    }

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
