//! Test that every generated page agrees with the code and that the repository rules hold.
//!
//! As a test it is compiled with all other tests; a separate command would compile half of them again.

use std::process::Command;

#[test]
fn the_pages_are_true() {
    let check = Command::new(env!("CARGO_BIN_EXE_xtask")).arg("check").output().unwrap();
    let said = String::from_utf8_lossy(&check.stdout);
    assert!(
        check.status.success(),
        "`cargo run -p xtask -- check`:\n{said}{}",
        String::from_utf8_lossy(&check.stderr)
    );
}
