//! The claim: no input of a peer makes a connection panic, loop, or send data beyond its window. The inputs were found
//! by a fuzzer (`fuzz/README.md`).

mod fuzz;

use testkit::corpus::replay;

#[test]
fn tcp_sender() {
    replay("tcp_sender", 10, fuzz::tcp_sender);
}

#[test]
fn tcp_receiver() {
    replay("tcp_receiver", 10, fuzz::tcp_receiver);
}
