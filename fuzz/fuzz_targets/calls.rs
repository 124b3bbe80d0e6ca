#![no_main]
//! Calls of triggers while a network runs; the body is shared with the tests in `cargo test`.

#[path = "../../crates/scenario/tests/fuzz/mod.rs"]
#[allow(dead_code, reason = "other targets use the rest")]
mod fuzz;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::calls(bytes));
