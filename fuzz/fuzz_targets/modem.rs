#![no_main]
//! Any modem beside a measurement; the body is shared with the replay in `cargo test`.

#[path = "../../crates/measure/tests/fuzz/mod.rs"]
mod fuzz;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::modem(bytes));
