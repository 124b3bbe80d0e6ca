//! Messages of `rtnetlink` (`Message`): construction, exchange with the kernel, acknowledgement.

use super::{check, check_fd};
use std::io;
use std::os::fd::AsRawFd as _;

/// An `rtnetlink` message under construction.
pub(crate) struct Message(pub(crate) Vec<u8>);

const HEADER: usize = 16;
/// A zero `ifinfomsg`.
pub(crate) const NO_INTERFACE: [u8; 16] = [0; 16];
/// Flags of a message that creates what does not exist yet, and is acknowledged.
pub(super) const CREATE: u16 =
    (libc::NLM_F_REQUEST | libc::NLM_F_ACK | libc::NLM_F_CREATE | libc::NLM_F_EXCL) as u16;

impl Message {
    pub(crate) fn new(kind: u16, flags: u16) -> Message {
        let mut bytes = vec![0; HEADER];
        bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
        bytes[6..8].copy_from_slice(&flags.to_ne_bytes());
        Message(bytes)
    }
    pub(crate) fn put(&mut self, kind: u16, value: &[u8]) {
        self.within(kind, |m| m.0.extend(value));
    }
    /// Adds an attribute with the content written by `fill`.
    pub(super) fn within(&mut self, kind: u16, fill: impl FnOnce(&mut Message)) {
        let at = self.0.len();
        self.0.extend([0; 2]);
        self.0.extend(kind.to_ne_bytes());
        fill(self);
        let length = (self.0.len() - at) as u16;
        self.0[at..at + 2].copy_from_slice(&length.to_ne_bytes());
        self.0.resize(self.0.len().next_multiple_of(4), 0);
    }
    /// Sends the message, and returns the kernel's reply.
    pub(crate) fn exchange(mut self) -> io::Result<Vec<u8>> {
        let length = self.0.len() as u32;
        self.0[..4].copy_from_slice(&length.to_ne_bytes());
        // SAFETY: no memory is involved.
        let socket = check_fd(unsafe {
            libc::socket(libc::AF_NETLINK, libc::SOCK_RAW | libc::SOCK_CLOEXEC, libc::NETLINK_ROUTE)
        })?;
        let mut answer = vec![0u8; 1 << 15];
        // SAFETY: the kernel reads as many bytes as there are, and writes at most as many as the array has.
        let n = unsafe {
            check(libc::send(socket.as_raw_fd(), self.0.as_ptr().cast(), self.0.len(), 0) as libc::c_int)?;
            libc::recv(socket.as_raw_fd(), answer.as_mut_ptr().cast(), answer.len(), 0)
        };
        check(n as libc::c_int)?;
        answer.truncate(n as usize);
        Ok(answer)
    }
    /// Sends the message, and checks the kernel's acknowledgement.
    pub(super) fn send(self) -> io::Result<()> {
        let answer = self.exchange()?;
        let number =
            |at: usize| answer.get(at..at + 4).and_then(|b| b.try_into().ok()).map(i32::from_ne_bytes);
        match number(HEADER) {
            Some(0) => Ok(()),
            Some(error) => Err(io::Error::from_raw_os_error(-error)),
            None => Err(io::ErrorKind::InvalidData.into()),
        }
    }
}

pub(crate) fn with_end(name: &str) -> Vec<u8> {
    [name.as_bytes(), &[0]].concat()
}
