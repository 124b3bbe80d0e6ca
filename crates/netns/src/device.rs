//! Packet devices of a network stack (`Device`): TUN, veth pair, tunnel to another host or wire; reads and writes
//! without blocking.
//!
//! A TUN device carries IP packets, the socket of a veth pair carries them with an Ethernet header, a wire carries
//! whole frames. With segmentation offload a TUN device is read segment by segment, and written a large packet at once.

use super::sys::tun::Tun;
use super::sys::veth;
use base::wire::join::{Join, Transport};
use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut, Read as _, Write as _};
use std::os::fd::{AsRawFd, RawFd};

/// Packet device of a network stack; reads and writes never block.
#[derive(Debug)]
pub struct Device(DeviceKind);

#[derive(Debug)]
enum DeviceKind {
    /// A TUN device.
    Tun(Tun),
    /// Socket whose reads and writes are whole packets, without a header.
    Packets(File),
    /// Socket at the opposite end of a veth pair, and hardware address of the stack.
    Ethernet(File, [u8; 6]),
    /// Stack on another host, or behind a wire.
    Tunnel(Box<dyn Tunnel>),
}

/// Transport to a stack on another host, or a wire; reads and writes never block.
pub trait Tunnel: AsRawFd + Send + Sync + std::fmt::Debug {
    /// Reads a packet and returns its length.
    ///
    /// # Errors
    /// `WouldBlock` without a packet; an error of the kernel.
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize>;
    /// Writes a packet.
    ///
    /// # Errors
    /// The kernel refused the packet.
    fn write(&mut self, packet: &[u8]) -> io::Result<()>;
    /// Whether output is queued until the kernel accepts more.
    fn wants_to_write(&self) -> bool {
        false
    }
    /// Packets lost since the last call because they were not read in time.
    fn overrun(&self) -> u64 {
        0
    }
}

const HEADER: usize = 14;
/// EtherTypes of IPv4 and IPv6.
const IP: [[u8; 2]; 2] = [[0x08, 0x00], [0x86, 0xdd]];

impl Device {
    /// Device of a TUN.
    pub fn tun(tun: Tun) -> Device {
        Device(DeviceKind::Tun(tun))
    }

    /// Device of a file whose reads and writes are whole packets.
    pub fn packets(file: File) -> Device {
        Device(DeviceKind::Packets(file))
    }

    /// Device of a veth socket, opposite the stack with this hardware address.
    pub fn ethernet(file: File, to: [u8; 6]) -> Device {
        Device(DeviceKind::Ethernet(file, to))
    }

    /// Device of a tunnel.
    pub fn tunnel(tunnel: Box<dyn Tunnel>) -> Device {
        Device(DeviceKind::Tunnel(tunnel))
    }

    /// Whether the device is a veth pair, which replaces a TUN device.
    pub fn stands_in(&self) -> bool {
        matches!(self.0, DeviceKind::Ethernet(..))
    }

    /// Reads a packet and returns its length.
    ///
    /// # Errors
    /// `WouldBlock` without a packet; an error of the kernel.
    pub fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let file = match &mut self.0 {
            DeviceKind::Tun(tun) => return tun.read(into),
            DeviceKind::Packets(file) => return file.read(into),
            DeviceKind::Tunnel(tunnel) => return tunnel.read(into),
            DeviceKind::Ethernet(file, _) => file,
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
    /// The kernel refused the packet.
    pub fn write(&mut self, packet: &[u8]) -> io::Result<()> {
        let (file, to) = match &mut self.0 {
            DeviceKind::Tun(tun) => return tun.write(packet),
            DeviceKind::Packets(file) => return file.write(packet).map(drop),
            DeviceKind::Tunnel(tunnel) => return tunnel.write(packet),
            DeviceKind::Ethernet(file, to) => (file, to),
        };
        let kind = IP[usize::from(packet.first().is_some_and(|first| first >> 4 == 6))];
        let mut header = [0; HEADER];
        header[..6].copy_from_slice(to);
        header[12..].copy_from_slice(&kind);
        file.write_vectored(&[IoSlice::new(&header), IoSlice::new(packet)]).map(drop)
    }

    /// Whether segments of the last large packet are left: the next read needs no system call, and polling does not
    /// report them.
    pub fn has_segments(&self) -> bool {
        matches!(&self.0, DeviceKind::Tun(tun) if tun.has_segments())
    }

    /// Whether the device takes large packets ([`Device::write_joined`]).
    pub fn offloads(&self) -> bool {
        matches!(&self.0, DeviceKind::Tun(tun) if tun.offloads())
    }

    /// Whether the device takes large packets of this protocol.
    pub fn joins(&self, transport: Transport) -> bool {
        matches!(&self.0, DeviceKind::Tun(tun) if tun.joins(transport))
    }

    /// Whether the device of a network stack is without segmentation offload.
    pub fn lacks_offload(&self) -> bool {
        match &self.0 {
            DeviceKind::Tun(tun) => !tun.offloads(),
            DeviceKind::Ethernet(..) => true,
            DeviceKind::Packets(_) | DeviceKind::Tunnel(_) => false,
        }
    }

    /// Writes the segments of `join` as one large packet, to a device that takes it.
    ///
    /// # Errors
    /// The kernel refused the packet.
    pub fn write_joined<'a>(
        &mut self,
        join: &Join,
        segments: impl Iterator<Item = &'a [u8]>,
    ) -> io::Result<()> {
        match &mut self.0 {
            DeviceKind::Tun(tun) => tun.write_joined(join, segments),
            _ => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// Packets lost since the last call because they were not read in time; 0 for a TUN device, which has a kernel
    /// counter ([`super::namespace::Namespace::overrun`]).
    pub fn overrun(&self) -> u64 {
        match &self.0 {
            DeviceKind::Tun(_) | DeviceKind::Packets(_) => 0,
            DeviceKind::Ethernet(file, _) => veth::thrown_away(file.as_raw_fd()),
            DeviceKind::Tunnel(tunnel) => tunnel.overrun(),
        }
    }

    /// Whether output is queued until the kernel accepts more; reading or writing retries it.
    pub fn wants_to_write(&self) -> bool {
        if let DeviceKind::Tunnel(tunnel) = &self.0 { tunnel.wants_to_write() } else { false }
    }
}

impl AsRawFd for Device {
    fn as_raw_fd(&self) -> RawFd {
        match &self.0 {
            DeviceKind::Tun(tun) => tun.as_raw_fd(),
            DeviceKind::Packets(file) | DeviceKind::Ethernet(file, _) => file.as_raw_fd(),
            DeviceKind::Tunnel(tunnel) => tunnel.as_raw_fd(),
        }
    }
}
