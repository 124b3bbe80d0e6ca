#![no_main]
//! Any kernel in virtual time; the body is shared with the replay in `cargo test`.

#[path = "../../crates/uml/tests/fuzz/mod.rs"]
mod fuzz;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::kernel(bytes));
