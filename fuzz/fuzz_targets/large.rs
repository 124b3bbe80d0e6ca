#![no_main]
//! Frames that a kernel has not finished; the body is shared with the replay in `cargo test`.

#[path = "../../crates/base/tests/fuzz/mod.rs"]
mod fuzz;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::large(bytes));
