//! Emulation over several hosts: interface to remote hosts, orders and results, controller session, worker with
//! namespaces and sockets.

#[cfg(target_os = "linux")]
pub mod hosts;
#[cfg(target_os = "linux")]
pub mod results;
#[cfg(target_os = "linux")]
pub(crate) mod session;
#[cfg(target_os = "linux")]
pub mod worker;

#[cfg(target_os = "linux")]
pub use crate::sockets::spec;
