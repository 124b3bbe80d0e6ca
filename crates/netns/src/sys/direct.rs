//! Reads and writes of a device without the thread cancellation points of the C library, which take 3 % of the time of a
//! small packet in a process with threads.

use std::fs::File;
use std::io::{self, IoSlice};
use std::os::fd::AsRawFd as _;

fn length(result: libc::c_long) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}

/// Reads a packet and returns its length.
pub(super) fn read(file: &File, into: &mut [u8]) -> io::Result<usize> {
    // SAFETY: the kernel writes at most as many bytes as the slice has.
    length(unsafe { libc::syscall(libc::SYS_read, file.as_raw_fd(), into.as_mut_ptr(), into.len()) })
}

/// Writes a packet.
pub(super) fn write(file: &File, packet: &[u8]) -> io::Result<()> {
    // SAFETY: the kernel reads as many bytes as the slice has.
    length(unsafe { libc::syscall(libc::SYS_write, file.as_raw_fd(), packet.as_ptr(), packet.len()) })
        .map(drop)
}

/// Writes a packet of several parts.
pub(super) fn write_vectored(file: &File, parts: &[IoSlice<'_>]) -> io::Result<()> {
    // SAFETY: `IoSlice` has the layout of `iovec`; the kernel reads as many of them as the slice has, and their bytes.
    length(unsafe { libc::syscall(libc::SYS_writev, file.as_raw_fd(), parts.as_ptr(), parts.len()) })
        .map(drop)
}
