#![no_main]
//! Bytes of a serial line; the body is shared with the replay in `cargo test`.

#[path = "../../crates/base/tests/fuzz/mod.rs"]
mod fuzz;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::line(bytes));
