//! The claim: nothing that a kernel says or writes into its memory harms its calendar or its network card. The fuzzer's corpus
//! is replayed, and bytes are made up.

#[path = "fuzz/mod.rs"]
mod fuzz;

use proptest::prelude::*;
use std::path::Path;

#[test]
fn the_corpus_is_harmless() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/kernel");
    let files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|f| f.unwrap().path()).collect();
    assert!(files.len() >= 4);
    for file in files {
        fuzz::kernel(&std::fs::read(file).unwrap());
    }
}

proptest! {
    #[test]
    fn made_up_bytes_are_harmless(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        fuzz::kernel(&bytes);
    }
}
