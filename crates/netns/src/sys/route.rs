//! Interface addresses and default routes by ioctl: IPv6 address, IPv4 and IPv6 default route.

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

/// Adds an IPv6 address with this prefix length to an interface.
pub fn address6(name: &str, at: Ipv6Addr, prefix: u32) -> io::Result<()> {
    let mut request = libc::in6_ifreq {
        ifr6_addr: libc::in6_addr { s6_addr: at.octets() },
        ifr6_prefixlen: prefix,
        ifr6_ifindex: index(name)?,
    };
    // SAFETY: the request reads one `in6_ifreq`, which outlives the call.
    check(unsafe { libc::ioctl(control6()?.as_raw_fd(), libc::SIOCSIFADDR as _, &raw mut request) })
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
