//! FIFO queue with limits, drop policies, maximum sojourn time and AQM (catalogue SW-23, SW-24).

use super::{Aqm, AqmVerdict, Qdisc, QueueSpec, QueueView};
use crate::element::Cx;
use base::event::{Category, Event};
use base::packet::{DropReason, Flags, Packet};
use base::rng::Stream;
use base::shape::{Need, Shape, TableShape, ValueKind, Values, Variant, field, table};
use base::units::Limit;
use base::{Span, Time};
use std::collections::VecDeque;
use std::fmt;

/// Limits of a queue or buffer in packets and bytes; both apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Room {
    /// Maximum number of packets; none: unlimited.
    pub packets: Option<u32>,
    /// Maximum number of bytes; none: unlimited.
    pub bytes: Option<u64>,
}

impl Room {
    /// Whether a packet of `size` bytes fits in addition to a backlog of `packets` and `bytes`.
    pub(crate) fn takes(&self, packets: usize, bytes: u64, size: u32) -> bool {
        self.packets.is_none_or(|n| packets < n as usize)
            && self.bytes.is_none_or(|n| bytes + u64::from(size) <= n)
    }

    /// Whether there is no limit.
    pub fn is_unlimited(&self) -> bool {
        self.packets.is_none() && self.bytes.is_none()
    }
}

/// Text form, such as "10 packets and 15 kB".
impl fmt::Display for Room {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.packets.map(Limit::Packets), self.bytes.map(Limit::Bytes)) {
            (None, None) => f.write_str("any size"),
            (Some(one), None) | (None, Some(one)) => write!(f, "{one}"),
            (Some(packets), Some(bytes)) => write!(f, "{packets} and {bytes}"),
        }
    }
}

/// Drop policy: the packet that is dropped when an arrival does not fit.
#[derive(Clone, Debug)]
pub enum Discard {
    /// The arriving packet (drop-tail).
    Tail,
    /// The packets with the longest sojourn time (drop-head).
    Head,
    /// A random packet among those waiting and the arriving one, with equal probability.
    Random(Stream),
    /// The packets with the earliest sending time, at any position (drop-oldest).
    Oldest,
    /// Expired packets, then the arriving one. Expired packets are also dropped at the head (drop-late).
    Late,
}

/// Parameters of a first-in first-out queue.
#[derive(Debug)]
pub struct FifoConfig {
    /// Limit of the queue.
    pub room: Room,
    /// Drop policy.
    pub discard: Discard,
    /// Maximum sojourn time.
    pub stay: Option<Span>,
    /// Active queue management.
    pub aqm: Option<Box<dyn Aqm>>,
    /// Whether an arriving packet is dropped if a packet with the same data waits.
    pub unique: bool,
}

impl Default for FifoConfig {
    fn default() -> Self {
        FifoConfig { room: Room::default(), discard: Discard::Tail, stay: None, aqm: None, unique: false }
    }
}

static LIMITED: TableShape = table(
    "queue",
    "A queue of limited size, without the packet in service.",
    &[field(
        "limit",
        Shape::One(ValueKind::Limits),
        Need::Required("\"10 packets\""),
        "Queue limit: packets, data, or \"10 packets, 15 kB\" for whichever is reached first.",
    )],
);

/// Scenario declaration of a drop policy whose only option is the limit.
pub(super) const fn limited(name: &'static str, doc: &'static str) -> Variant {
    Variant { name, doc, shape: Shape::Table(&LIMITED), bare: false }
}

/// Reads the limit of a drop policy and builds its discipline; without a limit the unlimited queue.
pub(super) fn limited_by(values: &dyn Values, policy: impl FnOnce(Room) -> QueueSpec) -> Option<QueueSpec> {
    let room = super::room(values, "limit")?;
    Some(if room.is_unlimited() { QueueSpec::default() } else { policy(room) })
}

/// A packet with its arrival time.
#[derive(Clone, Copy, Debug)]
pub struct Waiting {
    /// The packet.
    pub packet: Packet,
    /// Arrival at the queue.
    pub joined: Time,
}

/// A first-in first-out queue.
#[derive(Debug)]
pub struct Fifo {
    config: FifoConfig,
    waiting: VecDeque<Waiting>,
    bytes: u64,
    /// Number of waiting packets that are not background load.
    real: usize,
    /// See [`Fifo::is_plain`].
    is_plain: bool,
    /// Whether a packet that fits joins unchanged.
    takes_all: bool,
}

impl Fifo {
    /// An empty queue.
    pub fn new(config: FifoConfig) -> Self {
        let drops = matches!(config.discard, Discard::Late);
        let is_plain = !drops && config.aqm.as_ref().is_none_or(|aqm| !aqm.acts_at_departure());
        let takes_all = config.aqm.is_none() && !config.unique;
        Fifo { config, waiting: VecDeque::new(), bytes: 0, real: 0, is_plain, takes_all }
    }

    /// Subtracts a packet removed from the queue from the backlog.
    fn left(&mut self, packet: &Packet) {
        self.bytes -= u64::from(packet.size);
        self.real -= usize::from(!packet.flags.has(Flags::VIRTUAL));
    }

    /// Whether departures have no effect but the removal of the packet at the head.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        self.is_plain
    }

    /// Removes the packet at the head of a plain queue.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<Waiting> {
        let waiting = self.waiting.pop_front()?;
        self.left(&waiting.packet);
        Some(waiting)
    }

    /// Appends a packet that fits and that nothing examines, without a record; false, without an effect, for others.
    #[inline]
    pub(crate) fn append(&mut self, now: Time, packet: &Packet) -> bool {
        if !self.takes_all || !self.config.room.takes(self.waiting.len(), self.bytes, packet.size) {
            return false;
        }
        self.bytes += u64::from(packet.size);
        self.real += usize::from(!packet.flags.has(Flags::VIRTUAL));
        self.waiting.push_back(Waiting { packet: *packet, joined: now });
        true
    }

    /// Bytes waiting.
    #[inline]
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether the packet at the head arrived by `since` or before `now`.
    #[inline]
    pub(crate) fn arrived(&self, since: Time, now: Time) -> bool {
        self.waiting.front().is_some_and(|head| head.joined <= since || head.joined < now)
    }

    /// Whether a packet that arrives at this queue, which is empty, joins it unchanged. `at_once`: no limit applies.
    #[inline]
    pub(crate) fn passes(&self, size: u32, at_once: bool) -> bool {
        self.config.aqm.is_none() && (at_once || self.config.room.takes(0, 0, size))
    }

    /// Drops the packet at position `place`; false if there is none.
    fn drop_at(&mut self, cx: &mut Cx<'_>, place: usize, reason: DropReason) -> bool {
        let Some(waiting) = self.waiting.remove(place) else { return false };
        self.left(&waiting.packet);
        cx.drop(waiting.packet, reason);
        true
    }

    /// Drops waiting packets by the policy; returns their number, and whether the arriving packet fits then.
    #[cold]
    fn make_room(&mut self, cx: &mut Cx<'_>, packet: &Packet) -> (usize, bool) {
        if self.config.room.bytes.is_some_and(|n| u64::from(packet.size) > n) {
            return (0, false);
        }
        let mut gone = 0;
        let mut by_deadline = 0;
        while !self.config.room.takes(self.waiting.len(), self.bytes, packet.size) {
            let reason = DropReason::QueueFull;
            let (victim, reason) = match &mut self.config.discard {
                Discard::Tail => return (gone, false),
                Discard::Head => (0, reason),
                Discard::Random(stream) => {
                    let chosen = (stream.uniform() * (self.waiting.len() + 1) as f64) as usize;
                    if chosen >= self.waiting.len() {
                        return (gone, false);
                    }
                    (chosen, reason)
                }
                Discard::Oldest => {
                    let born = |w: &Waiting| w.packet.born;
                    match self.waiting.iter().map(born).enumerate().min_by_key(|&(at, born)| (born, at)) {
                        Some((at, oldest)) if oldest <= packet.born => (at, reason),
                        _ => return (gone, false),
                    }
                }
                Discard::Late => {
                    let late = |w: &Waiting| w.packet.deadline() <= cx.now();
                    match self.waiting.iter().skip(by_deadline).position(late) {
                        Some(at) => {
                            by_deadline += at;
                            (by_deadline, DropReason::Expired)
                        }
                        None => return (gone, false),
                    }
                }
            };
            if !self.drop_at(cx, victim, reason) {
                return (gone, false);
            }
            gone += 1;
        }
        (gone, true)
    }
}

impl Qdisc for Fifo {
    #[inline]
    fn len(&self) -> usize {
        self.waiting.len()
    }

    fn real(&self) -> usize {
        self.real
    }

    fn head(&mut self) -> Option<&Packet> {
        self.waiting.front().map(|w| &w.packet)
    }

    fn has_stay(&self) -> bool {
        self.config.stay.is_some()
    }

    fn drops_at_head(&self) -> bool {
        !self.is_plain
    }

    fn expires(&self) -> Time {
        match (self.config.stay, self.waiting.front()) {
            (Some(stay), Some(head)) => head.joined + stay,
            _ => Time::NEVER,
        }
    }

    fn expire(&mut self, cx: &mut Cx<'_>) -> usize {
        let mut gone = 0;
        while self.expires() <= cx.now() {
            gone += usize::from(self.drop_at(cx, 0, DropReason::Expired));
        }
        gone
    }

    fn join(&mut self, cx: &mut Cx<'_>, mut packet: Packet, idle: Span, at_once: bool) -> usize {
        let now = cx.now();
        if self.config.unique
            && packet.flags.has(Flags::DATA)
            && self
                .waiting
                .iter()
                .any(|w| w.packet.ledger() == packet.ledger() && cx.same_data(&w.packet, &packet))
        {
            cx.drop(packet, DropReason::Early);
            return 1;
        }
        let full = !at_once && !self.config.room.takes(self.waiting.len(), self.bytes, packet.size);
        if let Some(aqm) = &mut self.config.aqm {
            let (packets, bytes) = (self.waiting.len(), self.bytes);
            match aqm.comes(QueueView {
                now,
                packets,
                bytes,
                ecn: packet.ecn,
                span: idle,
                flow: packet.ledger() as u64,
            }) {
                AqmVerdict::Pass => {}
                AqmVerdict::Mark => mark(cx, &mut packet),
                AqmVerdict::Drop => {
                    cx.drop(packet, DropReason::Early);
                    return 1;
                }
            }
            if full {
                aqm.overflowed();
            }
        }
        let mut gone = 0;
        if full {
            let (dropped, room) = self.make_room(cx, &packet);
            gone = dropped;
            if !room {
                cx.drop(packet, DropReason::QueueFull);
                return gone + 1;
            }
        }
        let waiting = self.waiting.len() as u32;
        self.bytes += u64::from(packet.size);
        self.real += usize::from(!packet.flags.has(Flags::VIRTUAL));
        self.waiting.push_back(Waiting { packet, joined: now });
        cx.record(Category::Path, now, || Event::Enqueued { packet: packet.id, size: packet.size, waiting });
        gone
    }

    fn take(&mut self, cx: &mut Cx<'_>) -> Option<Waiting> {
        let mut waiting = self.waiting.pop_front()?;
        self.left(&waiting.packet);
        let now = cx.now();
        if matches!(self.config.discard, Discard::Late) && waiting.packet.deadline() <= now {
            cx.drop(waiting.packet, DropReason::Expired);
            return None;
        }
        if let Some(aqm) = &mut self.config.aqm {
            let view = QueueView {
                now,
                packets: self.waiting.len(),
                bytes: self.bytes,
                ecn: waiting.packet.ecn,
                span: now.since(waiting.joined),
                flow: waiting.packet.ledger() as u64,
            };
            match aqm.leaves(view) {
                AqmVerdict::Pass => {}
                AqmVerdict::Mark => mark(cx, &mut waiting.packet),
                AqmVerdict::Drop => {
                    cx.drop(waiting.packet, DropReason::Early);
                    return None;
                }
            }
        }
        Some(waiting)
    }

    fn flush(&mut self, cx: &mut Cx<'_>, which: &dyn Fn(&Cx<'_>, &Packet) -> bool) -> usize {
        let (mut at, mut gone) = (0, 0);
        while let Some(waiting) = self.waiting.get(at) {
            if which(cx, &waiting.packet) {
                gone += usize::from(self.drop_at(cx, at, DropReason::Flushed));
            } else {
                at += 1;
            }
        }
        gone
    }
}

/// Sets the CE codepoint of a packet.
pub fn mark(cx: &mut Cx<'_>, packet: &mut Packet) {
    //= RFC 3168 section 5: the CE codepoint is '11'
    packet.ecn = 3;
    let (id, now) = (packet.id, cx.now());
    cx.record(Category::Path, now, || Event::Marked { packet: id });
}
