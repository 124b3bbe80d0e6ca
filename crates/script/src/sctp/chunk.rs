//! SCTP chunks in the notation of dialogues: parser of a type with `key=value` words, matching, and text of
//! sent chunks.

use base::truth::Cause;
use sctp::chunk::{Chunk, Data, Failure, Init, Opaque, Sack};
use std::collections::BTreeMap;

/// A chunk as written: its type and its fields.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Pattern {
    pub(crate) kind: String,
    pub(crate) words: BTreeMap<String, String>,
}

/// Defaults for fields that a chunk from the peer omits.
pub(crate) struct Context {
    /// Verification tag and initial TSN of the peer.
    pub(crate) peer: [u32; 2],
    /// Advertised window of the peer, bytes.
    pub(crate) window: u32,
    /// State cookie of the last INIT ACK sent.
    pub(crate) cookie: Opaque,
    /// Information of the last HEARTBEAT sent.
    pub(crate) heartbeat: Opaque,
}

/// Chunk types with the fields of each.
const KINDS: &[(&str, &[&str])] = &[
    ("DATA", &["tsn", "len", "stream", "ssn", "begin", "end", "unordered", "immediate", "ppid"]),
    ("INIT", &["rwnd", "os", "mis", "addresses", "ecn", "prsctp", "unrecognized", "tag"]),
    ("INIT-ACK", &["rwnd", "os", "mis", "addresses", "ecn", "prsctp", "unrecognized", "tag"]),
    ("SACK", &["cum", "rwnd", "gaps", "dups"]),
    ("HEARTBEAT", &["info"]),
    ("HEARTBEAT-ACK", &["info"]),
    ("ABORT", &["reflected", "cause"]),
    ("SHUTDOWN", &["cum"]),
    ("SHUTDOWN-ACK", &[]),
    ("ERROR", &["cause"]),
    ("COOKIE-ECHO", &["cookie"]),
    ("COOKIE-ACK", &[]),
    ("ECNE", &["tsn"]),
    ("CWR", &["tsn"]),
    ("SHUTDOWN-COMPLETE", &["reflected"]),
    ("FORWARD-TSN", &["cum", "streams"]),
    ("PAD", &["len"]),
    ("UNKNOWN", &["type"]),
];

impl Pattern {
    /// Parses a chunk.
    pub(crate) fn read(text: &str) -> Result<Pattern, String> {
        let mut parts = text.split_whitespace();
        let kind = parts.next().unwrap_or_default().to_owned();
        let Some((_, known)) = KINDS.iter().find(|(name, _)| *name == kind) else {
            return Err(format!("`{text}` begins with no type of a chunk, such as DATA or SACK"));
        };
        let mut words = BTreeMap::new();
        for part in parts {
            let (key, value) =
                part.split_once('=').ok_or_else(|| format!("`{part}` in `{text}` is not key=value"))?;
            if !known.contains(&key) {
                return Err(format!("{kind} has no `{key}`; it has {}", known.join(", ")));
            }
            words.insert(key.to_owned(), value.to_owned());
        }
        Ok(Pattern { kind, words })
    }

    /// Whether a chunk matches this pattern; fields not given match anything.
    pub(crate) fn fits(&self, chunk: &Chunk) -> bool {
        let seen = describe(chunk);
        self.kind == seen.kind && self.words.iter().all(|(key, value)| seen.words.get(key) == Some(value))
    }

    fn get(&self, key: &str) -> Option<&str> {
        self.words.get(key).map(String::as_str)
    }
    fn number(&self, key: &str) -> Result<Option<i64>, String> {
        let Some(word) = self.get(key) else { return Ok(None) };
        let number = word.parse().ok().filter(|n: &i64| (-1..super::FAR).contains(n));
        number.map(Some).ok_or_else(|| format!("`{key}={word}` of {} is not a number", self.kind))
    }
    fn of<T: TryFrom<i64>>(&self, key: &str, absent: T) -> Result<T, String> {
        let Some(n) = self.number(key)? else { return Ok(absent) };
        T::try_from(n).map_err(|_| format!("`{key}={n}` of {} is out of range", self.kind))
    }
    /// `6-7,9` as ranges `[6, 8)` and `[9, 10)`.
    fn ranges(&self, key: &str) -> Result<Vec<(u64, u64)>, String> {
        let list = self.get(key).filter(|list| *list != "none").unwrap_or_default();
        let wrong = || format!("`{key}={list}` is not a list such as 6-7,9");
        let one = |part: &str| {
            let (from, to) = part.split_once('-').unwrap_or((part, part));
            let (from, to): (u64, u64) =
                (from.parse().map_err(|_| wrong())?, to.parse().map_err(|_| wrong())?);
            if from > to || to > super::FAR as u64 { Err(wrong()) } else { Ok((from, to + 1)) }
        };
        list.split(',').filter(|part| !part.is_empty()).map(one).collect()
    }

    /// The chunk that the peer sends.
    pub(crate) fn chunk(&self, context: &Context) -> Result<Chunk, String> {
        let flag = |key: &str, absent: bool| self.of::<u8>(key, u8::from(absent)).map(|n| n != 0);
        let above = |key: &str| self.of::<i64>(key, -1).map(|n| (n + 1) as u64);
        let bytes = |last: &Opaque, word: &str| -> Opaque {
            match word {
                "last" => last.clone(),
                "altered" => {
                    let at = last.len().saturating_sub(1).min(30);
                    last.iter().enumerate().map(|(i, b)| if i == at { b ^ 1 } else { *b }).collect()
                }
                text => text.as_bytes().into(),
            }
        };
        Ok(match self.kind.as_str() {
            "DATA" => Chunk::Data(Data {
                tsn: self.of("tsn", 0)?,
                stream: self.of("stream", 0)?,
                ssn: self.of("ssn", self.of("tsn", 0u64)?)?,
                begin: flag("begin", true)?,
                end: flag("end", true)?,
                unordered: flag("unordered", false)?,
                immediate: flag("immediate", false)?,
                len: self.of("len", 1000)?,
                ppid: self.of("ppid", 1)?,
                cause: Cause::New,
            }),
            "INIT" | "INIT-ACK" => {
                let count: usize = self.of("unrecognized", 0)?;
                let init = Init {
                    tag: self.of("tag", context.peer[0])?,
                    window: self.of("rwnd", context.window)?,
                    outbound: self.of("os", 10)?,
                    inbound: self.of("mis", u16::MAX)?,
                    initial: context.peer[1],
                    addresses: self.of("addresses", 1)?,
                    ecn: flag("ecn", false)?,
                    forward_tsn: flag("prsctp", true)?,
                    unrecognized: (0..count.min(20)).map(|_| [0xc0, 6, 0, 4].into()).collect(),
                };
                if self.kind == "INIT" {
                    Chunk::Init(init)
                } else {
                    Chunk::InitAck(init, b"a cookie of the peer"[..].into())
                }
            }
            "SACK" => Chunk::Sack(Sack {
                cumulative: above("cum")?,
                window: self.of("rwnd", context.window)?,
                gaps: self.ranges("gaps")?,
                duplicates: self
                    .ranges("dups")?
                    .into_iter()
                    .flat_map(|(from, to)| from..to.min(from + 1000))
                    .collect(),
            }),
            "HEARTBEAT" => Chunk::Heartbeat(bytes(&context.heartbeat, self.get("info").unwrap_or("beat"))),
            "HEARTBEAT-ACK" => {
                Chunk::HeartbeatAck(bytes(&context.heartbeat, self.get("info").unwrap_or("last")))
            }
            "ABORT" => Chunk::Abort { reflected: flag("reflected", false)?, cause: self.cause()? },
            "ERROR" => Chunk::Error(self.cause()?.ok_or("ERROR has a `cause`")?),
            "SHUTDOWN" => Chunk::Shutdown(above("cum")?),
            "SHUTDOWN-ACK" => Chunk::ShutdownAck,
            "COOKIE-ECHO" => Chunk::CookieEcho(bytes(&context.cookie, self.get("cookie").unwrap_or("last"))),
            "COOKIE-ACK" => Chunk::CookieAck,
            "ECNE" => Chunk::Ecne(self.of("tsn", 0)?),
            "CWR" => Chunk::Cwr(self.of("tsn", 0)?),
            "SHUTDOWN-COMPLETE" => Chunk::ShutdownComplete { reflected: flag("reflected", false)? },
            "FORWARD-TSN" => {
                let list = self.get("streams").filter(|list| *list != "none").unwrap_or_default();
                let one = |part: &str| {
                    let (stream, ssn) = part.split_once(':')?;
                    Some((stream.parse().ok()?, ssn.parse().ok()?))
                };
                let streams: Option<Vec<(u16, u64)>> =
                    list.split(',').filter(|p| !p.is_empty()).map(one).collect();
                Chunk::ForwardTsn(
                    above("cum")?,
                    streams.ok_or("`streams` of FORWARD-TSN is a list such as 0:4,2:7")?,
                )
            }
            "PAD" => Chunk::Pad(self.of("len", 1000)?),
            _ => Chunk::Unknown(self.of("type", 63)?, 0, Opaque::from([])),
        })
    }

    fn cause(&self) -> Result<Option<Failure>, String> {
        if self.get("cause") == Some("none") {
            return Ok(None);
        }
        let Some(code) = self.number("cause")? else { return Ok(None) };
        Ok(Some(match code {
            1 => Failure::InvalidStream(0),
            3 => Failure::StaleCookie(0),
            7 => Failure::InvalidParameter,
            9 => Failure::NoUserData(0),
            10 => Failure::ShuttingDown,
            11 => Failure::NewAddresses,
            12 => Failure::UserAbort,
            13 => Failure::ProtocolViolation,
            other => {
                Failure::Other(u16::try_from(other).map_err(|_| format!("`cause={other}` is no cause"))?)
            }
        }))
    }
}

/// Splits a packet of one DATA chunk with a TSN range `tsn=0..4` into a packet for each TSN.
pub(crate) fn spread(packet: Vec<Pattern>) -> Vec<Vec<Pattern>> {
    let [one] = packet.as_slice() else { return vec![packet] };
    let range = one.get("tsn").and_then(|tsn| tsn.split_once(".."));
    let Some((Ok(from), Ok(to))) = range.map(|(a, b)| (a.parse::<u64>(), b.parse::<u64>())) else {
        return vec![packet];
    };
    let of = |tsn: u64| {
        let mut pattern = one.clone();
        pattern.words.insert("tsn".to_owned(), tsn.to_string());
        vec![pattern]
    };
    (from..to.min(from + 1000)).map(of).collect()
}

fn code(failure: &Failure) -> u16 {
    match failure {
        Failure::InvalidStream(_) => 1,
        Failure::StaleCookie(_) => 3,
        Failure::UnrecognizedChunk(_) => 6,
        Failure::InvalidParameter => 7,
        Failure::NoUserData(_) => 9,
        Failure::ShuttingDown => 10,
        Failure::NewAddresses => 11,
        Failure::UserAbort => 12,
        Failure::ProtocolViolation => 13,
        Failure::Other(code) => *code,
    }
}

fn text(bytes: &[u8]) -> String {
    let plain = !bytes.is_empty() && bytes.iter().all(|b| b.is_ascii_graphic());
    if plain { String::from_utf8_lossy(bytes).into_owned() } else { format!("{}-bytes", bytes.len()) }
}

/// Chunk as type and fields of the notation.
pub(crate) fn describe(chunk: &Chunk) -> Pattern {
    let list = |ranges: &mut dyn Iterator<Item = (u64, u64)>| {
        let one = |(from, to): (u64, u64)| {
            if to - from <= 1 { from.to_string() } else { format!("{from}-{}", to - 1) }
        };
        let all: Vec<String> = ranges.map(one).collect();
        if all.is_empty() { "none".to_owned() } else { all.join(",") }
    };
    let below = |n: u64| (n as i64 - 1).to_string();
    let on = |flag: bool| u8::from(flag).to_string();
    let init = |init: &Init| {
        vec![
            ("rwnd", init.window.to_string()),
            ("os", init.outbound.to_string()),
            ("mis", init.inbound.to_string()),
            ("addresses", init.addresses.to_string()),
            ("ecn", on(init.ecn)),
            ("prsctp", on(init.forward_tsn)),
            ("unrecognized", init.unrecognized.len().to_string()),
        ]
    };
    let cause = |failure: Option<&Failure>| {
        vec![("cause", failure.map_or_else(|| "none".to_owned(), |failure| code(failure).to_string()))]
    };
    let (kind, words): (&str, Vec<(&str, String)>) = match chunk {
        Chunk::Data(d) => (
            "DATA",
            vec![
                ("tsn", d.tsn.to_string()),
                ("len", d.len.to_string()),
                ("stream", d.stream.to_string()),
                ("ssn", d.ssn.to_string()),
                ("begin", on(d.begin)),
                ("end", on(d.end)),
                ("unordered", on(d.unordered)),
                ("immediate", on(d.immediate)),
            ],
        ),
        Chunk::Init(i) => ("INIT", init(i)),
        Chunk::InitAck(i, _) => ("INIT-ACK", init(i)),
        Chunk::Sack(s) => (
            "SACK",
            vec![
                ("cum", below(s.cumulative)),
                ("rwnd", s.window.to_string()),
                ("gaps", list(&mut s.gaps.iter().copied())),
                ("dups", list(&mut s.duplicates.iter().map(|d| (*d, d + 1)))),
            ],
        ),
        Chunk::Heartbeat(info) => ("HEARTBEAT", vec![("info", text(info))]),
        Chunk::HeartbeatAck(info) => ("HEARTBEAT-ACK", vec![("info", text(info))]),
        Chunk::Abort { reflected, cause: why } => {
            ("ABORT", [cause(why.as_ref()), vec![("reflected", on(*reflected))]].concat())
        }
        Chunk::Shutdown(cum) => ("SHUTDOWN", vec![("cum", below(*cum))]),
        Chunk::ShutdownAck => ("SHUTDOWN-ACK", Vec::new()),
        Chunk::Error(why) => ("ERROR", cause(Some(why))),
        Chunk::CookieEcho(cookie) => ("COOKIE-ECHO", vec![("cookie", text(cookie))]),
        Chunk::CookieAck => ("COOKIE-ACK", Vec::new()),
        Chunk::Ecne(tsn) => ("ECNE", vec![("tsn", tsn.to_string())]),
        Chunk::Cwr(tsn) => ("CWR", vec![("tsn", tsn.to_string())]),
        Chunk::ShutdownComplete { reflected } => ("SHUTDOWN-COMPLETE", vec![("reflected", on(*reflected))]),
        Chunk::ForwardTsn(cum, streams) => {
            let all: Vec<String> = streams.iter().map(|(stream, ssn)| format!("{stream}:{ssn}")).collect();
            let all = if all.is_empty() { "none".to_owned() } else { all.join(",") };
            ("FORWARD-TSN", vec![("cum", below(*cum)), ("streams", all)])
        }
        Chunk::Pad(bytes) => ("PAD", vec![("len", bytes.to_string())]),
        Chunk::Unknown(kind, ..) => ("UNKNOWN", vec![("type", kind.to_string())]),
    };
    let words = words.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    Pattern { kind: kind.to_owned(), words }
}

/// Short text of a packet for the ladder diagram: the fields that distinguish its chunks.
pub(crate) fn short(chunks: &[Chunk]) -> String {
    let one = |chunk: &Chunk| {
        let all = describe(chunk);
        let shown = ["tsn", "cum", "gaps", "dups", "cause", "streams"];
        let words = shown.iter().filter_map(|key| Some((key, all.words.get(*key).filter(|v| *v != "none")?)));
        words.fold(all.kind.clone(), |out, (key, value)| format!("{out} {key}={value}"))
    };
    chunks.iter().map(one).collect::<Vec<_>>().join(" + ")
}

impl std::fmt::Display for Pattern {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.kind)?;
        self.words.iter().try_for_each(|(key, value)| write!(f, " {key}={value}"))
    }
}

/// Actual values of the fields that an expectation names.
pub(crate) fn seen(chunks: &[Chunk], wanted: &[Pattern]) -> String {
    let one = |(i, chunk): (usize, &Chunk)| {
        let mut all = describe(chunk);
        if let Some(wanted) = wanted.get(i).filter(|wanted| wanted.kind == all.kind) {
            all.words.retain(|key, _| wanted.words.contains_key(key));
            all.to_string()
        } else {
            short(std::slice::from_ref(chunk))
        }
    };
    chunks.iter().enumerate().map(one).collect::<Vec<_>>().join(" + ")
}
