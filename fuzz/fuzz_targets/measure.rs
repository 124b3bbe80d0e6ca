#![no_main]
//! Any peer of a measurement; the body is shared with the replay in `cargo test`.

#[path = "../../crates/measure/tests/fuzz/mod.rs"]
mod fuzz;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::measure(bytes));
