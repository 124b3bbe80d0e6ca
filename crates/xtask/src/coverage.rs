//! Feature coverage of tests: collection of tests that name a feature id, and the generated page with three
//! states.
//!
//! *Covered*: a user can use the whole feature, and a test that runs by default names the feature's id in its
//! body or in its comment. *Partly*: there is such a test, and the entry names the missing part. *Not*: all
//! other features. Dialogues of the scripted peer are tests too: one test plays all of them.

use crate::features::{Feature, Features, group, ids};
use crate::record::Recorded;
use crate::rust;
use crate::tree::Tree;
use crate::{Findings, NOTE};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Tests by the feature id that they name: `path/tests/link.rs::name`.
pub(crate) type Named = BTreeMap<String, Vec<String>>;

/// Folder of the dialogues.
const DIALOGUES: &str = "crates/script/dialogues/";

/// Collects tests with feature ids from every source and every dialogue.
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

/// State of coverage of a feature.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Covered,
    Partly,
    Not,
}

impl State {
    const ALL: [State; 3] = [State::Covered, State::Partly, State::Not];

    fn of(feature: &Feature, named: &Named, recorded: &Recorded) -> State {
        let tests = named.get(&feature.id).map(Vec::as_slice).unwrap_or_default();
        if !feature.reachable() || tests.iter().all(|test| recorded.skipped.contains_key(test)) {
            State::Not
        } else if feature.partly.is_empty() {
            State::Covered
        } else {
            State::Partly
        }
    }

    fn word(self) -> &'static str {
        match self {
            State::Covered => "covered",
            State::Partly => "partly",
            State::Not => "not",
        }
    }
}

/// Anchor of a heading: without punctuation, hyphens for spaces.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || [' ', '-'].contains(c));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

/// The generated page.
pub(crate) fn page(features: &Features, named: &Named, recorded: &Recorded) -> String {
    let mut out = String::from(NOTE);
    out.push_str(
        "# Feature coverage\n\n\
         From `docs/features.toml` and the tests. A feature is *covered* if a scenario key, an option or a verb reaches\n\
         the whole of it and a test or a dialogue of the scripted peer names its id. It is *partly* covered if something\n\
         is missing, which is then said, and *not* covered otherwise. Tests that run on request do not count.\n",
    );
    if !recorded.of.is_empty() {
        let _ = writeln!(
            out,
            "A test that was skipped in the recorded run (`docs/recorded-run.toml`: {}) shows nothing; {} were.",
            recorded.of,
            recorded.skipped.len(),
        );
    }
    out.push_str("\n| group | | features | covered | partly | not |\n|---|---|---:|---:|---:|---:|\n");
    let mut sums = [0usize; 4];
    for (id, name) in &features.groups {
        let of: Vec<State> =
            features.all.iter().filter(|f| f.group() == id).map(|f| State::of(f, named, recorded)).collect();
        let [covered, partly, not] = State::ALL.map(|state| of.iter().filter(|s| **s == state).count());
        let counts = [of.len(), covered, partly, not];
        let anchor = anchor(&format!("{id} {name}"));
        let _ = writeln!(out, "| [{id}](#{anchor}) | {name} | {} | {covered} | {partly} | {not} |", of.len());
        for (sum, n) in sums.iter_mut().zip(counts) {
            *sum += n;
        }
    }
    let [all, covered, partly, not] = sums;
    let _ = writeln!(out, "| | **all** | **{all}** | **{covered}** | **{partly}** | **{not}** |");
    for (id, name) in &features.groups {
        let _ = writeln!(
            out,
            "\n## {id} {name}\n\n| | feature | state | reach | shown by |\n|---|---|---|---|---|"
        );
        for feature in features.all.iter().filter(|f| f.group() == id) {
            let _ = writeln!(out, "{}", row(feature, named, recorded));
        }
    }
    out
}

fn row(feature: &Feature, named: &Named, recorded: &Recorded) -> String {
    let tests = named.get(&feature.id).map(Vec::as_slice).unwrap_or_default();
    let tests = tests.iter().map(|t| format!("`{t}`")).collect::<Vec<_>>().join("<br>");
    let state = match State::of(feature, named, recorded) {
        State::Partly => format!("partly: {}", feature.partly),
        State::Not if feature.reachable() && !named.contains_key(&feature.id) => "not: no test".to_owned(),
        State::Not if feature.reachable() => "not: every test was skipped in the recorded run".to_owned(),
        state => state.word().to_owned(),
    };
    let note = if feature.note.is_empty() { String::new() } else { format!(" ({})", feature.note) };
    let reach = format!("{}{note}", feature.reach).replace('|', "\\|");
    format!("| {} | {} | {} | {reach} | {tests} |", feature.id, feature.name, state.replace('|', "\\|"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::read;

    const DATA: &str = "[groups]\nNS = \"Simulation\"\n[features]\n\
        NS-01 = { name = \"One\", reach = \"`gate`\" }\n\
        NS-02 = { name = \"Two\", reach = \"`hold` | `drop`\", partly = \"half\" }\n\
        NS-03 = { name = \"Three\", reach = \"not yet\" }\n";
    const SOURCE: &str = "/// NS-01 and NS-03\n#[test]\nfn shows() { let _ = \"NS-01\"; }\n\
        /// NS-02\n#[test]\n#[ignore]\nfn slow() {}\n/// NS-02\nfn helper() {}\n";

    #[test]
    fn covered_is_reachable_and_tested_and_whole() {
        let features = read(DATA).unwrap();
        let tree = Tree::of(&[("crates/path/src/gate.rs", SOURCE), ("crates/xtask/src/x.rs", SOURCE)]);
        let mut findings = Findings::default();
        let named = collect(&tree, &features, &mut findings);
        assert_eq!(findings, Findings::default());
        assert_eq!(named["NS-01"], ["path/src/gate.rs::shows"]);
        let states: Vec<State> =
            features.all.iter().map(|f| State::of(f, &named, &Recorded::default())).collect();
        assert_eq!(states, [State::Covered, State::Not, State::Not], "NS-02 has no test, NS-03 no reach");
        let page = page(&features, &named, &Recorded::default());
        assert!(page.contains("| [NS](#ns-simulation) | Simulation | 3 | 1 | 0 | 2 |"), "{page}");
        assert!(page.contains("| NS-01 | One | covered | `gate` | `path/src/gate.rs::shows` |"), "{page}");
        assert!(page.contains("| NS-02 | Two | not: no test | `hold` \\| `drop` |  |"), "{page}");
        let named = Named::from([("NS-02".to_owned(), vec!["t".to_owned()])]);
        let mut recorded = Recorded::default();
        recorded.skipped.insert("path/src/gate.rs::shows".to_owned(), "no rights".to_owned());
        assert!(
            row(&features.all[0], &collect(&tree, &features, &mut findings), &recorded)
                .contains("| not: every test")
        );
        assert!(
            row(&features.all[1], &named, &Recorded::default()).contains("| partly: half |"),
            "a test and a missing part"
        );
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
