//! Real-time emulation: the network of a scenario under the machine's clock, with real stacks at its ends.
//!
//! The elements between the ends are those of virtual time, built by the same builder from the same file. Each end gets a
//! port to a kernel ([`netns`]: an anonymous network namespace with one TUN device), and one thread reads, advances
//! the model and writes ([`driver`]). Logical time consists of arrival stamps, never of the moment of a look, so a late
//! wake-up delays a packet and changes nothing after it. The lateness of each packet is measured ([`accuracy`]).
//!
//! | part | what it holds |
//! |---|---|
//! | [`driver`] | the real-time thread, its triggers and its CPU budget |
//! | [`once`], [`play`] | one repetition: machines of commands, threads, results |
//! | [`link_process`] | programs that serve links, under either clock |
//! | [`wire`] | links between interfaces or serial lines of this host |
//! | `sockets` | workloads over kernel sockets |
//! | [`remote`] | nodes and flow ends at other hosts |
//! | [`accuracy`] | lateness and faithfulness of a run |
//! | [`agreement`], [`self_check`] | the Linux model held against Linux; one model under both clocks |
//!
//! Linux only. Elsewhere everything compiles and [`once`] returns an error.

pub mod accuracy;
pub mod agreement;
#[cfg(target_os = "linux")]
pub mod driver;
#[cfg(unix)]
pub mod link_process;
pub mod remote;
#[cfg(target_os = "linux")]
mod run;
#[cfg(target_os = "linux")]
mod sockets;
#[cfg(target_os = "linux")]
pub mod wire;

#[cfg(target_os = "linux")]
pub use driver::self_check;
pub use netns::rights;
#[cfg(target_os = "linux")]
pub use run::{once, play};

use crate::accuracy::lateness::Timing;
use base::Span;
use lab::capture::doors::Capture;
use netns::facts::FlowFacts;
use std::io;
#[cfg(target_os = "linux")]
use std::path::{Path, PathBuf};
#[cfg(target_os = "linux")]
use std::sync::Arc;

/// Why nothing could be emulated.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The system lacks or refused something.
    #[error(transparent)]
    Kernel(#[from] netns::Error),
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
    /// A program that serves a link did not do as it should.
    #[error("{0}")]
    LinkProcess(String),
    /// A wire cannot end there.
    #[error("{why}")]
    Wire {
        /// What is wrong with the end.
        why: String,
        /// What would help; may be empty.
        mend: String,
    },
}

#[cfg(target_os = "linux")]
impl Error {
    /// The system refused an operation.
    pub fn of(what: impl Into<String>) -> impl FnOnce(io::Error) -> Error {
        let refused = netns::Error::of(what);
        move |source| refused(source).into()
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
    pub user: Option<netns::user::User>,
    /// How many links there are around this one, below [`lab::machines::LEVELS`].
    pub level: u8,
    /// Variables of their environment.
    pub variables: Vec<(String, std::ffi::OsString)>,
    /// The text of their `/etc/resolv.conf`.
    pub resolver: String,
    /// The node by which the world outside is reached, if it is.
    pub uplink: Option<usize>,
    /// Where it goes what they write.
    pub outputs: netns::output::Outputs,
    /// The command in front of the user, if one is: the run ends with it.
    pub foreground: Option<netns::foreground::Foreground>,
    /// What `williwaw trigger` calls it; none: it is not to be called.
    pub called: Option<String>,
    /// Where the driver notes how exact it is, while it runs.
    pub live: Option<Arc<crate::accuracy::live::Live>>,
    /// What is to be done when the ends of a wire are open, just before the run begins: it is told what they are.
    pub opened: Option<Opened>,
    /// Other hosts that hold nodes of the model, if there are.
    pub elsewhere: Option<Arc<dyn crate::remote::hosts::Elsewhere>>,
}

#[cfg(target_os = "linux")]
impl Surroundings {
    /// Those who may call it: whose the process is, and whose the commands are.
    fn users(&self) -> Vec<u32> {
        let mut users = vec![0, netns::sys::process::ids().0];
        users.extend(self.user.as_ref().map(|user| user.uid));
        users
    }

    fn program(&self) -> Result<&Path, Error> {
        self.program.as_deref().ok_or_else(|| {
            Error::of("starting a command without a program to keep it")(io::ErrorKind::Unsupported.into())
        })
    }
}

/// A repetition that has been played.
pub struct Outcome {
    /// What was measured, as in virtual time.
    pub ran: lab::once::Outcome,
    /// What the kernels say of the flows that are theirs, by position in the model.
    pub facts: Vec<Option<FlowFacts>>,
    /// What became of the commands, by position in the model.
    #[cfg(target_os = "linux")]
    pub commands: Vec<netns::job::CommandFacts>,
    /// What each wrote, as of [`netns::output::NAMES`], where that was to be kept in memory.
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
