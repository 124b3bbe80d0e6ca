//! Error recovery of the scenario's TOML parser: each broken statement is reported once and then blanked.
//!
//! One missing bracket then neither hides other mistakes nor causes false ones.

use crate::diagnostic::source::SourceSpan;
use crate::diagnostic::{Collector, Diagnostic};
use toml::de::DeTable;

/// Upper bound of broken statements searched for; each costs a parse of the file.
const ROUNDS: usize = 24;
/// File size, bytes, above which only three broken statements are searched for.
const LARGE: usize = 128 << 10;

/// A key with its value, or a header; possibly on several lines.
struct Statement {
    start: usize,
    end: usize,
    header: bool,
    /// Offset of a bracket that is still open at the start of the next statement.
    open: Option<usize>,
}

/// Copy of the text with every broken statement blanked, of equal length; diagnostics go to `collector`.
/// `None` if the text parses as it is.
pub(crate) fn blank_broken(text: &str, source: u32, collector: &mut Collector) -> Option<String> {
    let statements = statements(text);
    let mut bytes = text.as_bytes().to_vec();
    let rounds = if text.len() > LARGE { 3 } else { ROUNDS };
    let mut broken = false;
    // Sections with a broken header; their keys would fall into the preceding section.
    let mut lost: Vec<std::ops::Range<usize>> = Vec::new();
    for _ in 0..rounds {
        let now = std::str::from_utf8(&bytes).unwrap_or("");
        let (_, errors) = DeTable::parse_recoverable(now);
        let mut found: Vec<(usize, usize, String)> = errors
            .iter()
            .map(|e| {
                let range = e.span().unwrap_or(0..0);
                (range.start, range.end, e.message().to_owned())
            })
            .collect();
        found.sort();
        let Some(&(at, ..)) = found.first() else { break };
        broken = true;
        // An open bracket is reported first, because it causes errors far behind it.
        let open = |s: &Statement| s.open.is_some_and(|at| bytes[at] != b' ');
        let index = statements.iter().position(open).unwrap_or_else(|| {
            statements.partition_point(|s| s.end <= at).min(statements.len().saturating_sub(1))
        });
        let Some(statement) = statements.get(index) else { break };
        // Keys of a section without header appear as duplicates in the preceding table.
        let invented =
            !lost.is_empty() && found.first().is_some_and(|(.., message)| message == "duplicate key");
        if !invented {
            collector.push(complaint(text, source, statement, &found));
        }
        if statement.header {
            let next = statements[index + 1..].iter().find(|s| s.header).map_or(bytes.len(), |s| s.start);
            lost.push(statement.start..next);
        }
        if !blank(&mut bytes[statement.start..statement.end]) {
            break;
        }
    }
    for section in lost {
        blank(&mut bytes[section]);
    }
    broken.then(|| String::from_utf8(bytes).unwrap_or_default())
}

/// Blanks everything except line endings; false if nothing was left to blank.
fn blank(bytes: &mut [u8]) -> bool {
    let written = |b: &u8| !matches!(b, b'\n' | b' ');
    let any = bytes.iter().any(written);
    bytes.iter_mut().filter(|b| written(b)).for_each(|b| *b = b' ');
    any
}

fn complaint(text: &str, source: u32, statement: &Statement, found: &[(usize, usize, String)]) -> Diagnostic {
    let place = |start: usize, end: usize| SourceSpan { source, start: start as u32, end: end as u32 };
    if let Some(open) = statement.open {
        let bracket = text.get(open..open + 1).unwrap_or("[");
        let closing = if bracket == "{" { "}" } else { "]" };
        return Diagnostic::error(
            "syntax",
            place(open, open + 1),
            format!("this `{bracket}` is never closed"),
        )
        .help(format!("close it with `{closing}`"));
    }
    let inside = || found.iter().filter(|(at, ..)| (statement.start..=statement.end).contains(at));
    let best = inside()
        .find(|(start, end, message)| end > start && message.starts_with("string values must be quoted"))
        .or_else(|| inside().next())
        .or_else(|| found.first());
    let Some((start, end, message)) = best else {
        return Diagnostic::error("syntax", place(statement.start, statement.start), "this cannot be read");
    };
    let (message, help) = words(message, text.get(*start..*end).unwrap_or(""));
    Diagnostic::error("syntax", place(*start, *end), message).help(help)
}

/// Message of the TOML parser in the wording of scenarios, with a remedy if one is known.
fn words(message: &str, text: &str) -> (String, String) {
    let text = text.trim();
    if message.starts_with("string values must be quoted") {
        return if text.is_empty() {
            ("a value is missing after `=`".into(), "write key = value; strings are in quotes".into())
        } else {
            let shown: String = text.chars().take(60).collect();
            (format!("`{shown}` must be in quotes"), format!("write \"{shown}\""))
        };
    }
    if message.starts_with("unclosed array table") {
        return ("this header is not closed".into(), "write [[name]]".into());
    }
    if message.starts_with("unclosed table") {
        return ("this header is not closed".into(), "write [name], or [[name]] for one of several".into());
    }
    if message == "duplicate key" {
        return ("this key is defined twice here".into(), "remove one of the two".into());
    }
    if message == "recursion limit" {
        return ("this is nested too deeply".into(), "no scenario needs more than ten levels".into());
    }
    if message.starts_with("key with no value") {
        return ("a key without a value".into(), "write key = value".into());
    }
    (message.to_owned(), String::new())
}

/// Splits a text into statements. An open bracket ends at a line that can only begin a new statement.
fn statements(text: &str) -> Vec<Statement> {
    let bytes = text.as_bytes();
    let mut out: Vec<Statement> = Vec::new();
    let mut start = 0;
    let mut open: Vec<usize> = Vec::new();
    let mut i = 0;
    while i < bytes.len() {
        match bytes[i] {
            b'#' => i += bytes[i..].iter().position(|&b| b == b'\n').unwrap_or(bytes.len() - i),
            quote @ (b'"' | b'\'') => i = past_string(bytes, i, quote),
            b'[' | b'{' => {
                open.push(i);
                i += 1;
            }
            b']' | b'}' => {
                open.pop();
                i += 1;
            }
            b'\n' => {
                i += 1;
                let table = open.last().is_some_and(|&at| bytes[at] == b'{');
                let fresh = begins_statement(text, i, table);
                if open.is_empty() || fresh {
                    out.push(Statement {
                        start,
                        end: i,
                        header: is_header(text, start),
                        open: open.last().copied(),
                    });
                    open.clear();
                    start = i;
                }
            }
            _ => i += 1,
        }
    }
    if start < bytes.len() || out.is_empty() {
        let open = open.last().copied();
        out.push(Statement { start, end: bytes.len(), header: is_header(text, start), open });
    }
    // A header with an open bracket is a broken header, not a list.
    for statement in out.iter_mut().filter(|s| s.header) {
        statement.open = None;
    }
    out
}

fn past_string(bytes: &[u8], start: usize, quote: u8) -> usize {
    let triple = [quote; 3];
    if bytes[start..].starts_with(&triple) {
        let mut i = start + 3;
        while i < bytes.len() {
            if quote == b'"' && bytes[i] == b'\\' {
                i += 2;
            } else if bytes[i..].starts_with(&triple) {
                return i + 3;
            } else {
                i += 1;
            }
        }
        return bytes.len();
    }
    let mut i = start + 1;
    while i < bytes.len() && bytes[i] != b'\n' {
        if quote == b'"' && bytes[i] == b'\\' {
            i += 1;
        } else if bytes[i] == quote {
            return i + 1;
        }
        i += 1;
    }
    i.min(bytes.len())
}

fn line(text: &str, start: usize) -> &str {
    let rest = text.get(start..).unwrap_or("");
    rest.split('\n').next().unwrap_or("").trim()
}

fn is_header(text: &str, start: usize) -> bool {
    line(text, start).starts_with('[')
}

/// True for `[name` at the start of a line, and within a list for `key =`: no value begins so.
fn begins_statement(text: &str, start: usize, in_table: bool) -> bool {
    let line = line(text, start);
    let bare = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let after = line.trim_start_matches('[');
    if after.len() < line.len() {
        return after.starts_with(|c: char| c.is_ascii_alphabetic());
    }
    let rest = line.trim_start_matches(bare);
    !in_table && rest.len() < line.len() && rest.trim_start().starts_with('=')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(text: &str) -> Vec<String> {
        let mut collector = Collector::default();
        blank_broken(text, 0, &mut collector);
        collector.iter().map(|d| d.message.clone()).collect()
    }

    #[test]
    fn each_broken_statement_is_one_message() {
        let text =
            "a = [1, 2\nb = 30 kbit/s\n[[flow]\nname = \"x\"\nfrom = y\n[run]\nseed = \nlimit = \"1 h\"\n";
        assert_eq!(
            messages(text),
            [
                "this `[` is never closed",
                "`30 kbit/s` must be in quotes",
                "this header is not closed",
                "`y` must be in quotes",
                "a value is missing after `=`"
            ]
        );
        assert_eq!(messages("a = [\n  1,\n  2,\n]\nb = 3\n"), Vec::<String>::new());
    }

    #[test]
    fn the_length_never_changes() {
        for text in ["a = 'µ\nb=[", "[[[[", "a = \"\"\"\nxx", "= = =", "a\\", "\"\\"] {
            let mut collector = Collector::default();
            if let Some(blanked) = blank_broken(text, 0, &mut collector) {
                assert_eq!(blanked.len(), text.len(), "{text}");
            }
        }
    }
}
