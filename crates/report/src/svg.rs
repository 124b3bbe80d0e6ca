//! SVG writer of pictures: finite numbers, escaped text, closed elements.

use std::fmt::Write as _;

use crate::text::escape;

/// Anchor of a text relative to its point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// A drawing under construction. Coordinates are pixels, increasing to the right and downward.
pub(crate) struct Svg {
    out: String,
    open: Vec<&'static str>,
}

/// A number with at most two decimals; NaN becomes 0.
pub(crate) fn n(value: f64) -> String {
    if !value.is_finite() {
        return "0".to_owned();
    }
    let mut text = format!("{:.2}", value.clamp(-1e7, 1e7));
    while text.ends_with('0') {
        text.pop();
    }
    if text.ends_with('.') {
        text.pop();
    }
    if text == "-0" { "0".to_owned() } else { text }
}

impl Svg {
    /// A drawing of `width` by `height` pixels with a title and a description for screen readers.
    pub(crate) fn new(width: f64, height: f64, title: &str, desc: &str) -> Self {
        let mut out = String::new();
        let _ = write!(
            out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{w}\" height=\"{h}\" viewBox=\"0 0 {w} {h}\" \
             role=\"img\" aria-label=\"{t}\" font-family=\"Helvetica, Arial, 'DejaVu Sans', sans-serif\">\
             <title>{t}</title><desc>{d}</desc>",
            w = n(width),
            h = n(height),
            t = escape(title),
            d = escape(desc),
        );
        Self { out, open: vec!["svg"] }
    }

    /// Opens a group; `attributes` is text of the program, never of a user.
    pub(crate) fn group(&mut self, attributes: &str) {
        let _ = write!(self.out, "<g {attributes}>");
        self.open.push("g");
    }

    /// Opens an area that clips its content.
    pub(crate) fn window(&mut self, x: f64, y: f64, width: f64, height: f64) {
        let (x, y, w, h) = (n(x), n(y), n(width.max(1.0)), n(height.max(1.0)));
        let _ = write!(
            self.out,
            "<svg x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\" viewBox=\"{x} {y} {w} {h}\" overflow=\"hidden\">"
        );
        self.open.push("svg");
    }

    /// Closes the innermost group or clipped area.
    pub(crate) fn close(&mut self) {
        if let Some(name) = self.open.pop() {
            let _ = write!(self.out, "</{name}>");
        }
    }

    pub(crate) fn rect(&mut self, x: f64, y: f64, width: f64, height: f64, attributes: &str) {
        let (x, y, w, h) = (n(x), n(y), n(width.max(0.0)), n(height.max(0.0)));
        let _ = write!(self.out, "<rect x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\" {attributes}/>");
    }

    pub(crate) fn line(&mut self, from: (f64, f64), to: (f64, f64), attributes: &str) {
        let (x, y, u, v) = (n(from.0), n(from.1), n(to.0), n(to.1));
        let _ = write!(self.out, "<line x1=\"{x}\" y1=\"{y}\" x2=\"{u}\" y2=\"{v}\" {attributes}/>");
    }

    /// A path from path data; nothing for empty data.
    pub(crate) fn path(&mut self, data: &str, attributes: &str) {
        if !data.is_empty() {
            let _ = write!(self.out, "<path d=\"{data}\" {attributes}/>");
        }
    }

    /// Appends a ready-made element of the program.
    pub(crate) fn path_markup(&mut self, markup: &'static str) {
        self.out.push_str(markup);
    }

    pub(crate) fn text(&mut self, at: (f64, f64), anchor: Anchor, size: f64, attributes: &str, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let (x, y, size, text) = (n(at.0), n(at.1), n(size), escape(text));
        let _ = write!(
            self.out,
            "<text x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\" font-size=\"{size}\" {attributes}>{text}</text>"
        );
    }

    /// The drawing as text, with all elements closed.
    pub(crate) fn finish(mut self) -> String {
        while !self.open.is_empty() {
            self.close();
        }
        self.out
    }
}

/// Path data of a polyline.
pub(crate) fn polyline(points: &[(f64, f64)]) -> String {
    let mut data = String::with_capacity(points.len() * 12);
    for (i, &(x, y)) in points.iter().enumerate() {
        let _ = write!(data, "{}{} {}", if i == 0 { "M" } else { "L" }, n(x), n(y));
    }
    data
}

/// Path data of vertical strokes `(x, top, bottom)`.
pub(crate) fn upright(strokes: &[(f64, f64, f64)]) -> String {
    let mut data = String::with_capacity(strokes.len() * 16);
    for &(x, top, bottom) in strokes {
        let _ = write!(data, "M{} {}V{}", n(x), n(top), n(bottom));
    }
    data
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_finite_and_short() {
        assert_eq!(n(3.0), "3");
        assert_eq!(n(3.146), "3.15");
        assert_eq!(n(-0.001), "0");
        assert_eq!(n(f64::NAN), "0");
        assert_eq!(n(100.0), "100");
    }

    #[test]
    fn everything_is_closed() {
        let mut svg = Svg::new(10.0, 10.0, "<t>", "d");
        svg.group("class=\"a\"");
        svg.window(0.0, 0.0, 5.0, 5.0);
        svg.text((1.0, 1.0), Anchor::Start, 9.0, "", "a & b");
        let out = svg.finish();
        assert!(out.ends_with("</svg></g></svg>"));
        assert!(out.contains("<title>&lt;t&gt;</title>") && out.contains("a &amp; b"));
    }
}
