//! Value tree of a scenario with source spans, and its parser from TOML.
//!
//! Every key and every value has a [`SourceSpan`]. Overrides (`--set`, a cell of the grid) are applied to the
//! tree, so that a wrong override is underlined in its own text.

use super::{json, syntax};
use crate::diagnostic::source::{SourceSpan, Sources};
use crate::diagnostic::{Collector, Diagnostic};
use toml::de::{DeTable, DeValue};

/// A value and its source span.
#[derive(Clone, Debug)]
pub(crate) struct Tree {
    pub(crate) value: Value,
    pub(crate) place: SourceSpan,
}

/// A value by its TOML type.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    Text(String),
    Integer(i64),
    Number(f64),
    Flag(bool),
    Date(String),
    List(Vec<Tree>),
    Table(Table),
}

/// A table in text order. Tables are small, so that lookup scans a list.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    pub(crate) entries: Vec<Entry>,
}

/// An entry `key = value`.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) key_place: SourceSpan,
    pub(crate) tree: Tree,
}

impl Table {
    pub(crate) fn get(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|e| e.key == key)
    }

    /// Tree under `key`; inserted with `default` if missing.
    pub(crate) fn entry_mut(&mut self, key: &str, place: SourceSpan, default: Value) -> &mut Tree {
        let index = match self.entries.iter().position(|e| e.key == key) {
            Some(index) => index,
            None => {
                let tree = Tree { value: default, place };
                self.entries.push(Entry { key: key.to_owned(), key_place: place, tree });
                self.entries.len() - 1
            }
        };
        &mut self.entries[index].tree
    }
}

impl Tree {
    pub(crate) fn table(&self) -> Option<&Table> {
        match &self.value {
            Value::Table(table) => Some(table),
            _ => None,
        }
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Tree> {
        self.table()?.get(key).map(|e| &e.tree)
    }

    pub(crate) fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn list(&self) -> Option<&[Tree]> {
        match &self.value {
            Value::List(list) => Some(list),
            _ => None,
        }
    }

    /// Kind of the value as messages name it.
    pub(crate) fn kind(&self) -> &'static str {
        match &self.value {
            Value::Text(_) => "a string",
            Value::Integer(_) => "a whole number",
            Value::Number(_) => "a number",
            Value::Flag(_) => "true or false",
            Value::Date(_) => "a date",
            Value::List(_) => "a list",
            Value::Table(_) => "a table",
        }
    }

    /// The value as JSON, for result tables.
    pub(crate) fn to_json(&self) -> serde_json::Value {
        match &self.value {
            Value::Text(text) | Value::Date(text) => text.as_str().into(),
            Value::Integer(n) => (*n).into(),
            Value::Number(x) => (*x).into(),
            Value::Flag(b) => (*b).into(),
            Value::List(list) => list.iter().map(Tree::to_json).collect(),
            Value::Table(table) => table
                .entries
                .iter()
                .map(|e| (e.key.clone(), e.tree.to_json()))
                .collect::<serde_json::Map<_, _>>()
                .into(),
        }
    }
}

/// Parses `text`, which is source number `source`. Syntax errors go to `collector`; the readable rest is
/// returned, so that its mistakes are found too.
pub(crate) fn parse(text: &str, source: u32, collector: &mut Collector) -> Tree {
    if json::looks_like(text) {
        let empty =
            Tree { value: Value::Table(Table::default()), place: SourceSpan { source, start: 0, end: 0 } };
        return json::parse(text, source, collector).unwrap_or(empty);
    }
    let blanked = syntax::blank_broken(text, source, collector);
    let (root, _) = DeTable::parse_recoverable(blanked.as_deref().unwrap_or(text));
    let whole = SourceSpan { source, start: 0, end: 0 };
    Tree { value: Value::Table(table(root.into_inner(), source, collector)), place: whole }
}

/// Parses one value, as in `--set key=value`; text that is no TOML value is a string.
pub(crate) fn parse_value(text: &str, source: u32, offset: usize) -> Tree {
    let mut quiet = Collector::default();
    let inner = text.get(offset..).unwrap_or("");
    let (value, errors) = DeValue::parse_recoverable(inner);
    let mut tree = if errors.is_empty() {
        convert(value, source, &mut quiet)
    } else {
        Tree { value: Value::Text(inner.trim().to_owned()), place: place(source, 0..inner.len()) }
    };
    if quiet.errors() > 0 {
        tree.value = Value::Text(inner.trim().to_owned());
    }
    shift(&mut tree, offset as u32);
    tree
}

fn shift(tree: &mut Tree, by: u32) {
    tree.place.start += by;
    tree.place.end += by;
    match &mut tree.value {
        Value::List(list) => list.iter_mut().for_each(|t| shift(t, by)),
        Value::Table(table) => table.entries.iter_mut().for_each(|e| {
            e.key_place.start += by;
            e.key_place.end += by;
            shift(&mut e.tree, by);
        }),
        _ => {}
    }
}

fn place(source: u32, range: std::ops::Range<usize>) -> SourceSpan {
    let offset = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    SourceSpan { source, start: offset(range.start), end: offset(range.end) }
}

fn table(table: DeTable<'_>, source: u32, collector: &mut Collector) -> Table {
    let entries = table
        .into_iter()
        .map(|(key, value)| Entry {
            key_place: place(source, key.span()),
            key: key.into_inner().into_owned(),
            tree: convert(value, source, collector),
        })
        .collect();
    Table { entries }
}

fn convert(value: toml::Spanned<DeValue<'_>>, source: u32, collector: &mut Collector) -> Tree {
    let at = place(source, value.span());
    let value = match value.into_inner() {
        DeValue::String(text) => Value::Text(text.into_owned()),
        DeValue::Integer(n) => match i64::from_str_radix(n.as_str(), n.radix()) {
            Ok(n) => Value::Integer(n),
            Err(_) => {
                let message = format!("`{n}` is too large for a whole number");
                collector.push(Diagnostic::error("syntax", at, message));
                Value::Integer(0)
            }
        },
        DeValue::Float(x) => Value::Number(x.as_str().parse().unwrap_or(f64::NAN)),
        DeValue::Boolean(b) => Value::Flag(b),
        DeValue::Datetime(date) => Value::Date(date.to_string()),
        DeValue::Array(list) => {
            Value::List(list.into_iter().map(|v| convert(v, source, collector)).collect())
        }
        DeValue::Table(inner) => Value::Table(table(inner, source, collector)),
    };
    Tree { value, place: at }
}

/// Adds the text of a file to `sources`. Text that is not UTF-8 or contains control characters gets a single
/// diagnostic.
pub(crate) fn decode(
    name: &str,
    text: &[u8],
    sources: &mut Sources,
    collector: &mut Collector,
) -> Option<u32> {
    let (at, message) = match std::str::from_utf8(text) {
        Err(error) => {
            let at = error.valid_up_to();
            (at, format!("byte {} (0x{:02X}) is not UTF-8: this is not a text file", at + 1, text[at]))
        }
        Ok(good) => {
            let control = |c: char| c.is_control() && !matches!(c, '\n' | '\r' | '\t');
            match good.find(control) {
                Some(at) => (at, format!("byte {} is a control character: this is not a text file", at + 1)),
                None => return Some(sources.add(name, good)),
            }
        }
    };
    let source = sources.add(name, &String::from_utf8_lossy(&text[..at.min(text.len())]));
    let place = SourceSpan { source, start: at as u32, end: at as u32 };
    let help = "a scenario is TOML in UTF-8; `williwaw new` writes one to start from";
    collector.push(Diagnostic::error("not-text", place, message).help(help));
    None
}
