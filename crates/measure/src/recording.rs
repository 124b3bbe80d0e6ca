//! Packet capture of a measurement (`Recording`): headers of the packets to and from the server, from a packet socket
//! to a pcapng file.

use crate::{Error, sys};
use capture::{Link, OutgoingFrame, PcapngWriter, Tap, Transport, decode};
use std::fs::File;
use std::io::{self, BufWriter};
use std::net::SocketAddr;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Bytes captured of each packet: the longest headers of IPv6 and TCP.
const SNAP: u32 = 160;
/// Poll interval for stop requests.
const NAP: Duration = Duration::from_millis(100);

/// Running capture: packet socket and file.
pub(crate) struct Recording {
    socket: OwnedFd,
    writer: PcapngWriter<BufWriter<File>>,
    path: PathBuf,
    server: SocketAddr,
}

impl Recording {
    /// Opens the packet socket and creates the file.
    pub(crate) fn open(path: &Path, server: SocketAddr) -> Result<Recording, Error> {
        let socket = sys::packet_socket().map_err(Error::Capture)?;
        let unwritten = |source| Error::Write { path: path.to_owned(), source };
        let file = File::create_new(path).map_err(unwritten)?;
        let tap = Tap { snap: SNAP, ..Tap::ip("any") };
        let name = format!("williwaw {}", env!("CARGO_PKG_VERSION"));
        let writer = PcapngWriter::new(BufWriter::new(file), vec![tap], &name).map_err(unwritten)?;
        Ok(Recording { socket, writer, path: path.to_owned(), server })
    }

    /// Captures until `over`; returns the number of packets that the socket dropped.
    pub(crate) fn run(mut self, over: &AtomicBool) -> Result<u64, Error> {
        let path = self.path.clone();
        let result = self.record(over).and_then(|missed| self.writer.finish().map(|_| missed));
        result.map_err(|source| Error::Write { path, source })
    }

    fn record(&mut self, over: &AtomicBool) -> io::Result<u64> {
        let mut buffer = vec![0; SNAP as usize];
        let mut missed = 0;
        loop {
            match sys::hear(&self.socket, &mut buffer) {
                // Loopback delivers every packet twice, as outgoing and as incoming.
                Ok(heard) if heard.loopback && heard.outgoing => {}
                Ok(heard) => {
                    let bytes = &buffer[..heard.kept];
                    if self.wants(bytes, heard.length as u32) {
                        self.writer.write(&OutgoingFrame {
                            time_ns: heard.stamp,
                            tap: 0,
                            wire_len: heard.length as u32,
                            bytes,
                            comment: "",
                        })?;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    missed += sys::missed(&self.socket);
                    // All packets sent before the end have been captured by now.
                    if over.load(Ordering::Relaxed) {
                        return Ok(missed);
                    }
                    sys::wait_for(self.socket.as_raw_fd(), false, NAP);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Whether a packet is to or from the server.
    fn wants(&self, bytes: &[u8], length: u32) -> bool {
        let Ok(packet) = decode(Link::RAW, bytes, length) else { return false };
        let ports = match packet.transport {
            Transport::Tcp(head) => (head.source, head.destination),
            Transport::Udp { source, destination } => (source, destination),
            _ => return false,
        };
        let (ip, port) = (self.server.ip().to_canonical(), self.server.port());
        (packet.ip.source == ip && ports.0 == port) || (packet.ip.destination == ip && ports.1 == port)
    }
}
