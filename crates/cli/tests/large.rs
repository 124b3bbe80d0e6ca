//! Sweeps above the in-memory limit: rows stay in the run folder, cells are built one at a time.

mod common;

use common::Desk;
use serde_json::Value;
use std::fs;

/// A grid of 41 x 30 cells of one or two packets each; 1 000 is the in-memory limit.
fn grid(more: &str) -> String {
    let rates: Vec<String> = (0..41).map(|i| format!("\"{} kbit/s\"", 100 + i)).collect();
    let delays: Vec<String> = (0..30).map(|i| format!("\"{} ms\"", 1 + i)).collect();
    format!(
        "williwaw = 1\n[[hop]]\nname = \"radio\"\nbetween = [\"server\", \"phone\"]\nrate = \"100 kbit/s\"\n\
         delay = \"1 ms\"\n[[flow]]\nname = \"download\"\nfrom = \"server\"\nto = \"phone\"\n\
         app = {{ bulk = {{ bytes = \"1 kB\" }} }}\n[run]\nlimit = \"60 s\"\n{more}\n[grid]\n\
         \"hop.radio.rate\" = [{}]\n\"hop.radio.delay\" = [{}]\n",
        rates.join(", "),
        delays.join(", ")
    )
}

fn document(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {text}"))
}

#[test]
fn a_large_grid_is_run_cell_by_cell() {
    let desk = Desk::new();
    fs::write(desk.path("large.toml"), grid("[expect]\n\"download.download_time_s.mean\" = \"< 0.13 s\""))
        .unwrap();
    let table = desk.run(&["run", "large.toml", "--out", "a", "--jobs", "2"]);
    assert_eq!(table.code, 1, "{}", table.err);
    assert!(table.out.contains("The first 1000 of 1230 cells"), "{}", table.out);
    assert!(table.err.contains("of 1230 expectations failed"), "{}", table.err);

    // Equal bytes for any number of jobs, with and without a folder, and merged from shards.
    let json = desk.run(&["run", "large.toml", "--out", "b", "--jobs", "1", "--json", "--csv", "b.csv"]);
    let csv = desk.run(&["run", "large.toml", "--no-out", "--csv"]);
    assert_eq!((json.code, csv.code), (1, 1), "{} {}", json.err, csv.err);
    let bytes = |name: &str| fs::read(desk.path(name)).unwrap();
    assert_eq!(bytes("a/flows.parquet"), bytes("b/flows.parquet"));
    assert!(bytes("b.csv") == csv.out.as_bytes());
    let shards = ["1/2", "2/2"].map(|shard| {
        let folder = format!("shard-{}", &shard[..1]);
        assert_eq!(desk.run(&["run", "large.toml", "--shard", shard, "--out", &folder]).code, 0);
        folder
    });
    let merged = desk.run(&["merge", &shards[0], &shards[1], "--out", "c", "--json"]);
    assert_eq!(bytes("a/flows.parquet"), bytes("c/flows.parquet"), "{}", merged.err);
    assert_eq!(document(&merged.out)["cells"], document(&json.out)["cells"]);

    // A cell of the grid equals a scenario with its values.
    let all = document(&json.out);
    assert_eq!(all["cells"].as_array().unwrap().len(), 1230);
    let cell = &all["cells"][777];
    assert_eq!(cell["params"]["hop.radio.rate"], "125 kbit/s");
    assert_eq!(cell["params"]["hop.radio.delay"], "28 ms");
    let fix = ["--set", "hop.radio.rate=125 kbit/s", "--set", "hop.radio.delay=28 ms"];
    let alone = desk.run(&[&["run", "large.toml", "--no-out", "--json"][..], &fix].concat());
    assert_eq!(document(&alone.out)["cells"][0]["metrics"], cell["metrics"]);
    assert_eq!(all["expectations"][777]["measured"], cell["metrics"]["download_time_s"]["mean"]);
}

#[test]
fn many_repetitions_without_a_folder_are_those_of_a_folder() {
    let desk = Desk::new();
    let alone = ["--set", "hop.radio.rate=150 kbit/s", "--set", "hop.radio.delay=uniform(1 ms, 30 ms)"];
    fs::write(desk.path("many.toml"), grid("")).unwrap();
    let run =
        |more: &[&str]| desk.run(&[&["run", "many.toml", "--json", "--reps"][..], more, &alone].concat());
    let scratch = run(&["20001", "--no-out"]);
    assert_eq!(scratch.code, 0, "{}", scratch.err);
    let kept = run(&["20001", "--out", "kept"]);
    assert_eq!(document(&scratch.out)["cells"], document(&kept.out)["cells"]);
    assert_eq!(document(&kept.out)["cells"][0]["reps"], 20_001);
    // Fewer repetitions than the folder holds are refused.
    let fewer = desk.run(&["run", "--resume", "kept", "--reps", "7", "--json"]);
    assert_eq!(fewer.code, 2, "{}", fewer.err);
    assert!(fewer.err.contains("give --reps 20001 or more"), "{}", fewer.err);
}
