//! Interface addresses by netlink, default routes by ioctl: IPv6 address, IPv4 and IPv6 default route.

use super::rtnetlink::{CREATE, Message};
use super::{address, check, check_fd, control, request};
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsRawFd as _, OwnedFd};

/// `struct rtentry` of the kernel's `route.h`.
#[repr(C)]
struct Route4 {
    pad1: libc::c_ulong,
    to: libc::sockaddr,
    gateway: libc::sockaddr,
    mask: libc::sockaddr,
    flags: libc::c_ushort,
    pad2: libc::c_short,
    pad3: libc::c_ulong,
    pad4: *mut libc::c_void,
    metric: libc::c_short,
    device: *mut libc::c_char,
    mtu: libc::c_ulong,
    window: libc::c_ulong,
    irtt: libc::c_ushort,
}

/// `struct in6_rtmsg` of the kernel's `ipv6_route.h`.
#[repr(C)]
struct Route6 {
    to: libc::in6_addr,
    from: libc::in6_addr,
    gateway: libc::in6_addr,
    kind: u32,
    to_width: u16,
    from_width: u16,
    metric: u32,
    info: libc::c_ulong,
    flags: u32,
    index: libc::c_int,
}

fn control6() -> io::Result<OwnedFd> {
    // SAFETY: no memory is involved.
    check_fd(unsafe { libc::socket(libc::AF_INET6, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) })
}

fn index(name: &str) -> io::Result<i32> {
    let name = std::ffi::CString::new(name)?;
    // SAFETY: the name ends with a zero and outlives the call.
    match unsafe { libc::if_nametoindex(name.as_ptr()) } {
        0 => Err(io::Error::last_os_error()),
        index => Ok(index as i32),
    }
}

/// Longest time in which the kernel takes an address into use, ms.
const IN_USE: u32 = 2_000;

/// Adds an IPv6 address with this prefix length to an interface that is up, without duplicate address detection (RFC
/// 4862 section 5.4), and waits until the kernel receives packets for it.
pub fn address6(name: &str, at: Ipv6Addr, prefix: u8) -> io::Result<()> {
    let mut message = Message::new(libc::RTM_NEWADDR, CREATE);
    // `struct ifaddrmsg`: family, prefix length, flags, scope, interface.
    message.0.extend([libc::AF_INET6 as u8, prefix, libc::IFA_F_NODAD as u8, 0]);
    message.0.extend(index(name)?.to_ne_bytes());
    message.put(libc::IFA_LOCAL, &at.octets());
    message.put(libc::IFA_ADDRESS, &at.octets());
    message.send()?;
    // The kernel adds the local route later, in a thread of its own, even where it detects no duplicates.
    for _ in 0..IN_USE {
        if is_local(at)? {
            return Ok(());
        }
        super::readable(&[], Some(1));
    }
    Err(io::ErrorKind::TimedOut.into())
}

/// Whether packets to an address are received by the calling thread's namespace.
fn is_local(at: Ipv6Addr) -> io::Result<bool> {
    /// Offset of the route's type, behind the header and seven octets of a `struct rtmsg`.
    const TYPE: usize = 16 + 7;
    let mut message = Message::new(libc::RTM_GETROUTE, libc::NLM_F_REQUEST as u16);
    message.0.extend([libc::AF_INET6 as u8, 128, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    message.put(libc::RTA_DST, &at.octets());
    let answer = message.exchange()?;
    let is_route = answer.get(4..6) == Some(&libc::RTM_NEWROUTE.to_ne_bytes());
    Ok(is_route && answer.get(TYPE) == Some(&libc::RTN_LOCAL))
}

/// Adds an IPv4 default route over an interface and a gateway, since programs that look for the uplink expect a
/// gateway.
pub fn default4(name: &str, gateway: Ipv4Addr) -> io::Result<()> {
    let mut device = request(name)?.ifr_name;
    // SAFETY: all bytes zero is a value of this plain structure.
    let mut route: Route4 = unsafe { std::mem::zeroed() };
    route.to = address(Ipv4Addr::UNSPECIFIED);
    route.mask = address(Ipv4Addr::UNSPECIFIED);
    route.gateway = address(gateway);
    route.flags = libc::RTF_UP | libc::RTF_GATEWAY;
    route.device = device.as_mut_ptr();
    // SAFETY: the request reads one structure and the name it points at; both outlive the call.
    check(unsafe { libc::ioctl(control()?.as_raw_fd(), libc::SIOCADDRT as _, &raw mut route) })
}

/// Adds an IPv6 default route over an interface.
pub fn default6(name: &str) -> io::Result<()> {
    // SAFETY: all bytes zero is a value of this plain structure.
    let mut route: Route6 = unsafe { std::mem::zeroed() };
    route.flags = u32::from(libc::RTF_UP);
    route.metric = 1024;
    route.index = index(name)?;
    // SAFETY: the request reads one structure, which outlives the call.
    check(unsafe { libc::ioctl(control6()?.as_raw_fd(), libc::SIOCADDRT as _, &raw mut route) })
}
