//! Chart of values over time as SVG: one panel with shaded outages, timeouts and rows of lower-layer events;
//! drawing of panels below a picture.

use crate::model::{Ink, Interval, Layer, Panel, Series, Style, Timeout, Truth, sorted};
use crate::palette as ink;
use crate::scale::{Scale, scaled};
use crate::strokes::{
    FINE, LABEL, LEFT, RIGHT, fill, headed, ink_of, line_style, panel_names, stairs, value_axis,
};
use crate::svg::{Anchor, Svg, n};
use crate::{decimate, layers};
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;

/// One panel of lines over time, with outages, timeouts and lower-layer events.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Chart {
    /// Heading.
    pub title: String,
    /// Line of text below the heading.
    pub subtitle: String,
    /// Description in a sentence or two.
    pub caption: String,
    /// Lines of the chart.
    pub panel: Panel,
    /// Intervals in which the path was disturbed.
    pub spikes: Vec<Interval>,
    /// Expiries of the retransmission timer.
    pub timeouts: Vec<Timeout>,
    /// Events of lower layers.
    pub layers: Vec<Layer>,
    /// Left end of the time axis, s.
    pub from: f64,
    /// Right end of the time axis, s.
    pub until: f64,
}

impl Ink {
    pub(crate) const fn colour(self) -> &'static str {
        match self {
            Ink::Main => ink::INK,
            Ink::Other => ink::ARRIVAL,
            Ink::Limit => ink::SOFT,
        }
    }
    pub(crate) const fn dash(self) -> &'static str {
        match self {
            Ink::Limit => "5 3",
            Ink::Main | Ink::Other => "",
        }
    }
}

impl Panel {
    /// Largest value between two times, including the value in force at `from`.
    fn highest(&self, from: f64, until: f64) -> f64 {
        let values = self.series.iter().flat_map(|s| {
            let before = s.points.iter().rev().find(|p| p[0] < from).filter(|_| s.style == Style::Stairs);
            s.points.iter().filter(move |p| (from..=until).contains(&p[0])).chain(before)
        });
        values.map(|p| p[1]).filter(|v| v.is_finite()).fold(0.0, f64::max)
    }

    /// Draws the panel between `top` and `bottom`, pixels.
    pub(crate) fn draw(&self, svg: &mut Svg, time: &Scale, top: f64, bottom: f64) {
        let high = self.highest(time.low, time.high);
        let (unit, scale) = scaled(&self.unit, high);
        let y = Scale::new(0.0, if high > 0.0 { high * scale * 1.15 } else { 1.0 }, bottom, top);
        value_axis(svg, &y, time, &unit);
        svg.window(time.start, top, time.end - time.start, bottom - top);
        for series in self.series.iter().rev() {
            let points = series.points.iter().map(|&[t, v]| (t, v * scale));
            match series.style {
                Style::Stairs => {
                    let style = line_style(series.ink.colour(), 1.4, series.ink.dash());
                    svg.path(&stairs(points, time, &y), &style);
                }
                Style::Dots => svg.path(&dots(points, time, &y), &fill(series.ink.colour())),
            }
        }
        svg.close();
        let names: Vec<(&str, &'static str, &str)> =
            self.series.iter().map(|s: &Series| (s.name.as_str(), s.ink.colour(), s.ink.dash())).collect();
        panel_names(svg, time, top, &names);
    }
}

fn dots(points: impl Iterator<Item = (f64, f64)>, time: &Scale, y: &Scale) -> String {
    let marks = points.filter(|p| p.1.is_finite()).map(|(t, v)| (time.at(t), y.at(v), y.at(v)));
    let mut data = String::new();
    for (x, y, _) in decimate::points(marks, FINE) {
        let _ = write!(data, "M{} {}a1.6 1.6 0 1 0 3.2 0a1.6 1.6 0 1 0 -3.2 0", n(x - 1.6), n(y));
    }
    data
}

impl Chart {
    /// The chart as a standalone SVG of `width` by `height` pixels (at least 320 by 240).
    #[must_use]
    pub fn svg(&self, width: u32, height: u32) -> String {
        let (w, h) = (f64::from(width.max(320)), f64::from(height.max(240)));
        let (mut svg, mut top) = headed((w, h), &self.title, &self.caption, &self.subtitle);
        top += 24.0;
        let time = Scale::new(self.from, self.until, LEFT, w - RIGHT);
        let bottom = h - 52.0;
        let main = bottom - layers::height(&self.layers);
        for spike in sorted(&self.spikes, |e| e.from) {
            let (from, until) = (time.at(spike.from).max(time.start), time.at(spike.until).min(time.end));
            svg.rect(from, top, until - from, bottom - top, &fill(ink::SPIKE));
        }
        let (ticks, decimals) = time.ticks((w / 90.0) as usize);
        for t in ticks {
            let x = time.at(t);
            svg.line((x, top), (x, bottom), &line_style(ink::GRID, 1.0, ""));
            svg.text((x, bottom + 13.0), Anchor::Middle, 10.0, &fill(ink::SOFT), &format!("{t:.decimals$}"));
        }
        self.panel.draw(&mut svg, &time, top, main);
        let shown = |e: &&&Timeout| (self.from..=self.until).contains(&e.t);
        for timeout in sorted(&self.timeouts, |e| e.t).iter().filter(shown) {
            let dash = if timeout.truth == Truth::Spurious { "4 3" } else { "" };
            let x = time.at(timeout.t);
            svg.line((x, top), (x, main), &line_style(ink_of(timeout.truth), 1.1, dash));
        }
        layers::draw(&mut svg, &self.layers, &self.timeouts, &time, main);
        let middle = f64::midpoint(LEFT, w - RIGHT);
        svg.text((middle, bottom + 26.0), Anchor::Middle, LABEL, &fill(ink::INK), "time (s)");
        svg.text((LEFT, bottom + 42.0), Anchor::Start, 10.5, &fill(ink::SOFT), &self.key());
        svg.finish()
    }

    /// Legend of shaded areas and vertical lines.
    fn key(&self) -> String {
        let mut words = Vec::new();
        if !self.spikes.is_empty() {
            words.push("shaded: link disturbed");
        }
        let has = |truth| self.timeouts.iter().any(|e| e.truth == truth);
        if has(Truth::Spurious) {
            words.push("dashed: timer expires, nothing was lost");
        }
        if has(Truth::Genuine) {
            words.push("blue: timer expires after a loss");
        }
        if has(Truth::Unknown) {
            words.push("grey: timer expires, cause unknown");
        }
        words.join("; ")
    }
}
