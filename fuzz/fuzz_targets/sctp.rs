#![no_main]
//! SCTP packets and an association with a hostile peer. The body is shared with the replay in `cargo test`.

#[path = "../../crates/sctp/tests/fuzz/mod.rs"]
mod fuzz;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::packets(bytes));
