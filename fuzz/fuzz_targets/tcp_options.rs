#![no_main]
//! The body is shared with the replay in `cargo test`.

#[path = "../../crates/capture/tests/fuzz/mod.rs"]
mod fuzz;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::tcp_options(bytes));
