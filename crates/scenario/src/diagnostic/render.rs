//! Terminal rendering of diagnostics: file, line and column, the source line with the mistake underlined, and
//! the remedy.
//!
//! Output fits any width, with or without colour, and is safe for arbitrary file contents.

use super::source::{SourceSpan, Sources, boundary};
use crate::diagnostic::{Diagnostic, Diagnostics, Severity};
use std::fmt::Write;

/// Output style.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Style {
    /// ANSI colours; the caller has checked the terminal and `NO_COLOR`.
    pub colour: bool,
    /// Terminal width, columns; longer source lines are cut around the mistake.
    pub width: usize,
    /// Upper bound of diagnostics shown; the number of the rest is printed.
    pub limit: usize,
}

impl Default for Style {
    fn default() -> Self {
        Style { colour: false, width: 100, limit: 25 }
    }
}

struct Ink(bool);

impl Ink {
    fn paint(&self, code: &str, text: &str) -> String {
        if self.0 && !text.is_empty() { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
    fn severity(&self, severity: Severity, text: &str) -> String {
        self.paint(if severity == Severity::Error { "1;31" } else { "1;33" }, text)
    }
    fn frame(&self, text: &str) -> String {
        self.paint("1;34", text)
    }
}

/// Renders all diagnostics.
pub(crate) fn render(diagnostics: &Diagnostics, style: Style) -> String {
    let ink = Ink(style.colour);
    let mut out = String::new();
    for diagnostic in diagnostics.list.iter().take(style.limit) {
        one(&mut out, diagnostic, &diagnostics.sources, style, &ink);
        out.push('\n');
    }
    let hidden = diagnostics.len().saturating_sub(style.limit);
    if hidden > 0 {
        let _ = writeln!(out, "... and {hidden} more\n");
    }
    let errors = diagnostics.list.iter().filter(|d| d.severity == Severity::Error).count() + diagnostics.more;
    let warnings = diagnostics.list.iter().filter(|d| d.severity == Severity::Warning).count();
    let count = |n: usize, word: &str| format!("{n} {word}{}", if n == 1 { "" } else { "s" });
    match (errors, warnings) {
        (0, 0) => {}
        (0, w) => _ = writeln!(out, "{}", count(w, "warning")),
        (e, 0) => _ = writeln!(out, "{}", count(e, "error")),
        (e, w) => _ = writeln!(out, "{}, {}", count(e, "error"), count(w, "warning")),
    }
    out
}

fn one(out: &mut String, d: &Diagnostic, sources: &Sources, style: Style, ink: &Ink) {
    let width = style.width.max(30);
    let head = d.severity.name();
    let lines = wrap(&printable(&d.message), width.saturating_sub(head.len() + 2));
    for (i, line) in lines.iter().enumerate() {
        let before = if i == 0 { ink.severity(d.severity, head) + ": " } else { " ".repeat(head.len() + 2) };
        let _ = writeln!(out, "{before}{}", ink.paint("1", line));
    }
    let mut shown: Vec<(SourceSpan, &str, bool)> = vec![(d.place, d.label.as_str(), true)];
    shown.extend(d.others.iter().map(|(place, label)| (*place, label.as_str(), false)));
    let gutter =
        shown.iter().map(|(place, ..)| sources.position(*place).line.to_string().len()).max().unwrap_or(1);
    let mut previous: Option<SourceSpan> = None;
    for (place, label, main) in shown {
        let position = sources.position(place);
        // Two marks share an excerpt only if the whole line is shown, because a cut line is centred on its
        // mark.
        let fits = sources.line(place).0.chars().count() + gutter + 3 <= width;
        let same_line = fits
            && previous
                .is_some_and(|p| p.source == place.source && sources.position(p).line == position.line);
        if previous.is_none() || previous.is_some_and(|p| p.source != place.source) {
            let _ = writeln!(
                out,
                "{}{} {}:{}:{}",
                " ".repeat(gutter),
                ink.frame("-->"),
                printable(sources.name(place)),
                position.line,
                position.column
            );
            let _ = writeln!(out, "{} {}", " ".repeat(gutter), ink.frame("|"));
        } else if !same_line {
            let _ = writeln!(out, "{} {}", " ".repeat(gutter), ink.frame(":"));
        }
        excerpt(out, place, label, main, d.severity, gutter, width, same_line, sources, ink);
        previous = Some(place);
    }
    if !d.help.is_empty() {
        let _ = writeln!(out, "{} {}", " ".repeat(gutter), ink.frame("|"));
        let lines: Vec<String> = d
            .help
            .split('\n')
            .flat_map(|line| wrap(&printable(line), width.saturating_sub(gutter + 9)))
            .collect();
        for (i, line) in lines.iter().enumerate() {
            let before = if i == 0 {
                format!("{} {}", ink.frame("="), ink.paint("1", "help:"))
            } else {
                " ".repeat(7)
            };
            let _ = writeln!(out, "{} {before} {line}", " ".repeat(gutter));
        }
    }
}

/// Source line of `place`, cut to the width, and the underline below it.
#[allow(clippy::too_many_arguments, reason = "one drawing, all of its inputs plain values")]
fn excerpt(
    out: &mut String,
    place: SourceSpan,
    label: &str,
    main: bool,
    severity: Severity,
    gutter: usize,
    width: usize,
    same_line: bool,
    sources: &Sources,
    ink: &Ink,
) {
    let position = sources.position(place);
    let (line, offset) = sources.line(place);
    // In a very long line only the surroundings of the mistake are processed.
    let room = width.saturating_sub(gutter + 3).max(20);
    let at = (place.start as usize).saturating_sub(offset).min(line.len());
    let from = boundary(line, at.saturating_sub(room * 4));
    let to = boundary(line, at + room * 4);
    let near: Vec<char> = line[from..to].chars().map(visible).collect();
    let lead = line[from..boundary(line, at)].chars().count();
    let end = (place.end as usize).saturating_sub(offset).clamp(at, to.max(at));
    let length = line.get(at..boundary(line, end)).map_or(1, |s| s.chars().count()).max(1);
    // Visible part: the whole line if it fits, otherwise the surroundings of the mistake.
    let whole = from == 0 && to == line.len() && near.len() <= room;
    let first = if whole { 0 } else { lead.saturating_sub(room / 3) };
    let cut_left = first > 0 || from > 0;
    let last = near.len().min(first + room - usize::from(cut_left) - usize::from(!whole));
    let cut_right = last < near.len() || to < line.len();
    let mut text: String = near.get(first..last).unwrap_or(&[]).iter().collect();
    if cut_left {
        text.insert(0, '…');
    }
    if cut_right {
        text.push('…');
    }
    if !same_line {
        let number = format!("{:>gutter$}", position.line);
        let _ = writeln!(out, "{} {} {}", ink.frame(&number), ink.frame("|"), text.trim_end());
    }
    let column = lead - first.min(lead) + usize::from(cut_left);
    let length = length.min(room.saturating_sub(column).max(1));
    let mark = if main { "^" } else { "-" }.repeat(length);
    let paint = |s: &str| if main { ink.severity(severity, s) } else { ink.frame(s) };
    let bar = format!("{} {}", " ".repeat(gutter), ink.frame("|"));
    let label = printable(label);
    if label.is_empty() || column + length + 1 + label.chars().count() <= room {
        let tail = if label.is_empty() { String::new() } else { format!(" {}", paint(&label)) };
        let _ = writeln!(out, "{bar} {}{}{tail}", " ".repeat(column), paint(&mark));
    } else {
        // The label does not fit beside the mark: it goes below, indented less if necessary.
        let _ = writeln!(out, "{bar} {}{}", " ".repeat(column), paint(&mark));
        for line in wrap(&label, room) {
            let indent = column.min(room.saturating_sub(line.chars().count()));
            let _ = writeln!(out, "{bar} {}{}", " ".repeat(indent), paint(&line));
        }
    }
}

/// Replaces characters that would move the cursor, hide text or change its direction.
fn visible(c: char) -> char {
    match c {
        '\t' => ' ',
        c if c.is_control() => '\u{fffd}',
        '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}' => {
            '\u{fffd}'
        }
        c => c,
    }
}

fn printable(text: &str) -> String {
    text.chars().map(visible).collect()
}

/// Wraps at spaces; a word longer than the width stays whole.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    let mut used = 0;
    for word in text.split(' ') {
        let length = word.chars().count();
        if used > 0 && used + 1 + length > width {
            lines.push(std::mem::take(&mut line));
            used = 0;
        } else if used > 0 {
            line.push(' ');
            used += 1;
        }
        line.push_str(word);
        used += length;
    }
    lines.push(line);
    lines
}
