//! Distributed emulation: one host carries the path, other hosts lend namespaces.
//!
//! | part | file |
//! |---|---|
//! | authentication | [`token`] |
//! | encryption and framing of the control connection | [`line`] |
//! | messages | [`message`] |
//! | packet tunnels between hosts | [`way`] |
//! | clock offsets | [`clocks`] |
//! | assignment of nodes to hosts | [`list`] |
//! | controller: the host with the path | [`control`] |
//! | controller where another host has the path | [`away`] |
//! | agent: sessions | [`serve`] |
//! | agent: path | [`carry`] |
//!
//! Linux only, as all of real time.

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
