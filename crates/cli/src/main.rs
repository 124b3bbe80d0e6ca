//! The command line of williwaw.
fn main() {}
