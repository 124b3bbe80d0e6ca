//! Lookahead: a link's part in packets that are forwarded to the next link as soon as they join this one.
//!
//! The arrival of a packet at the far end of a link without gates, RED or changes of rate is known when it joins. If
//! the next link takes packets from this one only, it can take the packet then, with that arrival as its time. The
//! packet keeps its slot here for the queue limit, and until its departure is counted.

use super::merge::{Arrival, Merge};
use super::{Link, Slot};
use crate::capacity::Capacity;
use crate::element::Core;
use crate::ring::Ring;
use base::packet::{Flags, Packet};
use base::{Span, Time};

/// A link counts the packets it forwarded when the number of its packets is a multiple of this.
const BATCH: u32 = 32;

/// Place of a link among those whose packets are forwarded ahead: a set of the constants, in one byte.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Lookahead(u8);

impl Lookahead {
    /// The link forwards packets ahead to the next link.
    pub(crate) const FORWARDS: Lookahead = Lookahead(1);
    /// The link takes packets from one link only, which may forward them ahead.
    pub(crate) const TAKES: Lookahead = Lookahead(2);
    /// All packets come from links that forward them ahead to this link only, into its [`Merge`].
    pub(crate) const MERGES: Lookahead = Lookahead(4);
    /// The link forwards all packets to one that merges.
    pub(crate) const FEEDS: Lookahead = Lookahead(8);

    #[inline(always)]
    pub(crate) fn has(self, other: Lookahead) -> bool {
        self.0 & other.0 != 0
    }

    pub(crate) fn add(&mut self, other: Lookahead) {
        self.0 |= other.0;
    }
}

impl Link {
    /// Whether nothing but arriving packets changes the departures of the link.
    pub(crate) fn is_foreseeable(&self) -> bool {
        matches!(self.capacity, Capacity::Fixed(_))
            && self.gates.is_empty()
            && !self.is_managed
            && !self.limit.drop_head
            && !self.closed_by_hand
    }

    /// Next departure, of packets not forwarded ahead; [`Time::NEVER`] without.
    #[inline(always)]
    pub(crate) fn departs(&self) -> Time {
        self.front
    }

    /// Takes a packet that arrives at `at`, later than all before. Returns its sojourn time in the queue; `None`,
    /// and the packet does not join, if it would be dropped or leave at `at`.
    #[inline(always)]
    pub(crate) fn join_ahead(&mut self, at: Time, packet: &Packet) -> Option<Span> {
        self.catch_up(at);
        let idle = self.slots.len() == self.started && self.free <= at;
        let open = self.open.0 <= at && at < self.open.1;
        if idle && open && self.sizes[0] == packet.size && self.spans[0] > Span::ZERO {
            self.free = at + self.spans[0];
            self.started += 1;
            self.append(at, self.free + self.delay, packet);
            return Some(Span::ZERO);
        }
        self.join_ahead_in_turn(at, packet, !idle)
    }

    /// The general case of [`Self::join_ahead`]. `busy`: a packet is waiting or in service.
    #[inline(never)]
    fn join_ahead_in_turn(&mut self, at: Time, packet: &Packet, busy: bool) -> Option<Span> {
        let Capacity::Fixed(rate) = self.capacity else { return None };
        if busy && self.is_full(packet.size)
            || self.delay == Span::ZERO && self.span_of(rate, packet.size) == Span::ZERO
        {
            return None;
        }
        Some(self.join(at, packet).since(at))
    }

    /// Notes that the packet which joined last is forwarded; `sojourn`: in the queue of the next link.
    #[inline(always)]
    pub(crate) fn forwarded(&mut self, sojourn: Span) {
        self.forwarded_to_merge();
        if let Some(slot) = self.slots.get_mut(self.slots.len() - 1) {
            // The next link has the packet whole.
            slot.packet.id = sojourn.as_nanos();
        }
    }

    /// Calls [`Self::count_forwarded`] once for several packets that join.
    #[inline(always)]
    pub(crate) fn count_in_batches(&mut self, core: &mut Core, now: Time) {
        if self.forwarded > 0 && self.slots.len().is_multiple_of(BATCH) {
            self.count_forwarded(core, now, false);
        }
    }

    /// Transmits a packet at once, if no other one waits or is in service. Returns its arrival at the far end. The
    /// packet has no slot, since it never waits.
    #[inline(always)]
    pub(crate) fn transmit(&mut self, now: Time, size: u32) -> Option<Time> {
        self.catch_up(now);
        let open = self.open.0 <= now && now < self.open.1;
        let idle = self.slots.len() == self.started && self.free <= now;
        if !idle || !open || self.sizes[0] != size {
            return None;
        }
        self.free = now + self.spans[0];
        Some(self.free + self.delay)
    }

    /// Notes that the packet which joined last is forwarded to a merge, which counts it.
    #[inline(always)]
    pub(crate) fn forwarded_to_merge(&mut self) {
        self.forwarded += 1;
        self.front = Time::NEVER;
    }

    /// Lets the link take packets from several links.
    pub(crate) fn merge_arrivals(&mut self) {
        self.lookahead.add(Lookahead::MERGES);
        self.merge = Some(Box::new(Merge::new(self.delay)));
    }

    /// Arrivals that are not taken, if the link merges.
    #[inline(always)]
    pub(crate) fn merge(&mut self) -> &mut Option<Box<Merge>> {
        &mut self.merge
    }

    /// Propagation delay.
    pub(crate) fn delay(&self) -> Span {
        self.delay
    }

    /// Counts forwarded packets that arrived at the far end before `now`, or at `now` if `all` is set. Returns the
    /// last of these arrivals.
    #[inline(never)]
    pub(crate) fn count_forwarded(&mut self, core: &mut Core, now: Time, all: bool) -> Option<Time> {
        self.catch_up(now);
        let counts = !self.lookahead.has(Lookahead::FEEDS);
        let (mut last, mut n) = (None, 0);
        while n < self.forwarded
            && let Some(Slot { arrival, packet, .. }) = self.slots.get(n)
            && (*arrival < now || all && *arrival == now)
        {
            last = Some(*arrival);
            if counts
                && packet.flags.has(Flags::DATA)
                && let Some(ledger) = core.ledgers.get_mut(packet.ledger())
            {
                ledger.queue_delay_ns += packet.id;
                ledger.queue_waits += 1;
            }
            n += 1;
        }
        core.counters.hops += if counts { u64::from(n) } else { 0 };
        self.forwarded -= n;
        self.started -= n; // their transmissions started before they arrived
        self.slots.pop_many(n);
        last
    }

    /// The last packet forwarded. Its id is only in the next link.
    pub(crate) fn last_forwarded(&self) -> Option<&Packet> {
        self.slots.get(self.forwarded.checked_sub(1)?).map(|slot| &slot.packet)
    }

    /// Takes the last packet forwarded back from the next link. [`Self::resume`] of both has to follow.
    pub(crate) fn take_back_from(&mut self, next: &mut Link) {
        let Some(slot) = next.slots.pop_back() else { return };
        self.forwarded -= 1;
        if let Some(own) = self.slots.get_mut(self.forwarded) {
            own.packet = slot.packet;
        }
    }

    /// Removes the slots of a link that feeds a merge: all of packets that are forwarded.
    pub(crate) fn clear(&mut self) {
        (self.slots, self.forwarded) = (Ring::new(), 0);
    }

    /// Takes a packet back from a merge, in the order of forwarding. [`Self::resume`] has to follow.
    pub(crate) fn take_back(&mut self, arrival: &Arrival) {
        let Capacity::Fixed(rate) = self.capacity else { return };
        let start = arrival.at - self.delay - self.span_of(rate, arrival.packet.size);
        self.append(start, arrival.at, &arrival.packet);
    }

    /// Recomputes the state at `now` after packets were taken back.
    pub(crate) fn resume(&mut self, now: Time) {
        let last = self.slots.len().checked_sub(1).and_then(|last| self.slots.get(last));
        self.free = last.map_or(self.free.min(now), |slot| self.end_of(slot));
        (self.started, self.waiting_bytes) = (0, 0);
        for i in 0..self.slots.len() {
            match self.slots.get(i) {
                Some(slot) if slot.start <= now => self.started += 1,
                Some(slot) => self.waiting_bytes += u64::from(slot.packet.size),
                None => {}
            }
        }
        self.look_ahead();
        self.look_at_front();
    }
}
