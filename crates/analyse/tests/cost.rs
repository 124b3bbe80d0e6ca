//! Cost of the analyser: for any shape of capture, time and memory grow in proportion to its length.

#[path = "../examples/growth.rs"]
#[allow(dead_code, clippy::allow_attributes, reason = "the example prints; the tests judge")]
mod growth;

use growth::{SHAPES, judged, losses, made};

/// Processor time of this thread, s; None where the system does not provide it.
fn processor_s() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(text.split(' ').next()?.parse::<f64>().ok()? / 1e9)
}

/// 4 000 segments of each shape: go-back-N of a whole window took more than 50 s, one segment sent 4 000 times 38 s.
#[test]
fn four_thousand_segments_of_any_shape_are_judged_in_seconds() {
    for shape in SHAPES {
        let packets = made(shape, 4000).expect("a shape");
        let began = processor_s();
        let flows = judged(&packets);
        assert!(!flows.is_empty(), "{shape}");
        if let (Some(began), Some(ended)) = (began, processor_s()) {
            assert!(ended - began < 10.0, "{shape}: {} s of processor time", ended - began);
        }
    }
}

/// Consecutive timeouts cost time in proportion to their number. (The longest silence of each once searched all
/// retransmissions, so eight times as many cost far more than eight times the time.)
#[test]
fn timeouts_in_a_row_cost_in_proportion_to_their_number() {
    let cost = |segments: u64| {
        let packets = made("timeouts", segments).expect("a shape");
        let began = processor_s();
        let flows = judged(&packets);
        let again: usize = flows.iter().flat_map(|f| &f.directions).map(|w| w.retransmissions.len()).sum();
        assert_eq!(again as u64, segments);
        Some(processor_s()? - began?)
    };
    if let (Some(few), Some(many)) = (cost(8_000), cost(64_000)) {
        assert!(many < 20.0 * few, "8 000 take {few} s of processor time, 64 000 take {many} s");
    }
}

/// A connection of 10^6 segments with 10^5 retransmissions: all are found, in time proportional to the packets.
#[test]
fn a_connection_of_a_million_segments_is_judged() {
    let packets = losses(1_000_000, 10);
    let began = processor_s();
    let flows = judged(&packets);
    let again: usize = flows.iter().flat_map(|f| &f.directions).map(|w| w.retransmissions.len()).sum();
    assert_eq!(again, 100_000);
    if let (Some(began), Some(ended)) = (began, processor_s()) {
        assert!(ended - began < 120.0, "{} s of processor time", ended - began);
    }
}
