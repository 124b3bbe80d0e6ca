//! Virtual Ethernet (veth) pairs in place of a TUN device: creation by netlink, disabled offloads, packet socket for
//! the frames.

use super::rtnetlink::{CREATE, Message, NO_INTERFACE, with_end};
use super::{check, check_fd, configure, control, request};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd, RawFd};

/// Attribute with the other end of a pair (`linux/veth.h`).
const VETH_INFO_PEER: u16 = 1;

/// Creates a veth pair: `here` in the calling thread's namespace, `there` in the namespace with descriptor `namespace`.
pub fn pair(here: &str, there: &str, namespace: RawFd) -> io::Result<()> {
    let mut message = Message::new(libc::RTM_NEWLINK, CREATE);
    message.0.extend(NO_INTERFACE);
    message.put(libc::IFLA_IFNAME, &with_end(here));
    message.within(libc::IFLA_LINKINFO, |m| {
        m.put(libc::IFLA_INFO_KIND, b"veth");
        m.within(libc::IFLA_INFO_DATA, |m| {
            m.within(VETH_INFO_PEER, |m| {
                m.0.extend(NO_INTERFACE);
                m.put(libc::IFLA_IFNAME, &with_end(there));
                m.put(libc::IFLA_NET_NS_FD, &namespace.to_ne_bytes());
            });
        });
    });
    message.send()
}

/// `struct ethtool_value`.
#[repr(C)]
struct Setting {
    command: u32,
    value: u32,
}

/// Ethtool commands that disable offloads, since frames must be complete when they are read.
const OFFLOADS: [u32; 6] = [
    0x15, // receive checksums
    0x17, // transmit checksums
    0x19, // scatter and gather
    0x1f, // segmentation of TCP
    0x24, // generic segmentation
    0x2c, // generic reception
];

/// Disables the offloads of a device, so that it sends packets as on a wire.
pub fn whole_packets(name: &str) -> io::Result<()> {
    let control = control()?;
    for command in OFFLOADS {
        let mut off = Setting { command, value: 0 };
        let mut request = request(name)?;
        request.ifr_ifru.ifru_data = (&raw mut off).cast();
        configure(&control, 0x8946, &mut request)?; // SIOCETHTOOL
    }
    Ok(())
}

/// Sets a device up without address resolution.
pub fn up_without_arp(name: &str) -> io::Result<()> {
    let mut request = request(name)?;
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING | libc::IFF_NOARP) as libc::c_short;
    configure(&control()?, libc::SIOCSIFFLAGS as _, &mut request)
}

/// Sets the MTU of a device.
pub fn mtu(name: &str, mtu: u32) -> io::Result<()> {
    let mut request = request(name)?;
    request.ifr_ifru.ifru_mtu = mtu as libc::c_int;
    configure(&control()?, libc::SIOCSIFMTU as _, &mut request)
}

/// Hardware address of a device.
pub fn hardware_address(name: &str) -> io::Result<[u8; 6]> {
    let mut request = request(name)?;
    configure(&control()?, libc::SIOCGIFHWADDR as _, &mut request)?;
    // SAFETY: the request has filled in this member of the union.
    let address = unsafe { request.ifr_ifru.ifru_hwaddr };
    let mut bytes = [0; 6];
    for (to, from) in bytes.iter_mut().zip(address.sa_data) {
        *to = from as u8;
    }
    Ok(bytes)
}

/// Receive buffer size, bytes, as far as permitted.
const WAITING: libc::c_int = 16 << 20;

/// Packet socket for received frames of a device in the calling thread's namespace; it can also send.
pub fn frames(name: &str) -> io::Result<File> {
    let name = std::ffi::CString::new(name)?;
    let all = (libc::ETH_P_ALL as u16).to_be();
    // SAFETY: no memory is involved but that of the name, which ends with a zero and outlives the call.
    let (socket, index): (OwnedFd, _) = unsafe {
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        (check_fd(libc::socket(libc::AF_PACKET, kind, 0))?, libc::if_nametoindex(name.as_ptr()))
    };
    // SAFETY: all bytes zero is a value of this plain structure.
    let mut at: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    at.sll_family = libc::AF_PACKET as u16;
    at.sll_protocol = all;
    at.sll_ifindex = index as i32;
    let set = |level: i32, option: i32, value: &libc::c_int| {
        // SAFETY: the kernel reads the bytes of one number.
        check(unsafe {
            libc::setsockopt(
                socket.as_raw_fd(),
                level,
                option,
                std::ptr::from_ref(value).cast(),
                size_of::<libc::c_int>() as libc::socklen_t,
            )
        })
    };
    set(libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, &1)?;
    if set(libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &WAITING).is_err() {
        set(libc::SOL_SOCKET, libc::SO_RCVBUF, &WAITING)?;
    }
    // SAFETY: the kernel reads as many bytes as the structure has.
    check(unsafe {
        libc::bind(
            socket.as_raw_fd(),
            (&raw const at).cast(),
            size_of::<libc::sockaddr_ll>() as libc::socklen_t,
        )
    })?;
    Ok(File::from(socket))
}

/// Frames dropped by a packet socket since the last call because they were not read in time.
pub fn thrown_away(fd: RawFd) -> u64 {
    let mut counts = [0u32; 2];
    let mut length = size_of::<[u32; 2]>() as libc::socklen_t;
    // SAFETY: the kernel writes two numbers, which outlive the call.
    unsafe {
        libc::getsockopt(
            fd,
            libc::SOL_PACKET,
            libc::PACKET_STATISTICS,
            (&raw mut counts).cast(),
            &raw mut length,
        );
    }
    u64::from(counts[1])
}
