//! Packet ports: driver interface, heads of incoming packets, and departure queue common to the ports of a
//! flow, of a machine and of a wire.

use crate::deadlines::Deadlines;
use crate::departures::{Departure, DepartureQueue};
use base::packet::{Flags, FlowId, NodeId, Packet};
use base::pool::BodyRef;
use base::rng::mix;
use base::wire::{Digest, Malformed, flag};
use base::{Span, Time};
use path::Cx;

/// Driver interface of a packet port.
pub trait PacketPort {
    /// Sends a packet from outside into the network with a new head and returns its packet number; `None` if
    /// its destination is unknown.
    ///
    /// # Errors
    /// The bytes are not an IP packet; the packet is rejected.
    fn inject(&mut self, cx: &mut Cx<'_>, bytes: &[u8]) -> Result<Option<u64>, Malformed>;
    /// Deadlines and departure queue of the port.
    fn queues(&mut self) -> &mut PortQueues;
    /// Takes the next packet to leave, in order of due time.
    fn next_departure(&mut self) -> Option<Departure> {
        self.queues().departures.next()
    }
    /// Returns the buffer of a packet that has left.
    fn recycle(&mut self, buffer: Vec<u8>) {
        self.queues().departures.recycle(buffer);
    }
    /// Sets the time of day (UT) at the start of the run, for deadlines in headers; default: midnight.
    fn set_time_of_day(&mut self, day: Span) {
        self.queues().deadlines.day = day;
    }
}

/// Deadline options of a port, and queue of the packets that leave there.
#[derive(Default)]
pub struct PortQueues {
    pub(crate) deadlines: Deadlines,
    departures: DepartureQueue,
}

impl PortQueues {
    /// Queues with these deadlines.
    pub(crate) fn new(deadlines: Deadlines) -> Self {
        PortQueues { deadlines, ..PortQueues::default() }
    }

    /// Takes the bytes of a packet out of the network, in a reused buffer; `None` for a segment of a model.
    pub(crate) fn absorb(&mut self, cx: &mut Cx<'_>, packet: &Packet) -> Option<Vec<u8>> {
        let mut bytes = self.departures.buffer();
        cx.absorb_bytes(packet, &mut bytes).then_some(bytes)
    }

    /// Appends a packet that leaves at `due`.
    pub fn leave(&mut self, due: Time, id: u64, bytes: Vec<u8>) {
        self.departures.leave(due, id, bytes);
    }
}

/// Flow and end nodes of the packets that enter at a port.
#[derive(Clone, Copy)]
pub(crate) struct PacketRoute {
    pub(crate) flow: FlowId,
    pub(crate) source: NodeId,
    pub(crate) destination: NodeId,
    /// Whether the packets travel in the reverse direction of the flow.
    pub(crate) reply: bool,
}

impl PacketRoute {
    /// Head of a packet that enters now, with the next ordinal of its kind. `digest` has the fields of its IP
    /// packet; a frame without an IP packet counts as data, not as a pure ACK.
    pub(crate) fn head(
        self,
        now: Time,
        (body, id): (BodyRef, u64),
        size: u32,
        digest: Option<&Digest>,
        ordinals: &mut [u32; 2],
    ) -> Packet {
        let mut flags = digest.map_or(Flags::DATA, flags);
        if self.reply {
            flags = Flags(flags.0 | Flags::REPLY.0);
        }
        let ordinal = &mut ordinals[usize::from(flags.has(Flags::DATA))];
        *ordinal += 1;
        Packet {
            id,
            born: now,
            lives: Packet::ALWAYS,
            body,
            flow: self.flow,
            size,
            ordinal: *ordinal,
            source: self.source,
            destination: self.destination,
            interface: 0,
            flags,
            class: digest.map_or(0, |digest| digest.class),
            ecn: digest.map_or(0, |digest| digest.ecn),
            unit: 0,
        }
    }
}

fn flags(digest: &Digest) -> Flags {
    let when = |flag: Flags, on: bool| if on { flag.0 } else { 0 };
    let tcp = digest.tcp.unwrap_or_default();
    Flags(
        when(Flags::DATA, digest.payload > 0)
            | when(Flags::ACK, tcp.has(flag::ACK))
            | when(Flags::SYN, tcp.has(flag::SYN))
            | when(Flags::FIN, tcp.has(flag::FIN))
            | when(Flags::RST, tcp.has(flag::RST)),
    )
}

/// Flips one bit, chosen by the packet number; the stack behind the port detects the error by a checksum
/// (catalogue SW-37). All bits of the IP header and payload are equally likely.
pub(crate) fn flip(bytes: &mut [u8], id: u64) {
    let bits = bytes.len() as u64 * 8;
    if let Some(bit) = mix(id).checked_rem(bits)
        && let Some(byte) = bytes.get_mut((bit / 8) as usize)
    {
        *byte ^= 1 << (bit % 8);
    }
}
