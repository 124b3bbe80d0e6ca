//! ATP receiver: units put together, SACK vectors, acknowledgement frequency, reports for TFRC.

use crate::packet::{Atp, Content, Vector};
use base::{Span, Time};
use dccp::tfrc::{Arrival, Receiver as Reports};
use std::collections::{BTreeMap, VecDeque};
use transport::app::message::{MessageEvent, MessageId};

/// A unit in assembly.
#[derive(Clone, Debug)]
struct Assembly {
    vector: Vector,
    bytes: u64,
    length: u64,
    deadline: Time,
    began: Time,
}

/// Transmission that an acknowledgement answers.
#[derive(Clone, Copy, Debug)]
struct Pending {
    adu: MessageId,
    echo: (u64, Time),
    arrived: Time,
}

/// Configuration of a receiver.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ReceiverConfig {
    pub(crate) ack_every: u32,
    pub(crate) ack_delay: Span,
    pub(crate) tfrc: bool,
    pub(crate) header: u32,
    /// Processing rate of the receiver, bytes per second; none: unlimited.
    pub(crate) processes: Option<u64>,
    pub(crate) buffer: u64,
}

/// Receiving half of an ATP flow.
#[derive(Clone, Debug)]
pub(crate) struct Receiver {
    config: ReceiverConfig,
    assembling: BTreeMap<MessageId, Assembly>,
    /// Complete or abandoned units, kept to recognise late fragments.
    done: BTreeMap<MessageId, (u32, bool)>,
    reports: Reports,
    pending: Option<Pending>,
    unacked: u32,
    ack_at: Time,
    /// A unit was completed since the last acknowledgement.
    finished: bool,
    expired: bool,
    marked: bool,
    /// Bytes that wait to be processed, and when that was counted.
    backlog: (f64, Time),
    rtt: Span,
    events: VecDeque<MessageEvent>,
    position: u64,
    pub(crate) bytes: u64,
    pub(crate) fragments: u64,
    pub(crate) late: u64,
    pub(crate) duplicates: u64,
    pub(crate) whole: u64,
    pub(crate) whole_in_time: u64,
}

/// Most complete or abandoned units that are remembered.
const REMEMBERED: usize = 64;
/// Most units in assembly at once; the oldest are discarded.
const ASSEMBLING: usize = 64;
/// Backlog of processing, seconds, above which the receiver requests a lower rate.
const BACKLOG_S: f64 = 0.5;

impl Receiver {
    pub(crate) fn new(config: ReceiverConfig) -> Self {
        Receiver {
            config,
            assembling: BTreeMap::new(),
            done: BTreeMap::new(),
            reports: Reports::new(true),
            pending: None,
            unacked: 0,
            ack_at: Time::NEVER,
            finished: false,
            expired: false,
            marked: false,
            backlog: (0.0, Time::ZERO),
            rtt: Span::ZERO,
            events: VecDeque::new(),
            position: 0,
            bytes: 0,
            fragments: 0,
            late: 0,
            duplicates: 0,
            whole: 0,
            whole_in_time: 0,
        }
    }

    /// A fragment arrived; `stub`: its headers alone.
    pub(crate) fn on_fragment(&mut self, now: Time, packet: &Atp, stub: bool, marked: bool, expired: bool) {
        let Content::Fragment { number, bytes, tx, sent, rtt, offset, .. } = packet.content else { return };
        self.expired |= expired;
        self.marked |= marked;
        if !rtt.is_zero() {
            self.rtt = rtt;
        }
        let adu = packet.adu;
        let began = packet.length <= self.config.buffer && !self.done.contains_key(&adu);
        if began && !stub {
            let new = Assembly {
                vector: Vector::new(packet.fragments),
                bytes: 0,
                length: packet.length,
                deadline: packet.deadline,
                began: now,
            };
            let assembly = self.assembling.entry(adu).or_insert(new);
            if assembly.vector.set(number) {
                self.fragments += 1;
                self.bytes += u64::from(bytes);
                self.late += u64::from(packet.deadline < now);
                self.position = self.position.max(offset.saturating_add(u64::from(bytes)));
                assembly.bytes += u64::from(bytes);
                self.finish(now, adu);
            } else {
                self.duplicates += 1;
            }
        } else if !stub {
            self.duplicates += 1;
        }
        self.process(now, bytes);
        if self.config.tfrc {
            // Packets that a router reports as expired are no sign of congestion: the gap before them is closed.
            let size = bytes + self.config.header;
            let arrival = Arrival { seq: tx, marked, forgive: expired, ..Arrival::default() };
            self.reports.on_arrival(now, arrival, size, sent, self.rtt);
            self.ack_at = if self.finished { now } else { self.reports.next_timeout() };
        } else {
            self.unacked += 1;
            let done = self.done.contains_key(&adu);
            let at = if done || expired || self.unacked >= self.config.ack_every {
                now
            } else {
                now + self.config.ack_delay
            };
            self.ack_at = self.ack_at.min(at);
        }
        self.pending = Some(Pending { adu, echo: (tx, sent), arrived: now });
        while self.assembling.len() > ASSEMBLING {
            self.assembling.pop_first();
        }
    }

    fn process(&mut self, now: Time, bytes: u32) {
        let Some(rate) = self.config.processes else { return };
        let (waiting, since) = self.backlog;
        let done = rate as f64 * now.since(since).as_secs_f64();
        self.backlog = ((waiting - done).max(0.0) + f64::from(bytes), now);
        // Paper III.B: a receiver that cannot follow sets CE in place of closing a window
        if self.backlog.0 > BACKLOG_S * rate as f64 {
            self.marked = true;
        }
    }

    fn finish(&mut self, now: Time, adu: MessageId) {
        let Some(assembly) = self.assembling.get(&adu).filter(|a| a.vector.is_full()) else { return };
        let (fragments, length, in_time) = (assembly.vector.len(), assembly.length, now <= assembly.deadline);
        self.assembling.remove(&adu);
        self.remember(adu, fragments, true);
        self.whole += 1;
        self.finished = true;
        self.whole_in_time += u64::from(in_time);
        // A unit that is late is of no use to the application and is discarded.
        if in_time {
            self.events.push_back(MessageEvent::Received {
                stream: 0,
                message: Some(adu),
                bytes: length,
                unordered: true,
            });
        }
    }

    fn remember(&mut self, adu: MessageId, fragments: u32, whole: bool) {
        self.done.insert(adu, (fragments, whole));
        while self.done.len() > REMEMBERED {
            self.done.pop_first();
        }
    }

    /// Discards a unit that the sender or this endpoint abandoned.
    pub(crate) fn abandon(&mut self, adu: MessageId) {
        if let Some(assembly) = self.assembling.remove(&adu) {
            self.remember(adu, assembly.vector.len(), false);
        }
    }

    /// Units that have been in assembly for at least `patience`. Units past their deadline are discarded.
    pub(crate) fn impatient(&mut self, now: Time, patience: Option<Span>) -> Vec<MessageId> {
        self.assembling.retain(|_, a| a.deadline >= now);
        let tired = |a: &Assembly| patience.is_some_and(|p| a.began + p <= now);
        self.assembling.iter().filter(|(_, a)| tired(a)).map(|(adu, _)| *adu).collect()
    }

    /// Earliest time at which a unit has been in assembly for `patience`.
    pub(crate) fn next_impatience(&self, patience: Option<Span>) -> Time {
        let Some(patience) = patience else { return Time::NEVER };
        self.assembling.values().map(|a| a.began + patience).min().unwrap_or(Time::NEVER)
    }

    /// Time of the next acknowledgement.
    pub(crate) fn next_timeout(&self) -> Time {
        if self.pending.is_some() { self.ack_at } else { Time::NEVER }
    }

    /// The acknowledgement that is due now: unit and content.
    pub(crate) fn ack(&mut self, now: Time, deadline: Option<Span>) -> Option<(MessageId, Content)> {
        if self.next_timeout() > now {
            return None;
        }
        let report = if self.config.tfrc {
            // A completed unit is acknowledged at once, with or without a TFRC report.
            let report = self.reports.report(now);
            self.ack_at = self.reports.next_timeout();
            if report.is_none() && !std::mem::take(&mut self.finished) {
                return None;
            }
            self.finished = false;
            report
        } else {
            self.ack_at = Time::NEVER;
            None
        };
        let pending = self.pending?;
        if !self.config.tfrc {
            self.pending = None;
        }
        self.unacked = 0;
        let vector = match (self.assembling.get(&pending.adu), self.done.get(&pending.adu)) {
            (Some(assembly), _) => assembly.vector.clone(),
            (None, Some(&(fragments, true))) => {
                let mut full = Vector::new(fragments);
                (0..fragments).for_each(|n| {
                    full.set(n);
                });
                full
            }
            _ => Vector::default(),
        };
        let (congested, expired) = (std::mem::take(&mut self.marked), std::mem::take(&mut self.expired));
        let echo = (pending.echo.0, pending.echo.1, now.since(pending.arrived));
        let deadline = deadline.map(|life| now + life);
        Some((pending.adu, Content::Ack { vector, echo, congested, expired, report, deadline }))
    }

    /// RTT reported by the sender.
    pub(crate) fn rtt(&self) -> Span {
        self.rtt
    }
    /// How far into the flow data have come.
    pub(crate) fn position(&self) -> u64 {
        self.position
    }
    pub(crate) fn has_events(&self) -> bool {
        !self.events.is_empty()
    }
    pub(crate) fn event(&mut self) -> Option<MessageEvent> {
        self.events.pop_front()
    }
}
