//! Link-layer ARQ: retransmission of lost frames, persistence, window (catalogue SW-28, SW-29, SW-39 from inside).
//!
//! A lost frame is sent again, ahead of new ones, when its negative acknowledgement arrives. The sender gives its
//! packet up after a number of attempts or a time. Unacknowledged frames fill a window.

use super::timed::Timed;
use base::dist::Sampler;
use base::{Span, Time};
use std::collections::{BTreeMap, VecDeque};

/// How a link repeats.
#[derive(Clone, Debug)]
pub struct ArqConfig {
    /// A frame is repeated so often at most; none: without end.
    pub attempts: Option<u32>,
    /// A packet is repeated for so long at most after its first frame began; none: without end.
    pub time: Option<Span>,
    /// From the end of a frame's transmission until the sender knows what became of it, nanoseconds.
    pub feedback: Sampler,
    /// Frames that may be unacknowledged; none: any number.
    pub window: Option<u32>,
}

/// A frame of which the sender will know more, or which it is to repeat.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    /// The number of its packet on this link.
    pub(crate) unit: u64,
    pub(crate) bytes: u32,
    /// How often it was repeated.
    pub(crate) repeated: u32,
    /// Whether it arrived.
    pub(crate) good: bool,
}

/// The sender's side.
#[derive(Clone, Debug)]
pub(crate) struct Arq {
    config: ArqConfig,
    /// Frames sent, by the arrival of their acknowledgement.
    sent: Timed<Frame>,
    /// Frames to be repeated, in the order in which that became known, and those of packets given up meanwhile.
    repeats: VecDeque<Frame>,
    /// Frames to be repeated by packet, those given up not counted.
    pending: BTreeMap<u64, u32>,
    unacknowledged: u32,
}

/// What to do about a frame of which more is known.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Verdict {
    /// It arrived.
    Acknowledged(Frame),
    /// It did not, and is sent again.
    Repeated,
    /// It did not, and its packet is given up.
    GivenUp(Frame),
}

impl Arq {
    pub(crate) fn new(config: ArqConfig) -> Self {
        Arq {
            config,
            sent: Timed::new(),
            repeats: VecDeque::new(),
            pending: BTreeMap::new(),
            unacknowledged: 0,
        }
    }

    /// Whether a new frame fits into the window.
    pub(crate) fn allows(&self) -> bool {
        self.config.window.is_none_or(|n| self.unacknowledged < n)
    }

    /// A new frame begins.
    pub(crate) fn begun(&mut self) {
        self.unacknowledged += 1;
    }

    /// A frame's transmission ended at `t`, well or not.
    pub(crate) fn ended(&mut self, t: Time, frame: Frame) {
        self.sent.insert(t + Span::from_nanos(self.config.feedback.draw() as u64), frame);
    }

    /// When more is known next.
    pub(crate) fn next(&self) -> Time {
        self.sent.next()
    }

    /// What is known at `now` of the frame sent longest ago; `began` says when a packet's first frame did, none if
    /// the packet is no longer there.
    pub(crate) fn hear(&mut self, now: Time, began: impl Fn(u64) -> Option<Time>) -> Option<Verdict> {
        if self.sent.next() > now {
            return None;
        }
        let frame = self.sent.pop()?;
        let Some(began) = began(frame.unit).filter(|_| !frame.good) else {
            self.unacknowledged -= 1;
            return Some(Verdict::Acknowledged(frame));
        };
        let persists = self.config.attempts.is_none_or(|n| frame.repeated < n)
            && self.config.time.is_none_or(|time| now < began + time);
        if persists {
            self.repeats.push_back(frame);
            *self.pending.entry(frame.unit).or_default() += 1;
            return Some(Verdict::Repeated);
        }
        self.unacknowledged -= 1;
        Some(Verdict::GivenUp(frame))
    }

    /// Whether a frame is to be repeated.
    pub(crate) fn repeats(&self) -> bool {
        !self.pending.is_empty()
    }

    /// The next one to be repeated.
    pub(crate) fn repeat(&mut self) -> Option<Frame> {
        while let Some(frame) = self.repeats.pop_front() {
            // No frame of a packet that was given up is ever repeated again: it has no entry.
            let Some(count) = self.pending.get_mut(&frame.unit) else { continue };
            *count -= 1;
            if *count == 0 {
                self.pending.remove(&frame.unit);
            }
            return Some(frame);
        }
        None
    }

    /// A packet is given up: its frames are repeated no more. Their number.
    pub(crate) fn forget(&mut self, unit: u64) -> u32 {
        let gone = self.pending.remove(&unit).unwrap_or(0);
        self.unacknowledged -= gone;
        if self.pending.is_empty() {
            self.repeats.clear();
        }
        gone
    }

    /// A frame in service of a packet that was given up needs no answer.
    pub(crate) fn abandoned(&mut self) {
        self.unacknowledged -= 1;
    }

    /// Everything is gone.
    pub(crate) fn clear(&mut self) {
        self.sent.clear();
        self.repeats.clear();
        self.pending.clear();
        self.unacknowledged = 0;
    }
}
