//! Link-layer ARQ, sending side: retransmission of lost frames, persistence, window of unacknowledged frames
//! (catalogue SW-28, SW-29, SW-39).
//!
//! A lost frame is retransmitted before new frames when its negative acknowledgement arrives. The sender discards
//! a packet after a number of retransmissions of a frame, or after a time. A window limits the unacknowledged
//! frames.

use super::time_queue::TimeQueue;
use base::dist::Sampler;
use base::{Span, Time};
use std::collections::{BTreeMap, VecDeque};

/// Configuration of the ARQ.
#[derive(Clone, Debug)]
pub struct ArqConfig {
    /// Maximum retransmissions of a frame; none: unlimited.
    pub attempts: Option<u32>,
    /// Time from the start of a packet's first frame, after which lost frames are not retransmitted; none:
    /// unlimited.
    pub time: Option<Span>,
    /// Delay from the end of a frame's transmission to its feedback, nanoseconds.
    pub feedback: Sampler,
    /// Maximum unacknowledged frames; none: unlimited.
    pub window: Option<u32>,
}

/// A frame that awaits feedback or retransmission.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    /// Number of the frame's packet on this link.
    pub(crate) unit: u64,
    pub(crate) bytes: u32,
    /// Retransmissions so far.
    pub(crate) repeated: u32,
    /// Whether the frame arrived.
    pub(crate) good: bool,
    /// Whether it is the last frame of its packet, or a retransmission.
    pub(crate) last: bool,
}

/// Sending side of the ARQ.
#[derive(Clone, Debug)]
pub(crate) struct Arq {
    config: ArqConfig,
    /// With a constant feedback delay: frames sent, in order of their feedback.
    runs: VecDeque<Run>,
    /// With a random feedback delay: frames sent, ordered by the arrival of their feedback.
    sent: TimeQueue<Frame>,
    /// Number of lost frames whose feedback is outstanding.
    lost: u32,
    /// With a constant feedback delay: arrival of the feedback on lost frames.
    losses: VecDeque<Time>,
    /// The feedback delay, if it is constant.
    steady: Option<Span>,
    /// Frames to retransmit, in order of feedback. Includes frames whose packets were discarded meanwhile.
    repeats: VecDeque<Frame>,
    /// Frames to retransmit per packet, discarded packets excluded.
    pending: BTreeMap<u64, u32>,
    /// Frames in the window: in service, awaiting feedback, or to be retransmitted.
    unacknowledged: u32,
}

/// Successive frames of one packet that were sent without a pause and await feedback: all arrived, or a single lost
/// frame.
#[derive(Clone, Copy, Debug)]
struct Run {
    frame: Frame,
    count: u32,
    /// Arrival of the first feedback.
    first: Time,
    /// Distance of the following ones, except the last.
    gap: Span,
    /// Arrival of the last feedback.
    end: Time,
}

impl Run {
    /// Removes the first frame, which is not the last one.
    fn shorten(&mut self) {
        self.count -= 1;
        self.first = if self.count == 1 { self.end } else { self.first + self.gap };
    }
}

/// Decision after the feedback on a frame.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ArqDecision {
    /// The frame arrived.
    Acknowledged(Frame),
    /// The frame was lost and is retransmitted.
    Repeated,
    /// The frame was lost and its packet is discarded.
    GivenUp(Frame),
}

impl Arq {
    pub(crate) fn new(mut config: ArqConfig) -> Self {
        let constant = config.feedback.constant().is_some();
        Arq {
            steady: constant.then(|| Span::from_nanos(config.feedback.draw() as u64)),
            config,
            runs: VecDeque::new(),
            sent: TimeQueue::new(),
            lost: 0,
            losses: VecDeque::new(),
            repeats: VecDeque::new(),
            pending: BTreeMap::new(),
            unacknowledged: 0,
        }
    }

    /// Whether the window permits a new frame.
    #[inline]
    pub(crate) fn allows(&self) -> bool {
        self.config.window.is_none_or(|n| self.unacknowledged < n)
    }

    /// Number of new frames that the window permits.
    #[inline]
    pub(crate) fn allowance(&self) -> u32 {
        self.config.window.map_or(u32::MAX, |n| n.saturating_sub(self.unacknowledged))
    }

    /// Counts new frames as unacknowledged.
    #[inline]
    pub(crate) fn begun(&mut self, frames: u32) {
        self.unacknowledged += frames;
    }

    /// Whether the feedback delay is constant and not zero.
    #[inline]
    pub(crate) fn is_delayed(&self) -> bool {
        self.steady.is_some_and(|delay| !delay.is_zero())
    }

    /// Whether the feedback delay is constant and not zero, and no frame waits for its retransmission: until
    /// [`Arq::next_lost`] feedback only frees room. Feedback without a delay is processed after the start of the next frame.
    #[inline]
    pub(crate) fn is_steady(&self) -> bool {
        self.is_delayed() && self.pending.is_empty()
    }

    /// Whether in addition no frame was lost whose feedback is outstanding.
    #[inline]
    pub(crate) fn is_quiet(&self) -> bool {
        self.is_steady() && self.lost == 0
    }

    /// With a constant delay: time of the next feedback on a lost frame.
    #[inline]
    pub(crate) fn next_lost(&self) -> Time {
        if self.lost == 0 { Time::NEVER } else { self.losses.front().copied().unwrap_or(Time::NEVER) }
    }

    /// With a constant delay: arrival of the feedback on a frame whose transmission ends at `t`.
    #[inline]
    pub(crate) fn feedback_at(&self, t: Time) -> Time {
        t + self.steady.unwrap_or_default()
    }

    /// With a constant delay and no lost frame: lower bound of the time by which the feedback on more than `packets`
    /// packets has arrived.
    #[inline]
    pub(crate) fn heard_beyond(&self, packets: usize) -> Time {
        self.runs.get(packets).map_or(Time::NEVER, |run| run.end)
    }

    /// Processes the end of a frame's transmission at `t`, and draws the arrival of its feedback.
    #[inline]
    pub(crate) fn ended(&mut self, t: Time, frame: Frame) {
        self.lost += u32::from(!frame.good);
        match self.steady {
            Some(delay) => {
                if !frame.good {
                    self.losses.push_back(t + delay);
                }
                self.ended_in_turn(frame, 1, t, Span::ZERO, t);
            }
            None => {
                let heard = t + Span::from_nanos(self.config.feedback.draw() as u64);
                self.sent.insert(heard, frame);
            }
        }
    }

    /// With a constant feedback delay: registers `count` frames of one packet whose transmissions ended at `first`,
    /// every `gap` after that, and the last one at `end`.
    #[inline]
    pub(crate) fn ended_in_turn(&mut self, frame: Frame, count: u32, first: Time, gap: Span, end: Time) {
        let delay = self.steady.unwrap_or_default();
        self.runs.push_back(Run { frame, count, first: first + delay, gap, end: end + delay });
    }

    /// Time of the next feedback.
    #[inline]
    pub(crate) fn next(&self) -> Time {
        if self.steady.is_some() {
            return self.runs.front().map_or(Time::NEVER, |run| run.first);
        }
        self.sent.next()
    }

    /// Time of the next feedback that must be processed while a frame is in service; other feedback may wait until
    /// the frame ends. `waits`: whether a packet waits for room in the send buffer, which the last feedback on a
    /// packet frees.
    #[inline]
    pub(crate) fn next_needed(&self, waits: bool) -> Time {
        match (self.steady.is_some() && self.lost == 0, waits) {
            (false, _) => self.next(),
            (true, false) => Time::NEVER,
            (true, true) => self.runs.iter().find(|run| run.frame.last).map_or(Time::NEVER, |run| run.end),
        }
    }

    /// Processes all feedback due before `limit`, which is positive; calls `acknowledge` with the number of a packet
    /// and of its frames. Returns the time of the last one, [`Time::ZERO`] if none is due.
    #[inline]
    pub(crate) fn hear(&mut self, limit: Time, mut acknowledge: impl FnMut(u64, u32)) -> Time {
        let mut last = Time::ZERO;
        while let Some(run) = self.runs.front_mut() {
            if run.end < limit {
                let Run { frame, count, end, .. } = *run;
                self.runs.pop_front();
                self.unacknowledged -= count;
                acknowledge(frame.unit, count);
                last = end;
                continue;
            }
            let before = run.count;
            while run.first < limit {
                last = run.first;
                run.shorten();
            }
            let heard = before - run.count;
            if heard > 0 {
                self.unacknowledged -= heard;
                acknowledge(run.frame.unit, heard);
            }
            break;
        }
        last
    }

    /// Removes the frame with the next feedback, if that is due by `now`.
    fn next_heard(&mut self, now: Time) -> Option<Frame> {
        if self.next() > now {
            return None;
        }
        if self.steady.is_none() {
            return self.sent.pop();
        }
        let run = self.runs.front_mut()?;
        let frame = run.frame;
        if run.count > 1 {
            run.shorten();
        } else {
            self.runs.pop_front();
        }
        Some(frame)
    }

    /// Processes the next feedback due by `now`. `began` returns the start of a packet's first frame; none if
    /// the packet was dropped.
    pub(crate) fn take_feedback(
        &mut self,
        now: Time,
        began: impl Fn(u64) -> Option<Time>,
    ) -> Option<ArqDecision> {
        let frame = self.next_heard(now)?;
        if !frame.good {
            self.lost -= 1;
            self.losses.pop_front();
        }
        let Some(began) = began(frame.unit).filter(|_| !frame.good) else {
            self.unacknowledged -= 1;
            return Some(ArqDecision::Acknowledged(frame));
        };
        let persists = self.config.attempts.is_none_or(|n| frame.repeated < n)
            && self.config.time.is_none_or(|time| now < began + time);
        if persists {
            self.repeats.push_back(frame);
            *self.pending.entry(frame.unit).or_default() += 1;
            return Some(ArqDecision::Repeated);
        }
        self.unacknowledged -= 1;
        Some(ArqDecision::GivenUp(frame))
    }

    /// Whether a frame waits for retransmission.
    #[inline]
    pub(crate) fn repeats(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Takes the next frame to retransmit from the list.
    pub(crate) fn repeat(&mut self) -> Option<Frame> {
        while let Some(frame) = self.repeats.pop_front() {
            // Frames of discarded packets have no entry and are skipped.
            let Some(count) = self.pending.get_mut(&frame.unit) else { continue };
            *count -= 1;
            if *count == 0 {
                self.pending.remove(&frame.unit);
            }
            return Some(frame);
        }
        None
    }

    /// Discards the frames of a packet that wait for retransmission; returns their number.
    pub(crate) fn forget(&mut self, unit: u64) -> u32 {
        let gone = self.pending.remove(&unit).unwrap_or(0);
        self.unacknowledged -= gone;
        if self.pending.is_empty() {
            self.repeats.clear();
        }
        gone
    }

    /// Counts out a frame whose packet was discarded during its transmission: no feedback follows.
    pub(crate) fn abandoned(&mut self) {
        self.unacknowledged -= 1;
    }

    /// Discards all frames.
    pub(crate) fn clear(&mut self) {
        self.runs.clear();
        self.sent.clear();
        self.lost = 0;
        self.losses.clear();
        self.repeats.clear();
        self.pending.clear();
        self.unacknowledged = 0;
    }
}
