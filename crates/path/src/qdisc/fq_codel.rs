//! FQ-CoDel (RFC 8290): flow queues served by deficit round robin, each managed by CoDel.
//!
//! Packets are hashed by connection into a fixed number of queues. Newly active queues are served before the
//! others, so that sparse flows do not wait behind bulk transfers. When the total limit is reached, the head
//! of the queue with most bytes is dropped, one packet at a time (section 4.1.3). Linux drops up to 64 packets
//! at a time, for speed.

use super::codel::CoDel;
use super::fifo::mark;
use super::{Aqm as _, Discipline, ECN, Qdisc, Queue, QueueSpec, Room, QueueSite, AqmVerdict, QueueView, Waiting, room};
use crate::element::Cx;
use base::event::{Category, Event};
use base::packet::{DropReason, Flags, Packet};
use base::shape::{ValueKind, Need, Shape, TableShape, Values, Variant, field, table};
use base::Span;
use std::collections::VecDeque;

static TABLE: TableShape = table(
    "fq-codel",
    "FQ-CoDel (RFC 8290): a queue for each connection, served by deficit round robin and managed by CoDel; those that \
     have just become busy go first.",
    &[
        field(
            "flows",
            Shape::One(ValueKind::Count(1, 65_536)),
            Need::Default("1024"),
            "Queues, among which connections are spread by a hash.",
        ),
        field(
            "quantum",
            Shape::One(ValueKind::Bytes),
            Need::Default("\"1514 B\""),
            "Bytes that a queue may send in a round.",
        ),
        field("target", Shape::One(ValueKind::Span), Need::Default("\"5 ms\""), "Target sojourn time."),
        field("interval", Shape::One(ValueKind::Span), Need::Default("\"100 ms\""), "A long round trip."),
        ECN,
        field(
            "limit",
            Shape::One(ValueKind::Limits),
            Need::Default("\"10240 packets\""),
            "Limit of all queues together.",
        ),
    ],
);

/// Parameters of RFC 8290 section 5.2.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Number of queues.
    pub flows: u32,
    /// Bytes that a queue may send per round.
    pub quantum: u32,
    /// Acceptable sojourn time.
    pub target: Span,
    /// Upper bound of the usual RTT.
    pub interval: Span,
    /// ECN-capable packets are marked instead of dropped.
    pub ecn: bool,
    /// Limit of all queues together.
    pub limit: Room,
}

impl Discipline for Options {
    const VARIANT: Variant = Variant {
        name: "fq-codel",
        doc: "A queue for each connection, managed by CoDel.",
        shape: Shape::Table(&TABLE),
        bare: true,
    };

    fn read(values: &dyn Values) -> Option<QueueSpec> {
        Some(QueueSpec::FqCoDel(Options {
            flows: u32::try_from(values.count("flows")?).ok()?,
            quantum: u32::try_from(values.bytes("quantum")?).ok()?.max(1),
            target: values.span("target")?,
            interval: values.span("interval")?,
            ecn: values.flag("ecn")?,
            limit: room(values, "limit")?,
        }))
    }

    fn limit(&self) -> Room {
        self.limit
    }

    fn words(&self) -> String {
        let Options { flows, limit, target, interval, .. } = self;
        format!("FQ-CoDel of {flows} queues, {limit}, {target} for {interval}")
    }

    fn queue(&self, site: &QueueSite<'_>) -> Queue {
        Queue::Other(Box::new(FqCoDel::new(*self, site.stream("fq-codel").bits())))
    }
}

/// List of active queues that contains a queue; `None` for an inactive queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum List {
    None,
    New,
    Old,
}

#[derive(Clone, Debug)]
struct FlowQueue {
    waiting: VecDeque<Waiting>,
    bytes: u64,
    codel: CoDel,
    /// Bytes that the queue may still send in this round; negative after a packet larger than these bytes.
    credits: i64,
    list: List,
}

/// FQ-CoDel: all flow queues of a packet class.
#[derive(Debug)]
pub struct FqCoDel {
    config: Options,
    /// Key of the hash, so that a sender cannot choose its queue.
    perturbation: u64,
    queues: Vec<FlowQueue>,
    /// Numbers of the new queues, in order of service (RFC 8290 section 4).
    new: VecDeque<u32>,
    /// Numbers of the old queues, in order of service.
    old: VecDeque<u32>,
    packets: usize,
    bytes: u64,
    /// Backlog without background load, packets.
    real: usize,
}

impl FqCoDel {
    /// Empty queues; `perturbation` is the key of the hash.
    pub fn new(config: Options, perturbation: u64) -> Self {
        let queue = FlowQueue {
            waiting: VecDeque::new(),
            bytes: 0,
            codel: CoDel::new(config.target, config.interval, config.ecn),
            credits: 0,
            list: List::None,
        };
        FqCoDel {
            config,
            perturbation,
            queues: vec![queue; config.flows.max(1) as usize],
            new: VecDeque::new(),
            old: VecDeque::new(),
            packets: 0,
            bytes: 0,
            real: 0,
        }
    }

    /// Index of a packet's queue, by flow, direction and connection.
    fn index(&self, cx: &Cx<'_>, packet: &Packet) -> u32 {
        let key = (packet.ledger() as u64) << 32 ^ cx.connection(packet) ^ self.perturbation;
        // Finaliser of SplitMix64, which spreads neighbouring numbers.
        let mut x = key.wrapping_add(0x9e37_79b9_7f4a_7c15);
        x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((x ^ x >> 31) % self.queues.len() as u64) as u32
    }

    /// Subtracts a packet removed from queue `i` from the backlog.
    fn left(&mut self, i: u32, packet: &Packet) {
        self.packets -= 1;
        self.bytes -= u64::from(packet.size);
        self.queues[i as usize].bytes -= u64::from(packet.size);
        self.real -= usize::from(!packet.flags.has(Flags::VIRTUAL));
    }

    /// Drops the head of the queue with most bytes; false if all queues are empty.
    fn drop_from_fattest(&mut self, cx: &mut Cx<'_>) -> bool {
        let bytes = |i: &u32| self.queues[*i as usize].bytes;
        let busy = self.new.iter().chain(&self.old).copied();
        // Of queues with equal bytes, the first in order of service.
        let Some(i) = busy.rev().max_by_key(bytes) else { return false };
        let Some(waiting) = self.queues[i as usize].waiting.pop_front() else { return false };
        self.left(i, &waiting.packet);
        cx.drop(waiting.packet, DropReason::QueueFull);
        true
    }

    //= RFC 8290 section 4.2: the first new queue, or the first old one; without credits it moves to the end
    // of the old ones
    /// Advances to the queue that is served next.
    fn advance(&mut self) -> Option<u32> {
        if self.packets == 0 {
            return None;
        }
        loop {
            let (list, i) = match (self.new.front(), self.old.front()) {
                (Some(i), _) => (List::New, *i),
                (None, Some(i)) => (List::Old, *i),
                (None, None) => return None,
            };
            let queue = &mut self.queues[i as usize];
            let empty = queue.waiting.is_empty();
            if queue.credits > 0 && !empty {
                return Some(i);
            }
            if list == List::New {
                self.new.pop_front()
            } else {
                self.old.pop_front()
            };
            if queue.credits <= 0 {
                queue.credits += i64::from(self.config.quantum);
            } else if list == List::Old {
                //= RFC 8290 section 4.2: an empty old queue is inactive
                queue.list = List::None;
                continue;
            }
            //= RFC 8290 section 4.2: an empty new queue becomes an old one, so that it cannot starve the others
            queue.list = List::Old;
            self.old.push_back(i);
        }
    }
}

impl Qdisc for FqCoDel {
    fn len(&self) -> usize {
        self.packets
    }

    fn real(&self) -> usize {
        self.real
    }

    fn head(&mut self) -> Option<&Packet> {
        let i = self.advance()?;
        self.queues[i as usize].waiting.front().map(|w| &w.packet)
    }

    fn join(&mut self, cx: &mut Cx<'_>, packet: Packet, _idle: Span, at_once: bool) -> usize {
        let mut gone = 0;
        while !at_once && !self.config.limit.takes(self.packets, self.bytes, packet.size) {
            if !self.drop_from_fattest(cx) {
                cx.drop(packet, DropReason::QueueFull);
                return gone + 1;
            }
            gone += 1;
        }
        let (i, waiting) = (self.index(cx, &packet), self.packets as u32);
        let queue = &mut self.queues[i as usize];
        queue.bytes += u64::from(packet.size);
        queue.waiting.push_back(Waiting { packet, joined: cx.now() });
        if queue.list == List::None {
            //= RFC 8290 section 4.1: a queue that is not active joins the new ones with a quantum of credits
            (queue.list, queue.credits) = (List::New, i64::from(self.config.quantum));
            self.new.push_back(i);
        }
        self.packets += 1;
        self.bytes += u64::from(packet.size);
        self.real += usize::from(!packet.flags.has(Flags::VIRTUAL));
        cx.record(Category::Path, cx.now(), || Event::Enqueued {
            packet: packet.id,
            size: packet.size,
            waiting,
        });
        gone
    }

    fn take(&mut self, cx: &mut Cx<'_>) -> Option<Waiting> {
        let i = self.advance()?;
        let mut waiting = self.queues[i as usize].waiting.pop_front()?;
        self.left(i, &waiting.packet);
        let now = cx.now();
        let queue = &mut self.queues[i as usize];
        let view = QueueView {
            now,
            packets: queue.waiting.len(),
            bytes: queue.bytes,
            ecn: waiting.packet.ecn,
            span: now.since(waiting.joined),
            ..QueueView::default()
        };
        match queue.codel.leaves(view) {
            AqmVerdict::Pass => {}
            AqmVerdict::Mark => mark(cx, &mut waiting.packet),
            AqmVerdict::Drop => {
                cx.drop(waiting.packet, DropReason::Early);
                return None;
            }
        }
        queue.credits -= i64::from(waiting.packet.size);
        Some(waiting)
    }

    fn flush(&mut self, cx: &mut Cx<'_>, which: &dyn Fn(&Cx<'_>, &Packet) -> bool) -> usize {
        let before = self.packets;
        for i in 0..self.queues.len() as u32 {
            let mut at = 0;
            while let Some(waiting) = self.queues[i as usize].waiting.get(at).copied() {
                if !which(cx, &waiting.packet) {
                    at += 1;
                    continue;
                }
                self.queues[i as usize].waiting.remove(at);
                self.left(i, &waiting.packet);
                cx.drop(waiting.packet, DropReason::Flushed);
            }
        }
        before - self.packets
    }
}
