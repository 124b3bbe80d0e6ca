//! Grammar of the workloads of flows (`app`): list of the workloads, and keys that several of them share.
//!
//! Each workload is one file of this folder and one line of [`workloads!`]. A file has `VARIANT`, the name in
//! scenario files with documentation and option declarations, and `read`. `read` returns one of the traffic
//! patterns that all clocks support ([`App`]): bulk data, request and reply, or messages on a schedule.
//! Description, cost estimate, endpoints in virtual and real time, and the order to a remote worker follow
//! from the pattern.

mod fits;

pub(crate) use fits::fits;

use crate::diagnostic::Diagnostic;
use crate::grammar::cx::Cx;
use crate::grammar::reader::{Reader, chosen};
use crate::grammar::shape::{Field, Need, Quantity, Shape, ValueKind, Variant, field};
use crate::model::{App, ConnectionLifetime, MessagePlan, UsefulLife};
use base::Span;
use base::dist::Dist;

/// Generates the variants of `app` and their reader from the list of workloads.
macro_rules! workloads {
    ($($module:ident),* $(,)?) => {
        $(pub(crate) mod $module;)*

        /// Variants of `app`.
        pub(crate) static APPS: &[Variant] = &[$($module::VARIANT),*];

        /// Reads `app`.
        pub(crate) fn read(reader: Reader<'_>, cx: &Cx<'_>) -> Option<App> {
            let (word, app) = chosen_app(reader)?;
            $(if word == $module::VARIANT.name {
                return $module::read(app, cx);
            })*
            None
        }
    };
}

// The list of workloads.
workloads! {
    bulk,
    request_reply,
    web,
    cbr,
    on_off,
    ticker,
    stream,
}

/// Name and table of the chosen workload.
fn chosen_app(reader: Reader<'_>) -> Option<(&str, Reader<'_>)> {
    chosen(reader.get("app")?, |name| match APPS.iter().find(|v| v.name == name)?.shape {
        Shape::Table(shape) => Some(shape),
        _ => None,
    })
}

const BYTES: Shape = Shape::One(ValueKind::Dist(Quantity::Bytes));
const SPAN: Shape = Shape::One(ValueKind::Dist(Quantity::Span));

const LASTS: Field = field(
    "lasts",
    Shape::One(ValueKind::Span),
    Need::Optional,
    "Duration. Without it, until all work is done or the run ends.",
);
const SERVE: Field = field(
    "serve",
    SPAN,
    Need::Default("\"0 s\""),
    "Processing time of the server for each reply, from the last byte of the request.",
);
const PATIENCE: Field = field(
    "patience",
    SPAN,
    Need::Optional,
    "Time after which a page or request is aborted: its connections are reset, and the next request follows at once. Without it, unlimited.",
);
const COUNT: Field = field(
    "count",
    Shape::One(ValueKind::Count(1, 1 << 40)),
    Need::Optional,
    "Number. Without it, unlimited.",
);
const PLAYOUT: Field = field(
    "playout",
    Shape::One(ValueKind::Span),
    Need::Optional,
    "A message that arrives later than this after its generation is too late. Without it, none is; in a ticker, one \
     that arrives after the next one was generated.",
);

/// Application classes with their maximum one-way delay (3GPP TS 22.105 section 5.5). For conversations it is
/// the upper end of the 100 to 300 ms of section 2.1.
const CLASSES: &[&str] = &["conversational", "streaming", "interactive", "background"];
const CLASS: Field = field(
    "class",
    Shape::One(ValueKind::Word(CLASSES)),
    Need::Optional,
    "Class of the application, in place of `playout`: conversational, 300 ms one way; interactive, 4 s; streaming, 10 s; background, any delay.",
);

fn optional<T>(reader: Reader<'_>, key: &str, read: impl FnOnce(&str) -> Option<T>) -> Option<Option<T>> {
    match reader.get(key) {
        Some(_) => read(key).map(Some),
        None => Some(None),
    }
}

fn count(reader: Reader<'_>, key: &str) -> Option<Option<u64>> {
    optional(reader, key, |key| reader.count(key).map(|n| n as u64))
}

fn keep(reader: Reader<'_>) -> Option<ConnectionLifetime> {
    ConnectionLifetime::from_name(reader.word("keep")?)
}

fn patience(r: Reader<'_>, cx: &Cx<'_>) -> Option<Option<Dist>> {
    let patience = optional(r, "patience", |key| r.dist(key, cx))?;
    if let Some(dist) = &patience {
        takes_time(dist, r, "patience", cx)?;
    }
    Some(patience)
}

/// Rejects a distribution that would cause endless activity at one instant.
fn takes_time(dist: &Dist, reader: Reader<'_>, key: &str, cx: &Cx<'_>) -> Option<()> {
    if dist.mean() >= 1.0 {
        return Some(());
    }
    let message = format!("with this `{key}` no time passes, and everything would happen at once");
    cx.push(Diagnostic::error("bad-value", reader.place(key), message).help("give more than 0"));
    None
}

fn useful(r: Reader<'_>, without: UsefulLife, cx: &Cx<'_>) -> Option<UsefulLife> {
    if let Some(tree) = r.get("class") {
        if r.get("playout").is_some() {
            let message = "`class` and `playout` both set when a message is too late";
            cx.push(Diagnostic::error("impossible", tree.place, message).help("leave one of them out"));
            return None;
        }
        return Some(match r.word("class")? {
            "conversational" => UsefulLife::For(Span::from_millis(300)),
            "interactive" => UsefulLife::For(Span::from_secs(4)),
            "streaming" => UsefulLife::For(Span::from_secs(10)),
            _ => UsefulLife::Always,
        });
    }
    Some(optional(r, "playout", |key| r.span(key))?.map_or(without, UsefulLife::For))
}

/// Messages of one size at a constant rate, in bursts or continuous.
fn paced(r: Reader<'_>, bursts: Option<(Dist, Dist)>, cx: &Cx<'_>) -> Option<App> {
    let (rate, packet) = (r.rate("rate")?, r.bytes("packet")?);
    if rate.bps() == 0 || packet == 0 || packet > 1 << 30 {
        let (key, help) =
            if rate.bps() == 0 { ("rate", "give more than 0") } else { ("packet", "give from 1 B to 1 GiB") };
        let message = format!("with this `{key}` there are no messages");
        cx.push(Diagnostic::error("bad-value", r.place(key), message).help(help));
        return None;
    }
    let every = Dist::Constant(rate.span_of(packet).as_nanos() as f64);
    takes_time(&every, r, "rate", cx)?;
    Some(App::Messages(Box::new(MessagePlan {
        size: Dist::Constant(packet as f64),
        every,
        bursts,
        count: count(r, "count")?,
        lasts: optional(r, "lasts", |key| r.span(key))?,
        useful: useful(r, UsefulLife::Always, cx)?,
        stream: None,
    })))
}
