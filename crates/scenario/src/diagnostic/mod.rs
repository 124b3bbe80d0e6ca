//! Diagnostics: error, place and remedy, all at once in text order.
//!
//! A [`Diagnostic`] says one such thing; a [`Diagnostics`] is everything wrong with one scenario, at once, in the
//! order of the text.

pub mod render;
pub mod source;

use self::source::{Place, Sources};
use serde_json::{Value, json};
use std::fmt;

/// How much a diagnostic weighs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Severity {
    /// The scenario cannot be run.
    Error,
    /// It can, but probably does not mean what it says.
    Warning,
}

impl Severity {
    /// The word printed before the message.
    pub const fn name(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
        }
    }
}

/// One mistake, with the place that shows it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    /// Error or warning.
    pub severity: Severity,
    /// Stable, hyphenated kind of mistake (`unknown-key`, `bad-value`...), for programs.
    pub code: &'static str,
    /// The sentence, lower case, without a stop.
    pub message: String,
    /// The text to underline.
    pub place: Place,
    /// A few words beside the underline; may be empty.
    pub label: String,
    /// Other places that matter ("first named here"), each with its words.
    pub others: Vec<(Place, String)>,
    /// How to mend it; may be empty.
    pub help: String,
}

impl Diagnostic {
    /// An error of kind `code` at `place`.
    pub fn error(code: &'static str, place: Place, message: impl Into<String>) -> Self {
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

    /// A warning of kind `code` at `place`.
    pub fn warning(code: &'static str, place: Place, message: impl Into<String>) -> Self {
        Diagnostic { severity: Severity::Warning, ..Diagnostic::error(code, place, message) }
    }

    /// With these words beside the underline.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    /// With this mend.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = help.into();
        self
    }

    /// With another place worth seeing.
    #[must_use]
    pub fn also(mut self, place: Place, label: impl Into<String>) -> Self {
        self.others.push((place, label.into()));
        self
    }
}

/// Collects diagnostics while reading; says each thing once and keeps a bounded number.
#[derive(Debug, Default)]
pub(crate) struct Collector {
    list: Vec<Diagnostic>,
    seen: std::collections::BTreeSet<(Place, &'static str, String)>,
    more: usize,
    /// Errors said, those said before included.
    errors: usize,
    /// Errors in the list.
    kept: usize,
}

/// As many are kept; a megabyte of junk must not become a gigabyte of advice.
const KEEP: usize = 200;

impl Collector {
    pub(crate) fn push(&mut self, diagnostic: Diagnostic) {
        let key = (diagnostic.place, diagnostic.code, diagnostic.message.clone());
        let error = diagnostic.severity == Severity::Error;
        // Warnings never take the room of errors.
        self.errors += usize::from(error);
        let (kept, room) = if error { (self.kept, KEEP) } else { (self.list.len() - self.kept, KEEP / 4) };
        if kept >= room {
            self.more += 1;
        } else if self.seen.insert(key) {
            self.kept += usize::from(error);
            self.list.push(diagnostic);
        }
    }

    /// True if no more is kept: the search for more may stop.
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

    /// Everything collected, in the order of the text; the collector is empty afterwards.
    pub(crate) fn take(&mut self, sources: &Sources) -> Diagnostics {
        let mut list = std::mem::take(&mut self.list);
        list.sort_by_key(|d| (d.severity, d.place));
        self.seen.clear();
        (self.errors, self.kept) = (0, 0);
        Diagnostics { list, more: std::mem::take(&mut self.more), sources: sources.clone() }
    }
}

/// Everything found wrong, with the texts it was found in.
#[derive(Clone)]
pub struct Diagnostics {
    pub(crate) list: Vec<Diagnostic>,
    /// How many more there were than are kept.
    pub(crate) more: usize,
    pub(crate) sources: Sources,
}

impl Diagnostics {
    /// Errors first, then warnings, each in the order of the text.
    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.list.iter()
    }
    /// How many there are, those not kept included.
    pub fn len(&self) -> usize {
        self.list.len() + self.more
    }
    /// True if nothing is wrong.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// True if something forbids running.
    pub fn has_errors(&self) -> bool {
        self.list.iter().any(|d| d.severity == Severity::Error)
    }
    /// The texts that places refer to.
    pub fn sources(&self) -> &Sources {
        &self.sources
    }

    /// As plain text, in the manner of a compiler; see [`self::render::Style`].
    pub fn render(&self, style: self::render::Style) -> String {
        self::render::render(self, style)
    }

    /// For editors: one object per diagnostic with `file`, `line`, `column`, `end_line`,
    /// `end_column` (all from 1), `severity`, `code`, `message`, `label`, `help`, `others`.
    pub fn to_json(&self) -> Value {
        let at = |place: Place| {
            let (start, end) =
                (self.sources.position(place), self.sources.position(Place { start: place.end, ..place }));
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
