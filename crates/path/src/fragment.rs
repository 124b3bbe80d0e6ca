//! MTU of a link: fragmentation of larger packets, or drop with an ICMP error to their sender (RFC 791 section 2.3, RFC
//! 1191 section 4; catalogue NS-21, PR-05).
//!
//! The element stands before the link and represents the router there. A larger packet with DF set is dropped. The
//! router sends an ICMP error to the packet's sender; if ICMP errors are off, the path is a black hole for such
//! packets. Background load passes unfragmented: only its rate matters.

use crate::element::{Cx, Element, Port};
use crate::router_answer;
use base::Time;
use base::body::{Body, Channel, Range};
use base::packet::{DropReason, Flags, Packet};
use base::pool::Part;
use base::trace::Derived;
use base::truth::Cause;
use base::wire::{self, fragment, icmp};

/// Output port of an [`Mtu`] element for ICMP errors.
pub const ERRORS: Port = Port(1);
/// Input port of a host for ICMP errors. The low port numbers belong to the paths of a multihomed endpoint.
pub const HOST_ERRORS: Port = Port(u16::MAX);

/// Size of an IPv4 header without options, bytes; each fragment of a model's packet has this header.
pub const HEADER: u32 = 20;
/// Size of an ICMP error that quotes the IP header and eight bytes of payload (RFC 792), bytes.
const ERROR: u32 = 56;

/// ICMP error "fragmentation needed" as the body of a packet between models.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooBig {
    /// MTU of the next hop, bytes.
    pub mtu: u32,
    /// Length of the packet that did not fit, bytes.
    pub size: u32,
}

impl Body for TooBig {
    fn flags(&self) -> Flags {
        Flags::default()
    }
    fn ranges(&self, _cause: Cause, _each: impl FnMut(Range)) {}
    fn acks(&self, _each: impl FnMut(Channel, u64)) {}
}

/// Element before a link that enforces its MTU.
pub struct Mtu {
    /// MTU, bytes.
    mtu: u32,
    /// Whether ICMP errors are sent.
    tells: bool,
    /// By ledger, whether a model's packets have DF set. Packets of real stacks have the bit in their header.
    whole: Vec<bool>,
}

impl Mtu {
    /// `mtu`: bytes; `tells`: whether ICMP errors are sent; `whole`: whether a model's packets have DF set, by
    /// ledger.
    pub fn new(mtu: u32, tells: bool, whole: Vec<bool>) -> Self {
        Mtu { mtu, tells, whole }
    }

    /// Drops a packet that cannot be fragmented, and sends the ICMP error if that is on.
    fn refuse(&self, cx: &mut Cx<'_>, packet: Packet) {
        if self.tells
            && let Some(error) = self.error(cx, &packet)
        {
            cx.forward(ERRORS, error);
        }
        cx.drop(packet, DropReason::TooBig);
    }

    /// Builds the ICMP error to the sender of `packet`.
    fn error(&self, cx: &mut Cx<'_>, packet: &Packet) -> Option<Packet> {
        let from = Derived::TooBig { of: packet.id, mtu: self.mtu };
        if let Some(message) = cx.bytes(packet).map(|bytes| icmp::too_big(bytes, self.mtu)) {
            return Some(router_answer::of_bytes(cx, packet, &message?, Flags::default(), from));
        }
        let error = TooBig { mtu: self.mtu, size: packet.size };
        Some(router_answer::of_model(cx, packet, &error, ERROR, from))
    }

    /// Fragments a packet of a real stack.
    fn cut_bytes(&self, cx: &mut Cx<'_>, packet: Packet) {
        let Some(fragments) = cx.bytes(&packet).and_then(|bytes| fragment::cut(bytes, self.mtu)) else {
            return self.refuse(cx, packet);
        };
        cx.discard(&packet);
        for bytes in fragments {
            let size = bytes.len() as u32;
            let (body, id) = cx.emit_bytes(&bytes, size);
            cx.forward(Port(0), Packet { id, body, size, ..packet });
        }
    }

    /// Fragments a model's packet, or a fragment of such a packet.
    fn cut(&self, cx: &mut Cx<'_>, packet: Packet) {
        let each = fragment::carries(self.mtu, HEADER);
        let outer = cx.part(&packet);
        let of = outer.unwrap_or(Part {
            packet: packet.id,
            from: 0,
            len: packet.size.saturating_sub(HEADER),
            more: false,
        });
        if each == 0 || of.len <= each {
            return self.refuse(cx, packet);
        }
        for from in (0..of.len).step_by(each as usize) {
            let len = each.min(of.len - from);
            let more = of.more || from + len < of.len;
            let part = Part { packet: of.packet, from: of.from + from, len, more };
            let fragment = cx.fragment(&packet, part, HEADER + len);
            cx.derive(&fragment, Derived::Part { of: packet.id, part });
            cx.forward(Port(0), fragment);
        }
        cx.cut_up(&packet);
    }
}

impl Element for Mtu {
    fn on_packet(&mut self, cx: &mut Cx<'_>, _port: Port, packet: Packet) {
        if packet.size <= self.mtu || packet.flags.has(Flags::VIRTUAL) {
            return cx.forward(Port(0), packet);
        }
        if cx.bytes(&packet).is_some() {
            return self.cut_bytes(cx, packet);
        }
        if self.whole.get(packet.ledger()) == Some(&true) && !packet.flags.has(Flags::DIVISIBLE) {
            self.refuse(cx, packet);
        } else {
            self.cut(cx, packet);
        }
    }
    fn on_wake(&mut self, _cx: &mut Cx<'_>) {}
    fn next_wake(&self) -> Time {
        Time::NEVER
    }
    fn holds(&self) -> usize {
        0
    }
}

/// Parses an ICMP packet; returns the content of "fragmentation needed" or "packet too big".
pub(crate) fn read_error(bytes: &[u8]) -> Option<TooBig> {
    let icmp::TooBig { mtu, size, .. } = icmp::read(bytes)?;
    //= RFC 1191 section 5: without an MTU in the message, the next plateau is assumed
    let mtu = if mtu == 0 { icmp::plateau(size) } else { mtu };
    Some(TooBig { mtu, size })
}

/// Whether the bytes are an ICMP packet of IPv4 or IPv6.
pub(crate) fn is_icmp(bytes: &[u8]) -> bool {
    wire::read(bytes).is_ok_and(|digest| matches!(digest.protocol, icmp::ICMP | icmp::ICMP6))
}
