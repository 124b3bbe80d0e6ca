//! The claim: a program's own measurement is a metric like any other: in expectations, tables, documents, Parquet,
//! reports and comparisons; a value that is no number is reported once. Where there are no namespaces, the test
//! reports this and is skipped.
#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_methods, reason = "what is tested takes real time")]

mod common;

use common::{Desk, Ended};
use serde_json::Value;
use std::path::Path;

/// A path, and one command at its end; its text and other keys follow.
fn scenario(command: &str, rest: &str) -> String {
    format!(
        "williwaw = 1\n[[hop]]\nname = \"radio\"\nbetween = [\"server\", \"phone\"]\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\n\
         [[command]]\nname = \"load\"\nat = \"phone\"\n{command}\n[run]\nrepetitions = 2\nlimit = \"20 s\"\n{rest}\n"
    )
}

const CALM: &[&str] = &["--lateness", "200 ms"];

fn possible(ended: &Ended) -> bool {
    if ended.code == 3 {
        eprintln!("skipped: {}", ended.err);
    }
    ended.code != 3
}

fn document(ended: &Ended) -> Value {
    serde_json::from_str(&ended.out).unwrap_or_else(|e| panic!("{e}: {}{}", ended.out, ended.err))
}

#[test]
fn numbers_of_a_program_are_metrics_everywhere() {
    let desk = Desk::new();
    let expect =
        "[expect]\n\"load.page_s.mean\" = [\"> 1200 ms\", \"< 1300 ms\"]\n\"all.frames.max\" = \"= 60\"";
    let run = "metrics = \"json\"\nrun = \"echo start; echo '{\\\"page_s\\\": 1.25, \\\"frames\\\": 60}'; echo end\"";
    desk.write("s.toml", &scenario(run, expect));
    let args = ["emulate", "s.toml", "--json", "--report", "--out", "kept"];
    let ended = desk.run(&[&args[..], CALM].concat());
    if !possible(&ended) {
        return;
    }
    assert_eq!(ended.code, 0, "{}", ended.err);
    let told = document(&ended);
    assert_eq!(told["cells"][0]["metrics"]["page_s"]["mean"], 1.25);
    assert_eq!(told["cells"][0]["metrics"]["frames"]["n"], 2);
    assert_eq!(told["repetitions"][1]["commands"]["load"]["metrics"]["page_s"], 1.25);
    assert!(told["expectations"].as_array().unwrap().iter().all(|one| one["holds"] == true));
    let (header, rows) = results::parquet::read_flows(&desk.path("kept/commands.parquet")).unwrap();
    let names: Vec<(&str, &str)> =
        header.columns.iter().map(|c| (c.name.as_str(), c.unit.as_str())).collect();
    assert_eq!(names, [("frames", ""), ("page_s", "s")]);
    assert_eq!(rows.len(), 2);
    assert_eq!((rows[1].key(), &rows[1].values[..]), ((0, 1, "load"), &[Some(60.0), Some(1.25)][..]));
    assert!(desk.read("kept/report.html").contains("page"), "the report has the number");
    let metrics = results::parquet::read_flows(&desk.path("kept/flows.parquet")).unwrap().0.columns.len();
    assert_eq!(metrics, scenario::metric::Metric::ALL.len(), "the flows' table stays as it is");
    // A run continued with more repetitions keeps earlier metrics; without --json they are in the table.
    let more =
        desk.run(&[&["emulate", "--resume", "kept", "--reps", "3", "--metrics", "page_s"], CALM].concat());
    assert_eq!(more.code, 0, "{}", more.err);
    assert!(more.out.contains("page [s]") && more.out.contains("1.25"), "{}", more.out);
    assert_eq!(results::parquet::read_flows(&desk.path("kept/commands.parquet")).unwrap().1.len(), 3);
    // Two run folders are compared by them.
    let same = desk.run(&["compare", "kept", "kept", "--json"]);
    assert_eq!(same.code, 2, "{}", same.err);
    desk.write("t.toml", &scenario(&run.replace("1.25", "1.5"), ""));
    let other = desk.run(&[&["emulate", "t.toml", "--reps", "3", "--out", "other"], CALM].concat());
    assert_eq!(other.code, 0, "{}", other.err);
    let worse = desk.run(&["compare", "kept", "other", "--json", "--metrics", "page_s", "--no-worse=10%"]);
    assert_eq!(worse.code, 1, "{}{}", worse.out, worse.err);
    assert_eq!(document(&worse)["cells"][0]["metrics"]["page_s"]["difference"]["mean"], 0.25);
}

#[test]
fn what_is_no_number_is_said_once() {
    let desk = Desk::new();
    let cases = [
        ("echo done", 1, "has no line of JSON"),
        ("echo '{\\\"a\\\": '", 1, "is no JSON"),
        ("echo '{\\\"a\\\": NaN}'", 1, "JSON has no NaN"),
        ("echo '{\\\"a\\\": {\\\"b\\\": 1}, \\\"c_s\\\": 2}'", 0, "`a` is nested"),
        ("echo '{\\\"a\\\": \\\"fast\\\", \\\"c_s\\\": 2}'", 0, "`a` is a text"),
        ("echo '{\\\"download_time_s\\\": 1, \\\"c_s\\\": 2}'", 0, "call it otherwise"),
        ("exit 7", 1, "ended with status 7"),
    ];
    for (run, code, words) in cases {
        desk.write("s.toml", &scenario(&format!("metrics = \"json\"\nrun = \"{run}\""), ""));
        let ended = desk.run(&[&["emulate", "s.toml", "--no-out", "--reps", "1"], CALM].concat());
        if !possible(&ended) {
            return;
        }
        assert_eq!(ended.code, code, "{run}: {}", ended.err);
        assert_eq!(ended.err.matches(words).count(), 1, "{run}: {}", ended.err);
    }
    desk.write("s.toml", &scenario("metrics = \"json\"\nrun = \"echo '{\\\"c_s\\\": 2}'\"", ""));
    let typo =
        desk.run(&[&["emulate", "s.toml", "--no-out", "--reps", "1", "--metrics", "d_s"], CALM].concat());
    assert!(typo.err.contains("no command reported `d_s`; reported: c_s"), "{}", typo.err);
}

#[test]
fn a_file_of_numbers_has_to_be_new() {
    let desk = Desk::new();
    let run = "metrics = { file = \"n.json\" }\nrun = \"echo '{\\\"x_s\\\": 3}' > n.json\"";
    desk.write("s.toml", &scenario(run, "[expect]\n\"load.x_s.mean\" = 3"));
    desk.write("n.json", "{\"x_s\": 9}");
    let ended = desk.run(&[&["emulate", "s.toml", "--no-out"], CALM].concat());
    if !possible(&ended) {
        return;
    }
    assert_eq!(ended.code, 0, "{}", ended.err);
    desk.write("s.toml", &scenario("metrics = { file = \"n.json\" }\nrun = \"true\"", ""));
    let stale = desk.run(&[&["emulate", "s.toml", "--no-out", "--reps", "1"], CALM].concat());
    assert_eq!(stale.code, 1, "{}", stale.err);
    assert!(stale.err.contains("from before this repetition"), "{}", stale.err);
    let beside = desk.run(&[&["emulate", "s.toml", "--no-out", "--jobs", "2"], CALM].concat());
    assert_eq!(beside.code, 2, "{}", beside.err);
}

#[test]
fn a_metric_that_no_command_can_report_is_a_mistake_in_the_file() {
    let desk = Desk::new();
    desk.write("s.toml", &scenario("run = \"true\"", "[expect]\n\"load.page_s.mean\" = 1"));
    let ended = desk.run(&["check", "s.toml"]);
    assert_eq!(ended.code, 2, "{}", ended.err);
    assert!(ended.err.contains("there is no metric `page_s`"), "{}", ended.err);
    desk.write("s.toml", &scenario("run = \"true\"\nmetrics = \"yaml\"", ""));
    assert_eq!(desk.run(&["check", "s.toml"]).code, 2);
}

/// The load time of a page in Chromium, behind a link of 3 Mbit/s: 240 kB take at least 0.64 s.
#[test]
fn a_page_tells_its_load_time_in_chromium() {
    for program in ["chromium", "python3"] {
        let found =
            std::process::Command::new(program).arg("--version").output().is_ok_and(|o| o.status.success());
        if !found {
            eprintln!("skipped: there is no {program} here");
            return;
        }
    }
    let desk = Desk::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/real");
    for file in ["browser.toml", "page.py", "load.py"] {
        std::fs::copy(folder.join(file), desk.path(file)).unwrap();
    }
    let ended = desk.run(&[&["emulate", "browser.toml", "--json", "--no-out", "--reps", "1"], CALM].concat());
    if !possible(&ended) {
        return;
    }
    assert_eq!(ended.code, 0, "{}", ended.err);
    let load = document(&ended)["cells"][0]["metrics"]["page_load_s"]["mean"].as_f64().unwrap();
    assert!((0.64..10.0).contains(&load), "{load}");
}
