//! Set-up, timeslots, upgrade and release of a mobile's TBFs; reports received by the RLC senders.

use super::user::{User, tbf_event};
use super::{Air, Direction, Side};
use crate::mac::tbf::{DOWNLINK, Durations, Event, Setup, TbfState, UPLINK};
use crate::rlc::Mode;
use crate::tdma::{self, Tick};
use base::dist::Sampler;
use base::event::TbfStep;
use base::packet::DropReason;
use base::rng::Seed;
use base::{Span, Time};

/// Samplers of set-up times, one random stream for each procedure.
pub(super) struct Draws(Vec<Sampler>);

impl Draws {
    pub(super) fn new(durations: &Durations, name: &str, seed: Seed) -> Self {
        let sampler = |s: &Setup| Sampler::new(durations.of(*s), seed.stream(name, s.name()));
        Draws(Setup::ALL.iter().map(sampler).collect())
    }

    /// Draws the duration of a set-up procedure, block periods.
    fn ticks(&mut self, setup: Setup) -> u32 {
        let ns = self.0.get_mut(setup as usize).map_or(0.0, Sampler::draw);
        tdma::ticks(Span::from_nanos(ns as u64))
    }
}

impl User {
    /// Places the mobile on timeslots; sets up permanent TBFs.
    pub(super) fn begin(&mut self, safe: usize, air: &mut Air, side: &mut Side) {
        self.place(safe, air);
        if self.tbf.permanent {
            for direction in [Direction::Down, Direction::Up] {
                self.activate(direction, 0, true, air, side);
            }
            self.down.state = TbfState::Kept;
            self.up.state = TbfState::Kept;
            (self.down.until, self.up.until) = (Tick::MAX, Tick::MAX);
            (self.down.keep_at, self.up.keep_at) = (Tick::MAX, Tick::MAX);
        }
    }

    /// Places the mobile on the timeslots with the fewest mobiles. The first timeslot is among the lowest `safe` ones,
    /// which calls cannot take.
    fn place(&mut self, safe: usize, air: &mut Air) {
        let width = usize::from(self.down.granted.max(self.up.granted));
        let within = (safe + width - 1).min(air.load.len());
        let at = crate::mac::multislot::position(&air.load[..within], width, |_| 0);
        (self.down.first, self.up.first) = (at as u8, at as u8);
        air.load.iter_mut().skip(at).take(width).for_each(|load| *load += 1);
    }

    /// Assigns the first `slots` of the mobile's timeslots to a TBF.
    fn occupy(&mut self, direction: Direction, slots: u8, n: Tick, air: &mut Air) {
        let me = self.me;
        let flow = if direction == Direction::Up { &mut self.up } else { &mut self.down };
        flow.account(n);
        flow.used = slots;
        let first = usize::from(flow.first);
        air.occupy(direction, me, first..first + usize::from(slots));
    }

    fn activate(&mut self, direction: Direction, n: Tick, whole: bool, air: &mut Air, side: &mut Side) {
        let granted = match direction {
            Direction::Down => self.down.granted,
            Direction::Up => self.up.granted,
        };
        let slots = if whole && self.demand.is_none() { granted } else { 1 };
        self.occupy(direction, slots, n, air);
        let more =
            if slots < granted && self.demand.is_none() { self.draws.ticks(Setup::MoreSlots) } else { 0 };
        let flow = match direction {
            Direction::Down => &mut self.down,
            Direction::Up => &mut self.up,
        };
        flow.counts.tbfs += 1;
        flow.full_at = n + more;
        (flow.judged, flow.busy) = (n, 0);
        let up = direction == Direction::Up;
        side.note(tdma::start_of(n), || tbf_event(self.me, up, TbfStep::Assigned));
    }

    /// Advances the states of both TBFs by data and timers.
    #[inline]
    pub(super) fn advance_tbfs(&mut self, n: Tick, air: &mut Air, side: &mut Side) {
        self.advance_down_tbf(n, air, side);
        self.advance_up_tbf(n, air, side);
    }

    fn advance_down_tbf(&mut self, n: Tick, air: &mut Air, side: &mut Side) {
        let t = tdma::start_of(n);
        // N3105 consecutive unanswered polls end the TBF, unless it is permanent.
        if self.unanswered >= self.n3105 && !self.tbf.permanent {
            self.abort(Direction::Down, n, air, side);
        }
        let data = self.down.sender.feed.has_data() || self.down.sender.is_pending();
        match self.down.state {
            TbfState::Idle if data && self.suspended[0] <= t => {
                self.down.step(DOWNLINK, Event::Data);
                side.note(t, || tbf_event(self.me, false, TbfStep::Requested));
                let (setup, whole) = self.way_down(n);
                self.down.until = n + setup;
                self.down.full_at = u32::from(whole);
                if setup == 0 {
                    self.advance_down_tbf(n, air, side);
                }
            }
            TbfState::Requested if self.down.until <= n => {
                let whole = self.down.full_at > 0;
                self.down.step(DOWNLINK, Event::Assigned);
                self.activate(Direction::Down, n, whole, air, side);
            }
            TbfState::Active => {
                if self.down.used < self.down.granted && self.down.full_at <= n && self.demand.is_none() {
                    self.occupy(Direction::Down, self.down.granted, n, air);
                }
                self.judge_demand(Direction::Down, n, air);
                let unacknowledged = self.down.mode == Mode::Unacknowledged;
                if self.down.sender.is_done() && (unacknowledged || !data) {
                    self.drain_down(n, air, side);
                }
            }
            TbfState::Kept if data => {
                self.down.step(DOWNLINK, Event::Data);
            }
            TbfState::Kept if self.down.until <= n => {
                self.down.step(DOWNLINK, Event::HoldOver);
                self.release_down(n, air, side);
            }
            _ => {}
        }
    }

    /// Draws the duration of a downlink assignment; returns also whether the assignment includes all timeslots.
    fn way_down(&mut self, n: Tick) -> (u32, bool) {
        if self.up.is_up() || n < self.t3192 {
            return (self.draws.ticks(Setup::DownlinkOnPacch), true);
        }
        let agch = self.draws.ticks(Setup::DownlinkOnAgch);
        if n < self.non_drx {
            return (agch, false);
        }
        if n < self.ready || self.ready == 0 {
            return (agch + self.draws.ticks(Setup::PagingGroup), false);
        }
        (agch + self.draws.ticks(Setup::Paging), false)
    }

    /// All data are acknowledged: delays the release of the TBF, or releases it.
    fn drain_down(&mut self, n: Tick, air: &mut Air, side: &mut Side) {
        let hold = tdma::ticks(std::mem::take(&mut self.hold[0]));
        let t = tdma::start_of(n);
        if self.tbf.permanent {
            self.down.step(DOWNLINK, Event::Drained);
            (self.down.until, self.down.keep_at) = (Tick::MAX, Tick::MAX);
        } else if hold > 0 {
            self.down.step(DOWNLINK, Event::Drained);
            self.down.until = n + hold;
            self.down.keep_at = n + tdma::ticks(self.tbf.keep_alive).max(1);
            side.note(t, || tbf_event(self.me, false, TbfStep::Kept));
        } else {
            self.down.step(DOWNLINK, Event::Acknowledged);
            self.release_down(n, air, side);
        }
    }

    fn release_down(&mut self, n: Tick, air: &mut Air, side: &mut Side) {
        self.settle_rest(Direction::Down, n, side);
        self.down.restart(n);
        self.occupy(Direction::Down, 0, n, air);
        self.forget_polls(air);
        self.t3192 = n + tdma::ticks(self.tbf.t3192);
        self.non_drx = self.t3192 + tdma::ticks(self.tbf.non_drx);
        side.note(tdma::start_of(n), || tbf_event(self.me, false, TbfStep::Released));
    }

    fn advance_up_tbf(&mut self, n: Tick, air: &mut Air, side: &mut Side) {
        let t = tdma::start_of(n);
        let data = self.up.sender.feed.has_data() || self.up.sender.is_pending() || !self.backlog.is_empty();
        match self.up.state {
            TbfState::Idle if data && self.suspended[1] <= t => {
                self.up.step(UPLINK, Event::Data);
                side.note(t, || tbf_event(self.me, true, TbfStep::Requested));
                self.ask_up(n);
                if self.up.until == n {
                    self.advance_up_tbf(n, air, side);
                }
            }
            TbfState::Requested if self.up.until == Tick::MAX && !self.down.is_up() => {
                // The downlink TBF whose report would have carried the channel request was released.
                self.wants_channel = false;
                self.ask_up(n);
            }
            TbfState::Requested if self.up.until <= n => {
                self.up.step(UPLINK, Event::Assigned);
                // One-phase access assigns one timeslot; two-phase access and PACCH assign all timeslots.
                let whole = self.up.full_at > 0;
                self.activate(Direction::Up, n, whole, air, side);
                self.ready = n + tdma::ticks(self.tbf.ready);
            }
            TbfState::Active => {
                if self.up.used < self.up.granted && self.up.full_at <= n && self.demand.is_none() {
                    self.occupy(Direction::Up, self.up.granted, n, air);
                }
                self.judge_demand(Direction::Up, n, air);
                if self.up.sender.is_done() && !data && self.keeps[1] {
                    self.drain_up(n, side);
                }
            }
            // The mobile sends at its next USF; a permanent TBF can use every block.
            TbfState::Kept if data && (self.tbf.permanent || self.up.keep_at <= n) => {
                self.up.step(UPLINK, Event::Data);
            }
            TbfState::Kept if self.up.until <= n => {
                self.up.step(UPLINK, Event::HoldOver);
                self.release_up(n, air, side);
            }
            _ => {}
        }
    }

    /// Requests an uplink TBF, by channel request in a downlink report or by random access.
    fn ask_up(&mut self, n: Tick) {
        if self.down.is_up() && !self.tbf.permanent {
            self.wants_channel = true;
            self.up.until = Tick::MAX;
            self.up.full_at = 1;
            return;
        }
        let mut ticks = self.draws.ticks(Setup::Access);
        if self.tbf.two_phases {
            ticks += self.draws.ticks(Setup::SecondPhase);
        }
        self.up.until = n + ticks;
        self.up.full_at = u32::from(self.tbf.two_phases || ticks == 0);
    }

    /// The network has received a channel request in a downlink report: draws the time of the assignment.
    pub(super) fn requested_on_pacch(&mut self, n: Tick) {
        self.wants_channel = false;
        if self.up.state == TbfState::Requested && self.up.until == Tick::MAX {
            self.up.until = n + self.draws.ticks(Setup::UplinkOnPacch);
        }
    }

    /// End of a TBF in unacknowledged mode: the remaining frames have missing blocks and are lost.
    fn settle_rest(&mut self, direction: Direction, n: Tick, side: &mut Side) {
        let flow = if direction == Direction::Up { &mut self.up } else { &mut self.down };
        if flow.mode == Mode::Acknowledged {
            return;
        }
        let lost: Vec<_> = std::iter::from_fn(|| flow.sender.feed.settle()).collect();
        flow.sender.settle_unacknowledged(u32::MAX - 1);
        let t = tdma::start_of(n);
        lost.into_iter().for_each(|id| self.end(direction, id, DropReason::Loss, t, side));
    }

    fn drain_up(&mut self, n: Tick, side: &mut Side) {
        self.up.step(UPLINK, Event::Drained);
        if self.tbf.permanent {
            (self.up.until, self.up.keep_at) = (Tick::MAX, Tick::MAX);
            return;
        }
        self.up.until = n + tdma::ticks(std::mem::take(&mut self.hold[1]));
        self.up.keep_at = n + tdma::ticks(self.tbf.keep_alive).max(1);
        side.note(tdma::start_of(n), || tbf_event(self.me, true, TbfStep::Kept));
    }

    fn release_up(&mut self, n: Tick, air: &mut Air, side: &mut Side) {
        self.settle_rest(Direction::Up, n, side);
        self.up.restart(n);
        self.occupy(Direction::Up, 0, n, air);
        self.committed = false;
        self.non_drx = self.non_drx.max(n + tdma::ticks(self.tbf.non_drx));
        self.ready = n + tdma::ticks(self.tbf.ready);
        side.note(tdma::start_of(n), || tbf_event(self.me, true, TbfStep::Released));
    }

    /// Processes the reports that the senders of the mobile receive by tick `n`.
    #[inline]
    pub(super) fn take_reports(&mut self, n: Tick, t: Time, air: &mut Air, side: &mut Side) {
        while let Some(report) = self.down.report_at(n) {
            let before = self.down.sender.outstanding();
            let heard = self.down.sender.on_report(&report, n);
            self.down.poller.reported(heard.missing + heard.held_off, before);
            self.forgive(Direction::Down, t, side);
            self.down.was_stalled &= self.down.sender.is_stalled();
        }
        while let Some(report) = self.up.report_at(n) {
            let mut heard = self.up.sender.on_report(&report, n);
            self.forgive(Direction::Up, t, side);
            heard.all |= self.forgives && self.up.sender.is_done();
            self.up.was_stalled &= self.up.sender.is_stalled();
            if heard.all && report.last && self.up.step(UPLINK, Event::Acknowledged) {
                self.release_up(n, air, side);
                // Frames that the countdown has excluded join the next TBF.
                self.admit_up(t, side);
            }
        }
    }

    /// Clears polls and reservations of the downlink TBF.
    fn forget_polls(&mut self, air: &mut Air) {
        (self.polls, self.unanswered, self.poll_due) = (0, 0, false);
        air.forget_polls(self.me);
    }

    /// Ends the TBF of a direction abnormally; its LLC frames wait for the next TBF.
    pub(super) fn abort(&mut self, direction: Direction, n: Tick, air: &mut Air, side: &mut Side) {
        let up = direction == Direction::Up;
        self.unspoil(direction);
        let moved = match direction {
            Direction::Down => self.down.step(DOWNLINK, Event::Abort),
            Direction::Up => self.up.step(UPLINK, Event::Abort),
        };
        match direction {
            Direction::Down => {
                self.down.restart(n);
                self.forget_polls(air);
            }
            Direction::Up => {
                self.up.restart(n);
                (self.committed, self.wants_channel) = (false, false);
            }
        }
        if moved {
            let flow = if up { &mut self.up } else { &mut self.down };
            flow.counts.lost_tbfs += 1;
            self.occupy(direction, 0, n, air);
            side.note(tdma::start_of(n), || tbf_event(self.me, up, TbfStep::Lost));
        }
    }

    /// Timeslots on demand (GP-39): adds a timeslot at high use, removes one at low use.
    fn judge_demand(&mut self, direction: Direction, n: Tick, air: &mut Air) {
        let Some(demand) = self.demand else { return };
        let (most, flow) = match direction {
            Direction::Down => (self.class.grant(true, self.down.granted, self.up.used), &mut self.down),
            Direction::Up => (self.class.grant(false, self.up.granted, self.down.used), &mut self.up),
        };
        let period = tdma::ticks(demand.period).max(1);
        if n - flow.judged < period {
            return;
        }
        let share = f64::from(flow.busy) / (f64::from(n - flow.judged) * f64::from(flow.used.max(1)));
        let slots = if share > demand.grow {
            (flow.used + 1).min(most)
        } else if share < demand.shrink {
            (flow.used - 1).max(1)
        } else {
            flow.used.min(most)
        };
        (flow.judged, flow.busy) = (n, 0);
        if slots != flow.used {
            self.occupy(direction, slots, n, air);
        }
    }

    /// RLC abandons PDUs whose persistence time has expired, with the TBF.
    pub(super) fn give_up_old(&mut self, n: Tick, t: Time, air: &mut Air, side: &mut Side) {
        for direction in [Direction::Down, Direction::Up] {
            let flow = if direction == Direction::Up { &self.up } else { &self.down };
            let Some(most) = flow.persistence else { continue };
            let old = |since: Time| t.since(since) > most;
            let Some(oldest) = flow.sender.feed.pdus().find(|p| !p.delivered) else { continue };
            if old(self.frames.get(oldest.token).since) {
                self.abort(direction, n, air, side);
                let mut gone = Vec::new();
                let frames = &self.frames;
                let flow = if direction == Direction::Up { &mut self.up } else { &mut self.down };
                flow.sender
                    .feed
                    .discard(|p| old(frames.get(p.token).since), |id, delivered| gone.push((id, delivered)));
                for (id, delivered) in gone {
                    if !delivered {
                        self.end(direction, id, DropReason::GivenUp, t, side);
                    }
                }
            }
        }
    }

    /// Acknowledged LLC deletes the copies of a frame from the RLC queue, with loss of the TBF.
    pub(super) fn drop_copies(
        &mut self,
        direction: Direction,
        frame: super::frames::FrameId,
        n: Tick,
        t: Time,
        air: &mut Air,
        side: &mut Side,
    ) {
        let flow = if direction == Direction::Up { &self.up } else { &self.down };
        if !flow.sender.feed.pdus().any(|p| p.token == frame && !p.delivered) {
            return;
        }
        self.abort(direction, n, air, side);
        let mut gone = Vec::new();
        let flow = if direction == Direction::Up { &mut self.up } else { &mut self.down };
        flow.sender.feed.discard(|p| p.token == frame, |id, delivered| gone.push((id, delivered)));
        for (id, delivered) in gone {
            if !delivered {
                self.end(direction, id, DropReason::Flushed, t, side);
            }
        }
    }
}
