//! System calls of guest kernel processes: start options, kill, poll, exchange of files, shared memory; all `unsafe`
//! code of this crate.
//!
//! Each call uses memory of the function or of its caller, valid for the length of the call.
#![allow(unsafe_code, reason = "calls that no safe interface of ours covers; each says why it is sound")]

use std::io;
use std::os::fd::{AsFd as _, AsRawFd, BorrowedFd, FromRawFd as _, OwnedFd, RawFd};
use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;

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

/// Sends bytes with attached files, all in one message.
pub(crate) fn send_with_files<const N: usize>(
    socket: &impl AsRawFd,
    bytes: &[u8],
    files: [BorrowedFd<'_>; N],
) -> io::Result<()> {
    const { assert!(N <= MOST) };
    let mut control = Control([0; 128]);
    let mut part = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
    let length = (N * size_of::<RawFd>()) as libc::c_uint;
    // SAFETY: all bytes zero is a value of this plain structure.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = control.0.as_mut_ptr().cast();
    // SAFETY: pure arithmetic.
    message.msg_controllen = unsafe { libc::CMSG_SPACE(length) } as _;
    // SAFETY: the control buffer is aligned for `cmsghdr`, and longer than the one entry with at most `MOST`
    // descriptors that is written here.
    unsafe {
        let entry = libc::CMSG_FIRSTHDR(&raw const message);
        (*entry).cmsg_level = libc::SOL_SOCKET;
        (*entry).cmsg_type = libc::SCM_RIGHTS;
        (*entry).cmsg_len = libc::CMSG_LEN(length) as _;
        for (i, file) in files.iter().enumerate() {
            libc::CMSG_DATA(entry).cast::<RawFd>().add(i).write_unaligned(file.as_raw_fd());
        }
    }
    // SAFETY: the kernel reads within the buffers whose addresses and lengths the header holds; they outlive it.
    let n = unsafe { libc::sendmsg(socket.as_raw_fd(), &raw const message, libc::MSG_NOSIGNAL) };
    if n == bytes.len() as isize { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Whether `bytes` contain `text`; fast without optimisation too.
pub(crate) fn holds(bytes: &[u8], text: &[u8]) -> bool {
    // SAFETY: `memmem` reads within the two slices, by their lengths.
    let at = unsafe { libc::memmem(bytes.as_ptr().cast(), bytes.len(), text.as_ptr().cast(), text.len()) };
    !at.is_null()
}

/// Zeroed memory shared with another process: an unnamed file, mapped.
///
/// Invariant: `at` is the start of a mapping of `words` words that lasts as long as this value. The size of the file
/// is sealed, so no process can shrink it and an access never fails. The other process may write at any time, so the
/// memory is accessed as atomic words only.
pub(crate) struct Shared {
    at: NonNull<AtomicU64>,
    words: usize,
    file: OwnedFd,
}

// SAFETY: the mapping belongs to the process, not to a thread, and is accessed by atomic operations only.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

impl Shared {
    /// Memory of this many words of 8 bytes, whole pages.
    pub(crate) fn new(words: usize) -> io::Result<Shared> {
        let bytes = words * size_of::<AtomicU64>();
        // SAFETY: the name is a string with its end; the descriptor is new and has no other owner.
        let file = unsafe {
            let fd = libc::memfd_create(c"schedule".as_ptr(), libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING);
            check(fd)?;
            OwnedFd::from_raw_fd(fd)
        };
        let seals = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;
        // SAFETY: no memory is involved; the mapping is a new one at an address of the system's choice, and its length
        // is that of the file.
        let at = unsafe {
            check(libc::ftruncate(file.as_raw_fd(), bytes as libc::off_t))?;
            check(libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, seals))?;
            let access = libc::PROT_READ | libc::PROT_WRITE;
            libc::mmap(std::ptr::null_mut(), bytes, access, libc::MAP_SHARED, file.as_raw_fd(), 0)
        };
        if at == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let at = NonNull::new(at.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Shared { at, words, file })
    }

    /// File that holds the memory.
    pub(crate) fn file(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl AsRef<[AtomicU64]> for Shared {
    fn as_ref(&self) -> &[AtomicU64] {
        // SAFETY: by the invariant; a mapping is aligned to pages, and any bits are a word.
        unsafe { std::slice::from_raw_parts(self.at.as_ptr(), self.words) }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: by the invariant this is a whole mapping, and no reference to it outlives this value.
        unsafe { libc::munmap(self.at.as_ptr().cast(), self.words * size_of::<AtomicU64>()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::os::unix::fs::FileExt as _;
    use std::os::unix::net::UnixStream;
    use std::sync::atomic::Ordering;

    #[test]
    fn shared_memory_arrives_with_its_file_and_keeps_its_size() {
        let shared = Shared::new(1024).unwrap();
        let (ours, theirs) = UnixStream::pair().unwrap();
        let log = File::open("/dev/null").unwrap();
        send_with_files(&ours, b"start", [shared.file(), log.as_fd()]).unwrap();
        let (mut bytes, mut files) = ([0; 16], Vec::new());
        assert_eq!(receive(&theirs, &mut bytes, &mut files).unwrap(), 5);
        assert_eq!((&bytes[..5], files.len()), (&b"start"[..], 2));
        let memory = File::from(files.remove(0));
        shared.as_ref()[1023].store(7, Ordering::Release);
        let mut word = [0; 8];
        memory.read_exact_at(&mut word, 1023 * 8).unwrap();
        assert_eq!(u64::from_ne_bytes(word), 7);
        assert!(memory.set_len(0).is_err() && memory.set_len(1 << 20).is_err());
    }

    #[test]
    fn a_text_is_found_where_it_is() {
        assert!(holds(b"a kernel with upperdir", b"upperdir") && holds(b"x", b"x"));
        assert!(!holds(b"a kernel with upperdi", b"upperdir") && !holds(b"", b"x"));
    }
}
