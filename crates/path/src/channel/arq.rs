//! Link-layer ARQ: retransmission of discarded frames with persistence limits.
//!
//! A frame that was discarded is sent again, before new ones, when the far end has told; so often or for so long as
//! the link persists, and then the packet is given up (catalogue SW-28, SW-29, SW-39 from inside). Frames that are
//! not yet acknowledged fill a window.

use base::dist::Sampler;
use base::{Span, Time};
use std::collections::VecDeque;

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
    /// When the sender knows, and whether it arrived.
    pub(crate) known: Time,
    pub(crate) good: bool,
}

/// The sender's side.
#[derive(Clone, Debug)]
pub(crate) struct Arq {
    config: ArqConfig,
    /// Frames sent, by when more is known of them.
    sent: VecDeque<Frame>,
    /// Frames to be repeated, in the order in which that became known.
    repeats: VecDeque<Frame>,
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
        Arq { config, sent: VecDeque::new(), repeats: VecDeque::new(), unacknowledged: 0 }
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
    pub(crate) fn ended(&mut self, t: Time, mut frame: Frame) {
        frame.known = t + Span::from_nanos(self.config.feedback.draw() as u64);
        let place = self.sent.iter().rposition(|other| other.known <= frame.known).map_or(0, |i| i + 1);
        self.sent.insert(place, frame);
    }

    /// When more is known next.
    pub(crate) fn next(&self) -> Time {
        self.sent.front().map_or(Time::NEVER, |frame| frame.known)
    }

    /// What is known at `now` of the frame sent longest ago; `began` says when a packet's first frame did, none if
    /// the packet is no longer there.
    pub(crate) fn hear(&mut self, now: Time, began: impl Fn(u64) -> Option<Time>) -> Option<Verdict> {
        let frame = *self.sent.front().filter(|frame| frame.known <= now)?;
        self.sent.pop_front();
        let Some(began) = began(frame.unit).filter(|_| !frame.good) else {
            self.unacknowledged -= 1;
            return Some(Verdict::Acknowledged(frame));
        };
        let persists = self.config.attempts.is_none_or(|n| frame.repeated < n)
            && self.config.time.is_none_or(|time| now < began + time);
        if persists {
            self.repeats.push_back(frame);
            return Some(Verdict::Repeated);
        }
        self.unacknowledged -= 1;
        Some(Verdict::GivenUp(frame))
    }

    /// Whether a frame is to be repeated.
    pub(crate) fn repeats(&self) -> bool {
        !self.repeats.is_empty()
    }

    /// The next one to be repeated.
    pub(crate) fn repeat(&mut self) -> Option<Frame> {
        self.repeats.pop_front()
    }

    /// A packet is given up: its frames are repeated no more. How many there were.
    pub(crate) fn forget(&mut self, unit: u64) -> u32 {
        let before = self.repeats.len();
        self.repeats.retain(|frame| frame.unit != unit);
        let gone = (before - self.repeats.len()) as u32;
        self.unacknowledged -= gone;
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
        self.unacknowledged = 0;
    }
}
