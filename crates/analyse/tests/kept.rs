//! Regression captures of real kernels that once caused a wrong verdict, headers only.
//!
//! TA-01, TA-03: verdicts on retransmissions from the sender's capture, whole and begun late.

use analyse::flow::Retransmission;
use analyse::idle::IdleCause;
use analyse::story;
use analyse::{Analyser, Flow, Limits, Need, Observation, Reason, RecoveryVerdict};
use base::wire::flag;

fn packets(file: &[u8]) -> Vec<Observation> {
    let mut reader = capture::Reader::open(file).expect("a capture");
    let mut out = Vec::new();
    while let Some(frame) = reader.next().expect("whole") {
        out.extend(Observation::of(&frame));
    }
    out
}

fn judged(packets: &[Observation]) -> Flow {
    let mut analyser = Analyser::new(Limits::default());
    packets.iter().for_each(|o| analyser.push(o));
    analyser.finish().remove(0)
}

fn resent(flow: &Flow) -> &[Retransmission] {
    let direction = &flow.directions[flow.main()];
    &direction.retransmissions
}

/// Linux 6.18 over an emulated link of 2 Mbit/s and 12 ms whose reverse path loses all packets from 1.0 to 1.4 s. The
/// receiver's host is slow: one ACK covers five segments, inside the outage. By IP identifications seven ACKs are
/// lost, one fewer than ACKs of every second segment would be. The last segment was not lost, since its probe arrived
/// as a duplicate.
#[test]
fn an_answer_that_stands_for_several_segments_is_no_loss() {
    let all = packets(include_bytes!("data/kept/stretched.pcap"));
    for cut in 0..=50 {
        let flow = judged(&all[cut..]);
        let [probe, timeout] = resent(&flow) else { panic!("two were sent again: {:?}", resent(&flow)) };
        assert_eq!(timeout.need, Need::Unneeded, "without {cut}: {timeout:?}");
        assert_ne!(probe.need, Need::Needed, "without {cut}: {probe:?}");
        assert!(probe.likelihood.is_some_and(|p| p > 0.5), "without {cut}: {probe:?}");
        assert!(
            flow.directions[flow.main()].timeouts.iter().all(|t| t.kind == RecoveryVerdict::Spurious),
            "without {cut}"
        );
    }
    assert_eq!(resent(&judged(&all))[0].reason, Reason::Probe);
}

/// The capture begins with the last segment before an outage of ACKs. The receiver's left edge is unknown, so the
/// timestamp echo of the probe does not show that the probe filled a gap.
#[test]
fn an_echo_says_nothing_of_an_edge_that_was_not_heard() {
    let all = packets(include_bytes!("data/kept/between.pcap"));
    let flow = judged(&all);
    assert!(!resent(&flow).is_empty());
    for r in resent(&flow) {
        assert_ne!(r.need, Need::Needed, "{r:?}");
    }
}

/// A snap length of 60 bytes truncates the options of the SYN: window scale and SACK are then unknown, not absent.
#[test]
fn options_that_are_cut_off_are_not_absent() {
    let mut all = packets(include_bytes!("data/kept/stretched.pcap"));
    let of = |flow: &Flow| {
        let options = &flow.directions[flow.main()].options;
        (options.window_known, options.sack)
    };
    assert_eq!(of(&judged(&all)), (true, Some(true)));
    for o in all.iter_mut().filter(|o| o.head.has(flag::SYN)) {
        (o.head.scale, o.head.permits_sack, o.head.cut) = (None, false, true);
    }
    assert_eq!(of(&judged(&all)), (false, None));
}

/// The capture lacks packets: the sender continues beyond the captured data, so the gap is one of the capture, not of
/// the path, and its packets are unknown.
#[test]
fn a_silence_of_the_capture_is_none_of_the_path() {
    let all = packets(include_bytes!("data/kept/stretched.pcap"));
    // Before the outage nothing was retransmitted.
    let sound: Vec<Observation> = all.iter().copied().filter(|o| o.t.as_secs_f64() < 1.0).collect();
    assert!(judged(&sound).directions.iter().all(|w| w.spikes.is_empty()));
    for (from, until) in [(0.3, 0.75), (0.25, 0.9), (0.5, 0.95)] {
        let torn: Vec<Observation> =
            sound.iter().copied().filter(|o| !(from..until).contains(&o.t.as_secs_f64())).collect();
        let flow = judged(&torn);
        let direction = &flow.directions[flow.main()];
        assert!(direction.spikes.is_empty(), "{:?}", direction.spikes);
        let unknown = direction.time.of(IdleCause::Unknown).as_secs_f64();
        assert!((unknown - (until - from)).abs() < 0.1, "{unknown} s of {} are unknown", until - from);
        let told = story::tell(&[&flow]);
        assert!(told.sure.starts_with("This is unsure"), "{told:?}");
    }
}

/// The sender's direction alone has no evidence of arrivals.
#[test]
fn one_direction_alone_tells_no_need() {
    let all = packets(include_bytes!("data/kept/stretched.pcap"));
    let sender = all.iter().max_by_key(|o| o.payload).expect("packets").from();
    let one: Vec<Observation> = all.into_iter().filter(|o| o.from() == sender).collect();
    let flow = judged(&one);
    assert_eq!(resent(&flow).len(), 2);
    for r in resent(&flow) {
        assert_eq!((r.need, r.reason), (Need::Unknown, Reason::Unknown), "{r:?}");
    }
}

/// Linux 6.18 after a spurious timeout at 5.121 s, which it undid (F-RTO). At 6.221 s the reordering timer of RACK
/// (RFC 8985 section 6.3) expires for a segment at a gap, 82 ms after the last progress and 22 ms after the SACK.
#[test]
fn a_reordering_timer_after_a_spurious_timeout_is_no_second_timeout() {
    let flow = judged(&packets(include_bytes!("data/kept/rack-sender.pcap")));
    let direction = &flow.directions[flow.main()];
    assert_eq!(direction.timeouts.len(), 1, "{:?}", direction.timeouts);
    assert_eq!(direction.timeouts[0].kind, RecoveryVerdict::Spurious);
    assert!(direction.faults.is_empty(), "{:?}", direction.faults);
    let reasons: Vec<_> = resent(&flow).iter().map(|r| r.reason).collect();
    assert_eq!(reasons[..2], [Reason::Timeout, Reason::Fast]);
    assert!(reasons[2..].iter().all(|r| *r == Reason::Recovery), "{reasons:?}");
}

/// The same transfer next to the receiver: SACK reports a gap far beyond the segment that the timeout resent. These
/// reports justify no retransmission below the gap.
#[test]
fn reports_of_a_hole_let_out_nothing_below_it() {
    let all = packets(include_bytes!("data/kept/rack-receiver.pcap"));
    for cut in 0..=50 {
        let flow = judged(&all[cut..]);
        let first = resent(&flow)[0];
        assert!(matches!(first.reason, Reason::Timeout | Reason::Unknown), "without {cut}: {first:?}");
        let later = &resent(&flow)[1..];
        assert!(!later.iter().any(|r| r.reason == Reason::Timeout), "without {cut}: {later:?}");
    }
}
