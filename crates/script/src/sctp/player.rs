//! Player of SCTP dialogues: plays events against an association, runs its timers between events, checks
//! packets and state.

use super::chunk::{Pattern, seen};
use super::harness::{SctpHarness, at, seconds};
use super::{Dialogue, Event, VerificationTag, What, options};
use crate::player::{DialogueVerdict, Failure, Reading};
use crate::verdict::{Arrow, Rung};
use base::{Span, Time};
use sctp::chunk::Chunk;
use toml::{Table, Value};
use transport::app::Socket as _;
use transport::app::message::Message;
use transport::endpoint::Endpoint as _;

/// Default maximum lateness of an expected packet, seconds.
const TOLERANCE: f64 = 0.01;
/// Times closer than this count as equal, seconds.
const SAME: f64 = 1e-6;
/// Tolerance of observed times, seconds.
const MILLISECOND: f64 = 1e-3;

/// Failure: time, reason, expected, seen, position in the log.
struct Mismatch {
    t: f64,
    why: &'static str,
    expected: String,
    seen: String,
    rung: Option<usize>,
}

enum Stop {
    Unsupported(String),
    Wrong(Mismatch),
}

impl From<Mismatch> for Stop {
    fn from(wrong: Mismatch) -> Stop {
        Stop::Wrong(wrong)
    }
}

struct Player<'a> {
    harness: SctpHarness,
    reading: Reading,
    unasked: usize,
    /// Time until which nothing may be sent, seconds.
    quiet_until: f64,
    rest: &'a [Event],
}

/// Plays a dialogue.
pub fn play(dialogue: &Dialogue, reading: Reading) -> DialogueVerdict {
    if let Some(word) = dialogue.unknown.first() {
        return DialogueVerdict::Unsupported(word.clone());
    }
    let options = match options::read(&dialogue.options) {
        Ok(options) => options,
        Err(word) => return DialogueVerdict::Unsupported(word),
    };
    let mut player = Player {
        harness: SctpHarness::new(&options),
        reading,
        unasked: 0,
        quiet_until: f64::NEG_INFINITY,
        rest: &[],
    };
    let mut last = 1;
    for (i, event) in dialogue.events.iter().enumerate() {
        player.rest = &dialogue.events[i + 1..];
        last = event.line;
        match player.event(event.t, &event.what) {
            Ok(()) if player.harness.out_of_expiries() => {
                return DialogueVerdict::Unsupported(format!("timers that never rest (line {})", event.line));
            }
            Ok(()) => {}
            Err(Stop::Unsupported(word)) => {
                return DialogueVerdict::Unsupported(format!("{word} (line {})", event.line));
            }
            Err(Stop::Wrong(wrong)) => {
                return DialogueVerdict::Fail(Box::new(player.failure(event.line, wrong)));
            }
        }
    }
    match player.nothing_left() {
        Ok(()) => DialogueVerdict::Pass { unasked: player.unasked },
        Err(wrong) => DialogueVerdict::Fail(Box::new(player.failure(last, wrong))),
    }
}

fn words(packet: &[Pattern]) -> String {
    packet.iter().map(ToString::to_string).collect::<Vec<_>>().join(" + ")
}

impl Player<'_> {
    fn event(&mut self, t: f64, what: &What) -> Result<(), Stop> {
        match what {
            What::Expect { packets, path, tol } => return Ok(self.expect(t, packets, *path, *tol)?),
            What::Silence(until) => {
                self.quiet_until = self.quiet_until.max(*until);
                let limit = self.limit(*until).min(earlier(at(*until)));
                self.harness.run_until(limit);
                return Ok(self.keep_quiet()?);
            }
            What::State(values) => {
                self.harness.run_until(at(t));
                return Ok(self.compare(t, values)?);
            }
            _ => {}
        }
        self.harness.run_before(at(t));
        self.nothing_left()?;
        match what {
            What::Connect => {
                self.harness.note("connect".to_owned());
                self.harness.run(|association, io| association.open(io));
            }
            What::Write(bytes) => {
                self.harness.note(format!("write {bytes}"));
                self.harness.association.write(*bytes);
                self.harness.run(|association, io| association.transmit(io));
            }
            What::Message { bytes, stream, unordered, lifetime, retransmissions } => {
                self.harness.note(format!("send {bytes}"));
                let message = Message {
                    bytes: *bytes,
                    stream: *stream,
                    unordered: *unordered,
                    lifetime: lifetime.map(Span::from_secs_f64),
                    retransmissions: *retransmissions,
                };
                self.harness.association.send(message);
                self.harness.run(|association, io| association.transmit(io));
            }
            What::Close => {
                self.harness.note("close".to_owned());
                self.harness.association.close();
                self.harness.run(|association, io| association.transmit(io));
            }
            What::Abort => {
                self.harness.note("abort".to_owned());
                self.harness.association.abort();
                self.harness.run(|association, io| association.transmit(io));
            }
            What::Read(bytes) => {
                self.harness.note(format!("read {bytes}"));
                if *bytes == 0 {
                    self.harness.association.read_slowly(true);
                }
                self.harness.association.read(*bytes);
                self.harness.run(|association, io| association.transmit(io));
            }
            What::Receive { chunks, tag, path, marked } => self.receive(chunks, *tag, *path, *marked)?,
            What::Told(events) => {
                let seen = std::mem::take(&mut self.harness.notifications);
                if seen != *events {
                    let (expected, seen) = (events.join(", "), seen.join(", "));
                    let why = "the application got other events";
                    return Err(Mismatch { t, why, expected, seen, rung: None }.into());
                }
            }
            What::Expect { .. } | What::Silence(_) | What::State(_) => {}
        }
        Ok(())
    }

    fn receive(
        &mut self,
        chunks: &[Pattern],
        tag: VerificationTag,
        path: u8,
        marked: bool,
    ) -> Result<(), Stop> {
        if usize::from(path) >= self.harness.association.paths().len() {
            return Err(Stop::Unsupported(format!("path {path}: the association has fewer")));
        }
        let chunks: Result<Vec<Chunk>, String> =
            chunks.iter().map(|c| c.chunk(&self.harness.context)).collect();
        let chunks = chunks.map_err(Stop::Unsupported)?;
        let right = self.harness.tag_for(chunks.first());
        let tag = match tag {
            VerificationTag::Right => right,
            VerificationTag::Wrong => right ^ 0x0101,
            VerificationTag::Peer => self.harness.association.tags()[1],
        };
        self.harness.receive(chunks, tag, path, marked);
        Ok(())
    }

    /// Time up to which the clock may run: before the next packet of the peer or call of the application.
    fn limit(&self, t: f64) -> Time {
        let injects = |e: &&Event| !matches!(e.what, What::Expect { .. } | What::Silence(_) | What::State(_));
        match self.rest.iter().find(injects) {
            Some(next) => at(t).min(earlier(at(next.t))),
            None => at(t),
        }
    }

    fn expect(
        &mut self,
        t: f64,
        packets: &[Vec<Pattern>],
        path: Option<u8>,
        tol: Option<f64>,
    ) -> Result<(), Mismatch> {
        let latest = t + tol.unwrap_or(TOLERANCE);
        let limit = self.limit(latest).max(at(t));
        for wanted in packets {
            if self.harness.left.is_empty() {
                // Runs to the next packet only: a later packet may match another expectation.
                while self.harness.left.is_empty() && self.harness.association.next_timeout() <= limit {
                    let next = self.harness.association.next_timeout();
                    self.harness.run_until(next.max(self.harness.now));
                    if self.harness.out_of_expiries() {
                        return Ok(());
                    }
                }
            }
            let expected = format!("{} from {t} to {latest} s", words(wanted));
            let Some(left) = self.harness.left.pop_front() else {
                let (why, seen) = ("nothing left", "nothing".to_owned());
                return Err(Mismatch { t: latest, why, expected, seen, rung: None });
            };
            let chunks = &left.packet.chunks;
            let fits = chunks.len() == wanted.len() && wanted.iter().zip(chunks).all(|(w, c)| w.fits(c));
            let why = match () {
                () if !fits => "something else left",
                () if left.t < t - SAME => "it left too early",
                () if left.t > latest + SAME => "it left too late",
                () if path.is_some_and(|path| path != left.path) => "it left on another path",
                () => continue,
            };
            let seen = format!("{} at {} s on path {}", seen(chunks, wanted), left.t, left.path);
            return Err(Mismatch { t: left.t, why, expected, seen, rung: Some(left.rung) });
        }
        Ok(())
    }

    fn keep_quiet(&mut self) -> Result<(), Mismatch> {
        let until = self.quiet_until;
        let Some(left) = self.harness.left.iter().find(|left| left.t < until - SAME) else { return Ok(()) };
        let seen = seen(&left.packet.chunks, &[]);
        let (why, expected) = ("something left in a silence", format!("nothing until {until} s"));
        Err(Mismatch { t: left.t, why, expected, seen, rung: Some(left.rung) })
    }

    /// Fails if a packet was sent that no expectation has matched; `Reading::AsWritten` only counts it.
    fn nothing_left(&mut self) -> Result<(), Mismatch> {
        self.keep_quiet()?;
        if self.reading == Reading::AsWritten {
            self.unasked += self.harness.left.len();
            self.harness.left.clear();
        }
        let Some(left) = self.harness.left.front() else { return Ok(()) };
        let seen = seen(&left.packet.chunks, &[]);
        let (why, expected) = ("something left that nothing expected", "nothing".to_owned());
        Err(Mismatch { t: left.t, why, expected, seen, rung: Some(left.rung) })
    }

    fn compare(&self, t: f64, values: &Table) -> Result<(), Mismatch> {
        for (key, expected) in values.iter().flat_map(flat) {
            let seen = self.harness.value(&key);
            let good = match (&seen, expected) {
                (Some(Value::Float(seen)), wanted) => {
                    let wanted = wanted.as_float().or(wanted.as_integer().map(|n| n as f64));
                    wanted.is_some_and(|wanted| (seen - wanted).abs() < MILLISECOND)
                }
                (Some(seen), wanted) => seen == wanted,
                (None, _) => false,
            };
            if !good {
                let seen = seen.map_or_else(|| "no such value".to_owned(), |v| format!("{key} = {v}"));
                let why = "a value is not as it should be";
                return Err(Mismatch { t, why, expected: format!("{key} = {expected}"), seen, rung: None });
            }
        }
        Ok(())
    }

    fn failure(&mut self, line: usize, wrong: Mismatch) -> Failure {
        let Mismatch { t, why, expected, seen, rung } = wrong;
        match rung.and_then(|rung| self.harness.rungs.get_mut(rung)) {
            Some(rung) => rung.wrong = true,
            None => {
                let words = "missing".to_owned();
                self.harness.rungs.push(Rung {
                    t: seconds(self.harness.now),
                    wrong: true,
                    arrow: Arrow::None,
                    words,
                });
            }
        }
        Failure {
            t,
            line,
            why: why.to_owned(),
            expected,
            seen,
            rungs: std::mem::take(&mut self.harness.rungs),
            ..Failure::default()
        }
    }
}

/// Entry of a values table as dotted keys: `1.cwnd` may be written as a nested table.
fn flat<'a>((key, value): (&'a String, &'a Value)) -> Vec<(String, &'a Value)> {
    match value {
        Value::Table(inner) => inner.iter().map(|(k, v)| (format!("{key}.{k}"), v)).collect(),
        _ => vec![(key.clone(), value)],
    }
}

fn earlier(t: Time) -> Time {
    Time::from_nanos(t.as_nanos().saturating_sub(crate::harness::SAME.as_nanos()))
}
