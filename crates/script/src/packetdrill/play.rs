//! Player of packetdrill scripts on a TCP test harness, line by line: segments and calls at their times, sent
//! segments compared in order with the next `>` line.

use super::assert;
use super::command::{makes_defaults, shell};
use super::parse::{Action, Line, Packet, Script, Syscall, TcpOption, When};
use crate::harness::{EventKind, TestHarness};
use crate::player::{DialogueVerdict, Failure};
use base::tcp::{SackBlocks, Segment, Timestamps};
use base::{Span, Time};
use std::collections::{BTreeMap, VecDeque};
use transport::app::Socket as _;
use transport::tcp::{Config, Role, ecn};

/// t = 0 of a script on the harness's clock.
const ORIGIN: Time = Time::from_nanos(1_000_000_000_000);
/// Default tolerance of times in both directions.
const TOLERANCE: Span = Span::from_millis(4);
/// Maximum wait for a line with time `*`.
const PATIENCE: Span = Span::from_secs(300);
/// Tick of the script's timestamp clock, ns.
const TICK: u64 = 1_000_000;
/// Length of the timestamps option with its padding, bytes; it reduces the MSS (RFC 6691).
const STAMPS: u64 = 12;

/// Profile of the tested TCP for scripts that use packetdrill's default settings only.
const LINUX: &str = "linux-6.x";

/// Options of packetdrill without effect on the model.
const IDLE_OPTIONS: &[&str] = &[
    "ip_version",
    "bind_port",
    "connect_port",
    "local_ip",
    "remote_ip",
    "gateway_ip",
    "netmask_ip",
    "verbose",
    "non_fatal",
    "mtu",
    "speed",
    "init_scripts",
    "dry_run",
    "wire_client",
    "wire_server",
];
/// Socket options without effect on the model.
const IDLE_SOCKET_OPTIONS: &[&str] = &[
    "SO_REUSEADDR",
    "SO_SNDBUF",
    "SO_RCVBUF",
    "SO_SNDBUFFORCE",
    "SO_RCVBUFFORCE",
    "SO_LINGER",
    "TCP_NODELAY",
    "SO_ZEROCOPY",
    "SO_SNDTIMEO",
    "SO_RCVTIMEO",
];
enum Stop {
    Unsupported(String),
    Wrong(Box<Wrong>),
}

struct Wrong {
    t: Time,
    why: String,
    expected: String,
    seen: String,
    blame: Option<usize>,
}

/// Plays a script.
pub fn play(script: &Script) -> DialogueVerdict {
    let mut player = match Player::new(script) {
        Ok(player) => player,
        Err(word) => return DialogueVerdict::Unsupported(word),
    };
    for line in &script.lines {
        match player.line(line) {
            Ok(()) if player.harness.out_of_expiries() => {
                return DialogueVerdict::Unsupported(format!("line {}: timers that never rest", line.number));
            }
            Ok(()) => {}
            Err(Stop::Unsupported(word)) => {
                return DialogueVerdict::Unsupported(format!("line {}: {word}", line.number));
            }
            Err(Stop::Wrong(wrong)) => {
                return DialogueVerdict::Fail(Box::new(player.failure(line.number, *wrong)));
            }
        }
    }
    DialogueVerdict::Pass { unasked: player.queue.len() }
}

/// Options negotiated in the handshake of the script.
struct Agreed {
    mss: Option<u64>,
    sack: bool,
    timestamps: bool,
    ecn: bool,
    /// Window scale shifts of the peer and of the tested end.
    shifts: (u32, u32),
}

impl Agreed {
    fn of(script: &Script) -> Agreed {
        let syn = |inbound: bool| {
            script.lines.iter().find_map(|l| match &l.action {
                Action::In(p) if inbound && p.syn => Some(p),
                Action::Out(p) if !inbound && p.syn => Some(p),
                _ => None,
            })
        };
        let theirs = syn(true).and_then(|p| p.options.as_deref()).unwrap_or_default();
        // `<...>` and an empty list match the negotiated options.
        let ours = syn(false).and_then(|p| p.options.as_deref()).filter(|o| !o.is_empty());
        let both =
            |is: &dyn Fn(&TcpOption) -> bool| theirs.iter().any(is) && ours.is_none_or(|o| o.iter().any(is));
        let shift = |options: &[TcpOption]| {
            options
                .iter()
                .find_map(|o| if let TcpOption::WindowScale(n) = o { Some(*n as u32) } else { None })
        };
        let shifts = match (shift(theirs), ours.map_or(Some(0), shift)) {
            (Some(a), Some(b)) => (a, b),
            _ => (0, 0),
        };
        Agreed {
            mss: theirs.iter().find_map(|o| if let TcpOption::Mss(n) = o { Some(*n) } else { None }),
            sack: both(&|o| *o == TcpOption::SackOk),
            timestamps: both(&|o| matches!(o, TcpOption::Timestamps(..))),
            ecn: syn(true).is_some_and(|p| p.ece) && syn(false).is_some_and(|p| p.ece),
            shifts,
        }
    }
}

struct Player {
    harness: TestHarness,
    agreed: Agreed,
    tolerance: Span,
    /// Time of the previous line.
    last: Time,
    /// Sent segments that no line has matched: position in the log, segment, time.
    queue: VecDeque<(usize, Segment, Time)>,
    seen: usize,
    read: u64,
    /// Clock times of the tested end's timestamps, by the script's numbers.
    stamps: BTreeMap<u64, Time>,
    /// Whether the tested end's timestamps must advance with the clock, a tick each millisecond.
    ticks: bool,
    /// Clock time of the script's timestamp 0, ns; set by the first timestamp sent.
    stamps_origin: Option<i128>,
}

impl Player {
    fn new(script: &Script) -> Result<Player, String> {
        let agreed = Agreed::of(script);
        let linux = script.lines.iter().any(|l| matches!(&l.action, Action::Shell(c) if makes_defaults(c)));
        let mut config = if linux { Config::profile(LINUX).unwrap_or_default() } else { Config::default() };
        let at = |line: usize, e: String| format!("line {line}: {e}");
        for (key, value, line) in script.choices.iter().filter(|(key, ..)| key == "profile") {
            config = Config::profile(value).ok_or_else(|| at(*line, format!("there is no {key} {value}")))?;
        }
        // Scripts give exact timer times; the slots of a kernel's timer wheel depend on its tick.
        config.set("rto.wheel", "false")?;
        config.set("sack", if agreed.sack { "true" } else { "false" })?;
        config.set("ecn", if agreed.ecn { "true" } else { "false" })?;
        config.set("timestamps", if agreed.timestamps { "true" } else { "false" })?;
        if let Some(mss) = agreed.mss {
            let stamps = if agreed.timestamps { STAMPS } else { 0 };
            config.set("mss", &mss.saturating_sub(stamps).to_string())?;
        }
        let (mut tolerance, mut ticks) = (TOLERANCE, false);
        for (name, value, line) in &script.options {
            match name.as_str() {
                "tolerance_usecs" => {
                    let micros: u64 = value.parse().map_err(|_| at(*line, format!("{name} = {value}")))?;
                    tolerance = Span::from_nanos(micros.min(10_000_000) * 1000);
                }
                // Without this option packetdrill does not check that timestamps advance with the clock.
                "tcp_ts_tick_usecs" if value == "1000" || value == "0" => ticks = value == "1000",
                "mss" => config.set("mss", value).map_err(|e| at(*line, e.into()))?,
                idle if IDLE_OPTIONS.contains(&idle) => {}
                _ => return Err(at(*line, format!("option --{name}"))),
            }
        }
        for line in &script.lines {
            if let Action::Shell(command) = &line.action {
                shell(&mut config, command).map_err(|e| at(line.number, e))?;
            }
        }
        for (key, value, line) in script.choices.iter().filter(|(key, ..)| key != "profile") {
            config.set(key, value).map_err(|e| at(*line, e.into()))?;
        }
        let connects =
            script.lines.iter().any(|l| matches!(&l.action, Action::Call(c) if c.name == "connect"));
        let role = if connects { Role::Active } else { Role::Passive };
        Ok(Player {
            harness: TestHarness::new(config, role, ORIGIN),
            agreed,
            tolerance,
            last: ORIGIN,
            queue: VecDeque::new(),
            seen: 0,
            read: 0,
            stamps: BTreeMap::new(),
            ticks,
            stamps_origin: None,
        })
    }

    fn failure(&mut self, line: usize, wrong: Wrong) -> Failure {
        if let Some(moment) = wrong.blame.and_then(|i| self.harness.log.get_mut(i)) {
            moment.wrong = true;
        }
        Failure {
            rungs: Vec::new(),
            t: since(wrong.t),
            line,
            why: wrong.why,
            expected: wrong.expected,
            seen: wrong.seen,
            log: std::mem::take(&mut self.harness.log),
            origin: ORIGIN,
            first: 0,
            receiver: false,
        }
    }

    /// Earliest and latest time of a line.
    fn due(&self, when: When) -> (Time, Time) {
        let (last, span) = (self.last, Span::from_secs_f64);
        match when {
            When::After(s) => (last + span(s), last + span(s)),
            When::At(s) => (ORIGIN + span(s), ORIGIN + span(s)),
            When::AfterBetween(a, b) => (last + span(a), last + span(b)),
            When::Between(a, b) => (ORIGIN + span(a), ORIGIN + span(b)),
            When::Any => (last, self.harness.now.max(last) + PATIENCE),
        }
    }

    fn line(&mut self, line: &Line) -> Result<(), Stop> {
        let (from, to) = self.due(line.when);
        if let Action::Out(packet) = &line.action {
            return self.outbound(line.when, from, to, packet);
        }
        if line.when == When::Any {
            return Err(Stop::Unsupported("`*` for what does not leave".to_owned()));
        }
        self.harness.run_before(from);
        self.last = from;
        match &line.action {
            Action::In(packet) => self.inbound(packet)?,
            Action::Call(call) if to > from && call.name.starts_with("re") => {
                return Err(Stop::Unsupported(format!("{}() that waits", call.name)));
            }
            Action::Call(call) => self.call(call)?,
            Action::Code(code) => match assert::check(code, &self.harness).map_err(Stop::Unsupported)? {
                Ok(()) => {}
                Err((expected, seen)) => {
                    return Err(self.wrong("an assertion does not hold", expected, seen));
                }
            },
            // Commands are read before the script starts.
            Action::Shell(_) => {}
            Action::Other(words) => return Err(Stop::Unsupported(words.clone())),
            Action::Out(_) => {}
        }
        self.look();
        Ok(())
    }

    fn wrong(&self, why: &str, expected: String, seen: String) -> Stop {
        let t = self.harness.now;
        Stop::Wrong(Box::new(Wrong { t, why: why.to_owned(), expected, seen, blame: None }))
    }

    fn look(&mut self) {
        for (i, moment) in self.harness.log.iter().enumerate().skip(self.seen) {
            if let EventKind::Out { segment, .. } = moment.what {
                self.queue.push_back((i, segment, moment.t));
            }
        }
        self.seen = self.harness.log.len();
    }

    fn inbound(&mut self, p: &Packet) -> Result<(), Stop> {
        let codepoint = match p.ecn.as_deref() {
            None | Some("noecn") => ecn::NOT_ECT,
            Some("ect0") => ecn::ECT0,
            Some("ce") => ecn::CE,
            Some(other) => return Err(Stop::Unsupported(format!("[{other}] on a segment that comes in"))),
        };
        let shift = if p.syn { 0 } else { self.agreed.shifts.0 };
        let window = p.win.unwrap_or(0) << shift;
        let mut sack = SackBlocks::default();
        let mut timestamps = None;
        for option in p.options.iter().flatten() {
            match option {
                TcpOption::Sack(blocks) => blocks.iter().for_each(|[l, r]| sack.push(*l, *r)),
                TcpOption::Timestamps(value, echo) if self.agreed.timestamps => {
                    timestamps = Some(Timestamps { value: clock(*value), echo: self.our_clock(*echo) });
                }
                TcpOption::Other(name) => return Err(Stop::Unsupported(format!("TCP option {name}"))),
                _ => {}
            }
        }
        let len = u32::try_from(p.range[1] - p.range[0])
            .map_err(|_| Stop::Unsupported("so long a segment".to_owned()))?;
        let segment = Segment {
            seq: p.range[0],
            ack: p.ack.unwrap_or(0),
            len,
            window: u32::try_from(window).unwrap_or(u32::MAX),
            has_ack: p.ack_flag,
            syn: p.syn,
            fin: p.fin,
            rst: p.rst,
            ece: p.ece,
            cwr: p.cwr,
            sack,
            timestamps,
            ..Segment::default()
        };
        self.harness.receive_in(&segment, codepoint);
        Ok(())
    }

    /// Clock time of the tested end's timestamp with this number in the script.
    fn our_clock(&self, number: u64) -> Time {
        match (self.stamps.get(&number), self.stamps_origin) {
            (Some(exact), _) => *exact,
            (None, Some(origin)) => {
                let ns = i128::from(number * TICK) + origin;
                Time::from_nanos(u64::try_from(ns).unwrap_or(0))
            }
            (None, None) => Time::ZERO,
        }
    }

    fn call(&mut self, call: &Syscall) -> Result<(), Stop> {
        let returned: i64 = call.result.parse().unwrap_or(0);
        let bytes = || -> Result<u64, Stop> {
            let asked = call.args.get(2).and_then(|a| a.parse::<i64>().ok());
            match asked {
                Some(n) if n == returned && n >= 0 => Ok(n as u64),
                _ => Err(Stop::Unsupported(format!("{}() that takes less than it is given", call.name))),
            }
        };
        match call.name.as_str() {
            "socket" | "bind" | "listen" | "accept" | "fcntl" | "getsockopt" => {}
            "setsockopt" => {
                if !IDLE_SOCKET_OPTIONS.iter().any(|name| call.args.iter().any(|a| a == name)) {
                    let name = call.args.get(2).cloned().unwrap_or_default();
                    return Err(Stop::Unsupported(format!("setsockopt() of {name}")));
                }
            }
            "connect" => self.harness.run(|c, io| c.open(io)),
            "write" | "send" | "sendto" => {
                // Flags that change segmentation belong to the socket interface, which the model does not
                // have.
                if let Some(flag) = call.args.iter().find(|a| a.contains("MSG_EOR") || a.contains("MSG_MORE"))
                {
                    return Err(Stop::Unsupported(format!("{}() with {flag}", call.name)));
                }
                let bytes = bytes()?;
                if !self.harness.write(bytes) {
                    return Err(Stop::Unsupported(format!(
                        "{}() of {bytes} bytes: too much in all",
                        call.name
                    )));
                }
            }
            "read" | "recv" | "recvfrom" => {
                let there = self.harness.connection.received();
                let wanted = u64::try_from(returned).unwrap_or(0);
                if there - self.read < wanted {
                    let seen = format!("{} bytes are there", there - self.read);
                    let expected = format!("{}() = {wanted}", call.name);
                    return Err(self.wrong("less can be read", expected, seen));
                }
                self.read += wanted;
            }
            "close" => self.harness.close(),
            "shutdown" if call.args.get(1).is_some_and(|how| how != "SHUT_RD") => self.harness.close(),
            other => return Err(Stop::Unsupported(format!("{other}()"))),
        }
        Ok(())
    }

    /// Checks that a segment is sent between `from` and `to`, within the tolerance.
    fn outbound(&mut self, when: When, from: Time, to: Time, p: &Packet) -> Result<(), Stop> {
        let ect = match p.ecn.as_deref() {
            None => None,
            Some("noecn") => Some(false),
            Some("ect0" | "ect01") => Some(true),
            Some(other) => return Err(Stop::Unsupported(format!("[{other}] on a segment that leaves"))),
        };
        let latest = to + self.tolerance;
        let earliest = Time::from_nanos(from.as_nanos().saturating_sub(self.tolerance.as_nanos()));
        let mut at = p.range[0];
        let mut first = None;
        self.harness.run_before(from.min(latest));
        loop {
            self.look();
            let Some((place, segment, t)) = self.queue.pop_front() else {
                let next = self.harness.connection.next_timeout();
                if next > latest || self.harness.out_of_expiries() {
                    let expected = format!("{} by {:.4} s", describe_packet(p), since(latest));
                    return Err(match first {
                        None => self.wrong("nothing left", expected, "nothing".to_owned()),
                        Some(_) => self.wrong("not everything left", expected, format!("up to {at}")),
                    });
                }
                self.harness.run_until(next);
                continue;
            };
            let codepoint = ect.filter(|ect| *ect != self.harness.is_ect(place)).map(|ect| {
                if ect { "it cannot be marked".to_owned() } else { "it can be marked".to_owned() }
            });
            let objection = self.objection(p, &segment, at).or(codepoint);
            let early = when != When::Any && t < earliest;
            let late = t > latest;
            if let Some(why) = objection
                .or(early.then(|| "it left too early".to_owned()))
                .or(late.then(|| "it left too late".to_owned()))
            {
                let expected = match when {
                    When::Any => describe_packet(p),
                    _ => format!(
                        "{} from {:.4} to {:.4} s",
                        describe_packet(p),
                        since(earliest),
                        since(latest)
                    ),
                };
                let seen = format!("{} at {:.4} s", describe_segment(&segment), since(t));
                let wrong = Wrong { t, why, expected, seen, blame: Some(place) };
                return Err(Stop::Wrong(Box::new(wrong)));
            }
            first.get_or_insert(t);
            at += u64::from(segment.len);
            if at >= p.range[1] {
                break;
            }
        }
        self.last = if when == When::Any { first.unwrap_or(from) } else { from };
        Ok(())
    }

    /// Reason why the segment, or its part from `at` on, does not match.
    fn objection(&mut self, p: &Packet, s: &Segment, at: u64) -> Option<String> {
        let flags = [
            ("SYN", p.syn, s.syn),
            ("RST", p.rst, s.rst),
            ("ACK", p.ack_flag, s.has_ack),
            ("ECE", p.ece, s.ece),
            ("CWR", p.cwr, s.cwr),
        ];
        for (name, wanted, is) in flags {
            if wanted != is {
                return Some(if wanted { format!("it has no {name}") } else { format!("it has a {name}") });
            }
        }
        let end = s.seq + u64::from(s.len);
        if s.seq != at || end > p.range[1] {
            return Some("it is another segment".to_owned());
        }
        if end == p.range[1] && s.fin != p.fin {
            return Some(if p.fin { "it has no FIN".to_owned() } else { "it has a FIN".to_owned() });
        }
        if s.len == 0 && p.range[1] > at {
            return Some("it carries no data".to_owned());
        }
        if p.ack_flag && p.ack.is_some_and(|ack| ack != s.ack) {
            return Some("it acknowledges something else".to_owned());
        }
        let shift = if s.syn { 0 } else { self.agreed.shifts.1 };
        if let Some(win) = p.win.filter(|win| *win != u64::from(s.window) >> shift) {
            return Some(format!("its window is not {win}"));
        }
        let options = p.options.as_ref()?;
        if p.syn
            && !(self.agreed.timestamps && options.iter().any(|o| matches!(o, TcpOption::Timestamps(..))))
        {
            // All other handshake options are set in advance, not sent.
            return None;
        }
        let blocks: Vec<[u64; 2]> = s.sack.as_slice().iter().map(|b| [b.left, b.right]).collect();
        let wanted =
            options.iter().find_map(|o| if let TcpOption::Sack(b) = o { Some(b.clone()) } else { None });
        if wanted.unwrap_or_default() != blocks {
            return Some("its SACK blocks are others".to_owned());
        }
        let wanted = options.iter().find_map(|o| match o {
            TcpOption::Timestamps(value, echo) => Some((*value, *echo)),
            _ => None,
        });
        match (wanted, s.timestamps) {
            (None, None) => None,
            (Some((value, echo)), Some(stamps)) => {
                // The first timestamp gives the origin of the script's clock.
                let ours = i128::from(stamps.value.as_nanos());
                let origin = *self.stamps_origin.get_or_insert(ours - i128::from(value * TICK));
                self.stamps.insert(value, stamps.value);
                let off = (ours - origin - i128::from(value * TICK)).unsigned_abs();
                if self.ticks && off > u128::from(self.tolerance.as_nanos() + TICK) {
                    return Some("its timestamp is another".to_owned());
                }
                (stamps.echo != clock(echo) && echo != 0).then(|| "it echoes another timestamp".to_owned())
            }
            (Some(_), None) => Some("it has no timestamp".to_owned()),
            (None, Some(_)) => Some("it has a timestamp".to_owned()),
        }
    }
}

/// Time on the peer's timestamp clock.
fn clock(number: u64) -> Time {
    Time::from_nanos(number.saturating_mul(TICK))
}

fn since(t: Time) -> f64 {
    t.as_secs_f64() - ORIGIN.as_secs_f64()
}

fn flags(syn: bool, fin: bool, rst: bool, ece: bool, cwr: bool, ack: bool) -> String {
    let all = [(syn, 'S'), (fin, 'F'), (rst, 'R'), (ece, 'E'), (cwr, 'W'), (ack, '.')];
    all.iter().filter(|(is, _)| *is).map(|(_, letter)| *letter).collect()
}

fn describe_packet(p: &Packet) -> String {
    let ack = p.ack.map(|a| format!(" ack {a}")).unwrap_or_default();
    let [a, b] = p.range;
    let sack: String = p
        .options
        .iter()
        .flatten()
        .map(|o| if let TcpOption::Sack(b) = o { sacks(b) } else { String::new() })
        .collect();
    format!("{} {a}:{b}({}){ack}{sack}", flags(p.syn, p.fin, p.rst, p.ece, p.cwr, p.ack_flag), b - a)
}

fn describe_segment(s: &Segment) -> String {
    let ack = if s.has_ack { format!(" ack {}", s.ack) } else { String::new() };
    let blocks: Vec<[u64; 2]> = s.sack.as_slice().iter().map(|b| [b.left, b.right]).collect();
    let end = s.seq + u64::from(s.len);
    let flags = flags(s.syn, s.fin, s.rst, s.ece, s.cwr, s.has_ack);
    format!("{flags} {}:{end}({}){ack}{}", s.seq, s.len, sacks(&blocks))
}

fn sacks(blocks: &[[u64; 2]]) -> String {
    blocks.iter().map(|[l, r]| format!(" sack {l}:{r}")).collect()
}
