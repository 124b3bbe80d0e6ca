//! Table of queueing disciplines: `docs/queues.md` equals the output of the example `queues`, to the last digit
//! (QM-06, QM-13).

#[path = "../examples/queues.rs"]
#[allow(dead_code, reason = "its `main` is the example's")]
mod queues;

#[test]
fn the_page_is_what_the_example_writes() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/queues.md");
    let page = std::fs::read_to_string(path).unwrap();
    let computed = queues::table(20).unwrap();
    let first = page.lines().zip(computed.lines()).enumerate().find(|(_, (old, new))| old != new);
    assert_eq!(first, None, "run `cargo run --release -p williwaw-lab --example queues -- docs/queues.md`");
    assert_eq!(page, computed);
}
