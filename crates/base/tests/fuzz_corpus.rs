//! The corpora that fuzzing left are replayed.

mod fuzz;

use std::path::Path;

fn replay(target: &str, body: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let mut inputs = 0;
    for entry in std::fs::read_dir(&folder).unwrap() {
        body(&std::fs::read(entry.unwrap().path()).unwrap());
        inputs += 1;
    }
    assert!(inputs >= 10, "{}: {inputs} inputs", folder.display());
}

#[test]
fn lines() {
    replay("line", fuzz::line);
}

#[test]
fn large_frames() {
    replay("large", fuzz::large);
}
