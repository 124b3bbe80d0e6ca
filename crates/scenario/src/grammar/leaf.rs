//! Readers of scalar values of a scenario: quantities with units, names, flags, numbers, queue limits,
//! distributions, packet ranges.
//!
//! One function per kind of value converts text into a typed value or an error with remedy. Validation and
//! table readers share these functions.

use super::cx::Cx;
use super::shape::{Quantity, ValueKind};
use super::spelling::{alternatives, nearest};
use super::tree::{Tree, Value};
use base::dist::Dist;
use base::units::{Limit, UnitError, parse_bytes, parse_limit, parse_rate, parse_span};
use base::{Rate, Span};
use std::ops::RangeInclusive;

/// A rejected value: message, text beside the underline, remedy.
#[derive(Debug)]
pub(crate) struct ValueError {
    pub(crate) message: String,
    pub(crate) label: String,
    pub(crate) help: String,
}

impl ValueError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        ValueError { message: message.into(), label: String::new(), help: String::new() }
    }
    pub(crate) fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }
    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = help.into();
        self
    }
}

type Read<T> = Result<T, ValueError>;

/// Complaint about a value of the wrong type.
fn wrong(kind: ValueKind, tree: &Tree) -> ValueError {
    let complaint = ValueError::new(format!("this must be {}, not {}", kind.expected(), tree.kind()));
    let number = match &tree.value {
        Value::Integer(n) => n.to_string(),
        Value::Number(x) => x.to_string(),
        Value::Text(text) => match kind {
            ValueKind::Flag if text == "true" || text == "false" => {
                return complaint.help(format!("write {text} without quotes"));
            }
            ValueKind::Count(..) | ValueKind::Number(..) if text.trim().parse::<f64>().is_ok() => {
                return complaint.help(format!("write {} without quotes", text.trim()));
            }
            _ => return complaint,
        },
        _ => return complaint,
    };
    match kind {
        ValueKind::Span | ValueKind::Dist(Quantity::Span) => {
            complaint.help(format!("write the unit: \"{number} s\" or \"{number} ms\""))
        }
        ValueKind::Rate | ValueKind::Dist(Quantity::Rate) => {
            complaint.help(format!("write the unit: \"{number} kbit/s\" or \"{number} Mbit/s\""))
        }
        ValueKind::Bytes | ValueKind::Dist(Quantity::Bytes) => {
            complaint.help(format!("write the unit: \"{number} B\", \"{number} kB\" or \"{number} KiB\""))
        }
        ValueKind::Limits => {
            complaint.help(format!("write what is counted: \"{number} packets\" or \"{number} kB\""))
        }
        ValueKind::Ordinals | ValueKind::Text => complaint.help(format!("write \"{number}\" in quotes")),
        _ => complaint,
    }
}

fn text_of(kind: ValueKind, tree: &Tree) -> Read<&str> {
    tree.text().ok_or_else(|| wrong(kind, tree))
}

fn says<T>(kind: ValueKind, result: Result<T, UnitError>) -> Read<T> {
    result.map_err(|error| {
        let message = error.to_string();
        // Most messages of unit errors contain their remedy; the others get an example.
        let has_remedy =
            message.contains("; write") || (message.contains("; use") && !matches!(kind, ValueKind::Limits));
        let help = if has_remedy { String::new() } else { format!("this must be {}", kind.expected()) };
        ValueError::new(message).help(help)
    })
}

pub(crate) fn text(tree: &Tree) -> Read<String> {
    text_of(ValueKind::Text, tree).map(str::to_owned)
}

/// Reads a name, which contains no dot, because names are parts of override paths.
pub(crate) fn name(tree: &Tree) -> Read<String> {
    let text = text_of(ValueKind::Name, tree)?;
    let good = text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
        && text.len() <= 64;
    if good {
        return Ok(text.to_owned());
    }
    let shown: String = text.chars().take(40).collect();
    let complaint = ValueError::new(format!("`{shown}` cannot be a name"));
    Err(complaint.help("a name starts with a letter, followed by at most 63 letters, digits, `-` or `_`"))
}

pub(crate) fn flag(tree: &Tree) -> Read<bool> {
    match tree.value {
        Value::Flag(b) => Ok(b),
        _ => Err(wrong(ValueKind::Flag, tree)),
    }
}

pub(crate) fn count(tree: &Tree, least: i64, most: i64) -> Read<i64> {
    match tree.value {
        Value::Integer(n) if (least..=most).contains(&n) => Ok(n),
        Value::Integer(n) => {
            let bound = if n < least { "too small" } else { "too large" };
            if least == most {
                return Err(ValueError::new(format!(
                    "this must be {}, not {n}",
                    ValueKind::Count(least, most).expected()
                )));
            }
            Err(ValueError::new(format!("{n} is {bound}"))
                .help(format!("this must be {}", ValueKind::Count(least, most).expected())))
        }
        _ => Err(wrong(ValueKind::Count(least, most), tree)),
    }
}

pub(crate) fn number(tree: &Tree, least: f64, most: f64) -> Read<f64> {
    let kind = ValueKind::Number(least, most);
    let x = match tree.value {
        Value::Integer(n) => n as f64,
        Value::Number(x) => x,
        _ => return Err(wrong(kind, tree)),
    };
    if x >= least && x <= most && x.is_finite() {
        return Ok(x);
    }
    Err(ValueError::new(format!("{x} is out of range")).help(format!("this must be {}", kind.expected())))
}

pub(crate) fn span(tree: &Tree) -> Read<Span> {
    says(ValueKind::Span, parse_span(text_of(ValueKind::Span, tree)?))
}

pub(crate) fn rate(tree: &Tree) -> Read<Rate> {
    says(ValueKind::Rate, parse_rate(text_of(ValueKind::Rate, tree)?))
}

pub(crate) fn bytes(tree: &Tree) -> Read<u64> {
    says(ValueKind::Bytes, parse_bytes(text_of(ValueKind::Bytes, tree)?))
}

/// Maximum packets and bytes of a queue; `None`: unlimited.
pub(crate) fn limits(tree: &Tree) -> Read<(Option<u32>, Option<u64>)> {
    let text = text_of(ValueKind::Limits, tree)?;
    let (mut packets, mut bytes) = (None, None);
    for part in text.split(',') {
        let twice = match says(ValueKind::Limits, parse_limit(part.trim()))? {
            Limit::Packets(0) | Limit::Bytes(0) => {
                return Err(ValueError::new("a queue limit of 0 drops every packet that waits")
                    .help("write at least \"1 packets\""));
            }
            Limit::Packets(n) => packets.replace(n).is_some(),
            Limit::Bytes(n) => bytes.replace(n).is_some(),
            Limit::Unlimited => false,
        };
        if twice {
            return Err(ValueError::new(format!("`{text}` gives the same limit twice")));
        }
    }
    Ok((packets, bytes))
}

pub(crate) fn dist(tree: &Tree, quantity: Quantity, cx: &Cx<'_>) -> Read<Dist> {
    let kind = ValueKind::Dist(quantity);
    if matches!(tree.value, Value::Integer(_) | Value::Number(_)) {
        match quantity {
            Quantity::Number => return number(tree, 0.0, f64::MAX).map(Dist::Constant),
            Quantity::Share => return number(tree, 0.0, 1.0).map(Dist::Constant),
            _ => {}
        }
    }
    let text = text_of(kind, tree)?;
    let value = |s: &str| amount(quantity, s);
    let file = |path: &str| cx.values(path, quantity, tree.place);
    Dist::parse(text, &value, &file).map_err(|message| {
        let known = super::shape::DISTRIBUTIONS.iter().map(|form| form.split('(').next().unwrap_or(form));
        let written = text.split('(').next().unwrap_or("").trim();
        match nearest(written, known.clone()) {
            Some(meant) if text.contains('(') && meant != written => {
                let form =
                    super::shape::DISTRIBUTIONS.iter().find(|form| form.starts_with(meant)).unwrap_or(&meant);
                ValueError::new(format!("`{written}` is not a distribution"))
                    .label(format!("did you mean `{meant}`?"))
                    .help(format!("write {form}"))
            }
            _ if text.contains('(') && !known.clone().any(|k| k == written) => {
                ValueError::new(format!("`{written}` is not a distribution"))
                    .help(format!("there are {}", alternatives(known)))
            }
            _ if text.contains('(') || message.contains("; write") => ValueError::new(message),
            _ => ValueError::new(message).help(format!("this must be {}", kind.expected())),
        }
    })
}

/// A single value of a quantity, in its internal unit.
pub(crate) fn amount(quantity: Quantity, text: &str) -> Result<f64, String> {
    match quantity {
        Quantity::Span => parse_span(text).map(|span| span.as_nanos() as f64).map_err(String::from),
        Quantity::Bytes => parse_bytes(text).map(|bytes| bytes as f64).map_err(String::from),
        Quantity::Number => match text.trim().parse::<f64>() {
            Ok(x) if x.is_finite() && x >= 0.0 => Ok(x),
            _ => Err(format!("`{text}` is not a number, at least 0")),
        },
        Quantity::Rate => parse_rate(text).map(|rate| rate.bps() as f64).map_err(String::from),
        Quantity::Share => match text.trim().parse::<f64>() {
            Ok(x) if (0.0..=1.0).contains(&x) => Ok(x),
            _ => Err(format!("`{text}` is not a number from 0 to 1")),
        },
    }
}

/// Ranges of packet numbers from 1, ascending and disjoint.
pub(crate) fn ordinals(tree: &Tree) -> Read<Vec<RangeInclusive<u64>>> {
    let text = text_of(ValueKind::Ordinals, tree)?;
    let help = "count data packets from 1: \"9-15\" or \"3, 9-15, 40\"";
    let mut ranges: Vec<RangeInclusive<u64>> = Vec::new();
    for part in text.split(',').map(str::trim) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (Ok(first), Ok(last)) = (first.trim().parse::<u64>(), last.trim().parse::<u64>()) else {
            let shown: String = part.chars().take(40).collect();
            return Err(ValueError::new(format!("`{shown}` is not a packet number")).help(help));
        };
        if first == 0 || last < first {
            return Err(ValueError::new(format!("`{part}` is not a range of packet numbers")).help(help));
        }
        ranges.push(first..=last);
    }
    ranges.sort_by_key(|r| *r.start());
    if ranges.windows(2).any(|w| w[0].end() >= w[1].start()) {
        return Err(ValueError::new("a packet is named twice").help(help));
    }
    Ok(ranges)
}

pub(crate) fn word(tree: &Tree, words: &'static [&'static str]) -> Read<&'static str> {
    // A word that looks like a number is written in quotes.
    let bare = match tree.value {
        Value::Integer(n) => Some(n.to_string()),
        Value::Number(x) => Some(x.to_string()),
        _ => None,
    };
    if let Some(word) = words.iter().find(|word| bare.as_deref() == Some(word)) {
        return Err(wrong(ValueKind::Word(words), tree).help(format!("write it in quotes: \"{word}\"")));
    }
    let text = text_of(ValueKind::Word(words), tree)?;
    if let Some(word) = words.iter().find(|w| **w == text) {
        return Ok(word);
    }
    let shown: String = text.chars().take(40).collect();
    let complaint =
        ValueError::new(format!("`{shown}` is not one of {}", alternatives(words.iter().copied())));
    Err(match nearest(text, words.iter().copied()) {
        Some(meant) => complaint.label(format!("did you mean `{meant}`?")),
        None => complaint,
    })
}

/// Checks a value of `kind` without keeping it.
pub(crate) fn check(kind: ValueKind, tree: &Tree, cx: &Cx<'_>) -> Read<()> {
    match kind {
        ValueKind::Text => text(tree).map(drop),
        ValueKind::Name => name(tree).map(drop),
        ValueKind::Flag => flag(tree).map(drop),
        ValueKind::Count(least, most) => count(tree, least, most).map(drop),
        ValueKind::Number(least, most) => number(tree, least, most).map(drop),
        ValueKind::Span => span(tree).map(drop),
        ValueKind::Rate => rate(tree).map(drop),
        ValueKind::Bytes => bytes(tree).map(drop),
        ValueKind::Limits => limits(tree).map(drop),
        ValueKind::Dist(quantity) => dist(tree, quantity, cx).map(drop),
        ValueKind::Ordinals => ordinals(tree).map(drop),
        ValueKind::File => match text(tree)?.as_str() {
            "" => Err(ValueError::new("the name of the file is empty")),
            _ => Ok(()),
        },
        ValueKind::Word(words) => word(tree, words).map(drop),
    }
}
