//! Exit codes of the verbs (`ExitStatus`), and error messages with remedies (`Failure`).

use results::Error;
use scenario::{Diagnostics, Style};

/// Exit status of a verb.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExitStatus {
    /// Success.
    Good,
    /// The verb ran, and an expectation, claim or command failed.
    Failed,
    /// The command line or the scenario is wrong.
    Usage,
    /// This machine lacks a requirement, or an operation of the system failed.
    Machine,
    /// The lateness of a run in real time exceeded its limit.
    Unfaithful,
    /// The gate is undecided after the maximum number of repetitions.
    Undecided,
    /// The user interrupted the verb.
    Interrupted,
    /// Exit code of a command, passed on by `shell`.
    Command(u8),
}

impl ExitStatus {
    /// Exit code of the process.
    pub(crate) const fn code(self) -> u8 {
        match self {
            ExitStatus::Good => 0,
            ExitStatus::Failed => 1,
            ExitStatus::Usage => 2,
            ExitStatus::Machine => 3,
            ExitStatus::Unfaithful => 4,
            ExitStatus::Undecided => 5,
            ExitStatus::Interrupted => 130,
            ExitStatus::Command(code) => code,
        }
    }
}

/// Error of a verb: exit status and message.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) end: ExitStatus,
    pub(crate) why: CliError,
}

/// Error message and remedy.
#[derive(Debug)]
pub(crate) enum CliError {
    /// Message, and remedy (may be empty).
    Sentence(String, String),
    /// Mistakes in a scenario, each with its place.
    Scenario(Box<Diagnostics>),
}

/// Message as one text for another host, without colours. The remedy is included for usage errors only, because other
/// remedies apply to the host at which they arise.
impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.why {
            CliError::Sentence(message, remedy) if self.end == ExitStatus::Usage && !remedy.is_empty() => {
                write!(f, "{message} ({remedy})")
            }
            CliError::Sentence(message, _) => f.write_str(message),
            CliError::Scenario(diagnostics) => f.write_str(&diagnostics.render(Style::default())),
        }
    }
}

impl Failure {
    /// Usage error: message and remedy.
    pub(crate) fn usage(message: impl Into<String>, remedy: impl Into<String>) -> Failure {
        Failure { end: ExitStatus::Usage, why: CliError::Sentence(message.into(), remedy.into()) }
    }

    /// Error of this machine: message and remedy.
    pub(crate) fn machine(message: impl Into<String>, remedy: impl Into<String>) -> Failure {
        Failure { end: ExitStatus::Machine, why: CliError::Sentence(message.into(), remedy.into()) }
    }

    /// Error about the flow or command `name` with a real kernel, for a verb without kernels.
    pub(crate) fn real(name: &str) -> Failure {
        Failure::usage(
            format!(
                "`{name}` is a command, uses a real kernel's TCP or is served by a program, and this verb runs models only"
            ),
            format!(
                "use `williwaw emulate` or `williwaw run`, or replace a flow by a model: --set flow.{name}.transport=tcp"
            ),
        )
    }

    /// Error about an output that needs a second run of a repetition, because a program serves hop `hop`.
    pub(crate) fn twice(output: &str, hop: &str) -> Failure {
        Failure::usage(
            format!("`{output}` plays a repetition again, and the program of hop `{hop}` is not run twice"),
            "`williwaw emulate --captures` records packets, and `plot` draws the recorded packets",
        )
    }

    /// Error about a node at which a wire ends, for a verb without wires.
    pub(crate) fn wire(node: &str) -> Failure {
        Failure::usage(
            format!("`{node}` is the end of a wire, and this verb has no wires"),
            "`williwaw wire --scenario FILE` plays it; without `wire` at its nodes it can be run",
        )
    }

    /// Error about a file that cannot be written.
    pub(crate) fn write(path: &std::path::Path, error: &std::io::Error) -> Failure {
        Failure::machine(
            format!("cannot write `{}`: {error}", path.display()),
            "choose a writable place with room on its disk",
        )
    }
}

impl From<Diagnostics> for Failure {
    fn from(diagnostics: Diagnostics) -> Self {
        Failure { end: ExitStatus::Usage, why: CliError::Scenario(Box::new(diagnostics)) }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let message = error.to_string();
        match error {
            Error::Occupied { .. } => {
                Failure::usage(message, "continue it with --resume, or give --out another folder")
            }
            Error::Locked { .. } => Failure::usage(message, "wait until it is done, or stop it"),
            Error::OtherRun { .. } => Failure::usage(
                message,
                "resume a run with the scenario, seed and version with which it began",
            ),
            Error::Empty { .. } | Error::Header(_) => Failure::usage(message, ""),
            Error::Damaged { .. } | Error::NotAJournal { .. } | Error::NotFlows { .. } => {
                Failure::machine(message, "another program changed the file; begin a new run")
            }
            Error::Io { source, .. } if source.kind() == std::io::ErrorKind::StorageFull => Failure::machine(
                message,
                "finished repetitions are kept: make room and continue with --resume FOLDER, or choose another place with --out",
            ),
            Error::Io { .. } => {
                Failure::machine(message, "choose a writable place with --out, or none with --no-out")
            }
            _ => Failure::machine(message, ""),
        }
    }
}

impl From<lab::sweep::SweepError> for Failure {
    fn from(error: lab::sweep::SweepError) -> Self {
        use lab::sweep::SweepError;
        match error {
            SweepError::Scenario(diagnostics) => diagnostics.into(),
            SweepError::Results(error) => error.into(),
            SweepError::Threads(why) => {
                Failure::machine(format!("cannot start threads: {why}"), "give --jobs a smaller number")
            }
            SweepError::Fault(text) => Failure::machine(
                format!("a fault in williwaw itself: {text}"),
                "the other repetitions are kept; please report this together with the scenario file",
            ),
            SweepError::Real(flow) => Failure::real(&flow),
            SweepError::Refused(why) if why.asked => Failure::usage(why.message, why.mend),
            SweepError::Refused(why) => Failure::machine(why.message, why.mend),
            other => Failure::machine(format!("{other:?}"), ""),
        }
    }
}
