//! Header of a packet with open offloads (`struct virtio_net_hdr`): it precedes each frame of a packet socket and each
//! packet of a TUN device, in both directions.

use base::wire::join::{Join, Transport};

/// Length of the header.
pub(super) const LENGTH: usize = 10;
/// Header of a packet without open offloads.
pub(super) const NONE: [u8; LENGTH] = [0; LENGTH];
/// Flag: the checksum is partial.
const NEEDS_CHECKSUM: u8 = 1;
/// Kinds of large packets.
const LARGE_TCP4: u8 = 1;
const LARGE_TCP6: u8 = 4;
const LARGE_UDP: u8 = 5;

/// Offloads that the kernel left to the receiver.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct Offloads {
    /// Start of a partial checksum, and offset of its field from there.
    pub(super) checksum: Option<(usize, usize)>,
    /// Payload bytes per packet, if the packet must still be cut.
    pub(super) piece: Option<usize>,
}

/// Reads a header. Its numbers have the byte order of the machine.
pub(super) fn read(head: [u8; LENGTH]) -> Offloads {
    let number = |at: usize| usize::from(u16::from_ne_bytes([head[at], head[at + 1]]));
    Offloads {
        checksum: (head[0] & NEEDS_CHECKSUM != 0).then(|| (number(6), number(8))),
        piece: (head[1] != 0).then(|| number(4)),
    }
}

/// Header of a large TCP or UDP packet.
pub(super) fn large(join: &Join) -> [u8; LENGTH] {
    let mut head = NONE;
    let (ip, headers) = join.header_lengths();
    head[0] = NEEDS_CHECKSUM;
    head[1] = match (join.transport(), join.version()) {
        (Transport::Udp, _) => LARGE_UDP,
        (Transport::Tcp, 4) => LARGE_TCP4,
        (Transport::Tcp, _) => LARGE_TCP6,
    };
    for (at, number) in [(2, headers), (4, join.piece()), (6, ip), (8, join.transport().checksum())] {
        head[at..at + 2].copy_from_slice(&(number as u16).to_ne_bytes());
    }
    head
}
