//! Explorable report: one self-contained page in which the axes of a grid are sliders.
//!
//! All cells lie in the page: the table, the values of every repetition, and the time-sequence pictures of the typical
//! and of the worst repetition. A slider shows another cell without a server. The page has a size limit; pictures
//! beyond it are left out, with a note on the page.

use std::fmt::Write as _;

use serde::Serialize;

use crate::model::Picture;
use crate::page::{PROGRAM, STYLE, head};
use crate::text::escape;

/// A grid to explore.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Explore {
    /// Heading and window title.
    pub title: String,
    /// Provenance of the numbers: name and value.
    pub provenance: Vec<(String, String)>,
    /// The axes, in the order of the grid; the last turns fastest.
    pub axes: Vec<Axis>,
    /// The metrics of the table.
    pub metrics: Vec<Metric>,
    /// The cells in the order of the grid.
    pub cells: Vec<Variant>,
}

/// An axis of the grid.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Axis {
    /// Its short name.
    pub name: String,
    /// Its values, as text.
    pub values: Vec<String>,
}

/// A metric.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Metric {
    /// Its name.
    pub name: String,
    /// Its unit; may be empty.
    pub unit: String,
}

/// Content of one cell.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Variant {
    /// Repetitions that finished.
    pub repetitions: u64,
    /// Mean, 10 %, median, 90 % of each metric; none where nothing was measured.
    pub summaries: Vec<Option<[f64; 4]>>,
    /// The values of the first metric by repetition.
    pub values: Vec<Option<f64>>,
    /// Repetition and picture: the one whose value is nearest to the median, and the one with the largest.
    #[serde(skip)]
    pub pictures: Vec<(String, u64, Picture)>,
}

/// Bytes of pictures in a page at most.
const PICTURES: usize = 9_500_000;

#[derive(Serialize)]
struct Data<'a> {
    axes: &'a [Axis],
    metrics: &'a [Metric],
    cells: &'a [Variant],
}

impl Explore {
    /// The page as one HTML document, and how many pictures were left out.
    #[must_use]
    pub fn html(&self) -> (String, usize) {
        let mut out = String::with_capacity(1 << 20);
        head(&mut out, &self.title, &format!("{STYLE}{}", include_str!("../assets/explore.css")));
        out.push_str("<body><header><h1>");
        out.push_str(&escape(&self.title));
        out.push_str("</h1>");
        out.push_str("<dl class=\"provenance\">");
        for (name, value) in &self.provenance {
            let _ = write!(out, "<dt>{}</dt><dd>{}</dd>", escape(name), escape(value));
        }
        out.push_str("</dl></header><main><section id=\"axes\" aria-label=\"Axes of the grid\"></section>");
        out.push_str(
            "<section aria-live=\"polite\" id=\"table\"></section><section id=\"spread\"></section>",
        );
        out.push_str("<section id=\"figures\"></section>");
        let (templates, left_out) = self.templates();
        if left_out > 0 {
            let _ = write!(
                out,
                "<p id=\"left-out\">{left_out} pictures are left out: the page would be larger than 10 MB. \
                 `williwaw plot` draws them.</p>"
            );
        }
        out.push_str("</main>");
        out.push_str(&templates);
        let data = Data { axes: &self.axes, metrics: &self.metrics, cells: &self.cells };
        // Plain structures always become JSON; `<` could end the script.
        let json = serde_json::to_string(&data).unwrap_or_default().replace('<', "\\u003c");
        let _ = write!(out, "<script type=\"application/json\" id=\"grid\">{json}</script>");
        out.push_str("<script>\n(function () {\n'use strict';\n");
        PROGRAM.iter().for_each(|part| out.push_str(part));
        out.push_str(include_str!("../assets/explore.js"));
        out.push_str("})();\n</script>\n</body></html>\n");
        (out, left_out)
    }

    /// The pictures, each waiting in a template; the typical ones first, so that these are there if room ends.
    fn templates(&self) -> (String, usize) {
        let mut out = String::new();
        let mut left_out = 0;
        let most = self.cells.iter().map(|cell| cell.pictures.len()).max().unwrap_or(0);
        for which in 0..most {
            for (number, cell) in self.cells.iter().enumerate() {
                let Some((name, repetition, picture)) = cell.pictures.get(which) else { continue };
                let figure = picture.live(number * most + which + 1);
                if out.len() + figure.len() > PICTURES {
                    left_out += 1;
                    continue;
                }
                let _ = write!(
                    out,
                    "<template data-cell=\"{number}\" data-name=\"{}\" data-repetition=\"{repetition}\">{figure}</template>",
                    escape(name)
                );
            }
        }
        (out, left_out)
    }
}
