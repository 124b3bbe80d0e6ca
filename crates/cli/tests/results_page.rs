//! docs/results.md beside real output: the columns of a Parquet file, the statistics of a document.

mod common;

use common::Desk;
use std::collections::BTreeSet;

fn page() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/results.md");
    std::fs::read_to_string(path).unwrap()
}

/// Names in the first column of the tables below a heading.
fn names(page: &str, heading: &str) -> BTreeSet<String> {
    let from = page.find(heading).unwrap_or_else(|| panic!("no heading {heading}"));
    let end = page[from + heading.len()..].find("\n## ").map_or(page.len(), |at| from + heading.len() + at);
    let first = |line: &str| line.strip_prefix("| `")?.split(" |").next().map(str::to_owned);
    let cells = page[from..end].lines().filter_map(first);
    cells
        .flat_map(|cell| {
            cell.split(',').map(|name| name.trim().trim_matches('`').to_owned()).collect::<Vec<_>>()
        })
        .collect()
}

#[test]
fn every_column_of_a_table_is_defined() {
    let desk = Desk::new();
    assert_eq!(desk.run(&["run", "small.toml", "--out", "run"]).code, 0);
    let (header, _) = results::parquet::read_flows(&desk.path("run/flows.parquet")).unwrap();
    let page = page();
    let metrics: BTreeSet<String> = header.columns.iter().map(|column| column.name.clone()).collect();
    assert_eq!(names(&page, "\n## Metrics"), metrics);
    let keys: BTreeSet<String> = results::row::KEYS.iter().map(|key| (*key).to_owned()).collect();
    assert_eq!(names(&page, "\n## Columns of flows.parquet"), keys);
    for column in &header.columns {
        let line = page.lines().find(|line| line.starts_with(&format!("| `{}` |", column.name))).unwrap();
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let unit = if column.unit.is_empty() { "1" } else { &column.unit };
        assert_eq!((cells[2], cells[3]), (unit, column.combine.to_string().as_str()), "{line}");
        assert!(cells[4].len() > 8, "{line}");
    }
}

/// The tables beside the flows: each column that a run can write is defined under the heading of its file, with its unit,
/// and nothing else is.
#[test]
fn every_column_of_every_other_table_is_defined() {
    let page = page();
    let section = |heading: &str| names(&page, heading);
    for table in lab::system::tables::all() {
        let heading = match table.name {
            "links" => "\n## Links".to_owned(),
            name => format!("\n### {name}.parquet"),
        };
        let from = page.find(&heading).unwrap_or_else(|| panic!("no heading {heading}"));
        let text = &page[from + 1..];
        let until = text.find("\n#").unwrap_or(text.len());
        let scheme = |name: &str| match name.strip_prefix("mcs_").and_then(|rest| rest.split_once('_')) {
            Some((_, end)) => format!("mcs_K_{end}"),
            None => name.to_owned(),
        };
        let columns: BTreeSet<String> = table.columns.iter().map(|column| scheme(&column.name)).collect();
        assert_eq!(names(&page[..from + 1 + until], &heading), columns, "{heading}");
        for column in table.columns.iter().filter(|_| table.name != "links") {
            let unit = if column.unit.is_empty() { "1" } else { &column.unit };
            let line = format!("| `{}` | {unit} | {} |", scheme(&column.name), column.combine);
            assert!(text[..until].contains(&line), "{line}");
        }
    }
    // What `--events` and `--series` write: the fields of events are defined on their own page.
    let events =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/events.md")).unwrap();
    for (name, _) in &lab::detail::event_columns()[2..] {
        assert!(events.contains(&format!("`{name}`: ")), "{name}");
    }
    let defined = section("\n## Events and time series");
    let keys = ["cell", "repetition", "t_s", "at", "event"].map(str::to_owned);
    let series = lab::detail::SERIES_COLUMNS.iter().map(|(name, _)| (*name).to_owned());
    assert_eq!(defined, keys.into_iter().chain(series).collect());
}

#[test]
fn every_statistic_of_a_document_is_defined() {
    let desk = Desk::new();
    let ended = desk.run(&["run", "small.toml", "--no-out", "--json"]);
    let document: serde_json::Value = serde_json::from_str(&ended.out).unwrap();
    let metric = &document["cells"][0]["metrics"]["download_time_s"];
    let keys: BTreeSet<String> = metric.as_object().unwrap().keys().cloned().collect();
    assert_eq!(names(&page(), "\n## The JSON document"), keys);
}

#[test]
fn manual_pages_name_every_verb_and_completions_know_the_words() {
    let desk = Desk::new();
    let ended = desk.run(&["man", "--out", "man"]);
    assert_eq!(ended.code, 0, "{}", ended.err);
    let read = |name: &str| desk.read(&format!("man/{name}.1"));
    assert!(read("williwaw").contains(".TH williwaw 1") && read("williwaw").contains("merge"));
    assert!(!desk.path("man/williwaw-keep.1").exists(), "hidden verbs have no page");
    let run = read("williwaw-run");
    assert!(run.contains("\\-\\-shard") && run.contains("resume") && run.contains("Examples"), "{run}");
    let printed = desk.run(&["man", "merge"]);
    assert_eq!(printed.out, read("williwaw-merge"));
    let wrong = desk.run(&["man", "mergee"]);
    assert!(wrong.code == 2 && wrong.err.contains("did you mean `merge`?"), "{}", wrong.err);
    let words = desk.run(&["completions", "bash"]).out;
    for word in ["lte-driving", "download_time_s", "gprs-eifel/table2", "--shard", "markdown"] {
        assert!(words.contains(word), "{word}");
    }
}

#[test]
fn a_new_scenario_names_the_schema_beside_it() {
    let desk = Desk::new();
    assert_eq!(desk.run(&["new", "first.toml"]).code, 0);
    assert!(desk.read("first.toml").starts_with("#:schema ./williwaw.schema.json\n"));
    let schema: serde_json::Value = serde_json::from_str(&desk.read("williwaw.schema.json")).unwrap();
    assert_eq!(schema["title"], "williwaw scenario");
    assert_eq!(desk.run(&["check", "first.toml"]).code, 0);
    // On stdout there is no place for a second file.
    assert!(!desk.run(&["new", "-"]).out.contains("#:schema"));
}
