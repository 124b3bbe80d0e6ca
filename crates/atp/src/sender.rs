//! ATP sender (Gurtov and Ludwig, III.A, III.B): fragmentation of ADUs, selective retransmission within lifetimes,
//! feasibility check.

mod unit;

use crate::packet::Vector;
use base::truth::Cause;
use base::{Span, Time};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use transport::app::message::{Message, MessageEvent, MessageId};
use unit::{Adu, Standing};

/// A fragment counts as lost if a transmission at least this much later is acknowledged, as in FACK.
const LATER: u64 = 3;

/// A fragment to be sent now.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Next {
    pub(crate) adu: MessageId,
    pub(crate) length: u64,
    pub(crate) fragments: u32,
    pub(crate) number: u32,
    pub(crate) bytes: u32,
    pub(crate) offset: u64,
    pub(crate) cause: Cause,
    pub(crate) deadline: Time,
    /// Creation time of the unit.
    pub(crate) made: Time,
    pub(crate) whole: bool,
}

#[derive(Clone, Copy, Debug)]
struct Flying {
    tx: u64,
    adu: MessageId,
    number: u32,
}

/// Result of an acknowledgement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Acked {
    pub(crate) fresh: u32,
    pub(crate) lost: u32,
    /// Acknowledged fragments of units that had been abandoned before.
    pub(crate) given_up: u32,
}

/// Sending half of an ATP flow.
#[derive(Clone, Debug)]
pub(crate) struct Sender {
    payload: u32,
    /// Units by ascending number.
    units: VecDeque<Adu>,
    /// Units of which a fragment waits to be sent.
    waiting: BTreeSet<MessageId>,
    /// Expiry times of units that have one.
    deadlines: BTreeSet<(Time, MessageId)>,
    /// Units of which the fate of all fragments is known, before [`Sender::settle`] reports them.
    settled: BTreeSet<MessageId>,
    /// Fragments in flight of all units.
    outstanding: u32,
    /// Bytes of all units that are not yet acknowledged.
    left: u64,
    /// A unit was written that has a lifetime, or the receiver has set one.
    limited: bool,
    flying: VecDeque<Flying>,
    next_id: MessageId,
    next_tx: u64,
    /// Highest transmission acknowledged.
    highest: u64,
    written: u64,
    closed: bool,
    events: VecDeque<MessageEvent>,
    acked_bytes: u64,
    /// Outstanding fragments of abandoned units.
    left_behind: u32,
    pub(crate) sent: u64,
    pub(crate) resent: u64,
    pub(crate) infeasible: u64,
    pub(crate) expired: u64,
}

impl Sender {
    pub(crate) fn new(payload: u32) -> Self {
        Sender {
            payload: payload.max(1),
            units: VecDeque::new(),
            waiting: BTreeSet::new(),
            deadlines: BTreeSet::new(),
            settled: BTreeSet::new(),
            outstanding: 0,
            left: 0,
            limited: false,
            flying: VecDeque::new(),
            next_id: 0,
            next_tx: 1,
            highest: 0,
            written: 0,
            closed: false,
            events: VecDeque::new(),
            acked_bytes: 0,
            left_behind: 0,
            sent: 0,
            resent: 0,
            infeasible: 0,
            expired: 0,
        }
    }

    /// Queues a unit and returns its number. A unit beyond the receiver's `buffer` is refused at once, as is any after closing.
    pub(crate) fn queue(&mut self, message: Message, buffer: u64) -> MessageId {
        let id = self.next_id;
        self.next_id += 1;
        let bytes = message.bytes.max(1);
        let start = self.written;
        self.written += bytes;
        if bytes > buffer || self.closed {
            self.infeasible += 1;
            self.acked_bytes += bytes;
            self.events.push_back(MessageEvent::Expired(id));
            return id;
        }
        let fragments = bytes.div_ceil(u64::from(self.payload)) as u32;
        self.limited |= message.lifetime.is_some();
        let unit = Adu::new(id, start, message, fragments);
        self.left += unit.left(self.payload);
        self.units.push_back(unit);
        self.waiting.insert(id);
        id
    }

    /// Place of unit `id`.
    fn place(&self, id: MessageId) -> Option<usize> {
        self.units.binary_search_by_key(&id, |u| u.id).ok()
    }
    fn unit(&mut self, id: MessageId) -> Option<&mut Adu> {
        self.place(id).and_then(|at| self.units.get_mut(at))
    }
    /// Removes the unit at place `at`.
    fn remove(&mut self, at: usize) -> Option<Adu> {
        let unit = self.units.remove(at)?;
        self.waiting.remove(&unit.id);
        self.deadlines.remove(&(unit.deadline(), unit.id));
        self.outstanding -= unit.flying();
        self.left -= unit.left(self.payload);
        Some(unit)
    }

    pub(crate) fn close(&mut self) {
        self.closed = true;
    }
    pub(crate) fn is_closed(&self) -> bool {
        self.closed
    }
    pub(crate) fn written(&self) -> u64 {
        self.written
    }
    /// Sets the creation time of units written since the last call.
    pub(crate) fn stamp(&mut self, now: Time) {
        for unit in self.units.iter_mut().rev().take_while(|u| u.made.is_none()) {
            unit.made = Some(now);
            if unit.lifetime.is_some() {
                self.deadlines.insert((unit.deadline(), unit.id));
            }
        }
    }
    /// The receiver sets the lifetime of all queued units (catalogue RT-10).
    pub(crate) fn set_lifetime(&mut self, now: Time, lifetime: Span) {
        self.limited = true;
        for unit in &mut self.units {
            unit.made = Some(now);
            unit.lifetime = Some(lifetime);
        }
        self.deadlines = self.units.iter().map(|unit| (unit.deadline(), unit.id)).collect();
    }

    /// Abandons units whose lifetime has expired or cannot be met; returns their numbers. `time_for`: transfer time of
    /// a number of bytes; none if it is unknown.
    pub(crate) fn expire(&mut self, now: Time, time_for: impl Fn(u64) -> Option<Span>) -> Vec<MessageId> {
        if !self.limited {
            return Vec::new();
        }
        // If even the last byte arrives before the first expiry time, no unit is infeasible.
        let all_feasible = time_for(self.left).is_none_or(|span| now + span <= self.next_expiry());
        let gone = if all_feasible { self.overdue(now) } else { self.infeasible(now, time_for) };
        for &(id, infeasible) in &gone {
            self.infeasible += u64::from(infeasible);
            self.expired += u64::from(!infeasible);
            self.abandon(id);
        }
        gone.into_iter().map(|(id, _)| id).collect()
    }

    /// Units past their expiry time, by number.
    fn overdue(&self, now: Time) -> Vec<(MessageId, bool)> {
        let over = self.deadlines.iter().take_while(|(deadline, _)| *deadline <= now && !deadline.is_never());
        let mut gone: Vec<_> = over.map(|(_, id)| (*id, false)).collect();
        gone.sort_unstable();
        gone
    }

    /// Units past their expiry time, and those that cannot arrive before it (`true`), by number.
    fn infeasible(&self, now: Time, time_for: impl Fn(u64) -> Option<Span>) -> Vec<(MessageId, bool)> {
        let mut gone = Vec::new();
        let mut ahead = 0;
        for unit in &self.units {
            let left = unit.left(self.payload);
            let deadline = unit.deadline();
            if deadline.is_never() {
                ahead += left;
                continue;
            }
            // Fragments queued before this unit are sent first.
            let feasible = time_for(ahead + left).is_none_or(|span| now + span <= deadline);
            if deadline <= now || !feasible && !unit.is_on_its_way() {
                gone.push((unit.id, deadline > now));
            } else {
                ahead += left;
            }
        }
        gone
    }

    /// Abandons a unit.
    pub(crate) fn abandon(&mut self, id: MessageId) {
        let Some(unit) = self.place(id).and_then(|at| self.remove(at)) else { return };
        self.acked_bytes += unit.bytes;
        self.left_behind += unit.flying();
        let event = if unit.begun { MessageEvent::Abandoned(id) } else { MessageEvent::Expired(id) };
        self.events.push_back(event);
    }

    pub(crate) fn next_expiry(&self) -> Time {
        self.deadlines.first().map_or(Time::NEVER, |(deadline, _)| *deadline)
    }

    pub(crate) fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// The next fragment, which leaves now, with the number of its transmission.
    pub(crate) fn take(&mut self) -> Option<(Next, u64)> {
        let id = *self.waiting.first()?;
        let payload = u64::from(self.payload);
        let tx = self.next_tx;
        let unit = self.unit(id)?;
        let (number, cause) = unit.depart(tx)?;
        let at = u64::from(number) * payload;
        let next = Next {
            adu: id,
            length: unit.bytes,
            fragments: unit.len(),
            number,
            bytes: (unit.bytes - at).min(payload) as u32,
            offset: unit.start + at,
            cause,
            deadline: unit.deadline(),
            made: unit.made.unwrap_or_default(),
            whole: unit.retransmissions == 0,
        };
        if !unit.waits() {
            self.waiting.remove(&id);
        }
        self.outstanding += 1;
        self.next_tx += 1;
        self.sent += 1;
        self.resent += u64::from(cause != Cause::New);
        self.flying.push_back(Flying { tx, adu: id, number });
        Some((next, tx))
    }

    /// An acknowledgement of a unit arrived that answers transmission `echo`; `again` permits retransmission of lost
    /// fragments.
    pub(crate) fn on_ack(&mut self, adu: MessageId, vector: &Vector, echo: u64) -> Acked {
        let mut acked = Acked::default();
        self.highest = self.highest.max(echo);
        let payload = self.payload;
        if let Some(unit) = self.unit(adu) {
            let before = unit.left(payload);
            let (fresh, highest) = unit.arrived(vector);
            let arrived = before - unit.left(payload);
            let (waits, settled) = (unit.waits(), unit.is_settled());
            self.outstanding -= fresh;
            self.left -= arrived;
            self.highest = self.highest.max(highest);
            acked.fresh = fresh;
            if !waits {
                self.waiting.remove(&adu);
            }
            if settled {
                self.settled.insert(adu);
            }
        }
        // No vector covers an abandoned unit; the transmission echoed by the ACK has arrived.
        let echoed = self.flying.binary_search_by_key(&echo, |sent| sent.tx).ok();
        if let Some(at) = echoed.filter(|at| self.place(self.flying[*at].adu).is_none()) {
            self.flying.remove(at);
            acked.given_up = 1;
        }
        acked.lost = self.detect();
        self.settle();
        acked
    }

    /// Declares a fragment lost if the highest acknowledged transmission is at least [`LATER`] later.
    fn detect(&mut self) -> u32 {
        let mut lost = 0;
        // A transmission is settled when its fragment is no longer in flight under this number.
        while let Some(first) = self.flying.front().copied() {
            let highest = self.highest;
            if let Some(unit) = self.unit(first.adu)
                && let Some((standing, times)) = unit.fragment(first.number)
                && standing == Standing::Flying(first.tx)
            {
                if first.tx + LATER > highest {
                    break;
                }
                lost += 1;
                let standing = unit.after_loss(times, Cause::Recovery);
                unit.set(first.number, standing);
                let (waits, settled) = (unit.waits(), unit.is_settled());
                self.outstanding -= 1;
                if waits {
                    self.waiting.insert(first.adu);
                }
                if settled {
                    self.settled.insert(first.adu);
                }
            }
            self.flying.pop_front();
        }
        lost
    }

    /// Reports units of which the fate of all fragments is known.
    fn settle(&mut self) {
        while let Some(id) = self.settled.pop_first() {
            let Some(unit) = self.place(id).and_then(|at| self.remove(at)) else { continue };
            self.acked_bytes += unit.bytes;
            let event =
                if unit.is_whole() { MessageEvent::Acknowledged(id) } else { MessageEvent::Abandoned(id) };
            self.events.push_back(event);
        }
    }

    /// The timer expired: everything on its way is gone, and sent again from the oldest on. Fragments that were on
    /// their way.
    pub(crate) fn on_timeout(&mut self) -> u32 {
        let outstanding = std::mem::take(&mut self.outstanding);
        let mut cause = Cause::Timeout;
        for unit in self.units.iter_mut().filter(|u| u.flying() > 0) {
            unit.time_out(cause);
            cause = Cause::GoBackN;
            if unit.waits() {
                self.waiting.insert(unit.id);
            } else {
                self.settled.insert(unit.id);
            }
        }
        self.flying.clear();
        self.settle();
        outstanding
    }

    /// Fragments that were on their way when their unit was given up, since this was last asked.
    pub(crate) fn left_behind(&mut self) -> u32 {
        std::mem::take(&mut self.left_behind)
    }
    /// Number of outstanding fragments.
    pub(crate) fn outstanding(&self) -> u32 {
        self.outstanding
    }
    /// Number of queued units, sent in part or not at all.
    pub(crate) fn len(&self) -> usize {
        self.units.len()
    }
    /// True if the application has closed the flow and no unit is left.
    pub(crate) fn is_done(&self) -> bool {
        self.closed && self.units.is_empty()
    }
    pub(crate) fn acknowledged(&self) -> u64 {
        self.acked_bytes
    }
    pub(crate) fn has_events(&self) -> bool {
        !self.events.is_empty()
    }
    pub(crate) fn event(&mut self) -> Option<MessageEvent> {
        self.events.pop_front()
    }
    /// Abandons all units.
    pub(crate) fn end(&mut self) {
        while let Some(first) = self.units.front().map(|u| u.id) {
            self.abandon(first);
        }
        self.closed = true;
        self.flying.clear();
    }
    /// Units by number, for tests of order.
    pub(crate) fn units(&self) -> BTreeMap<MessageId, u32> {
        self.units.iter().map(|u| (u.id, u.len())).collect()
    }
}
