//! Cell changes of a mobile, step by step (access, cell update, FLUSH-LL, routing area update), and voice calls that
//! suspend its packet service.

use super::display::Camped;
use super::user::User;
use super::{Air, Direction, Side};
use crate::mac::tbf::{DOWNLINK, Event as TbfEvent, TbfState};
use crate::mobility::{Change, Extent};
use crate::tdma::{self, Tick};
use base::event::CellStep;
use base::packet::DropReason;
use base::{Span, Time};

/// Implementation fault: time from resumed data to a FLUSH-LL that is sent to the new cell.
const WRONG_FLUSH: Span = Span::from_millis(300);

/// Time without an LLC frame before a change after which a direction counts as idle.
const QUIET: Span = Span::from_secs(1);

/// Time after its last LLC frame for which a mobile counts as in use.
const IN_USE: Span = Span::from_secs(30);

/// Time of the first step of a cell change after `seen`.
pub(super) fn next_stage(change: &Change, seen: Time) -> Time {
    let wrong = change.resumed + WRONG_FLUSH;
    let all = [
        change.synchronised,
        change.access,
        change.known,
        change.located,
        change.updated,
        change.resumed,
        wrong,
    ];
    all.into_iter().find(|at| *at > seen).unwrap_or(wrong)
}

impl User {
    /// Whether the time `at` of a step lies in the block period that ends at `t`.
    fn reached(&self, at: Time, t: Time) -> bool {
        at <= t && at + tdma::BLOCK > t
    }

    /// Cell changes, steps of a change in progress, voice calls.
    pub(super) fn move_about(&mut self, n: Tick, t: Time, air: &mut Air, side: &mut Side) {
        if self.mobility.next() <= t {
            let change = self.mobility.take();
            self.leave(change, n, t, air, side);
        }
        if let Some(change) = self.change {
            self.step_of(change, n, t, air, side);
        }
        if self.call <= t {
            self.answer(n, t, air, side);
        }
    }

    /// Starts a cell change that a trigger requests. `neighbour`: extent of the change; `None`: the extent is drawn.
    pub(super) fn force(&mut self, neighbour: Option<Extent>, now: Time, air: &mut Air, side: &mut Side) {
        let change = self.mobility.change(now, neighbour);
        self.leave(change, tdma::next_tick(now), now, air, side);
        (self.due, self.calm) = (tdma::next_tick(now), 0);
    }

    /// The mobile leaves its cell: both TBFs are lost and data are suspended.
    fn leave(&mut self, change: Change, n: Tick, t: Time, air: &mut Air, side: &mut Side) {
        self.say(side, change.decision, CellStep::Decision);
        if change.failed {
            self.changes[1] += 1;
            self.say(side, change.decision, CellStep::Failed);
        }
        // Changes of a mobile that is not in use are not counted.
        let used =
            self.inside() > 0 || change.decision.since(self.down.last_frame.max(self.up.last_frame)) < IN_USE;
        self.changes[0] += u64::from(used);
        for flow in [&mut self.down, &mut self.up] {
            // In an idle direction the gap begins with the decision, otherwise with the last frame.
            let idle = change.decision.since(flow.last_frame) > QUIET;
            flow.gap_from = Some(if idle { change.decision } else { flow.last_frame });
        }
        self.abort(Direction::Down, n, air, side);
        self.abort(Direction::Up, n, air, side);
        self.down.state = TbfState::Idle;
        self.up.state = TbfState::Idle;
        let waits_for_update = matches!(change.extent, Extent::RoutingArea | Extent::InterSgsn);
        let up = if waits_for_update { change.updated } else { change.access };
        self.suspended = [change.resumed.max(t), up.max(t)];
        let from = self.camped.at(change.decision);
        self.camped = Camped { from, to: (from.0.beyond(change.extent), change.access) };
        self.change = Some(change);
    }

    /// Executes the steps of a cell change that are due at `t`.
    fn step_of(&mut self, change: Change, n: Tick, t: Time, air: &mut Air, side: &mut Side) {
        if self.reached(change.synchronised, t) {
            self.say(side, change.synchronised, CellStep::Synchronised);
        }
        if self.reached(change.access, t) {
            self.say(side, change.access, CellStep::Access);
            self.in_new_cell(change, t);
        }
        if self.reached(change.known, t) {
            // Cell update: from an uplink LLC frame the SGSN learns the new cell.
            self.up.counts.control += 1;
            self.say(side, change.known, CellStep::CellUpdate);
            if change.deletes {
                self.say(side, change.known, CellStep::Flush);
                self.flush(t, side);
            }
        }
        if change.located > change.known && self.reached(change.located, t) {
            // Location update: request, authentication in both directions, accept (24.008 section 4.4.4).
            self.up.counts.control += 2;
            self.down.counts.control += 2;
            self.say(side, change.located, CellStep::LocationUpdate);
        }
        if change.updated > change.known && self.reached(change.updated, t) {
            self.up.counts.control += 5;
            self.down.counts.control += 4;
            self.say(side, change.updated, CellStep::RoutingAreaUpdate);
        }
        let change = self.change.unwrap_or(change);
        if self.reached(change.resumed, t) {
            self.say(side, change.resumed, CellStep::Resumed);
            // The downlink assignment is part of the cell change.
            if self.down.sender.feed.has_data() && self.down.step(DOWNLINK, TbfEvent::Data) {
                (self.down.until, self.down.full_at) = (n, 1);
            }
            if !self.mobility.faults().flush_new_cell {
                self.change = None;
            }
        }
        if self.mobility.faults().flush_new_cell && change.resumed + WRONG_FLUSH <= t {
            self.abort(Direction::Down, n, air, side);
            self.flush(t, side);
            self.change = None;
        }
    }

    /// Access to the new cell, with the configured implementation faults: resent frames, dummy outage.
    fn in_new_cell(&mut self, change: Change, t: Time) {
        let faults = self.mobility.faults();
        for i in 0..usize::from(faults.resent_frames).min(2) {
            if let Some((octets, packet, serial)) = self.recent[i] {
                let copy = self.frames.copy(octets, packet, serial);
                self.backlog.push_back(copy);
            }
        }
        let silent = !self.up.sender.feed.has_data() && self.backlog.is_empty();
        if silent && !faults.dummy_outage.is_zero() {
            // Implementation fault: a dummy LLC frame stops the data queued after it.
            let by = faults.dummy_outage;
            self.suspended = [self.suspended[0].max(t) + by, self.suspended[1].max(t) + by];
            self.change = Some(Change { resumed: change.resumed + by, ..change });
        }
    }

    /// FLUSH-LL: deletes the PCU's queue of the mobile.
    fn flush(&mut self, t: Time, side: &mut Side) {
        self.discard_pcu_queue(DropReason::Flushed, t, side);
    }

    /// The PCU's queue for the mobile ends.
    pub(super) fn discard_pcu_queue(&mut self, reason: DropReason, t: Time, side: &mut Side) {
        let mut gone = Vec::new();
        let octets = self.down.sender.feed.pdus().filter(|p| !p.delivered).map(|p| p.size).sum();
        side.content(|log| log.flush(t, self.me, octets));
        self.down.sender.feed.clear(|id, delivered| gone.push((id, delivered)));
        for (id, delivered) in gone {
            if !delivered {
                self.end(Direction::Down, id, reason, t, side);
            }
        }
    }

    /// A voice call starts: both TBFs are lost, and the SGSN queues the mobile's data until the call ends.
    fn answer(&mut self, n: Tick, t: Time, air: &mut Air, side: &mut Side) {
        let Some(gate) = &mut self.voice else { return };
        let over = gate.open_from(t, t);
        if over > t {
            self.changes[2] += 1;
            self.say(side, t, CellStep::Preempted);
            self.abort(Direction::Down, n, air, side);
            self.abort(Direction::Up, n, air, side);
            self.suspended = self.suspended.map(|s| s.max(over));
            self.sgsn_held = over;
        }
        self.next_call(over.max(t + Span::from_nanos(1)));
    }
}
