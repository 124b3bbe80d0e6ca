#![no_main]
//! Any script; the body is shared with the replay in `cargo test`.

#[path = "../../crates/script/tests/fuzz/mod.rs"]
mod fuzz;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::script(bytes));
