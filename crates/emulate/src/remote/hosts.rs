//! Interface to remote hosts of an emulation (`RemoteHosts`): orders for nodes, flow ends and commands, and their
//! results, as serialisable data.
//!
//! The transport between hosts is implemented elsewhere (crate `agent`).

use super::results::EndResult;
use crate::Error;
use crate::accuracy::overhead::Overhead;
use crate::sockets::spec::EndWork;
pub use crate::sockets::spec::{KernelSettings, ReadLimit};
use netns::clock::Clock;
use netns::device::Device;
use netns::keeper::Status;
use serde::{Deserialize, Serialize};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::atomic::AtomicBool;

/// Remote hosts with nodes of a model.
pub trait RemoteHosts: Send + Sync {
    /// Whether a remote host holds the node of this name.
    fn holds(&self, node: &str) -> bool;
    /// Prepares all ordered resources and starts servers. Returns the devices: of the nodes, then of the flow ends, in
    /// the order of `orders`.
    ///
    /// # Errors
    /// A host refused the orders or is lost.
    fn prepare(&self, orders: Orders, stop: &AtomicBool) -> Result<Vec<Device>, Error>;
    /// Starts all hosts on this clock.
    ///
    /// # Errors
    /// A host is lost.
    fn start(&self, clock: Clock) -> Result<(), Error>;
    /// Calls `done` for each flow end and awaited command that is done; returns after `over`.
    ///
    /// # Errors
    /// A host is lost.
    fn attend(&self, over: &AtomicBool, done: &(dyn Fn() + Sync)) -> Result<(), Error>;
    /// Ends all resources and collects the results.
    ///
    /// # Errors
    /// A host is lost.
    fn finish(&self) -> Result<(RemoteResults, Overhead), Error>;
}

/// Resources to create and commands to run on remote hosts.
#[derive(Clone, Default, Debug, PartialEq, Serialize, Deserialize)]
pub struct Orders {
    /// Nodes with commands.
    pub machines: Vec<MachineOrder>,
    /// Kernel ends of flows.
    pub ends: Vec<EndOrder>,
    /// Commands at these nodes.
    pub commands: Vec<CommandOrder>,
    /// Content of `/etc/hosts`.
    pub hosts: String,
    /// Content of `/etc/resolv.conf`.
    pub resolver: String,
    /// Time limit of the run, ns from t = 0.
    pub limit_ns: u64,
    /// Request real-time priority for workload threads.
    pub realtime: bool,
    /// Segmentation offload at the TUN devices, where the kernel has it.
    #[serde(default)]
    pub offload: bool,
}

/// Order of a node with a network namespace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineOrder {
    /// Name of the node.
    pub node: String,
    /// IPv4 and IPv6 addresses.
    pub at: (Ipv4Addr, Ipv6Addr),
    /// Kernel settings.
    pub linux: KernelSettings,
}

/// Order of a flow end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EndOrder {
    /// Name of the node.
    pub node: String,
    /// Index of the flow in the model.
    pub flow: usize,
    /// Active end: opens connections or sends messages.
    pub opens: bool,
    /// Kernel settings.
    pub linux: KernelSettings,
    /// The flow uses IPv6.
    #[serde(default)]
    pub six: bool,
    /// Start of the active end, ns from t = 0.
    pub start_ns: u64,
    /// Workload of the flow.
    pub work: EndWork,
}

/// Order of a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandOrder {
    /// Name of the node.
    pub node: String,
    /// Index of the command in the model.
    pub command: usize,
    /// Command line for `/bin/sh`.
    pub run: String,
    /// Start, ns from t = 0.
    pub start_ns: u64,
    /// The command is a server: started before t = 0 and ended when all other commands are done.
    pub serves: bool,
}

/// Results of all ordered resources.
#[derive(Clone, Default, Debug, PartialEq, Serialize, Deserialize)]
pub struct RemoteResults {
    /// Results of flow ends.
    pub ends: Vec<EndResult>,
    /// Results of commands.
    pub commands: Vec<CommandResult>,
    /// Packets dropped by devices.
    pub overrun: u64,
}

/// Result of a command.
#[derive(Clone, Default, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandResult {
    /// Index of the command.
    pub command: usize,
    /// Start, ns from t = 0; None: not started.
    pub started_ns: Option<u64>,
    /// Exit by itself, ns from t = 0; None: it was ended.
    pub ended_ns: Option<u64>,
    /// Exit status.
    pub status: Option<Status>,
    /// Problems, for example missing files.
    pub lacks: Vec<String>,
    /// Standard output and standard error; transferred separately.
    #[serde(skip)]
    pub outputs: [Vec<u8>; 2],
}
