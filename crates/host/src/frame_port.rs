//! Frame ports of a wire between two external ends: Ethernet or PPP frames cross the path unchanged.
//!
//! There is one element for each end. Devices, hosts or modems at both ends communicate as over a cable. A
//! frame crosses the path whole; if it contains an IP packet, the head gets the fields that the path needs
//! from that packet.

use crate::port::{PacketPort, PacketRoute, PortQueues, flip};
use base::Time;
use base::packet::{Flags, FlowId, NodeId, Packet};
use base::wire::frame::Framing;
use base::wire::{self, Malformed, hdlc};
use path::{Cx, Element, Port};

/// Configuration of one end of a wire.
#[derive(Clone, Copy, Debug)]
pub struct FramePortConfig {
    /// Framing.
    pub framing: Framing,
    /// Flow number of the packets between both ends.
    pub flow: FlowId,
    /// Node of this end.
    pub node: NodeId,
    /// Node of the other end.
    pub peer: NodeId,
    /// Whether frames that enter here travel in the reverse direction of the flow.
    pub reply: bool,
}

/// Counters of frames that entered and left.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct FramePortCounters {
    /// Frames from the wire into the network.
    pub sent: u64,
    /// Bytes sent, as the network counts them.
    pub bytes_sent: u64,
    /// Frames from the network to the wire.
    pub received: u64,
    /// Bytes received.
    pub bytes_received: u64,
}

/// Element through which all frames of one end of a wire enter and leave.
pub struct FramePort {
    config: FramePortConfig,
    ordinals: [u32; 2],
    counters: FramePortCounters,
    queues: PortQueues,
}

impl FramePort {
    /// A frame port before its first frame.
    pub fn new(config: FramePortConfig) -> Self {
        FramePort {
            config,
            ordinals: [0; 2],
            counters: FramePortCounters::default(),
            queues: PortQueues::default(),
        }
    }

    /// Counters.
    pub fn counters(&self) -> FramePortCounters {
        self.counters
    }
}

impl PacketPort for FramePort {
    /// Sends a frame into the network. On Ethernet its size is that of the IP packet in it. On a serial line
    /// it is the number of bytes between two flags, before escaping.
    ///
    /// # Errors
    /// On Ethernet, a frame without an IP packet; on a serial line none.
    fn inject(&mut self, cx: &mut Cx<'_>, bytes: &[u8]) -> Result<Option<u64>, Malformed> {
        let inner = self.config.framing.packet(bytes).and_then(|at| bytes.get(at..));
        let digest = inner.ok_or(Malformed::Version).and_then(wire::read);
        let size = match self.config.framing {
            Framing::Ethernet => digest?.size,
            Framing::Ppp => bytes.len() as u32,
        };
        let emitted = cx.emit_bytes(bytes, size);
        self.counters.sent += 1;
        self.counters.bytes_sent += u64::from(size);
        let FramePortConfig { flow, node: source, peer: destination, reply, .. } = self.config;
        let route = PacketRoute { flow, source, destination, reply };
        let head = route.head(cx.now(), emitted, size, digest.as_ref().ok(), &mut self.ordinals);
        let lives = inner.map_or(Packet::ALWAYS, |inner| self.queues.deadlines.apply(cx.now(), inner).1);
        cx.forward(Port(0), Packet { lives, ..head });
        Ok(Some(head.id))
    }

    fn queues(&mut self) -> &mut PortQueues {
        &mut self.queues
    }
}

impl Element for FramePort {
    /// Delivers a frame that has crossed the network: it leaves now.
    fn on_packet(&mut self, cx: &mut Cx<'_>, _port: Port, packet: Packet) {
        let Some(mut bytes) = self.queues.absorb(cx, &packet) else { return };
        self.counters.received += 1;
        self.counters.bytes_received += u64::from(packet.size);
        let at = self.config.framing.packet(&bytes);
        let inner = at.and_then(|at| bytes.get_mut(at..));
        if let Some(inner) = inner
            && wire::read(inner).is_ok_and(|digest| digest.ecn != packet.ecn)
        {
            wire::set_ecn(inner, packet.ecn);
            if self.config.framing == Framing::Ppp {
                hdlc::update_check(&mut bytes);
            }
        }
        if packet.flags.has(Flags::CORRUPT) {
            // On Ethernet only the packet is corrupted: the frame check sequence is recomputed, so a flipped
            // bit in the frame's header would misroute it. On a serial line any bit may flip, and the check
            // sequence detects it.
            let from = if self.config.framing == Framing::Ethernet { at.unwrap_or(0) } else { 0 };
            flip(bytes.get_mut(from..).unwrap_or_default(), packet.id);
        }
        self.queues.leave(cx.now(), packet.id, bytes);
    }
    fn on_wake(&mut self, _cx: &mut Cx<'_>) {}
    fn next_wake(&self) -> Time {
        Time::NEVER
    }
    /// Frames in the departure queue have left the network.
    fn holds(&self) -> usize {
        0
    }
}
