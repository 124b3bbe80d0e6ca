//! Reader of delay traces: files of lines `t_s,delay_s`, as a schedule of the link's delay (catalogue NS-06).
//!
//! A packet takes the last delay measured before its transmission.

use crate::diagnostic::Diagnostic;
use crate::diagnostic::source::SourceSpan;
use crate::grammar::cx::{BESIDE, Cx, seconds};
use crate::grammar::reader::Reader;
use crate::grammar::shape::{Field, Need, Shape, TableShape, ValueKind, field, table};
use crate::model::Schedule;
use base::units::parse_span;
use base::{Span, Time};

static FIELDS: &[Field] = &[
    field(
        "trace",
        Shape::One(ValueKind::File),
        Need::Required("\"gprs-delay.csv\""),
        "The file, in the folder of the scenario: `t_s,delay_s` per line, in increasing order of time; before the \
         first time its delay applies.",
    ),
    field("repeat", Shape::One(ValueKind::Span), Need::Optional, "Period after which it restarts."),
];

/// Table of a delay from a file.
pub(crate) static DELAY_TRACE: TableShape = table(
    "trace",
    "A delay recorded in a file, each measurement valid until the next; packets stay in order.",
    FIELDS,
);

const LINE: &str = "a line is t_s,delay_s, as 1.5,0.32 or 1.5,320 ms";

/// Reads the delay schedule of a [`DELAY_TRACE`] table.
pub(crate) fn read(reader: Reader<'_>, cx: &Cx<'_>) -> Option<Schedule<Span>> {
    let file = reader.get("trace")?;
    let steps = load(file.text()?, file.place, cx)?;
    let repeat = match reader.get("repeat") {
        Some(_) => Some(reader.span("repeat")?),
        None => None,
    };
    let last = steps.last().map_or(Time::ZERO, |(at, _)| *at);
    if let Some(period) = repeat
        && Time::ZERO + period <= last
    {
        let message = format!("the trace repeats after {period}, before its last line");
        cx.push(
            Diagnostic::error("bad-value", reader.place("repeat"), message)
                .help(format!("repeat after more than {}", last.since(Time::ZERO))),
        );
        return None;
    }
    Some(Schedule { steps, repeat })
}

type Steps = Vec<(Time, Span)>;

fn load(path: &str, named_at: SourceSpan, cx: &Cx<'_>) -> Option<Steps> {
    if let Some(known) = cx.library.borrow().delays.get(path) {
        return known.clone();
    }
    let read = match cx.text(path) {
        Err(message) => {
            cx.push(Diagnostic::error("no-file", named_at, message).help(BESIDE));
            None
        }
        Ok(source) => parse(source, named_at, cx),
    };
    cx.library.borrow_mut().delays.insert(path.to_owned(), read.clone());
    read
}

fn parse(source: u32, named_at: SourceSpan, cx: &Cx<'_>) -> Option<Steps> {
    let mut steps = Steps::new();
    let mut before = None;
    let mut bad = false;
    for (place, line) in cx.lines(source) {
        if line.is_empty() || line.starts_with('#') || line == "t_s,delay_s" {
            continue;
        }
        let mut problem = |message: &str| {
            bad = true;
            cx.push(Diagnostic::error("bad-file", place, message).also(named_at, "named here").help(LINE));
        };
        let parts = line.split_once(',').map(|(t, delay)| {
            let delay = delay.trim();
            (seconds(t.trim()), seconds(delay).or_else(|_| parse_span(delay)))
        });
        match parts {
            Some((Ok(t), Ok(delay))) => {
                let at = Time::ZERO + t;
                if before.replace(at).is_some_and(|before| at <= before) {
                    problem("measurements go forward in time, no two at one instant");
                }
                // The first measurement holds from time 0.
                steps.push((if steps.is_empty() { Time::ZERO } else { at }, delay));
            }
            _ => problem("this is not a measurement"),
        }
        if cx.full() {
            return None;
        }
    }
    if !bad && steps.is_empty() {
        bad = true;
        cx.push(Diagnostic::error("bad-file", named_at, "this trace holds no measurement").help(LINE));
    }
    (!bad).then_some(steps)
}
