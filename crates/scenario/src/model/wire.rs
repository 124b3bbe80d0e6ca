//! End of a wire in the scenario model: network interface, serial device or pseudo-terminal, with its
//! framing.

use base::wire::frame::Framing;

/// End of a wire: the interface or device with which `williwaw wire` exchanges frames.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WireEnd {
    /// Network interface of this host, by name.
    Interface(String),
    /// A serial device of this host.
    Serial {
        /// Path of the device.
        device: String,
        /// Line speed, bit/s; `None`: unchanged.
        speed: Option<u32>,
    },
    /// Pseudo-terminal created for the run.
    Pty,
}

impl WireEnd {
    /// Framing of the end.
    pub fn framing(&self) -> Framing {
        match self {
            WireEnd::Interface(_) => Framing::Ethernet,
            WireEnd::Serial { .. } | WireEnd::Pty => Framing::Ppp,
        }
    }
}
