//! The corpus that fuzzing left is replayed, and beside it sequences drawn at random.

#[path = "fuzz/mod.rs"]
mod fuzz;

use proptest::prelude::*;
use std::path::Path;

#[test]
fn the_corpus_is_replayed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/observations");
    let mut inputs = 0;
    for entry in std::fs::read_dir(&folder).unwrap() {
        fuzz::observations(&std::fs::read(entry.unwrap().path()).unwrap());
        inputs += 1;
    }
    assert!(inputs >= 10, "{}: {inputs} inputs", folder.display());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn nothing_observed_makes_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..3000)) {
        fuzz::observations(&bytes);
    }
}
