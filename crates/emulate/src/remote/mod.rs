//! Distribution over hosts: namespaces, devices and flow ends at remote workers, orders to them and their results.

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
