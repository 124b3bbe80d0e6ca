//! TUN devices: creation, segmentation offload, reading and writing of packets with their open offloads.

use super::vnet::{self, Offloads};
use super::{check, direct, request};
use base::wire::join::{Join, MOST_HEADERS, Transport};
use base::wire::offload::{self, Cutter};
use std::fs::File;
use std::io::{self, IoSlice};
use std::os::fd::{AsRawFd, RawFd};

/// Size of a read buffer, bytes; larger than any packet.
const BUFFER: usize = 1 << 17;
/// Size up to which a packet is copied behind its header and written by one buffer, which costs less than two.
const SMALL: usize = 2048;
/// Maximum number of segments of a large packet that is written.
pub const MOST_SEGMENTS: usize = 64;

/// TUN device of a network stack.
#[derive(Debug)]
pub struct Tun {
    file: File,
    /// Segmentation offload is on.
    offload: Option<Large>,
}

/// Buffers of a device with offload.
#[derive(Debug)]
struct Large {
    /// Header and packet.
    buffer: Vec<u8>,
    length: usize,
    /// Empty header, and the packet written last.
    small: Vec<u8>,
    /// Segments that are not delivered yet.
    cutter: Option<Cutter>,
    /// The kernel has segmentation of UDP.
    udp: bool,
}

/// Creates a TUN device in the calling thread's namespace; the device exists as long as the file. With `offload` the
/// stack hands over and takes large TCP packets and UDP datagrams, if the kernel can.
pub fn open(name: &str, offload: bool) -> io::Result<Tun> {
    let plain = (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short;
    let with_header = plain | libc::IFF_VNET_HDR as libc::c_short;
    if offload {
        let opened = attach(name, with_header).and_then(|file| set_offload(&file).map(|udp| (file, udp)));
        // A kernel without these offloads gives a plain device.
        if let Ok((file, udp)) = opened {
            let (buffer, small) = (vec![0; BUFFER], vnet::NONE.to_vec());
            let large = Large { buffer, length: 0, small, cutter: None, udp };
            return Ok(Tun { file, offload: Some(large) });
        }
    }
    Ok(Tun { file: attach(name, plain)?, offload: None })
}

fn attach(name: &str, flags: libc::c_short) -> io::Result<File> {
    let file = File::options().read(true).write(true).open("/dev/net/tun")?;
    let mut request = request(name)?;
    request.ifr_ifru.ifru_flags = flags;
    // SAFETY: this request reads and writes one `ifreq`, which outlives the call.
    check(unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF as _, &raw mut request) })?;
    // SAFETY: no memory is involved.
    check(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) })?;
    Ok(file)
}

/// Lets the stack leave checksums and segmentation to the reader of the device; returns whether that includes UDP.
fn set_offload(file: &File) -> io::Result<bool> {
    let tcp = libc::TUN_F_CSUM | libc::TUN_F_TSO4 | libc::TUN_F_TSO6;
    let udp = libc::TUN_F_USO4 | libc::TUN_F_USO6;
    let set = |flags: libc::c_uint| {
        // SAFETY: this request takes its argument by value.
        check(unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETOFFLOAD as _, libc::c_ulong::from(flags)) })
    };
    // Linux has segmentation of UDP at TUN devices since version 6.2.
    set(tcp | udp).map(|()| true).or_else(|_| set(tcp).map(|()| false))
}

impl Tun {
    /// Whether segmentation offload is on.
    pub fn offloads(&self) -> bool {
        self.offload.is_some()
    }

    /// Whether packets of this protocol may be written joined.
    pub fn joins(&self, transport: Transport) -> bool {
        self.offload.as_ref().is_some_and(|large| transport == Transport::Tcp || large.udp)
    }

    /// Whether segments of the last packet are left, which [`Tun::read`] delivers without a system call.
    pub fn has_segments(&self) -> bool {
        self.offload.as_ref().is_some_and(|large| large.cutter.is_some())
    }

    /// Reads a packet and returns its length. A large packet is delivered segment by segment, with complete checksums.
    pub fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let Tun { file, offload: Some(large) } = self else { return direct::read(&self.file, into) };
        loop {
            if let Some(length) = large.next(into) {
                return Ok(length);
            }
            large.length = direct::read(file, &mut large.buffer)?;
            let read = large.buffer.get_mut(..large.length).unwrap_or_default();
            let Some((head, packet)) = read.split_first_chunk_mut() else { continue };
            let Offloads { checksum, piece } = vnet::read(*head);
            large.cutter = piece.and_then(|piece| Cutter::new(packet, 0, piece));
            if large.cutter.is_some() {
                continue;
            }
            if let Some((start, field)) = checksum {
                offload::complete(packet, start, field);
            }
            let out = into.get_mut(..packet.len()).ok_or(io::ErrorKind::InvalidData)?;
            out.copy_from_slice(packet);
            return Ok(packet.len());
        }
    }

    /// Writes a packet.
    pub fn write(&mut self, packet: &[u8]) -> io::Result<()> {
        let Some(large) = &mut self.offload else { return direct::write(&self.file, packet) };
        if packet.len() <= SMALL {
            large.small.truncate(vnet::LENGTH);
            large.small.extend(packet);
            return direct::write(&self.file, &large.small);
        }
        direct::write_vectored(&self.file, &[IoSlice::new(&vnet::NONE), IoSlice::new(packet)])
    }

    /// Writes the segments of `join` as one large packet.
    pub fn write_joined<'a>(
        &mut self,
        join: &Join,
        mut segments: impl Iterator<Item = &'a [u8]>,
    ) -> io::Result<()> {
        let Some(first) = segments.next() else { return Ok(()) };
        let (head, length) = (vnet::large(join), join.header_lengths().1);
        let mut headers = [0; MOST_HEADERS];
        join.write_headers(first, &mut headers);
        let mut parts = [IoSlice::new(&[]); MOST_SEGMENTS + 2];
        parts[0] = IoSlice::new(&head);
        parts[1] = IoSlice::new(&headers[..length]);
        let payloads = std::iter::once(first).chain(segments).map(|segment| &segment[length..]);
        let mut number = 2;
        for (part, payload) in parts[2..].iter_mut().zip(payloads) {
            *part = IoSlice::new(payload);
            number += 1;
        }
        direct::write_vectored(&self.file, &parts[..number])
    }
}

impl Large {
    /// Copies the next segment into a buffer and returns its length.
    fn next(&mut self, into: &mut [u8]) -> Option<usize> {
        let cutter = self.cutter.as_mut()?;
        let length = cutter.next(self.buffer.get(vnet::LENGTH..self.length)?, into);
        if cutter.is_done() || length.is_none() {
            self.cutter = None;
        }
        length
    }
}

impl AsRawFd for Tun {
    fn as_raw_fd(&self) -> RawFd {
        self.file.as_raw_fd()
    }
}
