#![no_main]
//! Fragments and ICMP into packet ports around a link with an MTU; the body is shared with the test in `cargo test`.

#[path = "../../crates/scenario/tests/packet_ports/mod.rs"]
mod fuzz;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::fragments(bytes));
