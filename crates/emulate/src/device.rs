//! By what do packets come and go? By a TUN device, whose file gives and takes them bare; or by a socket at the
//! other end of a pair of Ethernet devices, where each has a header before it.

use crate::sys::veth;
use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut, Read as _, Write as _};
use std::os::fd::{AsRawFd, RawFd};

/// Where packets come out of a stack and go into it. Neither reading nor writing waits.
#[derive(Debug)]
pub struct Device {
    file: File,
    /// The stack's address on Ethernet, where there is one.
    ethernet: Option<[u8; 6]>,
}

const HEADER: usize = 14;
/// The types of packets that Ethernet carries.
const IP: [[u8; 2]; 2] = [[0x08, 0x00], [0x86, 0xdd]];

impl Device {
    /// The file of a TUN device.
    pub(crate) fn tun(file: File) -> Device {
        Device { file, ethernet: None }
    }

    /// A socket that speaks with the stack of this address.
    pub(crate) fn ethernet(file: File, to: [u8; 6]) -> Device {
        Device { file, ethernet: Some(to) }
    }

    /// Whether it is the one that stands in for a TUN device.
    pub fn stands_in(&self) -> bool {
        self.ethernet.is_some()
    }

    /// Reads a packet; gives its length.
    ///
    /// # Errors
    /// `WouldBlock` if there is none; the kernel's.
    pub fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.ethernet.is_none() {
            return self.file.read(into);
        }
        loop {
            let mut header = [0; HEADER];
            let mut parts = [IoSliceMut::new(&mut header), IoSliceMut::new(into)];
            let length = self.file.read_vectored(&mut parts)?;
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
        let Some(to) = self.ethernet else { return self.file.write(packet).map(drop) };
        let kind = IP[usize::from(packet.first().is_some_and(|first| first >> 4 == 6))];
        let mut header = [0; HEADER];
        header[..6].copy_from_slice(&to);
        header[12..].copy_from_slice(&kind);
        self.file.write_vectored(&[IoSlice::new(&header), IoSlice::new(packet)]).map(drop)
    }

    /// Packets that were lost because nobody read them in time, since it was last asked. A TUN device counts them
    /// itself ([`crate::space::Space::overrun`]).
    pub fn overrun(&self) -> u64 {
        if self.ethernet.is_some() { veth::thrown_away(self.file.as_raw_fd()) } else { 0 }
    }
}

impl AsRawFd for Device {
    fn as_raw_fd(&self) -> RawFd {
        self.file.as_raw_fd()
    }
}
