//! Controlling terminal of the session: foreground process group, saved settings.

use super::{check, check_fd};
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd, RawFd};

/// Controlling terminal of the session, if any.
pub fn open() -> Option<OwnedFd> {
    // SAFETY: the name ends with a zero.
    check_fd(unsafe { libc::open(c"/dev/tty".as_ptr(), libc::O_RDWR | libc::O_CLOEXEC) }).ok()
}

/// Whether a descriptor is a terminal.
pub fn is(fd: RawFd) -> bool {
    // SAFETY: no memory is involved.
    unsafe { libc::isatty(fd) == 1 }
}

/// Whether the calling process is in the foreground.
pub fn is_ours(terminal: &OwnedFd) -> bool {
    // SAFETY: no memory is involved.
    unsafe { libc::tcgetpgrp(terminal.as_raw_fd()) == libc::getpgrp() }
}

/// Moves a process group to the foreground, even if the caller is in the background.
pub fn give(terminal: RawFd, group: i32) -> io::Result<()> {
    // SAFETY: the sets are written before they are read, and outlive the calls; no allocation, so that it may be
    // called between fork and exec.
    unsafe {
        let mut block: libc::sigset_t = std::mem::zeroed();
        let mut before: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut block);
        libc::sigaddset(&raw mut block, libc::SIGTTOU);
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const block, &raw mut before);
        let given = check(libc::tcsetpgrp(terminal, group));
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut());
        given
    }
}

/// Moves the caller's process group to the foreground.
pub fn take(terminal: &OwnedFd) {
    // SAFETY: no memory is involved.
    let own = unsafe { libc::getpgrp() };
    // Refused only if the terminal is gone.
    let _ = give(terminal.as_raw_fd(), own);
}

/// Saved terminal settings.
#[derive(Clone, Copy)]
pub struct Setting(libc::termios);

/// Current settings of the terminal.
pub fn setting(terminal: &OwnedFd) -> Option<Setting> {
    // SAFETY: the kernel writes one structure, of which all bytes zero is a value.
    unsafe {
        let mut setting: libc::termios = std::mem::zeroed();
        check(libc::tcgetattr(terminal.as_raw_fd(), &raw mut setting)).ok()?;
        Some(Setting(setting))
    }
}

/// Restores saved settings.
pub fn restore(terminal: &OwnedFd, setting: &Setting) {
    // SAFETY: the kernel reads one structure.
    unsafe { libc::tcsetattr(terminal.as_raw_fd(), libc::TCSADRAIN, &raw const setting.0) };
}
