//! Packet sockets at interfaces of the host: reception of all frames as on the wire, with open offloads and VLAN tag,
//! and sending of frames.

use super::{check, check_fd, vnet};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd as _, FromRawFd as _, IntoRawFd as _, RawFd};

/// Receive buffer size, bytes, as far as permitted.
const WAITING: libc::c_int = 16 << 20;
/// Offloads that the kernel left to the receiver of a frame.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Unfinished {
    /// Start of an incomplete checksum, and offset of its field from there.
    pub checksum: Option<(usize, usize)>,
    /// Payload bytes per segment, if the frame must still be segmented.
    pub piece: Option<usize>,
    /// VLAN tag removed by the network card: EtherType and tag.
    pub tag: Option<(u16, u16)>,
}

/// Received frame.
#[derive(Clone, Copy, Debug)]
pub struct ReceivedFrame {
    /// Length in bytes.
    pub length: usize,
    /// Offloads that the kernel left to the receiver.
    pub unfinished: Unfinished,
    /// The frame is addressed to the host.
    pub ours: bool,
}

fn set<T>(fd: RawFd, level: i32, option: i32, value: &T) -> io::Result<()> {
    // SAFETY: the kernel reads the bytes of one value, which outlives the call.
    check(unsafe {
        libc::setsockopt(
            fd,
            level,
            option,
            std::ptr::from_ref(value).cast(),
            size_of::<T>() as libc::socklen_t,
        )
    })
}

/// Socket at an interface of the calling thread's namespace. It receives all incoming frames, whatever their
/// destination, but no outgoing ones.
pub fn open(index: i32) -> io::Result<File> {
    let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: no memory is involved.
    let socket = check_fd(unsafe { libc::socket(libc::AF_PACKET, kind, 0) })?;
    let fd = socket.as_raw_fd();
    for option in [libc::PACKET_IGNORE_OUTGOING, libc::PACKET_AUXDATA, libc::PACKET_VNET_HDR] {
        set(fd, libc::SOL_PACKET, option, &1i32)?;
    }
    set(fd, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &WAITING)
        .or_else(|_| set(fd, libc::SOL_SOCKET, libc::SO_RCVBUF, &WAITING))?;
    // SAFETY: all bytes zero is a value of these plain structures.
    let (mut all, mut at): (libc::packet_mreq, libc::sockaddr_ll) = unsafe { std::mem::zeroed() };
    all.mr_ifindex = index;
    all.mr_type = libc::PACKET_MR_PROMISC as u16;
    // Promiscuous mode ends with the socket.
    set(fd, libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &all)?;
    at.sll_family = libc::AF_PACKET as u16;
    at.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
    at.sll_ifindex = index;
    // SAFETY: the kernel reads as many bytes as the structure has.
    check(unsafe {
        libc::bind(fd, (&raw const at).cast(), size_of::<libc::sockaddr_ll>() as libc::socklen_t)
    })?;
    // SAFETY: the descriptor is ours, and given on.
    Ok(unsafe { File::from_raw_fd(socket.into_raw_fd()) })
}

/// Buffer for control messages.
#[repr(align(8))]
struct AuxData([u8; 128]);

/// Receives the next frame.
pub fn receive(fd: RawFd, into: &mut [u8]) -> io::Result<ReceivedFrame> {
    let mut head = vnet::NONE;
    let mut beside = AuxData([0; 128]);
    // SAFETY: all bytes zero is a value of these plain structures.
    let (mut from, mut message): (libc::sockaddr_ll, libc::msghdr) = unsafe { std::mem::zeroed() };
    let mut parts = [
        libc::iovec { iov_base: head.as_mut_ptr().cast(), iov_len: head.len() },
        libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() },
    ];
    message.msg_name = (&raw mut from).cast();
    message.msg_namelen = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    message.msg_iov = parts.as_mut_ptr();
    message.msg_iovlen = parts.len() as _;
    message.msg_control = beside.0.as_mut_ptr().cast();
    message.msg_controllen = beside.0.len() as _;
    // SAFETY: the kernel writes into the buffers named by the message, never beyond their lengths; all of them outlive
    // the call.
    let n = unsafe { libc::recvmsg(fd, &raw mut message, 0) };
    check(n.min(0) as libc::c_int)?;
    let length = (n as usize).saturating_sub(head.len());
    let vnet::Offloads { checksum, piece } = vnet::read(head);
    let mut unfinished = Unfinished { checksum, piece, tag: None };
    // SAFETY: the kernel has written these records and returned their length.
    unsafe {
        let mut record = libc::CMSG_FIRSTHDR(&raw const message);
        while let Some(found) = record.as_ref() {
            if found.cmsg_level == libc::SOL_PACKET && found.cmsg_type == libc::PACKET_AUXDATA {
                let aux: libc::tpacket_auxdata = std::ptr::read_unaligned(libc::CMSG_DATA(record).cast());
                if aux.tp_status & libc::TP_STATUS_VLAN_VALID != 0 {
                    let kind = if aux.tp_status & libc::TP_STATUS_VLAN_TPID_VALID != 0 {
                        aux.tp_vlan_tpid
                    } else {
                        libc::ETH_P_8021Q as u16
                    };
                    unfinished.tag = Some((kind, aux.tp_vlan_tci));
                }
            }
            record = libc::CMSG_NXTHDR(&raw const message, record);
        }
    }
    Ok(ReceivedFrame { length, unfinished, ours: from.sll_pkttype == libc::PACKET_HOST })
}

/// Sends a frame.
pub fn send(fd: RawFd, frame: &[u8]) -> io::Result<()> {
    let head = vnet::NONE;
    let parts = [
        libc::iovec { iov_base: head.as_ptr().cast_mut().cast(), iov_len: head.len() },
        libc::iovec { iov_base: frame.as_ptr().cast_mut().cast(), iov_len: frame.len() },
    ];
    // SAFETY: the kernel reads as many bytes as the parts have.
    check(unsafe { libc::writev(fd, parts.as_ptr(), parts.len() as i32) }.min(0) as libc::c_int)
}
