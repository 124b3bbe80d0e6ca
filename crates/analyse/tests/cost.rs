//! The claim: no shape of capture costs the analyser more than its length allows, and memory stays bounded.

#[path = "../examples/growth.rs"]
#[allow(dead_code, clippy::allow_attributes, reason = "the example prints; the tests judge")]
mod growth;

use growth::{SHAPES, judged, losses, made};

/// Processor time of this thread, seconds; none where the system does not tell.
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

/// 64 000 segments whose timer expires one after the other: the longest silence of each searched all retransmissions.
#[test]
fn many_timeouts_in_a_row_are_judged_in_seconds() {
    let packets = made("timeouts", 64_000).expect("a shape");
    let began = processor_s();
    let flows = judged(&packets);
    let again: usize = flows.iter().flat_map(|f| &f.directions).map(|w| w.retransmissions.len()).sum();
    assert_eq!(again, 64_000);
    if let (Some(began), Some(ended)) = (began, processor_s()) {
        assert!(ended - began < 10.0, "{} s of processor time", ended - began);
    }
}

/// A connection of 10^6 segments of which 10^5 are sent again: all of them are found, in time for each of its packets.
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
