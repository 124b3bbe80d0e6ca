//! Octets and reports that no honest peer sends: parsers read them, a sender keeps its window.

mod fuzz;

use proptest::prelude::*;

proptest! {
    #[test]
    fn a_hostile_mobile_does_no_harm(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        fuzz::blocks(&bytes);
    }
}
