//! System calls of guest kernel processes: start options, kill, poll, receipt of files; all `unsafe` code of this
//! crate.
//!
//! Each call uses memory of the function or of its caller, valid for the length of the call.
#![allow(unsafe_code, reason = "calls that no safe interface of ours covers; each says why it is sound")]

use std::io;
use std::os::fd::{AsRawFd, FromRawFd as _, OwnedFd, RawFd};
use std::os::unix::process::CommandExt as _;
use std::process::Command;

fn check(result: libc::c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Sets up `command` to start with fixed addresses (no ASLR), without core dumps, and with SIGKILL when the
/// parent thread dies.
pub(crate) fn tame(command: &mut Command) {
    let us = std::process::id();
    let tame = move || {
        let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: `setrlimit` reads the one structure it is given; the others touch no memory.
        unsafe {
            check(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong))?;
            // The parent may have exited before.
            if libc::getppid() as u32 != us {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            check(libc::setrlimit(libc::RLIMIT_CORE, &raw const none))?;
            check(libc::personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong))
        }
    };
    // SAFETY: between fork and exec only system calls are made that may be made there, and nothing is allocated.
    unsafe { command.pre_exec(tame) };
}

/// Kills a process group; a group that has exited is no error.
pub(crate) fn kill_group(leader: u32) {
    let Ok(leader) = libc::pid_t::try_from(leader) else { return };
    // SAFETY: no memory is involved. The group is that of a child that has not been reaped, so its number cannot have
    // been given to another.
    unsafe { libc::kill(-leader, libc::SIGKILL) };
}

/// Which of these descriptors are readable or closed, within `ms` milliseconds.
pub(crate) fn wait<const N: usize>(fds: [Option<RawFd>; N], ms: i32) -> io::Result<[bool; N]> {
    // `poll` ignores an entry of -1.
    let mut list = fds.map(|fd| libc::pollfd { fd: fd.unwrap_or(-1), events: libc::POLLIN, revents: 0 });
    // SAFETY: the kernel writes `revents` of as many entries as the array has.
    let n = unsafe { libc::poll(list.as_mut_ptr(), N as libc::nfds_t, ms) };
    match check(n) {
        Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
        other => other?,
    }
    Ok(list.map(|one| one.revents != 0))
}

/// Bound of files attached to a message: one per memory region of a guest.
const MOST: usize = 8;

#[repr(C, align(8))]
struct Control([u8; 128]);

/// Reads available bytes, at most the length of `to`, and the attached files.
pub(crate) fn receive(socket: &impl AsRawFd, to: &mut [u8], files: &mut Vec<OwnedFd>) -> io::Result<usize> {
    let mut control = Control([0; 128]);
    let mut part = libc::iovec { iov_base: to.as_mut_ptr().cast(), iov_len: to.len() };
    // SAFETY: all bytes zero is a value of this plain structure.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = control.0.as_mut_ptr().cast();
    message.msg_controllen = control.0.len() as _;
    // SAFETY: the kernel writes within the buffers whose addresses and lengths the header holds; they outlive it.
    let n = unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut message, libc::MSG_CMSG_CLOEXEC) };
    let n = usize::try_from(n).map_err(|_| io::Error::last_os_error())?;
    // SAFETY: the header is as the kernel left it, its control buffer is aligned for `cmsghdr` and alive; these
    // functions stay within the length that it names.
    let mut entry = unsafe { libc::CMSG_FIRSTHDR(&raw const message) };
    while !entry.is_null() {
        // SAFETY: not null, so it points at a whole entry within the control buffer.
        let (level, kind, length) =
            unsafe { ((*entry).cmsg_level, (*entry).cmsg_type, (*entry).cmsg_len as usize) };
        if (level, kind) == (libc::SOL_SOCKET, libc::SCM_RIGHTS) {
            // SAFETY: pure arithmetic.
            let head = unsafe { libc::CMSG_LEN(0) } as usize;
            for i in 0..(length.saturating_sub(head) / size_of::<RawFd>()).min(MOST) {
                // SAFETY: the kernel has put `length` bytes there, which hold this many descriptors; each is new and
                // has no other owner.
                let fd = unsafe {
                    let at = libc::CMSG_DATA(entry).cast::<RawFd>().add(i).read_unaligned();
                    OwnedFd::from_raw_fd(at)
                };
                files.push(fd);
            }
        }
        // SAFETY: as above.
        entry = unsafe { libc::CMSG_NXTHDR(&raw const message, entry) };
    }
    Ok(n)
}
