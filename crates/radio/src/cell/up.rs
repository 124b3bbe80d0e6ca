//! Uplink radio blocks (3GPP TS 44.060): RLC data with countdown value, Packet Downlink Ack/Nack, Packet Uplink Dummy
//! Control Block.

use super::config::IdleRepeat;
use super::content::BlockSent;
use super::down::{note, note_empty};
use super::tbf_direction::BlockReception;
use super::user::User;
use super::{Air, Direction, PendingReport, Side, reaction};
use crate::coding::Scheme;
use crate::mac::countdown;
use crate::mac::tbf::{Event as TbfEvent, TbfState, UPLINK};
use crate::rlc::Mode;
use crate::rlc::send::Reason;
use crate::tdma::{self, Tick};
use base::event::{BlockUse, Event};

impl User {
    /// Scheduling priority of the mobile for an uplink block, 3 the highest; `None` if the network grants it no block.
    #[inline]
    pub(super) fn up_priority(&self, n: Tick) -> Option<u8> {
        let d = &self.up;
        match d.state {
            TbfState::Active | TbfState::Final => {
                if d.sender.has_work() {
                    return Some(3);
                }
                let open = d.sender.is_pending() && !d.receiver.is_complete() && d.may_repeat(n);
                open.then_some(if d.idle == IdleRepeat::Always { 3 } else { 1 })
            }
            TbfState::Kept if d.keep_at <= n => Some(2),
            _ => None,
        }
    }

    /// Queues a Packet Uplink Ack/Nack on the mobile's first uplink timeslot, not before tick `ready`.
    pub(super) fn ask_report(&mut self, air: &mut Air, ready: Tick) {
        if std::mem::replace(&mut self.ack_due, true) {
            return;
        }
        let slot = usize::from(self.up.first).min(air.slots - 1);
        air.queue(slot, PendingReport { user: self.me, ready });
    }
}

/// Sends an uplink block of a mobile on a timeslot: RLC data, or a dummy block.
#[inline]
pub(super) fn block(user: &mut User, air: &mut Air, side: &mut Side, slot: usize, n: Tick) {
    air.up[slot].used += 1;
    let me = user.me;
    let extended = user.keeps[1];
    let d = &mut user.up;
    let repeat = d.may_repeat(n);
    d.sent_at = n;
    let Some(block) = d.sender.next(n, d.scheme, repeat) else {
        // The mobile answers a USF without data.
        d.counts.dummy += 1;
        d.keep_at = n + tdma::ticks(user.tbf.keep_alive).max(1);
        side.content(|log| log.dummy(BlockSent { user: me, up: true, slot, tick: n, arrived: true }));
        return note_empty(side, me, true, slot, n, BlockUse::Dummy, true);
    };
    d.count_sent(&block);
    if !extended && !user.committed {
        let left = d.sender.feed.blocks_left(d.scheme.payload());
        let cv = countdown::value(left, u32::from(d.used), user.tbf.bs_cv_max);
        user.committed = cv < countdown::MANY;
    }
    let last = block.first.last || block.second.is_some_and(|u| u.last);
    let BlockReception { arrived, gap, before, complete, .. } = d.receive(&block, n, !extended);
    note(side, me, true, slot, n, &block, arrived);
    side.content(|log| {
        // Number of blocks after the first one of this radio block (TBC - BSN' - 1).
        let behind = d.sender.vs().saturating_sub(block.first.bsn + 1);
        let left = d.sender.feed.blocks_left(d.scheme.payload()) + behind;
        let cv = if extended { 15 } else { countdown::value(left, u32::from(d.used), user.tbf.bs_cv_max) };
        let frames = &user.frames;
        log.block(
            BlockSent { user: me, up: true, slot, tick: n, arrived },
            &d.sender,
            frames,
            &block,
            cv as u8,
            true,
        );
    });
    if d.sender.is_stalled() {
        user.calm = 0;
        if !d.was_stalled {
            d.was_stalled = true;
            d.counts.stalls += 1;
            let va = d.sender.va();
            side.note(tdma::start_of(n), || Event::RadioStalled { user: u32::from(me), up: true, block: va });
        }
    }
    let unacknowledged = d.mode == Mode::Unacknowledged;
    if last && !extended && d.state == TbfState::Active {
        d.step(UPLINK, TbfEvent::FinalSent);
    }
    if arrived {
        let force = last || d.was_stalled || d.receiver.is_complete() || block.first.reason == Reason::Idle;
        let due = d.poller.block(gap, force && !user.ack_due);
        if complete > before || unacknowledged {
            let t = tdma::start_of(n) + tdma::AIR + user.delays.abis;
            user.deliver(Direction::Up, complete, t, side);
        }
        if due {
            let ready = n + reaction(user.delays.abis);
            user.ask_report(air, ready);
        }
    }
}

/// Sends the Packet Downlink Ack/Nack in an uplink block that a poll reserved. `heard`: the mobile decoded the poll;
/// otherwise the block stays empty.
pub(super) fn polled(user: &mut User, side: &mut Side, slot: usize, n: Tick, heard: bool) {
    user.polls = user.polls.saturating_sub(1);
    user.calm = 0;
    if !user.down.is_up() {
        return;
    }
    if !heard {
        user.unanswered += 1;
        return;
    }
    user.up.counts.control += 1;
    user.down.counts.reports += 1;
    let report = user.down.receiver.report();
    let arrived = user.up.quality.decodes(n, Scheme::Cs1, true);
    let (me, complete, end) = (u32::from(user.me), report.complete, report.end);
    side.note(tdma::start_of(n), || Event::RadioReport { user: me, up: false, complete, end, arrived });
    note_empty(side, user.me, true, slot, n, BlockUse::Control, arrived);
    let wants = user.wants_channel.then(|| {
        let frames = user.backlog.iter().map(|id| u64::from(user.frames.get(*id).octets)).sum::<u64>();
        (user.up.sender.feed.waiting() + frames).min(u64::from(u16::MAX)) as u16
    });
    let (sent, scheme) = (BlockSent { user: user.me, up: true, slot, tick: n, arrived }, user.down.scheme);
    side.content(|log| log.report(sent, scheme, &report, wants));
    if !arrived {
        user.unanswered += 1;
        return;
    }
    user.unanswered = 0;
    let at = n + reaction(user.delays.abis);
    user.down.reports.push_back((at, report));
    if user.wants_channel {
        user.requested_on_pacch(at);
    }
}
