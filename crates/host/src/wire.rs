//! Frame ports of a wire: transparent transport between two external ends.
//!
//! By one element for each end of it: whatever stands there, a device, a host, a modem, speaks past this program to
//! whoever stands at the other end. A frame crosses the path whole; of the packet in it, if it is one of IP, the head
//! takes what a path reads of packets.

use crate::deadlines::Deadlines;
use crate::door::{Gate, flip};
use crate::machine::flags;
use crate::outlet::{Leaving, Outlet};
use base::packet::{Flags, FlowId, NodeId, Packet};
use base::wire::frame::Framing;
use base::wire::{self, Malformed, hdlc};
use base::{Span, Time};
use path::{Cx, Element, Port};

/// One end of a wire.
#[derive(Clone, Copy, Debug)]
pub struct WireConfig {
    /// What kind of frames it carries.
    pub framing: Framing,
    /// The number of the packets between both ends.
    pub flow: FlowId,
    /// Where this end is.
    pub node: NodeId,
    /// Where the other end is.
    pub peer: NodeId,
    /// What comes in here is the way back of that flow.
    pub reply: bool,
}

/// What came in and went out.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct WireCounters {
    /// Frames from the wire into the network.
    pub sent: u64,
    /// Their bytes, as the network counts them.
    pub bytes_sent: u64,
    /// Frames from the network to the wire.
    pub received: u64,
    /// Their bytes.
    pub bytes_received: u64,
}

/// The element through which all frames of an end come in and go out.
pub struct Wire {
    config: WireConfig,
    ordinals: [u32; 2],
    counters: WireCounters,
    outlet: Outlet,
    deadlines: Deadlines,
}

impl Wire {
    /// An end through which nothing has come.
    pub fn new(config: WireConfig) -> Self {
        Wire {
            config,
            ordinals: [0; 2],
            counters: WireCounters::default(),
            outlet: Outlet::default(),
            deadlines: Deadlines::default(),
        }
    }

    /// Its counters.
    pub fn counters(&self) -> WireCounters {
        self.counters
    }
}

impl Gate for Wire {
    /// Takes in a frame. On Ethernet it is as large as the packet of IP in it, as everywhere else; on a serial line it
    /// has all bytes that it has between two flags before any is escaped.
    ///
    /// # Errors
    /// On Ethernet, a frame without a packet of IP; on a serial line none.
    fn take_in(&mut self, cx: &mut Cx<'_>, bytes: &[u8]) -> Result<Option<u64>, Malformed> {
        let inner = self.config.framing.packet(bytes).and_then(|at| bytes.get(at..));
        let digest = inner.ok_or(Malformed::Version).and_then(wire::read);
        let size = match self.config.framing {
            Framing::Ethernet => digest?.size,
            Framing::Ppp => bytes.len() as u32,
        };
        let (body, id) = cx.emit_bytes(bytes, size);
        // What cannot be read carries something: it is no bare acknowledgement.
        let mut flags = digest.as_ref().map_or(Flags::DATA, flags);
        if self.config.reply {
            flags = Flags(flags.0 | Flags::REPLY.0);
        }
        let ordinal = &mut self.ordinals[usize::from(flags.has(Flags::DATA))];
        *ordinal += 1;
        self.counters.sent += 1;
        self.counters.bytes_sent += u64::from(size);
        let packet = Packet {
            id,
            born: cx.now(),
            lives: inner.map_or(Packet::ALWAYS, |inner| self.deadlines.apply(cx.now(), inner).1),
            body,
            flow: self.config.flow,
            size,
            ordinal: *ordinal,
            source: self.config.node,
            destination: self.config.peer,
            interface: 0,
            flags,
            class: digest.as_ref().map_or(0, |digest| digest.class),
            ecn: digest.as_ref().map_or(0, |digest| digest.ecn),
            unit: 0,
        };
        cx.forward(Port(0), packet);
        Ok(Some(id))
    }

    fn next_out(&mut self) -> Option<Leaving> {
        self.outlet.next()
    }

    fn give_back(&mut self, buffer: Vec<u8>) {
        self.outlet.give_back(buffer);
    }

    fn set_time_of_day(&mut self, day: Span) {
        self.deadlines.day = day;
    }
}

impl Element for Wire {
    /// A frame has come through the network: it is to leave now.
    fn on_packet(&mut self, cx: &mut Cx<'_>, _port: Port, packet: Packet) {
        let mut bytes = self.outlet.buffer();
        if !cx.absorb_bytes(&packet, &mut bytes) {
            return; // a model's segment has no bytes for the world outside
        }
        self.counters.received += 1;
        self.counters.bytes_received += u64::from(packet.size);
        let at = self.config.framing.packet(&bytes);
        let inner = at.and_then(|at| bytes.get_mut(at..));
        if let Some(inner) = inner
            && wire::read(inner).is_ok_and(|digest| digest.ecn != packet.ecn)
        {
            wire::set_ecn(inner, packet.ecn);
            if self.config.framing == Framing::Ppp {
                hdlc::mend(&mut bytes);
            }
        }
        if packet.flags.has(Flags::CORRUPT) {
            // Of Ethernet the packet: its frame gets a check sequence that is right again, so that a bit of its head
            // would lead it astray. On a serial line any bit, and the check sequence at its end tells.
            let from = if self.config.framing == Framing::Ethernet { at.unwrap_or(0) } else { 0 };
            flip(bytes.get_mut(from..).unwrap_or_default(), packet.id);
        }
        self.outlet.leave(cx.now(), packet.id, bytes);
    }
    fn on_wake(&mut self, _cx: &mut Cx<'_>) {}
    fn next_wake(&self) -> Time {
        Time::NEVER
    }
    /// What has left the network is inside it no longer.
    fn holds(&self) -> usize {
        0
    }
}
