//! Path element interface: trait `Element` (packets, wake-ups, signals), and context `Cx` of its calls (forward, emit,
//! drop, fragment, record, signal, counters).
//!
//! The network calls an element when a packet arrives, at the wake-up that it requested, and for signals. The element
//! acts through its context only, and takes the time from there.

use crate::outbox::{Outbox, SIGNAL};
use crate::wires::Wires;
use base::event::{Category, Event, Source};
use base::packet::{DropReason, Flags, Packet};
use base::pool::{Body, BodyRef, Part, Pool};
use base::tcp::Segment;
use base::trace::{Derived, Tracer};
use base::truth::{DataDrop, Ledger};
use base::{Rate, Time};
use std::any::Any;
use std::collections::VecDeque;

/// Number of an element in its network, in the order of adding. At equal wake-up times, smaller numbers run first. In a
/// running network elements know each other by their places ([`Network::start`](crate::network::Network::start)), which have the same order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ElementId(pub u32);

/// Numbered input or output of an element.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Port(pub u16);

/// Out-of-band signal to an element, from another element or from outside of the network.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Signal {
    /// Sets the rate; the packet in service keeps its remaining bytes.
    Rate(Rate),
    /// Stops new transmissions.
    Close,
    /// Resumes transmissions.
    Open,
    /// Moves a state machine into a state.
    State {
        /// Number of the state machine in the network.
        machine: u16,
        /// Number of the state in its machine.
        state: u16,
    },
    /// Stops the sources of background load, since the workloads are done.
    Cease,
    /// Sets a numbered parameter of an element.
    Set {
        /// Number of the parameter in its element.
        number: u16,
        /// New value.
        value: u32,
    },
    /// Sets the fraction of the access link that a throttle leaves to its flow.
    Share(f64),
    /// Grant of a congestion manager: a stream of the element may send.
    Grant,
    /// Credit-based flow control: the next link has taken a packet out of its queue.
    Credit,
    /// Drops the waiting packets of one connection in one direction of a flow.
    Flush {
        /// Number of flow and direction ([`Packet::ledger`]).
        ledger: usize,
        /// Connection ([`Cx::connection`]).
        connection: u64,
    },
}

/// Element of a path.
pub trait Element: Any + Send {
    /// A packet arrives at `port`.
    fn on_packet(&mut self, cx: &mut Cx<'_>, port: Port, packet: Packet);
    /// The time of the requested wake-up has come. A call before that time has no effect.
    fn on_wake(&mut self, cx: &mut Cx<'_>);
    /// Time of the next wake-up; [`Time::NEVER`] if none. A pure function; the network calls it after each packet,
    /// wake-up and signal.
    fn next_wake(&self) -> Time;
    /// Lower bound of the time of the next departure if no packet arrives. A driver in real time may run internal
    /// events late, since each is processed with its own time.
    fn next_exit(&self) -> Time {
        self.next_wake()
    }
    /// An out-of-band signal arrives, from another element or a trigger. The default ignores it.
    fn on_signal(&mut self, _cx: &mut Cx<'_>, _signal: Signal) {}
    /// Whether the element processes internal events without an effect outside late, at its next call or at
    /// [`Element::settle`].
    fn is_late(&self) -> bool {
        false
    }
    /// Processes the internal events due by now; returns the time of the last one, [`Time::ZERO`] if none was due. The
    /// network calls it on late elements before its counters are read.
    fn settle(&mut self, _cx: &mut Cx<'_>) -> Time {
        Time::ZERO
    }
    /// Whether the element ever requests a wake-up. Those that do not need no entry in the schedule.
    fn wakes(&self) -> bool {
        true
    }
    /// Number of packets inside the element, for checks that no packet is lost or duplicated unnoticed.
    fn holds(&self) -> usize;

    /// Static forwarding table, output port by [`Packet::ledger`], of an element that only forwards. The network
    /// resolves the table ahead and does not call the element.
    fn table(&self) -> Option<&[Option<Port>]> {
        None
    }

    /// [`Element::on_packet`], then [`Element::next_wake`], in one call; used by the network. May be
    /// [`Time::NEVER`] if the next wake-up is no earlier than before.
    #[inline]
    fn arrive(&mut self, cx: &mut Cx<'_>, port: Port, packet: &Packet) -> Time {
        self.on_packet(cx, port, *packet);
        self.next_wake()
    }
    /// [`Element::on_wake`], then [`Element::next_wake`], in one call.
    #[inline]
    fn wake(&mut self, cx: &mut Cx<'_>) -> Time {
        self.on_wake(cx);
        self.next_wake()
    }
}

/// State shared by the elements of a network.
pub(crate) struct Core {
    pub(crate) pool: Pool,
    pub(crate) tracer: Tracer,
    pub(crate) ledgers: Vec<Ledger>,
    pub(crate) wires: Wires,
    pub(crate) counters: Counters,
    /// Greatest number of the elements woken at this time; `u32::MAX` during a call from outside, which follows
    /// all wake-ups due.
    pub(crate) woken: u32,
    /// Pending signals, in the order of their slots in the outbox.
    pub(crate) signals: VecDeque<(ElementId, Signal)>,
    /// Links that forward packets ahead of time, the last ones of chains first.
    pub(crate) forwarding: Vec<u32>,
    /// Links that take packets from several links ahead of time.
    pub(crate) merging: Vec<u32>,
}

/// Counters of a network.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Counters {
    /// Packets created: sent by hosts, ports and load sources, and copies, fragments, reassembled packets and ICMP
    /// errors of the network.
    pub sent: u64,
    /// Packets removed without a drop: received by hosts and ports, absorbed load, and packets replaced by
    /// fragments or by reassembly.
    pub absorbed: u64,
    /// Packets dropped in the network.
    pub dropped: u64,
    /// Packets delivered by links: packet-hops.
    pub hops: u64,
    /// Frames begun by channels, retransmissions included.
    pub frames: u64,
    /// Wake-ups executed.
    pub wakes: u64,
    /// Bytes of the packets sent, absorbed and dropped, headers included.
    pub bytes: [u64; 3],
    /// Bytes saved by header compression and not restored: of packets on a compressed link, and of packets dropped
    /// there, whose compressed size counts in `bytes`.
    pub compressed: u64,
}

/// Context of a call to an element.
pub struct Cx<'a> {
    pub(crate) now: Time,
    pub(crate) me: ElementId,
    pub(crate) core: &'a mut Core,
    pub(crate) outbox: &'a mut Outbox,
}

impl Cx<'_> {
    /// Current time.
    #[inline]
    pub fn now(&self) -> Time {
        self.now
    }

    /// Place of the element that is running.
    #[inline]
    pub fn me(&self) -> ElementId {
        self.me
    }

    /// Whether an element with a greater number, thus further upstream, was already woken at this time, or the
    /// call is from outside.
    #[inline]
    pub(crate) fn is_past_own_turn(&self) -> bool {
        self.core.woken > self.me.0
    }

    /// Forwards a packet by output `port`. It arrives at the same time, after the element's call has returned.
    #[inline]
    pub fn forward(&mut self, port: Port, packet: Packet) {
        self.forward_from(port, &packet);
    }

    /// [`Self::forward`] of a packet by reference.
    #[inline(always)]
    pub fn forward_from(&mut self, port: Port, packet: &Packet) {
        let (to, port) = self.core.wires.reaches(self.me, port, packet);
        self.outbox.push(packet, to, port);
    }

    /// Sends an out-of-band signal to the element wired to output `port`, in order with the packets sent. Without a
    /// wire it has no effect.
    #[cold]
    pub fn signal(&mut self, port: Port, signal: Signal) {
        if let Some(to) = self.core.wires.only_target(self.me, port) {
            self.core.signals.push_back((to, signal));
            self.outbox.push(&Packet::NONE, SIGNAL, 0);
        }
    }

    /// For header compression: reduces the size of a packet by `bytes`.
    #[cold]
    pub(crate) fn compress(&mut self, packet: &mut Packet, bytes: u32) {
        packet.size -= bytes;
        self.core.counters.compressed += u64::from(bytes);
    }

    /// For header decompression: reverses [`Self::compress`].
    #[cold]
    pub(crate) fn restore(&mut self, packet: &mut Packet, bytes: u32) {
        packet.size += bytes;
        self.core.counters.compressed -= u64::from(bytes);
    }

    /// Drops a packet: counts it, in the ledger of its flow too, releases its body, and records the event.
    pub fn drop(&mut self, packet: Packet, reason: DropReason) {
        self.core.counters.dropped += 1;
        self.core.counters.bytes[2] += u64::from(packet.size);
        self.core.pool.discard(packet.body);
        // The drop of a duplicate made by the network is not a loss of data.
        let counted = !packet.flags.has(Flags::COPY);
        if let Some(ledger) = self.core.ledgers.get_mut(packet.ledger()).filter(|_| counted) {
            if packet.flags.has(Flags::DATA) {
                let queued =
                    matches!(reason, DropReason::QueueFull | DropReason::Early | DropReason::Expired);
                *(if queued { &mut ledger.queue_drops } else { &mut ledger.other_drops }) += 1;
                let element = self.core.tracer.recorded(Source(self.me.0)).0;
                ledger.drops.push(DataDrop { ordinal: packet.ordinal, element, queued });
            } else {
                ledger.ack_drops += 1;
            }
        }
        let (id, flow) = (packet.id, packet.flow.0);
        self.record(Category::Path, self.now, || Event::Dropped { packet: id, flow, reason });
    }

    /// Whether events of a category are recorded.
    #[inline(always)]
    pub fn records(&self, category: Category) -> bool {
        self.core.tracer.wants(category)
    }

    /// Records an event of this element that happened at `t`.
    #[inline]
    pub fn record(&mut self, category: Category, t: Time, event: impl FnOnce() -> Event) {
        self.core.tracer.record(category, t, Source(self.me.0), event);
    }

    /// Records the transmission of data now, for traces of transports and for captures.
    #[inline]
    pub fn record_data(&mut self, event: impl FnOnce() -> Event) {
        self.core.tracer.record_data(self.now, Source(self.me.0), event);
    }

    /// For hosts: records a packet that is sent (`sent`: its body) or received, if packets are recorded.
    #[inline(always)]
    pub fn sight<B: Body>(&mut self, packet: &Packet, sent: Option<&B>) {
        if self.core.tracer.wants(Category::Packets) {
            // By value, so that the packet need not live in memory when it is not recorded.
            let packet = *packet;
            self.core.tracer.sight(self.now, Source(self.me.0), &packet, sent);
        }
    }

    /// Tracer, for components of the element that record events themselves.
    #[inline]
    pub fn tracer(&mut self) -> &mut Tracer {
        &mut self.core.tracer
    }

    /// Ledger of the packet's flow and direction.
    #[inline]
    pub fn ledger(&mut self, of: &Packet) -> Option<&mut Ledger> {
        self.core.ledgers.get_mut(of.ledger())
    }

    /// Ledger by number: two per flow, first the flow's direction, then its reverse direction.
    #[inline]
    pub fn ledger_at(&mut self, number: usize) -> Option<&mut Ledger> {
        self.core.ledgers.get_mut(number)
    }

    /// Counts frames begun by a channel.
    #[inline]
    pub fn count_frames(&mut self, frames: u32) {
        self.core.counters.frames += u64::from(frames);
    }

    /// Counts a packet delivered by a link.
    #[inline]
    pub fn count_hop(&mut self) {
        self.core.counters.hops += 1;
    }

    /// For hosts: stores a body and assigns the packet's id.
    #[inline(always)]
    pub fn emit<B: Body>(&mut self, body: &B, size: u32) -> (BodyRef, u64) {
        self.core.counters.sent += 1;
        self.core.counters.bytes[0] += u64::from(size);
        (body.put(&mut self.core.pool), self.core.counters.sent)
    }

    /// For sources of background load: counts a packet without a body and assigns its id.
    #[inline]
    pub fn emit_virtual(&mut self, size: u32) -> u64 {
        self.core.counters.sent += 1;
        self.core.counters.bytes[0] += u64::from(size);
        self.core.counters.sent
    }

    /// For links: counts packets of background load, without simulating them, as sent, delivered and absorbed.
    pub(crate) fn pass_virtual(&mut self, packets: u64, size: u32) {
        let (counters, bytes) = (&mut self.core.counters, packets * u64::from(size));
        counters.sent += packets;
        counters.hops += packets;
        counters.absorbed += packets;
        counters.bytes[0] += bytes;
        counters.bytes[1] += bytes;
    }

    /// For hosts and packet ports: removes a packet from the network and returns its body; `None` if the body is of
    /// another type.
    #[inline(always)]
    pub fn absorb<B: Body>(&mut self, packet: &Packet) -> Option<B> {
        let mut body = None;
        self.absorb_into(packet, &mut body);
        body
    }

    /// [`Self::absorb`] with the body written into `into`, which is `None` before.
    #[inline(always)]
    pub fn absorb_into<B: Body>(&mut self, packet: &Packet, into: &mut Option<B>) {
        self.core.counters.absorbed += 1;
        self.core.counters.bytes[1] += u64::from(packet.size);
        B::take_into(&mut self.core.pool, packet.body, into);
    }

    /// Removes a packet and its body from the network, counted as absorbed.
    #[inline]
    pub fn discard(&mut self, packet: &Packet) {
        self.core.counters.absorbed += 1;
        self.core.counters.bytes[1] += u64::from(packet.size);
        self.core.pool.discard(packet.body);
    }

    /// Whether two packets of one flow and direction carry the same data of the same connection.
    #[cold]
    pub fn same_data(&self, one: &Packet, other: &Packet) -> bool {
        self.core.pool.same_data(one.body, other.body)
    }

    /// Connection of a packet, equal in both directions: the connection's number within the flow, or for packets of
    /// bytes a hash of addresses and ports.
    #[cold]
    pub fn connection(&self, packet: &Packet) -> u64 {
        self.core.pool.connection(packet.body)
    }

    /// Segment of a model's packet, without SACK blocks; `None` for other bodies.
    #[cold]
    pub fn segment(&self, packet: &Packet) -> Option<Segment> {
        self.core.pool.segment(packet.body)
    }

    /// Duplicates a packet with its body; the duplicate has [`Flags::COPY`].
    pub fn duplicate(&mut self, packet: &Packet) -> Packet {
        self.core.counters.sent += 1;
        self.core.counters.bytes[0] += u64::from(packet.size);
        let body = self.core.pool.copy(packet.body);
        Packet { body, flags: packet.flags.with(Flags::COPY), ..*packet }
    }

    /// Fragment information of a packet; none if it is not a fragment.
    #[cold]
    pub fn part(&self, packet: &Packet) -> Option<Part> {
        self.core.pool.part(packet.body)
    }

    /// Creates a fragment of `size` bytes, header included. [`Cx::cut_up`] removes the original packet.
    #[cold]
    pub fn fragment(&mut self, of: &Packet, part: Part, size: u32) -> Packet {
        let body = self.core.pool.put_part(of.body, part);
        Packet { id: self.emit_virtual(size), body, size, ..*of }
    }

    /// Removes a packet that was fragmented.
    #[cold]
    pub fn cut_up(&mut self, packet: &Packet) {
        self.core.counters.absorbed += 1;
        self.core.counters.bytes[1] += u64::from(packet.size);
        // Fragments of a fragment refer to the body of the whole packet.
        if self.core.pool.part(packet.body).is_some() {
            self.core.pool.discard(packet.body);
        }
    }

    /// Reassembles a packet of `size` bytes from its fragments: `one` supplies the head, `others` are removed.
    #[cold]
    pub fn rejoin(&mut self, one: &Packet, others: impl Iterator<Item = Packet>, size: u32) -> Packet {
        for other in others {
            self.discard(&other);
        }
        self.core.counters.absorbed += 1;
        self.core.counters.bytes[1] += u64::from(one.size);
        let body = self.core.pool.join_part(one.body);
        Packet { id: self.emit_virtual(size), body, size, ..*one }
    }

    /// Bytes of a packet whose body is bytes; otherwise `None`.
    #[inline]
    pub fn bytes(&self, packet: &Packet) -> Option<&[u8]> {
        self.core.pool.bytes(packet.body)
    }

    /// Reference to a packet's body, if it is a `T`.
    #[inline]
    pub fn peek<T: Send + 'static>(&self, packet: &Packet) -> Option<&T> {
        self.core.pool.peek(packet.body)
    }

    /// Records a received packet, if packets are recorded.
    #[cold]
    pub fn sight_in(&mut self, packet: &Packet) {
        self.sight(packet, None::<&base::tcp::Segment>);
    }

    /// Records a packet derived from another one, if packets are recorded.
    #[cold]
    pub fn derive(&mut self, packet: &Packet, from: Derived) {
        if self.core.tracer.wants(Category::Packets) {
            self.core.tracer.derive(self.now, Source(self.me.0), packet, from);
        }
    }

    /// For packet ports: stores bytes as a body and assigns the packet's id.
    pub fn emit_bytes(&mut self, bytes: &[u8], size: u32) -> (BodyRef, u64) {
        self.core.counters.sent += 1;
        self.core.counters.bytes[0] += u64::from(size);
        (self.core.pool.put_bytes(bytes), self.core.counters.sent)
    }

    /// For packet ports: removes a packet from the network and swaps its bytes with `into`. False if the body is not
    /// bytes; the packet is removed in both cases.
    pub fn absorb_bytes(&mut self, packet: &Packet, into: &mut Vec<u8>) -> bool {
        self.core.counters.absorbed += 1;
        self.core.counters.bytes[1] += u64::from(packet.size);
        let raw = self.core.pool.take_bytes(packet.body, into);
        if !raw {
            self.core.pool.discard(packet.body);
        }
        raw
    }
}
