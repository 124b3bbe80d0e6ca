//! Real Linux kernels as endpoints in virtual time: User-Mode Linux guests, their calendar, network card and
//! driver.
//!
//! A User-Mode Linux kernel runs as an ordinary process. With `time-travel=ext` it does not advance its clock
//! but queries a calendar for the time ([`calendar`], over messages or a [`schedule`] in shared memory). Its
//! network card is implemented here as well ([`nic`], over [`vhost`] messages and [`ring`] queues). Calendar and
//! network card are free of I/O; [`guest`] owns the process and its sockets. [`drive`] alternates between network
//! and kernels, [`once`] runs a repetition of a scenario.
//!
//! Input is delivered to a kernel only while every kernel waits, so a run is deterministic. Linux only.

pub mod calendar;
pub mod kernel;
pub mod nic;
pub mod ring;
pub mod schedule;
pub mod task;
pub mod vhost;
pub mod workload_protocol;

#[cfg(target_os = "linux")]
mod cpu;
#[cfg(target_os = "linux")]
pub mod drive;
#[cfg(target_os = "linux")]
mod folder;
#[cfg(target_os = "linux")]
pub mod guest;
#[cfg(target_os = "linux")]
mod guest_nodes;
mod kernel_nodes;
#[cfg(target_os = "linux")]
mod memory;
#[cfg(target_os = "linux")]
mod once;
#[cfg(target_os = "linux")]
mod pcu;
#[cfg(target_os = "linux")]
mod sys;

#[cfg(target_os = "linux")]
pub use folder::tidy;
#[cfg(target_os = "linux")]
pub use once::once;

/// Removes remains of killed runs: nothing on this system.
#[cfg(not(target_os = "linux"))]
pub fn tidy(_place: &std::path::Path) {}

use lab::capture::ports::Capture;
use netns::facts::FlowFacts;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// Reason why guest kernels could not be run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A kernel violated a protocol, or exited.
    #[error("the kernel of {name}: {what}{console}")]
    Guest {
        /// Name of the guest.
        name: String,
        /// What happened.
        what: String,
        /// Last lines of its console; may be empty.
        console: String,
        /// Remedy; may be empty.
        mend: &'static str,
    },
    /// The system refused an operation.
    #[error("{what}: {source}")]
    Refused {
        /// Operation.
        what: String,
        /// Error of the system.
        source: io::Error,
    },
    /// The scenario requires a feature that is not available in virtual time.
    #[error("{what}")]
    Asked {
        /// Requirement.
        what: String,
        /// Remedy.
        mend: String,
    },
}

impl Error {
    pub(crate) fn of(what: impl Into<String>) -> impl FnOnce(io::Error) -> Error {
        let what = what.into();
        move |source| Error::Refused { what, source }
    }

    pub(crate) fn guest(name: &str, what: String, console: &[u8]) -> Error {
        let text = String::from_utf8_lossy(console);
        let lines: Vec<&str> = text.lines().map(str::trim_end).filter(|l| !l.is_empty()).collect();
        let mut shown = String::new();
        for line in lines.iter().skip(lines.len().saturating_sub(LINES)) {
            shown.push_str("\n  | ");
            shown.extend(line.chars().filter(|c| !c.is_control()).take(200));
        }
        Error::Guest { name: name.to_owned(), what, console: shown, mend: "" }
    }

    pub(crate) fn mend(mut self, how: &'static str) -> Error {
        if let Error::Guest { mend, .. } = &mut self {
            *mend = how;
        }
        self
    }

    /// Remedy; may be empty.
    pub fn help(&self) -> &str {
        match self {
            Error::Guest { mend, .. } => mend,
            Error::Refused { .. } => "",
            Error::Asked { mend, .. } => mend,
        }
    }
}

/// Kernel time at t = 0 of the network, which leaves time to boot.
pub const BOOT: base::Span = base::Span::from_secs(2);

/// Runs one repetition: not supported on this system.
///
/// # Errors
/// Always: guest kernels need Linux.
#[cfg(not(target_os = "linux"))]
pub fn once(
    _model: &scenario::Model,
    _repetition: u64,
    _kernels: &Kernels,
    _options: &Options,
    _stop: &std::sync::atomic::AtomicBool,
) -> Result<KernelOutcome, Error> {
    Err(Error::Asked { what: "kernels in virtual time need Linux".into(), mend: String::new() })
}

/// Number of console lines of an exited kernel in an error message.
const LINES: usize = 12;

/// Paths and limits of guest kernels.
#[derive(Clone, Debug)]
pub struct Kernels {
    /// Default kernel.
    pub kernel: PathBuf,
    /// Folder of named kernels, each in a folder of its name.
    pub named: PathBuf,
    /// Init program of a guest.
    pub init: PathBuf,
    /// Preloaded library that replaces sources of randomness.
    pub chance: PathBuf,
    /// Parent of the working folders of guests.
    pub place: PathBuf,
    /// Real time for which a running kernel may be silent.
    pub patience: Duration,
    /// Folder in which programs start, if it exists below their root; base of relative roots.
    pub folder: PathBuf,
}

impl Kernels {
    /// Kernel of a scenario: a path, or the name of a built kernel.
    ///
    /// # Errors
    /// There is no such kernel.
    pub fn find(&self, name: Option<&str>) -> Result<PathBuf, Error> {
        let Some(name) = name else { return Ok(self.kernel.clone()) };
        let path = if name.contains('/') { PathBuf::from(name) } else { self.named.join(name).join("linux") };
        if path.is_file() {
            // Absolute path, since the kernel starts in another folder.
            return Ok(std::path::absolute(&path).unwrap_or(path));
        }
        Err(Error::Asked {
            what: format!("there is no kernel `{name}`"),
            mend: format!(
                "build it: williwaw linux build --name {name}; `williwaw linux list` names those there are"
            ),
        })
    }
}

/// Optional records of a run.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Options {
    /// Record the events of path and transport.
    pub trace: bool,
    /// Capture the packets at the packet ports.
    pub capture: bool,
    /// Interval of `TCP_INFO` samples of senders, in virtual time; none: one sample at the end.
    pub look: Option<base::Span>,
}

/// Result of a command.
#[cfg(target_os = "linux")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// Start, end and exit status, as in real time.
    pub facts: netns::job::CommandFacts,
    /// Standard output and standard error.
    pub wrote: [Vec<u8>; 2],
}

/// Result of a repetition with kernels.
pub struct KernelOutcome {
    /// Outcome with the metrics of all flows.
    pub ran: lab::once::RunOutcome,
    /// Kernel counters and `TCP_INFO` of real flows, by index in the model.
    pub facts: Vec<Option<FlowFacts>>,
    /// Results of commands, by index in the model.
    #[cfg(target_os = "linux")]
    pub commands: Vec<Command>,
    /// Packets at the packet ports, if captured.
    pub capture: Option<Capture>,
}
