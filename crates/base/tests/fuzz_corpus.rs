//! Replay of the fuzzing corpora of wire formats.

mod fuzz;

use testkit::corpus::replay;

#[test]
fn lines() {
    replay("line", 10, fuzz::line);
}

#[test]
fn large_frames() {
    replay("large", 10, fuzz::large);
}
