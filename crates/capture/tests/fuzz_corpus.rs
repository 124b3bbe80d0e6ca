//! Fuzz corpora of captures and packet headers, replayed.

mod fuzz;

use testkit::corpus::replay;

#[test]
fn pcap() {
    replay("pcap", 10, fuzz::pcap);
}

#[test]
fn pcapng() {
    replay("pcapng", 10, fuzz::pcapng);
}

#[test]
fn frames() {
    replay("frame", 10, fuzz::frame);
}

#[test]
fn tcp_options() {
    replay("tcp_options", 10, fuzz::tcp_options);
}
