//! The claim: no message of a kernel and no contents of its memory harm its calendar or its network card. The fuzzer's
//! corpus is replayed, and bytes are generated.

#[path = "fuzz/mod.rs"]
mod fuzz;

use proptest::prelude::*;

#[test]
fn the_corpus_is_harmless() {
    testkit::corpus::replay("kernel", 4, fuzz::kernel);
}

proptest! {
    #[test]
    fn made_up_bytes_are_harmless(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        fuzz::kernel(&bytes);
    }
}
