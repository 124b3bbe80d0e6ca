//! Feature coverage page, from `features.toml` and the tests that name ids.
//!
//! A feature counts as covered if a user can reach it and a test that runs by itself names its id, in its body or in
//! the comment above it. The dialogues of the scripted peer are tests too: one test plays them all.

use crate::features::{Feature, Features, group, ids};
use crate::rust;
use crate::tree::Tree;
use crate::{Findings, NOTE};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Tests by the id that they name: `path/tests/link.rs::name`.
pub(crate) type Named = BTreeMap<String, Vec<String>>;

/// Where the dialogues lie.
const DIALOGUES: &str = "crates/script/dialogues/";

/// Looks through every source and every dialogue.
pub(crate) fn collect(tree: &Tree, features: &Features, findings: &mut Findings) -> Named {
    let mut named = Named::new();
    let mut note = |test: String, text: &str| {
        for id in ids(text) {
            if features.has(id) {
                let tests = named.entry(id.to_owned()).or_default();
                if !tests.contains(&test) {
                    tests.push(test.clone());
                }
            } else if features.has_group(group(id)) {
                findings.errors.push(format!("{test} names {id}, which is no feature"));
            }
        }
    };
    let short = |path: &str| path.strip_prefix("crates/").unwrap_or(path).to_owned();
    for (path, source) in tree.sources() {
        for test in rust::tests(source).into_iter().filter(|t| !t.ignored) {
            note(format!("{}::{}", short(path), test.name), test.text);
        }
    }
    for (path, text) in tree.all().filter(|(path, _)| path.starts_with(DIALOGUES)) {
        note(short(path), text);
    }
    named
}

fn covered(feature: &Feature, named: &Named) -> bool {
    feature.reachable() && named.contains_key(&feature.id)
}

/// What a heading is called in a link to it: punctuation goes, spaces become hyphens.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || [' ', '-'].contains(c));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

/// The page.
pub(crate) fn page(features: &Features, named: &Named) -> String {
    let mut out = String::from(NOTE);
    out.push_str(
        "# Which features are there?\n\n\
         From `docs/features.toml` and the tests. A feature is *reachable* if a scenario key, an option or a verb\n\
         leads to it, and *covered* if it is reachable and a test that runs by itself, or a dialogue of the scripted\n\
         peer, names its id.\n\n\
         | group | | features | reachable | covered |\n|---|---|---:|---:|---:|\n",
    );
    let mut sums = [0usize; 3];
    for (id, name) in &features.groups {
        let of: Vec<&Feature> = features.all.iter().filter(|f| f.group() == id).collect();
        let counts = [
            of.len(),
            of.iter().filter(|f| f.reachable()).count(),
            of.iter().filter(|f| covered(f, named)).count(),
        ];
        let anchor = anchor(&format!("{id} {name}"));
        let _ =
            writeln!(out, "| [{id}](#{anchor}) | {name} | {} | {} | {} |", counts[0], counts[1], counts[2]);
        for (sum, n) in sums.iter_mut().zip(counts) {
            *sum += n;
        }
    }
    let _ = writeln!(out, "| | **all** | **{}** | **{}** | **{}** |", sums[0], sums[1], sums[2]);
    for (id, name) in &features.groups {
        let _ = writeln!(out, "\n## {id} {name}\n\n| | feature | reach | shown by |\n|---|---|---|---|");
        for feature in features.all.iter().filter(|f| f.group() == id) {
            let tests = named.get(&feature.id).map(Vec::as_slice).unwrap_or_default();
            let tests = tests.iter().map(|t| format!("`{t}`")).collect::<Vec<_>>().join("<br>");
            let note = if feature.note.is_empty() { String::new() } else { format!(" ({})", feature.note) };
            let reach = format!("{}{note}", feature.reach).replace('|', "\\|");
            let mark = if covered(feature, named) { " ✓" } else { "" };
            let _ = writeln!(out, "| {}{mark} | {} | {reach} | {tests} |", feature.id, feature.name);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::read;

    const DATA: &str = "[groups]\nNS = \"Simulation\"\n[features]\n\
        NS-01 = { name = \"One\", reach = \"`gate`\" }\n\
        NS-02 = { name = \"Two\", reach = \"`hold` | `drop`\", note = \"half\" }\n\
        NS-03 = { name = \"Three\", reach = \"not yet\" }\n";
    const SOURCE: &str = "/// NS-01 and NS-03\n#[test]\nfn shows() { let _ = \"NS-01\"; }\n\
        /// NS-02\n#[test]\n#[ignore]\nfn slow() {}\n/// NS-02\nfn helper() {}\n";

    #[test]
    fn covered_is_reachable_and_tested() {
        let features = read(DATA).unwrap();
        let tree = Tree::of(&[("crates/path/src/gate.rs", SOURCE), ("crates/xtask/src/x.rs", SOURCE)]);
        let mut findings = Findings::default();
        let named = collect(&tree, &features, &mut findings);
        assert_eq!(findings, Findings::default());
        assert_eq!(named["NS-01"], ["path/src/gate.rs::shows"]);
        let covers: Vec<bool> = features.all.iter().map(|f| covered(f, &named)).collect();
        assert_eq!(covers, [true, false, false]);
        let page = page(&features, &named);
        assert!(page.contains("| [NS](#ns-simulation) | Simulation | 3 | 2 | 1 |"), "{page}");
        assert!(page.contains("| NS-01 ✓ | One | `gate` | `path/src/gate.rs::shows` |"), "{page}");
        assert!(page.contains("| NS-02 | Two | `hold` \\| `drop` (half) |  |"), "{page}");
    }

    #[test]
    fn headings_are_linked_to() {
        assert_eq!(anchor("EI Spurious timeouts: why"), "ei-spurious-timeouts-why");
        assert_eq!(anchor("PR TCP for 2.5G, W-CDMA"), "pr-tcp-for-25g-w-cdma");
    }

    #[test]
    fn a_dialogue_is_a_test() {
        let features = read(DATA).unwrap();
        let tree = Tree::of(&[("crates/script/dialogues/one.toml", "notes = \"catalogue NS-02\"\n")]);
        let named = collect(&tree, &features, &mut Findings::default());
        assert_eq!(named["NS-02"], ["script/dialogues/one.toml"]);
    }

    #[test]
    fn a_test_that_names_no_feature_is_an_error() {
        let features = read(DATA).unwrap();
        let tree = Tree::of(&[("crates/a/tests/b.rs", "/// NS-99, UT-16\n#[test]\nfn t() {}\n")]);
        let mut findings = Findings::default();
        collect(&tree, &features, &mut findings);
        assert_eq!(findings.errors, ["a/tests/b.rs::t names NS-99, which is no feature"]);
    }
}
