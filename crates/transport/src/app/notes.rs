//! Message statistics when sender and receiver run on different hosts: arrival log and replay.
//!
//! Each side records times and bytes. The controller merges both logs with the plan, in order of time, and
//! replays them through the ordinary sink ([`super::tell::Listener`], [`super::datagrams::Hearing`]).

use super::Socket;
use super::datagrams::{Hearing, fragments};
use super::lines::{Letter, Letters, Lines, Workload};
use super::seen::Seen;
use super::tell::{Listener, Pace, Useful};
use base::{Span, Time};
use std::sync::{Arc, Mutex, PoisonError};

/// Arrival: time, and the bytes received so far or the ordinal of the datagram.
pub type Arrival = (Time, u64);

/// Shared arrival log.
#[derive(Clone, Default, Debug)]
pub struct Notes(Arc<Mutex<Vec<Arrival>>>);

impl Notes {
    /// Appends an arrival.
    pub fn add(&self, now: Time, value: u64) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push((now, value));
    }
    /// Takes all arrivals out of the log.
    pub fn take(&self) -> Vec<Arrival> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Sink that records the arrivals on its single connection.
pub struct Noting {
    notes: Notes,
    received: u64,
    seen: Seen,
}

impl Noting {
    /// Records into `notes`.
    pub fn new(notes: Notes) -> Self {
        Noting { notes, received: 0, seen: Seen::default() }
    }
}

impl Workload for Noting {
    fn started(&mut self, _now: Time, _lines: &mut dyn Lines) {}
    fn progressed(&mut self, now: Time, line: usize, lines: &mut dyn Lines) {
        let received = lines.line(line).map_or(0, |socket| socket.received());
        if received > self.received {
            self.received = received;
            self.notes.add(now, received);
        }
    }
    fn timeout(&mut self, _now: Time, _lines: &mut dyn Lines) {}
    fn next_timeout(&self) -> Time {
        Time::NEVER
    }
    /// Unknown here; only the source knows.
    fn finished(&self) -> Option<Time> {
        None
    }
    fn seen(&self) -> &Seen {
        &self.seen
    }
}

/// Messages of a source with this schedule, sent at the recorded times: over a connection, or in datagrams of
/// at most `payload` message bytes.
pub fn said(mut pace: Pace, payload: Option<u32>, made: &[Time]) -> Vec<Letter> {
    let mut end = 0;
    let messages = std::iter::from_fn(|| pace.message()).zip(made);
    let letter = |((_, bytes), made): ((Span, u64), &Time)| {
        // As the source numbers them.
        end += payload.map_or(bytes, |most| fragments(bytes, most));
        let reply = if payload.is_some() { bytes } else { 0 };
        Letter { end, made: *made, reply, wait: Span::ZERO }
    };
    messages.map(letter).collect()
}

/// Merges both logs in order of time: `heard` is called for each arrival, after all earlier messages were
/// posted.
fn replay(said: &[Letter], came: &[Arrival], mut heard: impl FnMut(&Letters, Arrival)) {
    let (letters, mut said, mut end) = (Letters::default(), said.iter().peekable(), 0);
    for &(now, value) in came {
        // An arrival implies an earlier transmission, even if the two clocks disagree.
        while let Some(letter) = said.next_if(|letter| letter.made <= now || end < value) {
            end = letter.end;
            letters.post(LINE, *letter);
        }
        heard(&letters, (now, value));
    }
}

/// Number of the single connection of a message source.
const LINE: usize = 0;

/// Statistics of the sink of a connection, from the sent messages and the arrivals.
pub fn listened(said: &[Letter], came: &[Arrival], useful: Useful) -> Seen {
    let mut listener = None;
    replay(said, came, |letters, (now, received)| {
        let listener = listener.get_or_insert_with(|| Listener::new(letters.clone(), useful));
        listener.progressed(now, LINE, &mut Heard(received));
    });
    listener.map(|listener| listener.seen().clone()).unwrap_or_default()
}

/// Statistics of a datagram sink, and the time of the last arrival.
pub fn heard(said: &[Letter], came: &[Arrival], useful: Useful) -> (Seen, Time) {
    let mut hearing = None;
    replay(said, came, |letters, (now, number)| {
        let hearing = hearing.get_or_insert_with(|| Hearing::new(letters.clone(), useful));
        if let Ok(number) = u32::try_from(number) {
            hearing.hear(now, number, None);
        }
    });
    hearing.map(|hearing| (hearing.seen().clone(), hearing.last())).unwrap_or_default()
}

/// A connection of which only the received bytes are known.
struct Heard(u64);

impl Lines for Heard {
    fn open(&mut self) -> usize {
        LINE
    }
    fn line(&mut self, _number: usize) -> Option<&mut dyn Socket> {
        Some(self)
    }
    fn abort(&mut self, _number: usize) {}
}

impl Socket for Heard {
    fn write(&mut self, _bytes: u64) {}
    fn close(&mut self) {}
    fn stop(&mut self) {}
    fn received(&self) -> u64 {
        self.0
    }
    fn acknowledged(&self) -> u64 {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    /// Events in order: a message is sent, or part of the sent data arrives.
    #[derive(Clone, Debug)]
    enum Step {
        Said(u64),
        Came(u64),
    }

    fn steps() -> impl Strategy<Value = Vec<(u64, Step)>> {
        let step = prop_oneof![(1u64..9).prop_map(Step::Said), (0u64..40).prop_map(Step::Came)];
        proptest::collection::vec((0u64..30, step), 0..60)
    }

    fn same(a: &Seen, b: &Seen) {
        assert_eq!((&a.delays, a.late, a.reordered, a.bytes), (&b.delays, b.late, b.reordered, b.bytes));
        assert_eq!(a.jitter_ns, b.jitter_ns);
    }

    fn useful() -> impl Strategy<Value = Useful> {
        prop_oneof![
            Just(Useful::Always),
            Just(Useful::UntilNext),
            (0u64..90).prop_map(|ms| Useful::For(Span::from_millis(ms)))
        ]
    }

    proptest! {
        /// Replay from logs gives the statistics of a live sink.
        #[test]
        fn told_afterwards_is_the_same_as_there(steps in steps(), useful in useful()) {
            let (letters, rows) = (Letters::default(), Letters::default());
            let mut listener = Listener::new(letters.clone(), useful);
            let mut hearing = Hearing::new(rows.clone(), useful);
            let (mut said, mut came, mut numbers) = (Vec::new(), Vec::new(), Vec::new());
            let (mut now, mut end, mut received) = (0, 0, 0);
            for (after, step) in steps {
                now += after + 1;
                match step {
                    Step::Said(bytes) => {
                        end += bytes;
                        let letter = Letter { end, made: at(now), reply: bytes, wait: Span::ZERO };
                        said.push(letter);
                        letters.post(LINE, letter);
                        rows.post(LINE, letter);
                    }
                    Step::Came(value) => {
                        let more = (received + value).min(end);
                        if more > received {
                            received = more;
                            came.push((at(now), received));
                            listener.progressed(at(now), LINE, &mut Heard(received));
                        }
                        // Any datagram sent, possibly repeated, or an unknown one.
                        let number = if end > 0 { value % (end + 1) } else { 0 };
                        numbers.push((at(now), number));
                        hearing.hear(at(now), number as u32, None);
                    }
                }
            }
            same(listener.seen(), &listened(&said, &came, useful));
            let (seen, last) = heard(&said, &numbers, useful);
            same(hearing.seen(), &seen);
            prop_assert_eq!(last, hearing.last());
        }
    }

    /// An arrival implies an earlier transmission even if the sink's clock is behind.
    #[test]
    fn what_came_was_said_before() {
        let said = [Letter { end: 10, made: at(5), reply: 10, wait: Span::ZERO }];
        let seen = listened(&said, &[(at(4), 10)], Useful::Always);
        assert_eq!((seen.delays, seen.bytes), (vec![Span::ZERO], 10));
        let (seen, _) = heard(&said, &[(at(4), 3), (at(4), 11), (at(9), u64::MAX)], Useful::Always);
        assert_eq!((seen.bytes, seen.late), (0, 0));
    }
}
