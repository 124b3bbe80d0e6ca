//! Egress: interface, source address and carrier by which packets to a host leave.

use std::net::IpAddr;

/// Egress of packets to a host.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Egress {
    /// Interface index.
    pub(crate) index: u32,
    /// Interface name.
    pub(crate) name: String,
    /// Source address that the kernel selects.
    pub(crate) source: Option<IpAddr>,
    /// The interface is up and has a carrier.
    pub(crate) carrier: bool,
}
