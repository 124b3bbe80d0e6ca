//! The claim: no file makes the reader of scenarios panic, and what it refuses it explains. These are the
//! inputs that a fuzzer found worth keeping (`fuzz/README.md`).

mod fuzz;

use std::path::Path;

#[test]
fn scenario() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/scenario");
    let mut inputs: Vec<_> = std::fs::read_dir(&folder)
        .unwrap_or_else(|e| panic!("{}: {e}", folder.display()))
        .map(|entry| entry.expect("an entry").path())
        .collect();
    inputs.sort();
    assert!(inputs.len() >= 10, "the corpus is missing");
    for input in inputs {
        eprintln!("{}", input.display()); // shown when it fails
        fuzz::scenario(&std::fs::read(&input).expect("an input"));
    }
}
