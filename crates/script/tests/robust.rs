//! Robustness of the script players: the fuzzer's corpus, and correct scripts with a mutation, cause no
//! panic.

#[path = "fuzz/mod.rs"]
mod fuzz;

use proptest::prelude::*;
use std::path::{Path, PathBuf};

fn folder(name: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|f| f.unwrap().path()).collect();
    files.sort();
    files
}

#[test]
fn the_corpus_is_played_without_a_panic() {
    testkit::corpus::replay("script", 5, fuzz::script);
}

/// One of the project's scripts, in either notation.
fn scripts() -> impl Strategy<Value = String> {
    let mut all = folder("packetdrill");
    all.extend(folder("dialogues"));
    let texts: Vec<String> = all.iter().map(|f| std::fs::read_to_string(f).unwrap()).collect();
    proptest::sample::select(texts)
}

/// Numbers at the bounds of types and notations.
fn numbers() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("0".to_owned()),
        Just("-1".to_owned()),
        Just("1e300".to_owned()),
        Just("281474976710655".to_owned()),
        Just("99999999999999999999".to_owned()),
        Just("nan".to_owned()),
        (0u64..20_000).prop_map(|n| n.to_string()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_refused_or_played(text in "\\PC{0,200}") {
        fuzz::script(text.as_bytes());
    }

    /// Mutation: a number replaced; a line deleted, doubled or cut.
    #[test]
    fn a_script_with_something_wrong_is_refused_or_played(
        text in scripts(), number in numbers(), at in any::<prop::sample::Index>(), how in 0..5u8,
    ) {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let i = at.index(lines.len());
        match how {
            0 => { lines.remove(i); }
            1 => { let line = lines[i].clone(); lines.insert(i, line); }
            2 => { let cut = lines[i].chars().take(at.index(12)).collect(); lines[i] = cut; }
            _ => {
                let from = lines[i].find(|c: char| c.is_ascii_digit()).unwrap_or(0);
                let to = lines[i][from..].find(|c: char| !c.is_ascii_digit()).map_or(lines[i].len(), |n| from + n);
                lines[i].replace_range(from..to, &number);
            }
        }
        fuzz::script(lines.join("\n").as_bytes());
    }
}
