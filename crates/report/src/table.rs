//! Tables of published and measured values as HTML, with verdicts on cells as colour, symbol and word.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use crate::svg::{Svg, n};
use crate::text::{escape, prose};

/// A table with verdicts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// Caption.
    pub title: String,
    /// Heads of the columns; the first column names the rows.
    pub columns: Vec<String>,
    /// Rows of cells; missing cells at the end of a row are empty.
    #[serde(default)]
    pub rows: Vec<Vec<Cell>>,
    /// Notes below the table.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// A cell.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// Text; a line break starts a second line in a smaller font.
    pub text: String,
    /// Verdict on the value.
    #[serde(default)]
    pub state: CellVerdict,
    /// Small drawing of the measured value against the published one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strip: Option<ComparisonStrip>,
}

/// Verdict of a cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CellVerdict {
    /// No verdict.
    #[default]
    Plain,
    /// Measured value within the tolerance of the published one.
    Inside,
    /// Measured value outside the tolerance.
    Outside,
    /// The claim holds.
    Holds,
    /// The claim does not hold.
    Fails,
}

/// Measured against published value, all in one unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ComparisonStrip {
    /// Published value.
    pub published: f64,
    /// Tolerance around the published value.
    pub band: f64,
    /// Measured mean.
    pub measured: f64,
    /// Lower end of the mean's 95 % interval.
    pub low: f64,
    /// Upper end of the mean's 95 % interval.
    pub high: f64,
}

impl CellVerdict {
    /// Class, symbol and word.
    fn face(self) -> Option<(&'static str, &'static str, &'static str)> {
        match self {
            Self::Plain => None,
            Self::Inside => Some(("inside", "\u{2713}", "inside the band")),
            Self::Outside => Some(("outside", "\u{2717}", "outside the band")),
            Self::Holds => Some(("holds", "\u{2713}", "holds")),
            Self::Fails => Some(("fails", "\u{2717}", "fails")),
        }
    }
}

impl Cell {
    /// A cell without a verdict.
    pub fn plain(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// A cell with a verdict.
    pub fn judged(text: impl Into<String>, state: CellVerdict) -> Self {
        Self { text: text.into(), state, strip: None }
    }

    /// Copy of the cell with a drawing.
    #[must_use]
    pub fn with_strip(mut self, strip: ComparisonStrip) -> Self {
        self.strip = Some(strip);
        self
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::plain(text)
    }
}

impl Table {
    /// Number of cells by verdict, as text; empty without verdicts.
    #[must_use]
    pub fn summary(&self) -> String {
        let of = |state| self.rows.iter().flatten().filter(|c| c.state == state).count();
        let mut parts = Vec::new();
        let (inside, outside) = (of(CellVerdict::Inside), of(CellVerdict::Outside));
        if inside + outside > 0 {
            parts.push(format!("{inside} of {} values inside the band", inside + outside));
        }
        let (holds, fails) = (of(CellVerdict::Holds), of(CellVerdict::Fails));
        if holds + fails > 0 {
            parts.push(format!("{holds} of {} claims hold", holds + fails));
        }
        parts.join(", ")
    }

    pub(crate) fn html(&self, out: &mut String) {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0).max(self.columns.len());
        out.push_str("<div class=\"table\" tabindex=\"0\" role=\"region\" aria-label=\"");
        out.push_str(&escape(&self.title));
        out.push_str("\"><table><caption>");
        out.push_str(&escape(&self.title));
        let summary = self.summary();
        if !summary.is_empty() {
            let bad = self
                .rows
                .iter()
                .flatten()
                .any(|c| matches!(c.state, CellVerdict::Outside | CellVerdict::Fails));
            let class = if bad { "outside" } else { "inside" };
            let _ = write!(out, " <span class=\"summary {class}\">{summary}</span>");
        }
        out.push_str("</caption><thead><tr>");
        let numeric: Vec<bool> = (0..columns).map(|i| self.is_numeric(i)).collect();
        for (i, number) in numeric.iter().enumerate() {
            let class = if *number { " class=\"number\"" } else { "" };
            let head = self.columns.get(i).map(String::as_str).unwrap_or_default();
            let _ = write!(out, "<th scope=\"col\"{class}>{}</th>", escape(head));
        }
        out.push_str("</tr></thead><tbody>");
        for row in &self.rows {
            out.push_str("<tr>");
            for (i, number) in numeric.iter().enumerate() {
                match row.get(i) {
                    Some(cell) => cell.html(out, i == 0, *number),
                    None => out.push_str("<td></td>"),
                }
            }
            out.push_str("</tr>");
        }
        out.push_str("</tbody></table></div>");
        for note in &self.notes {
            let _ = write!(out, "<p class=\"note\">{}</p>", prose(note));
        }
    }

    /// Whether every non-empty cell of the column starts with a number.
    fn is_numeric(&self, column: usize) -> bool {
        let mut filled =
            self.rows.iter().filter_map(|r| r.get(column)).filter(|c| !c.text.is_empty()).peekable();
        filled.peek().is_some()
            && filled.all(|c| {
                let number = |c: char| c.is_ascii_digit() || "-+\u{2212}\u{2013}<>~".contains(c);
                // A socket address also starts with a digit.
                c.text.starts_with(number) && c.text.parse::<std::net::SocketAddr>().is_err()
            })
    }
}

impl Cell {
    fn html(&self, out: &mut String, head: bool, number: bool) {
        let face = self.state.face();
        let mut class = String::new();
        if number {
            class.push_str("number ");
        }
        if let Some((name, ..)) = face {
            class.push_str(name);
        }
        let tag = if head { "th" } else { "td" };
        let scope = if head { " scope=\"row\"" } else { "" };
        let _ = write!(out, "<{tag}{scope} class=\"{}\">", class.trim_end());
        if let Some((_, symbol, word)) = face {
            let _ = write!(
                out,
                "<span class=\"symbol\" role=\"img\" aria-label=\"{word}\" title=\"{word}\">{symbol}</span> "
            );
        }
        let mut lines = self.text.split('\n');
        out.push_str(&escape(lines.next().unwrap_or_default()));
        for line in lines {
            let _ = write!(out, "<span class=\"second\">{}</span>", escape(line));
        }
        if let Some(strip) = &self.strip {
            out.push_str(&strip.svg());
        }
        let _ = write!(out, "</{tag}>");
    }
}

impl ComparisonStrip {
    /// Drawing: tolerance as shaded band, published value as line, measured mean as dot with interval.
    fn svg(&self) -> String {
        let (w, h) = (92.0, 14.0);
        let reach = [
            self.band,
            (self.measured - self.published).abs(),
            (self.low - self.published).abs(),
            (self.high - self.published).abs(),
        ];
        let reach = reach.into_iter().filter(|v| v.is_finite()).fold(1e-12, f64::max) * 1.15;
        let x =
            |value: f64| (w / 2.0 + (value - self.published) / reach * (w / 2.0 - 3.0)).clamp(2.0, w - 2.0);
        let words = format!(
            "measured {} ({} to {}), published {}, band plus or minus {}",
            short(self.measured),
            short(self.low),
            short(self.high),
            short(self.published),
            short(self.band)
        );
        let mut svg = Svg::new(w, h, &words, "");
        let (left, right) = (x(self.published - self.band), x(self.published + self.band));
        svg.rect(left, 2.0, right - left, h - 4.0, "class=\"band\" rx=\"2\"");
        svg.line((x(self.published), 0.0), (x(self.published), h), "class=\"published\"");
        svg.line((x(self.low), h / 2.0), (x(self.high), h / 2.0), "class=\"interval\"");
        svg.path(
            &format!("M{} {}m-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0", n(x(self.measured)), n(h / 2.0)),
            "class=\"dot\"",
        );
        svg.finish()
    }
}

fn short(value: f64) -> String {
    if value.abs() >= 100.0 { format!("{value:.1}") } else { format!("{value:.3}") }
}
