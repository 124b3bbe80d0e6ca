//! Bar chart as SVG picture: measured means in groups, 95 % confidence intervals, published values.

use serde::{Deserialize, Serialize};

use crate::palette as ink;
use crate::scale::Scale;
use crate::svg::{Anchor, Svg, n};
use crate::text::width;

/// Bar chart of measured means beside published values.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Bars {
    /// Quantity compared.
    pub title: String,
    /// Unit of all values, for example `s`; empty for ratios.
    #[serde(default)]
    pub unit: String,
    /// Groups, from left to right.
    #[serde(default)]
    pub groups: Vec<BarGroup>,
}

/// Group of adjacent bars.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BarGroup {
    /// Name below the group.
    pub name: String,
    /// Bars, from left to right; bars of one name have one shade in every group.
    pub bars: Vec<Bar>,
}

/// One measured value.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Bar {
    /// Name of the variant.
    pub name: String,
    /// Measured mean, in the unit of the chart.
    pub value: f64,
    /// Lower end of its 95 % interval, in the unit of the chart.
    pub low: f64,
    /// Upper end of its 95 % interval, in the unit of the chart.
    pub high: f64,
    /// Published value, in the unit of the chart.
    #[serde(default)]
    pub published: Option<f64>,
}

/// Fills of bars. They differ in lightness, so that they are distinct in grey.
const FILLS: [&str; 8] =
    ["#33506b", "#8fb4d3", "#5b7f4a", "#b9d3a6", "#7d5a86", "#cdb4d6", "#6f6f6f", "#c4c4c4"];

impl Bars {
    /// The chart as a standalone SVG of `width` by `height` pixels (at least 320 by 200), black on white.
    #[must_use]
    pub fn svg(&self, width: u32, height: u32) -> String {
        self.draw(width, height, true)
    }

    /// Draws the chart. Inside a page the background is the page's, and style classes set the colours.
    pub(crate) fn draw(&self, wide: u32, high: u32, standalone: bool) -> String {
        let (w, h) = (f64::from(wide.max(320)), f64::from(high.max(200)));
        let mut svg = Svg::new(w, h, &self.title, &self.summary());
        let text = format!("class=\"ink\" fill=\"{}\"", ink::INK);
        let soft = format!("class=\"soft\" fill=\"{}\"", ink::SOFT);
        let mut top = 14.0;
        if standalone {
            svg.rect(0.0, 0.0, w, h, "fill=\"#fff\"");
            top = 34.0;
            svg.text((52.0, 20.0), Anchor::Start, 14.0, &format!("{text} font-weight=\"bold\""), &self.title);
        }
        let names = self.names();
        let legend = self.legend(&names, w);
        let bottom = h - 26.0 - 17.0 * legend.len() as f64;
        let finite =
            self.groups.iter().flat_map(|g| &g.bars).flat_map(|b| [Some(b.value), Some(b.high), b.published]);
        let most = finite.flatten().filter(|v| v.is_finite()).fold(0.0, f64::max);
        let y = Scale::new(0.0, if most > 0.0 { most * 1.06 } else { 1.0 }, bottom, top);
        let (ticks, decimals) = y.ticks(((bottom - top) / 40.0) as usize);
        for value in ticks {
            let at = y.at(value);
            let style = format!("class=\"grid\" stroke=\"{}\"", ink::GRID);
            svg.line((52.0, at), (w - 8.0, at), &style);
            svg.text((46.0, at + 4.0), Anchor::End, 11.0, &soft, &format!("{value:.decimals$}"));
        }
        if !self.unit.is_empty() {
            let turn = format!("{text} transform=\"rotate(-90 12 {})\"", n(f64::midpoint(top, bottom)));
            svg.text((12.0, f64::midpoint(top, bottom)), Anchor::Middle, 11.0, &turn, &self.unit);
        }
        let room = (w - 60.0) / self.groups.len().max(1) as f64;
        for (i, group) in self.groups.iter().enumerate() {
            let left = 52.0 + room * i as f64;
            let slot = (room * 0.86 / group.bars.len().max(1) as f64).min(60.0);
            let start = left + (room - slot * group.bars.len() as f64) / 2.0;
            for (j, bar) in group.bars.iter().enumerate() {
                draw_bar(&mut svg, bar, &y, start + slot * j as f64, slot, shade(&names, &bar.name));
            }
            let middle = (left + room / 2.0, bottom + 17.0);
            svg.text(middle, Anchor::Middle, 12.0, &text, &group.name);
        }
        svg.line((52.0, bottom), (w - 8.0, bottom), &format!("class=\"axis\" stroke=\"{}\"", ink::SOFT));
        for (i, row) in legend.iter().enumerate() {
            let at = bottom + 35.0 + 17.0 * i as f64;
            for (x, words, what) in row {
                match what {
                    Some(fill) => svg.rect(*x, at - 9.0, 10.0, 10.0, &format!("fill=\"{fill}\"")),
                    None if *words == PUBLISHED => svg.path(&mark(x + 5.0, at - 4.0), MARK),
                    None => svg.path(&whisker(x + 5.0, at - 9.0, at + 1.0), WHISKER),
                }
                svg.text((x + 15.0, at), Anchor::Start, 11.0, &text, words);
            }
        }
        svg.finish()
    }

    /// Names of the bars in order of appearance.
    fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for bar in self.groups.iter().flat_map(|g| &g.bars) {
            if !names.contains(&bar.name.as_str()) {
                names.push(&bar.name);
            }
        }
        names
    }

    /// Rows of legend entries: horizontal position, text, and fill; no fill for the mark of published values.
    fn legend<'a>(&'a self, names: &[&'a str], w: f64) -> Vec<Vec<(f64, &'a str, Option<&'static str>)>> {
        let mut entries: Vec<(&str, Option<&'static str>)> =
            names.iter().map(|name| (*name, Some(shade(names, name)))).collect();
        entries.push((INTERVAL, None));
        if self.groups.iter().flat_map(|g| &g.bars).any(|b| b.published.is_some()) {
            entries.push((PUBLISHED, None));
        }
        let mut rows = vec![Vec::new()];
        let mut x = 52.0;
        for (words, fill) in entries {
            let size = 34.0 + width(words, 11.0);
            if x + size > w && x > 52.0 {
                rows.push(Vec::new());
                x = 52.0;
            }
            if let Some(row) = rows.last_mut() {
                row.push((x, words, fill));
            }
            x += size;
        }
        rows
    }

    /// All values as text, for screen readers.
    fn summary(&self) -> String {
        let mut lines = Vec::new();
        for group in &self.groups {
            for bar in &group.bars {
                let known = bar.published.filter(|v| v.is_finite());
                let published = known.map_or(String::new(), |v| format!(", published {v}"));
                lines.push(format!(
                    "{}, {}: {:.3} {} ({:.3} to {:.3}){published}.",
                    group.name, bar.name, bar.value, self.unit, bar.low, bar.high
                ));
            }
        }
        lines.join(" ")
    }
}

const PUBLISHED: &str = "published";
const INTERVAL: &str = "95 % interval of the mean";
const MARK: &str = "class=\"mark\" fill=\"#fff\" stroke=\"#d55e00\" stroke-width=\"2\"";
const WHISKER: &str = "class=\"whisker\" fill=\"none\" stroke=\"#1b1f24\" stroke-width=\"1.4\"";

fn shade(names: &[&str], name: &str) -> &'static str {
    FILLS[names.iter().position(|n| *n == name).unwrap_or(0) % FILLS.len()]
}

fn draw_bar(svg: &mut Svg, bar: &Bar, y: &Scale, x: f64, slot: f64, fill: &str) {
    // Interval and published value stand side by side, so that neither hides the other.
    let (left, right) = (x + slot * 0.3, x + slot * 0.68);
    let top = y.at(bar.value.max(0.0));
    svg.group("class=\"bar\"");
    svg.rect(x + slot * 0.08, top, slot * 0.84, y.start - top, &format!("fill=\"{fill}\""));
    if bar.low.is_finite() && bar.high.is_finite() && bar.high > bar.low {
        svg.path(
            &whisker(right, y.at(bar.high), y.at(bar.low)),
            "class=\"edge\" fill=\"none\" stroke=\"#fff\" stroke-width=\"3.4\"",
        );
        svg.path(&whisker(right, y.at(bar.high), y.at(bar.low)), WHISKER);
    }
    if let Some(published) = bar.published.filter(|v| v.is_finite()) {
        svg.path(&mark(left, y.at(published)), MARK);
    }
    svg.close();
}

fn whisker(x: f64, top: f64, bottom: f64) -> String {
    let (l, r) = (n(x - 3.0), n(x + 3.0));
    let (x, t, b) = (n(x), n(top), n(bottom));
    format!("M{l} {t}H{r}M{x} {t}V{b}M{l} {b}H{r}")
}

fn mark(x: f64, y: f64) -> String {
    format!("M{} {}l5 5l-5 5l-5 -5z", n(x), n(y - 5.0))
}
