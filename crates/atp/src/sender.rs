//! ATP sender (Gurtov and Ludwig, III.A, III.B): fragmentation of ADUs, selective retransmission within lifetimes,
//! feasibility check.

use crate::packet::Vector;
use base::truth::Cause;
use base::{Span, Time};
use std::collections::{BTreeMap, VecDeque};
use transport::app::message::{Message, MessageEvent, MessageId};

/// A fragment counts as lost if a transmission at least this much later is acknowledged, as in FACK.
const LATER: u64 = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    /// Waits for its first transmission or a retransmission.
    Waiting(Cause),
    /// In flight, with the number of its latest transmission.
    Flying(u64),
    /// Acknowledged by the receiver.
    Acked,
    /// Lost, and not to be sent again.
    Given,
}

/// A unit that is being sent.
#[derive(Clone, Debug)]
pub(crate) struct Adu {
    pub(crate) id: MessageId,
    pub(crate) bytes: u64,
    start: u64,
    made: Option<Time>,
    lifetime: Option<Span>,
    retransmissions: u32,
    fragments: Vec<(Standing, u32)>,
    begun: bool,
}

impl Adu {
    /// Expiry time of the unit.
    pub(crate) fn deadline(&self) -> Time {
        match (self.made, self.lifetime) {
            (Some(made), Some(lifetime)) => made + lifetime,
            _ => Time::NEVER,
        }
    }
    pub(crate) fn len(&self) -> u32 {
        self.fragments.len() as u32
    }
    fn is_settled(&self) -> bool {
        self.fragments.iter().all(|(s, _)| matches!(s, Standing::Acked | Standing::Given))
    }
    fn is_whole(&self) -> bool {
        self.fragments.iter().all(|(s, _)| *s == Standing::Acked)
    }
    /// Bytes not yet acknowledged.
    fn left(&self, payload: u32) -> u64 {
        let open = self.fragments.iter().filter(|(s, _)| *s != Standing::Acked).count() as u64;
        (open * u64::from(payload)).min(self.bytes)
    }
}

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
    units: VecDeque<Adu>,
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
        let fragments = bytes.div_ceil(u64::from(self.payload)) as usize;
        self.limited |= message.lifetime.is_some();
        self.units.push_back(Adu {
            id,
            bytes,
            start,
            made: None,
            lifetime: message.lifetime,
            retransmissions: message.retransmissions.unwrap_or(u32::MAX),
            fragments: vec![(Standing::Waiting(Cause::New), 0); fragments],
            begun: false,
        });
        id
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
        }
    }
    /// The receiver sets the lifetime of all queued units (catalogue RT-10).
    pub(crate) fn set_lifetime(&mut self, now: Time, lifetime: Span) {
        self.limited = true;
        for unit in &mut self.units {
            unit.made = Some(now);
            unit.lifetime = Some(lifetime);
        }
    }

    /// Abandons units whose lifetime has expired or cannot be met; returns their numbers.
    pub(crate) fn expire(&mut self, now: Time, time_for: impl Fn(u64) -> Option<Span>) -> Vec<MessageId> {
        if !self.limited {
            return Vec::new();
        }
        let payload = self.payload;
        let mut gone = Vec::new();
        let mut ahead = 0;
        for unit in &self.units {
            let deadline = unit.deadline();
            if deadline.is_never() {
                ahead += unit.left(payload);
                continue;
            }
            // Fragments queued before this unit are sent first.
            let left = unit.left(payload);
            let feasible = time_for(ahead + left).is_none_or(|span| now + span <= deadline);
            let on_its_way =
                unit.fragments.iter().all(|(s, _)| matches!(s, Standing::Flying(_) | Standing::Acked));
            if deadline <= now || !feasible && !on_its_way {
                gone.push((unit.id, deadline > now));
            } else {
                ahead += left;
            }
        }
        for &(id, infeasible) in &gone {
            self.infeasible += u64::from(infeasible);
            self.expired += u64::from(!infeasible);
            self.abandon(id);
        }
        gone.into_iter().map(|(id, _)| id).collect()
    }

    /// Abandons a unit.
    pub(crate) fn abandon(&mut self, id: MessageId) {
        let Some(at) = self.units.iter().position(|u| u.id == id) else { return };
        let Some(unit) = self.units.remove(at) else { return };
        self.acked_bytes += unit.bytes;
        let flying = unit.fragments.iter().filter(|(s, _)| matches!(s, Standing::Flying(_))).count();
        self.left_behind += flying as u32;
        let event = if unit.begun { MessageEvent::Abandoned(id) } else { MessageEvent::Expired(id) };
        self.events.push_back(event);
    }

    pub(crate) fn next_expiry(&self) -> Time {
        let deadlines = self.units.iter().map(Adu::deadline);
        if self.limited { deadlines.min().unwrap_or(Time::NEVER) } else { Time::NEVER }
    }

    /// The first fragment that waits to be sent.
    fn waiting(&self) -> Option<(usize, usize)> {
        self.units.iter().enumerate().find_map(|(u, unit)| {
            unit.fragments.iter().position(|(s, _)| matches!(s, Standing::Waiting(_))).map(|f| (u, f))
        })
    }
    pub(crate) fn is_waiting(&self) -> bool {
        self.waiting().is_some()
    }

    /// The next fragment, which leaves now, with the number of its transmission.
    pub(crate) fn take(&mut self) -> Option<(Next, u64)> {
        let (u, f) = self.waiting()?;
        let payload = u64::from(self.payload);
        let tx = self.next_tx;
        let unit = self.units.get_mut(u)?;
        let (standing, times) = unit.fragments.get_mut(f)?;
        let Standing::Waiting(cause) = *standing else { return None };
        *standing = Standing::Flying(tx);
        *times += 1;
        unit.begun = true;
        self.next_tx += 1;
        self.sent += 1;
        self.resent += u64::from(cause != Cause::New);
        self.flying.push_back(Flying { tx, adu: unit.id, number: f as u32 });
        let at = f as u64 * payload;
        let next = Next {
            adu: unit.id,
            length: unit.bytes,
            fragments: unit.len(),
            number: f as u32,
            bytes: (unit.bytes - at).min(payload) as u32,
            offset: unit.start + at,
            cause,
            deadline: unit.deadline(),
            made: unit.made.unwrap_or_default(),
            whole: unit.retransmissions == 0,
        };
        Some((next, tx))
    }

    /// An acknowledgement of a unit arrived that answers transmission `echo`; `again` permits retransmission of lost
    /// fragments.
    pub(crate) fn on_ack(&mut self, adu: MessageId, vector: &Vector, echo: u64) -> Acked {
        let mut acked = Acked::default();
        self.highest = self.highest.max(echo);
        if let Some(unit) = self.units.iter_mut().find(|u| u.id == adu) {
            for (n, (standing, _)) in unit.fragments.iter_mut().enumerate() {
                if vector.has(n as u32) && *standing != Standing::Acked {
                    if let Standing::Flying(tx) = *standing {
                        self.highest = self.highest.max(tx);
                        acked.fresh += 1;
                    }
                    *standing = Standing::Acked;
                }
            }
        }
        // No vector covers an abandoned unit; the transmission echoed by the ACK has arrived.
        let gone = |sent: &Flying| sent.tx == echo && !self.units.iter().any(|u| u.id == sent.adu);
        if let Some(at) = self.flying.iter().position(gone) {
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
            let unit = self.units.iter_mut().find(|u| u.id == first.adu);
            let fragment = unit.and_then(|u| {
                let most = u.retransmissions;
                u.fragments.get_mut(first.number as usize).map(|f| (f, most))
            });
            match fragment {
                Some(((standing, times), most)) if *standing == Standing::Flying(first.tx) => {
                    if first.tx + LATER > self.highest {
                        break;
                    }
                    lost += 1;
                    *standing =
                        if *times > most { Standing::Given } else { Standing::Waiting(Cause::Recovery) };
                }
                _ => {}
            }
            self.flying.pop_front();
        }
        lost
    }

    /// Reports units of which the fate of all fragments is known.
    fn settle(&mut self) {
        let mut at = 0;
        while let Some(unit) = self.units.get(at).filter(|unit| unit.begun) {
            if !unit.is_settled() {
                at += 1;
                continue;
            }
            let whole = unit.is_whole();
            let Some(unit) = self.units.remove(at) else { break };
            self.acked_bytes += unit.bytes;
            let event =
                if whole { MessageEvent::Acknowledged(unit.id) } else { MessageEvent::Abandoned(unit.id) };
            self.events.push_back(event);
        }
    }

    /// The timer expired: everything on its way is gone, and sent again from the oldest on. Fragments that were on
    /// their way.
    pub(crate) fn on_timeout(&mut self) -> u32 {
        let mut outstanding = 0;
        let mut first = true;
        for unit in self.units.iter_mut().take_while(|u| u.begun) {
            let most = unit.retransmissions;
            for (standing, times) in &mut unit.fragments {
                if matches!(standing, Standing::Flying(_)) {
                    outstanding += 1;
                    let cause = if first { Cause::Timeout } else { Cause::GoBackN };
                    first = false;
                    *standing = if *times > most { Standing::Given } else { Standing::Waiting(cause) };
                }
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
        let flying = |u: &Adu| u.fragments.iter().filter(|(s, _)| matches!(s, Standing::Flying(_))).count();
        // Units are sent in order, so units after the first unsent one have no outstanding fragments.
        self.units.iter().take_while(|u| u.begun).map(flying).sum::<usize>() as u32
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
        let all: Vec<MessageId> = self.units.iter().map(|u| u.id).collect();
        all.into_iter().for_each(|id| self.abandon(id));
        self.closed = true;
        self.flying.clear();
    }
    /// Units by number, for tests of order.
    pub(crate) fn units(&self) -> BTreeMap<MessageId, u32> {
        self.units.iter().map(|u| (u.id, u.len())).collect()
    }
}
