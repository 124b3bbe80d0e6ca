//! Reassembly of IP fragments before a model's host, with its timer (RFC 791 section 3.2, RFC 1122 section 3.3.2;
//! catalogue NS-21).
//!
//! Packets that are not fragments pass. Fragments wait until their packet is complete, or until the timer started by
//! its first fragment expires. Overlapping fragments that are not duplicates are dropped with all fragments of their
//! packet (RFC 5722 section 3; Linux does so for IPv4 too). ICMP errors are passed to the host at a separate port.

use crate::element::{Cx, Element, Port};
use crate::fragment::{ERRORS, HEADER, TooBig, is_icmp, read_error};
use base::packet::{DropReason, Flags, Packet};
use base::trace::Derived;
use base::wire::fragment::{self, Key};
use base::{Span, Time};
use std::collections::BTreeMap;

/// Reassembly timeout (RFC 1122 section 3.3.2: 60 to 120 s).
pub const PATIENCE: Span = Span::from_secs(60);
/// Maximum bytes of waiting fragments, as in Linux (`net.ipv4.ipfrag_high_thresh`). Beyond it the oldest incomplete
/// packet is dropped.
const ROOM: u64 = 4 << 20;

/// Identification of the packet to which fragments belong.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum ReassemblyKey {
    /// A model's packet, by its id.
    Model(u64),
    /// A real stack's packet, by its addresses, protocol and IP identification.
    Bytes(Key),
}

/// A waiting fragment.
struct WaitingFragment {
    /// Offset of the payload in the packet, bytes.
    from: u32,
    /// Length of the payload, bytes.
    len: u32,
    /// More-fragments flag.
    more: bool,
    packet: Packet,
}

/// Received fragments of one packet.
struct Datagram {
    /// Key in [`Reassembly::order`]: expiry of the timer, and number of the packet in order of its first fragment.
    turn: (Time, u64),
    /// Fragments ordered by offset, without overlap.
    pieces: Vec<WaitingFragment>,
    /// Payload bytes received.
    here: u32,
}

impl Datagram {
    /// Whether all fragments have arrived: the last one ends at the number of bytes received, and none overlap.
    fn is_whole(&self) -> bool {
        self.pieces.last().is_some_and(|last| !last.more && last.from + last.len == self.here)
    }

    /// Position of a new fragment in `pieces`; `None` for a duplicate. An error if it is empty, overlaps other
    /// fragments, or contradicts the end of the packet.
    fn place(&self, from: u32, len: u32, more: bool) -> Result<Option<usize>, ()> {
        let at = self.pieces.partition_point(|p| p.from < from);
        let next = self.pieces.get(at);
        if next.is_some_and(|p| (p.from, p.len, p.more) == (from, len, more)) {
            return Ok(None);
        }
        let clear = next.is_none_or(|next| from + len <= next.from && more)
            && at.checked_sub(1).is_none_or(|i| {
                let before = &self.pieces[i];
                before.from + before.len <= from && before.more
            });
        if clear && len > 0 { Ok(Some(at)) } else { Err(()) }
    }
}

/// Reassembly element before a model's host on paths with fragmentation.
#[derive(Default)]
pub struct Reassembly {
    /// Whether ICMP errors are passed to the host.
    hears: bool,
    waiting: BTreeMap<ReassemblyKey, Datagram>,
    /// Incomplete packets in order of expiry.
    order: BTreeMap<(Time, u64), ReassemblyKey>,
    /// Number of packets whose reassembly has begun.
    begun: u64,
    /// Bytes of all waiting fragments.
    bytes: u64,
}

impl Reassembly {
    /// Reassembly without fragments; `hears`: whether ICMP errors are passed to the host.
    pub fn new(hears: bool) -> Self {
        Reassembly { hears, ..Reassembly::default() }
    }

    /// Drops all waiting fragments of a packet.
    fn give_up(&mut self, cx: &mut Cx<'_>, of: ReassemblyKey) {
        let Some(datagram) = self.waiting.remove(&of) else { return };
        self.order.remove(&datagram.turn);
        for piece in datagram.pieces {
            self.bytes -= u64::from(piece.packet.size);
            cx.drop(piece.packet, DropReason::Incomplete);
        }
    }

    /// Adds a fragment to its packet, and reassembles the packet if it is complete.
    fn take(&mut self, cx: &mut Cx<'_>, of: ReassemblyKey, piece: WaitingFragment) {
        let now = cx.now();
        let begun = &mut self.begun;
        let order = &mut self.order;
        let datagram = self.waiting.entry(of).or_insert_with(|| {
            *begun += 1;
            let turn = (now + PATIENCE, *begun);
            order.insert(turn, of);
            Datagram { turn, pieces: Vec::new(), here: 0 }
        });
        match datagram.place(piece.from, piece.len, piece.more) {
            Ok(Some(at)) => {
                self.bytes += u64::from(piece.packet.size);
                datagram.here += piece.len;
                datagram.pieces.insert(at, piece);
                if datagram.is_whole() {
                    self.finish(cx, of);
                }
            }
            Ok(None) => cx.discard(&piece.packet),
            Err(()) => {
                cx.drop(piece.packet, DropReason::Incomplete);
                self.give_up(cx, of);
            }
        }
        while self.bytes > ROOM
            && let Some((_, &oldest)) = self.order.first_key_value()
        {
            self.give_up(cx, oldest);
        }
    }

    /// Reassembles a complete packet and forwards it.
    fn finish(&mut self, cx: &mut Cx<'_>, of: ReassemblyKey) {
        let Some(datagram) = self.waiting.remove(&of) else { return };
        self.order.remove(&datagram.turn);
        self.bytes -= datagram.pieces.iter().map(|p| u64::from(p.packet.size)).sum::<u64>();
        let corrupt = datagram.pieces.iter().any(|p| p.packet.flags.has(Flags::CORRUPT));
        //= RFC 3168 section 5.3: a CE mark on one fragment applies to the packet
        let ecn = datagram.pieces.iter().map(|p| p.packet.ecn).max().unwrap_or(0);
        for piece in &datagram.pieces {
            cx.derive(&piece.packet, Derived::Joined);
        }
        let Some(head) = datagram.pieces.first().map(|p| p.packet) else { return };
        let flags = if corrupt { head.flags.with(Flags::CORRUPT) } else { head.flags };
        let whole = match of {
            ReassemblyKey::Model(_) => {
                let size = HEADER + datagram.here;
                let others = datagram.pieces.iter().skip(1).map(|p| p.packet);
                Some(cx.rejoin(&head, others, size))
            }
            ReassemblyKey::Bytes(_) => {
                let mut all = Vec::new();
                for piece in &datagram.pieces {
                    let mut bytes = Vec::new();
                    cx.absorb_bytes(&piece.packet, &mut bytes);
                    all.push(bytes);
                }
                fragment::join(&all).map(|bytes| {
                    let size = bytes.len() as u32;
                    let (body, id) = cx.emit_bytes(&bytes, size);
                    Packet { id, body, size, ..head }
                })
            }
        };
        if let Some(whole) = whole {
            cx.forward(Port(0), Packet { flags, ecn, ..whole });
        }
    }

    /// Removes an ICMP error, and passes its content, if that is a [`TooBig`], to the modelled host.
    fn pass_error(&self, cx: &mut Cx<'_>, packet: &Packet, error: Option<TooBig>) {
        cx.discard(packet);
        if self.hears
            && let Some(error) = error
        {
            let (body, id) = cx.emit(&error, packet.size);
            cx.forward(ERRORS, Packet { id, body, ..*packet });
        }
    }
}

impl Element for Reassembly {
    fn on_packet(&mut self, cx: &mut Cx<'_>, _port: Port, packet: Packet) {
        if let Some(part) = cx.part(&packet) {
            cx.sight_in(&packet);
            let piece = WaitingFragment { from: part.from, len: part.len, more: part.more, packet };
            return self.take(cx, ReassemblyKey::Model(part.packet), piece);
        }
        if let Some(error) = cx.peek::<TooBig>(&packet).copied() {
            cx.sight_in(&packet);
            return self.pass_error(cx, &packet, Some(error));
        }
        if let Some(bytes) = cx.bytes(&packet) {
            if let Some((key, from, len, more)) = fragment::read(bytes) {
                return self.take(cx, ReassemblyKey::Bytes(key), WaitingFragment { from, len, more, packet });
            }
            if is_icmp(bytes) {
                let error = read_error(bytes);
                return self.pass_error(cx, &packet, error);
            }
        }
        cx.forward(Port(0), packet);
    }

    fn on_wake(&mut self, cx: &mut Cx<'_>) {
        let now = cx.now();
        while let Some((&(until, _), &of)) = self.order.first_key_value()
            && until <= now
        {
            self.give_up(cx, of);
        }
    }

    fn next_wake(&self) -> Time {
        self.order.first_key_value().map_or(Time::NEVER, |(&(until, _), _)| until)
    }

    fn holds(&self) -> usize {
        self.waiting.values().map(|d| d.pieces.len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn empty() -> Datagram {
        Datagram { turn: (Time::ZERO, 0), pieces: Vec::new(), here: 0 }
    }

    fn put(datagram: &mut Datagram, (from, len, more): (u32, u32, bool)) -> Result<bool, ()> {
        let Some(at) = datagram.place(from, len, more)? else { return Ok(false) };
        datagram.pieces.insert(at, WaitingFragment { from, len, more, packet: Packet::NONE });
        datagram.here += len;
        Ok(true)
    }

    #[test]
    fn copies_are_known_and_overlaps_are_refused() {
        let mut datagram = empty();
        assert_eq!(put(&mut datagram, (8, 8, true)), Ok(true));
        assert_eq!(put(&mut datagram, (8, 8, true)), Ok(false));
        for wrong in
            [(0, 16, true), (8, 8, false), (8, 16, true), (0, 8, false), (12, 8, true), (24, 0, true)]
        {
            assert_eq!(put(&mut datagram, wrong), Err(()), "{wrong:?}");
        }
        assert_eq!(put(&mut datagram, (16, 3, false)), Ok(true));
        assert_eq!(put(&mut datagram, (24, 8, true)), Err(()), "behind the last one");
        assert!(!datagram.is_whole());
        assert_eq!(put(&mut datagram, (0, 8, true)), Ok(true));
        assert!(datagram.is_whole());
    }

    proptest! {
        /// For any sequence of fragments, `pieces` are ordered and do not overlap.
        #[test]
        fn pieces_never_overlap(list in proptest::collection::vec((0u32..64, 0u32..24, any::<bool>()), 0..60)) {
            let mut datagram = empty();
            for (from, len, more) in list {
                let _ = put(&mut datagram, (8 * from, len, more));
                let ends: Vec<_> = datagram.pieces.iter().map(|p| (p.from, p.from + p.len)).collect();
                prop_assert!(ends.windows(2).all(|w| w[0].1 <= w[1].0));
                prop_assert_eq!(datagram.here, datagram.pieces.iter().map(|p| p.len).sum::<u32>());
            }
        }
    }
}
