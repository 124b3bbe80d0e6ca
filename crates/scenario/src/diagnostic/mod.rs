//! Diagnostics of a scenario: severity, code, message, place and remedy, collected without duplicates in text
//! order, as text or JSON.

pub mod render;
pub mod source;

use self::source::{SourceSpan, Sources};
use serde_json::{Value, json};
use std::fmt;

/// Severity of a diagnostic.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Severity {
    /// The scenario cannot be run.
    Error,
    /// The scenario can be run, but its meaning probably differs from its author's intention.
    Warning,
}

impl Severity {
    /// Word printed before the message.
    pub const fn name(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
        }
    }
}

/// A mistake and its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    /// Error or warning.
    pub severity: Severity,
    /// Stable, hyphenated code (`unknown-key`, `bad-value`...), for programs.
    pub code: &'static str,
    /// Message: one sentence, lower case, without a full stop.
    pub message: String,
    /// Text to underline.
    pub place: SourceSpan,
    /// Short text beside the underline; may be empty.
    pub label: String,
    /// Related places ("first named here"), each with its label.
    pub others: Vec<(SourceSpan, String)>,
    /// Remedy; may be empty.
    pub help: String,
}

impl Diagnostic {
    /// An error with this code at `place`.
    pub fn error(code: &'static str, place: SourceSpan, message: impl Into<String>) -> Self {
        Diagnostic {
            severity: Severity::Error,
            code,
            message: message.into(),
            place,
            label: String::new(),
            others: Vec::new(),
            help: String::new(),
        }
    }

    /// A warning with this code at `place`.
    pub fn warning(code: &'static str, place: SourceSpan, message: impl Into<String>) -> Self {
        Diagnostic { severity: Severity::Warning, ..Diagnostic::error(code, place, message) }
    }

    /// Sets the text beside the underline.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    /// Sets the remedy.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = help.into();
        self
    }

    /// Adds a related place.
    #[must_use]
    pub fn also(mut self, place: SourceSpan, label: impl Into<String>) -> Self {
        self.others.push((place, label.into()));
        self
    }
}

/// Collects diagnostics during reading, without duplicates and up to a bound.
#[derive(Debug, Default)]
pub(crate) struct Collector {
    list: Vec<Diagnostic>,
    seen: std::collections::BTreeSet<(SourceSpan, &'static str, String)>,
    more: usize,
    /// Number of errors, those not kept included.
    errors: usize,
    /// Errors in the list.
    kept: usize,
}

/// Upper bound of diagnostics kept, so that a corrupt file does not exhaust memory.
const KEEP: usize = 200;

impl Collector {
    pub(crate) fn push(&mut self, diagnostic: Diagnostic) {
        let key = (diagnostic.place, diagnostic.code, diagnostic.message.clone());
        let error = diagnostic.severity == Severity::Error;
        // Warnings have a quota of their own, so that errors are always kept.
        self.errors += usize::from(error);
        let (kept, room) = if error { (self.kept, KEEP) } else { (self.list.len() - self.kept, KEEP / 4) };
        if kept >= room {
            self.more += 1;
        } else if self.seen.insert(key) {
            self.kept += usize::from(error);
            self.list.push(diagnostic);
        }
    }

    /// True if the list is full, so that checking may stop.
    pub(crate) fn full(&self) -> bool {
        self.kept >= KEEP
    }

    pub(crate) fn errors(&self) -> usize {
        self.errors
    }

    pub(crate) fn into_iter(self) -> impl Iterator<Item = Diagnostic> {
        self.list.into_iter()
    }

    #[cfg(test)]
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Diagnostic> {
        self.list.iter()
    }

    /// Takes all diagnostics in text order; the collector is empty afterwards.
    pub(crate) fn take(&mut self, sources: &Sources) -> Diagnostics {
        let mut list = std::mem::take(&mut self.list);
        list.sort_by_key(|d| (d.severity, d.place));
        self.seen.clear();
        (self.errors, self.kept) = (0, 0);
        Diagnostics { list, more: std::mem::take(&mut self.more), sources: sources.clone() }
    }
}

/// All diagnostics of a scenario, with the source texts.
#[derive(Clone)]
pub struct Diagnostics {
    pub(crate) list: Vec<Diagnostic>,
    /// Number of diagnostics beyond those kept.
    pub(crate) more: usize,
    pub(crate) sources: Sources,
}

impl Diagnostics {
    /// Errors first, then warnings, each in the order of the text.
    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.list.iter()
    }
    /// Number of diagnostics, those not kept included.
    pub fn len(&self) -> usize {
        self.list.len() + self.more
    }
    /// True without diagnostics.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// True if any is an error.
    pub fn has_errors(&self) -> bool {
        self.list.iter().any(|d| d.severity == Severity::Error)
    }
    /// Shows the first `count` overrides whose path begins with `prefix` as text of the option `option` without the
    /// prefix, as the user wrote them.
    pub fn show_overrides_as(&mut self, option: &str, count: usize, prefix: &str) {
        let renamed = self.sources.rename("--set", count, prefix, option);
        let cut = u32::try_from(prefix.len()).unwrap_or(u32::MAX);
        let shift = |place: &mut SourceSpan| {
            if renamed.contains(&place.source) {
                place.start = place.start.saturating_sub(cut);
                place.end = place.end.saturating_sub(cut);
            }
        };
        for diagnostic in &mut self.list {
            shift(&mut diagnostic.place);
            diagnostic.others.iter_mut().for_each(|(place, _)| shift(place));
        }
    }

    /// Source texts of the places.
    pub fn sources(&self) -> &Sources {
        &self.sources
    }

    /// Plain text in the format of a compiler; see [`self::render::Style`].
    pub fn render(&self, style: self::render::Style) -> String {
        self::render::render(self, style)
    }

    /// JSON for editors: one object per diagnostic with `file`, `line`, `column`, `end_line`, `end_column`
    /// (all from 1), `severity`, `code`, `message`, `label`, `help`, `others`.
    pub fn to_json(&self) -> Value {
        let at = |place: SourceSpan| {
            let (start, end) = (
                self.sources.position(place),
                self.sources.position(SourceSpan { start: place.end, ..place }),
            );
            json!({
                "file": self.sources.name(place),
                "line": start.line,
                "column": start.column,
                "end_line": end.line,
                "end_column": end.column,
            })
        };
        let list: Vec<Value> = self
            .list
            .iter()
            .map(|d| {
                let mut object = at(d.place);
                let others: Vec<Value> = d
                    .others
                    .iter()
                    .map(|(place, label)| {
                        let mut other = at(*place);
                        other["label"] = json!(label);
                        other
                    })
                    .collect();
                object["severity"] = json!(d.severity.name());
                object["code"] = json!(d.code);
                object["message"] = json!(d.message);
                object["label"] = json!(d.label);
                object["help"] = json!(d.help);
                object["others"] = json!(others);
                object
            })
            .collect();
        json!({ "schema": "williwaw.diagnostics/1", "diagnostics": list, "more": self.more })
    }
}

impl fmt::Debug for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(self::render::Style::default()))
    }
}
impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(self::render::Style::default()))
    }
}
impl std::error::Error for Diagnostics {}
