//! Emulation over several hosts: a controller, agents that lend namespaces or carry the path, encrypted control
//! connection, packet tunnels, clock offsets.
//!
//! | part | file |
//! |---|---|
//! | authentication | [`token`] |
//! | encryption and framing of the control connection | [`control_connection`] |
//! | messages | [`message`] |
//! | packet tunnels between hosts | [`tunnel`] |
//! | clock offsets | [`clocks`] |
//! | assignment of nodes to hosts | [`list`] |
//! | controller on the host that carries the path | [`control`] |
//! | controller of a path on another host | [`remote_path`] |
//! | agent: admission and sessions | [`serve`] |
//! | agent: path of an emulation | [`path_worker`] |
//!
//! Linux only, like all of real time, except `clocks`, `list`, `message`, `token` and `tunnel`.

pub mod clocks;
pub mod list;
pub mod message;
pub mod token;
pub mod tunnel;

#[cfg(target_os = "linux")]
mod agent_connection;
#[cfg(target_os = "linux")]
pub mod control;
#[cfg(target_os = "linux")]
pub mod control_connection;
#[cfg(target_os = "linux")]
mod packet_relay;
#[cfg(target_os = "linux")]
pub mod path_worker;
#[cfg(target_os = "linux")]
pub mod remote_path;
#[cfg(target_os = "linux")]
mod rep_worker;
#[cfg(target_os = "linux")]
pub mod serve;

/// Default port of an agent.
pub const PORT: u16 = 7171;
/// Protocol version; both ends must have the same.
pub const PROTOCOL: u16 = 4;
