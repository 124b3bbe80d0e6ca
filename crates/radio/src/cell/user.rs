//! State of one mobile ([`User`]): queues on both sides, arrival and loss of frames, acknowledged LLC, next due tick.

use super::abm::{Abm, Act};
use super::changes::next_stage as change_stage;
use super::config::{Delays, Demand, DirectionConfig, LlcConfig, Room, Traffic, UserConfig};
use super::content::TapPoint;
use super::counts::UserCounts;
use super::display::Camped;
use super::frames::{FrameId, Frames};
use super::setup::Draws;
use super::tbf_direction::TbfDirection;
use super::{Air, Direction, Side, traffic};
use crate::bssgp::Sgsn;
use crate::llc::{LlcMode, Segmentation};
use crate::mac::multislot::Class;
use crate::mac::tbf::{TbfConfig, TbfState};
use crate::mobility::{Change, Mobility};
use crate::quality::Quality;
use crate::rlc::Mode;
use crate::tdma::{self, Tick};
use base::event::{Event, FrameFate, TbfStep};
use base::packet::{DropReason, Packet};
use base::rng::Seed;
use base::{Span, Time};
use std::collections::VecDeque;

/// One mobile with its bearer.
pub(super) struct User {
    pub(super) me: u8,
    pub(super) weight: u32,
    pub(super) class: Class,
    pub(super) down: TbfDirection,
    pub(super) up: TbfDirection,
    pub(super) tbf: TbfConfig,
    /// Traffic classes.
    pub(super) traffic: Vec<Traffic>,
    /// Whether a traffic class has no RLC retransmission.
    pub(super) forgives: bool,
    /// Release delay of each TBF once its present data are acknowledged, downlink and uplink.
    pub(super) hold: [Span; 2],
    /// Whether TBFs can be kept without data (delayed release, extended uplink TBF), downlink and uplink.
    pub(super) keeps: [bool; 2],
    pub(super) demand: Option<Demand>,
    pub(super) n3105: u32,
    pub(super) segmentation: Segmentation,
    pub(super) llc: LlcConfig,
    pub(super) delays: Delays,
    pub(super) draws: Draws,
    pub(super) frames: Frames,
    pub(super) abm: Option<[Abm; 2]>,
    /// Downlink packets between GGSN and SGSN, with arrival times.
    pub(super) core: VecDeque<(Time, Packet)>,
    pub(super) sgsn: Sgsn<FrameId>,
    pub(super) sgsn_next: Option<Time>,
    pub(super) rlc_buffer: Option<u64>,
    /// Downlink frames between SGSN and PCU, with arrival times.
    pub(super) pcu: VecDeque<(Time, FrameId)>,
    pub(super) terminal: Room,
    pub(super) terminal_octets: u64,
    pub(super) terminal_packets: u32,
    /// Uplink frames that are not in RLC, because the TBF's countdown has begun.
    pub(super) backlog: VecDeque<FrameId>,
    pub(super) committed: bool,
    /// The next downlink report carries a channel request for an uplink TBF.
    pub(super) wants_channel: bool,
    /// Number of downlink polls whose reserved block is in the future.
    pub(super) polls: u32,
    /// Number of consecutive unanswered polls.
    pub(super) unanswered: u32,
    /// A poll is due and has no reserved block; it needs a timeslot where the mobile can answer.
    pub(super) poll_due: bool,
    /// A Packet Uplink Ack/Nack is queued.
    pub(super) ack_due: bool,
    pub(super) t3192: Tick,
    pub(super) non_drx: Tick,
    pub(super) ready: Tick,
    pub(super) suspended: [Time; 2],
    pub(super) sgsn_held: Time,
    /// End of the last restart of the SGSN; below, of an element without which no frame reaches the PCU.
    pub(super) sgsn_away: Time,
    pub(super) pcu_away: Time,
    pub(super) mobility: Mobility,
    pub(super) change: Option<Change>,
    pub(super) camped: Camped,
    pub(super) voice: Option<path::gate::Gate>,
    pub(super) call: Time,
    /// Octets, packet and log index of the last two uplink frames received, for a mobile that resends frames.
    pub(super) recent: [Option<(u32, Packet, u32)>; 2],
    /// Packets that leave the bearer, with times, downlink and uplink.
    pub(super) out: [VecDeque<(Time, Packet)>; 2],
    pub(super) cable_free: Time,
    pub(super) gb_up_free: Time,
    pub(super) gn_free: [Time; 2],
    pub(super) gb: crate::bssgp::SgsnConfig,
    pub(super) changes: [u64; 3],
    /// Restarts of PCU, BSC and SGSN during use, and the time that they took.
    pub(super) restarts: [u64; 3],
    pub(super) restart_time: Span,
    pub(super) useful: u64,
    pub(super) due: Tick,
    /// First tick in which [`User::prepare`] may have work; 0 after a packet, a report, a signal or a stall.
    pub(super) calm: Tick,
    /// The RLC queue was full at the previous check.
    pub(super) gated: bool,
    /// Reused buffer for frames that are delivered together.
    pub(super) arriving: Vec<(FrameId, bool)>,
}

impl User {
    pub(super) fn new(me: u8, config: &UserConfig, slots: usize, seed: Seed) -> Self {
        let name = &config.name;
        let most = slots as u8;
        let up_slots = config.class.grant(false, config.up.slots.min(most), 1);
        let down_slots = config.class.grant(true, config.down.slots.min(most), up_slots);
        let quality =
            |d: &DirectionConfig, purpose| Quality::new(d.quality.clone(), seed.stream(name, purpose));
        let voice = config.voice.as_ref().map(|v| {
            let closures = path::gate::Closures::Process {
                every: v.every.clone(),
                from: path::gate::IntervalReference::End,
                first: path::gate::FirstInterval::Stationary,
                lasts: v.lasts.clone(),
            };
            path::gate::Gate::new(closures, &format!("{name}.voice"), seed)
        });
        let acknowledged = config.llc.mode == LlcMode::Acknowledged;
        let mut user = User {
            me,
            weight: config.weight.max(1),
            class: config.class,
            down: TbfDirection::new(&config.down, down_slots, 0, quality(&config.down, "down")),
            up: TbfDirection::new(&config.up, up_slots, 0, quality(&config.up, "up")),
            tbf: config.tbf.clone(),
            traffic: config.traffic.clone(),
            forgives: config.traffic.iter().any(|t| !t.repeats),
            hold: [Span::ZERO; 2],
            keeps: traffic::keeps(config),
            demand: config.demand,
            n3105: config.n3105,
            segmentation: Segmentation { n201: config.llc.n201, mode: config.llc.mode },
            llc: config.llc,
            delays: config.delays,
            draws: Draws::new(&config.tbf.setup, name, seed),
            frames: Frames::new(),
            abm: acknowledged.then(|| [Abm::new(&config.llc), Abm::new(&config.llc)]),
            core: VecDeque::new(),
            sgsn: Sgsn::new(config.sgsn),
            sgsn_next: None,
            rlc_buffer: config.rlc_buffer,
            pcu: VecDeque::new(),
            terminal: config.terminal,
            terminal_octets: 0,
            terminal_packets: 0,
            backlog: VecDeque::new(),
            committed: false,
            wants_channel: false,
            polls: 0,
            unanswered: 0,
            poll_due: false,
            ack_due: false,
            t3192: 0,
            non_drx: 0,
            ready: 0,
            suspended: [Time::ZERO; 2],
            sgsn_held: Time::ZERO,
            sgsn_away: Time::ZERO,
            pcu_away: Time::ZERO,
            mobility: Mobility::new(&config.mobility, &format!("{name}.mobility"), seed),
            change: None,
            camped: Camped::FIRST,
            voice,
            call: Time::NEVER,
            recent: [None; 2],
            out: [VecDeque::new(), VecDeque::new()],
            cable_free: Time::ZERO,
            gb_up_free: Time::ZERO,
            gn_free: [Time::ZERO; 2],
            gb: config.sgsn,
            changes: [0; 3],
            restarts: [0; 3],
            restart_time: Span::ZERO,
            useful: 0,
            due: 0,
            calm: 0,
            gated: false,
            arriving: Vec::new(),
        };
        user.next_call(Time::ZERO);
        user.due = tdma::next_tick(user.mobility.next().min(user.call));
        if user.tbf.permanent {
            user.due = 0;
        }
        user
    }

    /// Sets the start of the next voice call from `from` on.
    pub(super) fn next_call(&mut self, from: Time) {
        if let Some(gate) = &mut self.voice {
            let (closed, until) = gate.phase(from, from);
            self.call = if closed { from } else { until };
        }
    }

    /// A frame in RLC or in a queue is lost; without acknowledged LLC its packet ends.
    pub(super) fn end(
        &mut self,
        direction: Direction,
        id: FrameId,
        reason: DropReason,
        t: Time,
        side: &mut Side,
    ) {
        let octets = self.frames.get(id).octets;
        let packet = *self.frames.packet(id);
        let up = direction == Direction::Up;
        side.note(t, || llc(u32::from(self.me), up, packet.id, octets, FrameFate::Discarded));
        // Acknowledged LLC still refers to the frame and will retransmit it.
        let ended = if self.abm.is_some() { None } else { self.frames.lost(id) };
        if let Some(packet) = ended {
            self.ended(direction, packet, reason, side);
        }
        self.frames.release(id);
    }

    /// A packet ends in the bearer: counts and drops it.
    pub(super) fn ended(
        &mut self,
        direction: Direction,
        packet: Packet,
        reason: DropReason,
        side: &mut Side,
    ) {
        let counts = if direction == Direction::Up { &mut self.up.counts } else { &mut self.down.counts };
        match reason {
            DropReason::Expired => counts.expired += 1,
            DropReason::Restarted => counts.restarted += 1,
            _ => counts.flushed += 1,
        }
        if direction == Direction::Up {
            self.leave_terminal(&packet);
        }
        side.drops.push((packet, reason));
    }

    fn leave_terminal(&mut self, packet: &Packet) {
        self.terminal_octets -= u64::from(packet.size);
        self.terminal_packets -= 1;
    }

    /// A frame is complete at `t`, in the mobile (downlink) or in the PCU (uplink).
    pub(super) fn arrived(&mut self, direction: Direction, id: FrameId, t: Time, side: &mut Side) {
        let up = direction == Direction::Up;
        if up && t < self.sgsn_away {
            return self.end(direction, id, DropReason::Restarted, t, side);
        }
        let frame = *self.frames.get(id);
        let packet = *self.frames.packet(id);
        side.content(|log| log.frame(t, if up { TapPoint::Gb } else { TapPoint::Mobile }, frame.serial));
        let counts = if up { &mut self.up.counts } else { &mut self.down.counts };
        if frame.delivered || !frame.genuine {
            counts.twice += 1;
            side.note(t, || llc(u32::from(self.me), up, packet.id, frame.octets, FrameFate::Duplicate));
            self.frames.release(id);
            return;
        }
        let flow = if up { &mut self.up } else { &mut self.down };
        flow.frame_arrived(t);
        side.note(t, || llc(u32::from(self.me), up, packet.id, frame.octets, FrameFate::Delivered));
        if let Some([down, upward]) = &mut self.abm {
            if up { upward.arrived(id, t) } else { down.arrived(id, t) }
        }
        if up {
            self.recent = [Some((frame.octets, packet, frame.serial)), self.recent[0]];
        }
        let whole = self.frames.arrived(id);
        self.frames.release(id);
        if let Some(packet) = whole {
            let at = if up { self.beyond_gb(&packet, t, side) } else { self.beyond_cable(&packet, t) };
            let counts = if up { &mut self.up.counts } else { &mut self.down.counts };
            counts.octets += u64::from(packet.size);
            if up {
                self.leave_terminal(&packet);
            }
            let out = &mut self.out[usize::from(up)];
            if out.is_empty() {
                side.out_at = side.out_at.min(at);
            }
            out.push_back((at, packet));
        }
    }

    /// Does all work due before the blocks of tick `n`; most block periods have none.
    #[inline]
    pub(super) fn prepare(&mut self, n: Tick, t: Time, air: &mut Air, side: &mut Side) {
        if n < self.calm {
            debug_assert!(self.calm_until(n - 1) > n, "something is due in a calm block period");
            return;
        }
        self.prepare_all(n, t, air, side);
        self.calm = self.calm_until(n);
    }

    /// First tick after `n` in which [`User::prepare`] may have work, unless a packet, report or signal arrives or a window
    /// closes before.
    fn calm_until(&self, n: Tick) -> Tick {
        let soon = n + 1;
        let rare = self.abm.is_some()
            || self.change.is_some()
            || self.demand.is_some()
            || self.down.persistence.is_some()
            || self.up.persistence.is_some()
            || self.unanswered >= self.n3105;
        if rare || !self.committed && !self.backlog.is_empty() || self.sgsn_held > tdma::start_of(n) {
            return soon;
        }
        let mut due = self.mobility.next().min(self.call);
        let fronts = [self.core.front().map(|(t, _)| *t), self.sgsn_next, self.pcu.front().map(|(t, _)| *t)];
        fronts.into_iter().flatten().for_each(|t| due = due.min(t));
        let mut calm = if due.is_never() { Tick::MAX } else { tdma::next_tick(due) };
        for flow in [&self.down, &self.up] {
            let data = flow.sender.feed.has_data() || flow.sender.is_pending();
            calm = calm.min(match flow.state {
                // In unacknowledged mode every block can be the last one.
                TbfState::Active if flow.mode == Mode::Unacknowledged || flow.sender.is_done() => soon,
                TbfState::Active if flow.sender.is_stalled() => soon,
                TbfState::Active if flow.used < flow.granted => flow.full_at,
                TbfState::Active | TbfState::Final => Tick::MAX,
                TbfState::Kept if !data => flow.until,
                TbfState::Idle if !data => Tick::MAX,
                TbfState::Idle | TbfState::Requested | TbfState::Kept => soon,
            });
            if let Some((at, _)) = flow.reports.front() {
                calm = calm.min(*at);
            }
        }
        calm.max(soon)
    }

    #[inline(never)]
    fn prepare_all(&mut self, n: Tick, t: Time, air: &mut Air, side: &mut Side) {
        if self.mobility.next() <= t || self.change.is_some() || self.call <= t {
            self.move_about(n, t, air, side);
        }
        self.advance_down(t, side);
        if self.abm.is_some() {
            self.link_control(t, n, air, side);
        }
        self.take_reports(n, t, air, side);
        self.admit_up(t, side);
        if self.down.persistence.is_some() || self.up.persistence.is_some() {
            self.give_up_old(n, t, air, side);
        }
        self.advance_tbfs(n, air, side);
        for flow in [&mut self.down, &mut self.up] {
            flow.counts.stalled_ticks +=
                u64::from(flow.state == TbfState::Active && flow.sender.is_stalled());
        }
    }

    /// Moves uplink frames into RLC unless the countdown of the TBF has begun.
    #[inline]
    pub(super) fn admit_up(&mut self, t: Time, side: &mut Side) {
        if !self.committed && !self.backlog.is_empty() {
            self.admit_backlog(t, side);
        }
    }

    fn admit_backlog(&mut self, t: Time, side: &mut Side) {
        while let Some(id) = self.backlog.pop_front() {
            let frame = self.frames.get_mut(id);
            frame.since = t;
            let serial = frame.serial;
            side.content(|log| log.frame(t, TapPoint::Mobile, serial));
            let octets = frame.octets;
            self.ask_hold(Direction::Up, id);
            self.up.sender.feed.push(octets, id);
        }
    }

    /// Executes the actions of acknowledged LLC: transmission, retransmission, abandonment, release.
    fn link_control(&mut self, t: Time, n: Tick, air: &mut Air, side: &mut Side) {
        for (i, direction) in [Direction::Down, Direction::Up].into_iter().enumerate() {
            while let Some(act) = self.abm.as_mut().and_then(|abm| abm[i].act(t)) {
                match act {
                    Act::Send(id) => self.give_to_rlc(direction, id, t),
                    Act::Repeat(id) => {
                        if self.llc.flush {
                            self.drop_copies(direction, id, n, t, air, side);
                        }
                        let octets = self.frames.get(id).octets;
                        let counts = if i == 1 { &mut self.up.counts } else { &mut self.down.counts };
                        (counts.repeated, counts.repeated_octets) =
                            (counts.repeated + 1, counts.repeated_octets + u64::from(octets));
                        let packet = self.frames.packet(id).id;
                        side.note(t, || llc(u32::from(self.me), i == 1, packet, octets, FrameFate::Repeated));
                        self.give_to_rlc(direction, id, t);
                    }
                    Act::GiveUp(id) => {
                        if let Some(packet) = self.frames.lost(id) {
                            self.ended(direction, packet, DropReason::GivenUp, side);
                        }
                        self.frames.release(id);
                    }
                    Act::Done(id) => self.frames.release(id),
                }
            }
        }
        self.sgsn_next = self.sgsn.next_pass();
        self.pass(t, side);
    }

    fn give_to_rlc(&mut self, direction: Direction, id: FrameId, t: Time) {
        self.frames.hold(id);
        self.frames.get_mut(id).spoiled = false;
        match direction {
            Direction::Down => self.sgsn.push(t, self.frames.get(id).octets, id),
            Direction::Up => self.backlog.push_back(id),
        }
    }

    /// Next tick after `n` in which the mobile has work or may send blocks.
    #[inline]
    pub(super) fn next_due(&self, n: Tick) -> Tick {
        let busy = |flow: &TbfDirection| matches!(flow.state, TbfState::Active | TbfState::Final);
        if busy(&self.down) || busy(&self.up) { n + 1 } else { self.next_event(n) }
    }

    /// Next tick with work of a mobile without an active TBF.
    fn next_event(&self, n: Tick) -> Tick {
        let after = |t: Time| if t.is_never() { Tick::MAX } else { tdma::next_tick(t).max(n + 1) };
        let mut due = after(self.mobility.next().min(self.call));
        if let Some(change) = &self.change {
            due = due.min(after(change_stage(change, tdma::start_of(n))));
        }
        if let Some((t, _)) = self.core.front() {
            due = due.min(after(*t));
        }
        if let Some((t, _)) = self.pcu.front() {
            due = due.min(after(*t));
        }
        if let Some(t) = self.sgsn_next {
            due = due.min(after(t.max(self.sgsn_held)));
        }
        if let Some(abm) = &self.abm {
            due = due.min(after(abm[0].next().min(abm[1].next())));
        }
        for (i, d) in [&self.down, &self.up].into_iter().enumerate() {
            let data =
                d.sender.feed.has_data() || d.sender.is_pending() || i == 1 && !self.backlog.is_empty();
            due = due.min(match d.state {
                TbfState::Idle if data => after(self.suspended[i]),
                TbfState::Idle => Tick::MAX,
                TbfState::Requested if d.until == Tick::MAX => n + 1,
                TbfState::Requested => d.until.max(n + 1),
                TbfState::Kept if !data && self.tbf.permanent => Tick::MAX,
                TbfState::Kept if !data => d.until.min(d.keep_at).max(n + 1),
                TbfState::Active | TbfState::Final | TbfState::Kept => n + 1,
            });
            if let Some((t, _)) = d.reports.front() {
                due = due.min((*t).max(n + 1));
            }
        }
        due
    }

    /// Number of packets in the bearer.
    pub(super) fn inside(&self) -> usize {
        self.core.len() + self.frames.inside() + self.out[0].len() + self.out[1].len()
    }

    pub(super) fn counts(&self, n: Tick) -> UserCounts {
        let mut down = self.down.counts;
        let mut up = self.up.counts;
        for (counts, d) in [(&mut down, &self.down), (&mut up, &self.up)] {
            counts.stalled = d.sender.counts().stalled;
            counts.assigned += u64::from(d.used) * u64::from(n.saturating_sub(d.assigned_at));
        }
        let decoded = down.assigned;
        UserCounts {
            down,
            up,
            decoded,
            decoded_for_nothing: decoded.saturating_sub(self.useful),
            changes: self.changes[0],
            failed_changes: self.changes[1],
            calls: self.changes[2],
            restarts: self.restarts,
            restart_time: self.restart_time.as_nanos(),
        }
    }
}

/// Event of an LLC frame.
pub(super) fn llc(user: u32, up: bool, packet: u64, octets: u32, fate: FrameFate) -> Event {
    Event::LlcFrame { user, up, packet, octets, fate }
}

/// Event of a TBF.
pub(super) fn tbf_event(user: u8, up: bool, step: TbfStep) -> Event {
    Event::Tbf { user: u32::from(user), up, step }
}
