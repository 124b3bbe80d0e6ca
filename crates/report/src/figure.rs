//! Redrawn figure of a publication as SVG picture: measured curves with 95 % intervals over published
//! statements.
//!
//! A statement is an area between two bounds, or a line where both are equal; for a single abscissa value it
//! is a vertical bar. The abscissa is linear or logarithmic.

use crate::palette as ink;
use crate::scale::Scale;
use crate::strokes::{LABEL, LEFT, RIGHT, fill, line_style, lines, stroke, value_axis};
use crate::svg::{Anchor, Svg, n, polyline};
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;

/// A figure: measured curves and published statements over one abscissa.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// Heading.
    pub title: String,
    /// Label of the abscissa, with its unit.
    pub x: String,
    /// Label of the ordinate, with its unit.
    pub y: String,
    /// Whether the abscissa is logarithmic.
    #[serde(default)]
    pub logarithmic: bool,
    /// Measured curves.
    pub curves: Vec<Curve>,
    /// Published statements.
    #[serde(default)]
    pub statements: Vec<Statement>,
}

/// A measured curve.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// Label.
    pub name: String,
    /// Abscissa, mean, and the ends of the mean's 95 % interval.
    pub points: Vec<[f64; 4]>,
}

/// A published statement.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Statement {
    /// Text of the statement.
    pub name: String,
    /// Abscissa, lower and upper bound of the statement.
    pub points: Vec<[f64; 3]>,
}

/// Colours and dashes of curves; they differ in lightness, and in dashes for print.
const CURVES: [(&str, &str); 6] = [
    ("#1b1f24", ""),
    ("#0072b2", "7 3"),
    ("#d55e00", "3 3"),
    ("#3aa583", "9 3 2 3"),
    ("#a3307a", "1 3"),
    ("#6e7681", "12 4"),
];
/// Fills of statements.
const AREAS: [&str; 4] = ["#f6e3b4", "#d7e8f4", "#e7dcf0", "#dcecd6"];
/// Half the width of the bar of a statement about a single abscissa value, pixels.
const BAR: f64 = 9.0;
/// Height of a line of the legend, pixels.
const ROW: f64 = 15.0;

impl Figure {
    /// The figure as a standalone SVG of `width` by `height` pixels (at least 320 by 240), black on white.
    #[must_use]
    pub fn svg(&self, width: u32, height: u32) -> String {
        let (w, h) = (f64::from(width.max(320)), f64::from(height.max(240)));
        let mut svg = Svg::new(w, h, &self.title, &self.summary());
        svg.rect(0.0, 0.0, w, h, "fill=\"#fff\"");
        let mut top = 12.0;
        if !self.title.is_empty() {
            top += 18.0;
            let style = format!("fill=\"{}\" font-weight=\"bold\"", ink::INK);
            svg.text((LEFT, top - 6.0), Anchor::Start, 14.0, &style, &self.title);
        }
        let key = self.key(w - LEFT - RIGHT - 30.0);
        let rows: usize = key.iter().map(|(_, lines)| lines.len()).sum();
        let bottom = (h - 44.0 - ROW * rows as f64).max(top + 60.0);
        let (x, y) = (self.abscissa(w), self.ordinate(top, bottom));
        value_axis(&mut svg, &y, &x, &self.y);
        for (at, words) in self.ticks(&x, w) {
            svg.line((at, bottom), (at, bottom + 4.0), &stroke(ink::SOFT, 1.0));
            svg.text((at, bottom + 15.0), Anchor::Middle, 10.0, &fill(ink::SOFT), &words);
        }
        for (i, statement) in self.statements.iter().enumerate() {
            svg.path(&self.area(statement, &x, &y), &area_style(i));
        }
        for (i, curve) in self.curves.iter().enumerate() {
            self.curve(&mut svg, curve, CURVES[i % CURVES.len()], &x, &y);
        }
        let middle = f64::midpoint(LEFT, w - RIGHT);
        svg.text((middle, bottom + 30.0), Anchor::Middle, LABEL, &fill(ink::INK), &self.x);
        let mut at = bottom + 46.0;
        for (mark, lines) in key {
            match mark {
                Mark::Curve(i) => {
                    let (colour, dash) = CURVES[i % CURVES.len()];
                    svg.line((LEFT, at - 4.0), (LEFT + 22.0, at - 4.0), &line_style(colour, 2.0, dash));
                }
                Mark::Area(i) => svg.rect(LEFT, at - 10.0, 22.0, 11.0, &area_style(i)),
            }
            for line in lines {
                svg.text((LEFT + 30.0, at), Anchor::Start, LABEL, &fill(ink::INK), &line);
                at += ROW;
            }
        }
        svg.finish()
    }

    /// Position of an abscissa value on its scale.
    fn place(&self, x: f64) -> f64 {
        if self.logarithmic { x.max(f64::MIN_POSITIVE).log10() } else { x }
    }

    fn abscissa(&self, w: f64) -> Scale {
        let curves = self.curves.iter().flat_map(|c| c.points.iter().map(|p| p[0]));
        let all = curves.chain(self.statements.iter().flat_map(|s| s.points.iter().map(|p| p[0])));
        let (low, high) = all
            .map(|x| self.place(x))
            .filter(|x| x.is_finite())
            .fold((f64::MAX, f64::MIN), |(low, high), x| (low.min(x), high.max(x)));
        let room = 0.06 * (high - low).max(0.0);
        Scale::new(low - room, high + room, LEFT, w - RIGHT)
    }

    fn ordinate(&self, top: f64, bottom: f64) -> Scale {
        let curves = self.curves.iter().flat_map(|c| c.points.iter().flat_map(|p| [p[1], p[3]]));
        let bounds = self.statements.iter().flat_map(|s| s.points.iter().flat_map(|p| [p[1], p[2]]));
        let most = curves.chain(bounds).filter(|y| y.is_finite()).fold(0.0, f64::max);
        Scale::new(0.0, if most > 0.0 { 1.06 * most } else { 1.0 }, bottom, top)
    }

    /// Pixels and labels of the abscissa's ticks; on a logarithmic abscissa, the measured values.
    fn ticks(&self, x: &Scale, w: f64) -> Vec<(f64, String)> {
        if !self.logarithmic {
            let (ticks, decimals) = x.ticks((w / 90.0) as usize);
            return ticks.into_iter().map(|t| (x.at(t), format!("{t:.decimals$}"))).collect();
        }
        let mut all: Vec<f64> = self.curves.iter().flat_map(|c| c.points.iter().map(|p| p[0])).collect();
        all.sort_by(f64::total_cmp);
        all.dedup();
        let mut ticks: Vec<(f64, String)> = Vec::new();
        for value in all {
            let at = x.at(self.place(value));
            if ticks.last().is_none_or(|last| at - last.0 > 36.0) {
                ticks.push((at, format!("{value}")));
            }
        }
        ticks
    }

    /// Path data of a statement.
    fn area(&self, statement: &Statement, x: &Scale, y: &Scale) -> String {
        let known = statement.points.iter().filter(|p| p.iter().all(|v| v.is_finite()));
        let mut low: Vec<(f64, f64)> = Vec::new();
        let mut high: Vec<(f64, f64)> = Vec::new();
        for [at, a, b] in known.copied() {
            let at = x.at(self.place(at));
            low.push((at, y.at(a.min(b))));
            high.push((at, y.at(a.max(b))));
        }
        if let ([(at, bottom)], [(_, top)]) = (&low[..], &high[..]) {
            let (left, right) = (at - BAR, at + BAR);
            return polyline(&[(left, *bottom), (right, *bottom), (right, *top), (left, *top)]) + "Z";
        }
        high.reverse();
        low.extend(high);
        if low.is_empty() { String::new() } else { polyline(&low) + "Z" }
    }

    fn curve(&self, svg: &mut Svg, curve: &Curve, (colour, dash): (&str, &str), x: &Scale, y: &Scale) {
        let known: Vec<&[f64; 4]> =
            curve.points.iter().filter(|p| p[0].is_finite() && p[1].is_finite()).collect();
        let points: Vec<(f64, f64)> = known.iter().map(|p| (x.at(self.place(p[0])), y.at(p[1]))).collect();
        svg.path(&polyline(&points), &line_style(colour, 1.8, dash));
        let (mut marks, mut ends) = (String::new(), String::new());
        for ((at, mean), point) in points.iter().zip(&known) {
            let _ = write!(marks, "M{} {}a2.6 2.6 0 1 0 5.2 0a2.6 2.6 0 1 0 -5.2 0", n(at - 2.6), n(*mean));
            if point[2].is_finite() && point[3].is_finite() && point[3] > point[2] {
                let (low, high) = (n(y.at(point[2])), n(y.at(point[3])));
                let (left, right, at) = (n(at - 4.0), n(at + 4.0), n(*at));
                let _ = write!(ends, "M{left} {high}H{right}M{at} {high}V{low}M{left} {low}H{right}");
            }
        }
        svg.path(&ends, &line_style(colour, 1.2, ""));
        svg.path(&marks, &fill(colour));
    }

    /// Entries of the legend, wrapped to a width in pixels.
    fn key(&self, room: f64) -> Vec<(Mark, Vec<String>)> {
        let curves = self.curves.iter().enumerate().map(|(i, c)| (Mark::Curve(i), lines(&c.name, room)));
        let published = |s: &Statement| lines(&format!("published: {}", s.name), room);
        curves.chain(self.statements.iter().enumerate().map(|(i, s)| (Mark::Area(i), published(s)))).collect()
    }

    /// All values as text, for screen readers.
    fn summary(&self) -> String {
        let mut words = Vec::new();
        for curve in &self.curves {
            let points: Vec<String> =
                curve.points.iter().map(|p| format!("{:.4} at {:.4}", p[1], p[0])).collect();
            words.push(format!("{}: {}.", curve.name, points.join(", ")));
        }
        for s in &self.statements {
            let points: Vec<String> =
                s.points.iter().map(|p| format!("{:.4} to {:.4} at {:.4}", p[1], p[2], p[0])).collect();
            words.push(format!("Published: {}: {}.", s.name, points.join(", ")));
        }
        words.join(" ")
    }
}

/// Symbol before an entry of the legend.
#[derive(Clone, Copy)]
enum Mark {
    Curve(usize),
    Area(usize),
}

fn area_style(i: usize) -> String {
    format!(
        "fill=\"{}\" stroke=\"#8a6d1f\" stroke-width=\"0.8\" fill-opacity=\"0.75\"",
        AREAS[i % AREAS.len()]
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure() -> Figure {
        Figure {
            title: "Throughput over load".into(),
            x: "Erlang".into(),
            y: "kbit/s".into(),
            logarithmic: false,
            curves: vec![Curve {
                name: "536 <B>".into(),
                points: vec![[1.0, 60.0, 55.0, 65.0], [3.0, 30.0, f64::NAN, f64::NAN]],
            }],
            statements: vec![
                Statement { name: "a band".into(), points: vec![[1.0, 50.0, 58.0], [3.0, 25.0, 29.0]] },
                Statement { name: "one value".into(), points: vec![[2.0, 40.0, 80.0]] },
            ],
        }
    }

    #[test]
    fn curves_lie_over_what_was_published() {
        let svg = figure().svg(600, 400);
        assert!(svg.contains("536 &lt;B&gt;") && svg.contains("published: a band"), "{svg}");
        let (area, curve) = (svg.find(AREAS[0]).unwrap(), svg.find(CURVES[0].0).unwrap());
        assert!(area < svg.rfind("stroke-width=\"1.8\"").unwrap() && curve > 0, "statements come first");
        // One interval is known, one point has none.
        assert_eq!(svg.matches("stroke-width=\"1.2\"").count(), 1);
        assert!(svg.contains("60.0000 at 1.0000"), "values in words");
    }

    #[test]
    fn a_statement_about_one_value_is_a_bar_and_a_band_an_area() {
        let f = figure();
        let (x, y) = (f.abscissa(600.0), f.ordinate(20.0, 300.0));
        let band = f.area(&f.statements[0], &x, &y);
        let bar = f.area(&f.statements[1], &x, &y);
        assert_eq!((band.matches('L').count(), bar.matches('L').count()), (3, 3));
        let at = x.at(2.0);
        assert!(bar.starts_with(&format!("M{} {}", n(at - BAR), n(y.at(40.0)))), "{bar}");
        assert!(y.high >= 80.0, "statements are inside of the frame");
    }

    #[test]
    fn a_logarithmic_abscissa_has_equal_steps_for_octaves() {
        let mut f = figure();
        f.logarithmic = true;
        f.curves[0].points = [10.0, 20.0, 40.0, 80.0].map(|x| [x, x, x, x]).to_vec();
        f.statements.clear();
        let x = f.abscissa(600.0);
        let ticks = f.ticks(&x, 600.0);
        assert_eq!(ticks.iter().map(|t| t.1.as_str()).collect::<Vec<_>>(), ["10", "20", "40", "80"]);
        let steps: Vec<f64> = ticks.windows(2).map(|w| w[1].0 - w[0].0).collect();
        assert!((steps[0] - steps[2]).abs() < 1e-6);
    }

    #[test]
    fn nothing_measured_is_an_empty_frame() {
        let svg = Figure::default().svg(0, 0);
        assert!(svg.starts_with("<svg") && svg.ends_with("</svg>") && !svg.contains("NaN"));
    }
}
