//! Record of a full test run, `docs/recorded-run.toml`: skipped tests and verdicts on claims, written from
//! the run's log and read for generated pages.
//!
//! `cargo run -p xtask -- record LOG [CLAIMS.json]` reads the log of `.ci/run` (tests with `--show-output`)
//! and the document of `williwaw reproduce --json`, and writes the record. A test that printed `skipped:` did
//! not run; a feature of which every test was skipped is not covered. So the generated page depends on the
//! record, not on the machine that generates it.
//!
//! `record-claims COMMIT REPRODUCE.json...` replaces only the verdicts on claims, from one document or from
//! several with different experiments.

use crate::rust;
use crate::tree::Tree;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Path of the record.
pub(crate) const FILE: &str = "docs/recorded-run.toml";

/// First line of the part with the verdicts.
const VERDICTS: &str = "# Verdicts of `williwaw reproduce` by claim.\n";

/// Facts about the recorded run.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Recorded {
    /// Date and commit of the run; empty without a record.
    pub(crate) of: String,
    /// Tests that did not run, as `path/tests/file.rs::name`, with the reason.
    pub(crate) skipped: BTreeMap<String, String>,
    /// `holds`, `explained` or `fails` by claim.
    pub(crate) claims: BTreeMap<String, String>,
}

/// Reads the committed record; without a record, no test was skipped.
pub(crate) fn read(tree: &Tree) -> Result<Recorded, String> {
    let Ok(text) = tree.text(FILE) else { return Ok(Recorded::default()) };
    let table: toml::Table = text.parse().map_err(|e| format!("{FILE}: {e}"))?;
    let word = |key: &str| table.get(key).and_then(toml::Value::as_str).unwrap_or_default();
    let part = |key: &str| {
        let part = table.get(key).and_then(toml::Value::as_table).into_iter().flatten();
        part.filter_map(|(k, v)| Some((k.clone(), v.as_str()?.to_owned()))).collect()
    };
    Ok(Recorded {
        of: format!("{}, commit {}", word("date"), word("commit")),
        skipped: part("skipped"),
        claims: part("claims"),
    })
}

/// Text of the record from a log and, if given, the document of `reproduce`.
pub(crate) fn text(tree: &Tree, log: &str, claims: Option<&str>) -> Result<String, String> {
    let begun = log.lines().find_map(|line| line.strip_prefix("== run of "));
    let (commit, date) = begun
        .and_then(|line| line.split_once(" on "))
        .ok_or("the log has no line `== run of COMMIT on DATE`, which .ci/run prints")?;
    let count = |word: &str| -> u64 {
        let results = log.lines().filter(|line| line.starts_with("test result:"));
        let number = |line: &str| {
            line.split([';', '.']).find_map(|part| part.trim().strip_suffix(word)?.trim().parse::<u64>().ok())
        };
        results.filter_map(number).sum()
    };
    let mut out = String::from("# Written by `cargo run -p xtask -- record LOG`; do not edit.\n\n");
    let _ = writeln!(out, "date = {:?}\ncommit = {:?}", date.trim(), commit.trim());
    for word in ["passed", "failed", "ignored"] {
        let _ = writeln!(out, "{word} = {}", count(word));
    }
    out.push_str("\n# Tests that did not run there, and why.\n[skipped]\n");
    for (test, why) in skipped(tree, log) {
        let _ = writeln!(out, "{test:?} = {why:?}");
    }
    out.push('\n');
    out.push_str(VERDICTS);
    out.push_str("[claims]\n");
    for (id, verdict) in verdicts_of(claims.into_iter())? {
        let _ = writeln!(out, "{id} = {verdict:?}");
    }
    Ok(out)
}

/// The record `old` with the verdicts of these documents of `reproduce`, which are of commit `of`.
pub(crate) fn with_claims<'a>(
    old: &str,
    of: &str,
    documents: impl Iterator<Item = &'a str>,
) -> Result<String, String> {
    let kept = old.find(VERDICTS).map(|at| &old[..at]).ok_or("the record has no part for verdicts")?;
    let mut out = format!("{kept}{VERDICTS}# They are of commit {of}.\n[claims]\n");
    for (id, verdict) in verdicts_of(documents)? {
        let _ = writeln!(out, "{id} = {verdict:?}");
    }
    Ok(out)
}

fn verdicts_of<'a>(
    documents: impl Iterator<Item = &'a str>,
) -> Result<BTreeMap<String, &'static str>, String> {
    let mut all = BTreeMap::new();
    for text in documents {
        let document: serde_json::Value = serde_json::from_str(text).map_err(|e| e.to_string())?;
        all.append(&mut verdicts(&document));
    }
    Ok(all)
}

/// Tests that report that they were skipped: libtest prints the output of each passed test under its name.
fn skipped(tree: &Tree, log: &str) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    let (mut file, mut test) = (String::new(), None::<String>);
    for line in log.lines() {
        let line = line.trim();
        if let Some(running) = line.strip_prefix("Running ") {
            let path = running.strip_prefix("unittests ").unwrap_or(running);
            file = path.split_whitespace().next().unwrap_or_default().to_owned();
        } else if let Some(name) = line.strip_prefix("---- ").and_then(|l| l.strip_suffix(" stdout ----")) {
            test = Some(name.to_owned());
        } else if line.starts_with("test result:") {
            test = None;
        } else if let (Some(why), Some(name)) = (line.strip_prefix("skipped: "), &test) {
            for full in places(tree, &file, name) {
                all.entry(full).or_insert_with(|| why.to_owned());
            }
        }
    }
    all
}

/// Full names of a test that cargo names by a path inside its package, without the package.
fn places(tree: &Tree, file: &str, name: &str) -> Vec<String> {
    let plain = name.rsplit("::").next().unwrap_or(name);
    let unit = file.starts_with("src/");
    let fits = |path: &str| if unit { path.contains("/src/") } else { path.ends_with(&format!("/{file}")) };
    let has = |source: &str| rust::tests(source).iter().any(|test| test.name == plain);
    let found = tree.sources().filter(|(path, source)| fits(path) && has(source));
    found.map(|(path, _)| format!("{}::{plain}", path.strip_prefix("crates/").unwrap_or(path))).collect()
}

/// Verdict on each claim.
fn verdicts(document: &serde_json::Value) -> BTreeMap<String, &'static str> {
    let list = |value: &serde_json::Value, key: &str| value[key].as_array().cloned().unwrap_or_default();
    let mut all = BTreeMap::new();
    for experiment in list(document, "experiments") {
        for claim in list(&experiment, "claims") {
            let verdict = match (claim["holds"].as_bool(), claim["why"].is_null()) {
                (Some(true), _) => "holds",
                (_, false) => "explained",
                _ => "fails",
            };
            if let Some(id) = claim["id"].as_str() {
                all.insert(id.to_owned(), verdict);
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "== run of abc123 on 2026-01-02\n\
         \x20    Running tests/live.rs (target/debug/deps/live-1)\n\
         test a_ping ... ok\n\nsuccesses:\n\n---- a_ping stdout ----\nskipped: there is no ping here\n\n\n\
         successes:\n    a_ping\n\ntest result: ok. 12 passed; 1 failed; 3 ignored; 0 measured; 0 filtered out\n\
         \x20    Running unittests src/lib.rs (target/debug/deps/b-2)\n\
         test result: ok. 30 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.1s\n";

    fn tree() -> Tree {
        let test = "#[test]\nfn a_ping() {}\n";
        Tree::of(&[
            ("crates/cli/tests/live.rs", test),
            ("crates/uml/tests/live.rs", "#[test]\nfn other() {}\n"),
        ])
    }

    #[test]
    fn a_log_becomes_a_record_that_is_read_again() {
        let document = r#"{"experiments":[{"claims":[{"id":"C001","holds":true,"why":null},
            {"id":"C002","holds":false,"why":"x"},{"id":"C003","holds":false,"why":null}]}]}"#;
        let text = text(&tree(), LOG, Some(document)).unwrap();
        assert!(text.contains("passed = 42\nfailed = 1\nignored = 3\n"), "{text}");
        let recorded = read(&Tree::of(&[(FILE, &text)])).unwrap();
        assert_eq!(recorded.of, "2026-01-02, commit abc123");
        assert_eq!(recorded.skipped["cli/tests/live.rs::a_ping"], "there is no ping here");
        assert_eq!(recorded.skipped.len(), 1);
        let verdicts: Vec<&str> = recorded.claims.values().map(String::as_str).collect();
        assert_eq!(verdicts, ["holds", "explained", "fails"]);
    }

    #[test]
    fn verdicts_are_renewed_alone() {
        let old =
            text(&tree(), LOG, Some(r#"{"experiments":[{"claims":[{"id":"C001","holds":true}]}]}"#)).unwrap();
        let one = r#"{"experiments":[{"claims":[{"id":"C005","holds":true,"why":null}]}]}"#;
        let other = r#"{"experiments":[{"claims":[{"id":"C004","holds":false,"why":"x"}]}]}"#;
        let new = with_claims(&old, "def456", [one, other].into_iter()).unwrap();
        let recorded = read(&Tree::of(&[(FILE, &new)])).unwrap();
        assert_eq!(recorded.of, "2026-01-02, commit abc123");
        let verdicts: Vec<_> = recorded.claims.iter().map(|(id, v)| (id.as_str(), v.as_str())).collect();
        assert_eq!(verdicts, [("C004", "explained"), ("C005", "holds")]);
        assert_eq!(with_claims(&new, "def456", [one, other].into_iter()).unwrap(), new);
        assert!(with_claims("date = 1\n", "x", [one].into_iter()).is_err());
    }

    #[test]
    fn a_log_of_something_else_is_refused() {
        assert!(text(&tree(), "test result: ok. 1 passed\n", None).unwrap_err().contains("== run of"));
    }

    #[test]
    fn without_a_record_nothing_was_skipped() {
        assert_eq!(read(&Tree::of(&[])).unwrap(), Recorded::default());
    }
}
