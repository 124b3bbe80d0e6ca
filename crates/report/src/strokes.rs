//! Axes, line styles, margins and step lines of all pictures.

use crate::decimate;
use crate::model::Truth;
use crate::palette as ink;
use crate::scale::Scale;
use crate::svg::{Anchor, Svg, n, polyline};
use crate::text::{grouped, width};

/// Font size of a label, pixels.
pub(crate) const LABEL: f64 = 11.0;
/// Left margin of the plot, pixels.
pub(crate) const LEFT: f64 = 62.0;
/// Right margin of the plot, pixels.
pub(crate) const RIGHT: f64 = 14.0;
/// Minimum distance of two marks, pixels.
pub(crate) const FINE: f64 = 0.5;

/// Breaks a text at spaces into lines of at most `room` pixels.
pub(crate) fn lines(text: &str, room: f64) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match out.last_mut() {
            Some(line) if width(line, LABEL) + width(word, LABEL) + 4.0 < room * 0.95 => {
                line.push(' ');
                line.push_str(word);
            }
            _ => out.push(word.to_owned()),
        }
    }
    out
}

/// A white drawing of this size with heading, caption and subtitle; and the vertical position below them.
pub(crate) fn headed((w, h): (f64, f64), title: &str, caption: &str, subtitle: &str) -> (Svg, f64) {
    let mut svg = Svg::new(w, h, title, caption);
    svg.rect(0.0, 0.0, w, h, "fill=\"#fff\"");
    let mut top = 8.0;
    if !title.is_empty() {
        top += 16.0;
        let style = format!("fill=\"{}\" font-weight=\"bold\"", ink::INK);
        svg.text((LEFT, top - 3.0), Anchor::Start, 14.0, &style, title);
    }
    for line in lines(subtitle, w - LEFT - RIGHT) {
        top += 16.0;
        svg.text((LEFT, top - 3.0), Anchor::Start, LABEL, &fill(ink::SOFT), &line);
    }
    (svg, top)
}

/// Colour of a verdict.
pub(crate) fn ink_of(truth: Truth) -> &'static str {
    match truth {
        Truth::Spurious => ink::UNNEEDED,
        Truth::Genuine => ink::NEEDED,
        Truth::Unknown => ink::UNKNOWN,
    }
}

/// Style of text with a white outline, legible over any background.
pub(crate) const HALO: &str =
    "stroke=\"#fff\" stroke-width=\"3\" stroke-linejoin=\"round\" paint-order=\"stroke\"";

pub(crate) fn fill(colour: &str) -> String {
    format!("fill=\"{colour}\"")
}

pub(crate) fn stroke(colour: &str, width: f64) -> String {
    format!("stroke=\"{colour}\" stroke-width=\"{}\"", n(width))
}

pub(crate) fn line_style(colour: &str, width: f64, dash: &str) -> String {
    let dash = if dash.is_empty() { String::new() } else { format!(" stroke-dasharray=\"{dash}\"") };
    format!("fill=\"none\" {}{dash}", stroke(colour, width))
}

pub(crate) fn value_axis(svg: &mut Svg, y: &Scale, time: &Scale, unit: &str) {
    let (ticks, decimals) = y.ticks((((y.start - y.end) / 32.0) as usize).max(3));
    for value in ticks {
        let at = y.at(value);
        svg.line((time.start, at), (time.end, at), &stroke(ink::GRID, 1.0));
        let words =
            if decimals == 0 { grouped(value.max(0.0) as u64) } else { format!("{value:.decimals$}") };
        svg.text((time.start - 6.0, at + 3.5), Anchor::End, 10.0, &fill(ink::SOFT), &words);
    }
    svg.line((time.start, y.end), (time.start, y.start), &stroke(ink::SOFT, 1.0));
    svg.line((time.start, y.start), (time.end, y.start), &stroke(ink::SOFT, 1.0));
    let (x, middle) = (14.0, f64::midpoint(y.start, y.end));
    // A title longer than the axis is broken at its spaces, so that it does not run into the next panel's.
    for (i, line) in lines(unit, y.start - y.end + 8.0).iter().enumerate() {
        let x = x + 12.0 * i as f64;
        let turn = format!("{} transform=\"rotate(-90 {} {})\"", fill(ink::INK), n(x), n(middle));
        svg.text((x, middle), Anchor::Middle, LABEL, &turn, line);
    }
}

pub(crate) fn panel_names(svg: &mut Svg, time: &Scale, top: f64, names: &[(&str, &'static str, &str)]) {
    let mut x = time.start + 4.0;
    for (name, colour, dash) in names {
        svg.line((x, top - 5.0), (x + 16.0, top - 5.0), &line_style(colour, 1.6, dash));
        svg.text((x + 20.0, top - 2.0), Anchor::Start, 10.0, &fill(ink::INK), name);
        x += 32.0 + width(name, 10.0);
    }
}

/// Path data of a step line to the right edge; non-finite values are gaps.
pub(crate) fn stairs(points: impl Iterator<Item = (f64, f64)>, time: &Scale, y: &Scale) -> String {
    let mut data = String::new();
    let mut steps: Vec<(f64, f64)> = Vec::new();
    let mut finish = |steps: &mut Vec<(f64, f64)>, x: f64| {
        if let Some(&(_, last)) = steps.last() {
            steps.push((x, last));
            data += &polyline(&decimate::line(std::mem::take(steps), FINE));
        }
    };
    for (t, value) in points {
        let px = time.at(t);
        if !value.is_finite() {
            finish(&mut steps, px);
            continue;
        }
        let py = y.at(value);
        if let Some(&(_, before)) = steps.last() {
            steps.push((px, before));
        }
        steps.push((px, py));
    }
    finish(&mut steps, time.end);
    data
}
