//! Grammar of the workload of streamed media (`app.stream`): frames at adaptive rates, a player with a
//! buffer, jumps of the user.

use super::optional;
use crate::diagnostic::Diagnostic;
use crate::grammar::cx::Cx;
use crate::grammar::leaf;
use crate::grammar::reader::Reader;
use crate::grammar::shape::{ValueKind, Need, Shape, TableShape, Variant, field, table};
use crate::grammar::tree::Tree;
use crate::model::{App, MessagePlan, UsefulLife};
use base::Span;
use base::dist::Dist;
use transport::app::media::{Jump, Streaming};

/// Variant `stream` of `app`.
pub(super) const VARIANT: Variant = Variant {
    name: "stream",
    doc: "Media that are played while they arrive, from a buffer.",
    shape: Shape::Table(&TABLE),
    bare: false,
};

static TABLE: TableShape = table(
    "stream",
    "Media that are played while they arrive, from a buffer.",
    &[
        field(
            "rates",
            Shape::List(&Shape::One(ValueKind::Rate)),
            Need::Required("[\"64 kbit/s\"]"),
            "Rates of the media without headers, ascending. The source begins with the lowest one.",
        ),
        field("lasts", Shape::One(ValueKind::Span), Need::Required("\"60 s\""), "Length of the media."),
        field("frame", Shape::One(ValueKind::Span), Need::Default("\"200 ms\""), "Length of a frame: each is a message."),
        field(
            "buffer",
            Shape::One(ValueKind::Span),
            Need::Default("\"5 s\""),
            "Media in the buffer at which the player starts. Doubles with each stall, up to `holds`, and falls back \
             afterwards.",
        ),
        field(
            "holds",
            Shape::One(ValueKind::Span),
            Need::Optional,
            "Most media in the buffer. Without it, four times `buffer`.",
        ),
        field(
            "fill",
            Shape::One(ValueKind::Number(1.0, 100.0)),
            Need::Default("2"),
            "Speed at which the source fills the buffer, relative to the speed of the media.",
        ),
        field(
            "adapts",
            Shape::One(ValueKind::Flag),
            Need::Default("true"),
            "Whether the source changes the rate with losses and delays. If not, it sends at the highest one.",
        ),
        field(
            "jumps",
            Shape::List(&Shape::Pair(ValueKind::Span, ValueKind::Span)),
            Need::Optional,
            "Moves of the play point by the user: [[\"20 s\", \"45 s\"], ...], time after the start and play point.",
        ),
        field(
            "request",
            Shape::One(ValueKind::Span),
            Need::Default("\"200 ms\""),
            "Time from a jump until the source is notified of it. The request itself is no packet of the path.",
        ),
    ],
);

/// Maximum number of frames in a stream.
const MOST: u64 = 1 << 32;
/// Maximum number of rates of an adaptive source.
const RATES: usize = 255;

fn complain<T>(cx: &Cx<'_>, r: Reader<'_>, key: &str, message: &str, help: &str) -> Option<T> {
    cx.push(Diagnostic::error("bad-value", r.place(key), message).help(help));
    None
}

/// Reads the table `stream`.
pub(super) fn read(r: Reader<'_>, cx: &Cx<'_>) -> Option<App> {
    let rates = rates(r, cx)?;
    let (lasts, frame, buffer) = (r.span("lasts")?, r.span("frame")?, r.span("buffer")?);
    if frame.is_zero() || lasts < frame || lasts.as_nanos() / frame.as_nanos() > MOST {
        return complain(cx, r, "frame", "with this `frame` there are no frames, or too many", "give more than 0 and at most `lasts`");
    }
    let holds = optional(r, "holds", |key| r.span(key))?.unwrap_or(buffer.times(4));
    if buffer < frame || holds < buffer {
        return complain(cx, r, "buffer", "a buffer holds at least a frame, and no more than `holds`", "give from `frame` to `holds`");
    }
    let frames = lasts.as_nanos() / frame.as_nanos();
    let jumps = match r.get("jumps") {
        Some(tree) => jumps(tree, frame.times(frames), cx)?,
        None => Vec::new(),
    };
    let stream = Streaming {
        rates,
        frame,
        frames,
        buffer,
        holds,
        fill: r.number("fill")?,
        adapts: r.flag("adapts")?,
        jumps,
        request: r.span("request")?,
    };
    Some(App::Messages(Box::new(MessagePlan {
        size: Dist::Constant(stream.frame_bytes(stream.rates.len() - 1) as f64),
        every: Dist::Constant(frame.as_nanos() as f64),
        bursts: None,
        count: Some(frames),
        lasts: None,
        useful: UsefulLife::Always,
        stream: Some(stream),
    })))
}

fn rates(r: Reader<'_>, cx: &Cx<'_>) -> Option<Vec<u64>> {
    let list = r.get("rates")?.list()?;
    let rates = list.iter().map(|tree| leaf::rate(tree).ok().map(|rate| rate.bps())).collect::<Option<Vec<u64>>>()?;
    let ascending = rates.windows(2).all(|pair| pair[0] < pair[1]);
    if rates.is_empty() || rates.len() > RATES || rates[0] == 0 || !ascending {
        return complain(cx, r, "rates", "these are no ascending rates above 0", "write [\"64 kbit/s\", \"128 kbit/s\"]");
    }
    Some(rates)
}

fn jumps(tree: &Tree, media: Span, cx: &Cx<'_>) -> Option<Vec<Jump>> {
    let mut jumps: Vec<Jump> = Vec::new();
    for pair in tree.list()? {
        let [at, to] = pair.list()? else { return None };
        let jump = Jump { at: leaf::span(at).ok()?, to: leaf::span(to).ok()? };
        if jumps.last().is_some_and(|last| jump.at <= last.at) || jump.to >= media {
            let message = "a jump goes into the media, and is later than the one before it";
            cx.push(Diagnostic::error("bad-value", pair.place, message).help("sort them; `lasts` is the end of the media"));
            return None;
        }
        jumps.push(jump);
    }
    Some(jumps)
}
