//! Explorable report: a self-contained HTML page with a slider for each axis of a grid, a table of metrics
//! and pictures of each cell.
//!
//! The page contains all cells: the table, the values of every repetition, and the time-sequence pictures of
//! the typical and of the worst repetition. A slider selects another cell without a server. The size of the
//! pictures is bounded; pictures beyond the bound are left out, with a note on the page.

use std::fmt::Write as _;

use serde::Serialize;

use crate::model::Picture;
use crate::page::{PROGRAM, STYLE, head};
use crate::text::escape;

/// Content of an explorable report.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Explore {
    /// Heading and window title.
    pub title: String,
    /// Provenance of the numbers: name and value.
    pub provenance: Vec<(String, String)>,
    /// Axes in the order of the grid; the last one varies fastest.
    pub axes: Vec<Axis>,
    /// Metrics of the table.
    pub metrics: Vec<Metric>,
    /// Cells in the order of the grid.
    pub cells: Vec<Variant>,
}

/// An axis of the grid.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Axis {
    /// Short name.
    pub name: String,
    /// Values, as text.
    pub values: Vec<String>,
}

/// A metric of the table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Metric {
    /// Name.
    pub name: String,
    /// Unit; may be empty.
    pub unit: String,
}

/// Content of one cell of the grid.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Variant {
    /// Number of finished repetitions.
    pub repetitions: u64,
    /// Mean, 10 %, median and 90 % of each metric; `None` without a value.
    pub summaries: Vec<Option<[f64; 4]>>,
    /// Values of the first metric by repetition.
    pub values: Vec<Option<f64>>,
    /// Pictures with label and repetition: the repetition whose value is nearest to the median, and the one
    /// with the largest value.
    #[serde(skip)]
    pub pictures: Vec<(String, u64, Picture)>,
}

/// Maximum size of all pictures of a page, bytes.
const PICTURES: usize = 9_500_000;

#[derive(Serialize)]
struct Data<'a> {
    axes: &'a [Axis],
    metrics: &'a [Metric],
    cells: &'a [Variant],
}

impl Explore {
    /// The page as one HTML document, and the number of pictures that were left out.
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
        // Serialisation of plain structures cannot fail; `<` could end the script element.
        let json = serde_json::to_string(&data).unwrap_or_default().replace('<', "\\u003c");
        let _ = write!(out, "<script type=\"application/json\" id=\"grid\">{json}</script>");
        out.push_str("<script>\n(function () {\n'use strict';\n");
        PROGRAM.iter().for_each(|part| out.push_str(part));
        out.push_str(include_str!("../assets/explore.js"));
        out.push_str("})();\n</script>\n</body></html>\n");
        (out, left_out)
    }

    /// Pictures in template elements, typical repetitions first, so that these are kept if the bound is
    /// reached; and the number left out.
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
