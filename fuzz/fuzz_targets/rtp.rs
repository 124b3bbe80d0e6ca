#![no_main]
//! RTP and RTCP against both ends of a session; the body is shared with the tests in `cargo test`.

#[path = "../../crates/rtp/tests/fuzz/mod.rs"]
mod fuzz;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::packets(bytes));
