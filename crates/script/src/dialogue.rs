//! Dialogue file format (TOML): events, expectations, options and tables of a TCP script, and its reader.
//!
//! Unknown words are kept by name: the player reports such a dialogue as unsupported, since the effect of an
//! unknown word cannot be guessed. A word that is nearly a known one is an error.

use base::spelling::nearest;
use std::collections::BTreeMap;
use toml::{Table, Value};

/// Kinds of events.
const KINDS: &[&str] = &["app_write", "ack", "expect", "silence", "state", "receive", "expect_ack"];

/// One dialogue.
#[derive(Clone, Debug, Default)]
pub struct Dialogue {
    /// Name of the dialogue.
    pub id: String,
    /// Title: the claim under test.
    pub title: String,
    /// Publication or specification behind the claim.
    pub source: String,
    /// RFC numbers, with sections if the author gave some.
    pub rfc: Vec<String>,
    /// Further notes.
    pub notes: String,
    /// TCP options of the end under test.
    pub options: BTreeMap<String, Value>,
    /// Events, in order.
    pub events: Vec<Event>,
    /// Rows of a table of arithmetic, if the dialogue is one: see [`crate::arithmetic`].
    pub table: Table,
    /// Unknown words, with their lines.
    pub unknown: Vec<String>,
}

/// One event of a dialogue.
#[derive(Clone, Debug)]
pub struct Event {
    /// Time, seconds from the establishment of the connection.
    pub t: f64,
    /// Event or expectation.
    pub what: DialogueEvent,
    /// First line of the event's table, from 1.
    pub line: usize,
}

/// Byte range, `[first, one past the last]`.
pub type Range = [u64; 2];

/// Event or expectation.
#[derive(Clone, Debug)]
pub enum DialogueEvent {
    /// The application writes this number of bytes.
    AppWrite(u64),
    /// The peer sends an acknowledgement.
    Ack(Ack),
    /// The sender sends these segments, and no others.
    Expect(Expect),
    /// The tested end sends nothing until this time, seconds.
    Silence(f64),
    /// Expected values of the observable state.
    State(BTreeMap<String, Value>),
    /// The peer sends a data segment (receiver under test).
    Receive(Receive),
    /// The receiver under test sends an acknowledgement.
    ExpectAck(ExpectAck),
}

/// An acknowledgement from the peer.
#[derive(Clone, Debug, Default)]
pub struct Ack {
    /// Acknowledgement number: next byte expected.
    pub ack: u64,
    /// SACK blocks, most recent first.
    pub sack: Vec<Range>,
    /// Whether the first block is a DSACK. Only a hint for readers: the block's range decides.
    pub dsack_first: bool,
    /// Send time of the segment whose timestamp is echoed, seconds.
    pub tsecr: Option<f64>,
    /// ECN-Echo.
    pub ece: bool,
    /// Advertised window, bytes; unchanged if absent.
    pub window: Option<u64>,
    /// The ACK answers a segment with the retransmit flag: extension for `spurious = "retransmit-flag"`.
    pub resent: bool,
}

/// A data segment from the peer.
#[derive(Clone, Debug, Default)]
pub struct Receive {
    /// First byte.
    pub seq: u64,
    /// One past the last byte.
    pub end: u64,
    /// Send time for its timestamp; default: the event's time.
    pub tsval: Option<f64>,
    /// Congestion Experienced (CE) codepoint.
    pub ce: bool,
    /// CWR flag.
    pub cwr: bool,
    /// FIN flag.
    pub fin: bool,
}

/// An acknowledgement that the receiver under test must send.
#[derive(Clone, Debug, Default)]
pub struct ExpectAck {
    /// Acknowledgement number: next byte expected.
    pub ack: u64,
    /// SACK blocks in their order.
    pub sack: Vec<Range>,
    /// Whether the first block reports a duplicate (RFC 2883).
    pub dsack_first: Option<bool>,
    /// Send time of the segment whose timestamp is echoed, seconds.
    pub tsecr: Option<f64>,
    /// ECN-Echo.
    pub ece: Option<bool>,
    /// Advertised window, bytes.
    pub window: Option<u64>,
    /// Maximum lateness, seconds.
    pub tol: Option<f64>,
}

/// Segments that the sender under test must send.
#[derive(Clone, Debug, Default)]
pub struct Expect {
    /// Byte ranges; segmentation is free, adjacent ranges may merge.
    pub send: Vec<Range>,
    /// Maximum lateness, seconds.
    pub tol: Option<f64>,
    /// At least one segment is a retransmission.
    pub rtx: bool,
    /// The ranges may be sent in any order.
    pub any_order: bool,
    /// Number of further segments that may be sent, in units of the MSS.
    pub extra_mss: f64,
    /// Further ranges that may be sent.
    pub may_send: Vec<Range>,
    /// The ranges of `send` may be absent.
    pub optional: bool,
    /// A non-empty prefix of the ranges is enough.
    pub prefix_ok: bool,
    /// Window probe or tail loss probe: any part of the named range.
    pub probe: bool,
    /// Any new data may be sent too.
    pub any_new_ok: bool,
    /// Nothing is retransmitted.
    pub no_rtx: bool,
    /// Any other segment is permitted.
    pub any_send_ok: bool,
    /// The first new segment carries CWR.
    pub first_new_has_cwr: bool,
    /// New segments are ECN-capable, or are not.
    pub ect: Option<bool>,
}

/// Error of a file that is no dialogue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// Line, from 1.
    pub line: usize,
    /// Column, from 1.
    pub column: usize,
    /// Cause.
    pub message: String,
}

impl std::fmt::Display for Unreadable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.message)
    }
}

impl std::error::Error for Unreadable {}

impl Dialogue {
    /// Reads a dialogue.
    pub fn read(text: &str) -> Result<Dialogue, Unreadable> {
        let mut table: Table = text.parse().map_err(|e: toml::de::Error| {
            let at = e.span().map_or(0, |s| s.start).min(text.len());
            let before = &text.as_bytes()[..at];
            let line = 1 + before.iter().filter(|b| **b == b'\n').count();
            let column = 1 + before.iter().rev().take_while(|b| **b != b'\n').count();
            Unreadable { line, column, message: e.message().to_owned() }
        })?;
        let wrong = |line: usize, message: String| Unreadable { line, column: 1, message };
        match table.remove("format") {
            Some(Value::Integer(1)) => {}
            Some(other) => return Err(wrong(1, format!("format {other} is not known; this reads format 1"))),
            None => return Err(wrong(1, "a dialogue needs `format = 1`".to_owned())),
        }
        let mut out = Dialogue::default();
        let word = |v: &Value| v.as_str().map_or_else(|| v.to_string(), str::to_owned);
        for (key, value) in table {
            match (key.as_str(), value) {
                ("id", v) => out.id = word(&v),
                ("title", v) => out.title = word(&v),
                ("source", v) => out.source = word(&v),
                ("notes", v) => out.notes = word(&v),
                ("rfc", Value::Array(list)) => out.rfc = list.iter().map(word).collect(),
                ("rfc", v) => out.rfc = vec![word(&v)],
                ("options", Value::Table(t)) => out.options = t.into_iter().collect(),
                ("event", Value::Array(events)) => {
                    let lines = lines_of(text, "[[event]]");
                    for (i, event) in events.iter().enumerate() {
                        let line = lines.get(i).copied().unwrap_or(1);
                        let event = out.event(event, line).map_err(|message| wrong(line, message))?;
                        out.events.push(event);
                    }
                }
                ("options" | "event", _) => {
                    return Err(wrong(1, format!("`{key}` is a table: [options], [[event]]")));
                }
                // Remarks in words change nothing.
                (_, Value::String(_)) => {}
                (_, value) => {
                    out.table.insert(key, value);
                }
            }
        }
        if out.id.is_empty() {
            return Err(wrong(1, "a dialogue has an `id`".to_owned()));
        }
        out.in_order()?;
        Ok(out)
    }

    /// Checks that the peer's events are in time order.
    fn in_order(&self) -> Result<(), Unreadable> {
        let mut last = (f64::NEG_INFINITY, 0);
        for Event { t, what, line } in &self.events {
            if !matches!(what, DialogueEvent::AppWrite(_) | DialogueEvent::Ack(_) | DialogueEvent::Receive(_))
            {
                continue;
            }
            if *t < last.0 {
                let (before, of) = last;
                let message =
                    format!("t = {t} comes after t = {before} (line {of}): events are in the order of time");
                return Err(Unreadable { line: *line, column: 1, message });
            }
            last = (*t, *line);
        }
        Ok(())
    }

    /// Keys of `state` that are skipped: unknown names, which may be typing errors, and keys with a list,
    /// which nothing is compared with.
    pub fn unknown_values(&self) -> Vec<String> {
        let mut keys = Vec::new();
        for event in &self.events {
            let DialogueEvent::State(values) = &event.what else { continue };
            let skipped =
                values.iter().filter(|(key, value)| !crate::observe::knows(key) || value.is_array());
            keys.extend(skipped.map(|(key, _)| format!("`{key}` (line {})", event.line)));
        }
        keys
    }

    fn event(&mut self, event: &Value, line: usize) -> Result<Event, String> {
        let Value::Table(table) = event else { return Err("an event is a table".to_owned()) };
        let mut words = Words { table, read: vec!["t", "kind"] };
        let t = words.number("t")?.ok_or("an event has its time, `t`")?;
        let kind = table.get("kind").and_then(Value::as_str).ok_or("an event has its `kind`")?;
        let what = match kind {
            "app_write" => DialogueEvent::AppWrite(words.bytes("bytes")?.ok_or("`bytes` is missing")?),
            "ack" => DialogueEvent::Ack(Ack {
                ack: words.bytes("ack")?.ok_or("`ack` is missing")?,
                sack: words.ranges("sack")?,
                dsack_first: words.flag("dsack_first")?.unwrap_or(false),
                tsecr: words.number("tsecr")?,
                ece: words.flag("ece")?.unwrap_or(false),
                window: words.bytes("window")?,
                resent: words.flag("resent")?.unwrap_or(false),
            }),
            "expect" => {
                let optional = matches!(table.get("may_send"), Some(Value::Boolean(true)));
                let listed = !matches!(table.get("may_send"), Some(Value::Boolean(_)));
                words.read.push("may_send");
                DialogueEvent::Expect(Expect {
                    send: words.ranges("send")?,
                    tol: words.number("tol")?,
                    rtx: words.flag("rtx")?.unwrap_or(false),
                    any_order: words.flag("any_order")?.unwrap_or(false),
                    extra_mss: words.number("extra_mss")?.unwrap_or(0.0),
                    may_send: if listed { words.ranges("may_send")? } else { Vec::new() },
                    optional,
                    prefix_ok: words.flag("prefix_ok")?.unwrap_or(false),
                    probe: words.flag("probe")?.unwrap_or(false),
                    any_new_ok: words.flag("any_new_ok")?.unwrap_or(false),
                    no_rtx: words.flag("no_rtx")?.unwrap_or(false),
                    any_send_ok: words.flag("any_send_ok")?.unwrap_or(false),
                    first_new_has_cwr: words.flag("first_new_has_cwr")?.unwrap_or(false),
                    ect: words.flag("ect")?,
                })
            }
            "silence" => DialogueEvent::Silence(words.number("until")?.ok_or("`until` is missing")?),
            "state" => {
                let known = |k: &&String| *k != "t" && *k != "kind";
                words.read.extend(table.keys().map(String::as_str));
                DialogueEvent::State(
                    table.keys().filter(known).map(|k| (k.clone(), table[k.as_str()].clone())).collect(),
                )
            }
            "receive" => {
                let seq = words.bytes("seq")?.ok_or("`seq` is missing")?;
                let end = words.bytes("end")?.ok_or("`end` is missing")?;
                if end < seq || end - seq > u64::from(u32::MAX) {
                    return Err(format!("a segment cannot go from {seq} to {end}"));
                }
                DialogueEvent::Receive(Receive {
                    seq,
                    end,
                    tsval: words.number("tsval")?,
                    ce: words.flag("ce")?.unwrap_or(false),
                    cwr: words.flag("cwr")?.unwrap_or(false),
                    fin: words.flag("fin")?.unwrap_or(false),
                })
            }
            "expect_ack" => DialogueEvent::ExpectAck(ExpectAck {
                ack: words.bytes("ack")?.ok_or("`ack` is missing")?,
                sack: words.ranges("sack")?,
                dsack_first: words.flag("dsack_first")?,
                tsecr: words.number("tsecr")?,
                ece: words.flag("ece")?,
                window: words.bytes("window")?,
                tol: words.number("tol")?,
            }),
            other => {
                if let Some(meant) = nearest(other, KINDS.iter().copied()) {
                    return Err(format!("there is no kind `{other}`; did you mean `{meant}`?"));
                }
                self.unknown.push(format!("an event of kind `{other}` (line {line})"));
                return Ok(Event { t, what: DialogueEvent::State(BTreeMap::new()), line });
            }
        };
        for key in table.keys().filter(|k| !words.read.contains(&k.as_str())) {
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

/// Bound of byte numbers: no connection of a test reaches it, and sums below it do not overflow.
const FAR: i64 = 1 << 48;

impl<'a> Words<'a> {
    fn get(&mut self, key: &'a str) -> Option<&'a Value> {
        self.read.push(key);
        self.table.get(key)
    }

    /// Seconds, or another number, of at most one year in magnitude.
    fn number(&mut self, key: &'a str) -> Result<Option<f64>, String> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let number = value.as_float().or(value.as_integer().map(|i| i as f64));
        match number.filter(|n| n.abs() <= 3.2e7) {
            Some(n) => Ok(Some(n)),
            None => Err(format!("`{key}` = {value} is not a number, or too large a one")),
        }
    }

    fn bytes(&mut self, key: &'a str) -> Result<Option<u64>, String> {
        let Some(value) = self.get(key) else { return Ok(None) };
        byte(value).map(Some).ok_or_else(|| format!("`{key}` = {value} is not a number of bytes"))
    }

    fn flag(&mut self, key: &'a str) -> Result<Option<bool>, String> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::Boolean(b)) => Ok(Some(*b)),
            Some(value) => Err(format!("`{key}` = {value} is neither true nor false")),
        }
    }

    fn ranges(&mut self, key: &'a str) -> Result<Vec<Range>, String> {
        let Some(value) = self.get(key) else { return Ok(Vec::new()) };
        let wrong = || format!("`{key}` = {value} is not a list of ranges like [[0, 1000]]");
        let mut out = Vec::new();
        for range in value.as_array().ok_or_else(wrong)? {
            match range.as_array().map(Vec::as_slice) {
                Some([a, b]) => {
                    let (a, b) = (byte(a).ok_or_else(wrong)?, byte(b).ok_or_else(wrong)?);
                    if b < a {
                        return Err(wrong());
                    }
                    out.push([a, b]);
                }
                _ => return Err(wrong()),
            }
        }
        Ok(out)
    }
}

fn byte(value: &Value) -> Option<u64> {
    let whole = value.as_float().filter(|f| f.fract() == 0.0 && f.abs() < FAR as f64).map(|f| f as i64);
    value.as_integer().or(whole).filter(|n| (0..FAR).contains(n)).map(|n| n as u64)
}

/// Lines, from 1, that consist of this heading.
pub(crate) fn lines_of(text: &str, heading: &str) -> Vec<usize> {
    let stands = |line: &str| {
        let bare: String = line.chars().filter(|c| !c.is_whitespace()).collect();
        bare.starts_with(heading)
    };
    text.lines().enumerate().filter(|(_, l)| stands(l)).map(|(i, _)| i + 1).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "format = 1\nid = \"x\"\n";

    #[test]
    fn a_mistake_has_its_place() {
        let at = |text: &str| Dialogue::read(text).unwrap_err();
        assert_eq!((at("format = 1\nid = \n").line, at("format = 1\nid = \n").column), (2, 6));
        assert!(at("id = \"x\"").message.contains("format = 1"));
        assert!(at("format = 2\nid = \"x\"").message.contains("format 2 is not known"));
        assert!(at("format = 1").message.contains("has an `id`"));
        let event = |body: &str| at(&format!("{HEAD}\n[[event]]\n{body}\n"));
        let ack = |t: &str| format!("[[event]]\nt = {t}\nkind = \"ack\"\nack = 0\n");
        let turned = at(&format!("{HEAD}{}{}", ack("1.0"), ack("0.5")));
        assert_eq!(
            turned.to_string(),
            "7:1: t = 0.5 comes after t = 1 (line 3): events are in the order of time"
        );
        assert_eq!(event("t = 0\nkind = \"ack\"").to_string(), "4:1: `ack` is missing");
        assert_eq!(event("t = 0").message, "an event has its `kind`");
        assert!(event("t = 0\nkind = \"expect\"\nsend = [[1000, 0]]").message.contains("list of ranges"));
        assert!(event("t = 0\nkind = \"ack\"\nack = -1").message.contains("not a number of bytes"));
        assert!(
            event("t = 0\nkind = \"receive\"\nseq = 2\nend = 1").message.contains("cannot go from 2 to 1")
        );
    }

    #[test]
    fn a_value_that_is_not_known_is_named() {
        let text = format!(
            "{HEAD}[[event]]\nt = 0\nkind = \"state\"\ncwnd_ms = 1\nrto_max = 2\nlost_segments = 1\n"
        );
        assert_eq!(Dialogue::read(&text).unwrap().unknown_values(), ["`cwnd_ms` (line 3)"]);
        let listed = text.replace("lost_segments = 1", "lost_segments = [0, 1]");
        let skipped = Dialogue::read(&listed).unwrap().unknown_values();
        assert_eq!(skipped, ["`cwnd_ms` (line 3)", "`lost_segments` (line 3)"]);
    }

    #[test]
    fn a_word_that_is_not_known_is_kept_with_its_line() {
        let text = format!(
            "{HEAD}[[event]]\nt = 0\nkind = \"ack\"\nack = 0\nurgent = true\n[[event]]\nt = 1\nkind = \"dance\"\n"
        );
        let dialogue = Dialogue::read(&text).unwrap();
        assert_eq!(dialogue.unknown, ["`urgent` of ack (line 3)", "an event of kind `dance` (line 8)"]);
    }
}
