#![no_main]
//! Blocks and reports of RLC; the body is shared with the tests in `cargo test`.

#[path = "../../crates/radio/tests/fuzz/rlc.rs"]
#[allow(dead_code, reason = "other targets use the rest")]
mod fuzz;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::blocks(bytes));
