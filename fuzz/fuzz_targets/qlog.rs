#![no_main]
//! Any bytes as a qlog; the body is shared with the tests in `cargo test`.

#[path = "../../crates/view/tests/fuzz/mod.rs"]
#[allow(dead_code, reason = "other targets use the rest")]
mod fuzz;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::qlog(bytes));
