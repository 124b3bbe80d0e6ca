//! Path element interface: packets, wake-ups, signals, context.
//!
//! It is told of packets and of the time it asked for, and acts through its context: send on, drop, record. It never
//! asks for the time.

use crate::outbox::{Outbox, SIGNAL};
use crate::wires::Wires;
use base::event::{Category, Event, Source};
use base::packet::{DropReason, Flags, Packet};
use base::pool::{Body, BodyRef, Part, Pool};
use base::trace::{Derived, Tracer};
use base::truth::{DataDrop, Ledger};
use base::{Rate, Time};
use std::any::Any;
use std::collections::VecDeque;

/// An element's number in its network. Smaller numbers run first when two wake at the same instant.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ElementId(pub u32);

/// One of an element's numbered connections, inward or outward.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Port(pub u16);

/// What elements tell each other beside packets, and what a trigger from outside can say.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Signal {
    /// The rate is this from now on; the packet in service keeps the bytes it still has to send.
    Rate(Rate),
    /// Start no transmission until told to.
    Close,
    /// Go on.
    Open,
    /// A machine of states goes into one of them.
    State {
        /// Which machine, by its number in the network.
        machine: u16,
        /// Which state, by its number in the machine.
        state: u16,
    },
    /// Send no more background load: the workloads are done.
    Cease,
    /// The next stage has taken a packet out of its queue: one more may be sent (flow control by credit).
    Credit,
    /// Drop what waits of one connection in one direction of a flow.
    Flush {
        /// The direction, as [`Packet::ledger`] counts.
        ledger: usize,
        /// The connection, as [`Cx::connection`] counts.
        connection: u64,
    },
}

/// One thing on the path.
pub trait Element: Any + Send {
    /// A packet comes in by `port`.
    fn on_packet(&mut self, cx: &mut Cx<'_>, port: Port, packet: Packet);
    /// The time asked for has come; it may also be called earlier, and then does nothing.
    fn on_wake(&mut self, cx: &mut Cx<'_>);
    /// When to be woken; [`Time::NEVER`] if not. Pure: asked after every call above.
    fn next_wake(&self) -> Time;
    /// Before this nothing leaves it, unless something comes in; as late as that can be said for certain. Who drives the
    /// network by a real clock need not wake up for what only happens inside: it is caught up with, each event at its own time.
    fn next_exit(&self) -> Time {
        self.next_wake()
    }
    /// Receives an out-of-band signal, of another element or of a trigger. The default ignores it.
    fn on_signal(&mut self, _cx: &mut Cx<'_>, _signal: Signal) {}
    /// Packets inside it, for the conservation property.
    fn holds(&self) -> usize;

    /// An element that does nothing but send packets on by a table that never changes shows it: by
    /// [`Packet::ledger`], the port. It is then passed without running.
    fn table(&self) -> Option<&[Option<Port>]> {
        None
    }

    /// [`Element::on_packet`], then [`Element::next_wake`], in one call: the network's way in.
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

/// What the elements of a network share.
pub(crate) struct Core {
    pub(crate) pool: Pool,
    pub(crate) tracer: Tracer,
    pub(crate) ledgers: Vec<Ledger>,
    pub(crate) wires: Wires,
    pub(crate) counters: Counters,
    /// The last in the order of ties of those whose wake-ups this instant has seen; the greatest number if somebody
    /// outside acts, after all that was due.
    pub(crate) woken: u32,
    /// Signals on their way, in the order of their turns in the outbox.
    pub(crate) signals: VecDeque<(ElementId, Signal)>,
}

/// Always-on counters of a network.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Counters {
    /// Packets that hosts have sent, and copies that the network made.
    pub sent: u64,
    /// Packets that hosts have taken in.
    pub absorbed: u64,
    /// Packets dropped on the way.
    pub dropped: u64,
    /// Packets that links have delivered: packet-hops.
    pub hops: u64,
    /// Frames that channels have begun, repeats included.
    pub frames: u64,
    /// Wake-ups that were executed.
    pub wakes: u64,
    /// Bytes sent, absorbed and dropped, all headers counted.
    pub bytes: [u64; 3],
}

/// What an element may do while it runs.
pub struct Cx<'a> {
    pub(crate) now: Time,
    pub(crate) me: ElementId,
    pub(crate) core: &'a mut Core,
    pub(crate) outbox: &'a mut Outbox,
}

impl Cx<'_> {
    /// The present.
    #[inline]
    pub fn now(&self) -> Time {
        self.now
    }

    /// Who is running.
    #[inline]
    pub fn me(&self) -> ElementId {
        self.me
    }

    /// Whether an element with a greater number has had its turn at this instant, or somebody outside acts: then all
    /// have that stand directly upstream of this one.
    #[inline]
    pub(crate) fn is_past_own_turn(&self) -> bool {
        self.core.woken > self.me.0
    }

    /// Sends a packet out by `port`. It arrives at once, after this call has returned.
    #[inline]
    pub fn forward(&mut self, port: Port, packet: Packet) {
        self.forward_from(port, &packet);
    }

    /// The same, copied from where it lies.
    #[inline(always)]
    pub fn forward_from(&mut self, port: Port, packet: &Packet) {
        let (to, port) = self.core.wires.reaches(self.me, port, packet);
        self.outbox.push(packet, to, port);
    }

    /// Tells the element that `port` leads to something, out of band. It hears it in its turn among the packets that are
    /// sent; nothing is counted. Without a wire nothing happens.
    #[cold]
    pub fn signal(&mut self, port: Port, signal: Signal) {
        if let Some(to) = self.core.wires.hears(self.me, port) {
            self.core.signals.push_back((to, signal));
            self.outbox.push(&Packet::NONE, SIGNAL, 0);
        }
    }

    /// Ends a packet here.
    pub fn drop(&mut self, packet: Packet, reason: DropReason) {
        self.core.counters.dropped += 1;
        self.core.counters.bytes[2] += u64::from(packet.size);
        self.core.pool.discard(packet.body);
        // What is dropped of two copies is no loss of data.
        let counted = !packet.flags.has(Flags::COPY);
        if let Some(ledger) = self.core.ledgers.get_mut(packet.ledger()).filter(|_| counted) {
            if packet.flags.has(Flags::DATA) {
                let queued =
                    matches!(reason, DropReason::QueueFull | DropReason::Early | DropReason::Expired);
                *(if queued { &mut ledger.queue_drops } else { &mut ledger.other_drops }) += 1;
                ledger.drops.push(DataDrop { ordinal: packet.ordinal, element: self.me.0, queued });
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

    /// For hosts: keeps a packet that is sent, and what it carries, or that is taken in; if packets are kept.
    #[inline(always)]
    pub fn sight<B: Body>(&mut self, packet: &Packet, sent: Option<&B>) {
        if self.core.tracer.wants(Category::Packets) {
            // A copy, so that a packet of which nobody wants to know need not lie in memory.
            let packet = *packet;
            self.core.tracer.sight(self.now, Source(self.me.0), &packet, sent);
        }
    }

    /// The tracer, for what an element records on behalf of something inside it.
    #[inline]
    pub fn tracer(&mut self) -> &mut Tracer {
        &mut self.core.tracer
    }

    /// What is known of the direction of a flow that `packet` belongs to.
    #[inline]
    pub fn ledger(&mut self, of: &Packet) -> Option<&mut Ledger> {
        self.core.ledgers.get_mut(of.ledger())
    }

    /// A ledger by its number (two per flow, the flow's own direction first).
    #[inline]
    pub fn ledger_at(&mut self, number: usize) -> Option<&mut Ledger> {
        self.core.ledgers.get_mut(number)
    }

    /// A channel begins a frame.
    pub fn count_frame(&mut self) {
        self.core.counters.frames += 1;
    }

    /// A link delivered a packet.
    #[inline]
    pub fn count_hop(&mut self) {
        self.core.counters.hops += 1;
    }

    /// For hosts: stores a body and gives its packet the next number.
    #[inline(always)]
    pub fn emit<B: Body>(&mut self, body: &B, size: u32) -> (BodyRef, u64) {
        self.core.counters.sent += 1;
        self.core.counters.bytes[0] += u64::from(size);
        (body.put(&mut self.core.pool), self.core.counters.sent)
    }

    /// For sources of background load: counts a packet without a body and gives it its number.
    #[inline]
    pub fn emit_virtual(&mut self, size: u32) -> u64 {
        self.core.counters.sent += 1;
        self.core.counters.bytes[0] += u64::from(size);
        self.core.counters.sent
    }

    /// For links: counts packets of background load that were sent, carried and taken out.
    pub(crate) fn pass_virtual(&mut self, packets: u64, size: u32) {
        let (counters, bytes) = (&mut self.core.counters, packets * u64::from(size));
        counters.sent += packets;
        counters.hops += packets;
        counters.absorbed += packets;
        counters.bytes[0] += bytes;
        counters.bytes[1] += bytes;
    }

    /// For hosts and doors: takes a packet out of the network and opens it; `None` if its body is of another kind.
    #[inline(always)]
    pub fn absorb<B: Body>(&mut self, packet: &Packet) -> Option<B> {
        self.core.counters.absorbed += 1;
        self.core.counters.bytes[1] += u64::from(packet.size);
        B::take(&mut self.core.pool, packet.body)
    }

    /// Takes a packet out of the network without opening it.
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

    /// Which connection a packet belongs to, equal for both directions: a number within its flow, or, of bytes, a hash of
    /// addresses and ports.
    #[cold]
    pub fn connection(&self, packet: &Packet) -> u64 {
        self.core.pool.connection(packet.body)
    }

    /// A second copy of a packet, body included, as a network makes it.
    pub fn duplicate(&mut self, packet: &Packet) -> Packet {
        self.core.counters.sent += 1;
        self.core.counters.bytes[0] += u64::from(packet.size);
        let body = self.core.pool.copy(packet.body);
        Packet { body, flags: packet.flags.with(Flags::COPY), ..*packet }
    }

    /// Which part of another packet this one is; none if it is whole.
    #[cold]
    pub fn part(&self, packet: &Packet) -> Option<Part> {
        self.core.pool.part(packet.body)
    }

    /// A fragment of a packet, of so many bytes with its header. The packet ends with [`Cx::cut_up`] once all are made.
    #[cold]
    pub fn fragment(&mut self, of: &Packet, part: Part, size: u32) -> Packet {
        let body = self.core.pool.put_part(of.body, part);
        Packet { id: self.emit_virtual(size), body, size, ..*of }
    }

    /// A packet has been cut up: its fragments go on in its place.
    #[cold]
    pub fn cut_up(&mut self, packet: &Packet) {
        self.core.counters.absorbed += 1;
        self.core.counters.bytes[1] += u64::from(packet.size);
        // Of a fragment that was cut up once more, the parts refer to the whole body.
        if self.core.pool.part(packet.body).is_some() {
            self.core.pool.discard(packet.body);
        }
    }

    /// The packet of `size` bytes that fragments, one of them given apart, have come together to.
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

    /// The bytes of a packet of bytes.
    #[inline]
    pub fn bytes(&self, packet: &Packet) -> Option<&[u8]> {
        self.core.pool.bytes(packet.body)
    }

    /// A packet's body of this type, where it lies.
    #[inline]
    pub fn peek<T: Send + 'static>(&self, packet: &Packet) -> Option<&T> {
        self.core.pool.peek(packet.body)
    }

    /// Keeps a packet that is taken in, if packets are kept.
    #[cold]
    pub fn sight_in(&mut self, packet: &Packet) {
        self.sight(packet, None::<&base::tcp::Segment>);
    }

    /// Keeps a packet that was made of another one, if packets are kept.
    #[cold]
    pub fn derive(&mut self, packet: &Packet, from: Derived) {
        if self.core.tracer.wants(Category::Packets) {
            self.core.tracer.derive(self.now, Source(self.me.0), packet, from);
        }
    }

    /// For doors: stores bytes as a body and gives their packet the next number.
    pub fn emit_bytes(&mut self, bytes: &[u8], size: u32) -> (BodyRef, u64) {
        self.core.counters.sent += 1;
        self.core.counters.bytes[0] += u64::from(size);
        (self.core.pool.put_bytes(bytes), self.core.counters.sent)
    }

    /// For doors: takes a packet out of the network; its bytes and `into` change places. False if its body
    /// is none of bytes; it is gone all the same.
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
