//! Source of streamed media: frame schedule, lifetimes, rate adaptation.
//!
//! Rule of the rate (own choice; the overview asks only that a source adapts): one step down when the transport reports a
//! major loss, abandons a frame, or has a frame outstanding for longer than half of the buffer; one step up after a time
//! without such signs while few data are outstanding. That time doubles for a rate after each step up to the rate that
//! failed. After a change, signs from frames sent before the change do not count.

use super::super::connections::{MessageLog, MessageMark};
use super::super::message::{Message, MessageEvent, MessageId};
use super::super::messages::Manner;
use super::super::stats::AppStats;
use super::super::{App, Socket};
use super::{Label, Streaming};
use base::{Span, Time};
use std::collections::BTreeMap;

/// Least time before a step up, and how often it doubles.
const PATIENCE: Span = Span::from_secs(5);
const DOUBLINGS: u32 = 3;
/// Least time between two steps down.
const SETTLE: Span = Span::from_secs(1);

/// Choice of the rate.
#[derive(Clone, Debug)]
struct Adaptation {
    level: usize,
    levels: usize,
    changed: Time,
    /// Frames sent before this do not count for the present rate.
    since: Time,
    /// The last change was a step up.
    rose: bool,
    /// For each rate, number of steps up to the rate that failed.
    failures: Vec<u32>,
    changes: u64,
    /// Half of the buffer.
    half: Span,
}

impl Adaptation {
    /// Time before a step up.
    fn patience(&self) -> Span {
        let failures = self.failures.get(self.level + 1).copied().unwrap_or(0);
        self.half.times(2).max(PATIENCE).times(1 << failures.min(DOUBLINGS))
    }
    fn set(&mut self, now: Time, level: usize, rose: bool) {
        (self.level, self.changed, self.since, self.rose) = (level, now, now, rose);
        self.changes += 1;
    }
    /// Processes a sign that the rate is too high.
    fn fall(&mut self, now: Time) {
        if self.level == 0 || now.since(self.changed) < SETTLE.max(self.half) && !self.rose {
            return;
        }
        if self.rose
            && let Some(failures) = self.failures.get_mut(self.level)
        {
            *failures += 1;
        }
        self.set(now, self.level - 1, false);
    }
    /// A frame is to be sent while the oldest outstanding one has waited for `age`.
    fn consider(&mut self, now: Time, age: Span) {
        if age > self.half {
            self.fall(now);
        } else if self.level + 1 < self.levels
            && now.since(self.changed) >= self.patience()
            && age.times(2) <= self.half
        {
            // The present rate has lasted.
            if let Some(failures) = self.failures.get_mut(self.level) {
                *failures = 0;
            }
            self.set(now, self.level + 1, true);
        }
    }
}

/// Source of a stream over a message transport or a byte stream.
pub struct MediaSource {
    plan: Streaming,
    manner: Manner,
    log: MessageLog,
    start: Time,
    /// Since when, and from which frame on, the present part is sent.
    base: Time,
    from: u64,
    next: u64,
    /// Jumps that the player has reported.
    jumps: usize,
    /// Outstanding frames by message number or end in the stream: when they were sent.
    outstanding: BTreeMap<u64, Time>,
    written: u64,
    rate: Adaptation,
    closed: bool,
    finished: Option<Time>,
    stats: AppStats,
}

impl MediaSource {
    /// A source before its start. `manner.reports`: acknowledgements come with reports, so that their age is not used.
    pub fn new(plan: Streaming, manner: Manner, log: MessageLog) -> Self {
        let levels = plan.rates.len();
        let rate = Adaptation {
            level: if plan.adapts { 0 } else { levels.saturating_sub(1) },
            levels,
            changed: Time::ZERO,
            since: Time::ZERO,
            rose: false,
            failures: vec![0; levels],
            changes: 0,
            half: Span::from_nanos(plan.buffer.as_nanos() / 2),
        };
        MediaSource {
            plan,
            manner,
            log,
            start: Time::NEVER,
            base: Time::NEVER,
            from: 0,
            next: 0,
            jumps: 0,
            outstanding: BTreeMap::new(),
            written: 0,
            rate,
            closed: false,
            finished: None,
            stats: AppStats::default(),
        }
    }

    /// Media from the start of this part to a frame.
    fn media(&self, frame: u64) -> Span {
        self.plan.frame.times(frame - self.from)
    }

    /// When a frame is sent: the buffer is filled at `fill` times the speed of the media, then they are followed.
    fn due(&self) -> Time {
        let media = self.media(self.next).as_nanos();
        let filling = (media as f64 / self.plan.fill.max(1.0)) as u64;
        self.base + Span::from_nanos(filling.max(media.saturating_sub(self.plan.buffer.as_nanos())))
    }

    /// Time at which the player needs a frame, estimated by the source: playback begins when the buffer is filled.
    fn needed(&self) -> Time {
        let filled = self.plan.buffer.as_nanos() as f64 / self.plan.fill.max(1.0);
        self.base + Span::from_nanos(filled as u64) + self.media(self.next)
    }

    fn next_jump(&self) -> Time {
        self.plan.jumps.get(self.jumps).map_or(Time::NEVER, |jump| self.start + jump.at + self.plan.request)
    }

    /// Chooses the rate of the next frame.
    fn adapt(&mut self, now: Time) {
        // What was sent before the last change must leave first.
        if self.outstanding.values().any(|sent| *sent < self.rate.changed) {
            self.rate.since = now;
            return;
        }
        let oldest = self.outstanding.values().find(|sent| **sent >= self.rate.since);
        let age = oldest.filter(|_| !self.manner.reports).map_or(Span::ZERO, |sent| now.since(*sent));
        self.rate.consider(now, age);
    }

    fn send(&mut self, now: Time, socket: &mut dyn Socket) {
        if self.plan.adapts {
            self.adapt(now);
        }
        let label = Label { frame: self.next, level: self.rate.level, jumps: self.jumps as u64 };
        let bytes = self.plan.frame_bytes(self.rate.level);
        let lifetime = Some(self.needed().since(now).max(self.plan.frame));
        let message = Message { lifetime, ..Message::of(bytes) };
        self.written += bytes;
        let key = socket.send(message).unwrap_or(self.written);
        self.log
            .append(0, MessageMark { end: key, created: now, reply: label.pack(), service_time: Span::ZERO });
        self.outstanding.insert(key, now);
        self.stats.sent += 1;
        self.next += 1;
    }

    fn settle(&mut self, now: Time, socket: &mut dyn Socket) {
        let sent_all = self.next == self.plan.frames && self.jumps == self.plan.jumps.len();
        if sent_all && !self.closed {
            self.closed = true;
            socket.close();
        }
        if sent_all && self.outstanding.is_empty() && self.finished.is_none() {
            self.finished = Some(now);
            self.log.close(now);
        }
        self.stats.named = vec![("media_rate_changes", self.rate.changes as f64)];
    }

    fn hear(&mut self, now: Time, event: MessageEvent) {
        match event {
            MessageEvent::Acknowledged(id) => {
                self.outstanding.remove(&id);
            }
            MessageEvent::Expired(id) | MessageEvent::Abandoned(id) => self.lose(now, id),
            MessageEvent::Congested if self.plan.adapts => self.rate.fall(now),
            MessageEvent::Broken => {
                (self.next, self.jumps) = (self.plan.frames, self.plan.jumps.len());
                self.outstanding.clear();
            }
            MessageEvent::Congested | MessageEvent::Received { .. } => {}
        }
    }

    /// The transport gave a frame up: a sign, unless it was sent before the last change or is of the end of a session.
    fn lose(&mut self, now: Time, id: MessageId) {
        let sent = self.outstanding.remove(&id);
        if self.plan.adapts && !self.closed && sent.is_some_and(|sent| sent >= self.rate.since) {
            self.rate.fall(now);
        }
    }
}

impl App for MediaSource {
    fn started(&mut self, now: Time, socket: &mut dyn Socket) {
        (self.start, self.base, self.rate.changed) = (now, now, now);
        self.timeout(now, socket);
    }

    fn progressed(&mut self, now: Time, socket: &mut dyn Socket) {
        if socket.keeps_messages() {
            while let Some(event) = socket.poll_event() {
                self.hear(now, event);
            }
        } else {
            let acknowledged = socket.acknowledged();
            self.outstanding = self.outstanding.split_off(&(acknowledged + 1));
        }
        self.settle(now, socket);
    }

    fn timeout(&mut self, now: Time, socket: &mut dyn Socket) {
        while self.next_jump() <= now {
            let Some(jump) = self.plan.jumps.get(self.jumps) else { break };
            self.from = self.plan.frame_at(jump.to);
            (self.next, self.base) = (self.from, now);
            self.jumps += 1;
        }
        while self.next < self.plan.frames && self.due() <= now {
            self.send(now, socket);
        }
        self.settle(now, socket);
    }

    fn next_timeout(&self) -> Time {
        if self.start.is_never() {
            return Time::NEVER;
        }
        let frame = if self.next < self.plan.frames { self.due() } else { Time::NEVER };
        frame.min(self.next_jump())
    }
    fn finished(&self) -> Option<Time> {
        self.finished
    }
    fn stats(&self) -> Option<&AppStats> {
        Some(&self.stats)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn adaptation() -> Adaptation {
        Adaptation {
            level: 0,
            levels: 3,
            changed: Time::ZERO,
            since: Time::ZERO,
            rose: false,
            failures: vec![0; 3],
            changes: 0,
            half: Span::from_secs(2),
        }
    }
    fn at(s: u64) -> Time {
        Time::ZERO + Span::from_secs(s)
    }

    /// Steps up come after five seconds without a sign; one that does not last doubles the time, up to eightfold.
    #[test]
    fn a_step_up_that_fails_is_tried_later() {
        let mut rate = adaptation();
        rate.consider(at(4), Span::ZERO);
        assert_eq!(rate.level, 0);
        rate.consider(at(5), Span::from_secs(2));
        assert_eq!(rate.level, 0, "too much is outstanding");
        rate.consider(at(5), Span::ZERO);
        assert_eq!(rate.level, 1);
        rate.fall(at(6));
        assert_eq!((rate.level, rate.patience()), (0, Span::from_secs(10)));
        rate.fall(at(7));
        assert_eq!(rate.level, 0, "nothing below");
        for _ in 0..9 {
            let now = rate.changed + rate.patience();
            rate.consider(now, Span::ZERO);
            rate.fall(now + Span::from_secs(1));
        }
        assert_eq!(rate.patience(), Span::from_secs(40));
        rate.consider(rate.changed + rate.patience(), Span::ZERO);
        rate.consider(rate.changed + rate.patience(), Span::ZERO);
        assert_eq!((rate.level, rate.failures[1]), (2, 0), "the first step has lasted");
        rate.fall(rate.changed + Span::from_secs(1));
        assert_eq!((rate.level, rate.patience()), (1, Span::from_secs(10)), "the second has not");
    }

    /// One congestion is one step: what was outstanding before the step is no new sign.
    #[test]
    fn one_step_down_at_a_time() {
        let mut rate = Adaptation { level: 2, changed: at(1), ..adaptation() };
        rate.fall(at(10));
        rate.fall(at(11));
        assert_eq!(rate.level, 1);
        rate.consider(at(12), Span::from_secs(3));
        assert_eq!(rate.level, 0);
    }
}
