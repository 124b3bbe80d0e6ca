//! Serialisation of a picture to JSON for the page's script: one array per column, in time order, times
//! rounded to a microsecond.

use serde::Serialize;

use crate::model::{Ink, Picture, SegmentKind, Style, Truth, sorted};
use crate::scale::scaled;
use crate::story::episodes;
use crate::text::json_for_script;

#[derive(Default, Serialize)]
struct Columns<'a> {
    title: &'a str,
    segment: u32,
    from: f64,
    until: f64,
    low: u64,
    top: u64,
    sent: Segments,
    received: Segments,
    acks: Acks,
    sacks: Segments,
    drops: Segments,
    places: Vec<&'a str>,
    timeouts: Vec<Mark>,
    fast: Vec<Mark>,
    spikes: Vec<Span<'a>>,
    window: Window,
    timer: Timer,
    episodes: Vec<Note>,
    panels: Vec<Panel<'a>>,
    below: Vec<Layer<'a>>,
}

/// Columns of segments. `k` of sent segments: 0 new, 1 needed, 2 unneeded, 3 unknown; of received segments: 1
/// duplicate; of drops: index into `places`.
#[derive(Default, Serialize)]
struct Segments {
    t: Vec<f64>,
    seq: Vec<u64>,
    end: Vec<u64>,
    k: Vec<u32>,
}

#[derive(Default, Serialize)]
struct Acks {
    t: Vec<f64>,
    ack: Vec<u64>,
    win: Vec<u64>,
    dup: Vec<u8>,
}

#[derive(Default, Serialize)]
struct Window {
    t: Vec<f64>,
    cwnd: Vec<u64>,
    ssthresh: Vec<Option<u64>>,
    flight: Vec<u64>,
}

#[derive(Default, Serialize)]
struct Timer {
    t: Vec<f64>,
    rto: Vec<f64>,
    srtt: Vec<f64>,
    rttvar: Vec<f64>,
}

#[derive(Serialize)]
struct Mark {
    t: f64,
    seq: u64,
    spurious: bool,
    unknown: bool,
    label: String,
    detected: Option<f64>,
}

#[derive(Serialize)]
struct Span<'a> {
    from: f64,
    until: f64,
    name: &'a str,
}

#[derive(Serialize)]
struct Panel<'a> {
    unit: String,
    lines: Vec<Line<'a>>,
}

#[derive(Serialize)]
struct Line<'a> {
    name: &'a str,
    /// Name of a colour of the page.
    ink: &'static str,
    dots: bool,
    t: Vec<f64>,
    v: Vec<Option<f64>>,
}

#[derive(Serialize)]
struct Layer<'a> {
    name: &'a str,
    events: Vec<Happening<'a>>,
}

#[derive(Serialize)]
struct Happening<'a> {
    t: f64,
    until: Option<f64>,
    name: &'a str,
    detail: &'a str,
}

/// Label of a timeout's unneeded retransmissions, beside those segments.
#[derive(Serialize)]
struct Note {
    t: f64,
    unneeded: usize,
    from: f64,
    until: f64,
    low: u64,
    high: u64,
    text: String,
}

/// The data of a picture as JSON for a script element. Events without a finite time are left out; times are
/// rounded to a microsecond.
pub(crate) fn script_json(picture: &Picture) -> String {
    let span = picture.end();
    let mut columns = Columns {
        title: &picture.title,
        segment: picture.segment_bytes.max(1),
        from: micro(picture.begin()),
        until: micro(span),
        low: picture.bottom(),
        top: picture.top(),
        ..Columns::default()
    };
    for e in sorted(&picture.sent, |e| e.t) {
        let kind = match e.kind {
            SegmentKind::New => 0,
            SegmentKind::Retransmission => 1,
            SegmentKind::Unneeded => 2,
            SegmentKind::Unknown => 3,
        };
        columns.sent.push(e.t, e.seq, e.end, kind);
    }
    for e in sorted(&picture.received, |e| e.t) {
        columns.received.push(e.t, e.seq, e.end, u32::from(e.duplicate));
    }
    for e in sorted(&picture.acks, |e| e.t) {
        columns.acks.t.push(micro(e.t));
        columns.acks.ack.push(e.ack);
        columns.acks.win.push(e.window_end);
        columns.acks.dup.push(u8::from(e.duplicate));
        for [low, high] in &e.sacks {
            columns.sacks.push(e.t, *low, *high, 0);
        }
    }
    let mut places = std::collections::BTreeMap::new();
    for e in sorted(&picture.drops, |e| e.t) {
        let fresh = columns.places.len() as u32;
        let place = *places.entry(e.place.as_str()).or_insert(fresh);
        if place == fresh {
            columns.places.push(&e.place);
        }
        columns.drops.push(e.t, e.seq, e.end, place);
    }
    for e in sorted(&picture.timeouts, |e| e.t) {
        columns.timeouts.push(Mark {
            t: micro(e.t),
            seq: e.seq,
            spurious: e.truth == Truth::Spurious,
            unknown: e.truth == Truth::Unknown,
            label: e.label(span),
            detected: e.detected_at.filter(|t| t.is_finite()).map(micro),
        });
    }
    for e in sorted(&picture.fast_retransmits, |e| e.t) {
        let spurious = e.truth == Truth::Spurious;
        let label = if spurious { "spurious fast retransmit" } else { "fast retransmit" };
        columns.fast.push(Mark {
            t: micro(e.t),
            seq: e.seq,
            spurious,
            unknown: e.truth == Truth::Unknown,
            label: label.to_owned(),
            detected: None,
        });
    }
    for e in sorted(&picture.spikes, |e| e.from) {
        if e.until.is_finite() {
            columns.spikes.push(Span { from: micro(e.from), until: micro(e.until), name: &e.name });
        }
    }
    for e in sorted(&picture.window, |e| e.t) {
        columns.window.t.push(micro(e.t));
        columns.window.cwnd.push(e.cwnd);
        columns.window.ssthresh.push(e.ssthresh);
        columns.window.flight.push(e.flight);
    }
    for e in sorted(&picture.timer, |e| e.t) {
        columns.timer.t.push(micro(e.t));
        columns.timer.rto.push(micro(e.rto));
        columns.timer.srtt.push(micro(e.srtt));
        columns.timer.rttvar.push(micro(e.rttvar));
    }
    columns.panels = picture.panels.iter().map(panel).collect();
    columns.below = picture.layers.iter().map(layer).collect();
    for e in episodes(picture) {
        let seen = e.unneeded > 0;
        columns.episodes.push(Note {
            t: micro(e.first.t),
            unneeded: e.unneeded,
            from: if seen { micro(e.times.0) } else { 0.0 },
            until: if seen { micro(e.times.1) } else { 0.0 },
            low: if seen { e.range.0 } else { 0 },
            high: e.range.1,
            text: note(e.unneeded),
        });
    }
    json_for_script(&serde_json::to_string(&columns).unwrap_or_else(|_| "{}".to_owned()))
}

fn panel(panel: &crate::model::Panel) -> Panel<'_> {
    let values = panel.series.iter().flat_map(|s| s.points.iter().map(|p| p[1]));
    let (unit, scale) = scaled(&panel.unit, values.filter(|v| v.is_finite()).fold(0.0, f64::max));
    let lines = panel.series.iter().map(|series| Line {
        name: &series.name,
        ink: match series.ink {
            Ink::Main => "ink",
            Ink::Other => "arrival",
            Ink::Limit => "soft",
        },
        dots: series.style == Style::Dots,
        t: series.points.iter().map(|p| micro(p[0])).collect(),
        v: series.points.iter().map(|p| Some(micro(p[1] * scale)).filter(|_| p[1].is_finite())).collect(),
    });
    Panel { unit, lines: lines.collect() }
}

fn layer(layer: &crate::model::Layer) -> Layer<'_> {
    let events = sorted(&layer.events, |e| e.t).into_iter().map(|e| Happening {
        t: micro(e.t),
        until: e.until.map(micro),
        name: &e.event,
        detail: &e.detail,
    });
    Layer { name: &layer.name, events: events.collect() }
}

/// Label of the unneeded retransmissions of one timeout.
pub(crate) fn note(unneeded: usize) -> String {
    match unneeded {
        1 => "1 unneeded retransmission".to_owned(),
        n => format!("{n} unneeded retransmissions"),
    }
}

impl Segments {
    fn push(&mut self, t: f64, seq: u64, end: u64, k: u32) {
        self.t.push(micro(t));
        self.seq.push(seq);
        self.end.push(end);
        self.k.push(k);
    }
}

/// Time rounded to a microsecond; non-finite values become 0.
fn micro(t: f64) -> f64 {
    let rounded = (t * 1e6).round() / 1e6;
    if rounded.is_finite() { rounded } else { 0.0 }
}
