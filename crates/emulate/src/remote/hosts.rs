//! Interface of remote worker hosts: orders and returned results as plain data.
//!
//! Serialisable data; the transport between hosts is implemented elsewhere.

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

/// Remote hosts that hold nodes of a model.
pub trait RemoteHosts: Send + Sync {
    /// Whether a remote host holds the node of this name.
    fn holds(&self, node: &str) -> bool;
    /// Prepares all resources and starts servers. Returns devices: those of the machines, then those of flow
    /// ends, in order.
    ///
    /// # Errors
    /// A host refused the orders or is lost.
    fn prepare(&self, orders: Orders, stop: &AtomicBool) -> Result<Vec<Device>, Error>;
    /// Starts all hosts by this clock.
    ///
    /// # Errors
    /// A host is lost.
    fn start(&self, clock: Clock) -> Result<(), Error>;
    /// Calls `done` when a flow end or an awaited command is done; returns at `over`.
    ///
    /// # Errors
    /// A host is gone.
    fn attend(&self, over: &AtomicBool, done: &(dyn Fn() + Sync)) -> Result<(), Error>;
    /// Ends everything and collects the results.
    ///
    /// # Errors
    /// A host is gone.
    fn finish(&self) -> Result<(RemoteResults, Overhead), Error>;
}

/// Resources to create and commands to run.
#[derive(Clone, Default, Debug, PartialEq, Serialize, Deserialize)]
pub struct Orders {
    /// Machines.
    pub machines: Vec<MachineOrder>,
    /// Kernel ends of flows.
    pub ends: Vec<EndOrder>,
    /// Commands at these machines.
    pub commands: Vec<CommandOrder>,
    /// Content of `/etc/hosts`.
    pub hosts: String,
    /// Content of `/etc/resolv.conf`.
    pub resolver: String,
    /// End of all flows, ns.
    pub limit_ns: u64,
    /// Request real-time priority for workload threads.
    pub realtime: bool,
}

/// A machine to create.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineOrder {
    /// Name of its node.
    pub node: String,
    /// Its IPv4 and IPv6 addresses.
    pub at: (Ipv4Addr, Ipv6Addr),
    /// Kernel settings.
    pub linux: KernelSettings,
}

/// A flow end to create.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EndOrder {
    /// Name of its node.
    pub node: String,
    /// Index of the flow in the model.
    pub flow: usize,
    /// Active end: opens connections or sends messages.
    pub opens: bool,
    /// Kernel settings.
    pub linux: KernelSettings,
    /// The flow goes over version 6 of IP.
    #[serde(default)]
    pub six: bool,
    /// Start, ns.
    pub start_ns: u64,
    /// Its workload.
    pub work: EndWork,
}

/// A command to run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandOrder {
    /// Name of its node.
    pub node: String,
    /// Index of the command in the model.
    pub command: usize,
    /// Command line for `/bin/sh`.
    pub run: String,
    /// Start, ns.
    pub start_ns: u64,
    /// Server: started before t = 0 and ended when all others are done.
    pub serves: bool,
}

/// Results of all resources.
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
    /// Start, ns.
    pub started_ns: Option<u64>,
    /// Exit by itself, ns.
    pub ended_ns: Option<u64>,
    /// Exit status.
    pub status: Option<Status>,
    /// Missing files and other problems.
    pub lacks: Vec<String>,
    /// Standard output and standard error; sent separately.
    #[serde(skip)]
    pub outputs: [Vec<u8>; 2],
}
