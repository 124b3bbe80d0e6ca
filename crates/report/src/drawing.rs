//! Static SVG of a time-sequence picture, for papers, print and viewers without scripts: labels, sequence
//! plot, window and timer panels.

use std::fmt::Write as _;

use crate::data::note;
use crate::model::{Picture, SegmentKind, Truth, sorted};
use crate::palette as ink;
use crate::scale::Scale;
use crate::story::episodes;
use crate::strokes::{
    FINE, HALO, LABEL, LEFT, RIGHT, fill, headed, ink_of, line_style, panel_names, stairs, stroke, value_axis,
};
use crate::svg::{Anchor, Svg, n, polyline, upright};
use crate::text::width;
use crate::{decimate, layers, legend};

/// Height of a row of labels, pixels.
const ROW: f64 = 15.0;
/// Width of bold text relative to regular text.
const BOLD: f64 = 1.15;
/// Distance within which shapes cover each other, pixels.
const NEAR: f64 = 2.0;

/// Rows of labels, with the occupied intervals of each.
struct Lanes {
    taken: Vec<Vec<(f64, f64)>>,
}

impl Lanes {
    /// Claims the interval `from..to` in the first of `rows` rows where it is free; returns the row.
    fn claim(&mut self, rows: usize, from: f64, to: f64) -> Option<usize> {
        for row in 0..rows {
            if self.taken.len() <= row {
                self.taken.push(Vec::new());
            }
            if self.taken[row].iter().all(|&(a, b)| to < a || from > b) {
                self.taken[row].push((from, to));
                return Some(row);
            }
        }
        None
    }
}

/// Label above the plot: start, row, text and colour.
struct Label {
    x: f64,
    row: usize,
    words: String,
    colour: &'static str,
    /// Index of the label's timeout, in time order.
    timeout: Option<usize>,
}

impl Picture {
    /// The picture as a standalone SVG of `width` by `height` pixels (at least 320 by 240), black on white.
    /// The axis counts segments.
    #[must_use]
    pub fn svg(&self, width: u32, height: u32) -> String {
        let (w, h) = (f64::from(width.max(320)), f64::from(height.max(240)));
        let (mut svg, mut top) = headed((w, h), &self.title, &self.caption(), &self.subtitle);
        let left = LEFT.max(layers::margin(&self.layers, w * 0.3));
        let time = Scale::new(self.begin(), self.end(), left, w - RIGHT);
        let labels = self.labels(&time);
        let rows = labels.iter().map(|l| l.row + 1).max().unwrap_or(0);
        top += 6.0 + rows as f64 * ROW;

        let entries = self.entries();
        let bottom = h - 30.0 - legend::rows(&entries, w).len() as f64 * legend::LINE;
        let below = layers::height(&self.layers);
        // Height left for sequence and panels below the layer rows.
        let room = (bottom - top - below).max(60.0);
        let panel = |present: bool, share: f64| if present { room * share } else { 0.0 };
        // Shares of the height for window, timer and each panel; with several panels the sequence plot gets
        // three tenths.
        let [high, low, each] = match self.panels.len() {
            0 | 1 => [0.22, 0.2, 0.24],
            2 => [0.16, 0.14, 0.2],
            many => [0.14, 0.12, 0.44 / many as f64],
        };
        let (window, timer) = (panel(!self.window.is_empty(), high), panel(!self.timer.is_empty(), low));
        let lines = panel(!self.panels.is_empty(), each * self.panels.len() as f64);
        let main = room - window - timer - lines;

        self.grid(&mut svg, &time, top, bottom);
        self.main_plot(&mut svg, &time, top, top + main, &labels, rows);
        let mut at = top + main;
        layers::draw(&mut svg, &self.layers, &self.timeouts, &time, at);
        at += below;
        if window > 0.0 {
            self.window_panel(&mut svg, &time, at + 16.0, at + window);
            at += window;
        }
        if timer > 0.0 {
            self.timer_panel(&mut svg, &time, at + 16.0, at + timer);
            at += timer;
        }
        for panel in &self.panels {
            let high = lines / self.panels.len() as f64;
            panel.draw(&mut svg, &time, at + 16.0, at + high);
            at += high;
        }
        let (ticks, decimals) = time.ticks((w / 90.0) as usize);
        for t in ticks {
            let words = format!("{t:.decimals$}");
            svg.text((time.at(t), bottom + 13.0), Anchor::Middle, 10.0, &fill(ink::SOFT), &words);
        }
        let middle = f64::midpoint(left, w - RIGHT);
        svg.text((middle, bottom + 26.0), Anchor::Middle, LABEL, &fill(ink::INK), "time (s)");
        legend::draw(&mut svg, &entries, w, bottom + 42.0);
        svg.finish()
    }

    /// Labels of outages and timeouts, placed so that they do not overlap.
    fn labels(&self, time: &Scale) -> Vec<Label> {
        let mut lanes = Lanes { taken: Vec::new() };
        let mut labels = Vec::new();
        let mut place = |x: f64, tries: &[String], colour: &'static str, timeout: Option<usize>| {
            for words in tries {
                let size = width(words, LABEL) + 8.0;
                let start = x.min(time.end - size).max(time.start - 30.0);
                if let Some(row) = lanes.claim(4, start, start + size) {
                    labels.push(Label { x: start, row, words: words.clone(), colour, timeout });
                    return;
                }
            }
        };
        let span = self.end();
        for spike in sorted(&self.spikes, |e| e.from) {
            let name = if spike.name.is_empty() { "link held up" } else { &spike.name };
            let lasts = ((spike.until - spike.from) * 1000.0).round() / 1000.0;
            let long = format!("{name}, {lasts} s");
            place(time.at(spike.from), &[long, name.to_owned()], ink::SPIKE_WORDS, None);
        }
        for (i, timeout) in sorted(&self.timeouts, |e| e.t).into_iter().enumerate() {
            let (short, colour) = match timeout.truth {
                Truth::Spurious => ("spurious", ink::UNNEEDED_WORDS),
                Truth::Genuine => ("genuine", ink::NEEDED_WORDS),
                Truth::Unknown => ("timeout", ink::SOFT),
            };
            place(time.at(timeout.t), &[timeout.label(span), short.to_owned()], colour, Some(i));
        }
        labels
    }

    fn grid(&self, svg: &mut Svg, time: &Scale, top: f64, bottom: f64) {
        for spike in sorted(&self.spikes, |e| e.from) {
            let (from, until) = (time.at(spike.from), time.at(spike.until));
            svg.rect(from, top, until - from, bottom - top, &fill(ink::SPIKE));
        }
        for t in time.ticks(((time.end - time.start) / 90.0) as usize).0 {
            svg.line((time.at(t), top), (time.at(t), bottom), &stroke(ink::GRID, 1.0));
        }
    }

    fn main_plot(&self, svg: &mut Svg, time: &Scale, top: f64, bottom: f64, labels: &[Label], rows: usize) {
        let segment = self.segment();
        let highest = self.top() as f64 / segment;
        let lowest = self.bottom() as f64 / segment;
        let y = Scale::new(lowest, lowest + (highest - lowest).max(1.0) * 1.05, bottom, top);
        value_axis(svg, &y, time, if self.datagrams { "datagram number" } else { "segment number" });
        let at = |seq: u64| y.at(seq as f64 / segment);

        svg.window(time.start, top, time.end - time.start, bottom - top);
        self.plot_data(svg, time, &at);
        svg.close();
        self.plot_marks(svg, time, top, &y, (labels, rows));
        for label in labels {
            let at = (label.x + 4.0, top - (rows - label.row) as f64 * ROW + 11.0);
            let style = format!("{} {}", fill(label.colour), HALO);
            svg.text(at, Anchor::Start, LABEL, &style, &label.words);
        }
        let mut lanes = Lanes { taken: Vec::new() };
        for episode in episodes(self).iter().filter(|e| e.unneeded > 1) {
            let words = note(episode.unneeded);
            let size = width(&words, LABEL) * BOLD;
            let x = (time.at(episode.times.1) - 6.0).min(time.end - size - 4.0);
            let y = (at(episode.range.0) + 16.0).min(bottom - 6.0);
            if lanes.claim(1, x, x + size + 6.0).is_some() {
                let style = format!("{} font-weight=\"bold\" {}", fill(ink::UNNEEDED_WORDS), HALO);
                svg.text((x, y), Anchor::Start, LABEL, &style, &words);
            }
        }
    }

    /// Draws ACKs, arrivals, segments and drops; `at` is the height of a sequence number.
    fn plot_data(&self, svg: &mut Svg, time: &Scale, at: &impl Fn(u64) -> f64) {
        // Drawn in order of importance, the most important marks last, so that they are on top.
        let mut steps = Vec::new();
        for ack in sorted(&self.acks, |e| e.t) {
            let (x, y) = (time.at(ack.t), at(ack.ack));
            if let Some(&(_, before)) = steps.last() {
                steps.push((x, before));
            }
            steps.push((x, y));
        }
        svg.path(&polyline(&decimate::line(steps, FINE)), &line_style(ink::ACK, 1.2, ""));
        let place = |e: &crate::model::Received| (time.at(e.t), at(e.end), at(e.seq));
        let (again, first): (Vec<_>, Vec<_>) =
            sorted(&self.received, |e| e.t).into_iter().partition(|e| e.duplicate);
        let arrivals = first.into_iter().map(place);
        let mut dots = String::new();
        for (x, top, bottom) in decimate::strokes(arrivals, FINE) {
            let _ = write!(dots, "M{} {}V{}", n(x), n(bottom.max(top + 1.0)), n(top.min(bottom - 1.0)));
        }
        svg.path(&dots, &line_style(ink::ARRIVAL, 2.2, ""));
        svg.path(&shapes(again.into_iter().map(place), ring), &line_style(ink::ARRIVAL, 1.3, ""));

        let mut kinds: [Vec<(f64, f64, f64)>; 4] = Default::default();
        for e in sorted(&self.sent, |e| e.t) {
            let kind = match e.kind {
                SegmentKind::New => 0,
                SegmentKind::Retransmission => 1,
                SegmentKind::Unneeded => 2,
                SegmentKind::Unknown => 3,
            };
            kinds[kind].push((time.at(e.t), at(e.end), at(e.seq)));
        }
        let [new, needed, unneeded, unknown] = kinds;
        let new = decimate::strokes(new, FINE);
        let tall = |(x, top, bottom): (f64, f64, f64)| (x, top.min(bottom - 3.0), bottom);
        let new: Vec<_> = new.into_iter().map(tall).collect();
        svg.path(&upright(&new), &line_style(ink::INK, 1.8, ""));
        svg.path(&shapes(unknown, square), &format!("fill=\"#fff\" {}", stroke(ink::UNKNOWN, 1.4)));
        svg.path(&shapes(needed, diamond), &format!("{} {}", fill(ink::NEEDED), stroke("#fff", 0.6)));
        svg.path(&shapes(unneeded, triangle), &format!("{} {}", fill(ink::UNNEEDED), stroke("#fff", 0.6)));
        let drops = sorted(&self.drops, |e| e.t);
        let drops = drops.into_iter().map(|e| (time.at(e.t), at(e.end), at(e.seq)));
        svg.path(&shapes(drops, cross), &line_style(ink::LOST, 2.0, ""));
    }

    /// Draws timeouts, fast retransmits and verdicts.
    fn plot_marks(
        &self,
        svg: &mut Svg,
        time: &Scale,
        top: f64,
        y: &Scale,
        (labels, rows): (&[Label], usize),
    ) {
        let segment = self.segment();
        let at = |seq: u64| y.at(seq as f64 / segment);
        // Many such lines would hide the segments.
        let crowd = self.timeouts.len() > 30;
        for (i, timeout) in sorted(&self.timeouts, |e| e.t).into_iter().enumerate() {
            let (x, foot) = (time.at(timeout.t), at(timeout.seq));
            let dash = if timeout.truth == Truth::Spurious { "4 3" } else { "" };
            let colour = ink_of(timeout.truth);
            // The line of a timeout starts at the height of its own label, or below labels that it crosses.
            let label = labels.iter().find(|l| l.timeout == Some(i));
            let row = label.map_or(rows, |l| if l.x > x - 4.0 { l.row } else { l.row + 1 });
            svg.line(
                (x, top - (rows - row) as f64 * ROW + 2.0),
                (x, if crowd { top + 6.0 } else { foot - 6.0 }),
                &line_style(colour, 1.2, dash),
            );
        }
        for fast in sorted(&self.fast_retransmits, |e| e.t) {
            let colour = ink_of(fast.truth);
            let (x, y) = (time.at(fast.t), y.at(fast.seq as f64 / segment + 0.5));
            let circle = format!("M{} {}a8 8 0 1 0 16 0a8 8 0 1 0 -16 0", n(x - 8.0), n(y));
            svg.path(&circle, &line_style(colour, 1.3, ""));
        }
        for timeout in sorted(&self.timeouts, |e| e.t) {
            let colour = ink_of(timeout.truth);
            let mut flag = |t: f64, inside: &str| {
                let path = format!("M{} {}h9l-4.5 7z", n(time.at(t) - 4.5), n(top));
                svg.path(&path, &format!("{} {}", fill(inside), stroke(colour, 1.2)));
            };
            flag(timeout.t, colour);
            if let Some(at) = timeout.detected_at.filter(|t| t.is_finite()) {
                flag(at, "#fff");
            }
        }
    }

    fn window_panel(&self, svg: &mut Svg, time: &Scale, top: f64, bottom: f64) {
        let samples = sorted(&self.window, |e| e.t);
        let segment = self.segment();
        let high = samples.iter().map(|e| e.cwnd.max(e.flight)).max().unwrap_or(1) as f64 / segment;
        let y = Scale::new(0.0, high.max(1.0) * 1.15, bottom, top);
        value_axis(svg, &y, time, "segments");
        svg.window(time.start, top, time.end - time.start, bottom - top);
        let steps = |value: &dyn Fn(&crate::model::WindowSample) -> Option<u64>| {
            let points = samples.iter().map(|e| (e.t, value(e).map_or(f64::NAN, |v| v as f64 / segment)));
            stairs(points, time, &y)
        };
        svg.path(&steps(&|e| Some(e.flight)), &line_style(ink::ARRIVAL, 1.2, ""));
        svg.path(&steps(&|e| e.ssthresh), &line_style(ink::SOFT, 1.2, "5 3"));
        svg.path(&steps(&|e| Some(e.cwnd)), &line_style(ink::INK, 1.6, ""));
        svg.close();
        let names = [
            ("window", ink::INK, ""),
            ("slow-start threshold", ink::SOFT, "5 3"),
            ("in flight", ink::ARRIVAL, ""),
        ];
        panel_names(svg, time, top, &names);
    }

    fn timer_panel(&self, svg: &mut Svg, time: &Scale, top: f64, bottom: f64) {
        let samples = sorted(&self.timer, |e| e.t);
        let high = samples.iter().map(|e| e.rto.max(e.srtt)).filter(|v| v.is_finite()).fold(0.0, f64::max);
        let y = Scale::new(0.0, if high > 0.0 { high * 1.15 } else { 1.0 }, bottom, top);
        value_axis(svg, &y, time, "seconds");
        svg.window(time.start, top, time.end - time.start, bottom - top);
        let srtt = stairs(samples.iter().map(|e| (e.t, e.srtt)), time, &y);
        let rto = stairs(samples.iter().map(|e| (e.t, e.rto)), time, &y);
        svg.path(&srtt, &line_style(ink::ARRIVAL, 1.2, ""));
        svg.path(&rto, &line_style(ink::INK, 1.6, ""));
        svg.close();
        let names = [("retransmission timeout", ink::INK, ""), ("smoothed round trip", ink::ARRIVAL, "")];
        panel_names(svg, time, top, &names);
    }
}

/// Path data with one shape per mark; a mark taller than the shape gets a bar of its own height.
fn shapes(marks: impl IntoIterator<Item = (f64, f64, f64)>, shape: fn(&mut String, f64, f64)) -> String {
    let mut data = String::new();
    for (x, top, bottom) in decimate::points(marks, NEAR) {
        if bottom - top > 12.0 {
            let _ = write!(data, "M{} {}V{}h3V{}z", n(x - 1.5), n(top), n(bottom), n(top));
        }
        shape(&mut data, x, f64::midpoint(top, bottom));
    }
    data
}

fn triangle(data: &mut String, x: f64, y: f64) {
    let _ = write!(data, "M{} {}l5 9h-10z", n(x), n(y - 5.0));
}

fn diamond(data: &mut String, x: f64, y: f64) {
    let _ = write!(data, "M{} {}l4 4.5l-4 4.5l-4 -4.5z", n(x), n(y - 4.5));
}

fn ring(data: &mut String, x: f64, y: f64) {
    let _ = write!(data, "M{} {}a2.6 2.6 0 1 0 5.2 0a2.6 2.6 0 1 0 -5.2 0", n(x - 2.6), n(y));
}

fn square(data: &mut String, x: f64, y: f64) {
    let _ = write!(data, "M{} {}h7v7h-7z", n(x - 3.5), n(y - 3.5));
}

fn cross(data: &mut String, x: f64, y: f64) {
    let _ = write!(data, "M{} {}l8 8m0 -8l-8 8", n(x - 4.0), n(y - 4.0));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The slow-start threshold has a gap after a response that removes it.
    #[test]
    fn a_value_that_ends_leaves_a_gap() {
        let (time, y) = (Scale::new(0.0, 4.0, 0.0, 400.0), Scale::new(0.0, 1.0, 100.0, 0.0));
        let points = [(0.0, 1.0), (1.0, f64::NAN), (2.0, f64::NAN), (3.0, 0.5)];
        assert_eq!(stairs(points.into_iter(), &time, &y), "M0 0L100 0M300 50L400 50");
    }
}
