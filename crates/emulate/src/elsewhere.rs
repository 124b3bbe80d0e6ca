//! What is asked of hosts that lend machines, and what do they give back? Plain words, which a line between hosts can
//! carry; how they are carried is not known here.

use crate::Error;
use crate::between::Between;
use crate::clock::Clock;
use crate::device::Device;
use crate::facts::TcpInfo;
use crate::keeper::Status;
use scenario::model::{Linux, Reads};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
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
#[derive(Clone, Default, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
}

/// How a kernel is to be set.
#[derive(Clone, Default, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setting {
    /// Its congestion control.
    pub cc: Option<String>,
    /// Largest IP packet, bytes.
    pub mtu: u32,
    /// Settings of its network stack.
    pub sysctl: Vec<(String, String)>,
}

impl From<&Linux> for Setting {
    fn from(linux: &Linux) -> Setting {
        Setting { cc: linux.cc.clone(), mtu: linux.mtu, sysctl: linux.sysctl.clone() }
    }
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndOrder {
    /// The name of its node.
    pub node: String,
    /// The number of the flow in the model.
    pub flow: usize,
    /// It connects and writes; else it listens and reads.
    pub writes: bool,
    /// Its kernel.
    pub linux: Setting,
    /// The flow goes over version 6 of IP.
    #[serde(default)]
    pub six: bool,
    /// When it connects, nanoseconds.
    pub start_ns: u64,
    /// So many bytes; none: without end.
    pub bytes: Option<u64>,
    /// For so long, nanoseconds; none: until all is acknowledged.
    pub lasts_ns: Option<u64>,
    /// How the end that reads does so; none: at once.
    #[serde(default)]
    pub reads: Option<Slowly>,
}

/// How an application reads that does not take everything at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slowly {
    /// So many; none: whatever is there.
    pub bytes_per_second: Option<u64>,
    /// It reads nothing for so long after the connection is there.
    pub pause_ns: u64,
}

impl From<Reads> for Slowly {
    fn from(reads: Reads) -> Slowly {
        Slowly { bytes_per_second: reads.rate.map(|rate| rate.bps() / 8), pause_ns: reads.pause.as_nanos() }
    }
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

/// What an end of a flow tells.
#[derive(Clone, Default, Debug, PartialEq, Serialize, Deserialize)]
pub struct EndReturned {
    /// The number of the flow.
    pub flow: usize,
    /// Which end it is.
    pub writes: bool,
    /// When its work was done, nanoseconds.
    pub finished_ns: Option<u64>,
    /// Bytes written or read.
    pub bytes: u64,
    /// What went wrong.
    pub fault: Option<String>,
    /// The writer's last look at the kernel.
    pub info: TcpInfo,
    /// What it saw change; sent by itself, since it is long.
    #[serde(skip)]
    pub history: Vec<(f64, TcpInfo)>,
    /// Counters of its namespace.
    pub counters: BTreeMap<String, u64>,
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
