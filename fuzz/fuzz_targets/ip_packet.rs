#![no_main]
//! Any packet into a packet port; the body is shared with the replay in `cargo test`.

#[path = "../../crates/scenario/tests/packet_ports/mod.rs"]
mod fuzz;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::ip_packet(bytes));
