//! HTML page of a report: one self-contained file with sections of tables, charts, pictures and maps.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use crate::bars::Bars;
use crate::chart::Chart;
use crate::data::script_json;
use crate::events;
use crate::figure::Figure;
use crate::map::Map;
use crate::model::Picture;
use crate::table::Table;
use crate::text::{escape, prose};

/// A page with its sections.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Page {
    /// Heading and window title.
    pub title: String,
    /// Provenance as name and value: version, scenario hash, seed, lateness.
    #[serde(default)]
    pub provenance: Vec<(String, String)>,
    /// Sections in reading order.
    #[serde(default)]
    pub sections: Vec<Section>,
}

/// A section: heading, text and items.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Section {
    /// Heading; a section without one continues the previous section.
    #[serde(default)]
    pub heading: String,
    /// Plain text; an empty line starts a new paragraph.
    #[serde(default)]
    pub text: String,
    /// Items in reading order.
    #[serde(default)]
    pub items: Vec<Item>,
}

/// Content of a section.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Item {
    /// A table.
    Table(Table),
    /// A bar chart.
    Bars(Bars),
    /// A time-sequence picture.
    Picture(Box<Picture>),
    /// Chart of values over time.
    Chart(Box<Chart>),
    /// Redrawn figure of a publication.
    Figure(Box<Figure>),
    /// Map of a radio network over time.
    Map(Box<Map>),
    /// Preformatted text: a command, a file.
    Text(String),
}

impl From<Table> for Item {
    fn from(table: Table) -> Self {
        Self::Table(table)
    }
}

impl From<Bars> for Item {
    fn from(bars: Bars) -> Self {
        Self::Bars(bars)
    }
}

impl From<Picture> for Item {
    fn from(picture: Picture) -> Self {
        Self::Picture(Box::new(picture))
    }
}

impl From<Chart> for Item {
    fn from(chart: Chart) -> Self {
        Self::Chart(Box::new(chart))
    }
}

impl From<Figure> for Item {
    fn from(figure: Figure) -> Self {
        Self::Figure(Box::new(figure))
    }
}

impl From<Map> for Item {
    fn from(map: Map) -> Self {
        Self::Map(Box::new(map))
    }
}

/// Script of maps.
const MAPS: &str = include_str!("../assets/map.js");
pub(crate) const STYLE: &str = include_str!("../assets/page.css");
pub(crate) const PROGRAM: [&str; 5] = [
    include_str!("../assets/tools.js"),
    include_str!("../assets/draw.js"),
    include_str!("../assets/hover.js"),
    include_str!("../assets/input.js"),
    include_str!("../assets/start.js"),
];

impl Page {
    /// The page as one HTML document with its style, scripts and data. A content security policy forbids all
    /// fetches.
    #[must_use]
    pub fn html(&self) -> String {
        let mut out = String::with_capacity(64 * 1024);
        head(&mut out, &self.title, STYLE);
        let _ = write!(out, "<body><header><h1>{}</h1>", escape(&self.title));
        if !self.provenance.is_empty() {
            out.push_str("<dl class=\"provenance\">");
            for (name, value) in &self.provenance {
                let _ = write!(out, "<dt>{}</dt><dd>{}</dd>", escape(name), escape(value));
            }
            out.push_str("</dl>");
        }
        self.contents(&mut out);
        out.push_str("</header>\n<main>");
        let (mut pictures, mut maps) = (0, 0);
        for (i, section) in self.sections.iter().enumerate() {
            let _ = write!(out, "<section id=\"section-{}\">", i + 1);
            if !section.heading.is_empty() {
                let _ = write!(out, "<h2>{}</h2>", escape(&section.heading));
            }
            for paragraph in section.text.split("\n\n").filter(|p| !p.trim().is_empty()) {
                let _ = write!(out, "<p>{}</p>", prose(paragraph.trim()));
            }
            for item in &section.items {
                match item {
                    Item::Table(table) => table.html(&mut out),
                    Item::Bars(bars) => bars_html(bars, &mut out),
                    Item::Chart(chart) => chart_html(chart, &mut out),
                    Item::Figure(figure) => figure_html(figure, &mut out),
                    Item::Map(map) => {
                        maps += 1;
                        map.html(maps, &mut out);
                    }
                    Item::Text(text) => {
                        let _ = write!(out, "<pre>{}</pre>", escape(text));
                    }
                    Item::Picture(picture) => {
                        pictures += 1;
                        picture_html(picture, pictures, true, &mut out);
                    }
                }
            }
            out.push_str("</section>\n");
        }
        out.push_str("</main>\n");
        if pictures > 0 {
            out.push_str("<script>\n(function () {\n'use strict';\n");
            PROGRAM.iter().for_each(|part| out.push_str(part));
            out.push_str("})();\n</script>\n");
        }
        if maps > 0 {
            let _ = write!(out, "<script>\n{MAPS}</script>\n");
        }
        out.push_str("</body></html>\n");
        out
    }

    /// Appends links to the sections, if there are enough sections.
    fn contents(&self, out: &mut String) {
        if self.sections.iter().filter(|s| !s.heading.is_empty()).count() < 3 {
            return;
        }
        out.push_str("<nav aria-label=\"Contents\"><ul>");
        for (i, section) in self.sections.iter().enumerate().filter(|(_, s)| !s.heading.is_empty()) {
            let _ = write!(out, "<li><a href=\"#section-{}\">{}</a></li>", i + 1, escape(&section.heading));
        }
        out.push_str("</ul></nav>");
    }
}

/// Start of a document, up to its body, with a content security policy that forbids all fetches.
pub(crate) fn head(out: &mut String, title: &str, style: &str) {
    let _ = write!(
        out,
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
         script-src 'unsafe-inline'; img-src data: blob:\">\
         <meta name=\"color-scheme\" content=\"light dark\">\
         <title>{}</title>\n<style>\n{style}</style></head>\n",
        escape(title)
    );
}

fn bars_html(bars: &Bars, out: &mut String) {
    let count: usize = bars.groups.iter().map(|g| g.bars.len()).sum();
    let width = (140 + 27 * count as u32).clamp(460, 1280);
    let _ = write!(out, "<figure class=\"bars\"><h3>{}</h3>", escape(&bars.title));
    out.push_str(&bars.draw(width, 340, false));
    out.push_str("</figure>");
}

fn chart_html(chart: &Chart, out: &mut String) {
    let _ = write!(out, "<figure class=\"bars wide\"><h3>{}</h3>", escape(&chart.title));
    let _ = write!(out, "<p class=\"story\">{}</p>", escape(&chart.caption));
    let untitled = Chart { title: String::new(), ..chart.clone() };
    // On a narrow screen the drawing keeps a readable width and scrolls inside of its frame.
    let _ = write!(out, "<div class=\"drawing\">{}</div></figure>", untitled.svg(1100, 480));
}

fn figure_html(figure: &Figure, out: &mut String) {
    let _ = write!(out, "<figure class=\"bars wide\"><h3>{}</h3>", escape(&figure.title));
    let untitled = Figure { title: String::new(), ..figure.clone() };
    let _ = write!(out, "<div class=\"drawing\">{}</div></figure>", untitled.svg(900, 460));
}

impl Picture {
    /// The figure of [`Page::html`] alone: caption, static drawing, data and table of events, without the
    /// script that makes it interactive. `number` distinguishes the figures of one document.
    #[must_use]
    pub fn figure(&self, number: usize) -> String {
        let mut out = String::with_capacity(32 * 1024);
        picture_html(self, number, true, &mut out);
        out
    }

    /// [`Picture::figure`] without the static drawing and the table of events, for pages with many pictures.
    #[must_use]
    pub fn live(&self, number: usize) -> String {
        let mut out = String::with_capacity(16 * 1024);
        picture_html(self, number, false, &mut out);
        out
    }
}

fn picture_html(picture: &Picture, number: usize, whole: bool, out: &mut String) {
    let id = format!("picture-{number}");
    let _ = write!(out, "<figure class=\"picture\" id=\"{id}\" aria-labelledby=\"{id}-title\">");
    let title = if picture.title.is_empty() { &picture.flow } else { &picture.title };
    let _ = write!(out, "<h3 id=\"{id}-title\">{}</h3>", escape(title));
    if !picture.subtitle.is_empty() {
        let _ = write!(out, "<p class=\"subtitle\">{}</p>", escape(&picture.subtitle));
    }
    let _ = write!(out, "<p class=\"story\" id=\"{id}-story\">{}</p>", escape(&picture.caption()));
    out.push_str("<div class=\"stage\"></div><div class=\"static\">");
    if whole {
        out.push_str(&picture.svg(900, 640));
    }
    out.push_str("</div><script type=\"application/json\">");
    out.push_str(&script_json(picture));
    out.push_str("</script>");
    if whole {
        events::html(picture, out);
    }
    out.push_str("</figure>\n");
}
