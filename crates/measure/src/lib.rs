//! Active measurement of a real path: throughput, response time, RTT, disconnections, buffer size.
//!
//! A client and a server that load a real path and tell what they saw and what their kernels say: throughput,
//! response times, round trips of small packets, disconnections, how deep the buffer is.
//!
//! What the two say to each other is in [`message`]; what each does next is in [`serving`] and [`asking`], which know
//! neither sockets nor clocks. [`server`] and [`client`] drive them. [`plan`] says what is measured, [`entry`] what
//! is kept of it, [`summary`] what comes out.

pub mod asking;
pub mod buffer;
pub mod cause;
pub mod client;
pub mod clock;
pub mod entry;
pub mod flow;
pub mod kernel;
mod line;
pub mod message;
pub mod plan;
pub mod probe;
mod pump;
#[cfg(target_os = "linux")]
mod recording;
pub mod server;
pub mod serving;
pub mod summary;
#[cfg(target_os = "linux")]
mod sys;
#[cfg(not(target_os = "linux"))]
#[path = "elsewhere.rs"]
mod sys;

pub use plan::Socket;

use base::Span;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Where a server listens unless told otherwise.
pub const PORT: u16 = 24_790;
/// Between two looks at a connection.
const LOOK: Span = Span::from_millis(50);
/// Bytes that may wait unsent in a kernel.
const UNSENT: u32 = 1 << 14;

/// Why nothing could be measured, or not to the end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A server that anybody could reach.
    #[error("{0} can be reached from other machines, and there is no token")]
    Open(SocketAddr),
    /// An address cannot be listened at.
    #[error("cannot listen at {address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The system's answer.
        source: io::Error,
    },
    /// A name without an address.
    #[error("`{name}` is no address that this machine knows: {source}")]
    Name {
        /// What the user said.
        name: String,
        /// The system's answer.
        source: io::Error,
    },
    /// No connection to begin with.
    #[error("cannot connect to {address}: {source}")]
    Connect {
        /// The address.
        address: SocketAddr,
        /// The system's answer.
        source: io::Error,
    },
    /// The server is there and will not, or is none.
    #[error("{address}: {fault}")]
    Fault {
        /// The address.
        address: SocketAddr,
        /// Why.
        fault: asking::Fault,
    },
    /// The connection was accepted, and then nothing was said.
    #[error("{address} takes connections but does not answer as a `williwaw measure server` does: {why}")]
    Silent {
        /// The address.
        address: SocketAddr,
        /// What happened.
        why: String,
    },
    /// The system gives no thread.
    #[error("cannot start a thread: {0}")]
    Thread(io::Error),
    /// The server was out of reach for too long.
    #[error("the server was out of reach for {0} s")]
    Gone(f64),
    /// Packets cannot be captured.
    #[error("capturing packets needs Linux and the right to (CAP_NET_RAW): {0}")]
    Capture(#[source] io::Error),
    /// Results could not be kept.
    #[error("cannot write `{}`: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// A file of results cannot be read.
    #[error("cannot read `{}`: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// A line of it is none of ours.
    #[error("`{}` is damaged at line {line}: {why}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        why: String,
    },
}

/// Bytes that no link can compress: a quarter of a MiB before they come again, which is more than the memory of the
/// methods that links use (V.42bis, V.44, deflate).
fn filler() -> Vec<u8> {
    let word = |i: u64| base::rng::mix(i.wrapping_mul(0x9E37_79B9_7F4A_7C15)).to_le_bytes();
    (1..=(1u64 << 15)).flat_map(word).collect()
}

#[cfg(test)]
mod tests {
    /// What is carried cannot be compressed by a link (WL-08).
    #[test]
    fn filler_has_no_pattern() {
        let filler = super::filler();
        assert_eq!(filler.len(), 1 << 18);
        let mut counts = [0u32; 256];
        for byte in &filler {
            counts[usize::from(*byte)] += 1;
        }
        // 1024 of each on average, with a deviation of 32.
        assert!(counts.iter().all(|n| (824..1224).contains(n)), "{counts:?}");
    }
}
