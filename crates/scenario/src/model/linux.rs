//! Kernel settings of a flow or node.

use base::wire::deadline::Encoding;
use base::{Rate, Span};

/// A kind of socket of a kernel.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// TCP.
    #[default]
    Tcp,
    /// UDP.
    Udp {
        /// Most bytes of a message in one datagram.
        payload: u32,
    },
    /// Multipath TCP (RFC 8684).
    Mptcp,
    /// SCTP (RFC 9260).
    Sctp,
    /// DCCP (RFC 4340).
    Dccp {
        /// Congestion control identifier: 2 (RFC 4341) or 3 (RFC 4342).
        ccid: u8,
        /// Most bytes of data in a packet.
        payload: u32,
    },
}

impl Protocol {
    /// As people call it.
    pub fn name(self) -> &'static str {
        match self {
            Protocol::Tcp => "TCP",
            Protocol::Udp { .. } => "UDP",
            Protocol::Mptcp => "Multipath TCP",
            Protocol::Sctp => "SCTP",
            Protocol::Dccp { .. } => "DCCP",
        }
    }

    /// Most bytes in one datagram; none, if it carries a stream of bytes.
    pub fn payload(self) -> Option<u32> {
        match self {
            Protocol::Udp { payload } | Protocol::Dccp { payload, .. } => Some(payload),
            Protocol::Tcp | Protocol::Mptcp | Protocol::Sctp => None,
        }
    }
}

/// A version of IP.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub enum Ip {
    /// IPv4 (RFC 791).
    #[default]
    V4,
    /// IPv6 (RFC 8200).
    V6,
}

impl Ip {
    /// Bytes of its header, without options or extensions.
    pub fn header(self) -> u32 {
        match self {
            Ip::V4 => 20,
            Ip::V6 => 40,
        }
    }
    /// As people call it.
    pub fn name(self) -> &'static str {
        match self {
            Ip::V4 => "IPv4",
            Ip::V6 => "IPv6",
        }
    }
}

/// What is asked of a Linux kernel: at both ends of a flow, or at a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Linux {
    /// In virtual time, the kernel: a name under which one was built, or a path; none: the one that is there.
    pub kernel: Option<String>,
    /// Its congestion control; none: the kernel's default.
    pub cc: Option<String>,
    /// Largest IP packet, bytes.
    pub mtu: u32,
    /// Settings of the network stack, full names (`net.ipv4.tcp_frto`), and their values.
    pub sysctl: Vec<(String, String)>,
    /// In virtual time, how fast its card sends; none: at once.
    pub modem: Option<Rate>,
    /// Over which version of IP a flow goes; programs at a node have both.
    pub ip: Ip,
    /// The kind of a flow's sockets.
    pub protocol: Protocol,
    /// What its packets get in their headers at the door: a deadline in this encoding, so long after they come.
    pub stamp: Option<(Encoding, Span)>,
    /// In virtual time, the folder that programs at a node see as `/`; none: `/`.
    pub root: Option<String>,
    /// In real time, the shell command that is this end of a flow; none: the laboratory's own sockets.
    pub program: Option<String>,
}

impl Default for Linux {
    /// The kernel's own choices, and packets of 1500 bytes.
    fn default() -> Linux {
        Linux {
            kernel: None,
            cc: None,
            mtu: 1500,
            sysctl: Vec::new(),
            modem: None,
            ip: Ip::V4,
            protocol: Protocol::Tcp,
            stamp: None,
            root: None,
            program: None,
        }
    }
}
