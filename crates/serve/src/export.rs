//! Export of a replication set as one self-contained HTML page: table of metrics, pictures, command lines, scenario.

use crate::App;
use crate::error::Problem;
use crate::sets::commands;
use crate::store::Set;
use editor::PreviewTarget;
use report::{Cell, Item, Page, Picture, Section, Table};
use results::{folder, source};

/// Upper limit of pictures in a page.
const PICTURES: u64 = 4;

/// HTML page of a set; `draw` returns the picture of a repetition.
pub(crate) fn page(
    app: &App,
    set: &Set,
    draw: &mut dyn FnMut(PreviewTarget) -> Result<Picture, Problem>,
) -> Result<String, Problem> {
    let (header, rows) = folder::read(&app.library.run(set.id))?;
    let summaries = source::summarise(&header, &rows)?;
    let mut sections = Vec::new();
    for summary in &summaries {
        let params: Vec<String> = summary.cell.params.iter().map(|(k, v)| format!("{k} = {v}")).collect();
        let mut table = Table {
            columns: ["metric", "unit", "mean", "10 %", "median", "90 %", "n"].map(str::to_owned).to_vec(),
            ..Table::default()
        };
        for (column, metric) in header.columns.iter().zip(&summary.metrics) {
            let Some(m) = metric else { continue };
            let number = |x: f64| Cell::plain(number(x));
            let mut row = vec![Cell::plain(column.name.clone()), Cell::plain(column.unit.clone())];
            row.extend([m.mean, m.p10, m.median, m.p90].map(number));
            row.push(Cell::plain(m.n.to_string()));
            table.rows.push(row);
        }
        sections.push(Section {
            heading: if params.is_empty() { "Results".to_owned() } else { params.join(", ") },
            text: format!("{} repetitions.", summary.repetitions),
            items: vec![Item::Table(table)],
        });
    }
    let mut left_out = String::new();
    let mut pictures = Vec::new();
    for cell in 0..set.cells.min(PICTURES) {
        match draw(PreviewTarget { cell, ..PreviewTarget::default() }) {
            Ok(picture) => pictures.push(picture.into()),
            Err(problem) => left_out = format!("No picture: {problem}."),
        }
    }
    if set.cells > PICTURES {
        left_out.push_str(&format!(" Cells {PICTURES} to {} have no picture in this page.", set.cells - 1));
    }
    sections.push(Section { heading: "Repetition 0".to_owned(), text: left_out, items: pictures });
    sections.push(Section {
        heading: "Commands for this set".to_owned(),
        text: "Save the scenario below under the name of the first line.".to_owned(),
        items: vec![Item::Text(commands(set).join("\n")), Item::Text(set.text.clone())],
    });
    let provenance = [
        ("scenario", set.name.clone()),
        ("scenario hash", header.scenario_hash.clone()),
        ("seed", header.seed.to_string()),
        ("version", header.version.clone()),
        ("queued", format!("{} UTC", set.created)),
    ];
    let title = if set.title.is_empty() { set.name.clone() } else { set.title.clone() };
    let page = Page {
        title,
        provenance: provenance.into_iter().map(|(k, v)| (k.to_owned(), v)).collect(),
        sections,
    };
    Ok(page.html())
}

/// Number with four significant digits; whole numbers without decimals.
fn number(x: f64) -> String {
    if x == x.trunc() && x.abs() < 1e9 {
        return format!("{x:.0}");
    }
    let digits = (3.0 - x.abs().log10().floor()).clamp(0.0, 9.0);
    format!("{x:.*}", digits as usize)
}
