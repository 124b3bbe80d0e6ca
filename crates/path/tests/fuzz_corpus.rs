//! Inputs of the fuzz target of the deadline-aware routers, and random ones.

mod fuzz;

use proptest::prelude::*;

#[test]
fn the_corpus_of_the_routers() {
    testkit::corpus::replay("deadline", 8, fuzz::routers);
}

proptest! {
    #[test]
    fn any_bytes_drive_the_routers(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        fuzz::routers(&bytes);
    }
}
