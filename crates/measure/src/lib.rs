//! Active measurement of a real path by client and server: throughput, response time, RTT, disconnections, bottleneck
//! buffer.
//!
//! Both ends report their own statistics and their kernels'. [`message`] defines the protocol; [`server_protocol`] and
//! [`client_protocol`] are its state machines, without sockets and clocks. [`server`] and [`client`] drive them.
//! [`plan`] defines the tests, [`entry`] the log, [`summary`] the results; [`modem`] reads a modem's control port.

pub mod buffer;
pub mod cause;
pub mod client;
pub mod client_protocol;
pub mod clock;
#[cfg(target_os = "linux")]
mod companion;
mod connections;
mod egress;
mod egress_watch;
pub mod entry;
pub mod flow;
pub mod kernel;
pub mod message;
pub mod modem;
pub mod plan;
pub mod probe;
mod pump;
#[cfg(target_os = "linux")]
mod recording;
#[cfg(target_os = "linux")]
mod rtnetlink;
pub mod server;
pub mod server_protocol;
pub mod summary;
#[cfg(target_os = "linux")]
mod sys;
#[cfg(not(target_os = "linux"))]
#[path = "sys_portable.rs"]
mod sys;

pub use plan::Socket;

use base::Span;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Default TCP and UDP port of a server.
pub const PORT: u16 = 24_790;
/// Interval of `TCP_INFO` samples.
const LOOK: Span = Span::from_millis(50);
/// Limit of unsent bytes in the kernel, bytes.
const UNSENT: u32 = 1 << 14;

/// Reason why a measurement failed or ended early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The server's address is reachable from other machines, and no token is set.
    #[error("{0} can be reached from other machines, and there is no token")]
    Open(SocketAddr),
    /// The server cannot listen at an address.
    #[error("cannot listen at {address}: {source}")]
    Listen {
        /// Address.
        address: SocketAddr,
        /// Error of the system.
        source: io::Error,
    },
    /// The server's name has no address.
    #[error("`{name}` is no address that this machine knows: {source}")]
    Name {
        /// Name from the user.
        name: String,
        /// Error of the system.
        source: io::Error,
    },
    /// The first connection failed.
    #[error("cannot connect to {address}: {source}")]
    Connect {
        /// Address.
        address: SocketAddr,
        /// Error of the system.
        source: io::Error,
    },
    /// The server refuses, or is another program.
    #[error("{address}: {fault}")]
    Fault {
        /// Address.
        address: SocketAddr,
        /// Reason.
        fault: client_protocol::ClientFault,
    },
    /// The connection was accepted, but no valid response arrived.
    #[error("{address} takes connections but does not answer as a `williwaw measure server` does: {why}")]
    Silent {
        /// Address.
        address: SocketAddr,
        /// Description of the fault.
        why: String,
    },
    /// A thread cannot be started.
    #[error("cannot start a thread: {0}")]
    Thread(io::Error),
    /// The server was unreachable for too long.
    #[error("the server was out of reach for {0} s")]
    Gone(f64),
    /// Packets cannot be captured.
    #[error("capturing packets needs Linux and the right to (CAP_NET_RAW): {0}")]
    Capture(#[source] io::Error),
    /// The control port of a modem cannot be opened.
    #[error("cannot open the modem `{device}`: {source}")]
    Modem {
        /// Path of the device.
        device: String,
        /// Error of the system.
        source: io::Error,
    },
    /// Results could not be written.
    #[error("cannot write `{}`: {source}", path.display())]
    Write {
        /// File.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// A result file cannot be read.
    #[error("cannot read `{}`: {source}", path.display())]
    Read {
        /// File.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// A line of a result file is invalid.
    #[error("`{}` is damaged at line {line}: {why}", path.display())]
    Damaged {
        /// File.
        path: PathBuf,
        /// Line number, from 1.
        line: usize,
        /// Fault of the line.
        why: String,
    },
}

/// Incompressible payload. It repeats after a quarter MiB, beyond the history of link compression methods (V.42bis,
/// V.44, deflate).
fn filler() -> Vec<u8> {
    let word = |i: u64| base::rng::mix(i.wrapping_mul(0x9E37_79B9_7F4A_7C15)).to_le_bytes();
    (1..=(1u64 << 15)).flat_map(word).collect()
}

#[cfg(test)]
mod tests {
    /// Link compression does not compress the payload (WL-08).
    #[test]
    fn filler_has_no_pattern() {
        let filler = super::filler();
        assert_eq!(filler.len(), 1 << 18);
        let mut counts = [0u32; 256];
        for byte in &filler {
            counts[usize::from(*byte)] += 1;
        }
        // Mean 1024, standard deviation 32.
        assert!(counts.iter().all(|n| (824..1224).contains(n)), "{counts:?}");
    }
}
