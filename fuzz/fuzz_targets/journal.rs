#![no_main]
//! Any bytes as the journal of a run; the body is shared with the tests in `cargo test`.

#[path = "../../crates/results/tests/fuzz/mod.rs"]
#[allow(dead_code, reason = "other targets use the rest")]
mod fuzz;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::journal(bytes));
