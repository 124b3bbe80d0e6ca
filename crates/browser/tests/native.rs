//! Tests of responses to the web page against the sweep of the command line.

use base::Span;
use browser::Page;
use lab::sweep::{Sweep, SweepControl};
use results::parquet;
use scenario::NoFiles;
use serde_json::{Value, json};
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

/// First scenario of the README.
fn first() -> String {
    let readme = include_str!("../../../README.md");
    let (_, rest) = readme.split_once("```toml\n").unwrap();
    rest.split_once("```").unwrap().0.to_owned()
}

/// Response to a request of a page whose worker needs no time.
fn answer(request: &[u8], progress: &(dyn Fn(u64, u64) + Sync)) -> (Value, Vec<u8>) {
    browser::answer(request, Page { progress, processor: &|| Span::ZERO })
}

fn asked(request: Value) -> (Value, Vec<u8>) {
    answer(request.to_string().as_bytes(), &|_, _| ())
}

/// Table of the command line's sweep on two threads, written to a file and read back.
fn by_the_command(text: &str, repetitions: u32, seed: u64) -> Vec<u8> {
    let scenario = scenario::read("other name.toml", text.as_bytes(), &NoFiles).unwrap();
    let sweep = Sweep::new(&scenario, Some(repetitions), Some(seed), env!("CARGO_PKG_VERSION")).unwrap();
    let control = SweepControl {
        progress: &|_| (),
        stop: &AtomicBool::new(false),
        jobs: 2,
        shuffle_ties: None,
        player: None,
    };
    let (rows, complete) = sweep.run(None, &control).unwrap();
    assert!(complete);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("flows.parquet");
    parquet::write_flows(&path, &sweep.header, &rows).unwrap();
    std::fs::read(path).unwrap()
}

#[test]
fn the_table_of_flows_is_that_of_the_command() {
    let seen = Mutex::new(Vec::new());
    let request = json!({ "do": "run", "text": first(), "repetitions": 10, "seed": 3 }).to_string();
    let (document, bytes) =
        answer(request.as_bytes(), &|done, total| seen.lock().unwrap().push((done, total)));
    assert_eq!(document["good"], true, "{document}");
    assert_eq!(bytes, by_the_command(&first(), 10, 3));
    assert_ne!(bytes, by_the_command(&first(), 10, 4));
    assert_eq!(document["cells"].as_array().unwrap().len(), 2);
    assert_eq!(document["csv"].as_str().unwrap().lines().count(), 21);
    let seen = seen.into_inner().unwrap();
    assert_eq!((seen.first(), seen.last()), (Some(&(0, 20)), Some(&(20, 20))));
}

#[test]
fn a_mistake_has_its_place() {
    let text = first().replace("30 kbit/s", "30 furlongs");
    for request in [json!({ "do": "check", "text": text }), json!({ "do": "run", "text": text })] {
        let (document, bytes) = asked(request);
        assert_eq!(document["good"], false);
        assert_eq!(document["diagnostics"][0]["line"], 7, "{document}");
        assert!(bytes.is_empty());
    }
}

#[test]
fn what_a_page_cannot_do_is_one_sentence() {
    let says = |request: Value, words: &str| {
        let (document, _) = asked(request);
        assert_eq!(document["good"], false);
        assert!(document.to_string().contains(words), "{document}");
    };
    let file = first().replace("\"30 kbit/s\"", "{ trace = \"rates.txt\" }");
    says(json!({ "do": "check", "text": file }), "a page cannot open files");
    let kernel = format!("{}transport = \"linux\"\n", first());
    let kernel =
        kernel.replace("grid.\"flow.download.transport.tcp.spurious\" = [\"none\", \"eifel\"]\n", "");
    says(json!({ "do": "run", "text": kernel }), "needs a real kernel");
    says(json!({ "do": "look", "text": first(), "cell": 2, "rep": 0, "flow": 0 }), "no cell 2");
    says(json!({ "do": "look", "text": first(), "cell": 0, "rep": 0, "flow": 1 }), "no flow 1");
    says(json!({ "do": "fly" }), "cannot be read");
    let many: Vec<String> = (1..=10_001).map(|n| format!("{n} kB")).collect();
    let grid = format!("grid.\"flow.download.app.bulk.bytes\" = {}\n[[hop]]", json!(many));
    let grid = first().replacen("[[hop]]", &grid, 1);
    says(json!({ "do": "run", "text": grid, "repetitions": 1 }), "at most 10000");
}

#[test]
fn a_repetition_is_drawn() {
    let (document, _) = asked(json!({ "do": "look", "text": first(), "cell": 1, "rep": 0, "flow": 0 }));
    let html = document["html"].as_str().unwrap();
    assert!(html.starts_with("<figure class=\"picture\""));
    assert!(html.contains("eifel"));
    assert!(document["window"]["cwnd"].as_array().unwrap().len() > 100, "{document}");
    assert_eq!(document["film"]["links"].as_array().unwrap().len(), 2, "{document}");
}

/// Form, templates and edits equal those of `williwaw serve`; only the repetitions run here.
#[test]
fn a_scenario_is_composed_by_the_form() {
    let (schema, _) = asked(json!({ "do": "schema" }));
    assert_eq!(schema, scenario::schema::json_schema());
    let (beginnings, _) = asked(json!({ "do": "beginnings" }));
    assert_eq!(beginnings, editor::beginnings());
    let rate = json!({ "do": "edit", "text": first(), "path": ["hop", 0, "rate"], "change": { "set": "60 kbit/s" } });
    assert_eq!(asked(rate).0, json!({ "text": first().replace("30 kbit/s", "60 kbit/s") }));
    let absent = json!({ "do": "edit", "text": first(), "path": ["hop", 7, "rate"], "change": "remove" });
    assert!(asked(absent).0["error"].as_str().unwrap().contains("nothing at this place"));
    let (checked, _) = asked(json!({ "do": "check", "text": first() }));
    assert_eq!(checked["tree"]["hop"][0]["rate"], "30 kbit/s");
    assert_eq!((&checked["cost"]["cells"], &checked["cost"]["repetitions"]), (&json!(2), &json!(100)));
    assert!(checked["cost"]["packets"].as_f64().unwrap() > 1e4, "{checked}");
}
