//! Downlink radio blocks: RLC data with polls, dummy blocks that keep a TBF, Packet Uplink Ack/Nack, delivery of complete
//! LLC frames.

use super::config::IdleRepeat;
use super::content::BlockSent;
use super::tbf_direction::BlockReception;
use super::user::User;
use super::{Air, Direction, Reservation, Side};
use crate::coding::Scheme;
use crate::mac::tbf::TbfState;
use crate::rlc::Mode;
use crate::rlc::send::{RadioBlock, Reason};
use crate::tdma::{self, Tick};
use base::Time;
use base::event::{BlockUse, Event};
use base::packet::DropReason;

/// Number of a coding scheme in events: n for CS-n, 10 + n for MCS-n.
pub(super) fn scheme_number(scheme: Scheme) -> u8 {
    scheme.number() + if scheme.is_egprs() { 10 } else { 0 }
}

/// Purpose of a data block in events.
pub(super) fn purpose(reason: Reason) -> BlockUse {
    match reason {
        Reason::New => BlockUse::New,
        Reason::Missing => BlockUse::Missing,
        Reason::Idle => BlockUse::Idle,
    }
}

impl User {
    /// Scheduling priority of the mobile for a downlink block, 3 the highest; `None` if the mobile has no block to receive.
    #[inline]
    pub(super) fn down_priority(&self, n: Tick, slot: usize) -> Option<u8> {
        let d = &self.down;
        match d.state {
            TbfState::Active if d.sender.has_work() => Some(3),
            // A pending poll needs a timeslot on which the mobile can answer.
            TbfState::Active if self.poll_due && d.sender.is_pending() && self.answers_on(slot) => Some(3),
            TbfState::Active if d.sender.is_pending() => match d.idle {
                IdleRepeat::Never => (self.polls == 0 && d.may_repeat(n)).then_some(2),
                IdleRepeat::WhenFree => Some(1),
                IdleRepeat::Always => Some(3),
            },
            TbfState::Kept if d.keep_at <= n && self.answers_on(slot) => Some(2),
            _ => None,
        }
    }

    /// Whether the mobile can answer a poll on this timeslot: its multislot class permits transmission there
    /// (44.060 section 10.4.5).
    #[inline]
    fn answers_on(&self, slot: usize) -> bool {
        let first = usize::from(self.up.first);
        (first..first + usize::from(self.up.granted)).contains(&slot)
    }

    /// Delivers the LLC frames whose blocks are all before `complete`.
    #[inline]
    pub(super) fn deliver(&mut self, direction: Direction, complete: u32, t: Time, side: &mut Side) {
        let flow = if direction == Direction::Up { &self.up } else { &self.down };
        if flow.mode == Mode::Unacknowledged || flow.sender.feed.is_due(complete) {
            self.hand_over(direction, complete, t, side);
        }
    }

    #[inline(never)]
    fn hand_over(&mut self, direction: Direction, complete: u32, t: Time, side: &mut Side) {
        let mut whole = std::mem::take(&mut self.arriving);
        let flow = if direction == Direction::Up { &mut self.up } else { &mut self.down };
        if flow.mode == Mode::Acknowledged {
            let frames = &self.frames;
            flow.sender.feed.deliver(complete, |id| whole.push((id, !frames.get(id).spoiled)));
        } else {
            while let Some((first, last)) = flow.sender.feed.undelivered().map(|p| (p.first, p.last)) {
                let Some(all) = flow.receiver.has_all(first, last) else { break };
                whole.extend(flow.sender.feed.settle().map(|id| (id, all)));
            }
            flow.sender.settle_unacknowledged(complete);
        }
        for &(id, all) in &whole {
            if all {
                self.arrived(direction, id, t, side);
            } else {
                self.end(direction, id, DropReason::Loss, t, side);
            }
        }
        whole.clear();
        self.arriving = whole;
    }
}

/// Records the event of a data block.
pub(super) fn note(
    side: &mut Side,
    user: u8,
    up: bool,
    slot: usize,
    n: Tick,
    block: &RadioBlock,
    arrived: bool,
) {
    let slot = slot as u8;
    side.note(tdma::start_of(n), || Event::RadioBlock {
        user: u32::from(user),
        up,
        slot,
        scheme: scheme_number(block.scheme),
        block: block.first.bsn,
        purpose: purpose(block.first.reason),
        arrived,
    });
}

/// Records the event of a block without RLC data.
pub(super) fn note_empty(
    side: &mut Side,
    user: u8,
    up: bool,
    slot: usize,
    n: Tick,
    what: BlockUse,
    arrived: bool,
) {
    let (slot, user) = (slot as u8, u32::from(user));
    side.note(tdma::start_of(n), || Event::RadioBlock {
        user,
        up,
        slot,
        scheme: 1,
        block: 0,
        purpose: what,
        arrived,
    });
}

/// Sends a downlink block to a mobile on a timeslot; returns the block's coding scheme.
#[inline]
pub(super) fn block(user: &mut User, air: &mut Air, side: &mut Side, slot: usize, n: Tick) -> Scheme {
    air.down[slot].used += 1;
    let me = user.me;
    let polls_here = user.answers_on(slot);
    let d = &mut user.down;
    let repeat = d.may_repeat(n) || user.poll_due && polls_here;
    d.sent_at = n;
    let Some(block) = d.sender.next(n, d.scheme, repeat) else {
        empty(user, air, side, slot, n);
        return Scheme::Cs1;
    };
    d.count_sent(&block);
    let BlockReception { arrived, useful, before, complete, .. } = d.receive(&block, n, true);
    user.useful += u64::from(useful);
    note(side, me, false, slot, n, &block, arrived);
    let keeps = user.keeps[0];
    side.content(|log| {
        let frames = &user.frames;
        log.block(
            BlockSent { user: me, up: false, slot, tick: n, arrived },
            &d.sender,
            frames,
            &block,
            15,
            keeps,
        );
    });
    if d.sender.is_stalled() {
        user.calm = 0;
        if !d.was_stalled {
            d.was_stalled = true;
            d.counts.stalls += 1;
            let va = d.sender.va();
            side.note(tdma::start_of(n), || Event::RadioStalled {
                user: u32::from(me),
                up: false,
                block: va,
            });
        }
    }
    let last = block.first.last || block.second.is_some_and(|u| u.last);
    let force = (last || d.was_stalled || block.first.reason == Reason::Idle) && user.polls == 0;
    user.poll_due |= d.poller.block(false, force);
    if arrived && complete > before || user.down.mode == Mode::Unacknowledged {
        let t = tdma::start_of(n) + tdma::AIR + user.delays.abis;
        user.deliver(Direction::Down, complete, t, side);
    }
    if user.poll_due && polls_here {
        let reserved = poll(user, air, slot, n, arrived);
        side.content(|log| log.polled(reserved));
    }
    block.scheme
}

/// Sends a dummy block, which keeps the TBF, with a poll: in its answer the mobile can request an uplink TBF.
fn empty(user: &mut User, air: &mut Air, side: &mut Side, slot: usize, n: Tick) {
    let d = &mut user.down;
    d.counts.dummy += 1;
    d.keep_at = n + tdma::ticks(user.tbf.keep_alive).max(1);
    let arrived = d.quality.decodes(n, Scheme::Cs1, true);
    note_empty(side, user.me, false, slot, n, BlockUse::Dummy, arrived);
    let me = user.me;
    side.content(|log| log.dummy(BlockSent { user: me, up: false, slot, tick: n, arrived }));
    let reserved = poll(user, air, slot, n, arrived);
    side.content(|log| log.polled(reserved));
}

/// Reserves an uplink block for the answer to a poll; returns the delay in block periods. `heard`: the mobile decoded
/// the poll. `None` if no block is free; the poll then remains due.
fn poll(user: &mut User, air: &mut Air, slot: usize, n: Tick, heard: bool) -> Option<u32> {
    let at = air.reserve(slot, n, Reservation { of: user.me + 1, heard })?;
    user.polls += 1;
    user.poll_due = false;
    Some(at - n)
}

/// Sends the first queued control block of a timeslot, a Packet Uplink Ack/Nack.
pub(super) fn control(users: &mut [User], air: &mut Air, side: &mut Side, slot: usize, n: Tick) {
    let Some(control) = air.dequeue(slot) else { return };
    air.down[slot].used += 1;
    let user = &mut users[usize::from(control.user)];
    (user.ack_due, user.calm) = (false, 0);
    if !user.up.is_up() {
        return;
    }
    user.down.counts.control += 1;
    user.up.counts.reports += 1;
    let report = user.up.receiver.report();
    let arrived = user.down.quality.decodes(n, Scheme::Cs1, true);
    let (me, complete, end) = (u32::from(user.me), report.complete, report.end);
    side.note(tdma::start_of(n), || Event::RadioReport { user: me, up: true, complete, end, arrived });
    note_empty(side, user.me, false, slot, n, BlockUse::Control, arrived);
    let (sent, scheme) = (BlockSent { user: user.me, up: false, slot, tick: n, arrived }, user.up.scheme);
    side.content(|log| log.report(sent, scheme, &report, None));
    if arrived {
        user.up.reports.push_back((n + 1, report));
    } else if report.last {
        // The final report is sent again if the mobile did not decode it (N3103).
        user.ask_report(air, n + 5);
    }
}
