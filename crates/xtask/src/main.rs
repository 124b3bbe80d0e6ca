//! Generates the pages that can be generated, and checks that they are true.
fn main() {}
