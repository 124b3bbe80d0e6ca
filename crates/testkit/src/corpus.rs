//! Fuzzing corpora for tests: replay of the inputs in `fuzz/corpus` (`fuzz/README.md`).

use std::path::Path;

/// Calls `body` with every input of a fuzz target, in the order of the file names. Fails with fewer than
/// `least` inputs, so that a lost corpus does not pass.
pub fn replay(target: &str, least: usize, body: impl Fn(&[u8])) {
    for input in inputs(target, least) {
        body(&input);
    }
}

/// Inputs of a fuzz target, at least `least`. Prints the name of each before it is used.
pub fn inputs(target: &str, least: usize) -> impl Iterator<Item = Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let mut files: Vec<_> = std::fs::read_dir(&folder)
        .unwrap_or_else(|e| panic!("{}: {e}", folder.display()))
        .map(|entry| entry.expect("an entry of the corpus").path())
        .collect();
    files.sort();
    assert!(files.len() >= least, "{}: {} inputs, expected {least}", folder.display(), files.len());
    files.into_iter().map(|file| {
        eprintln!("{}", file.display()); // Shown when the test fails.
        std::fs::read(&file).expect("an input of the corpus")
    })
}
