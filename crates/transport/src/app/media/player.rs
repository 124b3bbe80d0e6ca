//! Player of streamed media: playout buffer, start-up, stalls, missing frames, jumps.
//!
//! The player starts when the buffer contains the target duration, or when no frame has arrived for that duration. It
//! skips a missing frame if later frames are in the buffer; an empty buffer stalls the player. The target doubles with
//! each stall, up to the size of the buffer, and halves after 30 s without a stall.

use super::Streaming;
use base::{Span, Time};
use std::collections::BTreeMap;

/// Duration of play without a stall after which the target is halved.
const CALM: Span = Span::from_secs(30);

/// Why the player waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Wait {
    Start,
    Stall,
    Jump,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// Not started.
    Off,
    /// Waits for the buffer to fill, since; `heard` is the last arrival.
    Fills { wait: Wait, since: Time, heard: Time },
    /// The next frame is due.
    Plays { due: Time },
    /// The last frame has been played.
    Done(Time),
}

/// Statistics of the playback.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Played {
    /// From the start to the first frame.
    pub startup: Option<Span>,
    /// Number of stalls after which play continued.
    pub stalls: u64,
    /// Total duration of these stalls.
    pub stalled: Span,
    /// Number of frames played.
    pub frames: u64,
    /// Bits of the frames played.
    pub bits: f64,
    /// Frames not in the buffer at their playout time.
    pub missed: u64,
    /// Frames that arrived after their playout time.
    pub late: u64,
    /// Frames discarded because the buffer was full, and duplicates.
    pub discarded: u64,
    /// For each jump, time until play continued.
    pub jumps: Vec<Span>,
}

/// A player.
#[derive(Clone, Debug)]
pub struct Player {
    plan: Streaming,
    state: State,
    /// Next frame to be played.
    next: u64,
    /// Frames in the buffer and their rates.
    buffer: BTreeMap<u64, usize>,
    /// Frames at which it starts.
    target: u64,
    /// Play since the last stall or change of the target.
    calm: Span,
    played: Played,
}

impl Player {
    /// A player that has not started.
    pub fn new(plan: Streaming) -> Self {
        let target = plan.frames_in(plan.buffer);
        Player {
            plan,
            state: State::Off,
            next: 0,
            buffer: BTreeMap::new(),
            target,
            calm: Span::ZERO,
            played: Played::default(),
        }
    }

    /// Starts to wait for frames: the user requests the stream.
    pub fn start(&mut self, now: Time) {
        if self.state == State::Off {
            self.state = State::Fills { wait: Wait::Start, since: now, heard: now };
        }
    }

    /// Statistics of the playback so far.
    pub fn played(&self) -> &Played {
        &self.played
    }
    /// Time at which the last frame ended; none before.
    pub fn done(&self) -> Option<Time> {
        if let State::Done(at) = self.state { Some(at) } else { None }
    }
    /// Nothing is left to be played.
    pub fn is_empty(&self) -> bool {
        self.buffer.is_empty() && !matches!(self.state, State::Plays { .. })
    }
    /// Frames in the buffer.
    pub fn buffered(&self) -> usize {
        self.buffer.len()
    }
    /// Media at which it starts after the next stall.
    pub fn target(&self) -> Span {
        self.plan.frame.times(self.target)
    }

    /// A frame arrived at rate number `level`.
    pub fn arrive(&mut self, now: Time, frame: u64, level: usize) {
        self.play_until(now, false);
        let full = self.buffer.len() as u64 >= self.plan.frames_in(self.plan.holds);
        if frame < self.next {
            self.played.late += 1;
        } else if full || frame >= self.plan.frames || self.buffer.contains_key(&frame) {
            self.played.discarded += 1;
        } else {
            self.buffer.insert(frame, level);
            if let State::Fills { heard, .. } = &mut self.state {
                *heard = now;
            }
        }
        self.try_start(now);
    }

    /// Advances playback to `now`.
    pub fn advance(&mut self, now: Time) {
        self.play_until(now, true);
        self.try_start(now);
    }

    /// The user moves the play point. True if the frame there is in the buffer and play goes on at once.
    pub fn jump(&mut self, now: Time, to: Span) -> bool {
        self.play_until(now, false);
        if let State::Fills { wait: Wait::Stall, since, .. } = self.state {
            self.played.stalls += 1;
            self.played.stalled += now.since(since);
        }
        self.next = self.plan.frame_at(to);
        let here = self.buffer.contains_key(&self.next);
        if here {
            self.buffer = self.buffer.split_off(&self.next);
            self.played.jumps.push(Span::ZERO);
            self.state = State::Plays { due: now };
        } else {
            self.buffer.clear();
            self.target = self.plan.frames_in(self.plan.buffer);
            self.state = State::Fills { wait: Wait::Jump, since: now, heard: now };
        }
        here
    }

    /// Time of the player's next event.
    pub fn next_timeout(&self) -> Time {
        match self.state {
            State::Plays { due } => due,
            State::Fills { heard, .. } if !self.buffer.is_empty() => heard + self.target(),
            State::Off | State::Fills { .. } | State::Done(_) => Time::NEVER,
        }
    }

    fn try_start(&mut self, now: Time) {
        let State::Fills { wait, since, heard } = self.state else { return };
        let Some((&first, _)) = self.buffer.first_key_value() else { return };
        let rest = self.plan.frames - self.next;
        let full = self.buffer.len() as u64 >= self.target.min(rest);
        if !full && now < heard + self.target() {
            return;
        }
        let waited = now.since(since);
        match wait {
            Wait::Start => self.played.startup = Some(waited),
            Wait::Stall => {
                self.played.stalls += 1;
                self.played.stalled += waited;
            }
            Wait::Jump => self.played.jumps.push(waited),
        }
        // Whatever lies before the first frame there would have come by now.
        self.played.missed += first - self.next;
        self.next = first;
        self.state = State::Plays { due: now };
        self.play_until(now, true);
    }

    /// Plays what is due before `now`, or at `now` too: a frame that arrives when it is due is in time.
    fn play_until(&mut self, now: Time, inclusive: bool) {
        while let State::Plays { due } = self.state {
            if due > now || due == now && !inclusive {
                return;
            }
            if self.next == self.plan.frames {
                self.state = State::Done(due);
            } else if let Some(level) = self.buffer.remove(&self.next) {
                self.played.frames += 1;
                self.played.bits += 8.0 * self.plan.frame_bytes(level) as f64;
                self.step(due);
            } else if self.buffer.is_empty() {
                self.state = State::Fills { wait: Wait::Stall, since: due, heard: due };
                self.target = (2 * self.target).min(self.plan.frames_in(self.plan.holds));
                self.calm = Span::ZERO;
            } else {
                self.played.missed += 1;
                self.step(due);
            }
        }
    }

    fn step(&mut self, due: Time) {
        self.next += 1;
        self.state = State::Plays { due: due + self.plan.frame };
        self.calm += self.plan.frame;
        if self.calm >= CALM {
            self.calm = Span::ZERO;
            self.target = (self.target / 2).max(self.plan.frames_in(self.plan.buffer));
        }
    }
}
