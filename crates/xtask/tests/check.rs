//! The claim: every generated page agrees with the code, and the rules of the house hold. As a test it is compiled
//! with the rest; a command of its own would compile half of it once more.

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
