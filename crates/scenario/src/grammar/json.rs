//! Parser of scenarios in JSON, with the keys and strings of TOML.
//!
//! A file that begins with `{` becomes an ordinary value tree with spans, so that all later stages treat both
//! formats alike.

use super::tree::{Entry, Table, Tree, Value};
use crate::diagnostic::source::SourceSpan;
use crate::diagnostic::{Collector, Diagnostic};

/// Maximum nesting depth, which bounds the parser's recursion.
const DEEPEST: usize = 64;

/// True if the text looks like JSON.
pub(crate) fn looks_like(text: &str) -> bool {
    text.trim_start().starts_with('{')
}

/// Parses `text`, source number `source`. The first syntax error ends the parsing.
pub(crate) fn parse(text: &str, source: u32, collector: &mut Collector) -> Option<Tree> {
    let mut parser = Parser { text, at: 0, source, depth: 0 };
    let result = parser.value().and_then(|tree| {
        parser.blank();
        if parser.at < text.len() {
            Err(parser.mistake("something follows the end of the JSON object"))
        } else {
            Ok(tree)
        }
    });
    result.map_err(|diagnostic| collector.push(*diagnostic)).ok()
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
    source: u32,
    depth: usize,
}

type Parsed<T> = Result<T, Box<Diagnostic>>;

impl Parser<'_> {
    fn place(&self, start: usize, end: usize) -> SourceSpan {
        SourceSpan { source: self.source, start: start as u32, end: end as u32 }
    }

    fn mistake(&self, message: &str) -> Box<Diagnostic> {
        let width = self.text[self.at..].chars().next().map_or(0, char::len_utf8);
        let help = "this file begins with `{`, so it is read as JSON";
        Box::new(Diagnostic::error("syntax", self.place(self.at, self.at + width), message).help(help))
    }

    fn blank(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start_matches([' ', '\t', '\r', '\n']).len();
    }

    fn next(&mut self) -> Option<u8> {
        self.blank();
        self.text.as_bytes().get(self.at).copied()
    }

    fn eat(&mut self, wanted: u8) -> bool {
        let found = self.next() == Some(wanted);
        self.at += usize::from(found);
        found
    }

    fn value(&mut self) -> Parsed<Tree> {
        let first = self.next();
        let start = self.at;
        let value = match first {
            Some(b'{') => self.table()?,
            Some(b'[') => self.list()?,
            Some(b'"') => Value::Text(self.string()?),
            Some(b'-' | b'0'..=b'9') => self.number()?,
            _ => self.word()?,
        };
        Ok(Tree { value, place: self.place(start, self.at) })
    }

    fn deeper(&mut self) -> Parsed<()> {
        if self.depth >= DEEPEST {
            return Err(self.mistake("this is nested too deeply"));
        }
        self.depth += 1;
        self.at += 1;
        Ok(())
    }

    fn table(&mut self) -> Parsed<Value> {
        self.deeper()?;
        let mut table = Table::default();
        let mut keys = std::collections::BTreeSet::new();
        let mut more = !self.eat(b'}');
        while more {
            if self.next() != Some(b'"') {
                return Err(self.mistake("a key in quotes is expected here"));
            }
            let start = self.at;
            let key = self.string()?;
            let key_place = self.place(start, self.at);
            if !keys.insert(key.clone()) {
                self.at = start;
                return Err(self.mistake("this key is defined twice here"));
            }
            if !self.eat(b':') {
                return Err(self.mistake("`:` is expected after a key"));
            }
            let tree = self.value()?;
            table.entries.push(Entry { key, key_place, tree });
            more = self.eat(b',');
            if !more && !self.eat(b'}') {
                return Err(self.mistake("`,` or `}` is expected here"));
            }
        }
        self.depth -= 1;
        Ok(Value::Table(table))
    }

    fn list(&mut self) -> Parsed<Value> {
        self.deeper()?;
        let mut list = Vec::new();
        let mut more = !self.eat(b']');
        while more {
            list.push(self.value()?);
            more = self.eat(b',');
            if !more && !self.eat(b']') {
                return Err(self.mistake("`,` or `]` is expected here"));
            }
        }
        self.depth -= 1;
        Ok(Value::List(list))
    }

    /// A string or number, decoded by the JSON library (escapes, number formats).
    fn library(&self, start: usize, end: usize) -> Option<serde_json::Value> {
        self.text.get(start..end)?.parse().ok()
    }

    fn string(&mut self) -> Parsed<String> {
        let start = self.at;
        let bytes = self.text.as_bytes();
        let mut i = start + 1;
        while i < bytes.len() && bytes[i] != b'"' {
            i += if bytes[i] == b'\\' { 2 } else { 1 };
        }
        let end = (i + 1).min(bytes.len());
        match self.library(start, end) {
            Some(serde_json::Value::String(text)) if i < bytes.len() => {
                self.at = end;
                Ok(text)
            }
            _ => Err(self.mistake("this string is not closed, or has an escape that JSON does not know")),
        }
    }

    fn number(&mut self) -> Parsed<Value> {
        let rest = &self.text[self.at..];
        let length = rest
            .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '+' | '.')))
            .unwrap_or(rest.len());
        let end = self.at + length;
        let value = self
            .library(self.at, end)
            .and_then(|v| v.as_i64().map(Value::Integer).or_else(|| v.as_f64().map(Value::Number)));
        match value {
            Some(value) => {
                self.at = end;
                Ok(value)
            }
            None => Err(self.mistake("this is not a number; a quantity with its unit needs quotes")),
        }
    }

    fn word(&mut self) -> Parsed<Value> {
        for (word, value) in [("true", Value::Flag(true)), ("false", Value::Flag(false))] {
            if self.text[self.at..].starts_with(word) {
                self.at += word.len();
                return Ok(value);
            }
        }
        if self.text[self.at..].starts_with("null") {
            return Err(self.mistake("null has no meaning in a scenario; leave the key out"));
        }
        Err(self.mistake("a value is expected here"))
    }
}
