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
    /// Frames sent, ordered by the arrival of their feedback.
    sent: TimeQueue<Frame>,
    /// Number of lost frames in `sent`.
    lost: u32,
    /// The feedback delay, if it is constant.
    steady: Option<Span>,
    /// With constant feedback delay: arrival of the feedback on each frame with `last` set, ascending.
    lasts: VecDeque<Time>,
    /// Frames to retransmit, in order of feedback. Includes frames whose packets were discarded meanwhile.
    repeats: VecDeque<Frame>,
    /// Frames to retransmit per packet, discarded packets excluded.
    pending: BTreeMap<u64, u32>,
    /// Frames in the window: in service, awaiting feedback, or to be retransmitted.
    unacknowledged: u32,
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
            sent: TimeQueue::new(),
            lost: 0,
            lasts: VecDeque::new(),
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

    /// Counts a new frame as unacknowledged.
    pub(crate) fn begun(&mut self) {
        self.unacknowledged += 1;
    }

    /// Processes the end of a frame's transmission at `t`, and draws the arrival of its feedback.
    #[inline]
    pub(crate) fn ended(&mut self, t: Time, frame: Frame) {
        self.lost += u32::from(!frame.good);
        let heard = match self.steady {
            Some(delay) => {
                let heard = t + delay;
                if frame.last {
                    self.lasts.push_back(heard);
                }
                heard
            }
            None => t + Span::from_nanos(self.config.feedback.draw() as u64),
        };
        self.sent.insert(heard, frame);
    }

    /// Time of the next feedback.
    #[inline]
    pub(crate) fn next(&self) -> Time {
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
            (true, true) => self.lasts.front().copied().unwrap_or(Time::NEVER),
        }
    }

    /// Processes the next feedback due by `now`. `began` returns the start of a packet's first frame; none if
    /// the packet was dropped.
    pub(crate) fn take_feedback(
        &mut self,
        now: Time,
        began: impl Fn(u64) -> Option<Time>,
    ) -> Option<ArqDecision> {
        if self.sent.next() > now {
            return None;
        }
        let frame = self.sent.pop()?;
        self.lost -= u32::from(!frame.good);
        if frame.last && self.steady.is_some() {
            self.lasts.pop_front();
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
        self.sent.clear();
        self.lasts.clear();
        self.lost = 0;
        self.repeats.clear();
        self.pending.clear();
        self.unacknowledged = 0;
    }
}
