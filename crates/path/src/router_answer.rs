//! Packets of a router to the sender of a packet: ICMP errors (RFC 792) and TCP resets (RFC 9293 section 3.10.7.1).

use crate::element::Cx;
use base::body::Body;
use base::packet::{Flags, Packet};
use base::pool::BodyRef;
use base::trace::Derived;

/// Packet of these bytes to the sender of `to`.
pub(crate) fn of_bytes(cx: &mut Cx<'_>, to: &Packet, bytes: &[u8], flags: Flags, from: Derived) -> Packet {
    let size = bytes.len() as u32;
    let emitted = cx.emit_bytes(bytes, size);
    addressed(cx, to, emitted, size, flags, from)
}

/// Packet with a model's body to the sender of `to`. `size`: bytes.
pub(crate) fn of_model<B: Body>(cx: &mut Cx<'_>, to: &Packet, body: &B, size: u32, from: Derived) -> Packet {
    let emitted = cx.emit(body, size);
    addressed(cx, to, emitted, size, body.flags(), from)
}

/// Source and destination are those of `to` exchanged; so is the direction.
fn addressed(
    cx: &mut Cx<'_>,
    to: &Packet,
    (body, id): (BodyRef, u64),
    size: u32,
    flags: Flags,
    from: Derived,
) -> Packet {
    let answer = Packet {
        id,
        born: cx.now(),
        body,
        flow: to.flow,
        size,
        source: to.destination,
        destination: to.source,
        flags: flags.with(Flags((to.flags.0 ^ Flags::REPLY.0) & Flags::REPLY.0)),
        ..Packet::NONE
    };
    cx.derive(&answer, from);
    answer
}
