//! Dispatch of packets that an endpoint sends: head, pool slot, ledger record, trace event, output port of
//! the network path.

use crate::codec::WireCodec;
use crate::host::{HostConfig, HostCounters};
use base::body::Body;
use base::event::Event;
use base::packet::{Flags, FlowId, NodeId, Packet};
use base::truth::Cause;
use base::{Span, Time};
use path::{Cx, Port};
use transport::Outgoing;
use transport::endpoint::{Endpoint, Role};

/// Head fields common to all packets of one flow end, and the end's counters.
pub(crate) struct Dispatch<E: Endpoint> {
    flow: FlowId,
    /// Flow number of the second network path; further paths have the following numbers.
    pub(crate) other_paths: FlowId,
    node: NodeId,
    peer: NodeId,
    /// Flags of every packet sent.
    flags: Flags,
    /// Index of the ledger of this direction.
    pub(crate) ledger: usize,
    pub(crate) ordinals: [u32; 2],
    /// Base of the connection's sequence numbers: see `base::truth::CONNECTION`.
    pub(crate) base: u64,
    pub(crate) counters: HostCounters,
    /// Converts segments to IP packets if the peer is a real stack.
    pub(crate) codec: Option<Box<dyn WireCodec<E>>>,
    /// Last data transmission; [`Time::NEVER`] before the first.
    last_data: Time,
    /// Gaps without data transmission, longer than [`LONG`].
    pub(crate) silences: Vec<(Time, Time)>,
}

/// Gaps up to 1 s are normal ACK clocking and are not recorded.
const LONG: Span = Span::from_secs(1);

impl<E: Endpoint> Dispatch<E> {
    pub(crate) fn new(config: &HostConfig) -> Self {
        let passive = config.role == Role::Passive;
        Dispatch {
            flow: config.flow,
            other_paths: config.flow,
            node: config.node,
            peer: config.peer,
            flags: if passive { Flags::REPLY } else { Flags::default() },
            ledger: config.flow.0 as usize * 2 + usize::from(passive),
            ordinals: [0; 2],
            base: 0,
            counters: HostCounters::default(),
            codec: None,
            last_data: Time::NEVER,
            silences: Vec::new(),
        }
    }

    /// Network path of packets with this flow number.
    pub(crate) fn path_of(&self, number: FlowId) -> u8 {
        let beside = number.0.checked_sub(self.other_paths.0).filter(|_| number != self.flow);
        beside.map_or(0, |k| u8::try_from(k + 1).unwrap_or(0))
    }

    #[inline(always)]
    pub(crate) fn send(&mut self, cx: &mut Cx<'_>, outgoing: &Outgoing<E::Body>) {
        let body = &outgoing.body;
        let flags = body.flags();
        let data = flags.has(Flags::DATA);
        let ordinal = &mut self.ordinals[usize::from(data)];
        *ordinal += 1;
        let ordinal = *ordinal;
        let mut size = outgoing.size;
        let (stored, id) = if let Some(codec) = &mut self.codec {
            size = codec.write(cx.now(), body, outgoing.ecn);
            cx.emit_bytes(codec.written(), size)
        } else {
            let beside;
            let carried = if self.base == 0 {
                body
            } else {
                beside = body.rebased(self.base);
                &beside
            };
            cx.emit(carried, size)
        };
        self.counters.bytes_sent += u64::from(size);
        if data {
            self.counters.data_sent += 1;
            let last = std::mem::replace(&mut self.last_data, cx.now());
            if cx.now().since(last) > LONG {
                self.silences.push((last, cx.now()));
            }
            if !matches!(outgoing.cause, Cause::New | Cause::WindowProbe) {
                self.counters.data_resent += 1;
            }
            let (now, base, ledger) = (cx.now(), self.base, self.ledger);
            body.ranges(outgoing.cause, |range| {
                let base = base + range.channel.base();
                if let Some(ledger) = cx.ledger_at(ledger) {
                    ledger.sent(now, base + range.from, base + range.to, ordinal, range.cause);
                }
                cx.record_data(|| Event::DataSent {
                    packet: id,
                    seq: range.from,
                    len: (range.to - range.from) as u32,
                    cause: range.cause,
                });
            });
        } else {
            self.counters.acks_sent += 1;
        }
        let again = Flags(Flags::AGAIN.0 * u16::from(outgoing.cause != Cause::New));
        let packet = Packet {
            id,
            born: cx.now(),
            lives: outgoing.lives,
            body: stored,
            flow: match outgoing.path {
                0 => self.flow,
                path => FlowId(self.other_paths.0 + u32::from(path) - 1),
            },
            size,
            ordinal,
            source: self.node,
            destination: self.peer,
            interface: u16::from(outgoing.path),
            flags: self.flags.with(flags).with(again),
            class: body.class(),
            ecn: outgoing.ecn,
            unit: body.unit(),
        };
        cx.sight(&packet, Some(body));
        cx.forward_from(Port(u16::from(outgoing.path)), &packet);
    }
}
