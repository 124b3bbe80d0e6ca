//! Packet classifier of a channel, and scheduler of its class queues by priority and weight.
//!
//! A list of rules classifies packets into queues (catalogue SW-47); without rules there is a single queue
//! (SW-48). The non-empty queue with the smallest priority number is served. Queues of equal priority share the
//! link by weight, with deficit round robin (Shreedhar and Varghese, "Efficient Fair Queuing Using Deficit Round
//! Robin", 1995). A class may have a maximum time without service; after it the class is served next, regardless
//! of priorities and weights.

use super::policer::Policer;
use crate::element::Cx;
use crate::qdisc::{Qdisc as _, Queue, Waiting};
use base::packet::{DropReason, Flags, Packet};
use base::{Span, Time};

/// Kind of packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketKind {
    /// Carries data.
    Data,
    /// Pure ACK.
    Ack,
    /// Opens or ends a connection, without data.
    Control,
    /// Background load.
    Background,
}

/// Match rule of a class: a packet must satisfy all conditions that are set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClassRule {
    /// Whether a ledger matches, by ledger number (two per flow).
    pub ledgers: Option<Vec<bool>>,
    /// Range of the service class (the DSCP of IP), bounds included.
    pub service: Option<(u8, u8)>,
    /// Range of the size on the wire, bytes, bounds included.
    pub size: Option<(u32, u32)>,
    /// Kind of packet.
    pub kind: Option<PacketKind>,
}

impl ClassRule {
    /// Whether the packet matches.
    #[inline]
    pub fn holds(&self, packet: &Packet) -> bool {
        let within = |range: Option<(u32, u32)>, x: u32| range.is_none_or(|(a, b)| (a..=b).contains(&x));
        self.ledgers.as_ref().is_none_or(|of| of.get(packet.ledger()) == Some(&true))
            && within(self.service.map(|(a, b)| (u32::from(a), u32::from(b))), u32::from(packet.class))
            && within(self.size, packet.size)
            && self.kind.is_none_or(|kind| kind == PacketKind::of(packet.flags))
    }
}

impl PacketKind {
    fn of(flags: Flags) -> PacketKind {
        if flags.has(Flags::VIRTUAL) {
            PacketKind::Background
        } else if flags.has(Flags::DATA) {
            PacketKind::Data
        } else if [Flags::SYN, Flags::FIN, Flags::RST].into_iter().any(|f| flags.has(f)) {
            PacketKind::Control
        } else {
            PacketKind::Ack
        }
    }
}

/// A class of packets.
#[derive(Debug, Default)]
pub struct ClassConfig {
    /// Match rule; a packet belongs to the first class that matches.
    pub rule: ClassRule,
    /// Priority; the smallest number is served first.
    pub priority: u32,
    /// Weight among classes of the same priority.
    pub weight: u32,
    /// Queue of the class.
    pub queue: Queue,
    /// Policer that drops traffic above its rate.
    pub police: Option<Policer>,
    /// Maximum time without service while packets wait; none: no maximum.
    pub turn_within: Option<Span>,
}

/// [`ClassRule`] with bounds in place of options.
struct Bounds {
    size: (u32, u32),
    service: (u8, u8),
    kind: Option<PacketKind>,
    ledgers: Option<Vec<bool>>,
}

impl Bounds {
    fn of(rule: ClassRule) -> Self {
        let ClassRule { ledgers, service, size, kind } = rule;
        Bounds {
            size: size.unwrap_or((0, u32::MAX)),
            service: service.unwrap_or((0, u8::MAX)),
            kind,
            ledgers,
        }
    }

    /// Whether size and service class are the only conditions.
    fn is_simple(&self) -> bool {
        self.kind.is_none() && self.ledgers.is_none()
    }

    /// Whether size and service class match.
    #[inline]
    fn hold_simply(&self, packet: &Packet) -> bool {
        (self.size.0..=self.size.1).contains(&packet.size)
            && (self.service.0..=self.service.1).contains(&packet.class)
    }

    /// [`ClassRule::holds`].
    fn hold(&self, packet: &Packet) -> bool {
        self.hold_simply(packet)
            && self.kind.is_none_or(|kind| kind == PacketKind::of(packet.flags))
            && self.ledgers.as_ref().is_none_or(|of| of.get(packet.ledger()) == Some(&true))
    }
}

struct Class {
    bounds: Bounds,
    /// Bit of the class in [`Classes::occupied`].
    bit: u64,
    weight: u32,
    queue: Queue,
    police: Option<Policer>,
    turn_within: Option<Span>,
    /// Start of the present time without service: the last departure, or the arrival at an empty queue.
    since: Time,
    /// Deficit: bytes that may still be sent in this round.
    deficit: u64,
}

/// Input queues of a link, by class. A packet that matches no rule joins the last one.
pub(crate) struct Classes {
    classes: Vec<Class>,
    /// Class indices in order of priority.
    order: Vec<usize>,
    /// For each position in `order`, the range of positions with the same priority, end excluded.
    groups: Vec<(usize, usize)>,
    /// Position in `order` of the class that the round robin of a priority serves; stored at the first position
    /// of that priority.
    turns: Vec<Option<usize>>,
    packets: usize,
    /// With different priorities and at most 64 classes: classes with waiting packets, a bit for each position in
    /// `order`.
    occupied: u64,
    /// Quantum of weight 1, bytes: the largest packet so far, so that each round permits one packet.
    quantum: u64,
    expire: bool,
    /// Whether the classes have different priorities, and no maximum time without service.
    is_strict: bool,
    /// Whether size and service class decide the class of a packet.
    is_simple: bool,
    /// Whether any class has a maximum time without service.
    bounded: bool,
    /// Class that has exceeded this maximum by most.
    overdue: Option<usize>,
}

impl Classes {
    pub(crate) fn new(configs: Vec<ClassConfig>) -> Self {
        let mut order: Vec<usize> = (0..configs.len()).collect();
        order.sort_by_key(|&i| configs[i].priority);
        let priority = |o: usize| configs[order[o]].priority;
        let groups = (0..order.len()).map(|o| {
            let begin = (0..o).find(|&before| priority(before) == priority(o)).unwrap_or(o);
            (begin, (o..order.len()).find(|&after| priority(after) != priority(o)).unwrap_or(order.len()))
        });
        let groups: Vec<(usize, usize)> = groups.collect();
        let expire = configs.iter().any(|c| c.queue.has_stay());
        let bits = |i: usize| {
            order.iter().position(|&of| of == i).map_or(0, |o| 1u64.checked_shl(o as u32).unwrap_or(0))
        };
        let bits: Vec<u64> = (0..configs.len()).map(bits).collect();
        let class = |(c, bit): (ClassConfig, u64)| Class {
            bounds: Bounds::of(c.rule),
            bit,
            weight: c.weight.max(1),
            queue: c.queue,
            police: c.police,
            turn_within: c.turn_within,
            since: Time::ZERO,
            deficit: 0,
        };
        let bounded = configs.iter().any(|c| c.turn_within.is_some());
        let classes: Vec<Class> = configs.into_iter().zip(bits).map(class).collect();
        let turns = vec![None; order.len()];
        let is_simple = classes.iter().all(|class| class.bounds.is_simple());
        let is_strict = !bounded && groups.iter().all(|(begin, end)| end - begin == 1);
        Classes {
            classes,
            order,
            groups,
            turns,
            packets: 0,
            occupied: 0,
            quantum: 1,
            expire,
            is_strict,
            is_simple,
            bounded,
            overdue: None,
        }
    }

    /// Whether the choice of the next packet depends on the queues alone, not on when it is made.
    pub(crate) fn is_strict(&self) -> bool {
        self.is_strict
    }

    /// Whether a queue may drop packets at its head, or chooses them by the time.
    pub(crate) fn drop_at_head(&self) -> bool {
        self.classes.iter().any(|class| class.queue.drops_at_head())
    }

    /// Whether any class has a maximum time without service.
    pub(crate) fn is_bounded(&self) -> bool {
        self.bounded
    }

    /// Backlog, packets.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.packets
    }

    /// Backlog without background load, packets.
    pub(crate) fn real(&self) -> usize {
        self.classes.iter().map(|c| c.queue.real()).sum()
    }

    /// Whether a packet that arrives at empty queues joins and leaves its queue unchanged. `at_once`: no limit applies.
    #[inline]
    pub(crate) fn passes(&mut self, packet: &Packet, at_once: bool) -> bool {
        self.quantum = self.quantum.max(u64::from(packet.size));
        let i = self.class_of(packet);
        let class = &self.classes[i];
        let Queue::Fifo(fifo) = &class.queue else { return false };
        class.police.is_none() && fifo.passes(packet.size, at_once)
    }

    /// Class of a packet.
    #[inline]
    fn class_of(&self, packet: &Packet) -> usize {
        if !self.is_simple {
            return self.class_by_kind(packet);
        }
        let Some((_, others)) = self.classes.split_last() else { return 0 };
        others.iter().position(|class| class.bounds.hold_simply(packet)).unwrap_or(others.len())
    }

    /// The general case of [`Classes::class_of`].
    #[inline(never)]
    fn class_by_kind(&self, packet: &Packet) -> usize {
        let Some((_, others)) = self.classes.split_last() else { return 0 };
        others.iter().position(|class| class.bounds.hold(packet)).unwrap_or(others.len())
    }

    /// Updates `occupied` for a class.
    #[inline]
    fn note(&mut self, i: usize) {
        let Class { bit, queue, .. } = &self.classes[i];
        self.occupied = if queue.is_empty() { self.occupied & !bit } else { self.occupied | bit };
    }

    /// Enqueues a packet at a queue with drop-tail only; false, without an effect, in all other cases.
    #[inline]
    pub(crate) fn append(&mut self, now: Time, packet: &Packet) -> bool {
        let i = self.class_of(packet);
        let Class { queue: Queue::Fifo(fifo), police: None, bit, .. } = &mut self.classes[i] else {
            return false;
        };
        if self.bounded || !fifo.append(now, packet) {
            return false;
        }
        self.quantum = self.quantum.max(u64::from(packet.size));
        self.packets += 1;
        self.occupied |= *bit;
        true
    }

    /// Enqueues a packet; see [`Queue::join`].
    pub(crate) fn join(&mut self, cx: &mut Cx<'_>, packet: Packet, idle: Span, at_once: bool) {
        self.quantum = self.quantum.max(u64::from(packet.size));
        let i = self.class_of(&packet);
        let (now, size) = (cx.now(), packet.size);
        if self.classes[i].police.as_mut().is_some_and(|police| !police.conforms(now, size)) {
            cx.drop(packet, DropReason::Early);
            return;
        }
        if self.classes[i].queue.len() == 0 {
            self.classes[i].since = now;
        }
        self.packets += 1;
        self.packets -= self.classes[i].queue.join(cx, packet, idle, at_once);
        self.note(i);
    }

    /// Whether packets have a maximum sojourn time.
    #[inline]
    pub(crate) fn may_expire(&self) -> bool {
        self.expire
    }

    /// Time at which the next packet reaches its maximum sojourn time.
    pub(crate) fn expires(&self) -> Time {
        if !self.expire {
            return Time::NEVER;
        }
        self.classes.iter().map(|c| c.queue.expires()).min().unwrap_or(Time::NEVER)
    }

    /// Drops packets beyond their maximum sojourn time.
    pub(crate) fn expire(&mut self, cx: &mut Cx<'_>) {
        if self.expire {
            for class in &mut self.classes {
                self.packets -= class.queue.expire(cx);
            }
            self.note_all();
        }
    }

    /// The next packet, without removing it. The answer does not change until a packet is taken or arrives.
    pub(crate) fn head(&mut self) -> Option<&Packet> {
        let i = self.next()?;
        self.classes[i].queue.head()
    }

    /// Removes the next packet from a queue where that has no other effect: one that arrived by `since`, or before `now`.
    /// None, without an effect, in all other cases.
    #[inline(always)] // into the start of a packet, where it stays in registers
    pub(crate) fn take_plain(&mut self, since: Time, now: Time) -> Option<Waiting> {
        if !self.is_strict || self.classes.len() > 64 {
            return None;
        }
        let mut bits = self.occupied;
        while bits > 0 {
            let i = self.order[bits.trailing_zeros() as usize];
            let Class { bit, queue: Queue::Fifo(fifo), .. } = &mut self.classes[i] else { return None };
            if !fifo.is_plain() {
                return None;
            }
            if fifo.arrived(since, now)
                && let Some(waiting) = fifo.pop()
            {
                self.packets -= 1;
                if fifo.is_empty() {
                    self.occupied &= !*bit;
                }
                return Some(waiting);
            }
            bits &= bits - 1;
        }
        None
    }

    /// Bytes waiting in FIFO queues.
    #[inline]
    pub(crate) fn bytes(&self) -> u64 {
        let bytes = |class: &Class| if let Queue::Fifo(fifo) = &class.queue { fifo.bytes() } else { 0 };
        self.classes.iter().map(bytes).sum()
    }

    /// Removes and returns the next packet. `None` does not mean that the queues are empty ([`Classes::len`]): AQM
    /// or a deadline may have dropped the packet.
    #[inline]
    pub(crate) fn take(&mut self, cx: &mut Cx<'_>) -> Option<Waiting> {
        let i = self.next()?;
        let class = &mut self.classes[i];
        let taken = match &mut class.queue {
            Queue::Fifo(fifo) if fifo.is_plain() => fifo.pop(),
            queue => queue.take(cx),
        };
        self.packets -= 1;
        if class.queue.len() == 0 {
            class.deficit = 0;
            self.occupied &= !class.bit;
        } else if let Some(waiting) = &taken {
            class.deficit = class.deficit.saturating_sub(u64::from(waiting.packet.size));
        }
        if self.bounded {
            self.classes[i].since = cx.now();
            self.overdue = self.overdue_at(cx.now());
        }
        taken
    }

    /// The class that exceeds its maximum time without service by most.
    fn overdue_at(&self, now: Time) -> Option<usize> {
        let by = |i: &usize| {
            let class = &self.classes[*i];
            let within = class.turn_within.filter(|_| class.queue.len() > 0)?;
            let waited = now.since(class.since);
            (waited >= within).then(|| waited - within)
        };
        (0..self.classes.len()).filter(|i| by(i).is_some()).max_by_key(|i| (by(i), usize::MAX - i))
    }

    /// Class that is served next.
    fn next(&mut self) -> Option<usize> {
        if self.packets == 0 {
            return None;
        }
        if self.classes.len() == 1 {
            return Some(0);
        }
        if self.is_strict {
            if self.occupied > 0 && self.classes.len() <= 64 {
                return Some(self.order[self.occupied.trailing_zeros() as usize]);
            }
            return self.order.iter().copied().find(|&i| !self.classes[i].queue.is_empty());
        }
        if let Some(i) = self.overdue.filter(|i| self.classes[*i].queue.len() > 0) {
            return Some(i);
        }
        let first = self.order.iter().position(|&i| self.classes[i].queue.len() > 0)?;
        let (begin, end) = self.groups[first];
        if end - begin == 1 {
            return Some(self.order[first]);
        }
        let mut at = self.turns[begin];
        let mut fresh = at.is_none();
        // Each round adds at least the size of the largest packet to the deficit of every waiting class, so the loop
        // ends in the second round.
        loop {
            let o = at.unwrap_or(first);
            let i = self.order[o];
            let class = &mut self.classes[i];
            if let Some(head) = class.queue.head() {
                if fresh {
                    class.deficit += self.quantum * u64::from(class.weight);
                }
                if u64::from(head.size) <= class.deficit {
                    self.turns[begin] = Some(o);
                    return Some(i);
                }
            }
            at = Some(if o + 1 < end { o + 1 } else { begin });
            fresh = true;
        }
    }

    /// Drops the packets selected by `which`.
    pub(crate) fn flush(&mut self, cx: &mut Cx<'_>, which: &dyn Fn(&Cx<'_>, &Packet) -> bool) {
        for class in &mut self.classes {
            self.packets -= class.queue.flush(cx, which);
        }
        self.note_all();
    }

    fn note_all(&mut self) {
        (0..self.classes.len()).for_each(|i| self.note(i));
    }
}
