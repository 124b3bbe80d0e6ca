//! Rows of lower-layer events under a picture: bands and ticks on its time axis, and the events that overlap
//! the wait for a timeout.

use serde::Serialize;

use crate::model::{Layer, LayerEvent, Sent, Timeout, Truth, sorted};
use crate::palette as ink;
use crate::scale::Scale;
use crate::strokes::{HALO, LABEL, fill, ink_of, line_style};
use crate::svg::{Anchor, Svg, n};
use crate::text::width;

/// Height of a row, pixels.
const ROW: f64 = 20.0;
/// Share of the room that a name takes at most: tolerance for the widths of other fonts.
const FONTS: f64 = 0.85;
/// Margin above and below the rows, pixels.
const MARGIN: f64 = 14.0;

/// A timeout and the lower-layer events between the last transmission of its segment and its expiry.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TimeoutOverlap {
    /// Time of the expiry, s.
    pub t: f64,
    /// Ground-truth verdict on the timeout.
    pub kind: Truth,
    /// Previous transmission of the segment, s: approximate start of the timer.
    pub since: f64,
    /// Events that overlap the interval from `since` to `t`, by layer.
    pub events: Vec<OverlappingEvent>,
}

/// An event that overlaps the wait for a timeout.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OverlappingEvent {
    /// Name of the layer.
    pub layer: String,
    /// The event.
    #[serde(flatten)]
    pub event: LayerEvent,
}

/// For each timeout, in time order, the events of `layers` that overlap the interval from the previous
/// transmission of its segment to its expiry.
#[must_use]
pub fn under(timeouts: &[Timeout], sent: &[Sent], layers: &[Layer]) -> Vec<TimeoutOverlap> {
    let waiting = |timeout: &Timeout| {
        let before = |e: &&Sent| e.t < timeout.t && (e.seq..e.end).contains(&timeout.seq);
        sent.iter().filter(before).map(|e| e.t).fold(f64::NEG_INFINITY, f64::max)
    };
    sorted(timeouts, |e| e.t)
        .into_iter()
        .map(|timeout| {
            let since = waiting(timeout);
            let since = if since.is_finite() { since } else { timeout.t };
            let touches = |e: &&LayerEvent| e.t <= timeout.t && e.end() >= since;
            let events = layers.iter().flat_map(|layer| {
                let of =
                    |event: &LayerEvent| OverlappingEvent { layer: layer.name.clone(), event: event.clone() };
                sorted(&layer.events, |e| e.t).into_iter().filter(touches).map(of)
            });
            TimeoutOverlap { t: timeout.t, kind: timeout.truth, since, events: events.collect() }
        })
        .collect()
}

/// Height of the rows with margins, pixels.
pub(crate) fn height(layers: &[Layer]) -> f64 {
    if layers.is_empty() { 0.0 } else { MARGIN * 2.0 + ROW * layers.len() as f64 }
}

/// Left margin in which every name fits, pixels; at most `most`.
pub(crate) fn margin(layers: &[Layer], most: f64) -> f64 {
    let longest = layers.iter().map(|layer| width(&layer.name, 10.0)).fold(0.0, f64::max);
    (longest / FONTS + 10.0).min(most)
}

/// Draws the rows with their upper edge at `top`. The line of a timeout crosses them.
pub(crate) fn draw(svg: &mut Svg, layers: &[Layer], timeouts: &[Timeout], time: &Scale, top: f64) {
    let foot = top + MARGIN + ROW * layers.len() as f64;
    for (i, layer) in layers.iter().enumerate() {
        let y = top + MARGIN + ROW * i as f64;
        let name = clipped(&layer.name, time.start - 8.0);
        svg.text((time.start - 6.0, y + 13.0), Anchor::End, 10.0, &fill(ink::INK), &name);
        svg.line((time.start, y + ROW), (time.end, y + ROW), &line_style(ink::GRID, 1.0, ""));
        svg.window(time.start, y, time.end - time.start, ROW);
        let shown = sorted(&layer.events, |e| e.t).into_iter();
        let shown: Vec<&LayerEvent> = shown.filter(|e| e.end() >= time.low && e.t <= time.high).collect();
        for event in &shown {
            let (from, until) = (time.at(event.t), time.at(event.end()));
            if event.until.is_some() {
                svg.rect(from, y + 3.0, (until - from).max(1.5), ROW - 6.0, &fill(ink::LAYER));
            } else {
                let mark = format!("M{} {}v{}l4 4l-4 4", n(from), n(y + ROW - 3.0), n(6.0 - ROW));
                svg.path(&mark, &line_style(ink::LAYER_WORDS, 1.4, ""));
            }
        }
        // Intervals get their labels first; ticks get one where space is left.
        let mut taken: Vec<(f64, f64)> = Vec::new();
        let starts: Vec<f64> = shown.iter().map(|event| time.at(event.t)).collect();
        let (bands, flags): (Vec<_>, Vec<_>) = shown.into_iter().partition(|e| e.until.is_some());
        for event in bands.into_iter().chain(flags) {
            let from = time.at(event.t).max(time.start) + 5.0;
            let until = from + width(&event.event, LABEL - 1.0) * 1.1;
            // A label over the next event would name that one too.
            let alone = starts.iter().all(|&start| start <= time.at(event.t) || start > until);
            if alone && until < time.end && taken.iter().all(|&(a, b)| until + 6.0 < a || from > b + 6.0) {
                let style = format!("{} {}", fill(ink::LAYER_WORDS), HALO);
                svg.text((from, y + 13.5), Anchor::Start, LABEL - 1.0, &style, &event.event);
                taken.push((from, until));
            }
        }
        svg.close();
    }
    if layers.is_empty() || timeouts.len() > 30 {
        return;
    }
    for timeout in sorted(timeouts, |e| e.t).iter().filter(|e| e.t >= time.low && e.t <= time.high) {
        let x = time.at(timeout.t);
        svg.line((x, top), (x, foot), &line_style(ink_of(timeout.truth), 1.0, "2 3"));
    }
}

/// Shortens a name to a width in pixels.
fn clipped(name: &str, room: f64) -> String {
    let room = room * FONTS;
    if width(name, 10.0) <= room {
        return name.to_owned();
    }
    let mut short = name.to_owned();
    while !short.is_empty() && width(&short, 10.0) + 8.0 > room {
        short.pop();
    }
    short + "…"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::SegmentKind;

    #[test]
    fn names_of_rows_are_whole_where_there_is_room() {
        let names = ["radio TBF down", "radio TBF up", "radio cell"];
        let layers = names.map(|name| Layer { name: name.to_owned(), events: Vec::new() });
        let left = margin(&layers, 300.0);
        for name in names {
            assert_eq!(clipped(name, left - 8.0), name);
        }
        assert_eq!(margin(&layers, 50.0), 50.0);
    }

    #[test]
    fn what_touches_the_wait_lies_under_the_timeout() {
        let sent = [
            Sent { t: 1.0, seq: 0, end: 100, kind: SegmentKind::New },
            Sent { t: 2.0, seq: 100, end: 200, kind: SegmentKind::New },
            Sent { t: 5.0, seq: 0, end: 100, kind: SegmentKind::Unneeded },
        ];
        let timeout = |t: f64| Timeout { t, seq: 50, truth: Truth::Spurious, ..Timeout::default() };
        let event = |t: f64, until: Option<f64>, event: &str| LayerEvent {
            t,
            until,
            event: event.to_owned(),
            ..LayerEvent::default()
        };
        let layer = Layer {
            name: "radio".to_owned(),
            events: vec![
                event(0.5, None, "before"),
                event(0.2, Some(1.5), "into"),
                event(3.0, None, "in"),
                event(4.9, Some(9.0), "over"),
                event(6.0, None, "after"),
            ],
        };
        let under = under(&[timeout(9.5), timeout(5.0)], &sent, &[layer]);
        let names = |u: &TimeoutOverlap| u.events.iter().map(|e| e.event.event.clone()).collect::<Vec<_>>();
        assert_eq!((under[0].t, under[0].since), (5.0, 1.0));
        assert_eq!(names(&under[0]), ["into", "in", "over"]);
        // The wait for the second timeout started with the retransmission.
        assert_eq!((under[1].t, under[1].since), (9.5, 5.0));
        assert_eq!(names(&under[1]), ["over", "after"]);
    }
}
