//! System calls of network namespaces and emulation: clocks, timers, polling, sockets, TUN devices, priorities,
//! capabilities. Every `unsafe` of this crate is in this module.
//!
//! Each function performs one operation with memory that it owns.
#![allow(unsafe_code, reason = "calls that no safe interface of ours covers; each says why it is sound")]

mod direct;
pub mod link;
pub mod packet;
pub mod process;
pub mod route;
mod rtnetlink;
pub mod serial;
pub mod terminal;
pub mod tun;
pub mod veth;
pub mod vnet;

use super::facts::TcpInfo;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd, RawFd};
use std::os::unix::process::CommandExt as _;
use std::process::Command;

fn check(result: libc::c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn check_fd(result: libc::c_int) -> io::Result<OwnedFd> {
    check(result)?;
    // SAFETY: the kernel has just given this descriptor to us alone.
    Ok(unsafe { OwnedFd::from_raw_fd(result) })
}

/// Monotonic clock, ns; not affected by steps of the wall clock.
pub fn monotonic() -> u64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: it writes the one structure it is given; this clock exists on every Linux.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut t) };
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}

/// Wall clock, ns since 1970, UT.
pub fn realtime() -> u64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: it writes the one structure it is given; this clock exists on every Linux.
    unsafe { libc::clock_gettime(libc::CLOCK_REALTIME, &raw mut t) };
    (t.tv_sec as u64).saturating_mul(1_000_000_000).saturating_add(t.tv_nsec as u64)
}

/// CPU time of the calling thread.
pub fn thread_time() -> base::Span {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes one `timespec`.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut t) };
    base::Span::from_nanos(t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64)
}

/// Moves only the calling thread into a new network namespace.
pub fn unshare_network() -> io::Result<()> {
    // SAFETY: no memory is involved.
    check(unsafe { libc::unshare(libc::CLONE_NEWNET) })
}

/// Moves the calling thread into the network namespace of `fd`.
pub fn enter_network(fd: RawFd) -> io::Result<()> {
    // SAFETY: no memory is involved.
    check(unsafe { libc::setns(fd, libc::CLONE_NEWNET) })
}

/// Starts `command` in the network namespace of `fd`; it is killed when its parent thread ends.
pub fn bind_command(command: &mut Command, fd: RawFd) {
    let into = move || {
        enter_network(fd)?;
        // SAFETY: no memory is involved.
        check(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) })
    };
    // SAFETY: between fork and exec only these two system calls are made.
    unsafe { command.pre_exec(into) };
}

fn request(name: &str) -> io::Result<libc::ifreq> {
    // SAFETY: all bytes zero is a value of this plain structure.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    if name.len() >= request.ifr_name.len() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    Ok(request)
}

/// Socket for interface ioctls.
fn control() -> io::Result<OwnedFd> {
    // SAFETY: no memory is involved.
    check_fd(unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) })
}

fn configure(control: &OwnedFd, what: libc::c_ulong, request: &mut libc::ifreq) -> io::Result<()> {
    // SAFETY: every SIOCSIF... request reads one `ifreq`, which outlives the call.
    check(unsafe { libc::ioctl(control.as_raw_fd(), what as _, std::ptr::from_mut(request)) })
}

fn address(a: Ipv4Addr) -> libc::sockaddr {
    let mut out = libc::sockaddr { sa_family: libc::AF_INET as libc::sa_family_t, sa_data: [0; 14] };
    // As in `sockaddr_in`: two bytes of port, then the address.
    for (to, from) in out.sa_data[2..6].iter_mut().zip(a.octets()) {
        *to = from as libc::c_char;
    }
    out
}

/// Sets an interface up.
pub fn up(name: &str) -> io::Result<()> {
    let mut r = request(name)?;
    r.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    configure(&control()?, libc::SIOCSIFFLAGS as _, &mut r)
}

/// Sets address, netmask, MTU and transmit queue length of an interface, and sets it up.
pub fn address_interface(name: &str, at: Ipv4Addr, mask: Ipv4Addr, mtu: u32, queue: u32) -> io::Result<()> {
    size_interface(name, mtu, queue)?;
    let control = control()?;
    let mut r = request(name)?;
    r.ifr_ifru.ifru_addr = address(at);
    configure(&control, libc::SIOCSIFADDR as _, &mut r)?;
    r.ifr_ifru.ifru_netmask = address(mask);
    configure(&control, libc::SIOCSIFNETMASK as _, &mut r)?;
    up(name)
}

/// Sets MTU and transmit queue length of an interface.
pub fn size_interface(name: &str, mtu: u32, queue: u32) -> io::Result<()> {
    let control = control()?;
    let mut r = request(name)?;
    r.ifr_ifru.ifru_mtu = mtu as libc::c_int;
    configure(&control, libc::SIOCSIFMTU as _, &mut r)?;
    // The queue length shares its field with the MTU.
    r.ifr_ifru.ifru_mtu = queue as libc::c_int;
    // Refused in a user namespace; the default length remains, and drops are counted.
    let _ = configure(&control, libc::SIOCSIFTXQLEN as _, &mut r);
    Ok(())
}

/// Event descriptor, readable once signalled.
pub fn bell() -> io::Result<OwnedFd> {
    // SAFETY: no memory is involved.
    check_fd(unsafe { libc::eventfd(0, libc::EFD_NONBLOCK | libc::EFD_CLOEXEC) })
}

/// Signals the event descriptor.
pub fn ring(bell: &OwnedFd) -> io::Result<()> {
    let one = 1u64;
    // SAFETY: the kernel reads the eight bytes of one number.
    check(unsafe { libc::write(bell.as_raw_fd(), (&raw const one).cast(), 8) } as libc::c_int)
}

/// Clears the event descriptor.
pub fn hush(bell: &OwnedFd) {
    let mut rung = 0u64;
    // SAFETY: the kernel writes the eight bytes of one number. It fails if no event was signalled.
    unsafe { libc::read(bell.as_raw_fd(), (&raw mut rung).cast(), 8) };
}

/// User id of the peer of a Unix socket.
pub fn peer_user(fd: RawFd) -> io::Result<u32> {
    let mut peer = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut length = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: the kernel writes one structure, which outlives the call.
    check(unsafe {
        libc::getsockopt(fd, libc::SOL_SOCKET, libc::SO_PEERCRED, (&raw mut peer).cast(), &raw mut length)
    })?;
    Ok(peer.uid)
}

/// Socket buffer size per direction, as far as permitted, bytes.
const DEPTH: libc::c_int = 8 << 20;

/// Enlarges the buffers of a socket for bursts.
pub fn deepen(fd: RawFd) {
    let depth = DEPTH;
    let set = |option: i32| {
        // SAFETY: the kernel reads the bytes of one number.
        check(unsafe {
            libc::setsockopt(
                fd,
                libc::SOL_SOCKET,
                option,
                (&raw const depth).cast(),
                size_of::<libc::c_int>() as libc::socklen_t,
            )
        })
    };
    for (forced, allowed) in
        [(libc::SO_RCVBUFFORCE, libc::SO_RCVBUF), (libc::SO_SNDBUFFORCE, libc::SO_SNDBUF)]
    {
        // Without permission the size is unchanged; losses are counted.
        let _ = set(forced).or_else(|_| set(allowed));
    }
}

fn timespec(span: base::Span) -> libc::timespec {
    let ns = span.as_nanos();
    libc::timespec {
        tv_sec: (ns / 1_000_000_000) as libc::time_t,
        tv_nsec: (ns % 1_000_000_000) as libc::c_long,
    }
}

/// Set of descriptors to poll.
pub struct PollSet {
    fds: Vec<libc::pollfd>,
}

impl PollSet {
    /// Polls the descriptors for reading.
    pub fn new(fds: impl Iterator<Item = RawFd>) -> PollSet {
        PollSet { fds: fds.map(|fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 }).collect() }
    }
    /// Enables or disables polling of the descriptor at index `at` for writing.
    pub fn also_to_write(&mut self, at: usize, wanted: bool) {
        if let Some(entry) = self.fds.get_mut(at) {
            entry.events = if wanted { libc::POLLIN | libc::POLLOUT } else { libc::POLLIN };
        }
    }
    /// Whether the descriptor at index `at` was ready, or its device removed, after the last wait.
    pub fn ready(&self, at: usize) -> bool {
        self.fds.get(at).is_none_or(|entry| entry.revents != 0)
    }
    /// Whether the descriptor at index `at` was ready to be read, or its device removed, after the last wait.
    pub fn readable(&self, at: usize) -> bool {
        self.fds.get(at).is_none_or(|entry| entry.revents & !libc::POLLOUT != 0)
    }
    /// Blocks until a descriptor is ready or `timeout` has passed.
    pub fn wait(&mut self, timeout: base::Span) -> io::Result<()> {
        let timeout = timespec(timeout);
        // SAFETY: the kernel writes `revents` of as many entries as the vector has, and reads one `timespec`; no mask.
        let n = unsafe {
            libc::ppoll(
                self.fds.as_mut_ptr(),
                self.fds.len() as libc::nfds_t,
                &raw const timeout,
                std::ptr::null(),
            )
        };
        match check(n) {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => Ok(()),
            other => other,
        }
    }
}

/// Waits until a descriptor is readable, at most `ms` milliseconds; returns which are.
pub fn readable(fds: &[RawFd], ms: Option<i32>) -> Vec<bool> {
    let entry = |fd: &RawFd| libc::pollfd { fd: *fd, events: libc::POLLIN, revents: 0 };
    let mut all: Vec<libc::pollfd> = fds.iter().map(entry).collect();
    // SAFETY: the kernel writes `revents` of as many entries as the vector has.
    unsafe { libc::poll(all.as_mut_ptr(), all.len() as libc::nfds_t, ms.unwrap_or(-1)) };
    all.iter().map(|entry| entry.revents != 0).collect()
}

/// Readiness of a descriptor; an error sets both fields.
#[derive(Clone, Copy, Debug)]
pub struct PollResult {
    /// Readable.
    pub read: bool,
    /// Writable.
    pub write: bool,
}

/// Waits until a descriptor is readable, or writable where requested, at most `most`; returns the readiness of each.
pub fn poll(files: impl Iterator<Item = (RawFd, bool)>, most: base::Span) -> Vec<PollResult> {
    let events = |write: bool| if write { libc::POLLIN | libc::POLLOUT } else { libc::POLLIN };
    let mut all: Vec<libc::pollfd> =
        files.map(|(fd, write)| libc::pollfd { fd, events: events(write), revents: 0 }).collect();
    let most = timespec(most);
    // SAFETY: the kernel writes `revents` of as many entries as the vector has, and reads one `timespec`.
    unsafe {
        libc::ppoll(all.as_mut_ptr(), all.len() as libc::nfds_t, &raw const most, std::ptr::null());
    }
    let ready = |entry: &libc::pollfd| {
        let wrong = entry.revents & (libc::POLLERR | libc::POLLHUP | libc::POLLNVAL) != 0;
        let has = |event: libc::c_short| wrong || entry.revents & event != 0;
        PollResult { read: has(libc::POLLIN), write: has(libc::POLLOUT) }
    };
    all.iter().map(ready).collect()
}

/// Sets the timer slack of the calling thread to 1 ns.
pub fn no_slack() {
    // SAFETY: no memory is involved.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong) };
}

/// Bytes written to a connection that are not acknowledged.
pub fn unacknowledged(fd: RawFd) -> io::Result<u64> {
    let mut bytes: libc::c_int = 0;
    // SAFETY: the kernel writes one number, which outlives the call.
    check(unsafe { libc::ioctl(fd, libc::TIOCOUTQ, &raw mut bytes) })?;
    Ok(bytes.max(0) as u64)
}

/// Bytes received on a connection that are not read.
pub fn unread(fd: RawFd) -> io::Result<u64> {
    let mut bytes: libc::c_int = 0;
    // SAFETY: the kernel writes one number, which outlives the call.
    check(unsafe { libc::ioctl(fd, libc::FIONREAD, &raw mut bytes) })?;
    Ok(bytes.max(0) as u64)
}

/// Binds a socket to a local address.
pub fn bind(stream: &TcpStream, at: SocketAddr) -> io::Result<()> {
    // SAFETY: the kernel reads as many bytes as the structure has.
    check(with_address(at, |at, length| unsafe { libc::bind(stream.as_raw_fd(), at, length) }))
}

/// Calls `act` with an address in kernel format.
fn with_address<R>(at: SocketAddr, act: impl FnOnce(*const libc::sockaddr, libc::socklen_t) -> R) -> R {
    match at {
        SocketAddr::V4(at) => {
            let mut out = address(*at.ip());
            for (to, from) in out.sa_data[..2].iter_mut().zip(at.port().to_be_bytes()) {
                *to = from as libc::c_char;
            }
            act(&raw const out, size_of::<libc::sockaddr>() as libc::socklen_t)
        }
        SocketAddr::V6(at) => {
            let out = libc::sockaddr_in6 {
                sin6_family: libc::AF_INET6 as libc::sa_family_t,
                sin6_port: at.port().to_be(),
                sin6_flowinfo: at.flowinfo(),
                sin6_addr: libc::in6_addr { s6_addr: at.ip().octets() },
                sin6_scope_id: at.scope_id(),
            };
            act((&raw const out).cast(), size_of::<libc::sockaddr_in6>() as libc::socklen_t)
        }
    }
}

/// Waits until a descriptor is writable or readable, at most `ms` milliseconds.
pub fn wait_for(fd: RawFd, write: bool, ms: i32) {
    let events = if write { libc::POLLOUT } else { libc::POLLIN };
    let mut one = libc::pollfd { fd, events, revents: 0 };
    // SAFETY: the kernel writes one structure, which outlives the call.
    unsafe { libc::poll(&raw mut one, 1, ms) };
}

/// Real-time priority of drivers, in the middle of the range.
pub const DRIVER: i32 = 50;
/// Real-time priority of workloads, below that of drivers.
pub const WORKLOAD: i32 = 40;

/// Requests real-time priority for the calling thread.
pub fn real_time(priority: i32) -> io::Result<()> {
    let p = libc::sched_param { sched_priority: priority };
    // SAFETY: it reads the one structure it is given; 0 is the calling thread.
    check(unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, &raw const p) })
}

/// Sets the timer slack of the calling thread to 1 ns, and locks the memory of the process: what is resident now, and
/// what of its present mappings becomes so. Both only improve timing, so refusals are ignored.
pub fn punctual() {
    // SAFETY: no memory is involved.
    unsafe {
        libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong);
        // An allocator reserves mappings far larger than what is in use.
        libc::mlockall(libc::MCL_CURRENT | libc::MCL_ONFAULT);
    }
}

/// Header of `capset`.
#[repr(C)]
pub struct CapHeader {
    version: u32,
    pid: libc::c_int,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct CapData {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

/// Version of the capability interface with two words per set.
const CAPABILITY_VERSION_3: u32 = 0x2008_0522;

/// Drops all capabilities of the calling thread, and the means to regain them.
pub fn drop_rights() -> io::Result<()> {
    let header = CapHeader { version: CAPABILITY_VERSION_3, pid: 0 };
    let none = [CapData { effective: 0, permitted: 0, inheritable: 0 }; 2];
    // SAFETY: the kernel reads the header and, for this version, two entries of data.
    unsafe {
        check(libc::prctl(
            libc::PR_SET_NO_NEW_PRIVS,
            1 as libc::c_ulong,
            0 as libc::c_ulong,
            0 as libc::c_ulong,
            0 as libc::c_ulong,
        ))?;
        check(libc::syscall(libc::SYS_capset, &raw const header, none.as_ptr()) as libc::c_int)
    }
}

/// `TCP_INFO` of a connection.
pub fn tcp_info(fd: RawFd) -> io::Result<TcpInfo> {
    let mut bytes = [0u8; 512];
    let mut length = bytes.len() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes, which the array has, and returns the number written.
    check(unsafe {
        libc::getsockopt(fd, libc::IPPROTO_TCP, libc::TCP_INFO, bytes.as_mut_ptr().cast(), &raw mut length)
    })?;
    Ok(TcpInfo::read(&bytes[..(length as usize).min(bytes.len())]))
}

/// Non-blocking TCP socket in the calling thread's namespace with congestion control `cc`. The sysctl of a namespace
/// does not suffice, since it permits only some algorithms outside of the initial namespace.
pub fn stream(cc: Option<&str>, six: bool) -> io::Result<TcpStream> {
    let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    let family = if six { libc::AF_INET6 } else { libc::AF_INET };
    // SAFETY: no memory is involved.
    let fd = check_fd(unsafe { libc::socket(family, kind, 0) })?;
    if let Some(cc) = cc {
        congestion_control(fd.as_raw_fd(), cc)?;
    }
    Ok(fd.into())
}

/// Sets the congestion control of a socket; accepted connections inherit that of the listener.
pub fn congestion_control(fd: RawFd, cc: &str) -> io::Result<()> {
    // SAFETY: the kernel reads as many bytes as the name has.
    check(unsafe {
        libc::setsockopt(
            fd,
            libc::IPPROTO_TCP,
            libc::TCP_CONGESTION,
            cc.as_ptr().cast(),
            cc.len() as libc::socklen_t,
        )
    })
}

/// Limits unsent bytes of a connection (`TCP_NOTSENT_LOWAT`).
pub fn wait_below(fd: RawFd, bytes: u32) -> io::Result<()> {
    // SAFETY: the kernel reads the four bytes of one number.
    check(unsafe {
        libc::setsockopt(
            fd,
            libc::IPPROTO_TCP,
            libc::TCP_NOTSENT_LOWAT,
            (&raw const bytes).cast(),
            size_of::<u32>() as libc::socklen_t,
        )
    })
}

/// Starts to connect.
pub fn connect(stream: &TcpStream, to: SocketAddr) -> io::Result<()> {
    // SAFETY: the kernel reads as many bytes as the structure has.
    let begun = with_address(to, |at, length| unsafe { libc::connect(stream.as_raw_fd(), at, length) });
    match check(begun) {
        Err(e) if e.raw_os_error() == Some(libc::EINPROGRESS) => Ok(()),
        other => other,
    }
}

/// Makes `close` reset the connection, since a lingering connection would keep its namespace for minutes.
pub fn abort_on_close(fd: RawFd) -> io::Result<()> {
    let linger = libc::linger { l_onoff: 1, l_linger: 0 };
    // SAFETY: the kernel reads as many bytes as the structure has.
    check(unsafe {
        libc::setsockopt(
            fd,
            libc::SOL_SOCKET,
            libc::SO_LINGER,
            (&raw const linger).cast(),
            size_of::<libc::linger>() as libc::socklen_t,
        )
    })
}
