//! The claim: a gate over both sides in real time ends with each exit code, and its JUnit file is valid for readers of
//! JUnit. Where there are no namespaces, the test reports this and is skipped.
#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_methods, reason = "what is tested takes real time")]

mod common;

use common::{Desk, Ended};
use std::collections::BTreeMap;

/// A program that prints a number, which the sides change.
const SCENARIO: &str = r#"
williwaw = 1
[[hop]]
name = "radio"
between = ["server", "phone"]
rate = "1 Mbit/s"
delay = "1 ms"
[[command]]
name = "load"
at = "phone"
metrics = "json"
run = "ping -c 1 -q server > /dev/null; echo '{\"page_s\": 1}'"
[run]
limit = "20 s"
"#;

fn gate(desk: &Desk, other: &str, args: &[&str]) -> Ended {
    desk.write("s.toml", SCENARIO);
    let b = format!("command.load.run=ping -c 1 -q server > /dev/null; {other}");
    let command =
        ["compare", "s.toml", "--emulate", "--set-b", &b, "--metrics", "page_s", "--lateness", "200 ms"];
    desk.run(&[&command[..], args].concat())
}

#[test]
fn every_exit_code_of_a_gate_is_met() {
    let desk = Desk::new();
    let files = ["--junit", "gate.xml", "--summary", "gate.md", "--json"];
    let passed =
        gate(&desk, "echo '{\"page_s\": 1.05}'", &[&["--no-worse=10%", "--reps", "2"], &files[..]].concat());
    if passed.code == 3 {
        eprintln!("skipped: {}", passed.err);
        return;
    }
    assert_eq!(passed.code, 0, "{}{}", passed.out, passed.err);
    let document: serde_json::Value = serde_json::from_str(&passed.out).unwrap();
    assert_eq!(
        (&document["gate"]["verdict"], &document["emulation"]["left_out"]),
        (&"passed".into(), &serde_json::json!([]))
    );
    assert_eq!(junit(&desk.read("gate.xml")), [1, 0, 0]);

    let failed =
        gate(&desk, "echo '{\"page_s\": 1.2}'", &[&["--no-worse=10%", "--reps", "2"], &files[..]].concat());
    assert_eq!(failed.code, 1, "{}", failed.err);
    assert_eq!(junit(&desk.read("gate.xml")), [1, 1, 0]);

    // Half of the repetitions are better and half are worse: more of them are played up to the bound.
    let coin =
        "n=$(cat n 2>/dev/null || echo 0); echo $((n + 1)) > n; echo \"{\\\"page_s\\\": $((n % 2 * 2)).5}\"";
    let open =
        gate(&desk, coin, &[&["--no-worse=10%", "--reps", "2", "--max-reps", "4"], &files[..]].concat());
    assert_eq!(open.code, 5, "{}{}", open.out, open.err);
    assert_eq!(junit(&desk.read("gate.xml")), [1, 0, 1]);
    let document: serde_json::Value = serde_json::from_str(&open.out).unwrap();
    assert_eq!((&document["repetitions"], &document["cells"][0]["pairs"]), (&4.into(), &4.into()));
    assert_eq!(desk.read("n").trim(), "4", "each repetition was played once");
    let summary = desk.read("gate.md");
    let heads: Vec<&str> = summary.lines().filter(|line| line.starts_with("### ")).collect();
    assert_eq!(heads, ["### williwaw: passed", "### williwaw: failed", "### williwaw: undecided"]);
    assert_eq!(summary.matches("| cell | verdict | |\n|---|---|---|\n").count(), 3);

    // A side without reports is worse, and its command has failed.
    let silent = gate(&desk, "true", &["--no-worse=10%", "--reps", "2"]);
    assert_eq!(silent.code, 1, "{}", silent.err);

    // An impossible lateness limit: repetitions are played again, left out on both sides, and the end is unfaithful.
    let strict = ["--no-worse=10%", "--reps", "1", "--tries", "2", "--lateness", "1 ns", "--json"];
    let late = desk.run(
        &[
            &["compare", "s.toml", "--emulate", "--metrics", "page_s", "--set-b", "command.load.start=1 ms"],
            &strict[..],
        ]
        .concat(),
    );
    assert_eq!(late.code, 4, "{}{}", late.out, late.err);
    let document: serde_json::Value = serde_json::from_str(&late.out).unwrap();
    assert_eq!(document["emulation"]["played_again"], 2);
    assert_eq!(document["emulation"]["left_out"].as_array().map(Vec::len), Some(1));

    let wrong = desk.run(&[
        "compare",
        "s.toml",
        "--emulate",
        "--set-b",
        "command.load.run=echo",
        "--no-worse=10%",
        "--metrics",
        "score",
    ]);
    assert_eq!(wrong.code, 2, "{}", wrong.err);
    assert!(wrong.err.contains("has no better direction"), "{}", wrong.err);
    let machine =
        desk.run(&["compare", "s.toml", "--set-b", "command.load.start=1 ms", "--linux", "./no-such-kernel"]);
    assert_eq!(machine.code, 3, "{}", machine.err);
}

/// Kept in folders and interrupted, a comparison in real time ends with 130 and is continued by the same command.
#[test]
fn an_interrupted_comparison_is_continued() {
    let desk = Desk::new();
    desk.write("s.toml", &SCENARIO.replace("echo", "sleep 0.5; echo"));
    let words =
        ["compare", "s.toml", "--emulate", "--set-b", "command.load.start=10 ms", "--metrics", "page_s"];
    let words = [&words[..], &["--lateness", "200 ms", "--reps", "4", "--out", "both", "--json"]].concat();
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_williwaw"))
        .current_dir(desk.folder.path())
        .args(&words)
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let first = desk.path("both/b/repetitions/0-0.json");
    let since = std::time::Instant::now();
    while !first.exists() {
        if let Some(status) = child.try_wait().unwrap() {
            assert_eq!(status.code(), Some(3), "it ended early");
            eprintln!("skipped: there are no namespaces here");
            return;
        }
        assert!(since.elapsed() < std::time::Duration::from_secs(30));
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let told = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(told.success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let written = std::fs::metadata(&first).unwrap().modified().unwrap();
    let ended = desk.run(&words);
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert_eq!(std::fs::metadata(&first).unwrap().modified().unwrap(), written, "it was played once");
    let document: serde_json::Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!(document["cells"][0]["metrics"]["page_s"]["a"]["n"], 4);
    assert!(desk.path("both/a/commands.parquet").exists() && desk.path("both/b/flows.parquet").exists());
}

/// Checks a JUnit file against the rules of the schema that builds share (junit-10.xsd of the Jenkins xUnit plugin): names,
/// required attributes, order, numbers, at most one outcome a case. Gives tests, failures and errors.
fn junit(text: &str) -> [usize; 3] {
    let tree = roxmltree::Document::parse(text).unwrap_or_else(|e| panic!("no XML: {e}\n{text}"));
    let known: BTreeMap<&str, (&[&str], &[&str])> = BTreeMap::from([
        (
            "testsuites",
            (&["name", "time", "tests", "failures", "disabled", "errors"][..], &["testsuite"][..]),
        ),
        (
            "testsuite",
            (
                &[
                    "name",
                    "tests",
                    "failures",
                    "errors",
                    "time",
                    "disabled",
                    "skipped",
                    "timestamp",
                    "hostname",
                    "id",
                    "package",
                ],
                &["properties", "testcase", "system-out", "system-err"],
            ),
        ),
        (
            "testcase",
            (
                &["name", "assertions", "time", "classname", "status"],
                &["skipped", "error", "failure", "system-out", "system-err"],
            ),
        ),
        ("failure", (&["type", "message"], &[])),
        ("error", (&["type", "message"], &[])),
        ("system-out", (&[], &[])),
    ]);
    let root = tree.root_element();
    assert_eq!(root.tag_name().name(), "testsuites");
    let mut counted = [0; 3];
    for node in tree.descendants().filter(roxmltree::Node::is_element) {
        let name = node.tag_name().name();
        let (attributes, children) = known.get(name).unwrap_or_else(|| panic!("no element {name}"));
        for attribute in node.attributes() {
            assert!(attributes.contains(&attribute.name()), "{name} has no {}", attribute.name());
            let number = |what: &[&str]| what.contains(&attribute.name());
            if number(&["tests", "failures", "errors", "skipped"]) {
                attribute.value().parse::<u32>().unwrap();
            } else if number(&["time"]) {
                assert!(attribute.value().parse::<f64>().unwrap() >= 0.0);
            }
        }
        let inside: Vec<&str> =
            node.children().filter(roxmltree::Node::is_element).map(|n| n.tag_name().name()).collect();
        assert!(inside.iter().all(|child| children.contains(child)), "{name} holds {inside:?}");
        match name {
            "testsuite" => assert!(node.has_attribute("name") && node.has_attribute("tests")),
            "testcase" => {
                assert!(node.attribute("name").is_some_and(|name| !name.is_empty()));
                let outcomes =
                    inside.iter().filter(|child| ["failure", "error", "skipped"].contains(child)).count();
                assert!(outcomes <= 1, "{inside:?}");
                counted[0] += 1;
            }
            "failure" => counted[1] += 1,
            "error" => counted[2] += 1,
            _ => {}
        }
    }
    for node in
        tree.descendants().filter(|node| ["testsuites", "testsuite"].contains(&node.tag_name().name()))
    {
        let told = ["tests", "failures", "errors"]
            .map(|name| node.attribute(name).unwrap().parse::<usize>().unwrap());
        assert_eq!(told, counted, "what {} tells", node.tag_name().name());
    }
    counted
}

/// The container recipe by the rules that linters of such files share: known instructions, images with a tag, stages that
/// are there, files that are there, lists of packages removed in the layer that fetched them, a command in JSON.
#[test]
fn the_container_recipe_is_sound() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = std::fs::read_to_string(root.join("docs/ci/Containerfile")).unwrap();
    let joined = text.replace("\\\n", " ");
    let mut stages: Vec<&str> = Vec::new();
    let mut last = "";
    for line in joined.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (instruction, rest) = line.split_once(' ').unwrap_or_else(|| panic!("{line}"));
        let words: Vec<&str> = rest.split_whitespace().collect();
        match instruction {
            "FROM" => {
                let (name, tag) = words[0].rsplit_once(':').unwrap_or_else(|| panic!("no tag: {line}"));
                assert!(name.contains('/') && tag != "latest", "{line}");
                stages.push(words.iter().position(|word| *word == "AS").map_or("", |at| words[at + 1]));
            }
            "COPY" => {
                let from = words[0].strip_prefix("--from=");
                assert!(from.is_none_or(|stage| stages.contains(&stage)), "no stage: {line}");
                if from.is_none() {
                    words[..words.len() - 1]
                        .iter()
                        .for_each(|file| assert!(root.join(file).exists(), "{line}"));
                }
            }
            "RUN" if rest.contains("apt-get install") => {
                for part in
                    ["apt-get update &&", "--yes", "--no-install-recommends", "rm -rf /var/lib/apt/lists/*"]
                {
                    assert!(rest.contains(part), "{part}: {line}");
                }
            }
            "RUN" | "WORKDIR" | "ENV" | "LABEL" => {}
            "CMD" => assert!(serde_json::from_str::<Vec<String>>(rest).is_ok(), "{line}"),
            other => panic!("{other} is not used here"),
        }
        last = instruction;
    }
    assert_eq!(last, "CMD");
    assert_eq!(stages.len(), 2, "what builds is not what runs");
}
