#![no_main]
//! Radio blocks, LLC frames, BSSGP PDUs, and a sender with a hostile mobile. The body is shared with the replay in
//! `cargo test`.

#[path = "../../crates/radio/tests/fuzz/mod.rs"]
mod fuzz;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::blocks(bytes));
