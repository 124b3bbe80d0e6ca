//! What is asked of a real kernel, at both ends of a flow or at a node?

use base::Rate;

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
}

impl Protocol {
    /// As people call it.
    pub fn name(self) -> &'static str {
        match self {
            Protocol::Tcp => "TCP",
            Protocol::Udp { .. } => "UDP",
            Protocol::Mptcp => "Multipath TCP",
            Protocol::Sctp => "SCTP",
        }
    }

    /// Most bytes in one datagram; none, if there is a connection.
    pub fn payload(self) -> Option<u32> {
        if let Protocol::Udp { payload } = self { Some(payload) } else { None }
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
    /// The kind of a flow's sockets.
    pub protocol: Protocol,
    /// In virtual time, the folder that programs at a node see as `/`; none: `/`.
    pub root: Option<String>,
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
            protocol: Protocol::Tcp,
            root: None,
        }
    }
}
