//! Packet devices: TUN, Ethernet pair, tunnel to another host, none.
//!
//! By a TUN device, whose file gives and takes them bare; by a socket at the other end of a pair of Ethernet devices,
//! where each has a header before it; by a tunnel to another host; or, as whole frames, by a wire.

use super::sys::veth;
use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut, Read as _, Write as _};
use std::os::fd::{AsRawFd, RawFd};

/// Where packets come out of a stack and go into it. Neither reading nor writing waits.
#[derive(Debug)]
pub struct Device(Kind);

#[derive(Debug)]
enum Kind {
    /// A TUN device.
    Tun(File),
    /// A socket, and the stack's address on Ethernet.
    Ethernet(File, [u8; 6]),
    /// The stack is at another host, or nobody knows where: behind a wire.
    Tunnel(Box<dyn Tunnel>),
}

/// The way to a stack at another host, or a wire. Neither reading nor writing waits.
pub trait Tunnel: AsRawFd + Send + Sync + std::fmt::Debug {
    /// Reads a packet; gives its length.
    ///
    /// # Errors
    /// `WouldBlock` if there is none; the kernel's.
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize>;
    /// Writes a packet.
    ///
    /// # Errors
    /// The kernel would not take it.
    fn write(&mut self, packet: &[u8]) -> io::Result<()>;
    /// Whether something waits in it until the kernel takes more.
    fn wants_to_write(&self) -> bool {
        false
    }
    /// Packets that were lost because nobody read them in time, since it was last asked.
    fn overrun(&self) -> u64 {
        0
    }
}

const HEADER: usize = 14;
/// The types of packets that Ethernet carries.
const IP: [[u8; 2]; 2] = [[0x08, 0x00], [0x86, 0xdd]];

impl Device {
    /// The file of a TUN device.
    pub fn tun(file: File) -> Device {
        Device(Kind::Tun(file))
    }

    /// A socket that speaks with the stack of this address.
    pub fn ethernet(file: File, to: [u8; 6]) -> Device {
        Device(Kind::Ethernet(file, to))
    }

    /// The way to a stack at another host.
    pub fn tunnel(tunnel: Box<dyn Tunnel>) -> Device {
        Device(Kind::Tunnel(tunnel))
    }

    /// Whether it is the one that stands in for a TUN device.
    pub fn stands_in(&self) -> bool {
        matches!(self.0, Kind::Ethernet(..))
    }

    /// Reads a packet; gives its length.
    ///
    /// # Errors
    /// `WouldBlock` if there is none; the kernel's.
    pub fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let file = match &mut self.0 {
            Kind::Tun(file) => return file.read(into),
            Kind::Tunnel(tunnel) => return tunnel.read(into),
            Kind::Ethernet(file, _) => file,
        };
        loop {
            let mut header = [0; HEADER];
            let mut parts = [IoSliceMut::new(&mut header), IoSliceMut::new(into)];
            let length = file.read_vectored(&mut parts)?;
            if IP.iter().any(|kind| *kind == header[12..]) {
                return Ok(length.saturating_sub(HEADER));
            }
        }
    }

    /// Writes a packet.
    ///
    /// # Errors
    /// The kernel would not take it.
    pub fn write(&mut self, packet: &[u8]) -> io::Result<()> {
        let (file, to) = match &mut self.0 {
            Kind::Tun(file) => return file.write(packet).map(drop),
            Kind::Tunnel(tunnel) => return tunnel.write(packet),
            Kind::Ethernet(file, to) => (file, to),
        };
        let kind = IP[usize::from(packet.first().is_some_and(|first| first >> 4 == 6))];
        let mut header = [0; HEADER];
        header[..6].copy_from_slice(to);
        header[12..].copy_from_slice(&kind);
        file.write_vectored(&[IoSlice::new(&header), IoSlice::new(packet)]).map(drop)
    }

    /// Packets that were lost because nobody read them in time, since it was last asked. A TUN device counts them
    /// itself ([`super::namespace::Namespace::overrun`]).
    pub fn overrun(&self) -> u64 {
        match &self.0 {
            Kind::Tun(_) => 0,
            Kind::Ethernet(file, _) => veth::thrown_away(file.as_raw_fd()),
            Kind::Tunnel(tunnel) => tunnel.overrun(),
        }
    }

    /// Whether something waits in it until the kernel takes more; reading it, or writing again, tries that.
    pub fn wants_to_write(&self) -> bool {
        if let Kind::Tunnel(tunnel) = &self.0 { tunnel.wants_to_write() } else { false }
    }
}

impl AsRawFd for Device {
    fn as_raw_fd(&self) -> RawFd {
        match &self.0 {
            Kind::Tun(file) | Kind::Ethernet(file, _) => file.as_raw_fd(),
            Kind::Tunnel(tunnel) => tunnel.as_raw_fd(),
        }
    }
}
