//! HTML report of a run: table, bars of the means, cell networks, and time-sequence pictures of repetitions
//! spread over the grid.

use super::plan::Plan;
use crate::output::VERSION;
use crate::output::labels;
use crate::output::table::{self, TableChoice, TextTable};
use lab::sweep::Sweep;
use report::{Bar, BarGroup, Bars, Item, Page, Picture, Section, Table};
use results::cells::CellSummary;

/// Maximum number of repetitions drawn.
const PICTURES: usize = 6;
/// Maximum number of bars drawn.
const BARS: usize = 48;
/// Metrics of the bars, as far as measured.
const BAR_METRICS: &[&str] = &["download_time_s", "throughput_bps"];

/// Page of a run; `drawn` has cell numbers, each with the picture of the cell's first flow in repetition 0.
pub(crate) fn page(plan: &Plan, sweep: &Sweep, cells: &[CellSummary], drawn: Vec<(usize, Picture)>) -> Page {
    let scenario = &plan.input.scenario;
    let title = if scenario.title().is_empty() { scenario.name() } else { scenario.title() };
    Page {
        title: title.to_owned(),
        provenance: vec![
            ("version".to_owned(), VERSION.to_owned()),
            ("scenario".to_owned(), scenario.name().to_owned()),
            ("hash".to_owned(), scenario.hash()),
            ("seed".to_owned(), plan.seed.to_string()),
            ("repetitions".to_owned(), plan.repetitions.to_string()),
        ],
        sections: [Some(numbers(plan, sweep, cells)), networks(sweep), Some(pictures(sweep, drawn))]
            .into_iter()
            .flatten()
            .collect(),
    }
}

fn numbers(plan: &Plan, sweep: &Sweep, cells: &[CellSummary]) -> Section {
    let rows = match cells.len() {
        1 => "Each row of the table is a metric".to_owned(),
        n => format!("Each row of the table is one of the {n} cells of the grid"),
    };
    let text = format!(
        "{rows}: the mean over {} with its 95 % interval (Student's t). In each repetition all of them have the same \
         weather, so rows that differ only in the sender can be compared; the pictures below show the causes of \
         differences.",
        repetitions(plan.repetitions)
    );
    let choice = TableChoice { metrics: plan.choice.metrics.clone(), flows: plan.choice.flows };
    let mut items =
        vec![table("Mean and 95 % interval", &table::board(&sweep.header, cells, &choice)).into()];
    let charts = BAR_METRICS.iter().find_map(|metric| bars(metric, sweep, cells));
    items.extend(charts.into_iter().flatten().map(Into::into));
    Section { heading: "Results".to_owned(), text, items }
}

fn repetitions(n: u32) -> String {
    if n == 1 { "1 repetition".to_owned() } else { format!("{n} repetitions") }
}

/// Table of a page from a text table.
pub(crate) fn table(title: &str, board: &TextTable) -> Table {
    Table {
        title: title.to_owned(),
        columns: board.heads.clone(),
        rows: board
            .rows
            .iter()
            .map(|row| row.iter().map(|text| report::Cell::plain(set(text))).collect())
            .collect(),
        notes: board.notes.clone(),
    }
}

/// Text of a table cell: a line break before the interval, and no other break.
fn set(text: &str) -> String {
    text.replacen(" ± ", "\n± ", 1).replace(' ', "\u{a0}")
}

/// Bars of one metric: values of the last axis of the grid side by side, of the axes before it as groups; with two or
/// more axes before it, one chart for each value of the first.
fn bars(metric: &str, sweep: &Sweep, cells: &[CellSummary]) -> Option<Vec<Bars>> {
    let column = sweep.header.column(metric)?;
    if !(2..=BARS).contains(&cells.len()) || !cells.iter().all(|cell| cell.metrics[column].is_some()) {
        return None;
    }
    let (scale, unit) = match sweep.header.columns[column].unit.as_str() {
        "bit/s" => (1e-6, "Mbit/s"),
        unit => (1.0, unit),
    };
    let words = metric.trim_end_matches("_bps").trim_end_matches("_s").replace('_', " ");
    let mut charts: Vec<Bars> = Vec::new();
    for cell in cells {
        let summary = cell.metrics[column]?;
        let (last, others) = cell.cell.params.split_last()?;
        let (chart, group) = others.split_at(usize::from(others.len() > 1));
        let title = match labels::cell(chart).as_str() {
            "" => format!("Mean {words}"),
            place => format!("Mean {words}, {place}"),
        };
        let [low, high] = summary.ci95.unwrap_or([summary.mean; 2]);
        let bar = Bar {
            name: values(std::slice::from_ref(last)),
            value: summary.mean * scale,
            low: low * scale,
            high: high * scale,
            published: None,
        };
        if charts.last().is_none_or(|last| last.title != title) {
            charts.push(Bars { title, unit: unit.to_owned(), groups: Vec::new() });
        }
        let groups = &mut charts.last_mut()?.groups;
        let name = values(group);
        match groups.last_mut().filter(|group| group.name == name) {
            Some(group) => group.bars.push(bar),
            None => groups.push(BarGroup { name, bars: vec![bar] }),
        }
    }
    Some(charts)
}

/// Values of grid axes without their names.
fn values(params: &[(String, String)]) -> String {
    labels::apart(params).into_iter().map(|(_, value)| value).collect::<Vec<_>>().join(", ")
}

/// Numbers of the cells that are drawn: evenly spread over the grid, with the first and the last.
pub(crate) fn chosen(cells: usize) -> Vec<usize> {
    spread(cells, PICTURES)
}

/// Section on the cell networks of the first grid cell that has any: map, distributions, load over time.
fn networks(sweep: &Sweep) -> Option<Section> {
    let tables = sweep.tables.as_ref()?;
    let at = sweep.cells.held().iter().position(|cell| !cell.model.systems.is_empty())?;
    // In a large grid, only the first cell in memory has its index as position.
    if at > 0 && sweep.cells.len() > sweep.cells.held().len() {
        return None;
    }
    let cell = &sweep.cells.held()[at];
    let mut items: Vec<Item> = Vec::new();
    for (system, summary) in lab::system::summary::of(tables, sweep.repetitions, at as u32).iter().enumerate()
    {
        items.extend(lab::picture::systems::map(&cell.model, 0, system).map(Item::from));
        items.extend(summary.bars().into_iter().map(Item::from));
        items.extend(summary.charts().into_iter().map(Item::from));
    }
    let label = labels::cell(&cell.params);
    let place = if label.is_empty() { String::new() } else { format!(" with {label}") };
    Some(Section {
        heading: "The network of cells".to_owned(),
        text: format!(
            "The map is repetition 0{place}; distributions and load are of all repetitions. The tables \
             `users.parquet`, `cells.parquet`, `slots.parquet`, `system.parquet` and `radio.parquet` in the folder of \
             this page have the numbers."
        ),
        items,
    })
}

fn pictures(sweep: &Sweep, drawn: Vec<(usize, Picture)>) -> Section {
    let heading = "Pictures".to_owned();
    if drawn.is_empty() {
        let text = match sweep.cells.held().iter().all(|cell| cell.model.flows.is_empty()) {
            true => {
                "The scenario has commands and no flows, so there is no sequence to draw; `emulate --captures` keeps the packets of its commands."
            }
            false => "No flow of these repetitions was recorded.",
        };
        return Section { heading, text: text.to_owned(), items: Vec::new() };
    }
    let shown = drawn.len();
    let items = drawn.into_iter().map(|(index, mut picture)| {
        let label = sweep.cells.good(index).map_or(String::new(), |cell| labels::cell(&cell.params));
        if !label.is_empty() {
            picture.title = label;
        }
        picture.into()
    });
    let items = items.collect();
    let flow = sweep.cells.held().first().and_then(|cell| cell.model.flows.first());
    let flow = flow.map_or(String::new(), |flow| format!("flow {} of ", flow.name));
    let cells = match sweep.cells.len() {
        1 => String::new(),
        n if n > shown => format!(" in {shown} of the {n} cells"),
        _ => " in every cell".to_owned(),
    };
    Section {
        heading,
        text: format!(
            "Each picture is {flow}one repetition{cells}, named below its heading: segments sent, acknowledgements, \
             and the state of the sender. In shaded intervals the path was disturbed; `williwaw plot` draws any other \
             repetition."
        ),
        items,
    }
}

/// At most `most` numbers below `n`, evenly spread, with the first and the last.
fn spread(n: usize, most: usize) -> Vec<usize> {
    if n <= most {
        return (0..n).collect();
    }
    (0..most).map(|i| i * (n - 1) / (most - 1)).collect()
}

#[cfg(test)]
mod tests {
    use super::spread;

    #[test]
    fn chosen_cells_reach_from_end_to_end() {
        assert_eq!(spread(3, 6), [0, 1, 2]);
        assert_eq!(spread(36, 6), [0, 7, 14, 21, 28, 35]);
        assert_eq!(spread(0, 6), Vec::<usize>::new());
    }
}
