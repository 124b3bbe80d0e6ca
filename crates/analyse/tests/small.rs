//! Minimal handwritten captures that once caused a wrong verdict on a timeout: data sent, ACKs received, 100 ms in
//! each direction and more.
//!
//! TA-01, TA-03: verdicts on timeouts from the sender's capture.

#[path = "common/trace.rs"]
mod trace;

use analyse::{Flow, Need, Reason, RecoveryVerdict};
use base::wire::flag;
use trace::{SEGMENT, TRIP, Trace, kinds};

/// Likelihoods of all retransmissions; each has one.
fn likelihoods(flow: &Flow) -> Vec<f64> {
    let all = &flow.directions[0].retransmissions;
    all.iter().map(|r| r.likelihood.unwrap_or_else(|| panic!("not weighed: {r:?}"))).collect()
}

/// Event courses with many losses of data that must have arrived do not displace the course in which the ACKs were
/// lost.
#[test]
fn a_long_row_of_lost_answers_is_weighed() {
    let (mut trace, t) = Trace::opened(10);
    for n in 10..50 {
        trace.send(t + n, n);
    }
    // Two copies of the first segment arrive, and all other segments: only the last ACK comes back.
    for wait in [1000, 3000, 7000] {
        trace.send(t + wait, 10);
    }
    trace.answer(t + 7000 + TRIP, 50, &[(10, 11)]);
    let t = t + 7000 + TRIP;
    for n in 50..54 {
        trace.send(t + n, n);
        trace.answer(t + n + TRIP, n + 1, &[]);
    }
    trace.send(t + 500, 54);
    trace.answer(t + 500 + TRIP, 55, &[]);
    let flow = trace.analysed();
    let likely = likelihoods(&flow);
    assert_eq!(likely.len(), 3);
    // An earlier copy of the last segment has arrived for certain.
    assert!(likely[2] > 0.99, "{likely:?}");
    assert_eq!(kinds(&flow)[2], RecoveryVerdict::Spurious);
}

/// Loss of the first segment: the ACK of the SYN-ACK is no ACK of data.
#[test]
fn trouble_right_after_the_opening_is_weighed() {
    let (mut trace, t) = Trace::opened(0);
    trace.send(t, 0);
    trace.send(t + 1000, 0);
    trace.answer(t + 1000 + TRIP, 1, &[(0, 1)]);
    for n in 1..6 {
        trace.send(t + 1000 + n * TRIP, n);
        trace.answer(t + 1000 + (n + 1) * TRIP, n + 1, &[]);
    }
    let flow = trace.analysed();
    assert!(likelihoods(&flow)[0] > 0.99);
    assert_eq!(kinds(&flow), [RecoveryVerdict::Spurious]);
}

/// The FIN counts as a byte in ACKs and SACK blocks, and is not data.
#[test]
fn a_fin_is_no_byte_of_the_data() {
    let (mut trace, t) = Trace::opened(10);
    trace.send(t, 10);
    trace.last(t, 11, flag::FIN);
    trace.answer(t + TRIP, 11, &[]);
    // The ACK of the last segment is lost, and the retransmitted segment is reported as a duplicate.
    trace.last(t + 1200, 11, flag::FIN);
    let end = 1 + 12 * SEGMENT + 1;
    trace.says(t + 1200 + TRIP, end, &[(1 + 11 * SEGMENT, end)]);
    let flow = trace.analysed();
    assert!(likelihoods(&flow)[0] > 0.99);
    assert_eq!(kinds(&flow), [RecoveryVerdict::Spurious]);

    // The last segment but one is lost too, so that the data beyond the gap end with the FIN.
    let (mut trace, t) = Trace::opened(10);
    trace.send(t, 10);
    trace.last(t, 11, flag::FIN);
    trace.says(t + TRIP, 1 + 10 * SEGMENT, &[(1 + 11 * SEGMENT, end)]);
    trace.send(t + 1200, 10);
    trace.says(t + 1200 + TRIP, end, &[]);
    let flow = trace.analysed();
    assert!(likelihoods(&flow)[0] < 0.01);
    assert_eq!(kinds(&flow), [RecoveryVerdict::Genuine]);
}

/// The echo rule of a receiver is open only with timestamps: without them, no number of episodes uses up the search
/// steps.
#[test]
fn the_last_of_many_troubles_is_weighed_like_the_first() {
    let (mut trace, mut t) = Trace::opened(10);
    let mut n = 10;
    for _ in 0..150 {
        // The last three are lost; then two retransmissions.
        for i in 0..4 {
            trace.send(t, n + i);
        }
        trace.answer(t + TRIP, n + 1, &[]);
        for wait in [1200, 3200, 7200] {
            trace.send(t + wait, n + 1);
        }
        // The ACK of one copy is lost, and a duplicate is reported.
        trace.answer(t + 7200 + TRIP, n + 2, &[(n + 1, n + 2)]);
        t += 7200 + TRIP;
        for i in 2..4 {
            trace.send(t, n + i);
            trace.answer(t + TRIP, n + i + 1, &[]);
            t += TRIP;
        }
        n += 4;
        for _ in 0..2 {
            trace.send(t, n);
            trace.answer(t + TRIP, n + 1, &[]);
            (t, n) = (t + TRIP, n + 1);
        }
    }
    assert!(likelihoods(&trace.analysed()).len() >= 450);
}

/// The reordering timer would have expired when the first of the segments sent much later was reported. The expiry
/// here is that of the retransmission timer (RFC 8985 section 6.2).
#[test]
fn the_timer_expires_between_duplicates() {
    let (mut trace, t) = Trace::opened(10);
    trace.send(t, 10);
    trace.send(t + 150, 11);
    trace.send(t + 190, 12);
    trace.answer(t + 150 + TRIP, 10, &[(11, 12)]);
    trace.send(t + 150 + TRIP, 13);
    trace.answer(t + 150 + TRIP + 190, 10, &[(11, 13)]);
    trace.send(t + 150 + TRIP + 240, 10);
    trace.answer(t + 150 + TRIP + 240 + TRIP, 14, &[]);
    let flow = trace.analysed();
    let all = &flow.directions[0].retransmissions;
    assert_eq!(all.len(), 1);
    assert_eq!((all[0].reason, all[0].need), (Reason::Timeout, Need::Needed));
}

/// A segment that SACK has reported has no missing ACK. The path reorders packets, so the in-order rules apply alone.
#[test]
fn what_was_reported_was_answered() {
    let (mut trace, t) = Trace::opened(10);
    trace.send(t, 10);
    trace.send(t, 11);
    trace.send(t, 12);
    trace.answer(t + TRIP, 10, &[(11, 13)]);
    // An older ACK arrives late.
    trace.answer(t + TRIP + 10, 9, &[]);
    trace.answer(t + TRIP + 20, 10, &[(11, 12)]);
    for wait in [1200, 3200, 7200] {
        trace.send(t + wait, 10);
    }
    trace.answer(t + 7200 + TRIP, 13, &[]);
    let flow = trace.analysed();
    assert_eq!(kinds(&flow)[0], RecoveryVerdict::Genuine, "{:?}", flow.directions[0].timeouts);
}

/// A frame that the sender's network card segments: one of its four segments is lost, and SACK blocks report the
/// others. The retransmission of that segment is needed; retransmissions of two segments of a frame have separate
/// verdicts.
#[test]
fn segments_of_a_merged_frame_are_judged_one_by_one() {
    let (mut trace, t) = Trace::opened(10);
    trace.arrive(t, 10, 4, 100);
    trace.arrive(t, 14, 4, 104);
    // Segments 11, 14 and 15 are lost.
    trace.answer(t + TRIP, 11, &[]);
    trace.answer(t + TRIP + 1, 11, &[(12, 13)]);
    trace.answer(t + TRIP + 2, 11, &[(12, 14)]);
    trace.answer(t + TRIP + 3, 11, &[(16, 17), (12, 14)]);
    trace.answer(t + TRIP + 4, 11, &[(16, 18), (12, 14)]);
    trace.send(t + TRIP + 4, 11);
    // Both gaps in one frame.
    trace.arrive(t + TRIP + 5, 14, 2, 109);
    trace.answer(t + 2 * TRIP + 4, 14, &[(16, 18)]);
    trace.answer(t + 2 * TRIP + 5, 15, &[(16, 18)]);
    trace.answer(t + 2 * TRIP + 6, 18, &[]);
    trace.send(t + 2 * TRIP + 7, 18);
    trace.answer(t + 3 * TRIP + 7, 19, &[]);
    let flow = trace.analysed();
    let direction = &flow.directions[0];
    assert_eq!((direction.data_packets, direction.data_segments), (10 + 2 + 1 + 1 + 1, 10 + 8 + 1 + 2 + 1));
    assert_eq!(direction.options.longest, SEGMENT);
    let found: Vec<_> =
        direction.retransmissions.iter().map(|r| (r.seq / u64::from(SEGMENT), r.need)).collect();
    assert_eq!(found, [(11, Need::Needed), (14, Need::Needed), (15, Need::Needed)]);
}
