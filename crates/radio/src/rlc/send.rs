//! RLC sender: V(S), V(A), the states of blocks, order of transmission, processing of reports (3GPP TS 44.060 sections
//! 9.1.1 to 9.1.3, 9.3.2).
//!
//! Order of transmission: first the oldest block reported missing; then a new block while the window is open; then, with
//! pre-emptive retransmission, unacknowledged blocks, cyclically from V(A) ("idle retransmission" in Gurtov and others
//! 2002). A report marks a retransmitted block missing again only when [`SendOptions::hold_off`] has passed since its
//! last transmission.

mod block;
mod counts;
mod reports;

pub use block::{RadioBlock, Reason, Unit};
pub use counts::{ReportEffect, SendCounts};

use super::bits::Bits;
use super::feed::{Cut, Feed};
use super::receive::BlockPart;
use super::{Bsn, Mode, Numbering};
use crate::coding::Scheme;
use crate::family;
use crate::tdma::Tick;

/// Options of the sender in which vendors differ.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SendOptions {
    /// Retransmit unacknowledged blocks pre-emptively when no missing and no new block can be sent.
    pub preemptive: bool,
    /// Minimum time from a transmission of a block to its being marked missing, block periods; 0: no minimum.
    pub hold_off: u32,
    /// EGPRS: blocks may be retransmitted in halves with a more robust scheme.
    pub resegment: bool,
}

impl Default for SendOptions {
    fn default() -> Self {
        SendOptions { preemptive: true, hold_off: 0, resegment: false }
    }
}

#[derive(Clone, Copy, Debug)]
struct BlockState {
    sent: Tick,
    scheme: Scheme,
    attempts: u8,
    /// Retransmission by halves: true if the second half is next.
    half: bool,
}

impl BlockState {
    const NEW: BlockState = BlockState { sent: 0, scheme: Scheme::Cs1, attempts: 0, half: false };
}

/// Places for states at the start. Few windows fill, and states that are in use again soon stay in the cache.
const FIRST_STATES: u32 = 64;

/// Sender of a TBF direction with its LLC queue.
///
/// Fields that each new block uses come first and fill two cache lines, because a network of cells alternates between
/// thousands of senders.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Sender<T> {
    /// V(S).
    vs: Bsn,
    /// V(A).
    va: Bsn,
    /// Next block of the cyclic pre-emptive retransmission.
    cycle: Bsn,
    missing_count: u32,
    /// V(A) + WS, the first block outside of the window; in unacknowledged mode the maximum of [`Bsn`].
    edge: Bsn,
    /// First block not yet added to `pending`; all blocks from `fresh` to V(S) are unacknowledged.
    fresh: Bsn,
    /// Length of the ring of blocks minus 1.
    mask: u32,
    /// Length of `states` less one: a ring that grows with the number of blocks from V(A) to V(S).
    held: u32,
    rules: SendOptions,
    mode: Mode,
    keeps_cuts: bool,
    /// Octets of each block that are not LLC data (the TLLI of contention resolution); at most 4.
    prefix: u8,
    states: Vec<BlockState>,
    /// The LLC queue.
    pub feed: Feed<T>,
    numbering: Numbering,
    /// Counters; `new` covers the earlier TBFs, V(S) counts the new blocks of the present TBF.
    counts: SendCounts,
    cuts: Vec<Cut>,
    /// Unacknowledged blocks before `fresh`.
    pending: Bits,
    /// Blocks of `pending` that were reported missing.
    missing: Bits,
}

impl<T: Copy> Sender<T> {
    /// A sender at the start of a TBF, with an empty queue.
    pub fn new(numbering: Numbering, mode: Mode, rules: SendOptions) -> Self {
        let ring = numbering.ring();
        let states = Self::first_states(ring, mode);
        let mut sender = Sender {
            feed: Feed::new(numbering.space > 128),
            numbering,
            mode,
            rules,
            vs: 0,
            va: 0,
            edge: 0,
            fresh: 0,
            mask: ring - 1,
            cycle: 0,
            pending: Bits::new(ring),
            missing: Bits::new(ring),
            missing_count: 0,
            held: states.len() as u32 - 1,
            states,
            keeps_cuts: false,
            prefix: 0,
            cuts: Vec::new(),
            counts: SendCounts::default(),
        };
        sender.set_va(0);
        sender
    }

    /// In unacknowledged mode the window is always empty, and the states of sent blocks remain for a whole ring.
    fn first_states(ring: u32, mode: Mode) -> Vec<BlockState> {
        let length = if mode == Mode::Acknowledged { ring.min(FIRST_STATES) } else { ring };
        vec![BlockState::NEW; length as usize]
    }

    /// Doubles the places for states, up to the ring of the window.
    #[cold]
    fn widen(&mut self) {
        let mut states = vec![BlockState::NEW; 2 * self.states.len()];
        let held = states.len() as u32 - 1;
        for bsn in self.va..self.vs {
            states[(bsn & held) as usize] = self.states[self.place(bsn)];
        }
        (self.states, self.held) = (states, held);
    }

    /// Index of a block's state.
    #[inline(always)]
    fn place(&self, bsn: Bsn) -> usize {
        (bsn & self.held) as usize
    }

    fn set_va(&mut self, va: Bsn) {
        self.va = va;
        self.edge = if self.mode == Mode::Acknowledged { va + self.numbering.window } else { Bsn::MAX };
    }

    /// Enables storage of each block's content, for [`Sender::cut_of`].
    #[must_use]
    pub fn keeping_cuts(mut self) -> Self {
        self.keep_cuts();
        self
    }

    /// Sets the number of octets in new blocks of [`Sender::next`] that are not LLC data.
    pub fn set_prefix(&mut self, octets: u8) {
        self.prefix = octets;
    }

    /// LLC octets of a new block with this scheme: its payload minus the prefix.
    #[inline(always)]
    fn room(&self, scheme: Scheme) -> u32 {
        scheme.payload() - u32::from(self.prefix)
    }

    /// Permits or forbids retransmission in halves for later transmissions.
    pub fn set_resegment(&mut self, on: bool) {
        self.rules.resegment = on;
    }

    /// Enables storage of each later block's content.
    pub fn keep_cuts(&mut self) {
        self.keeps_cuts = true;
        self.cuts.resize(self.numbering.ring() as usize, Cut::default());
    }

    /// Ring index of a block.
    #[inline(always)]
    fn index(&self, bsn: Bsn) -> usize {
        (bsn & self.mask) as usize
    }

    /// Adds the blocks sent since the last call to `pending`, in one step before `pending` is used.
    fn note_pending(&mut self) {
        let (from, to) = (self.fresh, self.vs);
        if self.mode == Mode::Acknowledged && from < to {
            self.pending.set_all(from, to);
        }
        self.fresh = to;
    }

    /// Touches the data of [`Sender::next`] for a new block to load them into the cache; the returned value has no meaning.
    #[inline]
    pub fn prefetch(&self) -> u64 {
        u64::from(self.vs) ^ self.feed.prefetch()
    }
    /// Reads what [`Sender::on_report`] uses of a report with this V(Q), so that it is in the cache; the value has no meaning.
    #[inline]
    pub fn prefetch_report(&self, complete: Bsn) -> u64 {
        let at = self.index(complete) / 64;
        let state = u64::from(self.states[self.place(complete)].sent);
        self.pending.word(at) ^ self.missing.word(at) ^ state ^ self.feed.prefetch_front()
    }
    /// V(S).
    #[inline]
    pub fn vs(&self) -> Bsn {
        self.vs
    }
    /// V(A).
    #[inline]
    pub fn va(&self) -> Bsn {
        self.va
    }
    /// Window and number space.
    #[inline]
    pub fn numbering(&self) -> Numbering {
        self.numbering
    }
    /// Number of blocks sent and not acknowledged.
    pub fn outstanding(&self) -> u32 {
        let fresh = if self.mode == Mode::Acknowledged { self.vs - self.fresh } else { 0 };
        self.pending.count() + fresh
    }
    /// Counters over all TBFs of the sender.
    #[inline]
    pub fn counts(&self) -> SendCounts {
        SendCounts { new: self.counts.new + u64::from(self.vs), ..self.counts }
    }
    /// Whether the window is closed: V(S) = V(A) + WS.
    #[inline]
    pub fn is_closed(&self) -> bool {
        self.vs >= self.edge
    }
    /// Whether the window is closed and data are queued.
    #[inline]
    pub fn is_stalled(&self) -> bool {
        self.feed.has_data() && self.is_closed()
    }
    /// Whether a missing or a new block can be sent.
    #[inline]
    pub fn has_work(&self) -> bool {
        self.missing_count > 0 || self.feed.has_data() && !self.is_closed()
    }
    /// Whether a block is unacknowledged.
    #[inline]
    pub fn is_pending(&self) -> bool {
        self.va < self.vs
    }
    /// Whether no data are queued and all blocks are acknowledged.
    #[inline]
    pub fn is_done(&self) -> bool {
        !self.feed.has_data() && self.va == self.vs
    }
    /// Content of a block in the window; `None` if storage is not enabled.
    pub fn cut_of(&self, bsn: Bsn) -> Option<Cut> {
        self.cuts.get(self.index(bsn)).copied()
    }

    /// Takes and counts the next radio block with the present scheme. `preempt` permits pre-emptive retransmission of
    /// unacknowledged blocks if [`SendOptions::preemptive`] is set.
    #[inline]
    pub fn next(&mut self, now: Tick, wanted: Scheme, preempt: bool) -> Option<RadioBlock> {
        let mut block = RadioBlock::EMPTY;
        self.next_into(now, wanted, preempt, &mut block).then_some(block)
    }

    /// As [`Sender::next`], into a place of the caller; false if there is no block. A block that is returned would be
    /// copied right after it was written in smaller parts, which takes as long as all of the choice.
    #[inline(always)]
    pub fn next_into(&mut self, now: Tick, wanted: Scheme, preempt: bool, into: &mut RadioBlock) -> bool {
        // Most radio blocks are new.
        if self.missing_count == 0 && self.feed.has_data() && !self.is_closed() {
            if wanted.is_egprs() {
                return self.new_egprs(now, wanted, preempt, into);
            }
            let Some(first) = self.send_new(now, wanted, self.room(wanted)) else { return false };
            *into = RadioBlock { scheme: wanted, first, second: None };
            return true;
        }
        self.next_of_any(now, wanted, preempt, into)
    }

    #[inline(never)]
    fn next_of_any(&mut self, now: Tick, wanted: Scheme, preempt: bool, into: &mut RadioBlock) -> bool {
        if self.is_stalled() {
            self.counts.stalled += 1;
        }
        let Some((bsn, reason)) = self.choose(preempt) else { return false };
        if reason == Reason::New && wanted.is_egprs() {
            return self.new_egprs(now, wanted, preempt, into);
        }
        if !wanted.is_egprs() {
            let Some(first) = self.send(bsn, reason, now, wanted, BlockPart::Whole) else { return false };
            *into = RadioBlock { scheme: first.first_scheme, first, second: None };
            return true;
        }
        self.repeat_egprs(now, wanted, preempt, (bsn, reason), into)
    }

    /// Takes the next block of a link whose new blocks have `octets` octets. `scheme` is only recorded as
    /// [`Unit::first_scheme`].
    pub fn next_octets(&mut self, now: Tick, scheme: Scheme, octets: u32, preempt: bool) -> Option<Unit> {
        if self.is_stalled() {
            self.counts.stalled += 1;
        }
        let (bsn, reason) = self.choose(preempt)?;
        self.send_octets(bsn, reason, now, scheme, BlockPart::Whole, octets)
    }

    /// Number of transmissions of a block in the window.
    pub fn attempts(&self, bsn: Bsn) -> u8 {
        self.states[self.place(bsn)].attempts
    }

    /// Oldest block reported missing.
    pub fn oldest_missing(&self) -> Option<Bsn> {
        if self.missing_count == 0 { None } else { self.missing.first(self.va, self.vs) }
    }

    /// Oldest block reported missing at or after `from`.
    pub fn missing_from(&self, from: Bsn) -> Option<Bsn> {
        if self.missing_count == 0 { None } else { self.missing.first(from.max(self.va), self.vs) }
    }

    /// Marks an unacknowledged block as missing.
    pub fn mark_missing(&mut self, bsn: Bsn) {
        self.note_pending();
        let known = bsn >= self.va && bsn < self.vs && self.pending.get(bsn);
        if known && !self.missing.get(bsn) {
            self.missing.set(bsn);
            self.missing_count += 1;
        }
    }

    /// Abandons a block: the sender treats it as acknowledged.
    pub fn give_up(&mut self, bsn: Bsn) {
        self.note_pending();
        self.missing_count -= u32::from(self.missing.get(bsn));
        self.missing.clear(bsn);
        self.pending.clear(bsn);
        self.set_va(self.pending.first(self.va, self.vs).unwrap_or(self.vs));
    }

    /// A radio block of EGPRS that begins with a new RLC block.
    #[inline(always)]
    fn new_egprs(&mut self, now: Tick, wanted: Scheme, preempt: bool, into: &mut RadioBlock) -> bool {
        // A radio block of two needs a second RLC block.
        let lone = wanted.is_dual() && self.feed.waiting() < u64::from(wanted.payload());
        let scheme = if lone { family::single(wanted) } else { wanted };
        let Some(first) = self.send_new(now, scheme, self.room(scheme)) else { return false };
        into.first = first;
        self.add_partner(now, scheme, preempt, into);
        true
    }

    /// A radio block of EGPRS whose first RLC block is a retransmission.
    fn repeat_egprs(
        &mut self,
        now: Tick,
        wanted: Scheme,
        preempt: bool,
        (bsn, reason): (Bsn, Reason),
        into: &mut RadioBlock,
    ) -> bool {
        let first_scheme = self.states[self.place(bsn)].scheme;
        let again = family::again(first_scheme, wanted, self.rules.resegment);
        if again.split {
            let Some(first) = self.send_half(bsn, reason, now) else { return false };
            *into = RadioBlock { scheme: again.scheme, first, second: None };
            return true;
        }
        let Some(first) = self.send(bsn, reason, now, first_scheme, BlockPart::Whole) else { return false };
        into.first = first;
        self.add_partner(now, again.scheme, preempt, into);
        true
    }

    /// Completes the radio block whose first RLC block is chosen: a second one, if the scheme carries two.
    #[inline(always)]
    fn add_partner(&mut self, now: Tick, scheme: Scheme, preempt: bool, into: &mut RadioBlock) {
        (into.scheme, into.second) = (scheme, None);
        if !scheme.is_dual() {
            return;
        }
        let new = self.missing_count == 0 && self.feed.has_data() && !self.is_closed();
        into.second = if new {
            self.send_new(now, scheme, self.room(scheme))
        } else {
            self.partner(now, scheme, into.first.bsn, preempt)
        };
        if into.second.is_none() {
            into.scheme = family::single(scheme);
        }
    }

    /// Second RLC block of a radio block, in general: missing, new, or pre-emptive, with equal payload.
    fn partner(&mut self, now: Tick, scheme: Scheme, beside: Bsn, preempt: bool) -> Option<Unit> {
        let payload_fits = |s: &Self, b: Bsn| family::pairs(scheme, s.states[s.place(b)].scheme);
        let mut at = if self.missing_count == 0 { self.vs } else { self.va };
        while let Some(b) = self.missing.first(at, self.vs) {
            if payload_fits(self, b) && b != beside {
                let first = self.states[self.place(b)].scheme;
                return self.send(b, Reason::Missing, now, first, BlockPart::Whole);
            }
            at = b + 1;
        }
        if self.feed.has_data() && !self.is_closed() {
            return self.send_new(now, scheme, self.room(scheme));
        }
        if !(preempt && self.rules.preemptive) {
            return None;
        }
        self.note_pending();
        let from = self.cycle.max(self.va);
        let b = self.pending.first(from, self.vs).or_else(|| self.pending.first(self.va, from))?;
        if b == beside || !payload_fits(self, b) {
            return None;
        }
        let first = self.states[self.place(b)].scheme;
        self.send(b, Reason::Idle, now, first, BlockPart::Whole)
    }

    /// Next block to send, and the reason.
    fn choose(&mut self, preempt: bool) -> Option<(Bsn, Reason)> {
        if self.missing_count > 0
            && let Some(b) = self.missing.first(self.va, self.vs)
        {
            return Some((b, Reason::Missing));
        }
        if self.feed.has_data() && !self.is_closed() {
            return Some((self.vs, Reason::New));
        }
        if preempt && self.rules.preemptive && self.va < self.vs {
            self.note_pending();
            let from = self.cycle.max(self.va);
            let b = self.pending.first(from, self.vs).or_else(|| self.pending.first(self.va, from))?;
            return Some((b, Reason::Idle));
        }
        None
    }

    #[inline]
    fn send(&mut self, bsn: Bsn, reason: Reason, now: Tick, scheme: Scheme, part: BlockPart) -> Option<Unit> {
        self.send_octets(bsn, reason, now, scheme, part, self.room(scheme))
    }

    /// Sends the next new block.
    #[inline(always)]
    fn send_new(&mut self, now: Tick, scheme: Scheme, octets: u32) -> Option<Unit> {
        let bsn = self.vs;
        let cut = self.feed.cut(octets, bsn)?;
        if self.keeps_cuts {
            let i = self.index(bsn);
            self.cuts[i] = cut;
        }
        if bsn - self.va > self.held {
            self.widen();
        }
        let at = self.place(bsn);
        self.vs += 1;
        self.states[at] = BlockState { sent: now, scheme, attempts: 1, half: false };
        if self.mode == Mode::Unacknowledged {
            self.va = self.vs;
        }
        let (part, last) = (BlockPart::Whole, !self.feed.has_data());
        Some(Unit { bsn, part, reason: Reason::New, attempt: 0, last, first_scheme: scheme })
    }

    fn send_octets(
        &mut self,
        bsn: Bsn,
        reason: Reason,
        now: Tick,
        scheme: Scheme,
        part: BlockPart,
        octets: u32,
    ) -> Option<Unit> {
        match reason {
            Reason::New => return self.send_new(now, scheme, octets),
            Reason::Missing => {
                self.missing.clear(bsn);
                self.missing_count -= 1;
                self.counts.missing += 1;
            }
            Reason::Idle => {
                self.cycle = bsn + 1;
                self.counts.idle += 1;
            }
        }
        let at = self.place(bsn);
        let state = &mut self.states[at];
        let attempt = state.attempts;
        (state.sent, state.attempts) = (now, attempt.saturating_add(1));
        let last = !self.feed.has_data() && bsn + 1 == self.vs;
        Some(Unit { bsn, part, reason, attempt, last, first_scheme: state.scheme })
    }

    /// Sends one half of a block; a missing block stays marked missing until its second half is sent.
    fn send_half(&mut self, bsn: Bsn, reason: Reason, now: Tick) -> Option<Unit> {
        let i = self.place(bsn);
        let (scheme, second) = (self.states[i].scheme, self.states[i].half);
        self.states[i].half = !second;
        let part = if second { BlockPart::Second } else { BlockPart::First };
        let unit = self.send(bsn, reason, now, scheme, part)?;
        if !second && reason == Reason::Missing {
            self.missing.set(bsn);
            self.missing_count += 1;
        }
        Some(unit)
    }

    /// Unacknowledged mode: releases PDUs whose blocks are all below `all`, which the receiver has delivered or lost.
    pub fn settle_unacknowledged(&mut self, all: Bsn) {
        if self.mode == Mode::Unacknowledged {
            self.feed.release(all);
        }
    }

    /// End of a TBF; the next TBF begins with block 0. Unacknowledged PDUs are segmented again; calls `again` with the
    /// token of each such PDU that was delivered before and will arrive a second time.
    pub fn restart(&mut self, numbering: Numbering, again: impl FnMut(T)) {
        self.feed.rewind(again);
        let ring = numbering.ring();
        if numbering != self.numbering {
            self.states = Self::first_states(ring, self.mode);
            self.held = self.states.len() as u32 - 1;
            if self.keeps_cuts {
                self.cuts = vec![Cut::default(); ring as usize];
            }
            (self.numbering, self.mask) = (numbering, ring - 1);
        }
        self.counts.new += u64::from(self.vs);
        (self.vs, self.fresh, self.cycle, self.missing_count) = (0, 0, 0, 0);
        self.set_va(0);
        (self.pending, self.missing) = (Bits::new(ring), Bits::new(ring));
    }
}

#[cfg(test)]
mod tests;
