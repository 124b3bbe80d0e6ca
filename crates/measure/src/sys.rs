//! System calls of a measurement: `TCP_INFO`, socket options, connection with timeout, packet and rtnetlink sockets; all `unsafe`
//! code of this crate.
//!
//! Each function performs one call with memory that it owns.
#![allow(unsafe_code, reason = "calls that no safe interface of ours covers; each says why it is sound")]

use crate::Socket;
use netns::facts::TcpInfo;
use std::io;
use std::mem::{size_of, zeroed};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsRawFd, FromRawFd as _, OwnedFd, RawFd};
use std::time::Duration;

fn check(result: libc::c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// `TCP_INFO` of a connection.
pub(crate) fn tcp_info(of: &impl AsRawFd) -> io::Result<TcpInfo> {
    let mut bytes = [0u8; 512];
    let mut length = bytes.len() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes, which the array has, and returns the number written.
    check(unsafe {
        libc::getsockopt(
            of.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            bytes.as_mut_ptr().cast(),
            &raw mut length,
        )
    })?;
    Ok(TcpInfo::read(&bytes[..(length as usize).min(bytes.len())]))
}

fn set(fd: RawFd, level: libc::c_int, name: libc::c_int, value: u32) -> io::Result<()> {
    let value = libc::c_int::try_from(value).unwrap_or(libc::c_int::MAX);
    // SAFETY: the kernel reads one integer.
    check(unsafe {
        libc::setsockopt(
            fd,
            level,
            name,
            (&raw const value).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    })
}

/// Limits the receive window that a connection offers, bytes.
pub(crate) fn offer(of: &impl AsRawFd, window: u32) -> io::Result<()> {
    let fd = of.as_raw_fd();
    // A fixed buffer size disables receive buffer autotuning.
    set(fd, libc::SOL_SOCKET, libc::SO_RCVBUF, window)?;
    set(fd, libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP, window)
}

/// Limits unsent bytes in the kernel.
pub(crate) fn keep_short(of: &impl AsRawFd, bytes: u32) -> io::Result<()> {
    set(of.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT, bytes)
}

/// Connects with socket options, within `patience`.
pub(crate) fn connect(to: SocketAddr, socket: &Socket, patience: Duration) -> io::Result<TcpStream> {
    let family = if to.is_ipv6() { libc::AF_INET6 } else { libc::AF_INET };
    let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: no memory is involved.
    let fd = unsafe { libc::socket(family, kind, 0) };
    check(fd)?;
    // SAFETY: the kernel has just given this descriptor to us alone.
    let fd = unsafe { OwnedFd::from_raw_fd(fd) };
    if let Some(mss) = socket.mss {
        set(fd.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_MAXSEG, mss)?;
    }
    if let Some(window) = socket.window {
        offer(&fd, window)?;
    }
    if let Some(cc) = &socket.cc {
        // SAFETY: the kernel reads as many bytes as the name has.
        check(unsafe {
            libc::setsockopt(
                fd.as_raw_fd(),
                libc::IPPROTO_TCP,
                libc::TCP_CONGESTION,
                cc.as_ptr().cast(),
                cc.len() as libc::socklen_t,
            )
        })?;
    }
    let (address, length) = address(to);
    // SAFETY: the kernel reads `length` bytes, which the structure has.
    let begun = unsafe { libc::connect(fd.as_raw_fd(), (&raw const address).cast(), length) };
    match check(begun) {
        Err(e) if e.raw_os_error() != Some(libc::EINPROGRESS) => return Err(e),
        _ => {}
    }
    if !wait_for(fd.as_raw_fd(), true, patience) {
        return Err(io::ErrorKind::TimedOut.into());
    }
    let stream = TcpStream::from(fd);
    if let Some(error) = stream.take_error()? {
        return Err(error);
    }
    stream.set_nonblocking(false)?;
    Ok(stream)
}

fn address(of: SocketAddr) -> (libc::sockaddr_storage, libc::socklen_t) {
    // SAFETY: all bytes zero is a value of this plain structure.
    let mut out: libc::sockaddr_storage = unsafe { zeroed() };
    let length = match of {
        SocketAddr::V4(v4) => {
            let at = libc::sockaddr_in {
                sin_family: libc::AF_INET as libc::sa_family_t,
                sin_port: v4.port().to_be(),
                sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(v4.ip().octets()) },
                sin_zero: [0; 8],
            };
            // SAFETY: `sockaddr_storage` is larger than and as aligned as any socket address.
            unsafe { (&raw mut out).cast::<libc::sockaddr_in>().write(at) };
            size_of::<libc::sockaddr_in>()
        }
        SocketAddr::V6(v6) => {
            let at = libc::sockaddr_in6 {
                sin6_family: libc::AF_INET6 as libc::sa_family_t,
                sin6_port: v6.port().to_be(),
                sin6_flowinfo: v6.flowinfo(),
                sin6_addr: libc::in6_addr { s6_addr: v6.ip().octets() },
                sin6_scope_id: v6.scope_id(),
            };
            // SAFETY: `sockaddr_storage` is larger than and as aligned as any socket address.
            unsafe { (&raw mut out).cast::<libc::sockaddr_in6>().write(at) };
            size_of::<libc::sockaddr_in6>()
        }
    };
    (out, length as libc::socklen_t)
}

/// Waits until a socket is readable or writable; false at the timeout.
pub(crate) fn wait_for(fd: RawFd, write: bool, patience: Duration) -> bool {
    let events = if write { libc::POLLOUT } else { libc::POLLIN };
    let mut one = libc::pollfd { fd, events, revents: 0 };
    let ms = libc::c_int::try_from(patience.as_millis()).unwrap_or(libc::c_int::MAX);
    // SAFETY: the kernel writes one structure, which outlives the call.
    unsafe { libc::poll(&raw mut one, 1, ms) > 0 }
}

/// Packet socket for all packets of the thread's network namespace, without link headers.
pub(crate) fn packet_socket() -> io::Result<OwnedFd> {
    let kind = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC;
    let all = libc::c_int::from((libc::ETH_P_ALL as u16).to_be());
    // SAFETY: no memory is involved.
    let fd = unsafe { libc::socket(libc::AF_PACKET, kind, all) };
    check(fd)?;
    // SAFETY: the kernel has just given this descriptor to us alone.
    let fd = unsafe { OwnedFd::from_raw_fd(fd) };
    // Space for bursts, as far as the system permits.
    let _ = set(fd.as_raw_fd(), libc::SOL_SOCKET, libc::SO_RCVBUF, 8 << 20);
    Ok(fd)
}

/// Socket of rtnetlink that hears these multicast groups (`RTMGRP_*`); reads return at once.
pub(crate) fn rtnetlink(groups: u32) -> io::Result<OwnedFd> {
    let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: no memory is involved.
    let fd = unsafe { libc::socket(libc::AF_NETLINK, kind, libc::NETLINK_ROUTE) };
    check(fd)?;
    // SAFETY: the kernel has just given this descriptor to us alone.
    let fd = unsafe { OwnedFd::from_raw_fd(fd) };
    // SAFETY: all bytes zero is a value of this plain structure.
    let mut at: libc::sockaddr_nl = unsafe { zeroed() };
    at.nl_family = libc::AF_NETLINK as libc::sa_family_t;
    at.nl_groups = groups;
    // SAFETY: the kernel reads as many bytes as the structure has.
    check(unsafe {
        libc::bind(fd.as_raw_fd(), (&raw const at).cast(), size_of::<libc::sockaddr_nl>() as libc::socklen_t)
    })?;
    Ok(fd)
}

/// Captured packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReceivedDatagram {
    /// Number of captured bytes.
    pub(crate) kept: usize,
    /// Packet length, bytes.
    pub(crate) length: usize,
    /// The packet was captured on loopback.
    pub(crate) loopback: bool,
    /// The packet is outgoing.
    pub(crate) outgoing: bool,
    /// Kernel timestamp, ns since 1970.
    pub(crate) stamp: u64,
}

/// `SIOCGSTAMPNS` with word-sized seconds: timestamp of the last packet read.
const SIOCGSTAMPNS: libc::c_ulong = 0x8907;

/// Reads the next packet.
pub(crate) fn hear(socket: &OwnedFd, buffer: &mut [u8]) -> io::Result<ReceivedDatagram> {
    // SAFETY: all bytes zero is a value of this plain structure.
    let mut from: libc::sockaddr_ll = unsafe { zeroed() };
    let mut length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: the kernel writes at most as many bytes as the buffer has, and one address.
    let n = unsafe {
        libc::recvfrom(
            socket.as_raw_fd(),
            buffer.as_mut_ptr().cast(),
            buffer.len(),
            libc::MSG_TRUNC | libc::MSG_DONTWAIT,
            (&raw mut from).cast(),
            &raw mut length,
        )
    };
    if n < 0 {
        return Err(io::Error::last_os_error());
    }
    let mut at = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: this request writes one `timespec`.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), SIOCGSTAMPNS as _, &raw mut at) })?;
    Ok(ReceivedDatagram {
        kept: (n as usize).min(buffer.len()),
        length: n as usize,
        loopback: from.sll_hatype == libc::ARPHRD_LOOPBACK,
        outgoing: from.sll_pkttype == libc::PACKET_OUTGOING,
        stamp: at.tv_sec as u64 * 1_000_000_000 + at.tv_nsec as u64,
    })
}

/// Number of packets dropped by the packet socket since the last call.
pub(crate) fn missed(socket: &OwnedFd) -> u64 {
    // SAFETY: all bytes zero is a value of this plain structure.
    let mut stats: libc::tpacket_stats = unsafe { zeroed() };
    let mut length = size_of::<libc::tpacket_stats>() as libc::socklen_t;
    // SAFETY: the kernel writes at most one structure.
    let told = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_PACKET,
            libc::PACKET_STATISTICS,
            (&raw mut stats).cast(),
            &raw mut length,
        )
    };
    if told < 0 { 0 } else { u64::from(stats.tp_drops) }
}
