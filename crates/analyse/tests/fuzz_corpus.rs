//! Replay of the fuzz corpus of the analyser, and random observations.

#[path = "fuzz/mod.rs"]
mod fuzz;

use proptest::prelude::*;

#[test]
fn the_corpus_is_replayed() {
    testkit::corpus::replay("observations", 10, fuzz::observations);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn nothing_observed_makes_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..3000)) {
        fuzz::observations(&bytes);
    }
}
