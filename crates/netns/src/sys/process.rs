//! System calls for processes: PID, mount and user namespaces, signals, credentials, capabilities, exit status, user
//! database.

use super::{check, check_fd};
use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

/// Makes the next child of the calling thread the first process of a new PID namespace. When that process ends, the
/// kernel kills all processes of the namespace.
pub fn unshare_processes() -> io::Result<()> {
    // SAFETY: no memory is involved.
    check(unsafe { libc::unshare(libc::CLONE_NEWPID) })
}

/// Moves the calling process into a new mount namespace; mounts of the host propagate into it, but not back.
pub fn unshare_mounts() -> io::Result<()> {
    // SAFETY: no memory is involved.
    check(unsafe { libc::unshare(libc::CLONE_NEWNS) })?;
    let root = c"/";
    // SAFETY: the strings end with a zero and outlive the call; a change of propagation reads no others.
    check(unsafe {
        libc::mount(
            std::ptr::null(),
            root.as_ptr(),
            std::ptr::null(),
            libc::MS_SLAVE | libc::MS_REC,
            std::ptr::null(),
        )
    })
}

/// Moves the calling process, which must have one thread, into a new user namespace with the capabilities that
/// namespaces need.
pub fn unshare_user() -> io::Result<()> {
    // SAFETY: no memory is involved.
    check(unsafe { libc::unshare(libc::CLONE_NEWUSER) })
}

/// Effective user and group id of the process.
pub fn ids() -> (u32, u32) {
    // SAFETY: no memory is involved; neither can fail.
    unsafe { (libc::geteuid(), libc::getegid()) }
}

fn text(path: &Path) -> io::Result<CString> {
    CString::new(path.as_os_str().as_bytes()).map_err(|_| io::ErrorKind::InvalidInput.into())
}

/// Mounts a file system of this type.
pub fn mount(kind: &CStr, at: &Path) -> io::Result<()> {
    let at = text(at)?;
    let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
    // SAFETY: the strings end with a zero and outlive the call.
    check(unsafe { libc::mount(kind.as_ptr(), at.as_ptr(), kind.as_ptr(), flags, std::ptr::null()) })
}

/// Bind-mounts a file over another one.
pub fn bind_mount(file: &Path, over: &Path) -> io::Result<()> {
    let (file, over) = (text(file)?, text(over)?);
    // SAFETY: the strings end with a zero and outlive the call.
    check(unsafe {
        libc::mount(file.as_ptr(), over.as_ptr(), std::ptr::null(), libc::MS_BIND, std::ptr::null())
    })
}

/// Kills the calling process when its parent thread ends; cleared by a change of user.
pub fn die_with_parent() -> io::Result<()> {
    // SAFETY: no memory is involved.
    check(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong) })
}

/// Lets `command` inherit these descriptors, and kills it when its parent thread ends.
pub fn hand_down(command: &mut Command, fds: Vec<RawFd>) {
    let act = move || {
        die_with_parent()?;
        hear_all_signals()?;
        keep_rights();
        for fd in &fds {
            // SAFETY: no memory is involved.
            check(unsafe { libc::fcntl(*fd, libc::F_SETFD, 0) })?;
        }
        Ok(())
    };
    // SAFETY: between fork and exec only system calls are made.
    unsafe { command.pre_exec(act) };
}

/// Unblocks all signals, since the started program would inherit a blocked mask.
fn hear_all_signals() -> io::Result<()> {
    let none = set(&[]);
    // SAFETY: the kernel reads the one structure it is given.
    check(unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut()) })
}

/// Keeps the capabilities of the process across exec. Root keeps them anyway; a user in a user namespace does not.
/// Refusals are ignored and show where a capability is needed.
fn keep_rights() {
    // SAFETY: the kernel reads and writes the structures it is given.
    unsafe {
        let header = super::CapHeader { version: super::CAPABILITY_VERSION_3, pid: 0 };
        let mut sets = [super::CapData { effective: 0, permitted: 0, inheritable: 0 }; 2];
        if libc::geteuid() == 0 || libc::syscall(libc::SYS_capget, &raw const header, sets.as_mut_ptr()) < 0 {
            return;
        }
        for set in &mut sets {
            set.inheritable = set.permitted;
        }
        libc::syscall(libc::SYS_capset, &raw const header, sets.as_ptr());
        for right in 0..64 {
            let bits = sets[right / 32].permitted;
            if bits >> (right % 32) & 1 == 1 {
                ambient(libc::PR_CAP_AMBIENT_RAISE, right as libc::c_ulong);
            }
        }
    }
}

/// Drops capabilities at exec, except for root.
fn leave_rights() {
    ambient(libc::PR_CAP_AMBIENT_CLEAR_ALL, 0);
}

fn ambient(what: libc::c_int, right: libc::c_ulong) {
    let zero = 0 as libc::c_ulong;
    // SAFETY: no memory is involved.
    unsafe { libc::prctl(libc::PR_CAP_AMBIENT, what as libc::c_ulong, right, zero, zero) };
}

/// Optionally starts `command` in a process group of its own, in the foreground of the terminal if there is one.
/// Unless `trusted`, the command loses capabilities beyond those of its user.
pub fn place(command: &mut Command, own_group: bool, terminal: Option<RawFd>, trusted: bool) {
    let act = move || {
        if own_group {
            // SAFETY: no memory is involved.
            check(unsafe { libc::setpgid(0, 0) })?;
        }
        if let Some(terminal) = terminal {
            // SAFETY: no memory is involved.
            super::terminal::give(terminal, unsafe { libc::getpid() })?;
        }
        if !trusted {
            leave_rights();
        }
        hear_all_signals()
    };
    // SAFETY: between fork and exec only system calls are made.
    unsafe { command.pre_exec(act) };
}

/// Takes ownership of an inherited descriptor.
pub fn adopt(fd: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: no memory is involved; a number that is no open file is refused here.
    check(unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) })?;
    // SAFETY: it is open, and the caller guarantees sole ownership.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Anonymous memory file, inherited by child processes.
pub fn memory_file(name: &CStr) -> io::Result<OwnedFd> {
    // SAFETY: the name ends with a zero and outlives the call.
    check_fd(unsafe { libc::memfd_create(name.as_ptr(), 0) })
}

/// State change of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The process exited with this status.
    Exited(i32),
    /// The process was killed by this signal.
    Killed(i32),
    /// The process was stopped by this signal.
    Stopped(i32),
}

/// Next child with a state change, if any: process id and change.
pub fn changed() -> Option<(i32, Change)> {
    let mut status = 0;
    // SAFETY: the kernel writes one number, which outlives the call.
    let pid = unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG | libc::WUNTRACED) };
    if pid <= 0 {
        return None;
    }
    let change = if libc::WIFEXITED(status) {
        Change::Exited(libc::WEXITSTATUS(status))
    } else if libc::WIFSTOPPED(status) {
        Change::Stopped(libc::WSTOPSIG(status))
    } else {
        Change::Killed(libc::WTERMSIG(status))
    };
    Some((pid, change))
}

/// Sends a signal to a process; a negative id is a process group, -1 all visible processes except the caller.
pub fn signal(pid: i32, signal: i32) -> io::Result<()> {
    // SAFETY: no memory is involved.
    check(unsafe { libc::kill(pid, signal) })
}

fn set(signals: &[i32]) -> libc::sigset_t {
    // SAFETY: both calls write the one structure, of which all bytes zero is a value.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        for signal in signals {
            libc::sigaddset(&raw mut set, *signal);
        }
        set
    }
}

/// Blocks these signals in the calling thread and its later threads; returns the descriptor from which they are read.
pub fn hold_signals(signals: &[i32]) -> io::Result<OwnedFd> {
    let set = set(signals);
    // SAFETY: the kernel reads the one structure it is given.
    unsafe {
        if libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()) != 0 {
            return Err(io::Error::last_os_error());
        }
        check_fd(libc::signalfd(-1, &raw const set, libc::SFD_NONBLOCK | libc::SFD_CLOEXEC))
    }
}

/// Next pending signal, and whether the terminal sent it to the whole process group.
pub fn next_signal(held: &OwnedFd) -> Option<(i32, bool)> {
    // SAFETY: all bytes zero is a value of this plain structure.
    let mut info: libc::signalfd_siginfo = unsafe { std::mem::zeroed() };
    let size = size_of::<libc::signalfd_siginfo>();
    // SAFETY: the kernel writes at most as many bytes as the structure has.
    let n = unsafe { libc::read(held.as_raw_fd(), (&raw mut info).cast(), size) };
    const FROM_KERNEL: i32 = 0x80;
    (n == size as isize).then_some((info.ssi_signo as i32, info.ssi_code == FROM_KERNEL))
}

/// Changes supplementary groups, group and user of the process permanently.
pub fn become_user(uid: u32, gid: u32, groups: &[u32]) -> io::Result<()> {
    // SAFETY: the kernel reads as many numbers as the slice has.
    unsafe {
        check(libc::setgroups(groups.len(), groups.as_ptr()))?;
        check(libc::setresgid(gid, gid, gid))?;
        check(libc::setresuid(uid, uid, uid))
    }
}

/// Entry of the user database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// User name.
    pub name: String,
    /// Home directory.
    pub home: String,
    /// Login shell.
    pub shell: String,
    /// Supplementary groups.
    pub groups: Vec<u32>,
}

/// Entry of a user.
pub fn user_entry(uid: u32, gid: u32) -> Option<Entry> {
    let mut buffer = vec![0 as libc::c_char; 1 << 14];
    // SAFETY: all bytes zero is a value of this plain structure.
    let mut entry: libc::passwd = unsafe { std::mem::zeroed() };
    let mut found = std::ptr::null_mut();
    // SAFETY: it writes the structure and at most as many bytes as the buffer has.
    let failed =
        unsafe { libc::getpwuid_r(uid, &raw mut entry, buffer.as_mut_ptr(), buffer.len(), &raw mut found) };
    if failed != 0 || found.is_null() {
        return None;
    }
    // SAFETY: a found entry's texts end with a zero and lie in the buffer, which is alive.
    let text = |p: *const libc::c_char| unsafe { CStr::from_ptr(p) }.to_string_lossy().into_owned();
    let mut groups = vec![0; 256];
    let mut count = groups.len() as libc::c_int;
    // SAFETY: it writes at most `count` numbers, which the vector has.
    let listed = unsafe { libc::getgrouplist(entry.pw_name, gid, groups.as_mut_ptr(), &raw mut count) };
    groups.truncate(if listed < 0 { 0 } else { count as usize });
    Some(Entry { name: text(entry.pw_name), home: text(entry.pw_dir), shell: text(entry.pw_shell), groups })
}
