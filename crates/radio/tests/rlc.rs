//! The claim: no order of blocks and no report breaks the windows of RLC.

#[path = "fuzz/rlc.rs"]
mod fuzz;

use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn blocks_and_reports_do_no_harm(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        fuzz::blocks(&bytes);
    }
}
