//! HTML page of a comparison: table of differences, and pictures of the repetition with the largest
//! difference.

use super::side::{RunSettings, Side};
use super::text::Comparison;
use crate::console::exit::Failure;
use crate::output::VERSION;
use crate::output::labels;
use report::{Item, Page, Section};

/// Maximum number of cells drawn.
const PICTURES: usize = 3;

/// Page with the table, and pictures of both sides in one repetition of each drawn cell.
pub(crate) fn page(
    compared: &Comparison<'_>,
    sides: [&Side; 2],
    terms: &RunSettings<'_>,
) -> Result<Page, Failure> {
    let numbers = Section {
        heading: "Differences".to_owned(),
        text: compared.sentence(),
        items: vec![
            crate::cmd::run::page::table("Differences, repetition by repetition", &compared.board()).into(),
        ],
    };
    let mut items: Vec<Item> = Vec::new();
    for beside in compared.cells.iter().take(PICTURES) {
        let furthest = |&at: &usize| beside.contrast.metrics[at].furthest;
        // The repetition with the largest difference in the metric of the summary sentence.
        let Some(repetition) = compared.shown.first().and_then(furthest) else { continue };
        let indexes = [beside.cells.0, beside.cells.1];
        for (side, index) in sides.iter().zip(indexes).filter(|(side, _)| !side.real_time) {
            let Some(cell) = side.sweep.cells.held().get(index as usize) else { continue };
            let drawn = match (&side.stage, lab::sweep::real(&cell.model)) {
                (_, None) if cell.model.flows.is_empty() => None,
                (_, None) => Some(lab::picture::picture(&cell.model, repetition, 0)),
                (Some(stage), Some(_)) => {
                    stage.pictures(&cell.model, repetition)?.into_iter().next().map(|(_, picture)| picture)
                }
                (None, Some(_)) => None,
            };
            items.extend(drawn.map(|mut picture| {
                let place = labels::cell(&beside.params);
                let place = if place.is_empty() { place } else { format!(", {place}") };
                picture.title = format!("{}{place}", side.label);
                Item::from(picture)
            }));
        }
    }
    let pictures = Section {
        heading: "Pictures".to_owned(),
        text: format!(
            "The repetition with the largest difference. In shaded intervals the path was disturbed{}.",
            if compared.same_weather() { "; these intervals are equal on both sides" } else { "" }
        ),
        items,
    };
    let none = pictures.items.is_empty();
    Ok(Page {
        title: format!("{} compared with {}", compared.labels[1], compared.labels[0]),
        provenance: vec![
            ("version".to_owned(), VERSION.to_owned()),
            ("seed".to_owned(), terms.seed.to_string()),
            ("repetitions".to_owned(), terms.repetitions.to_string()),
            ("hashes".to_owned(), sides.map(|side| side.header.scenario_hash.clone()).join(", ")),
        ],
        sections: std::iter::once(numbers).chain((!none).then_some(pictures)).collect(),
    })
}
