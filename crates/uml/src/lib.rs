//! The real Linux kernel as an endpoint, in virtual time.
//!
//! A kernel built for User-Mode Linux runs as an ordinary process and, with `time-travel=ext`, owns no clock: it asks
//! a calendar for the time and waits for its turn ([`calendar`]). Its network card is ours as well ([`nic`], over
//! [`vhost`] messages and [`ring`] queues). Both are data in and data out; [`guest`] owns the process and its sockets.
//! [`drive`] lets a network and its kernels take turns, [`once`] plays a repetition of a scenario.
//!
//! Nothing reaches a kernel but while every kernel waits, so a run depends on nothing but its input. Linux only.

pub mod calendar;
pub mod kernel;
pub mod nic;
pub mod ring;
pub mod task;
pub mod vhost;
pub mod words;

#[cfg(target_os = "linux")]
pub mod drive;
#[cfg(target_os = "linux")]
mod folder;
#[cfg(target_os = "linux")]
pub mod guest;
#[cfg(target_os = "linux")]
mod machines;
#[cfg(target_os = "linux")]
mod memory;
#[cfg(target_os = "linux")]
mod once;
#[cfg(target_os = "linux")]
mod pcu;
mod post;
#[cfg(target_os = "linux")]
mod sys;

#[cfg(target_os = "linux")]
pub use folder::tidy;
#[cfg(target_os = "linux")]
pub use once::once;

/// Removes what killed runs have left behind: nothing, here.
#[cfg(not(target_os = "linux"))]
pub fn tidy(_place: &std::path::Path) {}

use lab::capture::doors::Capture;
use netns::facts::FlowFacts;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// Why kernels could not be run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A kernel did what it may not, or died.
    #[error("the kernel of {name}: {what}{console}")]
    Guest {
        /// Which.
        name: String,
        /// What happened.
        what: String,
        /// The end of its console, on lines of its own; may be empty.
        console: String,
        /// How to mend it; may be empty.
        mend: &'static str,
    },
    /// The system refused something.
    #[error("{what}: {source}")]
    Refused {
        /// What was tried.
        what: String,
        /// How it was refused.
        source: io::Error,
    },
    /// The scenario asks for what cannot be in virtual time.
    #[error("{what}")]
    Asked {
        /// What.
        what: String,
        /// How to mend it.
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

    /// How to mend it; may be empty.
    pub fn help(&self) -> &str {
        match self {
            Error::Guest { mend, .. } => mend,
            Error::Refused { .. } => "",
            Error::Asked { mend, .. } => mend,
        }
    }
}

/// What time a kernel has at t = 0 of the network: it boots before.
pub const BOOT: base::Span = base::Span::from_secs(2);

/// Plays one repetition: not here.
///
/// # Errors
/// Always: kernels of this kind run on Linux.
#[cfg(not(target_os = "linux"))]
pub fn once(
    _model: &scenario::Model,
    _repetition: u64,
    _kernels: &Kernels,
    _options: &Options,
    _stop: &std::sync::atomic::AtomicBool,
) -> Result<Outcome, Error> {
    Err(Error::Asked { what: "kernels in virtual time need Linux".into(), mend: String::new() })
}

/// Lines of a dead kernel's console that are shown.
const LINES: usize = 12;

/// The kernels there are, and what goes with them.
#[derive(Clone, Debug)]
pub struct Kernels {
    /// The one that is used where a scenario names none.
    pub kernel: PathBuf,
    /// Where kernels lie that a scenario names, each in a folder with its name.
    pub named: PathBuf,
    /// The first process of a guest.
    pub init: PathBuf,
    /// What gives it chance.
    pub chance: PathBuf,
    /// Where folders of guests are made.
    pub place: PathBuf,
    /// How long a kernel may be silent while it runs.
    pub patience: Duration,
    /// The folder in which programs start, if the root that they see has it; roots are named from here.
    pub folder: PathBuf,
}

impl Kernels {
    /// The kernel that a scenario names: a path, or the name of one that was built.
    ///
    /// # Errors
    /// There is none.
    pub fn find(&self, name: Option<&str>) -> Result<PathBuf, Error> {
        let Some(name) = name else { return Ok(self.kernel.clone()) };
        let path = if name.contains('/') { PathBuf::from(name) } else { self.named.join(name).join("linux") };
        if path.is_file() {
            // It is started in a folder of its own.
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

/// What to keep of a run.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Options {
    /// The events of path and transport.
    pub trace: bool,
    /// The packets that cross the doors.
    pub capture: bool,
    /// The senders' `TCP_INFO` at these intervals of virtual time; none: at the end only.
    pub look: Option<base::Span>,
}

/// A command that was played.
#[cfg(target_os = "linux")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// What became of it, as in real time.
    pub facts: netns::job::CommandFacts,
    /// What it wrote to its standard output and to its standard error.
    pub wrote: [Vec<u8>; 2],
}

/// A repetition that has been played.
pub struct Outcome {
    /// What was measured, as of models.
    pub ran: lab::once::Outcome,
    /// What the kernels say of the flows that are theirs, by position in the model.
    pub facts: Vec<Option<FlowFacts>>,
    /// What became of the commands, by position in the model.
    #[cfg(target_os = "linux")]
    pub commands: Vec<Command>,
    /// What crossed the doors, if that was wanted.
    pub capture: Option<Capture>,
}
