//! Wire end model: interface, serial device or pseudo-terminal.

use base::wire::frame::Framing;

/// End of a wire: the interface or device with which `williwaw wire` exchanges frames.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Wire {
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

impl Wire {
    /// Framing of the end.
    pub fn framing(&self) -> Framing {
        match self {
            Wire::Interface(_) => Framing::Ethernet,
            Wire::Serial { .. } | Wire::Pty => Framing::Ppp,
        }
    }
}
