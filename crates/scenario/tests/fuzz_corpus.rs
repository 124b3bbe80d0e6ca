//! The claim: no file makes the readers of scenarios and of other tools' command lines panic, and each rejection is
//! explained. The inputs were found by a fuzzer (`fuzz/README.md`).

mod fuzz;

use testkit::corpus::replay;

#[test]
fn scenario() {
    replay("scenario", 10, fuzz::scenario);
}

#[test]
fn import() {
    replay("import", 10, fuzz::import);
}

use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]
    /// Files that a scenario names: words of numbers, commas and lines, and any bytes at all.
    #[test]
    fn files_are_harmless(kind in 0..6u8, text in "[0-9eE.,:;a-z \n+-]{0,80}", raw in proptest::collection::vec(any::<u8>(), 0..20)) {
        fuzz::files(&[&[kind], text.as_bytes()].concat());
        fuzz::files(&[&[kind], &raw[..]].concat());
        for head in ["t_s,bit_per_s\n", "t_s,delay_s\n", "rep,start_s,length_s\n", "t_s,state\n", ""] {
            fuzz::files(&[&[kind], head.as_bytes(), text.as_bytes()].concat());
        }
    }

    /// Calls of triggers while a network runs: by names that it has, by others, at any times.
    #[test]
    fn calls_are_harmless(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        fuzz::calls(&bytes);
    }
}
