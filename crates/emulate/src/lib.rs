//! Real-time emulation: the network of a scenario under the machine's clock, with kernels and programs at its ends.
//!
//! The elements of the path are those of virtual time, from the same scenario and builder. Each real end has an
//! anonymous network namespace with one TUN device ([`netns`]). One thread reads packets, advances the network and
//! writes packets ([`driver`]). Logical time follows arrival stamps only, so a late wake-up delays one packet without
//! further effects. The lateness of each packet is measured ([`accuracy`]).
//!
//! | part | content |
//! |---|---|
//! | [`driver`] | real-time thread, trigger socket, CPU budget |
//! | [`once`], [`play`] | one repetition: nodes with commands, threads, results |
//! | [`link_process`] | programs that determine delivery times of a link, under either clock |
//! | [`wire`] | links between interfaces or serial lines of this host |
//! | `sockets` | workloads over kernel sockets |
//! | [`remote`] | nodes and flow ends on other hosts |
//! | [`accuracy`] | lateness and faithfulness of a run |
//! | [`agreement`], [`self_check`] | TCP model compared with Linux; one model under both clocks |
//!
//! Linux only. Elsewhere the crate compiles and [`once`] returns an error.

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
use lab::capture::ports::Capture;
use netns::facts::FlowFacts;
use std::io;
#[cfg(target_os = "linux")]
use std::path::{Path, PathBuf};
#[cfg(target_os = "linux")]
use std::sync::Arc;

/// Reason why an emulation failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The system lacks something or refused an operation.
    #[error(transparent)]
    Kernel(#[from] netns::Error),
    /// The run was stopped before it began.
    #[error("stopped before it began")]
    Stopped,
    /// A remote host failed or refused its orders.
    #[error("agent `{name}`: {why}")]
    Agent {
        /// Name of the agent, as given by the user.
        name: String,
        /// Reason.
        why: String,
    },
    /// A link process failed.
    #[error("{0}")]
    LinkProcess(String),
    /// An interface or serial line cannot be the end of a wire.
    #[error("{why}")]
    Wire {
        /// Problem of the end.
        why: String,
        /// Remedy; may be empty.
        mend: String,
    },
}

#[cfg(target_os = "linux")]
impl Error {
    /// Error of the operation `what`, which the system refused.
    pub fn of(what: impl Into<String>) -> impl FnOnce(io::Error) -> Error {
        let refused = netns::Error::of(what);
        move |source| refused(source).into()
    }
}

/// Options of an emulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Record the trace of path and transport.
    pub trace: bool,
    /// Capture packets at the packet ports, and record what the taps of the path need.
    pub capture: bool,
    /// Request real-time priority; without permission the run continues at normal priority.
    pub realtime: bool,
    /// Segmentation offload at the TUN devices, where the kernel has it.
    pub offload: bool,
    /// Time before a due packet at which the driver stops sleeping and spins, if it has real-time priority.
    pub spin: Span,
    /// Lateness that at most 1 % of packets may exceed in a faithful run.
    pub lateness_limit: Span,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            trace: false,
            capture: false,
            realtime: true,
            offload: true,
            spin: Span::ZERO,
            lateness_limit: Span::from_millis(1),
        }
    }
}

/// Callback that receives facts about the opened ends of a wire.
#[cfg(target_os = "linux")]
pub type Opened = Box<dyn Fn(&[wire::WireFacts]) + Send + Sync>;

/// Environment of the commands and of the run, from the calling process.
#[cfg(target_os = "linux")]
#[derive(Default)]
pub struct Surroundings {
    /// Path of this program, started as a keeper (see [`keeper`]); without it commands cannot run.
    pub program: Option<PathBuf>,
    /// User of the commands; None: the user of this process.
    pub user: Option<netns::user::User>,
    /// Number of emulations in which this one is nested, below [`lab::node_addresses::LEVELS`].
    pub level: u8,
    /// Environment variables of the commands.
    pub variables: Vec<(String, std::ffi::OsString)>,
    /// Content of `/etc/resolv.conf`.
    pub resolver: String,
    /// Node with the uplink to the host's network, if any.
    pub uplink: Option<usize>,
    /// Destination of the commands' output.
    pub outputs: netns::output::Outputs,
    /// Foreground command, if any: the run ends with it.
    pub foreground: Option<netns::foreground::Foreground>,
    /// Name for `williwaw trigger`; None: no trigger socket.
    pub called: Option<String>,
    /// Live counters that the driver updates, if any.
    pub live: Option<Arc<crate::accuracy::live::Live>>,
    /// Callback when the ends of a wire are open, directly before the run begins.
    pub opened: Option<Opened>,
    /// Remote hosts with nodes of the model, if any.
    pub elsewhere: Option<Arc<dyn crate::remote::hosts::RemoteHosts>>,
}

#[cfg(target_os = "linux")]
impl Surroundings {
    /// Users that may trigger the emulation: root, the user of the process, the user of the commands.
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

/// Result of one repetition.
pub struct EmulationOutcome {
    /// Measurements and network, as in virtual time.
    pub ran: lab::once::RunOutcome,
    /// Kernel facts of flows with a kernel or program at an end, by index in the model.
    pub facts: Vec<Option<FlowFacts>>,
    /// Results of the commands, by index in the model.
    #[cfg(target_os = "linux")]
    pub commands: Vec<netns::job::CommandFacts>,
    /// Output of each command, in the order of [`netns::output::NAMES`], if kept in memory.
    #[cfg(target_os = "linux")]
    pub written: Vec<[Vec<u8>; 2]>,
    /// Facts about the ends of a wire; empty without a wire.
    #[cfg(target_os = "linux")]
    pub wires: Vec<wire::WireFacts>,
    /// Timing accuracy of the run.
    pub timing: Timing,
    /// Packets at the packet ports, if captured.
    pub capture: Option<Capture>,
}

impl EmulationOutcome {
    /// Packets at every tap of the path, if captured.
    pub fn at_all_taps(&self, model: &scenario::Model) -> Option<lab::capture::Capture<'_>> {
        Some(self.capture.as_ref()?.at_all_taps(model, &self.ran.world))
    }

    /// Reason why the run is not faithful, if it is not.
    pub fn unfaithful(&self, options: &Options) -> Option<String> {
        self.timing.fault(options.lateness_limit)
    }
}

/// Emulation of one repetition, which this system does not support.
///
/// # Errors
/// Always [`netns::Error::System`].
#[cfg(not(target_os = "linux"))]
pub fn once(
    _model: &scenario::Model,
    _repetition: u64,
    _options: &Options,
    _stop: &std::sync::atomic::AtomicBool,
) -> Result<EmulationOutcome, Error> {
    Err(netns::Error::System.into())
}
