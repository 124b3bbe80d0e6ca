//! Grammar of expectations (`[expect]`): comparisons of a flow's metric, in a statistic over repetitions,
//! with a bound.
//!
//! `"FLOW.METRIC.STATISTIC" = "< 150 s"`: a comparison in the metric's unit, or a list of comparisons that
//! must all hold. `all` in place of a flow stands for all flows together. A bare number means equality.
//! Expectations apply to every cell of the grid. A command with its own metrics accepts any metric name.

use crate::diagnostic::Diagnostic;
use crate::diagnostic::source::SourceSpan;
use crate::grammar::cx::Cx;
use crate::grammar::leaf::ValueError;
use crate::grammar::reader::Reader;
use crate::grammar::spelling::{alternatives, nearest};
use crate::grammar::tree::{Table, Tree, Value};
use crate::grammar::validate::wrong_type;
use crate::model::metric::{Metric, Statistic, Unit};
use crate::model::{Comparison, Expectation};
use base::units::{parse_rate, parse_span};

/// Name for all flows together.
pub(crate) const ALL_FLOWS: &str = "all";

/// Checks the parts that do not depend on flows.
pub(crate) fn check(tree: &Tree, cx: &Cx<'_>) {
    let Some(table) = tree.table() else {
        return wrong_type(
            tree,
            "expect",
            "a table",
            "[expect]\n\"download.download_time_s.mean\" = \"< 150 s\"",
            cx,
        );
    };
    for line in flatten(table).iter().take_while(|_| !cx.full()) {
        parse(line, None, cx);
    }
}

/// Flows and commands to which expectations can refer.
pub(crate) struct Subjects<'a> {
    /// All names, in the order of the model.
    pub(crate) flows: &'a [String],
    /// True if every flow has a name.
    pub(crate) complete: bool,
    /// Commands with metrics of their own.
    pub(crate) reporting: &'a [String],
}

/// Reads the expectations about these flows.
pub(crate) fn read(root: Reader<'_>, subjects: &Subjects<'_>, cx: &Cx<'_>) -> Vec<Expectation> {
    let Some(table) = root.get("expect").and_then(Tree::table) else { return Vec::new() };
    flatten(table)
        .iter()
        .take_while(|_| !cx.full())
        .flat_map(|line| parse(line, Some(subjects), cx))
        .collect()
}

/// Unit of a command's metric, by the suffix of its name.
fn reported_unit(name: &str) -> Unit {
    match name {
        _ if name.ends_with("_bps") => Unit::BitsPerSecond,
        _ if name.ends_with("_s") => Unit::Seconds,
        _ => Unit::Count,
    }
}

struct Line<'t> {
    path: Vec<(String, SourceSpan)>,
    value: &'t Tree,
}

/// Entries with full paths: `"a.b.c" = v`, `a.b.c = v` and `[expect.a]` are equivalent.
fn flatten(table: &Table) -> Vec<Line<'_>> {
    fn go<'t>(table: &'t Table, before: &[(String, SourceSpan)], out: &mut Vec<Line<'t>>) {
        for entry in &table.entries {
            let mut path = before.to_vec();
            let mut offset = 1; // opening quote
            for part in entry.key.split('.') {
                let at = if entry.key.contains('.') {
                    entry.key_place.part(offset..offset + part.len())
                } else {
                    entry.key_place
                };
                offset += part.len() + 1;
                path.push((part.to_owned(), at));
            }
            match &entry.tree.value {
                Value::Table(inner) if path.len() < 4 => go(inner, &path, out),
                _ => out.push(Line { path, value: &entry.tree }),
            }
        }
    }
    let mut out = Vec::new();
    go(table, &[], &mut out);
    out
}

fn parse(line: &Line<'_>, subjects: Option<&Subjects<'_>>, cx: &Cx<'_>) -> Vec<Expectation> {
    let say = subjects.is_none();
    let example = "write \"FLOW.METRIC.STATISTIC\" = \"< 150 s\", such as \"download.download_time_s.mean\"";
    let [flow, metric, statistic] = line.path.as_slice() else {
        if say {
            let first = line.path.first().map_or(line.value.place, |(_, place)| *place);
            let end = line.path.last().map_or(first.end, |(_, place)| place.end);
            let message = format!(
                "an expectation names a flow, a metric and a statistic; here are {}",
                line.path.len()
            );
            cx.push(
                Diagnostic::error("bad-value", SourceSpan { end: end.max(first.end), ..first }, message)
                    .help(example),
            );
        }
        return Vec::new();
    };
    let unknown = |what: &str, (word, place): &(String, SourceSpan), known: &[&str]| {
        let shown: String = word.chars().take(40).collect();
        let d = Diagnostic::error("unknown-key", *place, format!("there is no {what} `{shown}`"));
        cx.push(match nearest(word, known.iter().copied()) {
            Some(meant) => d.label(format!("did you mean `{meant}`?")),
            None => d.help(format!("there is {}", alternatives(known.iter().copied()))),
        });
    };
    let (known, found_statistic) = (Metric::from_name(&metric.0), Statistic::from_name(&statistic.0));
    if say && found_statistic.is_none() {
        unknown("statistic", statistic, Statistic::NAMES);
    }
    let reports = |reporting: &[String]| match flow.0.as_str() {
        ALL_FLOWS => !reporting.is_empty(),
        name => reporting.iter().any(|command| command == name),
    };
    let mut stray = false;
    let index = match subjects {
        Some(Subjects { flows, complete, .. }) => match flows.iter().position(|f| *f == flow.0) {
            Some(index) => Some(index),
            None if flow.0 == ALL_FLOWS => None,
            None => {
                if *complete {
                    let known: Vec<&str> = flows.iter().map(String::as_str).chain([ALL_FLOWS]).collect();
                    unknown("flow", flow, &known);
                }
                stray = true;
                None
            }
        },
        None => None,
    };
    if known.is_none()
        && let Some(subjects) = subjects
        && !reports(subjects.reporting)
    {
        unknown("metric", metric, Metric::NAMES);
        stray = true;
    }
    let (Some(statistic), false) = (found_statistic, stray) else { return Vec::new() };
    let unit = match known {
        _ if statistic == Statistic::N => Unit::Count,
        Some(metric) => metric.unit(),
        None => reported_unit(&metric.0),
    };
    let bounds: Vec<&Tree> = match &line.value.value {
        Value::List(list) => list.iter().collect(),
        _ => vec![line.value],
    };
    let mut out = Vec::new();
    for tree in bounds {
        match bound(tree, unit) {
            Ok((comparison, bound)) => out.push(Expectation {
                key: line.path.iter().map(|(word, _)| word.as_str()).collect::<Vec<_>>().join("."),
                flow: index,
                metric: metric.0.clone(),
                statistic,
                comparison,
                bound,
            }),
            Err(complaint) if say => cx.complain("bad-value", tree.place, complaint),
            Err(_) => {}
        }
    }
    out
}

fn bound(tree: &Tree, unit: Unit) -> Result<(Comparison, f64), ValueError> {
    let example = match unit {
        Unit::Seconds => "\"< 150 s\"",
        Unit::BitsPerSecond => "\"> 20 kbit/s\"",
        Unit::Ratio => "\">= 0.95\"",
        Unit::Count => "\"< 3\"",
    };
    let text = match &tree.value {
        Value::Integer(n) => return Ok((Comparison::Equal, *n as f64)),
        Value::Number(x) if x.is_finite() => return Ok((Comparison::Equal, *x)),
        Value::Text(text) => text.trim(),
        _ => {
            return Err(ValueError::new(format!("an expectation is a comparison, not {}", tree.kind()))
                .help(format!("write {example}")));
        }
    };
    let signs = [
        ("<=", Comparison::AtMost),
        (">=", Comparison::AtLeast),
        ("==", Comparison::Equal),
        ("<", Comparison::Less),
        (">", Comparison::More),
        ("=", Comparison::Equal),
    ];
    let Some((sign, comparison)) = signs.iter().find(|(sign, _)| text.starts_with(sign)) else {
        return Err(
            ValueError::new("an expectation starts with <, <=, >, >= or =").help(format!("write {example}"))
        );
    };
    let number = text[sign.len()..].trim();
    let value = match (number.parse::<f64>(), unit) {
        (Ok(x), _) if x.is_finite() => Ok(x),
        (_, Unit::Seconds) => parse_span(number).map(base::Span::as_secs_f64).map_err(String::from),
        (_, Unit::BitsPerSecond) => parse_rate(number).map(|rate| rate.bps() as f64).map_err(String::from),
        _ => Err(format!("`{number}` is not a number")),
    };
    value
        .map(|x| (*comparison, x))
        .map_err(|message| ValueError::new(message).help(format!("write {example}")))
}
