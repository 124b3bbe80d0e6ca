//! Message workload with a connection for each message: ATP's mapping on TCP (Gurtov and Ludwig, section III.E).
//!
//! Each unit is written to a connection of its own, which is closed behind it. A kill timer aborts the connection at the
//! end of the unit's lifetime; until then TCP retransmits. Both ends share the record of message boundaries.

use super::lines::{Letter, Letters, Lines, Workload};
use super::seen::Seen;
use super::tell::{Pace, Useful};
use base::{Span, Time};
use std::collections::BTreeMap;

/// A unit that is being sent.
#[derive(Clone, Copy, Debug)]
struct Unit {
    bytes: u64,
    /// When its kill timer expires.
    dies: Time,
}

/// Source that opens a connection for each scheduled message.
pub struct UnitSource {
    pace: Pace,
    letters: Letters,
    lifetime: Option<Span>,
    start: Time,
    next: Option<(Span, u64)>,
    /// Units neither acknowledged nor abandoned, by connection. Connections are numbered in order of their units and all
    /// lifetimes are equal, so the first one has the earliest kill timer.
    open: BTreeMap<usize, Unit>,
    finished: Option<Time>,
    seen: Seen,
}

impl UnitSource {
    /// A source with this schedule, whose units are aborted after `lifetime`.
    pub fn new(mut pace: Pace, lifetime: Option<Span>, letters: Letters) -> Self {
        let next = pace.message();
        let seen = Seen { expired: Some(0), ..Seen::default() };
        UnitSource {
            pace,
            letters,
            lifetime,
            start: Time::NEVER,
            next,
            open: BTreeMap::new(),
            finished: None,
            seen,
        }
    }

    fn settle(&mut self, now: Time) {
        if self.next.is_none() && self.open.is_empty() && self.finished.is_none() {
            self.finished = Some(now);
            self.letters.close(now);
        }
    }

    /// The unit of this connection cannot be delivered any more.
    fn give_up(&mut self, line: usize) {
        if self.open.remove(&line).is_some() {
            self.letters.forget(line);
            self.seen.expired = self.seen.expired.map(|n| n + 1);
        }
    }
}

impl Workload for UnitSource {
    fn started(&mut self, now: Time, lines: &mut dyn Lines) {
        self.start = now;
        self.timeout(now, lines);
    }

    fn progressed(&mut self, now: Time, line: usize, lines: &mut dyn Lines) {
        let acknowledged = lines.line(line).map_or(0, |socket| socket.acknowledged());
        if self.open.get(&line).is_some_and(|unit| acknowledged >= unit.bytes) {
            self.open.remove(&line);
        }
        self.settle(now);
    }

    fn broken(&mut self, now: Time, line: usize) {
        self.give_up(line);
        self.settle(now);
    }

    fn timeout(&mut self, now: Time, lines: &mut dyn Lines) {
        // Paper III.E: a kill timer at the end of the unit's lifetime.
        while let Some((&line, _)) = self.open.first_key_value().filter(|(_, unit)| unit.dies <= now) {
            lines.abort(line);
            self.give_up(line);
        }
        while let Some((_, bytes)) = self.next.filter(|(at, _)| self.start + *at <= now) {
            let line = lines.open();
            self.letters.post(line, Letter { end: bytes, made: now, reply: 0, wait: Span::ZERO });
            self.seen.sent += 1;
            let dies = self.lifetime.map_or(Time::NEVER, |lifetime| now + lifetime);
            self.open.insert(line, Unit { bytes, dies });
            if let Some(socket) = lines.line(line) {
                socket.write(bytes);
                socket.close();
            }
            self.next = self.pace.message();
        }
        self.settle(now);
    }

    fn next_timeout(&self) -> Time {
        if self.start.is_never() {
            return Time::NEVER;
        }
        let next = self.next.map_or(Time::NEVER, |(at, _)| self.start + at);
        self.open.first_key_value().map_or(next, |(_, unit)| unit.dies.min(next))
    }
    fn finished(&self) -> Option<Time> {
        self.finished
    }
    fn seen(&self) -> &Seen {
        &self.seen
    }
}

/// Sink of a [`UnitSource`].
pub struct UnitSink {
    letters: Letters,
    useful: Useful,
    seen: Seen,
}

impl UnitSink {
    /// Sink for the units announced in `letters`.
    pub fn new(letters: Letters, useful: Useful) -> Self {
        UnitSink { letters, useful, seen: Seen::default() }
    }
}

impl Workload for UnitSink {
    fn started(&mut self, _now: Time, _lines: &mut dyn Lines) {}

    fn progressed(&mut self, now: Time, line: usize, lines: &mut dyn Lines) {
        let Some(received) = lines.line(line).map(|socket| socket.received()) else { return };
        if let Some(letter) = self.letters.take(line, received) {
            let delay = now.since(letter.made);
            self.seen.delays.push(delay);
            self.seen.hear(delay);
            self.seen.bytes += letter.end;
            self.seen.late += u64::from(self.useful.late(delay, self.letters.more(line + 1)));
        }
    }

    fn timeout(&mut self, _now: Time, _lines: &mut dyn Lines) {}
    fn next_timeout(&self) -> Time {
        Time::NEVER
    }
    fn finished(&self) -> Option<Time> {
        self.letters.closed()
    }
    fn seen(&self) -> &Seen {
        &self.seen
    }
}
