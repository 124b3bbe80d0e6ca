//! The report with sliders: one self-contained file with all values of the run's table.

#![allow(clippy::unwrap_used, reason = "a test")]

use assert_cmd::Command;
use serde_json::Value;

const STUDY: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments/seawind/case-study.scenario.toml");

#[test]
fn a_grid_becomes_sliders() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("grid.toml");
    let grid = "\n[grid]\n\"hop.gsm.queue.drop-tail.limit\" = [\"7 packets\", \"20 packets\"]\n\
        \"state-machine.radio.state.good.lasts\" = [\"10 s\", \"40 s\", \"80 s\"]\n";
    let text = std::fs::read_to_string(STUDY).unwrap().replace("A phone", "</script><b>A phone");
    std::fs::write(&file, format!("{text}{grid}")).unwrap();
    let out = folder.path().join("out");
    let done = Command::cargo_bin("williwaw")
        .unwrap()
        .args([
            "run",
            file.to_str().unwrap(),
            "--reps",
            "5",
            "--report",
            "--json",
            "--out",
            out.to_str().unwrap(),
        ])
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let run: Value = serde_json::from_slice(&done.stdout).unwrap();
    let html = std::fs::read_to_string(out.join("explore.html")).unwrap();
    assert!(!html.contains("<b>A phone") && !html.contains("src=\"http") && html.len() < 10_000_000);
    let data = html.split_once("id=\"grid\">").unwrap().1.split_once("</script>").unwrap().0;
    let data: Value = serde_json::from_str(data).unwrap();
    assert_eq!(
        data["axes"][0],
        serde_json::json!({ "name": "drop-tail.limit", "values": ["7 packets", "20 packets"] })
    );
    assert_eq!(data["axes"][1]["values"].as_array().unwrap().len(), 3);
    // Cell by cell the numbers of the table, in the order of the sliders: the last axis turns fastest.
    let cells = data["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 6);
    for (cell, ran) in cells.iter().zip(run["cells"].as_array().unwrap()) {
        for (metric, summary) in
            data["metrics"].as_array().unwrap().iter().zip(cell["summaries"].as_array().unwrap())
        {
            let told = &ran["metrics"][metric["name"].as_str().unwrap()];
            for (at, key) in ["mean", "p10", "median", "p90"].iter().enumerate() {
                assert_eq!(summary[at], told[*key], "{metric} {key}");
            }
        }
        assert_eq!(cell["values"].as_array().unwrap().len(), 5);
    }
    assert_eq!(html.matches("<template data-cell=").count(), 12);
    println!("6 cells of 5 repetitions with 12 pictures: {} bytes", html.len());
}

/// The README's first figure: three sliders, within its 10 MB.
#[test]
fn the_first_figure_can_be_explored() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/first.toml");
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("first");
    let done = Command::cargo_bin("williwaw")
        .unwrap()
        .args(["run", file, "--reps", "3", "--report", "-q", "--out", out.to_str().unwrap()])
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let html = std::fs::read_to_string(out.join("explore.html")).unwrap();
    let data = html.split_once("id=\"grid\">").unwrap().1.split_once("</script>").unwrap().0;
    let data: Value = serde_json::from_str(data).unwrap();
    let sizes: Vec<usize> =
        data["axes"].as_array().unwrap().iter().map(|a| a["values"].as_array().unwrap().len()).collect();
    assert_eq!(sizes, [4, 4, 3]);
    assert_eq!(html.matches("<template").count(), 2 * 48);
    // More repetitions add a value each, no picture.
    assert!(html.len() < 9_000_000, "{}", html.len());
}
