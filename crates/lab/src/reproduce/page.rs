//! HTML page of reproduced experiments: published and measured values, verdicts, claims, readings and
//! pictures.

use super::kernel_comparison::{COUNTERS, KernelComparison};
use super::{Reproduced, Totals, Value};
use report::{Bar, BarGroup, Bars, Cell, CellVerdict, ComparisonStrip, Item, Page, Section, Table};
use results::stats::Summary;

/// Page of these experiments. `provenance`: pairs of label and text for the head of the page.
pub fn page(all: &[Reproduced], provenance: Vec<(String, String)>) -> Page {
    let t = Totals::of(all);
    let mut sections = vec![Section {
        heading: "In short".to_owned(),
        text: format!(
            "{}\n\nA value is inside if it is off by no more than 5 % (1 % for segments, 0.02 for ratios, 0.1 for \
             counts below 2) or by a difference that chance explains with the repetitions of both means. A claim is \
             an inequality, tested on the same weather for both sides: `<` requires a difference that is significant \
             at 5 %, `<=` compares the means.",
            short(&t)
        ),
        items: Vec::new(),
    }];
    sections.extend(all.iter().map(section));
    Page { title: "Published beside measured".to_owned(), provenance, sections }
}

/// Totals in one or two sentences, by the current rule and by the rule before ADR 0036.
pub fn short(t: &Totals) -> String {
    let former =
        format!("by the judgement until ADR 0036: {} values, {} claims", t.former_within, t.former_hold);
    format!(
        "{} of {} published values inside their band, {} of {} claims hold, {} of {} by a test that is the catalogue's; of the \
         rest {} values and {} claims are explained ({former})",
        t.within, t.values, t.hold, t.claims, t.literal_hold, t.literal, t.explained, t.claims_explained
    )
}

/// Remark for a value that is outside, or was outside by the tolerance before ADR 0036.
pub fn remark(v: &Value) -> String {
    match (&v.why, v.moved) {
        (Some(why), _) => why.clone(),
        (None, Some(is)) => format!("a reason is given for {is}, which it no longer is"),
        _ if v.within != v.former => "the former band judged otherwise".to_owned(),
        _ => String::new(),
    }
}

fn section(r: &Reproduced) -> Section {
    let e = &r.experiment;
    let mut items: Vec<Item> = Vec::new();
    if e.bars {
        items.push(bars(r).into());
    }
    if !r.values.is_empty() && !e.bars {
        items.push(values(r).into());
    }
    if let Some(kernels) = &r.kernels {
        let (columns, rows) = beside(r, kernels);
        let rows = rows.into_iter().map(|row| row.into_iter().map(Cell::plain).collect()).collect();
        items.push(Table { title: BESIDE.to_owned(), columns, rows, notes: vec![about(kernels)] }.into());
    }
    if !r.claims.is_empty() {
        items.push(claims(r).into());
    }
    if !r.untested.is_empty() {
        items.push(untested(r).into());
    }
    if !r.readings.is_empty() {
        items.push(readings(r).into());
    }
    items.extend(r.figures.iter().cloned().map(Item::from));
    for (heading, picture) in &r.pictures {
        let mut picture = picture.clone();
        picture.title = heading.clone();
        items.push(picture.into());
    }
    Section { heading: format!("{}: {}", e.id, e.title), text: format!("{}\n\n{}", e.source, e.text), items }
}

/// Head of the column with the kernels' values.
pub const TODAY: &str = "Linux today";
/// Heading of the table of all cells.
pub const BESIDE: &str = "The study's senders beside Linux of today";

/// Value with current kernels on the path of a published value.
pub fn linux(v: &Value, decimals: usize) -> String {
    v.linux.map_or_else(String::new, |(mean, _)| format!("{mean:.decimals$}"))
}

/// Description of the table of all cells.
pub fn about(kernels: &KernelComparison) -> String {
    let of = match kernels.repetitions {
        1 => "one repetition of each".to_owned(),
        n => format!("means of the first {n} repetitions of each"),
    };
    format!(
        "Linux {} with its own defaults and CUBIC, in virtual time, on the same paths with equal data; {of}. Cells \
         that differ in the study's senders alone share one kernel's run. TCPTimeouts counts a retransmitted SYN.",
        kernels.release
    )
}

/// Table of all cells with the study's sender and with kernels: heads and rows.
pub fn beside(r: &Reproduced, kernels: &KernelComparison) -> (Vec<String>, Vec<Vec<String>>) {
    let mut columns = r.experiment.cell_heads();
    let flows = kernels.rows.iter().any(|row| row.flow.is_some());
    if flows {
        columns.push("flow".to_owned());
    }
    let told = [("time, s", 2), ("segments sent", 1), ("resent", 1), ("unneeded", 1)];
    for (name, _) in told {
        columns.extend([name.to_owned(), "Linux".to_owned()]);
    }
    columns.extend(COUNTERS.map(str::to_owned));
    let rows = kernels.rows.iter().map(|row| {
        let mut cells = row.labels.clone();
        if flows {
            cells.push(row.flow.clone().unwrap_or_default());
        }
        for ((_, d), (study, linux)) in told.iter().zip(row.study.iter().zip(&row.linux)) {
            let text = |s: &Option<Summary>| s.map_or_else(String::new, |s| format!("{:.d$}", s.mean));
            cells.extend([text(study), text(linux)]);
        }
        cells.extend(
            row.counted
                .iter()
                .map(|n| format!("{:.2}", n).trim_end_matches("0").trim_end_matches(".").to_owned()),
        );
        cells
    });
    (columns, rows.collect())
}

/// Number of decimals in a table: 1 if all published values are whole numbers, otherwise 3.
pub fn decimals(values: &[Value]) -> usize {
    if values.iter().all(|v| v.published.fract() == 0.0) { 1 } else { 3 }
}

fn values(r: &Reproduced) -> Table {
    let d = decimals(&r.values);
    let mut columns = r.experiment.heads();
    for name in ["published", "measured", "95 % interval"] {
        columns.push(name.to_owned());
    }
    if r.kernels.is_some() {
        columns.push(TODAY.to_owned());
    }
    for name in ["off by", "may be off by", "verdict"] {
        columns.push(name.to_owned());
    }
    let rows = r
        .values
        .iter()
        .map(|v| {
            let mut row: Vec<Cell> = v.key.split('/').map(Cell::plain).collect();
            let interval = v.ci95.map_or_else(String::new, |[low, high]| format!("{low:.d$} – {high:.d$}"));
            let [low, high] = v.ci95.unwrap_or([v.measured; 2]);
            let strip = ComparisonStrip {
                published: v.published,
                band: v.tolerance,
                measured: v.measured,
                low,
                high,
            };
            row.push(Cell::plain(format!("{}", v.published)));
            row.push(Cell::plain(format!("{:.d$}", v.measured)));
            row.push(Cell::plain(interval));
            if r.kernels.is_some() {
                row.push(Cell::plain(linux(v, d)));
            }
            row.push(Cell::plain(format!("{:+.d$}", v.measured - v.published)));
            row.push(Cell::plain(format!("{:.d$}", v.tolerance)));
            let state = if v.within { CellVerdict::Inside } else { CellVerdict::Outside };
            row.push(Cell::judged(remark(v), state).with_strip(strip));
            row
        })
        .collect();
    let mut units: Vec<&str> = r.values.iter().map(|v| v.unit.as_str()).collect();
    units.dedup();
    let unit = if units.len() == 1 { units[0] } else { "" };
    let mut notes = vec![format!("{} repetitions in all, seed 1.", r.runs)];
    if !unit.is_empty() {
        notes.push(format!("Values in {unit}."));
    }
    if let Some(s) = r.share {
        notes.push(format!(
            "Over {} seeds with {} repetitions each, {:.1} % of the values are inside.",
            s.seeds,
            s.repetitions,
            100.0 * s.within as f64 / s.of.max(1) as f64
        ));
    }
    Table { title: "Published beside measured".to_owned(), columns, rows, notes }
}

fn claims(r: &Reproduced) -> Table {
    let rows = r
        .claims
        .iter()
        .map(|c| {
            let state = if c.holds { CellVerdict::Holds } else { CellVerdict::Fails };
            vec![
                Cell::plain(c.id.clone()),
                Cell::plain(c.text.clone()),
                Cell::judged(String::new(), state),
                Cell::plain(match &c.why {
                    Some(why) => format!("{}; {why}", c.detail),
                    None => c.detail.clone(),
                }),
            ]
        })
        .collect();
    let columns = ["id", "claim", "verdict", "evidence"].map(str::to_owned).to_vec();
    Table { title: "Claims".to_owned(), columns, rows, notes: Vec::new() }
}

fn untested(r: &Reproduced) -> Table {
    let cell = |s: &String| Cell::plain(s.clone());
    let rows = r.untested.iter().map(|c| vec![cell(&c.id), cell(&c.text), cell(&c.why)]).collect();
    let columns = ["id", "claim", "why it is not tested here"].map(str::to_owned).to_vec();
    Table { title: "Claims that are not tested here".to_owned(), columns, rows, notes: Vec::new() }
}

fn readings(r: &Reproduced) -> Table {
    let of = r.readings.first().map_or(0, |x| x.measured.len());
    let mut columns = vec!["reading".to_owned(), "inside".to_owned()];
    if let Some(first) = r.readings.first() {
        columns.extend(first.measured.iter().map(|(key, _)| key.clone()));
        columns.extend(first.claims.iter().map(|(id, _, _)| id.clone()));
    }
    let d = decimals(&r.values);
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    if let Some(first) = r.readings.first().filter(|first| !first.measured.is_empty()) {
        let mut published = vec![Cell::plain("published"), Cell::plain(String::new())];
        for (key, _) in &first.measured {
            let value = r.values.iter().find(|v| v.key == *key);
            published.push(Cell::plain(value.map_or_else(String::new, |v| v.published.to_string())));
        }
        published.resize_with(columns.len(), || Cell::plain(String::new()));
        rows.push(published);
    }
    for x in &r.readings {
        let name = if x.chosen { format!("{} (chosen)", x.name) } else { x.name.clone() };
        let mut row = vec![Cell::plain(name), Cell::plain(format!("{} of {of}", x.within))];
        row.extend(x.measured.iter().map(|(_, v)| Cell::plain(format!("{v:.d$}"))));
        let word = |holds: bool| if holds { "holds" } else { "fails" };
        row.extend(x.claims.iter().map(|(_, holds, _)| Cell::plain(word(*holds))));
        rows.push(row);
    }
    Table {
        title: "Readings of what the source leaves open".to_owned(),
        columns,
        rows,
        notes: vec![
            "Every reading is run on the same weather; one is used for all cells of all tables.".to_owned(),
        ],
    }
}

fn bars(r: &Reproduced) -> Bars {
    let mut groups: Vec<BarGroup> = Vec::new();
    for v in &r.values {
        let (group, bar) = v.key.split_once('/').unwrap_or((v.key.as_str(), ""));
        let [low, high] = v.ci95.unwrap_or([v.measured; 2]);
        let bar = Bar { name: bar.to_owned(), value: v.measured, low, high, published: Some(v.published) };
        match groups.iter_mut().find(|g| g.name == group) {
            Some(g) => g.bars.push(bar),
            None => groups.push(BarGroup { name: group.to_owned(), bars: vec![bar] }),
        }
    }
    let unit = r.values.first().map_or_else(String::new, |v| v.unit.clone());
    Bars { title: r.experiment.title.clone(), unit, groups }
}
