//! Wire end model: interface, serial device or pseudo-terminal.

use base::wire::frame::Framing;

/// A wire to something outside: `williwaw wire` takes its frames and gives it others.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Wire {
    /// An interface of this host, by its name.
    Interface(String),
    /// A serial device of this host.
    Serial {
        /// Its path.
        device: String,
        /// Bits per second on the line; none: as it is set.
        speed: Option<u32>,
    },
    /// A pseudo-terminal that is made for the run.
    Pty,
}

impl Wire {
    /// What kind of frames it carries.
    pub fn framing(&self) -> Framing {
        match self {
            Wire::Interface(_) => Framing::Ethernet,
            Wire::Serial { .. } | Wire::Pty => Framing::Ppp,
        }
    }
}
