//! The claim: the receiver's IP identification gives the number of lost answers if it is a counter, and misleads no
//! verdict otherwise.
//!
//! TA-01, TA-03: verdicts on timeouts from the sender's capture.

#[path = "common/trace.rs"]
mod trace;

use analyse::RecoveryVerdict;
use analyse::flow::Retransmission;
use analyse::idle::IdleCause;
use trace::{Scheme, TRIP, Trace, kinds};

/// As Linux counts for each socket.
const COUNTS: Scheme = |n| Some(1000 + n);

/// Segments are sent again `times` times, and `missing` numbers are left out before the answer.
fn trouble(scheme: Scheme, times: usize, missing: u16) -> Vec<RecoveryVerdict> {
    let (mut trace, t) = Trace::numbered(30, scheme);
    trace.send(t, 30);
    let waits = [1000, 3000, 7000];
    for wait in &waits[..times] {
        trace.send(t + wait, 30);
    }
    trace.unheard(missing);
    trace.answers(t + waits[times - 1] + TRIP, 31, 4);
    kinds(&trace.analysed())
}

#[test]
fn what_is_missing_was_lost() {
    assert_eq!(trouble(COUNTS, 1, 0), [RecoveryVerdict::Genuine]);
    assert_eq!(trouble(COUNTS, 1, 1), [RecoveryVerdict::Spurious]);
    assert_eq!(trouble(COUNTS, 3, 0), [RecoveryVerdict::Genuine; 3]);
    assert_eq!(trouble(COUNTS, 3, 3), [RecoveryVerdict::Spurious; 3]);
}

/// Who writes the same number into each packet, random ones, or counts in the order of a little-endian host, says nothing.
#[test]
fn who_does_not_count_says_nothing() {
    let schemes: [Scheme; 3] = [
        |_| Some(4711),
        |n| Some((1 + n).swap_bytes()),
        |n| Some(n.wrapping_mul(40_503) ^ n.wrapping_mul(n) << 3),
    ];
    for (k, scheme) in schemes.into_iter().enumerate() {
        for times in [1, 3] {
            assert_eq!(trouble(scheme, times, 0), trouble(|_| None, times, 0), "scheme {k}, {times}");
        }
    }
}

/// A window that is offered anew, or data of the receiver's, come between the last answer and the trouble: they were seen, and
/// are not missing.
#[test]
fn what_was_seen_is_not_missing() {
    for speaks in [false, true] {
        let (mut trace, t) = Trace::numbered(30, COUNTS);
        for k in 1..4 {
            if speaks {
                trace.speaks(t + k, 30);
            } else {
                trace.offers(t + k, 30, 50_000 + k as u16);
            }
        }
        for wait in [0, 1000, 3000, 7000] {
            trace.send(t + 2 * TRIP + wait, 30);
        }
        trace.answers(t + 7000 + 3 * TRIP, 31, 4);
        let flow = trace.analysed();
        assert_eq!(kinds(&flow), [RecoveryVerdict::Genuine; 3], "data: {speaks}");
        let weighed = |r: &Retransmission| r.likelihood.is_some_and(|l| l < 0.01);
        assert!(
            flow.directions[0].retransmissions.iter().all(weighed),
            "{:?}",
            flow.directions[0].retransmissions
        );
    }
}

/// An outage drops packets of both sides: the missing ones are the receiver's own data, not answers.
#[test]
fn the_receivers_own_data_are_no_answers() {
    let (mut trace, t) = Trace::numbered(30, COUNTS);
    for wait in [10, 1010, 3010, 7010] {
        trace.send(t + wait, 30);
        trace.speaks_unheard();
    }
    trace.answers(t + 7010 + TRIP, 31, 4);
    let told = kinds(&trace.analysed());
    assert!(!told.contains(&RecoveryVerdict::Spurious), "{told:?}");
}

/// A host with one counter for all connections sends more elsewhere during an outage of seconds than it ever did
/// between two answers.
#[test]
fn a_long_silence_leaves_time_to_speak_elsewhere() {
    let told = trouble(COUNTS, 3, 12);
    assert!(!told.contains(&RecoveryVerdict::Spurious), "{told:?}");
}

/// A receiver that answers many segments at once has lost nothing where no number is missing.
#[test]
fn many_segments_may_have_one_answer() {
    let run = |scheme: Scheme| {
        let (mut trace, mut t) = Trace::numbered(4, scheme);
        let mut n = 4;
        let mut told = Vec::new();
        for _ in 0..20 {
            for _ in 0..10 {
                (0..10).for_each(|k| trace.send(t, n + k));
                n += 10;
                t += TRIP;
                trace.answer(t, n, &[]);
            }
            // All of it waits somewhere, and is answered twice: once it has arrived, and when it arrives again.
            (0..10).for_each(|k| trace.send(t, n + k));
            trace.send(t + 1000, n);
            trace.answer(t + 1000 + 20, n + 10, &[]);
            trace.answer(t + 1000 + TRIP, n + 10, &[]);
            (t, n) = (t + 1000 + TRIP, n + 10);
        }
        trace.send(t, n);
        trace.answer(t + TRIP, n + 1, &[]);
        told.extend(kinds(&trace.analysed()));
        told
    };
    let told = run(COUNTS);
    assert_eq!(told, run(|_| None));
    assert_eq!(told, [RecoveryVerdict::Spurious; 20]);
}

/// Where packets overtake each other from the start, the first acknowledgement that comes leaves others behind it: those are
/// late, and the host has sent nothing elsewhere.
#[test]
fn what_was_overtaken_was_not_sent_elsewhere() {
    let (mut trace, mut t) = Trace::numbered(0, COUNTS);
    let mut n = 0;
    for _ in 0..3 {
        (0..5).for_each(|k| trace.send(t, n + k));
        // Three duplicates, then three segments at once, which come first.
        let late = trace.turn();
        trace.unheard(3);
        trace.answer(t + TRIP, n + 3, &[]);
        let on = trace.turn();
        trace.return_to(late);
        (0..3).for_each(|k| trace.answer(t + TRIP + 5 * (k + 1), n, &[]));
        trace.return_to(on);
        trace.answer(t + TRIP + 20, n + 5, &[]);
        (t, n) = (t + 2 * TRIP, n + 5);
    }
    for (times, missing) in [(3, 0), (3, 3)] {
        let mut trace = trace.clone();
        let waits = [1000, 3000, 7000];
        trace.send(t, n);
        waits[..times].iter().for_each(|wait| trace.send(t + wait, n));
        trace.unheard(missing);
        trace.answers(t + waits[times - 1] + TRIP, n + 1, 4);
        let flow = trace.analysed();
        let is = if missing == 0 { RecoveryVerdict::Genuine } else { RecoveryVerdict::Spurious };
        assert_eq!(kinds(&flow), vec![is; times], "{missing}: {:?}", flow.directions[0].retransmissions);
    }
}

/// Next to the receiver a pause has no known cause, also with segment offload of a network card; if identifications
/// are missing, the data were lost on the path.
#[test]
fn what_was_put_together_was_not_lost() {
    for (lost, cause) in [(0, IdleCause::Unknown), (12, IdleCause::Lost)] {
        let mut trace = Trace::at_receiver();
        let (mut n, mut id) = (0, 100);
        for k in 0..10 {
            let t = TRIP + k * 2000;
            for segments in std::iter::repeat_n(1, 40).chain([3]) {
                trace.arrive(t, n, segments, id);
                (n, id) = (n + segments, id + segments as u16);
                trace.answer(t, n, &[]);
            }
            id += lost;
        }
        let flow = trace.analysed();
        let told = flow.directions[0].time.of(cause).as_secs_f64();
        // Nine pauses of two seconds, of which a round trip each may have been the path's.
        assert!((9.0 * 1.7..=18.0).contains(&told), "{cause}: {told} s, {:?}", flow.directions[0].time);
    }
}
