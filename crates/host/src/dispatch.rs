//! How does a segment become a packet? Its end stamps a head on it, stores its body, tells the flow's
//! ledger what was really sent, and sends it out by the only port.

use crate::codec::Codec;
use crate::host::{HostConfig, HostCounters};
use base::event::{Category, Event};
use base::packet::{Flags, FlowId, NodeId, Packet};
use base::tcp::{SackBlocks, Segment};
use base::truth::Cause;
use base::{Span, Time};
use path::{Cx, Port};
use transport::Outgoing;
use transport::tcp::Role;

/// What one end puts on every packet, and what it counts.
pub(crate) struct Dispatch {
    flow: FlowId,
    node: NodeId,
    peer: NodeId,
    /// Of every packet from here.
    flags: Flags,
    /// The ledger of what is sent from here.
    pub(crate) ledger: usize,
    pub(crate) ordinals: [u32; 2],
    /// Where its sequence numbers begin on the wire: see `base::truth::CONNECTION`.
    pub(crate) base: u64,
    pub(crate) counters: HostCounters,
    /// What makes packets of bytes of its segments, if the other end is no model.
    pub(crate) codec: Option<Box<Codec>>,
    last_data: Option<Time>,
    /// Stretches without sending data, longer than [`LONG`].
    pub(crate) silences: Vec<(Time, Time)>,
}

/// Shorter silences are what acknowledgement clocks do.
const LONG: Span = Span::from_secs(1);

impl Dispatch {
    pub(crate) fn new(config: &HostConfig) -> Self {
        let passive = config.role == Role::Passive;
        Dispatch {
            flow: config.flow,
            node: config.node,
            peer: config.peer,
            flags: if passive { Flags::REPLY } else { Flags::default() },
            ledger: config.flow.0 as usize * 2 + usize::from(passive),
            ordinals: [0; 2],
            base: 0,
            counters: HostCounters::default(),
            codec: None,
            last_data: None,
            silences: Vec::new(),
        }
    }

    #[inline(always)]
    pub(crate) fn send(&mut self, cx: &mut Cx<'_>, outgoing: &Outgoing) {
        let segment = &outgoing.segment;
        let data = segment.len > 0;
        let ordinal = &mut self.ordinals[usize::from(data)];
        *ordinal += 1;
        let ordinal = *ordinal;
        let mut size = outgoing.size;
        let (body, id) = if let Some(codec) = &mut self.codec {
            size = codec.write(cx.now(), segment, outgoing.ecn);
            cx.emit_bytes(codec.written(), size)
        } else {
            let beside;
            let carried = if self.base == 0 {
                segment
            } else {
                beside = moved(segment, |n| n + self.base);
                &beside
            };
            cx.emit(carried, size)
        };
        self.counters.bytes_sent += u64::from(size);
        if data {
            self.counters.data_sent += 1;
            let last = self.last_data.replace(cx.now());
            if let Some(last) = last
                && cx.now().since(last) > LONG
            {
                self.silences.push((last, cx.now()));
            }
            if !matches!(outgoing.cause, Cause::New | Cause::WindowProbe) {
                self.counters.data_resent += 1;
            }
            let (now, seq, end) = (cx.now(), segment.seq, segment.seq + u64::from(segment.len));
            if let Some(ledger) = cx.ledger_at(self.ledger) {
                ledger.sent(now, self.base + seq, self.base + end, ordinal, outgoing.cause);
            }
            cx.record(Category::Transport, now, || Event::DataSent {
                packet: id,
                seq,
                len: segment.len,
                cause: outgoing.cause,
            });
        } else {
            self.counters.acks_sent += 1;
        }
        let packet = Packet {
            id,
            born: cx.now(),
            lives: Packet::ALWAYS,
            body,
            flow: self.flow,
            size,
            ordinal,
            source: self.node,
            destination: self.peer,
            interface: 0,
            flags: self.flags.with(flags(outgoing)),
            class: 0,
            ecn: outgoing.ecn,
            unit: 0,
        };
        cx.sight(&packet, Some(segment));
        cx.forward_from(Port(0), &packet);
    }
}

/// The segment with other sequence numbers: those of one connection, or those on the wire.
#[cold]
pub(crate) fn moved(segment: &Segment, to: impl Fn(u64) -> u64) -> Segment {
    let mut sack = SackBlocks::default();
    for block in segment.sack.as_slice() {
        sack.push(to(block.left), to(block.right));
    }
    let ack = if segment.has_ack { to(segment.ack) } else { segment.ack };
    Segment { seq: to(segment.seq), ack, sack, ..*segment }
}

#[inline]
fn flags(outgoing: &Outgoing) -> Flags {
    let segment = &outgoing.segment;
    let when = |flag: Flags, on: bool| flag.0 * u16::from(on);
    let usual = Flags(
        when(Flags::DATA, segment.len > 0)
            | when(Flags::ACK, segment.has_ack)
            | when(Flags::AGAIN, outgoing.cause != Cause::New),
    );
    if segment.syn | segment.fin | segment.rst {
        return usual.with(Flags(
            when(Flags::SYN, segment.syn) | when(Flags::FIN, segment.fin) | when(Flags::RST, segment.rst),
        ));
    }
    usual
}
