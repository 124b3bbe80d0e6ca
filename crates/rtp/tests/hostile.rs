//! The claim: no packet of an attacker stops an end of an RTP session or keeps its timers running.

mod fuzz;

use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn a_stranger_does_no_harm(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        fuzz::packets(&bytes);
    }
}
