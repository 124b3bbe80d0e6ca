//! One direction of a mobile's bearer: RLC sender and receiver, TBF state, transmission of radio blocks, counters.

use super::config::{DirectionConfig, IdleRepeat};
use super::counts::DirectionCounts;
use super::frames::FrameId;
use crate::coding::Scheme;
use crate::mac::tbf::{self, TbfState};
use crate::quality::Quality;
use crate::rlc::poll::Poller;
use crate::rlc::receive::{Receiver, Report};
use crate::rlc::send::{RadioBlock, Reason, SendOptions, Sender, Unit};
use crate::rlc::{Bsn, Mode, Numbering};
use crate::tdma::{self, Tick};
use base::{Span, Time};
use std::collections::VecDeque;

/// Block periods since the last transmission after which unacknowledged blocks are retransmitted, if idle
/// retransmission is off.
const SILENCE: u32 = 25;

/// Value in `lost_at` of a block that was not lost.
const NOT_LOST: Tick = Tick::MAX;

/// One direction of a mobile's bearer.
pub(super) struct TbfDirection {
    pub(super) sender: Sender<FrameId>,
    pub(super) receiver: Receiver,
    pub(super) poller: Poller,
    pub(super) quality: Quality,
    pub(super) scheme: Scheme,
    pub(super) mode: Mode,
    pub(super) idle: IdleRepeat,
    pub(super) numbering: Numbering,
    pub(super) persistence: Option<Span>,
    halves: bool,
    policy: crate::rlc::poll::Policy,
    pub(super) state: TbfState,
    /// In `Requested`: tick of the assignment. In `Kept`: tick of the release.
    pub(super) until: Tick,
    /// Maximum number of timeslots of the TBF.
    pub(super) granted: u8,
    /// Number of timeslots in use.
    pub(super) used: u8,
    /// First timeslot.
    pub(super) first: u8,
    /// Tick from which all granted timeslots are usable; in `Requested`, above 0 if the assignment includes all.
    pub(super) full_at: Tick,
    /// In `Kept`: tick of the next dummy block or USF.
    pub(super) keep_at: Tick,
    /// Reports on the way to the sender, with their arrival ticks.
    pub(super) reports: VecDeque<(Tick, Report)>,
    /// The window was closed with data queued at the previous check.
    pub(super) was_stalled: bool,
    pub(super) counts: DirectionCounts,
    /// Blocks sent in the present averaging period of timeslots on demand.
    pub(super) busy: u32,
    pub(super) judged: Tick,
    pub(super) assigned_at: Tick,
    /// By ring index: tick of a block's first loss, or [`NOT_LOST`].
    lost_at: Vec<Tick>,
    /// Time of the last LLC frame that arrived.
    pub(super) last_frame: Time,
    /// Time from which the gap of a cell change counts; `None` without a gap.
    pub(super) gap_from: Option<Time>,
    /// Tick of the last block sent.
    pub(super) sent_at: Tick,
}

/// Effect of a radio block at its receiver.
pub(super) struct BlockReception {
    /// At least one of its RLC blocks was decoded.
    pub(super) arrived: bool,
    /// The radio block had missing data.
    pub(super) useful: bool,
    /// The radio block revealed missing blocks.
    pub(super) gap: bool,
    /// V(Q) before the radio block.
    pub(super) before: Bsn,
    /// V(Q) after the radio block.
    pub(super) complete: Bsn,
}

impl TbfDirection {
    pub(super) fn new(config: &DirectionConfig, granted: u8, first: u8, quality: Quality) -> Self {
        let rules = SendOptions {
            // The scheduler decides when pre-emptive retransmission is permitted.
            preemptive: true,
            hold_off: tdma::ticks(config.hold_off),
            resegment: config.resegment,
        };
        TbfDirection {
            sender: Sender::new(config.numbering, config.mode, rules),
            receiver: Receiver::new(config.numbering, config.mode, config.resegment),
            poller: Poller::new(config.policy),
            quality,
            scheme: config.scheme,
            mode: config.mode,
            idle: config.idle,
            numbering: config.numbering,
            persistence: config.persistence,
            halves: config.resegment,
            policy: config.policy,
            state: TbfState::Idle,
            until: 0,
            granted,
            used: 0,
            first,
            full_at: 0,
            keep_at: 0,
            reports: VecDeque::new(),
            was_stalled: false,
            counts: DirectionCounts::default(),
            busy: 0,
            judged: 0,
            assigned_at: 0,
            lost_at: vec![NOT_LOST; config.numbering.window.next_power_of_two() as usize],
            last_frame: Time::ZERO,
            gap_from: None,
            sent_at: 0,
        }
    }

    /// Applies an event to the TBF state machine; true if the table has a transition.
    pub(super) fn step(&mut self, machine: &[tbf::Transition], event: tbf::Event) -> bool {
        match tbf::next(machine, self.state, event) {
            Some(next) => {
                self.state = next;
                true
            }
            None => false,
        }
    }

    /// End of a TBF: resets sender and receiver; the next TBF starts with block 0.
    pub(super) fn restart(&mut self, n: Tick) {
        self.account(n);
        self.sender.restart(self.numbering, |_| ());
        self.receiver = Receiver::new(self.numbering, self.mode, self.halves);
        self.poller = Poller::new(self.policy);
        self.reports.clear();
        self.lost_at.fill(NOT_LOST);
        (self.used, self.was_stalled) = (0, false);
    }

    /// Adds the assigned timeslots since the last call to the counters.
    pub(super) fn account(&mut self, n: Tick) {
        self.counts.assigned += u64::from(self.used) * u64::from(n.saturating_sub(self.assigned_at));
        self.assigned_at = n;
    }

    /// Counts a sent block by the reason of its first RLC block.
    #[inline]
    pub(super) fn count_sent(&mut self, block: &RadioBlock) {
        self.busy += 1;
        match block.first.reason {
            Reason::New => self.counts.new += 1,
            Reason::Missing => self.counts.missing += 1,
            Reason::Idle => self.counts.idle += 1,
        }
    }

    /// Transmits a radio block to the receiver of this direction. `ends`: the last RLC block ends the TBF.
    #[inline]
    pub(super) fn receive(&mut self, block: &RadioBlock, n: Tick, ends: bool) -> BlockReception {
        let before = self.receiver.vq();
        let mut result =
            BlockReception { arrived: false, useful: false, gap: false, before, complete: before };
        self.receive_unit(block.scheme, &block.first, n, ends, &mut result);
        if let Some(second) = &block.second {
            self.receive_second(block.scheme, second, n, ends, &mut result);
        }
        if !result.arrived {
            self.counts.errors += 1;
        } else if !result.useful {
            self.counts.duplicates += 1;
        }
        result
    }

    #[inline(never)]
    fn receive_second(
        &mut self,
        scheme: Scheme,
        unit: &Unit,
        n: Tick,
        ends: bool,
        result: &mut BlockReception,
    ) {
        self.receive_unit(scheme, unit, n, ends, result);
    }

    #[inline(always)]
    fn receive_unit(
        &mut self,
        scheme: Scheme,
        unit: &Unit,
        n: Tick,
        ends: bool,
        result: &mut BlockReception,
    ) {
        let decoded = self.quality.decodes(n, scheme, false);
        self.repair(unit.bsn, unit.attempt, decoded, n);
        if decoded {
            result.arrived = true;
            let taken = self.receiver.take(unit.bsn, unit.part, unit.last && ends);
            result.useful |= !taken.duplicate;
            result.gap |= taken.gap;
            result.complete = taken.complete;
        }
    }

    /// Records the first loss of a block, and at its arrival the time for which it was missing.
    #[inline]
    pub(super) fn repair(&mut self, bsn: u32, attempt: u8, arrived: bool, n: Tick) {
        if arrived && attempt == 0 {
            return;
        }
        let mask = self.lost_at.len() - 1;
        let lost_at = &mut self.lost_at[bsn as usize & mask];
        if !arrived {
            if attempt == 0 {
                *lost_at = n;
            }
        } else if *lost_at != NOT_LOST {
            self.counts.repair += u64::from(n - *lost_at);
            self.counts.repaired += 1;
            *lost_at = NOT_LOST;
        }
    }

    /// Records the arrival of an LLC frame.
    pub(super) fn frame_arrived(&mut self, t: Time) {
        self.counts.frames += 1;
        if let Some(from) = self.gap_from.take() {
            self.counts.gap = self.counts.gap.max(t.since(from).as_nanos());
        }
        self.last_frame = t;
    }

    /// The next report that the sender receives by tick `n`.
    pub(super) fn report_at(&mut self, n: Tick) -> Option<Report> {
        self.reports.front().filter(|(at, _)| *at <= n)?;
        self.reports.pop_front().map(|(_, report)| report)
    }

    /// Whether unacknowledged blocks may be retransmitted. Without idle retransmission this is permitted only after
    /// [`SILENCE`] since the last transmission (T3182 in the mobile, a poll by the network).
    #[inline]
    pub(super) fn may_repeat(&self, n: Tick) -> bool {
        self.idle != IdleRepeat::Never || n.saturating_sub(self.sent_at) > SILENCE
    }

    /// Whether the TBF is established.
    pub(super) fn is_up(&self) -> bool {
        matches!(self.state, TbfState::Active | TbfState::Kept | TbfState::Final)
    }
}
