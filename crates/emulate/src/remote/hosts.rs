//! Interface of remote worker hosts: orders and returned results as plain data.
//!
//! Plain words, which a line between hosts can carry; how they are carried is not known here.

use super::results::EndReturned;
use crate::Error;
use crate::accuracy::overhead::Between;
use crate::sockets::spec::EndWork;
pub use crate::sockets::spec::{Setting, Slowly};
use netns::clock::Clock;
use netns::device::Device;
use netns::keeper::Status;
use serde::{Deserialize, Serialize};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::atomic::AtomicBool;

/// Hosts that hold nodes of a model.
pub trait Elsewhere: Send + Sync {
    /// Whether one of them holds the node of this name.
    fn holds(&self, node: &str) -> bool;
    /// Has everything made ready, and servers started. Gives the ways to the devices: those of the machines, then
    /// those of the ends of flows, in their order.
    ///
    /// # Errors
    /// A host refused, or is gone.
    fn prepare(&self, orders: Orders, stop: &AtomicBool) -> Result<Vec<Device>, Error>;
    /// Has all of them start by this clock.
    ///
    /// # Errors
    /// A host is gone.
    fn start(&self, clock: Clock) -> Result<(), Error>;
    /// Calls `done` for each end of a flow and each command that is waited for, when it is done; until `over`.
    ///
    /// # Errors
    /// A host is gone.
    fn attend(&self, over: &AtomicBool, done: &(dyn Fn() + Sync)) -> Result<(), Error>;
    /// Ends everything and collects what came out.
    ///
    /// # Errors
    /// A host is gone.
    fn finish(&self) -> Result<(Returned, Between), Error>;
}

/// What is to be made and run.
#[derive(Clone, Default, Debug, PartialEq, Serialize, Deserialize)]
pub struct Orders {
    /// Machines.
    pub machines: Vec<MachineOrder>,
    /// Ends of flows that are the kernel's.
    pub ends: Vec<EndOrder>,
    /// Commands at these machines.
    pub commands: Vec<CommandOrder>,
    /// The text of their `/etc/hosts`.
    pub hosts: String,
    /// And of `/etc/resolv.conf`.
    pub resolver: String,
    /// When flows end, whatever is left, nanoseconds.
    pub limit_ns: u64,
    /// Who plays a workload shall have real-time priority, where that may be had.
    pub realtime: bool,
}

/// A machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineOrder {
    /// The name of its node.
    pub node: String,
    /// Its address of either version.
    pub at: (Ipv4Addr, Ipv6Addr),
    /// Its kernel.
    pub linux: Setting,
}

/// The end of a flow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EndOrder {
    /// The name of its node.
    pub node: String,
    /// The number of the flow in the model.
    pub flow: usize,
    /// It opens connections, or speaks; else it waits for them.
    pub opens: bool,
    /// Its kernel.
    pub linux: Setting,
    /// The flow goes over version 6 of IP.
    #[serde(default)]
    pub six: bool,
    /// When it begins, nanoseconds.
    pub start_ns: u64,
    /// Its workload.
    pub work: EndWork,
}

/// A command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandOrder {
    /// The name of its node.
    pub node: String,
    /// Its number in the model.
    pub command: usize,
    /// For `/bin/sh`.
    pub run: String,
    /// When, nanoseconds.
    pub start_ns: u64,
    /// It is ended when all others are done; from the start it is up before t = 0.
    pub serves: bool,
}

/// What came out.
#[derive(Clone, Default, Debug, PartialEq, Serialize, Deserialize)]
pub struct Returned {
    /// Of ends of flows.
    pub ends: Vec<EndReturned>,
    /// Of commands.
    pub commands: Vec<CommandReturned>,
    /// Packets that devices threw away.
    pub overrun: u64,
}

/// What became of a command.
#[derive(Clone, Default, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandReturned {
    /// Its number.
    pub command: usize,
    /// When it was started, nanoseconds.
    pub started_ns: Option<u64>,
    /// When it ended by itself, nanoseconds.
    pub ended_ns: Option<u64>,
    /// How.
    pub status: Option<Status>,
    /// What it could not see, and what else went wrong.
    pub lacks: Vec<String>,
    /// What it wrote to its output, and to that for errors; sent by themselves.
    #[serde(skip)]
    pub outputs: [Vec<u8>; 2],
}
