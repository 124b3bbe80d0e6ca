//! Kernel settings of a flow or node in the scenario model: socket type, IP version, congestion control, MTU,
//! sysctls, program.

use base::wire::deadline::Encoding;
use base::{Rate, Span};

/// Socket type of a kernel.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// TCP.
    #[default]
    Tcp,
    /// UDP.
    Udp {
        /// Largest payload of a datagram, bytes.
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
        /// Largest payload of a packet, bytes.
        payload: u32,
    },
}

impl Protocol {
    /// Name in texts.
    pub fn name(self) -> &'static str {
        match self {
            Protocol::Tcp => "TCP",
            Protocol::Udp { .. } => "UDP",
            Protocol::Mptcp => "Multipath TCP",
            Protocol::Sctp => "SCTP",
            Protocol::Dccp { .. } => "DCCP",
        }
    }

    /// Largest payload of a datagram, bytes; `None` for a byte stream.
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
    /// Header without options or extensions, bytes.
    pub fn header(self) -> u32 {
        match self {
            Ip::V4 => 20,
            Ip::V6 => 40,
        }
    }
    /// Name in texts.
    pub fn name(self) -> &'static str {
        match self {
            Ip::V4 => "IPv4",
            Ip::V6 => "IPv6",
        }
    }
}

/// Settings of a Linux kernel: at one end of a flow, or at a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Linux {
    /// In virtual time, the kernel: name of a build, or a path; `None`: the default build.
    pub kernel: Option<String>,
    /// Congestion control; `None`: the kernel's default.
    pub cc: Option<String>,
    /// MTU, bytes.
    pub mtu: u32,
    /// Sysctls by full name (`net.ipv4.tcp_frto`), with values.
    pub sysctl: Vec<(String, String)>,
    /// In virtual time, the transmission rate of the network card; `None`: unlimited.
    pub modem: Option<Rate>,
    /// IP version of a flow; programs at a node have both.
    pub ip: Ip,
    /// Socket type of a flow.
    pub protocol: Protocol,
    /// Deadline that the packet port adds to packet headers: encoding, and time from the packet's arrival.
    pub stamp: Option<(Encoding, Span)>,
    /// In virtual time, root directory of programs at a node; `None`: `/`.
    pub root: Option<String>,
    /// In real time, the shell command that is this end of a flow; `None`: sockets of williwaw.
    pub program: Option<String>,
}

impl Default for Linux {
    /// Defaults of the kernel, and an MTU of 1500 bytes.
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
