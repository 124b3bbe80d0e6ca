#![no_main]
//! Any text as what another tool calls a link; the body is shared with the replay in `cargo test`.

#[path = "../../crates/scenario/tests/fuzz/mod.rs"]
mod fuzz;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::import(bytes));
