//! Packet classifier and priority scheduler with weights.
//!
//! Packets are told apart by a list of rules and wait in a queue for each (catalogue SW-47); without rules there is
//! one queue, for all (SW-48). Of the queues with something in them the one with the smallest priority is served;
//! those of one priority share by weight, with deficit round robin (Shreedhar and Varghese, "Efficient Fair Queuing
//! Using Deficit Round Robin", 1995). A class may bound its wait: once it has waited so long for its turn, it goes next
//! whatever priorities and weights say.

use super::policer::Policer;
use crate::element::Cx;
use crate::qdisc::{Qdisc as _, Queue, Waiting};
use base::packet::{DropReason, Flags, Packet};
use base::{Span, Time};

/// What kind of packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It carries data.
    Data,
    /// It only acknowledges.
    Ack,
    /// It opens or ends a connection and carries no data.
    Control,
    /// It is background load.
    Background,
}

/// Which packets belong to a class: those for which everything given holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rule {
    /// By ledger, two a flow: those that belong to it.
    pub ledgers: Option<Vec<bool>>,
    /// Service class of the head (of IP, the DSCP): from, to.
    pub service: Option<(u8, u8)>,
    /// Bytes on the wire: from, to.
    pub size: Option<(u32, u32)>,
    /// What they carry.
    pub kind: Option<Kind>,
}

impl Rule {
    /// Whether a packet belongs.
    pub fn holds(&self, packet: &Packet) -> bool {
        let within = |range: Option<(u32, u32)>, x: u32| range.is_none_or(|(a, b)| (a..=b).contains(&x));
        self.ledgers.as_ref().is_none_or(|of| of.get(packet.ledger()) == Some(&true))
            && within(self.service.map(|(a, b)| (u32::from(a), u32::from(b))), u32::from(packet.class))
            && within(self.size, packet.size)
            && self.kind.is_none_or(|kind| kind == Kind::of(packet.flags))
    }
}

impl Kind {
    fn of(flags: Flags) -> Kind {
        if flags.has(Flags::VIRTUAL) {
            Kind::Background
        } else if flags.has(Flags::DATA) {
            Kind::Data
        } else if [Flags::SYN, Flags::FIN, Flags::RST].into_iter().any(|f| flags.has(f)) {
            Kind::Control
        } else {
            Kind::Ack
        }
    }
}

/// A class of packets.
#[derive(Debug, Default)]
pub struct ClassConfig {
    /// Which packets; one that fits several belongs to the first.
    pub rule: Rule,
    /// Smaller goes first.
    pub priority: u32,
    /// Its share among those of the same priority.
    pub weight: u32,
    /// What waits.
    pub queue: Queue,
    /// What exceeds a rate is dropped.
    pub police: Option<Policer>,
    /// The longest time between two of its turns while it has something to send; none: any.
    pub turn_within: Option<Span>,
}

struct Class {
    rule: Rule,
    priority: u32,
    weight: u32,
    queue: Queue,
    police: Option<Policer>,
    turn_within: Option<Span>,
    /// Since when it waits for a turn: its last one, or when it got something to send.
    since: Time,
    /// Bytes it may still send in this round.
    deficit: u64,
}

/// The input queues of a link. A packet that fits no rule goes to the last one.
pub(crate) struct Classes {
    classes: Vec<Class>,
    /// Indexes by priority; those of one priority side by side.
    order: Vec<usize>,
    /// Where in `order` the round of each priority stands, at the place where that priority begins.
    turns: Vec<Option<usize>>,
    packets: usize,
    /// What a weight of 1 may send in a round: the largest packet seen, so that one packet always fits.
    quantum: u64,
    expire: bool,
    /// Some class bounds its wait, and the one whose bound is over.
    bounded: bool,
    overdue: Option<usize>,
}

impl Classes {
    pub(crate) fn new(configs: Vec<ClassConfig>) -> Self {
        let mut order: Vec<usize> = (0..configs.len()).collect();
        order.sort_by_key(|&i| configs[i].priority);
        let expire = configs.iter().any(|c| c.queue.has_stay());
        let class = |c: ClassConfig| Class {
            rule: c.rule,
            priority: c.priority,
            weight: c.weight.max(1),
            queue: c.queue,
            police: c.police,
            turn_within: c.turn_within,
            since: Time::ZERO,
            deficit: 0,
        };
        let bounded = configs.iter().any(|c| c.turn_within.is_some());
        let classes: Vec<Class> = configs.into_iter().map(class).collect();
        let turns = vec![None; order.len()];
        Classes { classes, order, turns, packets: 0, quantum: 1, expire, bounded, overdue: None }
    }

    /// Packets that wait.
    pub(crate) fn len(&self) -> usize {
        self.packets
    }

    /// Packets that wait and are no background load.
    pub(crate) fn real(&self) -> usize {
        self.classes.iter().map(|c| c.queue.real()).sum()
    }

    /// A packet comes; see [`Queue::join`].
    pub(crate) fn join(&mut self, cx: &mut Cx<'_>, packet: Packet, idle: Span, at_once: bool) {
        self.quantum = self.quantum.max(u64::from(packet.size));
        let fits = |class: &Class| class.rule.holds(&packet);
        let last = self.classes.len() - 1;
        let i = if last == 0 { 0 } else { self.classes.iter().position(fits).unwrap_or(last) };
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
    }

    /// When the next packet has waited too long.
    pub(crate) fn expires(&self) -> Time {
        if !self.expire {
            return Time::NEVER;
        }
        self.classes.iter().map(|c| c.queue.expires()).min().unwrap_or(Time::NEVER)
    }

    /// Drops what has waited too long.
    pub(crate) fn expire(&mut self, cx: &mut Cx<'_>) {
        if self.expire {
            for class in &mut self.classes {
                self.packets -= class.queue.expire(cx);
            }
        }
    }

    /// The next packet, left where it is. The same until it is taken or another comes.
    pub(crate) fn head(&mut self) -> Option<&Packet> {
        let i = self.next()?;
        self.classes[i].queue.head()
    }

    /// Takes the next packet. None are left only if [`Classes::len`] says so: it may have been dropped in place of
    /// taken.
    pub(crate) fn take(&mut self, cx: &mut Cx<'_>) -> Option<Waiting> {
        let i = self.next()?;
        let class = &mut self.classes[i];
        let taken = class.queue.take(cx);
        self.packets -= 1;
        if class.queue.len() == 0 {
            class.deficit = 0;
        } else if let Some(waiting) = &taken {
            class.deficit = class.deficit.saturating_sub(u64::from(waiting.packet.size));
        }
        if self.bounded {
            self.classes[i].since = cx.now();
            self.overdue = self.overdue_at(cx.now());
        }
        taken
    }

    /// The class that has waited longest beyond its bound.
    fn overdue_at(&self, now: Time) -> Option<usize> {
        let by = |i: &usize| {
            let class = &self.classes[*i];
            let within = class.turn_within.filter(|_| class.queue.len() > 0)?;
            let waited = now.since(class.since);
            (waited >= within).then(|| waited - within)
        };
        (0..self.classes.len()).filter(|i| by(i).is_some()).max_by_key(|i| (by(i), usize::MAX - i))
    }

    /// Which class is served next.
    fn next(&mut self) -> Option<usize> {
        if self.packets == 0 {
            return None;
        }
        if self.classes.len() == 1 {
            return Some(0);
        }
        if let Some(i) = self.overdue.filter(|i| self.classes[*i].queue.len() > 0) {
            return Some(i);
        }
        let first = self.order.iter().position(|&i| self.classes[i].queue.len() > 0)?;
        let priority = self.classes[self.order[first]].priority;
        let group = |o: usize| self.order.get(o).is_some_and(|&i| self.classes[i].priority == priority);
        let begin = (0..=first).find(|&o| group(o))?;
        let end = (first..=self.order.len()).find(|&o| !group(o))?;
        if end - begin == 1 {
            return Some(self.order[first]);
        }
        let mut at = self.turns[begin];
        let mut fresh = at.is_none();
        // Every round gives the largest packet's worth to each that waits, so the second one finds somebody.
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

    /// Drops the packets for which `which` holds.
    pub(crate) fn flush(&mut self, cx: &mut Cx<'_>, which: &dyn Fn(&Cx<'_>, &Packet) -> bool) {
        for class in &mut self.classes {
            self.packets -= class.queue.flush(cx, which);
        }
    }
}
