#![no_main]
//! Any peer; the body is shared with the replay in `cargo test`.

#[path = "../../crates/transport/tests/fuzz/mod.rs"]
#[allow(dead_code, reason = "the other target's half")]
mod fuzz;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::tcp_sender(bytes));
