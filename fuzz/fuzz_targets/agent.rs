#![no_main]
//! Any host at the other end of a line to an agent; the body is shared with the replay in `cargo test`.

#[path = "../../crates/agent/tests/fuzz/mod.rs"]
mod fuzz;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::agent(bytes));
