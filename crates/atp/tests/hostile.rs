//! The claim: no packet of an attacker stops an end of ATP or keeps its timers running.

mod fuzz;

use proptest::prelude::*;

/// The highest transmission number there is, and another after it: the history of losses overflowed (found by fuzzing).
#[test]
fn the_highest_transmission_number_does_no_harm() {
    fuzz::packets(&[
        0xbf, 0x00, 0x31, 0x30, 0x12, 0x00, 0x07, 0xc5, 0x00, 0x12, 0x00, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
        0xff, 0xff, 0xff, 0xfa, 0xff, 0xff, 0xff, 0xdf, 0x00,
    ]);
}

/// Inputs that a fuzzer found worth keeping (`fuzz/README.md`): an offset at the end of numbers overflowed.
#[test]
fn kept_inputs_do_no_harm() {
    testkit::corpus::replay("atp", 1, fuzz::packets);
}

/// A fragment at the end of the number space: its position overflowed (found by fuzzing).
#[test]
fn the_highest_offset_does_no_harm() {
    let mut bytes = vec![0x01, 0x00, 0x00, 0x00, 0x00, 0x75, 0x5b, 0x00, 0x24, 0x54, 0x01];
    bytes.extend([0xff; 19]);
    bytes.extend([0x10, 0x24, 0x54]);
    fuzz::packets(&bytes);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn a_stranger_does_no_harm(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        fuzz::packets(&bytes);
    }
}
