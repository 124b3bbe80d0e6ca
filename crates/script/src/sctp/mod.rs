//! SCTP dialogues (RFC 9260): file format and reader; a scripted peer of one association, in chunks.
//!
//! A dialogue of SCTP is a file with `protocol = "sctp"`. Transmission sequence numbers are relative: the
//! first DATA chunk of each end is 0. Chunks are written as words: `SACK cum=4 rwnd=9000 gaps=6-7`.

mod chunk;
mod harness;
mod options;
mod player;

pub use player::play;

use crate::dialogue::Unreadable;
use base::spelling::nearest;
use chunk::Pattern;
use toml::{Table, Value};

/// Kinds of events.
const KINDS: &[&str] = &[
    "connect", "write", "message", "close", "abort", "read", "receive", "expect", "silence", "told", "state",
];

/// An SCTP dialogue.
#[derive(Clone, Debug)]
pub struct Dialogue {
    /// Name of the dialogue.
    pub id: String,
    pub(crate) options: Table,
    pub(crate) events: Vec<Event>,
    /// Unknown words, with their lines.
    pub(crate) unknown: Vec<String>,
}

/// One event.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    /// Time, seconds.
    pub(crate) t: f64,
    pub(crate) what: What,
    /// First line of the event's table, from 1.
    pub(crate) line: usize,
}

/// Event or expectation.
#[derive(Clone, Debug)]
pub(crate) enum What {
    /// The association is opened.
    Connect,
    /// The application writes this number of bytes of bulk data.
    Write(u64),
    /// The application sends a message.
    Message { bytes: u64, stream: u16, unordered: bool, lifetime: Option<f64>, retransmissions: Option<u32> },
    /// The application closes.
    Close,
    /// The application aborts.
    Abort,
    /// The application reads this number of bytes; after the first such event it reads only on request.
    Read(u64),
    /// The peer sends a packet.
    Receive { chunks: Vec<Pattern>, tag: VerificationTag, path: u8, marked: bool },
    /// The association sends these packets in this order, and no others before them.
    Expect { packets: Vec<Vec<Pattern>>, path: Option<u8>, tol: Option<f64> },
    /// The association sends nothing until this time, seconds.
    Silence(f64),
    /// Notifications to the application since the previous event of this kind, in order.
    Told(Vec<String>),
    /// Expected values of the observable state.
    State(Table),
}

/// Verification tag of a packet from the peer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum VerificationTag {
    /// The tag that the specification requires.
    Right,
    /// A wrong tag.
    Wrong,
    /// The sending peer's own tag, which ABORT and SHUTDOWN COMPLETE may reflect.
    Peer,
}

/// Bound of bytes, counts and sequence numbers; larger ones are errors.
const FAR: i64 = 1 << 40;

/// Whether a file is an SCTP dialogue.
pub(crate) fn is_one(text: &str) -> bool {
    text.parse::<Table>().is_ok_and(|table| table.get("protocol").and_then(Value::as_str) == Some("sctp"))
}

impl Dialogue {
    /// Reads a dialogue.
    ///
    /// # Errors
    /// Syntax error, or a word of the wrong type, with its line.
    pub fn read(text: &str) -> Result<Dialogue, Unreadable> {
        let wrong = |line: usize, message: String| Unreadable { line, column: 1, message };
        let table: Table = text.parse().map_err(|e: toml::de::Error| wrong(1, e.message().to_owned()))?;
        if table.get("format").and_then(Value::as_integer) != Some(1) {
            return Err(wrong(1, "a dialogue needs `format = 1`".to_owned()));
        }
        let id = table.get("id").and_then(Value::as_str).unwrap_or_default().to_owned();
        if id.is_empty() {
            return Err(wrong(1, "a dialogue has an `id`".to_owned()));
        }
        let options = match table.get("options") {
            None => Table::new(),
            Some(Value::Table(options)) => options.clone(),
            Some(_) => return Err(wrong(1, "`options` is a table: [options]".to_owned())),
        };
        let lines = crate::dialogue::lines_of(text, "[[event]]");
        let mut out = Dialogue { id, options, events: Vec::new(), unknown: Vec::new() };
        let listed = table.get("event").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        for (i, event) in listed.iter().enumerate() {
            let line = lines.get(i).copied().unwrap_or(1);
            let table = event.as_table().ok_or_else(|| wrong(line, "an event is a table".to_owned()))?;
            let event = out.event(table, line).map_err(|message| wrong(line, message))?;
            out.events.push(event);
        }
        if out.events.is_empty() {
            return Err(wrong(1, "a dialogue has at least one [[event]]".to_owned()));
        }
        let injects = |e: &&Event| !matches!(e.what, What::Expect { .. } | What::Silence(_) | What::State(_));
        let times: Vec<&Event> = out.events.iter().filter(injects).collect();
        if let Some(pair) = times.windows(2).find(|pair| pair[1].t < pair[0].t) {
            let message =
                format!("t = {} comes after t = {}: events are in the order of time", pair[1].t, pair[0].t);
            return Err(wrong(pair[1].line, message));
        }
        Ok(out)
    }

    fn event(&mut self, table: &Table, line: usize) -> Result<Event, String> {
        let mut words = Words { table, read: vec!["t", "kind"] };
        let t = words.number("t")?.ok_or("an event has its time, `t`")?;
        let kind = table.get("kind").and_then(Value::as_str).ok_or("an event has its `kind`")?;
        let missing = |key: &str| format!("`{key}` is missing");
        let what = match kind {
            "connect" => What::Connect,
            "write" => What::Write(words.count("bytes")?.ok_or_else(|| missing("bytes"))?),
            "message" => What::Message {
                bytes: words.count("bytes")?.ok_or_else(|| missing("bytes"))?,
                stream: words.small("stream")?.unwrap_or(0),
                unordered: words.flag("unordered")?,
                lifetime: words.number("lifetime")?,
                retransmissions: words.small("retransmissions")?,
            },
            "close" => What::Close,
            "abort" => What::Abort,
            "read" => What::Read(words.count("bytes")?.ok_or_else(|| missing("bytes"))?),
            "receive" => What::Receive {
                chunks: words.chunks("chunks")?.ok_or_else(|| missing("chunks"))?,
                tag: match words.word("tag")? {
                    None => VerificationTag::Right,
                    Some("wrong") => VerificationTag::Wrong,
                    Some("peer") => VerificationTag::Peer,
                    Some(other) => return Err(format!("`tag` is wrong or peer, not {other}")),
                },
                path: words.small("path")?.unwrap_or(0),
                marked: words.flag("ce")?,
            },
            "expect" => What::Expect {
                packets: words.packets()?,
                path: words.small("path")?,
                tol: words.number("tol")?,
            },
            "silence" => What::Silence(words.number("until")?.ok_or_else(|| missing("until"))?),
            "told" => What::Told(words.texts("events")?.ok_or_else(|| missing("events"))?),
            "state" => {
                words.read.extend(table.keys().map(String::as_str));
                let mut values = table.clone();
                values.retain(|key, _| key != "t" && key != "kind");
                What::State(values)
            }
            other => {
                if let Some(meant) = nearest(other, KINDS.iter().copied()) {
                    return Err(format!("there is no kind `{other}`; did you mean `{meant}`?"));
                }
                self.unknown.push(format!("an event of kind `{other}` (line {line})"));
                What::State(Table::new())
            }
        };
        for key in table.keys().filter(|key| !words.read.contains(&key.as_str())) {
            if let Some(meant) = nearest(key, words.read.iter().copied()) {
                return Err(format!("`{key}` is no key of {kind}; did you mean `{meant}`?"));
            }
            self.unknown.push(format!("`{key}` of {kind} (line {line})"));
        }
        Ok(Event { t, what, line })
    }
}

/// Keys of one event, and which of them the reader has used.
struct Words<'a> {
    table: &'a Table,
    read: Vec<&'a str>,
}

impl<'a> Words<'a> {
    fn get(&mut self, key: &'a str) -> Option<&'a Value> {
        self.read.push(key);
        self.table.get(key)
    }
    /// Seconds, of at most one day in magnitude.
    fn number(&mut self, key: &'a str) -> Result<Option<f64>, String> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let number =
            value.as_float().or(value.as_integer().map(|i| i as f64)).filter(|n| n.abs() <= 86_400.0);
        number
            .map(Some)
            .ok_or_else(|| format!("`{key}` = {value} is not a number of seconds, or too large a one"))
    }
    fn count(&mut self, key: &'a str) -> Result<Option<u64>, String> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let number = value.as_integer().filter(|n| (0..FAR).contains(n)).map(|n| n as u64);
        number.map(Some).ok_or_else(|| format!("`{key}` = {value} is not a count"))
    }
    fn small<T: TryFrom<u64>>(&mut self, key: &'a str) -> Result<Option<T>, String> {
        let Some(n) = self.count(key)? else { return Ok(None) };
        T::try_from(n).map(Some).map_err(|_| format!("`{key}` = {n} is too large"))
    }
    fn flag(&mut self, key: &'a str) -> Result<bool, String> {
        match self.get(key) {
            None => Ok(false),
            Some(Value::Boolean(on)) => Ok(*on),
            Some(value) => Err(format!("`{key}` = {value} is neither true nor false")),
        }
    }
    fn word(&mut self, key: &'a str) -> Result<Option<&'a str>, String> {
        let Some(value) = self.get(key) else { return Ok(None) };
        value.as_str().map(Some).ok_or_else(|| format!("`{key}` = {value} is no word"))
    }
    fn texts(&mut self, key: &'a str) -> Result<Option<Vec<String>>, String> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let all = value.as_array().map(|list| list.iter().map(|v| v.as_str().map(str::to_owned)).collect());
        let all: Option<Option<Vec<String>>> = all;
        all.flatten().map(Some).ok_or_else(|| format!("`{key}` is a list of texts"))
    }
    fn chunks(&mut self, key: &'a str) -> Result<Option<Vec<Pattern>>, String> {
        let Some(texts) = self.texts(key)? else { return Ok(None) };
        texts.iter().map(|text| Pattern::read(text)).collect::<Result<_, _>>().map(Some)
    }
    /// `chunks` is one packet, `packets` a list of packets; a DATA chunk with `tsn=0..4` stands for a packet
    /// per TSN.
    fn packets(&mut self) -> Result<Vec<Vec<Pattern>>, String> {
        let packets = match (self.chunks("chunks")?, self.get("packets")) {
            (Some(one), None) => vec![one],
            (None, Some(Value::Array(list))) => {
                let read = |packet: &Value| -> Result<Vec<Pattern>, String> {
                    let texts = packet.as_array().ok_or("`packets` is a list of lists of chunks")?;
                    texts.iter().map(|text| Pattern::read(text.as_str().unwrap_or_default())).collect()
                };
                list.iter().map(read).collect::<Result<_, _>>()?
            }
            _ => return Err("an expectation has either `chunks` or `packets`".to_owned()),
        };
        Ok(packets.into_iter().flat_map(chunk::spread).collect())
    }
}
