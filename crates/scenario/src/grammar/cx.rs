//! Context of reading a scenario: collector of diagnostics, source texts, and loader and parsers of named
//! data files (distributions, rate traces, spikes).
//!
//! Each file is loaded once, through the caller's closure.

use super::leaf::{self, ValueError};
use super::shape::Quantity;
use crate::diagnostic::source::{SourceSpan, Sources};
use crate::diagnostic::{Collector, Diagnostic};
use crate::model::{LinkRate, Schedule};
use base::{Rate, Span, Time};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Loads the files that a scenario names. Paths are as written; the caller resolves them against the
/// scenario's folder. The error is a sentence ("no such file").
pub trait Files {
    /// Bytes of the file at `path`.
    fn load(&self, path: &str) -> Result<Vec<u8>, String>;
}

impl<F: Fn(&str) -> Result<Vec<u8>, String>> Files for F {
    fn load(&self, path: &str) -> Result<Vec<u8>, String> {
        self(path)
    }
}

/// No files: for scenarios that name none.
#[derive(Clone, Copy, Debug)]
pub struct NoFiles;

impl Files for NoFiles {
    fn load(&self, path: &str) -> Result<Vec<u8>, String> {
        Err(format!("`{path}` cannot be read: no files belong to this scenario"))
    }
}

/// Start and length of the faults of one repetition, in time order.
pub(crate) type Spikes = Vec<(Time, Span)>;

/// Values of an empirical distribution, or the error of its file.
type Values = Result<Arc<[f64]>, String>;

/// Parsed files, shared between the cells of a grid.
#[derive(Clone, Debug, Default)]
pub(crate) struct Library {
    texts: BTreeMap<String, Result<u32, String>>,
    spikes: BTreeMap<String, Option<Arc<Vec<Spikes>>>>,
    values: BTreeMap<(String, Quantity), Values>,
    traces: BTreeMap<(String, u32), Option<LinkRate>>,
    pub(crate) delays: BTreeMap<String, Option<Spikes>>,
}

/// Context of one reading.
pub(crate) struct Cx<'a> {
    pub(crate) collector: RefCell<Collector>,
    pub(crate) sources: RefCell<Sources>,
    pub(crate) library: RefCell<Library>,
    files: &'a dyn Files,
}

pub(crate) const BESIDE: &str = "the name is taken relative to the folder of the scenario file";
/// Upper bound of a file's size, bytes.
const LARGEST_FILE: usize = 256 << 20;

impl<'a> Cx<'a> {
    pub(crate) fn new(files: &'a dyn Files) -> Self {
        Cx::with(files, Sources::default(), Library::default())
    }

    pub(crate) fn with(files: &'a dyn Files, sources: Sources, library: Library) -> Self {
        Cx {
            collector: RefCell::default(),
            sources: RefCell::new(sources),
            library: RefCell::new(library),
            files,
        }
    }

    pub(crate) fn push(&self, diagnostic: Diagnostic) {
        self.collector.borrow_mut().push(diagnostic);
    }

    pub(crate) fn complain(&self, code: &'static str, place: SourceSpan, complaint: ValueError) {
        self.push(
            Diagnostic::error(code, place, complaint.message).label(complaint.label).help(complaint.help),
        );
    }

    /// True if the list of diagnostics is full.
    pub(crate) fn full(&self) -> bool {
        self.collector.borrow().full()
    }

    pub(crate) fn errors(&self) -> usize {
        self.collector.borrow().errors()
    }

    /// Index in [`Sources`] of the text of the file `path`.
    pub(crate) fn text(&self, path: &str) -> Result<u32, String> {
        if let Some(known) = self.library.borrow().texts.get(path) {
            return known.clone();
        }
        let loaded = self.files.load(path).and_then(|bytes| {
            if bytes.len() > LARGEST_FILE {
                return Err(format!("`{path}` is larger than {} MiB", LARGEST_FILE >> 20));
            }
            let text = String::from_utf8(bytes).map_err(|_| format!("`{path}` is not a text file"))?;
            Ok(self.sources.borrow_mut().add(path, &text))
        });
        self.library.borrow_mut().texts.insert(path.to_owned(), loaded.clone());
        loaded
    }

    pub(crate) fn lines(&self, source: u32) -> Vec<(SourceSpan, String)> {
        let sources = self.sources.borrow();
        let whole = SourceSpan { source, start: 0, end: 0 };
        let mut start = 0u32;
        sources
            .text(whole)
            .split('\n')
            .map(|line| {
                let place = SourceSpan { source, start, end: start + line.trim_end().len() as u32 };
                start += line.len() as u32 + 1;
                (place, line.trim().to_owned())
            })
            .collect()
    }

    /// Values of an empirical distribution, one per line: `300 ms` or plain seconds (then in nanoseconds), `5
    /// kB` or plain bytes, plain numbers.
    pub(crate) fn values(
        &self,
        path: &str,
        quantity: Quantity,
        named_at: SourceSpan,
    ) -> Result<Vec<f64>, String> {
        let key = (path.to_owned(), quantity);
        if let Some(known) = self.library.borrow().values.get(&key) {
            return known.clone().map(|v| v.to_vec());
        }
        let read = self.text(path).and_then(|source| {
            let mut values = Vec::new();
            let mut bad = false;
            for (place, line) in self.lines(source) {
                if line.is_empty() || line.starts_with('#') {
                    continue;
                }
                match plain(quantity, &line).or_else(|_| leaf::amount(quantity, &line)) {
                    Ok(value) => values.push(value),
                    Err(message) => {
                        bad = true;
                        self.push(
                            Diagnostic::error("bad-file", place, message).also(named_at, "named here").help(
                                match quantity {
                                    Quantity::Span => {
                                        "one value a line: \"300 ms\", or a plain number of seconds"
                                    }
                                    Quantity::Bytes => {
                                        "one value a line: \"5 kB\", or a plain number of bytes"
                                    }
                                    Quantity::Number => "one plain number a line",
                                    Quantity::Rate => {
                                        "one value a line: \"30 kbit/s\", or a plain number of bit/s"
                                    }
                                    Quantity::Share => "one plain number from 0 to 1 a line",
                                },
                            ),
                        );
                    }
                }
            }
            let what = match quantity {
                Quantity::Span => "times",
                Quantity::Bytes => "amounts of data",
                Quantity::Number => "numbers",
                Quantity::Rate => "rates",
                Quantity::Share => "probabilities",
            };
            if bad { Err(format!("`{path}` holds lines that are not {what}")) } else { Ok(Arc::from(values)) }
        });
        self.library.borrow_mut().values.insert(key, read.clone());
        read.map(|v: Arc<[f64]>| v.to_vec())
    }

    /// Recorded rate: milliseconds in mahimahi's format, or `t_s,bit_per_s`.
    pub(crate) fn trace(&self, path: &str, bytes: u32, named_at: SourceSpan) -> Option<LinkRate> {
        let key = (path.to_owned(), bytes);
        if let Some(known) = self.library.borrow().traces.get(&key) {
            return known.clone();
        }
        let read = match self.text(path) {
            Err(message) => {
                self.push(Diagnostic::error("no-file", named_at, message).help(BESIDE));
                None
            }
            Ok(source) => self.parse_trace(source, bytes, named_at),
        };
        self.library.borrow_mut().traces.insert(key, read.clone());
        read
    }

    fn parse_trace(&self, source: u32, bytes: u32, named_at: SourceSpan) -> Option<LinkRate> {
        let lines: Vec<_> = self
            .lines(source)
            .into_iter()
            .filter(|(_, line)| !line.is_empty() && !line.starts_with('#') && line != "t_s,bit_per_s")
            .collect();
        let stepped = lines.first().is_some_and(|(_, line)| line.contains(','));
        let (mut opportunities, mut steps): (Vec<Time>, Vec<(Time, Rate)>) = Default::default();
        let mut bad = false;
        for (place, line) in &lines {
            let mut problem = |message: String| {
                bad = true;
                let help = if stepped {
                    "a line is t_s,bit_per_s, as 1.5,300000"
                } else {
                    "a line is a whole number of milliseconds"
                };
                self.push(
                    Diagnostic::error("bad-file", *place, message).also(named_at, "named here").help(help),
                );
            };
            if stepped {
                let parts =
                    line.split_once(',').map(|(t, bps)| (seconds(t.trim()), bps.trim().parse::<f64>()));
                match parts {
                    Some((Ok(t), Ok(bps))) if (0.0..1e15).contains(&bps) => {
                        let at = Time::ZERO + t;
                        if steps.last().map_or(at != Time::ZERO, |(before, _)| at <= *before) {
                            problem("steps start at 0 and go forward in time".into());
                        }
                        steps.push((at, Rate::from_bps(bps as u64)));
                    }
                    _ => problem("this is not a step".into()),
                }
            } else {
                match line.parse::<u32>() {
                    Ok(ms) => {
                        let at = Time::ZERO + Span::from_millis(u64::from(ms));
                        if opportunities.last().is_some_and(|before| at < *before) {
                            problem("opportunities go forward in time".into());
                        }
                        opportunities.push(at);
                    }
                    Err(_) => problem("this is not an opportunity".into()),
                }
            }
        }
        let last = opportunities.last().copied().unwrap_or(Time::ZERO);
        let dead = if stepped { steps.iter().all(|(_, rate)| rate.bps() == 0) } else { last == Time::ZERO };
        if !bad && dead {
            bad = true;
            let message = "this trace never lets a packet pass";
            self.push(
                Diagnostic::error("bad-file", named_at, message)
                    .help("it needs opportunities after time 0, or a rate above 0"),
            );
        }
        if bad {
            return None;
        }
        Some(if stepped {
            LinkRate::Schedule(Schedule { steps, repeat: None })
        } else {
            LinkRate::Schedule(opportunities_as_rate(&opportunities, bytes))
        })
    }

    /// Spikes of every repetition from a file of `rep,start_s,length_s`; repetitions count from 0.
    pub(crate) fn spikes(&self, path: &str, named_at: SourceSpan) -> Option<Arc<Vec<Spikes>>> {
        if let Some(known) = self.library.borrow().spikes.get(path) {
            return known.clone();
        }
        let read = match self.text(path) {
            Err(message) => {
                self.push(Diagnostic::error("no-file", named_at, message).help(BESIDE));
                None
            }
            Ok(source) => self.parse_spikes(source, named_at).map(Arc::new),
        };
        self.library.borrow_mut().spikes.insert(path.to_owned(), read.clone());
        read
    }

    fn parse_spikes(&self, source: u32, named_at: SourceSpan) -> Option<Vec<Spikes>> {
        const MOST_REPETITIONS: usize = 10_000_000;
        let mut all: Vec<Spikes> = Vec::new();
        let mut bad = false;
        let mut first = true;
        for (place, line) in self.lines(source) {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let header = std::mem::take(&mut first) && line.starts_with(|c: char| c.is_alphabetic());
            if header {
                let titles: Vec<&str> = line.split(',').map(str::trim).collect();
                if titles == ["rep", "start_s", "length_s"] {
                    continue;
                }
            }
            let mut problem = |message: String| {
                bad = true;
                self.push(
                    Diagnostic::error("bad-file", place, message)
                        .also(named_at, "named here")
                        .help("a line is rep,start_s,length_s with repetitions counted from 0: 0,12.5,3.25"),
                );
            };
            let parts: Vec<&str> = line.split(',').map(str::trim).collect();
            let [rep, start, length] = parts.as_slice() else {
                problem(format!("this line has {} columns in place of 3", parts.len()));
                continue;
            };
            match (rep.parse::<usize>(), seconds(start), seconds(length)) {
                (Ok(rep), Ok(start), Ok(length)) if rep < MOST_REPETITIONS => {
                    if all.len() <= rep {
                        all.resize_with(rep + 1, Vec::new);
                    }
                    all[rep].push((Time::from_nanos(start.as_nanos()), length));
                }
                (Ok(_), Ok(_), Ok(_)) => {
                    problem(format!("repetition {rep} exceeds the maximum of {MOST_REPETITIONS}"))
                }
                (Err(_), _, _) => problem(format!("`{rep}` is not the number of a repetition")),
                (_, Err(message), _) | (_, _, Err(message)) => problem(message),
            }
        }
        if !bad {
            all.iter_mut().for_each(|spikes| spikes.sort());
        }
        (!bad).then_some(all)
    }
}

/// A number without unit: seconds, bytes or a count.
fn plain(quantity: Quantity, text: &str) -> Result<f64, String> {
    match quantity {
        Quantity::Span => seconds(text).map(|span| span.as_nanos() as f64),
        Quantity::Bytes | Quantity::Number | Quantity::Rate => leaf::amount(Quantity::Number, text),
        Quantity::Share => leaf::amount(Quantity::Share, text),
    }
}

/// A number of seconds without unit.
pub(crate) fn seconds(text: &str) -> Result<Span, String> {
    match text.parse::<f64>() {
        Ok(s) if s.is_finite() && (0.0..9.0e9).contains(&s) => Ok(Span::from_secs_f64(s)),
        _ => Err(format!("`{text}` is not a number of seconds")),
    }
}

/// Rate schedule of delivery opportunities at whole milliseconds. The bytes of millisecond n are served evenly over the
/// millisecond that ends at n, so that their last bit leaves at the recorded time. The trace repeats after the time of
/// its last line; opportunities at 0 count at that time.
fn opportunities_as_rate(opportunities: &[Time], bytes: u32) -> Schedule<Rate> {
    const MS: u64 = 1_000_000;
    let ms = |t: Time| t.as_nanos() / MS;
    let last = opportunities.last().map_or(0, |t| ms(*t));
    let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
    for &at in opportunities {
        let bin = if ms(at) == 0 { last } else { ms(at) } - 1;
        *counts.entry(bin).or_default() += 1;
    }
    let mut steps: Vec<(Time, Rate)> = vec![(Time::ZERO, Rate::from_bps(0))];
    let mut put = |at: u64, bps: u64| {
        let (at, rate) = (Time::from_nanos(at * MS), Rate::from_bps(bps));
        match steps.last_mut() {
            Some((before, r)) if *before == at => *r = rate,
            Some((_, r)) if *r == rate => {}
            _ => steps.push((at, rate)),
        }
    };
    for (bin, count) in counts {
        put(bin, count * u64::from(bytes) * 8 * 1000);
        if bin + 1 < last {
            put(bin + 1, 0);
        }
    }
    Schedule { steps, repeat: Some(Span::from_millis(last)) }
}
