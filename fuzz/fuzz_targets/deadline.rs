#![no_main]
//! Deadline-aware routers: policies, packets and commands; the body is shared with the tests in `cargo test`.

#[path = "../../crates/path/tests/fuzz/mod.rs"]
mod fuzz;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::routers(bytes));
