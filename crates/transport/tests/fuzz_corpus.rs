//! The claim: no peer, whatever it says and when, makes a connection panic, loop, or send what it was not
//! allowed to. These are the inputs that a fuzzer found worth keeping (`fuzz/README.md`).

mod fuzz;

use std::path::Path;

fn replay(target: &str, run: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let mut inputs: Vec<_> = std::fs::read_dir(&folder)
        .unwrap_or_else(|e| panic!("{}: {e}", folder.display()))
        .map(|entry| entry.expect("an entry").path())
        .collect();
    inputs.sort();
    assert!(inputs.len() >= 10, "the corpus of {target} is missing");
    for input in inputs {
        eprintln!("{}", input.display()); // shown when it fails
        run(&std::fs::read(&input).expect("an input"));
    }
}

#[test]
fn tcp_sender() {
    replay("tcp_sender", fuzz::tcp_sender);
}

#[test]
fn tcp_receiver() {
    replay("tcp_receiver", fuzz::tcp_receiver);
}
