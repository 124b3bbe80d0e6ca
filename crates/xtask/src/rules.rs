//! Repository rules for source text: no unfinished marks, no machine paths, valid scenarios in pages, a
//! reason for every dependency.
//!
//! A long file is only a warning.

use crate::Findings;
use crate::tree::Tree;
use std::collections::BTreeSet;

/// Marks of unfinished work, in two parts, so that this file does not match.
const MARKS: &[&str] = &[concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X")];
/// First parts of paths of one machine.
const PLACES: &[&str] =
    &[concat!("/ho", "me/"), concat!("/ro", "ot/"), concat!("/wo", "rk/"), concat!("/Us", "ers/")];
/// Number of lines above which a file may have two subjects.
const LONG: usize = 600;
/// File with the reasons of dependencies.
const REASONS: &str = "docs/adr/dependencies.md";

/// Checks all rules.
pub(crate) fn check(tree: &Tree, findings: &mut Findings) {
    for (path, text) in tree.all() {
        for (i, line) in text.lines().enumerate() {
            for found in MARKS.iter().filter(|mark| stands_alone(line, mark)) {
                findings.errors.push(format!("{path}:{}: {found}", i + 1));
            }
            if let Some(found) = PLACES.iter().find(|place| is_absolute(line, place)) {
                findings.errors.push(format!("{path}:{}: a path of one machine ({found})", i + 1));
            }
        }
        let lines = text.lines().count();
        if path.ends_with(".rs") && lines > LONG {
            findings.warnings.push(format!("{path} has {lines} lines; does it have two subjects?"));
        }
    }
    dependencies(tree, findings);
    scenarios(tree, findings);
}

/// Checks scenarios in pages: each TOML block that begins with the grammar's version must be readable.
fn scenarios(tree: &Tree, findings: &mut Findings) {
    for (path, text) in tree.all().filter(|(path, _)| path.ends_with(".md")) {
        for (line, block) in blocks(text).into_iter().filter(|(_, block)| block.starts_with("williwaw = ")) {
            if let Err(wrong) = scenario::read(path, block.as_bytes(), &scenario::NoFiles) {
                findings.errors.push(format!("{path}:{line}: this scenario cannot be read:\n{wrong}"));
            }
        }
    }
}

/// TOML blocks of a page, with the line on which each begins.
fn blocks(text: &str) -> Vec<(usize, String)> {
    let mut out = Vec::new();
    let mut open: Option<(usize, String)> = None;
    for (i, line) in text.lines().enumerate() {
        match &mut open {
            None if line.trim() == "```toml" => open = Some((i + 2, String::new())),
            Some(_) if line.trim() == "```" => out.extend(open.take()),
            Some((_, block)) => {
                block.push_str(line);
                block.push('\n');
            }
            None => {}
        }
    }
    out
}

fn stands_alone(line: &str, word: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| {
        let (before, after) = (&line[..at], &line[at + word.len()..]);
        !before.ends_with(is_word) && !after.starts_with(is_word)
    })
}

/// Whether a path begins here and is not a part of a longer name.
fn is_absolute(line: &str, place: &str) -> bool {
    line.match_indices(place).any(|(at, _)| {
        !line[..at].ends_with(|c: char| c.is_alphanumeric() || ['.', '_', '-', '}', '*', '/'].contains(&c))
    })
}

/// Every dependency has a line with its reason, and every reason a dependency.
fn dependencies(tree: &Tree, findings: &mut Findings) {
    let Ok(root) = tree.text("Cargo.toml").and_then(|t| t.parse::<toml::Table>().map_err(|e| e.to_string()))
    else {
        findings.errors.push("Cargo.toml cannot be read".into());
        return;
    };
    let listed = root.get("workspace").and_then(|w| w.get("dependencies")).and_then(toml::Value::as_table);
    let needed: BTreeSet<&str> = listed
        .into_iter()
        .flatten()
        .filter(|(_, value)| value.get("path").is_none())
        .map(|(name, _)| name.as_str())
        .collect();
    let reasons = tree.text(REASONS).unwrap_or_default();
    let given: BTreeSet<&str> =
        reasons.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()).collect();
    for name in needed.difference(&given) {
        findings.errors.push(format!("Cargo.toml: `{name}` has no line in {REASONS}"));
    }
    for name in given.difference(&needed) {
        findings.errors.push(format!("{REASONS}: `{name}` is no dependency any more"));
    }
    let mut taken: BTreeSet<String> = BTreeSet::new();
    for (path, text) in tree.all().filter(|(path, _)| path.ends_with("/Cargo.toml")) {
        let Ok(table) = text.parse::<toml::Table>() else { continue };
        if table.contains_key("workspace") {
            continue; // A workspace of its own, such as the fuzz targets.
        }
        // Dependencies of single systems are listed under `target`.
        let targets = table.get("target").and_then(toml::Value::as_table).into_iter().flatten();
        let targets = targets.filter_map(|(_, target)| target.as_table());
        for table in targets.chain([&table]) {
            for part in ["dependencies", "dev-dependencies", "build-dependencies"] {
                let own = table.get(part).and_then(toml::Value::as_table);
                for (name, value) in own.into_iter().flatten() {
                    taken.insert(name.clone());
                    if value.get("workspace").and_then(toml::Value::as_bool) != Some(true) {
                        findings.errors.push(format!("{path}: `{name}` takes its version from elsewhere"));
                    }
                }
            }
        }
    }
    for name in needed.iter().filter(|name| !taken.contains(**name)) {
        findings.warnings.push(format!("Cargo.toml: no crate takes `{name}`"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Findings {
        let mut findings = Findings::default();
        let mut all = vec![("Cargo.toml", "[workspace.dependencies]\n")];
        all.extend_from_slice(files);
        check(&Tree::of(&all), &mut findings);
        findings
    }

    #[test]
    fn work_not_done_is_found() {
        let line = format!("// {}: later\n", MARKS[0]);
        assert_eq!(found(&[("a.rs", &line)]).errors, [format!("a.rs:1: {}", MARKS[0])]);
        assert_eq!(found(&[("a.rs", &format!("let MY_{} = 1;\n", MARKS[0]))]).errors, [""; 0]);
    }

    #[test]
    fn paths_of_one_machine_are_found() {
        let line = format!("see {}me/x\n", PLACES[0]);
        assert_eq!(found(&[("a.md", &line)]).errors.len(), 1);
        assert_eq!(found(&[("a.md", &format!("crates{}x\n", PLACES[0]))]).errors, [""; 0]);
    }

    #[test]
    fn a_long_file_is_a_question() {
        let findings = found(&[("a.rs", &"//\n".repeat(LONG + 1))]);
        assert_eq!((findings.errors.len(), findings.warnings.len()), (0, 1));
    }

    #[test]
    fn scenarios_in_pages_are_read() {
        let page = "text\n```toml\nwilliwaw = 1\n[[hop]]\nname = \"radio\"\n```\n```toml\nmss = 1\n```\n";
        let findings = found(&[("docs/a.md", page)]);
        assert_eq!(findings.errors.len(), 1, "{findings:?}");
        assert!(findings.errors[0].starts_with("docs/a.md:3: this scenario"), "{findings:?}");
    }

    #[test]
    fn dependencies_and_reasons_go_together() {
        let root =
            "[workspace.dependencies]\nbase = { path = \"crates/base\" }\nserde = \"1\"\ntoml = \"1\"\n";
        let mut findings = Findings::default();
        let tree = Tree::of(&[
            ("Cargo.toml", root),
            ("crates/a/Cargo.toml", "[dependencies]\nserde.workspace = true\nlibc = \"1\"\n"),
            (REASONS, "| `serde` | parsing |\n| `old` | gone |\n"),
        ]);
        dependencies(&tree, &mut findings);
        assert_eq!(
            findings.errors,
            [
                format!("Cargo.toml: `toml` has no line in {REASONS}"),
                format!("{REASONS}: `old` is no dependency any more"),
                "crates/a/Cargo.toml: `libc` takes its version from elsewhere".into(),
            ]
        );
    }
}
