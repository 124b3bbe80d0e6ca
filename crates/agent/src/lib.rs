//! Distributed emulation: one host carries the path, other hosts lend namespaces.
//!
//! | question | file |
//! |---|---|
//! | who may ask, and who says so | [`token`] |
//! | how is a line encrypted and cut into messages | [`line`] |
//! | what is said on it | [`message`] |
//! | how do packets travel beside it | [`way`] |
//! | how far are two clocks apart | [`clocks`] |
//! | which host has which node | [`list`] |
//! | who asks for machines: the host with the path | [`control`] |
//! | who orders where another host has the path | [`away`] |
//! | who serves | [`serve`] |
//! | how does it carry a path | [`carry`] |
//!
//! Linux only, as all of real time.

pub mod clocks;
pub mod list;
pub mod message;
pub mod token;
pub mod way;

#[cfg(target_os = "linux")]
pub mod away;
#[cfg(target_os = "linux")]
mod carrier;
#[cfg(target_os = "linux")]
pub mod carry;
#[cfg(target_os = "linux")]
pub mod control;
#[cfg(target_os = "linux")]
mod lend;
#[cfg(target_os = "linux")]
pub mod line;
#[cfg(target_os = "linux")]
mod peer;
#[cfg(target_os = "linux")]
pub mod serve;

/// Where agents listen unless they are told otherwise.
pub const PORT: u16 = 7171;
/// The version of what is said; both ends need the same.
pub const PROTOCOL: u16 = 4;
