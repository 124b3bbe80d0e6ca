//! Message workloads at their own pace: CBR, on-off, news ticker.
//!
//! Voice at a constant rate, bursts with silences, a news ticker: messages are created on schedule,
//! regardless of the transport (catalogue RT-09, ME-05, NS-01). Over TCP they wait in the send buffer; as
//! datagrams they are sent at once.

use super::lines::{Letter, Letters, Lines, Workload};
use super::seen::Seen;
use base::dist::{Dist, Sampler};
use base::rng::Seed;
use base::{Span, Time};
use serde::{Deserialize, Serialize};

/// Message plan: sizes, intervals and bursts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Telling {
    /// Size of a message, bytes.
    pub size: Dist,
    /// Interval between messages, nanoseconds.
    pub every: Dist,
    /// Durations of bursts and of the silences between them, nanoseconds; none: one endless burst.
    pub bursts: Option<(Dist, Dist)>,
    /// Number of messages; none: unlimited.
    pub count: Option<u64>,
    /// Duration; none: unlimited.
    pub lasts: Option<Span>,
    /// Useful life of a message.
    pub useful: Useful,
}

/// Useful life of a message at the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Useful {
    /// Unlimited.
    Always,
    /// Until the next message is created.
    UntilNext,
    /// For this time after creation: the delay of a playout buffer.
    For(Span),
}

impl Useful {
    /// Whether a message with this `delay` is late; `newer`: the next one was already created.
    pub fn late(self, delay: Span, newer: bool) -> bool {
        match self {
            Useful::Always => false,
            Useful::UntilNext => newer,
            Useful::For(span) => delay > span,
        }
    }
}

/// Schedule of the messages of a [`Telling`].
#[derive(Clone, Debug)]
pub struct Pace {
    size: Sampler,
    every: Sampler,
    bursts: Option<(Sampler, Sampler)>,
    left: u64,
    ends: Span,
    /// Creation time of the next message, relative to the start.
    at: Span,
    silent_from: Span,
}

/// Upper bound of consecutive empty bursts, after which the schedule ends.
const EMPTY_BURSTS: u32 = 10_000;

impl Pace {
    /// `name` is the flow's.
    pub fn new(plan: &Telling, name: &str, seed: Seed) -> Self {
        let sampler = |dist: &Dist, purpose: &str| Sampler::new(dist.clone(), seed.stream(name, purpose));
        let mut bursts = plan.bursts.as_ref().map(|(on, off)| (sampler(on, "on"), sampler(off, "off")));
        Pace {
            size: sampler(&plan.size, "size"),
            every: sampler(&plan.every, "every"),
            silent_from: bursts.as_mut().map_or(Span::FOREVER, |(on, _)| span(on)),
            bursts,
            left: plan.count.unwrap_or(u64::MAX),
            ends: plan.lasts.unwrap_or(Span::FOREVER),
            at: Span::ZERO,
        }
    }

    /// Creation time of the next message, relative to the start, and its bytes; none: the schedule has ended.
    pub fn message(&mut self) -> Option<(Span, u64)> {
        if let Some((on, off)) = &mut self.bursts {
            let mut empty = 0;
            while self.at >= self.silent_from {
                self.at = self.silent_from + span(off);
                self.silent_from = self.at + span(on);
                empty += 1;
                if empty > EMPTY_BURSTS {
                    return None;
                }
            }
        }
        if self.left == 0 || self.at >= self.ends {
            return None;
        }
        self.left -= 1;
        let now = self.at;
        self.at += span(&mut self.every);
        Some((now, (self.size.draw().round() as u64).max(1)))
    }
}

fn span(sampler: &mut Sampler) -> Span {
    Span::from_nanos(sampler.draw() as u64)
}

/// Message source over a connection.
pub struct Teller {
    pace: Pace,
    letters: Letters,
    start: Time,
    next: Option<(Span, u64)>,
    /// Copy of the schedule before its start, from which the log regenerates the records.
    again: Option<Pace>,
    /// Whether all messages so far were created on schedule.
    in_time: bool,
    line: usize,
    written: u64,
    finished: Option<Time>,
    seen: Seen,
}

impl Teller {
    /// A source with this schedule.
    pub fn new(mut pace: Pace, letters: Letters) -> Self {
        let again = Some(pace.clone());
        let next = pace.message();
        let (start, seen) = (Time::NEVER, Seen::default());
        Teller { pace, letters, start, next, again, in_time: true, line: 0, written: 0, finished: None, seen }
    }

    /// Records a message. While messages are on schedule, records are regenerated: one record per message
    /// could fill memory, since the backlog is unbounded. In real time a message may be late; from then on
    /// records are kept.
    fn say(&mut self, at: Span, now: Time) {
        self.in_time &= self.start + at == now;
        if !(self.in_time && self.letters.count(self.line)) {
            let letter = Letter { end: self.written, made: now, reply: 0, wait: Span::ZERO };
            self.letters.post(self.line, letter);
        }
    }

    fn done(&mut self, now: Time, lines: &mut dyn Lines) {
        let acknowledged = lines.line(self.line).map_or(0, |socket| socket.acknowledged());
        if self.next.is_none() && acknowledged >= self.written && self.finished.is_none() {
            self.finished = Some(now);
            self.letters.close(now);
        }
    }
}

impl Workload for Teller {
    fn started(&mut self, now: Time, lines: &mut dyn Lines) {
        self.start = now;
        self.line = lines.open();
        if let Some(mut pace) = self.again.take() {
            let mut end = 0;
            let redraw = move || {
                let (at, bytes) = pace.message()?;
                end += bytes;
                Some(Letter { end, made: now + at, reply: 0, wait: Span::ZERO })
            };
            self.letters.redraws(self.line, Box::new(redraw));
        }
        self.timeout(now, lines);
    }

    fn progressed(&mut self, now: Time, _line: usize, lines: &mut dyn Lines) {
        self.done(now, lines);
    }

    fn timeout(&mut self, now: Time, lines: &mut dyn Lines) {
        while let Some((at, bytes)) = self.next.filter(|(at, _)| self.start + *at <= now) {
            self.written += bytes;
            self.seen.sent += 1;
            self.say(at, now);
            self.next = self.pace.message();
            if let Some(socket) = lines.line(self.line) {
                socket.write(bytes);
                if self.next.is_none() {
                    socket.close();
                }
            }
        }
        self.done(now, lines);
    }

    fn next_timeout(&self) -> Time {
        if self.start.is_never() {
            Time::NEVER
        } else {
            self.next.map_or(Time::NEVER, |(at, _)| self.start + at)
        }
    }
    fn finished(&self) -> Option<Time> {
        self.finished
    }
    fn seen(&self) -> &Seen {
        &self.seen
    }
}

/// Message sink over a connection.
pub struct Listener {
    letters: Letters,
    useful: Useful,
    read: u64,
    seen: Seen,
}

impl Listener {
    /// Sink for the messages announced in `letters`; see [`Telling::useful`].
    pub fn new(letters: Letters, useful: Useful) -> Self {
        Listener { letters, useful, read: 0, seen: Seen::default() }
    }
}

impl Workload for Listener {
    fn started(&mut self, _now: Time, _lines: &mut dyn Lines) {}

    fn progressed(&mut self, now: Time, line: usize, lines: &mut dyn Lines) {
        let Some(received) = lines.line(line).map(|socket| socket.received()) else { return };
        while let Some(letter) = self.letters.take(line, received) {
            let delay = now.since(letter.made);
            self.seen.delays.push(delay);
            self.seen.hear(delay);
            self.seen.bytes += letter.end - self.read;
            self.read = letter.end;
            self.seen.late += u64::from(self.useful.late(delay, self.letters.more(line)));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::Socket;

    /// A connection without ACKs; `received` bytes have arrived at the other end.
    #[derive(Default)]
    struct Slow {
        written: u64,
        received: u64,
    }

    impl Socket for Slow {
        fn write(&mut self, bytes: u64) {
            self.written += bytes;
        }
        fn close(&mut self) {}
        fn stop(&mut self) {}
        fn acknowledged(&self) -> u64 {
            0
        }
        fn received(&self) -> u64 {
            self.received
        }
    }

    impl Lines for Slow {
        fn open(&mut self) -> usize {
            0
        }
        fn line(&mut self, _number: usize) -> Option<&mut dyn Socket> {
            Some(self)
        }
        fn abort(&mut self, _number: usize) {}
    }

    /// Messages of random sizes in random bursts; 1 000 bytes arrive per second.
    fn telling(count: u64) -> Telling {
        Telling {
            size: Dist::Uniform(1.0, 9.0),
            every: Dist::Uniform(0.0, 2e6),
            bursts: Some((Dist::Constant(3e6), Dist::Uniform(1e5, 5e6))),
            count: Some(count),
            lasts: None,
            useful: Useful::UntilNext,
        }
    }

    /// Runs a source that is called `behind` after each message is due; returns the sink's statistics and the
    /// maximum number of records kept.
    fn run(count: u64, behind: Span) -> (Seen, usize) {
        let letters = Letters::default();
        let pace = Pace::new(&telling(count), "f", Seed { seed: 3, repetition: 0 });
        let (mut teller, mut lines) = (Teller::new(pace, letters.clone()), Slow::default());
        let mut listener = Listener::new(letters.clone(), Useful::UntilNext);
        let (mut now, mut kept) = (Time::ZERO + Span::from_secs(1), 0);
        teller.started(now, &mut lines);
        while !teller.next_timeout().is_never() {
            now = now.max(teller.next_timeout() + behind);
            teller.timeout(now, &mut lines);
            lines.received = lines.written.min(now.as_nanos() / 1_000_000);
            listener.progressed(now, 0, &mut lines);
            kept = kept.max(letters.kept());
        }
        lines.received = lines.written;
        listener.progressed(now + Span::from_secs(1), 0, &mut lines);
        (listener.seen().clone(), kept)
    }

    #[test]
    fn messages_that_wait_for_a_slow_connection_take_no_memory() {
        let (seen, kept) = run(100_000, Span::ZERO);
        assert_eq!((seen.delays.len(), kept), (100_000, 0));
    }

    #[test]
    fn letters_drawn_again_are_those_that_would_be_kept() {
        let (drawn, none) = run(5_000, Span::ZERO);
        // One nanosecond late: every record is kept, with its time of creation.
        let (kept, most) = run(5_000, Span::from_nanos(1));
        assert!(none == 0 && most > 1_000, "{none} {most}");
        assert_eq!((drawn.bytes, drawn.sent, drawn.late), (kept.bytes, kept.sent, kept.late));
        for (drawn, kept) in drawn.delays.iter().zip(&kept.delays) {
            assert!(drawn.as_nanos().abs_diff(kept.as_nanos()) <= 1_000_001, "{drawn:?} {kept:?}");
        }
    }

    #[test]
    fn a_letter_that_is_kept_stands_behind_those_drawn_again() {
        let letters = Letters::default();
        let mut end = 0;
        let redraw = move || {
            end += 1;
            Some(Letter { end, made: Time::ZERO, reply: 0, wait: Span::ZERO })
        };
        letters.redraws(0, Box::new(redraw));
        assert!(letters.count(0) && letters.count(0) && !letters.count(1));
        letters.post(0, Letter { end: 7, made: Time::ZERO, reply: 0, wait: Span::ZERO });
        assert!(!letters.count(0), "the next one would be out of turn");
        assert_eq!(letters.take(0, 0), None);
        let ends: Vec<u64> = std::iter::from_fn(|| letters.take(0, 9)).map(|letter| letter.end).collect();
        assert_eq!((ends, letters.more(0)), (vec![1, 2, 7], false));
    }
}
