//! Player of TCP dialogues: plays events against a sender or receiver, runs its timers between events, checks
//! segments and state.
//!
//! The first mismatch ends the dialogue, with the expected and the actual segment, and the log until then.
//! Segments are checked where the dialogue requires it (`expect`, `silence`, `expect_ack`). Elsewhere they
//! are only counted; under strict reading they are failures.

use crate::arithmetic;
use crate::dialogue::{Ack, Dialogue, DialogueEvent, Event, Expect, ExpectAck, Range, Receive};
use crate::harness::{EventKind, SAME, TestHarness};
use crate::matching::{Match, SentSegment, compare};
use crate::observe;
use crate::options::{self, Options};
pub use crate::verdict::{DialogueVerdict, Failure};
use crate::words::{clock, ranges, wanted};
use base::Time;
use base::tcp::{SackBlocks, Segment, Timestamps};
use std::collections::BTreeMap;
use transport::tcp::{Role, ecn};

/// t = 0 of a dialogue: late enough for any handshake before it.
const ORIGIN: f64 = 1000.0;
/// Default maximum lateness of an expected segment, seconds.
const TOLERANCE: f64 = 0.01;
/// Maximum distance of `tsecr` from the send time of a segment whose timestamp it means, seconds.
const ECHO: f64 = 0.02;

/// Strictness of a reading of a dialogue.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Reading {
    /// Segments in times without expectations are permitted.
    #[default]
    AsWritten,
    /// Every segment sent must be expected.
    Strict,
}

struct Player<'a> {
    harness: TestHarness,
    options: Options,
    reading: Reading,
    /// Segments sent since the last event of the peer that no expectation has matched.
    left: Vec<SentSegment>,
    /// Number of log entries already read.
    seen: usize,
    window: u64,
    /// Default timestamp that the peer echoes.
    echo: Time,
    /// Last send time of each segment, by its first byte.
    sent_at: BTreeMap<u64, Time>,
    /// Times at which segments were sent, for `tsecr`.
    instants: Vec<Time>,
    unasked: usize,
    /// Time until which nothing may be sent, seconds.
    quiet_until: f64,
    rest: &'a [Event],
}

/// Failure: reason, expected text, actual text.
struct Mismatch {
    t: f64,
    why: String,
    expected: String,
    seen: String,
}

fn at(t: f64) -> Time {
    Time::from_secs_f64(ORIGIN + t)
}

fn seconds(t: Time) -> f64 {
    // Difference of whole nanoseconds, so that 0.01 stays 0.01.
    (t.as_nanos() as i64 - at(0.0).as_nanos() as i64) as f64 / 1e9
}

/// Plays a dialogue.
pub fn play(dialogue: &Dialogue, reading: Reading) -> DialogueVerdict {
    if let Some(word) = dialogue.unknown.first() {
        return DialogueVerdict::Unsupported(word.clone());
    }
    if dialogue.events.is_empty() {
        return arithmetic::check(dialogue);
    }
    let options = match options::read(&dialogue.options, &dialogue.rfc) {
        Ok(options) => options,
        Err(word) => return DialogueVerdict::Unsupported(word),
    };
    let mut player = Player::connected(options, dialogue, reading);
    for (i, event) in dialogue.events.iter().enumerate() {
        player.rest = &dialogue.events[i + 1..];
        match player.event(event.t, &event.what) {
            Ok(()) if player.harness.out_of_expiries() => {
                return DialogueVerdict::Unsupported(format!("timers that never rest (line {})", event.line));
            }
            Ok(()) => {}
            Err(Stop::Unsupported(word)) => return DialogueVerdict::Unsupported(word),
            Err(Stop::Wrong(wrong)) => {
                return DialogueVerdict::Fail(Box::new(player.failure(event.line, *wrong)));
            }
        }
    }
    player.look();
    let end = match reading {
        Reading::Strict => player.keep_quiet().and_then(|()| player.nothing_unasked()),
        Reading::AsWritten => player.keep_quiet(),
    };
    if let Err(wrong) = end {
        let line = dialogue.events.last().map_or(1, |e| e.line);
        return DialogueVerdict::Fail(Box::new(player.failure(line, wrong)));
    }
    DialogueVerdict::Pass { unasked: player.unasked + player.asked_about().count() }
}

enum Stop {
    Unsupported(String),
    Wrong(Box<Mismatch>),
}

impl From<Mismatch> for Stop {
    fn from(wrong: Mismatch) -> Stop {
        Stop::Wrong(Box::new(wrong))
    }
}

impl<'a> Player<'a> {
    /// A connection that is established at t = 0, by a handshake that took `handshake_rtt`.
    fn connected(options: Options, dialogue: &'a Dialogue, reading: Reading) -> Player<'a> {
        let role = if options.receiver { Role::Passive } else { Role::Active };
        let before = at(-options.handshake_rtt);
        let mut player = Player {
            harness: TestHarness::new(options.config, role, before),
            reading,
            left: Vec::new(),
            seen: 0,
            window: options.peer_window,
            echo: before,
            sent_at: BTreeMap::new(),
            instants: Vec::new(),
            unasked: 0,
            quiet_until: f64::NEG_INFINITY,
            rest: &dialogue.events,
            options,
        };
        let window = player.peer_window();
        let stamps = player.options.config.timestamps;
        let stamp = |value: Time, echo: Time| stamps.then_some(Timestamps { value, echo });
        // The peer negotiates ECN if the tested end offers it.
        let (ecn, passive) = (player.options.config.ecn.offer, player.options.receiver);
        let syn = Segment { syn: true, window, ece: ecn, cwr: ecn && passive, ..Segment::default() };
        let harness = &mut player.harness;
        match role {
            Role::Active => {
                harness.run(|c, io| c.open(io));
                harness.now = at(0.0);
                let timestamps = stamp(at(0.0), before);
                harness.receive(&Segment { ack: 1, has_ack: true, timestamps, ..syn });
            }
            Role::Passive => {
                harness.receive(&Segment { timestamps: stamp(before, before), ..syn });
                harness.now = at(0.0);
                // The first byte of a dialogue may have any number: earlier bytes count as received.
                let (seq, len) = (1, u32::try_from(first_byte(dialogue)).unwrap_or(u32::MAX));
                let timestamps = stamp(at(0.0), before);
                let segment =
                    Segment { seq, len, ack: 1, has_ack: true, window, timestamps, ..Segment::default() };
                harness.receive(&segment);
                if harness.connection.receiver.next_timeout() < Time::NEVER {
                    let now = harness.now;
                    harness.connection.receiver.acknowledge(now, stamps);
                }
            }
        }
        if player.options.handshake_rtt == 0.0 {
            // Without a measured RTT, the RTO is the initial one.
            let sender = &mut player.harness.connection.sender;
            sender.tcb.rto = transport::recovery::rto::RtoTimer::new(player.options.config.rto);
        }
        player.harness.log.clear();
        player
    }

    fn peer_window(&self) -> u32 {
        u32::try_from(self.window).unwrap_or(u32::MAX)
    }

    fn stamps(&self) -> bool {
        self.options.config.timestamps
    }

    fn event(&mut self, t: f64, what: &DialogueEvent) -> Result<(), Stop> {
        match what {
            DialogueEvent::AppWrite(bytes) => {
                self.inject(t)?;
                if !self.harness.write(*bytes) {
                    return Err(Stop::Unsupported(format!("app_write of {bytes} bytes: too much in all")));
                }
            }
            DialogueEvent::Ack(ack) => {
                self.inject(t)?;
                self.ack(t, ack);
            }
            DialogueEvent::Receive(segment) => {
                self.inject(t)?;
                self.receive(t, segment)?;
            }
            DialogueEvent::Expect(expect) => return self.expect(t, expect),
            DialogueEvent::ExpectAck(expected) => self.expect_ack(t, expected)?,
            DialogueEvent::Silence(until) => {
                // A silence may extend over events of the peer.
                self.quiet_until = self.quiet_until.max(*until);
                self.harness.run_until(self.limit(t, Some(until - t)).min(before(at(*until))));
                self.look();
                self.keep_quiet()?;
                self.left.clear();
            }
            DialogueEvent::State(values) => {
                self.harness.run_until(at(t));
                if let Err((expected, seen)) = observe::differs(&self.harness, values) {
                    let why = "a value is not as it should be".to_owned();
                    return Err(Mismatch { t, why, expected, seen }.into());
                }
            }
        }
        Ok(())
    }

    /// Prepares an event of the peer: segments sent later are its consequence.
    fn inject(&mut self, t: f64) -> Result<(), Mismatch> {
        self.harness.run_before(at(t));
        self.look();
        self.keep_quiet()?;
        if self.reading == Reading::Strict {
            self.nothing_unasked()?;
        }
        self.unasked += self.asked_about().count();
        self.left.clear();
        Ok(())
    }

    /// Fails if a segment was sent during a silence.
    fn keep_quiet(&mut self) -> Result<(), Mismatch> {
        let until = self.quiet_until;
        let Some(l) = self.asked_about().find(|l| l.t < until - SAME.as_secs_f64()).copied() else {
            return Ok(());
        };
        self.blame(&l);
        let seen = self.describe(&[l]);
        let why = "something left in a silence".to_owned();
        Err(Mismatch { t: l.t, why, expected: format!("nothing until {until} s"), seen })
    }

    fn nothing_unasked(&mut self) -> Result<(), Mismatch> {
        let Some(l) = self.asked_about().next().copied() else { return Ok(()) };
        self.blame(&l);
        let seen = self.describe(&[l]);
        let why = "something left that nothing expected".to_owned();
        Err(Mismatch { t: l.t, why, expected: "nothing".to_owned(), seen })
    }

    /// Adds the segments sent since the last call.
    fn look(&mut self) {
        for (i, moment) in self.harness.log.iter().enumerate().skip(self.seen) {
            let EventKind::Out { segment, again, .. } = moment.what else { continue };
            let range = [segment.seq.saturating_sub(1), segment.end().saturating_sub(1)];
            self.left.push(SentSegment { t: seconds(moment.t), range, segment, again, moment: i });
            if segment.len > 0 {
                self.sent_at.insert(range[0], moment.t);
                self.instants.push(moment.t);
            }
        }
        self.seen = self.harness.log.len();
    }

    /// Segments that expectations match: data of a sender, all segments of a receiver.
    fn asked_about(&self) -> impl Iterator<Item = &SentSegment> {
        self.left.iter().filter(|l| self.options.receiver || l.is_data())
    }

    fn blame(&mut self, l: &SentSegment) {
        if let Some(moment) = self.harness.log.get_mut(l.moment) {
            moment.wrong = true;
        }
    }

    fn ack(&mut self, t: f64, ack: &Ack) {
        self.look();
        self.left.clear();
        let mut blocks = SackBlocks::default();
        for [left, right] in &ack.sack {
            blocks.push(left + 1, right + 1);
        }
        self.window = ack.window.unwrap_or(self.window);
        // By default the peer echoes the timestamp of the last copy of the segment that it expected next.
        let una = self.harness.connection.sender.una().saturating_sub(1);
        if ack.ack > una
            && let Some((_, sent)) = self.sent_at.range(..=una).next_back()
        {
            self.echo = *sent;
        }
        self.sent_at = self.sent_at.split_off(&ack.ack.min(una));
        if let Some(t) = ack.tsecr {
            self.echo = self.instant_near(t);
        }
        let echo = self.echo;
        let segment = Segment {
            ack: ack.ack + 1,
            has_ack: true,
            seq: 1,
            window: self.peer_window(),
            sack: blocks,
            ece: ack.ece,
            resent_echo: ack.resent,
            timestamps: self.stamps().then(|| Timestamps { value: at(t), echo }),
            ..Segment::default()
        };
        self.harness.receive(&segment);
    }

    /// Send time nearest to `t` within [`ECHO`]; `t` itself without one.
    fn instant_near(&self, t: f64) -> Time {
        let from = self.instants.partition_point(|i| seconds(*i) < t - ECHO);
        let near = self.instants[from..].iter().take_while(|i| seconds(**i) <= t + ECHO);
        let far = |i: &&Time| ((seconds(**i) - t).abs() * 1e9) as u64;
        near.min_by_key(far).copied().unwrap_or(at(t))
    }

    fn receive(&mut self, t: f64, segment: &Receive) -> Result<(), Stop> {
        let len = (segment.end - segment.seq) as u32;
        let window = self.peer_window();
        let value = at(segment.tsval.unwrap_or(t));
        let arrives = Segment {
            seq: segment.seq + 1,
            len,
            ack: 1,
            has_ack: true,
            fin: segment.fin,
            cwr: segment.cwr,
            window,
            timestamps: self.stamps().then_some(Timestamps { value, echo: at(0.0) }),
            ..Segment::default()
        };
        self.harness.receive_in(&arrives, if segment.ce { ecn::CE } else { ecn::ECT0 });
        Ok(())
    }

    /// Latest time of an expectation at `t`: its tolerance, or the next event of the peer if that is earlier.
    fn limit(&self, t: f64, tol: Option<f64>) -> Time {
        let comes_in = |e: &&Event| {
            matches!(e.what, DialogueEvent::AppWrite(_) | DialogueEvent::Ack(_) | DialogueEvent::Receive(_))
        };
        let latest = at(t + tol.unwrap_or(TOLERANCE));
        match self.rest.iter().find(comes_in) {
            Some(next) => latest.min(before(at(next.t).max(at(t)))).max(at(t)),
            None => latest,
        }
    }

    /// Whether a further `expect` lies before `limit`.
    fn shared(&self, limit: Time) -> bool {
        let next = self.rest.iter().find(|e| !matches!(e.what, DialogueEvent::State(_)));
        next.is_some_and(|e| matches!(e.what, DialogueEvent::Expect(_)) && at(e.t) <= limit)
    }

    fn expect(&mut self, t: f64, expect: &Expect) -> Result<(), Stop> {
        let limit = self.limit(t, expect.tol);
        self.harness.run_until(limit);
        self.look();
        self.keep_quiet()?;
        let left: Vec<SentSegment> = if self.options.receiver || expect.probe {
            self.left.clone()
        } else {
            self.asked_about().copied().collect()
        };
        let mss = u64::from(self.options.config.mss);
        let earliest = t - SAME.as_secs_f64();
        match compare(expect, &left, mss, earliest, self.shared(limit)) {
            Match::Good(others) => {
                if let Some(wrong) = self.other_codepoint(expect, &left) {
                    return Err(wrong.into());
                }
                // A receiver that must send nothing must not acknowledge either.
                let acks = self.options.receiver && expect.send.is_empty() && !expect.any_send_ok;
                if let Some(l) = left.first().filter(|_| acks && !expect.probe) {
                    self.blame(l);
                    let seen = self.describe(&left);
                    let why = "something else left".to_owned();
                    return Err(Mismatch { t, why, expected: "nothing".to_owned(), seen }.into());
                }
                self.left = others.into_iter().map(|i| left[i]).collect();
                Ok(())
            }
            Match::Bad(why, culprit) => {
                if let Some(i) = culprit {
                    self.blame(&left[i]);
                }
                let until = seconds(limit);
                let expected = format!("{} from {} to {} s", wanted(expect), clock(t), clock(until));
                let data: Vec<SentSegment> =
                    left.iter().filter(|l| l.is_data() || expect.probe).copied().collect();
                let seen = self.describe(&data);
                let when = culprit.map_or(until, |i| left[i].t);
                Err(Mismatch { t: when, why: why.to_owned(), expected, seen }.into())
            }
        }
    }

    /// Segment with another ECN codepoint than expected. RFC 3168 section 6.1.5: retransmissions are never
    /// ECN-capable, so that the expectation concerns new segments only.
    fn other_codepoint(&mut self, expect: &Expect, left: &[SentSegment]) -> Option<Mismatch> {
        let ect = expect.ect?;
        let meant = |l: &&SentSegment| l.is_data() && !(ect && l.again);
        let l = left.iter().filter(meant).find(|l| ect != self.harness.is_ect(l.moment))?;
        self.blame(l);
        let words = |ect| if ect { "capable of being marked" } else { "not capable of being marked" };
        let (expected, seen) = (words(ect).to_owned(), words(!ect).to_owned());
        Some(Mismatch { t: l.t, why: "another codepoint left".to_owned(), expected, seen })
    }

    fn expect_ack(&mut self, t: f64, expected: &ExpectAck) -> Result<(), Mismatch> {
        let limit = self.limit(t, expected.tol);
        self.harness.run_until(limit);
        self.look();
        self.keep_quiet()?;
        let left = std::mem::take(&mut self.left);
        let mut words = format!("ack {}{}", expected.ack, ranges(&expected.sack));
        let wrong = |why: &str, words: String, seen: String| {
            let expected = format!("{words} from {} to {} s", clock(t), clock(seconds(limit)));
            Err(Mismatch { t, why: why.to_owned(), expected, seen })
        };
        let Some(l) = left.first() else {
            return wrong("no acknowledgement left", words, "nothing".to_owned());
        };
        let s = l.segment;
        let blocks: Vec<Range> = s.sack.as_slice().iter().map(|b| [b.left - 1, b.right - 1]).collect();
        let mut differs = s.ack != expected.ack + 1 || blocks != expected.sack;
        let mut seen = format!("ack {}{}", s.ack.saturating_sub(1), ranges(&blocks));
        if let Some(dsack) = expected.dsack_first {
            let is = reports_duplicate(&blocks, s.ack.saturating_sub(1));
            if is != dsack {
                differs = true;
                words += if dsack { ", first a duplicate" } else { ", no duplicate" };
            }
        }
        if let Some(window) = expected.window {
            words += &format!(", window {window}");
            seen += &format!(", window {}", s.window);
            differs |= u64::from(s.window) != window;
        }
        if let Some(ece) = expected.ece {
            words += if ece { ", ECE" } else { ", no ECE" };
            seen += if s.ece { ", ECE" } else { ", no ECE" };
            differs |= s.ece != ece;
        }
        if let Some(echo) = expected.tsecr {
            words += &format!(", echo of {}", clock(echo));
            match s.timestamps {
                Some(stamps) => {
                    let is = seconds(stamps.echo);
                    seen += &format!(", echo of {}", clock(is));
                    differs |= (is - echo).abs() > 1e-4;
                }
                None => {
                    seen += ", no timestamp";
                    differs = true;
                }
            }
        }
        if differs {
            self.blame(l);
            return wrong("another acknowledgement left", words, format!("{seen} at {}", clock(l.t)));
        }
        if l.t < t - SAME.as_secs_f64() {
            self.blame(l);
            return wrong("it left too early", words, format!("{seen} at {}", clock(l.t)));
        }
        if let Some(second) = left.get(1) {
            self.blame(second);
            return wrong("more than one acknowledgement left", words, self.describe(&left));
        }
        Ok(())
    }

    fn describe(&self, left: &[SentSegment]) -> String {
        if left.is_empty() {
            return "nothing".to_owned();
        }
        let mut parts: Vec<String> = Vec::new();
        let mut last: Option<(Range, f64, bool)> = None;
        for l in left {
            let [a, b] = l.range;
            if let Some((range, t, again)) = &mut last
                && range[1] == a
                && *t == l.t
                && *again == l.again
                && b > a
            {
                range[1] = b;
                parts.pop();
            } else {
                last = Some((l.range, l.t, l.again));
            }
            let (range, t, again) = last.unwrap_or((l.range, l.t, l.again));
            let again = if again { " again" } else { "" };
            if range[1] > range[0] {
                parts.push(format!("{}..{}{again} at {}", range[0], range[1], clock(t)));
            } else {
                let ack = l.segment.ack.saturating_sub(1);
                parts.push(format!("ack {ack} at {}", clock(l.t)));
            }
        }
        parts.join(", ")
    }

    fn failure(&mut self, line: usize, wrong: Mismatch) -> Failure {
        Failure {
            rungs: Vec::new(),
            t: wrong.t,
            line,
            why: wrong.why,
            expected: wrong.expected,
            seen: wrong.seen,
            log: std::mem::take(&mut self.harness.log),
            origin: at(0.0),
            first: 1,
            receiver: self.options.receiver,
        }
    }
}

/// Whether the first block lies below the acknowledgement or within the second block (RFC 2883 section 4).
fn reports_duplicate(blocks: &[Range], ack: u64) -> bool {
    let Some(first) = blocks.first() else { return false };
    first[1] <= ack || blocks.get(1).is_some_and(|b| b[0] <= first[0] && first[1] <= b[1])
}

fn before(t: Time) -> Time {
    Time::from_nanos(t.as_nanos().saturating_sub(SAME.as_nanos()))
}

/// First byte that the receiver of a dialogue expects, from its first ACK. If the segments before that ACK
/// are contiguous up to it, the receiver starts at the first of them; otherwise at the acknowledged byte.
fn first_byte(dialogue: &Dialogue) -> u64 {
    let mut came: Vec<Range> = Vec::new();
    for event in &dialogue.events {
        match &event.what {
            DialogueEvent::Receive(r) => came.push([r.seq, r.end + u64::from(r.fin)]),
            DialogueEvent::ExpectAck(e) => {
                let mut first = e.ack;
                while let Some(r) = came.iter().find(|r| r[1] == first && r[0] < first) {
                    first = r[0];
                }
                return first;
            }
            _ => {}
        }
    }
    came.iter().map(|r| r[0]).min().unwrap_or(0)
}
