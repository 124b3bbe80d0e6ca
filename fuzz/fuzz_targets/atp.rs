#![no_main]
//! ATP packets against both ends of a flow; the body is shared with the tests in `cargo test`.

#[path = "../../crates/atp/tests/fuzz/mod.rs"]
#[allow(dead_code, reason = "other targets use the rest")]
mod fuzz;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::packets(bytes));
