//! Does the sender (or the receiver) keep to the script? Events are played in order; between them its
//! timers run. The first thing that is not as written ends the dialogue, with what was expected, what
//! was seen, and everything that passed before.

use crate::dialogue::{Dialogue, Expect, Range, What};
use crate::options::{self, Options};
use base::event::Source;
use base::tcp::{SackBlocks, Segment, Timestamps};
use base::trace::Tracer;
use base::{Span, Time};
use std::collections::BTreeMap;
use transport::tcp::{Connection, Role};
use transport::{Io, Outgoing};

/// What came of a dialogue.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// Everything was as written.
    Pass,
    /// At `t` seconds something was not.
    Fail {
        /// When, seconds.
        t: f64,
        /// Expected and seen.
        why: String,
        /// All that passed, a line each.
        sequence: Vec<String>,
    },
    /// It asks for something that is not offered.
    Unsupported(String),
}

/// t = 0 of a dialogue: late enough for any handshake before it.
const ORIGIN: f64 = 1000.0;
/// How late something expected may be, unless the dialogue says otherwise, seconds.
const TOLERANCE: f64 = 0.01;
/// Instants closer than this are the same.
const SAME: f64 = 1e-6;

struct Sent {
    t: f64,
    range: Range,
    segment: Segment,
    again: bool,
}

struct Player {
    connection: Connection,
    options: Options,
    out: Vec<Outgoing>,
    tracer: Tracer,
    now: f64,
    /// Sent since the last injected event and not yet expected.
    sent: Vec<Sent>,
    /// One past the highest data byte sent.
    highest: u64,
    window: u64,
    sequence: Vec<String>,
}

fn at(t: f64) -> Time {
    Time::from_secs_f64(ORIGIN + t)
}

/// Plays a dialogue.
pub fn play(dialogue: &Dialogue) -> Verdict {
    let options = match options::read(&dialogue.options) {
        Ok(options) => options,
        Err(word) => return Verdict::Unsupported(word),
    };
    let mut player = match Player::connected(options, dialogue) {
        Ok(player) => player,
        Err(why) => return Verdict::Fail { t: 0.0, why, sequence: Vec::new() },
    };
    for event in &dialogue.event {
        if let Err(why) = player.event(event.t, &event.what) {
            return Verdict::Fail { t: event.t, why, sequence: player.sequence };
        }
    }
    Verdict::Pass
}

impl Player {
    /// A connection that is established at t = 0, by a handshake that took `handshake_rtt`.
    fn connected(options: Options, dialogue: &Dialogue) -> Result<Player, String> {
        let role = if options.receiver { Role::Passive } else { Role::Active };
        let mut player = Player {
            connection: Connection::new(options.config, role),
            out: Vec::new(),
            tracer: Tracer::off(),
            now: -options.handshake_rtt,
            sent: Vec::new(),
            highest: 0,
            window: options.peer_window,
            sequence: Vec::new(),
            options,
        };
        let window = player.peer_window();
        let stamps = player.options.config.timestamps;
        let stamp = |t: f64, echo: f64| stamps.then(|| Timestamps { value: at(t), echo: at(echo) });
        let syn = Segment { syn: true, window, ..Segment::default() };
        match role {
            Role::Active => {
                let before = player.now;
                player.run(|c, io| c.open(io));
                player.now = 0.0;
                let timestamps = stamp(0.0, before);
                let answer = Segment { ack: 1, has_ack: true, timestamps, ..syn };
                player.run(|c, io| c.on_segment(io, &answer, 0));
            }
            Role::Passive => {
                let before = player.now;
                let timestamps = stamp(before, before);
                player.run(|c, io| c.on_segment(io, &Segment { timestamps, ..syn }, 0));
                player.now = 0.0;
                // A receiver's first byte may be any: what lies before it has been received.
                let first = first_byte(dialogue);
                let len = u32::try_from(first).map_err(|_| "the first byte is too far".to_owned())?;
                let timestamps = stamp(0.0, before);
                let (seq, ack, has_ack) = (1, 1, true);
                let segment = Segment { seq, len, ack, has_ack, window, timestamps, ..Segment::default() };
                player.run(|c, io| c.on_segment(io, &segment, 0));
                player.flush_delayed();
            }
        }
        if player.options.handshake_rtt == 0.0 {
            // No round trip was measured: the timer is as before any sample.
            let sender = &mut player.connection.sender;
            sender.rto = transport::recovery::rto::RtoTimer::new(player.options.config.rto);
        }
        player.sent.clear();
        player.sequence.clear();
        Ok(player)
    }

    fn peer_window(&self) -> u32 {
        u32::try_from(self.window).unwrap_or(u32::MAX)
    }

    /// Lets a pending delayed acknowledgement of the preparation go.
    fn flush_delayed(&mut self) {
        if self.connection.receiver.next_timeout() < Time::NEVER {
            let now = at(self.now);
            self.connection.receiver.acknowledge(now, self.options.config.timestamps);
        }
    }

    fn run(&mut self, call: impl FnOnce(&mut Connection, &mut Io<'_>)) {
        let mut io =
            Io { now: at(self.now), out: &mut self.out, tracer: &mut self.tracer, source: Source(0) };
        call(&mut self.connection, &mut io);
        for out in self.out.drain(..) {
            let s = out.segment;
            let range = [s.seq.saturating_sub(1), (s.seq + u64::from(s.len)).saturating_sub(1)];
            let what = if s.len > 0 {
                let again = range[0] < self.highest;
                self.highest = self.highest.max(range[1]);
                self.sent.push(Sent { t: self.now, range, segment: s, again });
                format!("> {}..{}{}", range[0], range[1], if again { " again" } else { "" })
            } else {
                if s.has_ack && !s.syn {
                    self.sent.push(Sent { t: self.now, range: [0, 0], segment: s, again: false });
                }
                format!("> ack {}{}", s.ack.saturating_sub(1), blocks(&s.sack))
            };
            self.sequence.push(format!("{:9.4} {what}", self.now));
        }
    }

    /// Runs timers up to and including `t`.
    fn advance(&mut self, t: f64) {
        loop {
            let next = self.connection.next_timeout();
            if next > at(t) {
                break;
            }
            self.now = self.now.max(next.since(Time::ZERO).as_secs_f64() - ORIGIN);
            let before = self.connection.next_timeout();
            // The exact instant, whatever seconds lost.
            let mut io = Io { now: next, out: &mut self.out, tracer: &mut self.tracer, source: Source(0) };
            self.connection.on_timeout(&mut io);
            self.run(|_, _| {});
            if self.connection.next_timeout() == before {
                break;
            }
        }
        self.now = self.now.max(t);
    }

    /// Runs timers that expire before `t`.
    fn advance_before(&mut self, t: f64) {
        self.advance(t - SAME);
        self.now = t;
    }

    fn event(&mut self, t: f64, what: &What) -> Result<(), String> {
        match what {
            What::AppWrite { bytes } => {
                self.inject(t)?;
                self.sequence.push(format!("{t:9.4} write {bytes}"));
                let bytes = *bytes;
                self.run(|c, io| {
                    c.sender.write(bytes);
                    c.transmit(io);
                });
                Ok(())
            }
            What::Ack { ack, sack, tsecr, ece, window, .. } => {
                self.inject(t)?;
                let mut blocks = SackBlocks::default();
                for [left, right] in sack {
                    blocks.push(left + 1, right + 1);
                }
                self.window = window.unwrap_or(self.window);
                let stamps = self.options.config.timestamps;
                let segment = Segment {
                    ack: ack + 1,
                    has_ack: true,
                    seq: 1,
                    window: self.peer_window(),
                    sack: blocks,
                    ece: *ece,
                    timestamps: match (stamps, tsecr) {
                        (true, Some(echo)) => Some(Timestamps { value: at(t), echo: at(*echo) }),
                        _ => None,
                    },
                    ..Segment::default()
                };
                self.sequence.push(format!("{t:9.4} < ack {ack}{}", crate::player::blocks(&blocks)));
                self.run(|c, io| c.on_segment(io, &segment, 0));
                Ok(())
            }
            What::Receive { seq, end, tsval, .. } => {
                self.inject(t)?;
                let len = u32::try_from(end - seq).map_err(|_| "too long a segment".to_owned())?;
                let stamps = self.options.config.timestamps;
                let segment = Segment {
                    seq: seq + 1,
                    len,
                    ack: 1,
                    has_ack: true,
                    window: self.peer_window(),
                    timestamps: stamps.then(|| Timestamps { value: at(tsval.unwrap_or(t)), echo: at(0.0) }),
                    ..Segment::default()
                };
                self.sequence.push(format!("{t:9.4} < {seq}..{end}"));
                self.run(|c, io| c.on_segment(io, &segment, 0));
                Ok(())
            }
            What::Expect(expect) => self.expect(t, expect),
            What::Silence { until } => {
                self.advance_before(*until);
                match self.sent.iter().find(|s| s.segment.len > 0) {
                    Some(s) => Err(format!(
                        "nothing should leave until {until}, but {}..{} left at {:.4}",
                        s.range[0], s.range[1], s.t
                    )),
                    None => Ok(()),
                }
            }
            What::State(values) => {
                self.advance(t);
                state(&self.connection, values)
            }
            What::ExpectAck { ack, sack, tol } => self.expect_ack(t, *ack, sack, *tol),
        }
    }

    /// Something comes in: whatever left before and was not expected is wrong.
    fn inject(&mut self, t: f64) -> Result<(), String> {
        self.advance_before(t);
        if let Some(s) = self.sent.iter().find(|s| s.segment.len > 0) {
            return Err(format!("{}..{} left at {:.4}, which nothing expected", s.range[0], s.range[1], s.t));
        }
        self.sent.clear();
        Ok(())
    }

    fn expect(&mut self, t: f64, expect: &Expect) -> Result<(), String> {
        self.advance(t + expect.tol.unwrap_or(TOLERANCE));
        let sent: Vec<Sent> =
            std::mem::take(&mut self.sent).into_iter().filter(|s| s.segment.len > 0).collect();
        if expect.any_send_ok {
            return Ok(());
        }
        let seen: Vec<String> =
            sent.iter().map(|s| format!("{}..{} at {:.4}", s.range[0], s.range[1], s.t)).collect();
        let seen = if seen.is_empty() { "nothing".to_owned() } else { seen.join(", ") };
        let fail = |why: &str| Err(format!("{why}: expected {:?}, saw {seen}", expect.send));
        if sent.iter().any(|s| s.t < t - SAME) {
            return fail("something left too early");
        }
        if expect.no_rtx && sent.iter().any(|s| s.again) {
            return fail("something was resent");
        }
        if expect.rtx && !expect.send.is_empty() && sent.first().is_some_and(|s| !s.again) {
            return fail("this should be a retransmission");
        }
        // What must leave, less what did.
        let mut open: Vec<Range> = expect.send.clone();
        let mut order_at = 0usize;
        let mut extra = expect.extra_mss * u64::from(self.options.config.mss);
        let mut matched = 0u64;
        for s in &sent {
            let len = s.range[1] - s.range[0];
            let slot =
                open.iter().position(|r| r[0] == s.range[0] && s.range[1] <= r[1].max(merged_end(&open, r)));
            match slot {
                Some(i)
                    if expect.any_order
                        || i == order_at
                        || open[order_at..i].iter().all(|r| r[0] >= r[1]) =>
                {
                    take(&mut open, i, s.range[1]);
                    matched += len;
                    if !expect.any_order {
                        order_at = i;
                    }
                }
                _ => {
                    let allowed = expect.may_send.iter().any(|m| m[0] <= s.range[0] && s.range[1] <= m[1])
                        || (expect.any_new_ok && !s.again);
                    if allowed {
                        continue;
                    }
                    let complete = open.iter().all(|r| r[0] >= r[1]);
                    if complete && len <= extra {
                        extra -= len;
                        continue;
                    }
                    return fail("something else left");
                }
            }
        }
        let complete = open.iter().all(|r| r[0] >= r[1]);
        if complete || (expect.prefix_ok && matched > 0) {
            return Ok(());
        }
        fail("not everything left")
    }

    fn expect_ack(&mut self, t: f64, ack: u64, sack: &[Range], tol: Option<f64>) -> Result<(), String> {
        self.advance(t + tol.unwrap_or(TOLERANCE));
        let sent = std::mem::take(&mut self.sent);
        let Some(s) = sent.first() else { return Err(format!("an acknowledgement of {ack} should leave")) };
        if s.t < t - SAME {
            return Err(format!("an acknowledgement left at {:.4}, too early", s.t));
        }
        let seen: Vec<Range> = s.segment.sack.as_slice().iter().map(|b| [b.left - 1, b.right - 1]).collect();
        if s.segment.ack != ack + 1 || seen != sack {
            return Err(format!(
                "expected ack {ack} with blocks {sack:?}, saw ack {} with {seen:?}",
                s.segment.ack - 1
            ));
        }
        Ok(())
    }
}

/// Where the ranges that continue `range` without a gap end.
fn merged_end(open: &[Range], range: &Range) -> u64 {
    let mut end = range[1];
    for r in open {
        if r[0] == end && r[1] > r[0] {
            end = r[1];
        }
    }
    end
}

/// Takes the bytes up to `end` out of range `i` and those that continue it.
fn take(open: &mut [Range], i: usize, end: u64) {
    let mut at = i;
    while open[at][1] < end {
        let next_start = open[at][1];
        open[at][0] = next_start;
        match open.iter().position(|r| r[0] == next_start && r[1] > r[0]) {
            Some(next) => at = next,
            None => return,
        }
    }
    open[at][0] = end;
}

fn blocks(sack: &SackBlocks) -> String {
    sack.as_slice()
        .iter()
        .map(|b| format!(" sack {}..{}", b.left.saturating_sub(1), b.right.saturating_sub(1)))
        .collect()
}

/// The first byte a receiver's dialogue speaks of, if it expects data from there on.
fn first_byte(dialogue: &Dialogue) -> u64 {
    let acks = dialogue.event.iter().filter_map(|e| match &e.what {
        What::ExpectAck { ack, .. } => Some(*ack),
        _ => None,
    });
    let segments = dialogue.event.iter().filter_map(|e| match &e.what {
        What::Receive { seq, .. } => Some(*seq),
        _ => None,
    });
    acks.chain(segments).min().unwrap_or(0)
}

/// Compares observable values; one that is not shown here is skipped.
fn state(connection: &Connection, values: &BTreeMap<String, toml::Value>) -> Result<(), String> {
    let s = &connection.sender;
    let mss = f64::from(s.mss());
    for (key, expected) in values {
        let name = key.trim_end_matches("_min").trim_end_matches("_max");
        let (seen, slack): (f64, f64) = match name {
            "cwnd_mss" => (s.window.cwnd / mss, 1.0),
            "ssthresh_mss" => (s.window.ssthresh / mss, 1.0),
            "pipe_mss" => match s.pipe() {
                Some(pipe) => (pipe as f64 / mss, 1.0),
                None => continue,
            },
            "awnd_mss" => continue,
            "in_recovery" => (f64::from(u8::from(s.recovering())), 0.0),
            "srtt" => (s.rto.srtt().as_secs_f64(), 1e-3),
            "rttvar" => (s.rto.rttvar().as_secs_f64(), 1e-3),
            "rto" => (s.rto.timeout().as_secs_f64(), 1e-3),
            _ => continue,
        };
        let number = expected.as_float().or(expected.as_integer().map(|i| i as f64));
        let wanted = number.or(expected.as_bool().map(|b| f64::from(u8::from(b))));
        let Some(wanted) = wanted else { continue };
        // Values kept in bytes may be off by less than a segment.
        let good = match key.as_str() {
            k if k.ends_with("_min") => seen > wanted - slack.max(SAME),
            k if k.ends_with("_max") => seen < wanted + slack.max(SAME),
            _ => (seen - wanted).abs() < slack.max(SAME),
        };
        if !good {
            return Err(format!("{key} should be {wanted}, is {seen:.3}"));
        }
    }
    Ok(())
}

/// How long a dialogue lasts at most, for progress.
pub fn length(dialogue: &Dialogue) -> Span {
    let last = dialogue.event.iter().map(|e| e.t).fold(0.0, f64::max);
    Span::from_secs_f64(last)
}
