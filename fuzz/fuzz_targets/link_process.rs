#![no_main]
//! Output of a program that serves a link; the body is shared with the replay in `cargo test`.

#[path = "../../crates/emulate/tests/fuzz/mod.rs"]
mod fuzz;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::link_process(bytes));
