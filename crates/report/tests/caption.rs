//! Tests of the caption of a time-sequence picture: its sentences name the cause and effects of timeouts.

use report::{Drop, FastRetransmit, Interval, Picture, SegmentKind, Sent, Timeout, Truth, WindowSample};

const SEGMENT: u64 = 1000;

fn sent(t: f64, segment: u64, kind: SegmentKind) -> Sent {
    Sent { t, seq: segment * SEGMENT, end: (segment + 1) * SEGMENT, kind }
}

/// Twelve segments in flight when the link stops from 3.1 s to 8.1 s.
fn base() -> Picture {
    Picture {
        title: "Reno".to_owned(),
        segment_bytes: SEGMENT as u32,
        sent: (0..12).map(|i| sent(2.0 + i as f64 * 0.1, i, SegmentKind::New)).collect(),
        spikes: vec![Interval { from: 3.1, until: 8.1, name: "cell reselection".to_owned() }],
        window: vec![
            WindowSample { t: 2.0, cwnd: 12 * SEGMENT, ssthresh: None, flight: 12 * SEGMENT },
            WindowSample { t: 6.0, cwnd: SEGMENT, ssthresh: Some(6 * SEGMENT), flight: SEGMENT },
        ],
        until: 20.0,
        ..Picture::default()
    }
}

fn timeout(truth: Truth) -> Timeout {
    Timeout { t: 6.0, seq: 0, truth, ..Timeout::default() }
}

fn spurious() -> Picture {
    let mut picture = base();
    picture.timeouts = vec![Timeout { cause: Some("delayed".to_owned()), ..timeout(Truth::Spurious) }];
    picture.sent.push(sent(6.0, 0, SegmentKind::Unneeded));
    picture.sent.extend((1..12).map(|i| sent(8.4 + i as f64 * 0.1, i, SegmentKind::Unneeded)));
    picture.sent.push(sent(10.0, 12, SegmentKind::New));
    picture
}

#[test]
fn a_spurious_timeout() {
    assert_eq!(
        spurious().caption(),
        "At 6.0 s the retransmission timer expired although segment 1 was not lost, only late: the link was held up \
         from 3.1 s to 8.1 s (cell reselection). The sender then retransmitted 12 segments although their first \
         copies arrived (marked in vermillion), after cutting its window from 12 segments to 1. The sender did not \
         detect that the timeout was spurious."
    );
}

/// A capture before segmentation offload: merged segments are counted, with and without timeouts.
#[test]
fn packets_of_several_segments_are_counted_in_segments() {
    let large = |t, kind| Sent { t, seq: 0, end: 3 * SEGMENT + 1, kind };
    let mut picture = base();
    picture.sent = vec![large(2.0, SegmentKind::New), sent(2.5, 4, SegmentKind::New)];
    let quiet = picture.caption();
    assert!(quiet.contains("while 5 segments (captured as 2 packets) were sent"), "{quiet}");
    picture.timeouts = vec![Timeout { cause: Some("delayed".to_owned()), ..timeout(Truth::Spurious) }];
    picture.sent.push(large(6.0, SegmentKind::Unneeded));
    let caption = picture.caption();
    assert!(caption.contains("The sender then retransmitted 4 segments"), "{caption}");
    picture.segment_bytes = 1;
    assert!(!picture.caption().contains("captured as"), "numbers that are not bytes");
}

#[test]
fn a_spurious_timeout_that_was_detected() {
    let mut picture = spurious();
    picture.sent.truncate(13);
    picture.timeouts[0].detected = Some("eifel".to_owned());
    picture.timeouts[0].detected_at = Some(8.4);
    let caption = picture.caption();
    assert!(caption.contains("The sender retransmitted only this segment, without need"), "{caption}");
    assert!(caption.ends_with("The sender's detector (eifel) recognised the timeout as spurious at 8.4 s."));
    picture.timeouts[0].detected = Some("genuine".to_owned());
    assert!(picture.caption().ends_with("The sender's detector took the timeout for genuine at 8.4 s."));
}

#[test]
fn the_cause_is_told() {
    let mut picture = spurious();
    picture.timeouts[0].cause = Some("ack_lost".to_owned());
    assert!(picture.caption().contains("had arrived: only its acknowledgement was lost."));
    picture.timeouts[0].cause = Some("ack_delayed".to_owned());
    assert!(
        picture.caption().contains("had arrived: its acknowledgement was late, because the link was held up")
    );
    picture.spikes.clear();
    assert!(picture.caption().contains("had arrived: its acknowledgement was only late."));
}

#[test]
fn a_disturbance_long_past_is_not_blamed() {
    let mut picture = spurious();
    picture.spikes = vec![Interval { from: 0.1, until: 1.0, name: "fade".to_owned() }];
    let caption = picture.caption();
    assert!(!caption.contains("fade"), "{caption}");
}

#[test]
fn the_echo_of_go_back_n() {
    let mut picture = spurious();
    picture.fast_retransmits = vec![FastRetransmit { t: 11.0, seq: 12_000, truth: Truth::Spurious }];
    assert!(picture.caption().contains("then set off a spurious fast retransmit at 11.0 s."));
}

#[test]
fn a_genuine_timeout() {
    let mut picture = base();
    picture.timeouts = vec![timeout(Truth::Genuine)];
    picture.drops = vec![Drop { t: 3.2, seq: 0, end: SEGMENT, place: "radio: queue full".to_owned() }];
    picture.sent.push(sent(6.0, 0, SegmentKind::Retransmission));
    picture.sent.push(sent(6.5, 1, SegmentKind::Unneeded));
    picture.window.clear();
    assert_eq!(
        picture.caption(),
        "At 6.0 s the retransmission timer expired because segment 1 had been lost at 3.2 s (radio: queue full). The \
         sender then retransmitted 2 segments: 1 needed and 1 unneeded (marked in vermillion)."
    );
    picture.drops.clear();
    assert!(
        picture
            .caption()
            .starts_with("At 6.0 s the retransmission timer expired because segment 1 had been lost. ")
    );
}

#[test]
fn several_timeouts_are_counted_each() {
    let mut picture = spurious();
    picture.timeouts.insert(0, Timeout { t: 3.0, seq: 500, ..Timeout::default() });
    picture.timeouts.push(Timeout { t: 9.0, ..timeout(Truth::Spurious) });
    let caption = picture.caption();
    assert!(
        caption.starts_with("At 6.0 s the retransmission timer expired (and once more for the same segment)")
    );
    assert!(
        caption.ends_with(
            "In all there were 3 timeouts in 2 episodes: 2 spurious, 1 genuine; 12 of 25 segments sent were unneeded."
        ),
        "{caption}"
    );
}

#[test]
fn no_timeout() {
    let mut picture = base();
    assert_eq!(
        picture.caption(),
        "The retransmission timer never expired while 12 segments were sent in 20.0 s. Nothing was retransmitted."
    );
    picture.sent.push(sent(9.0, 3, SegmentKind::Retransmission));
    picture.fast_retransmits = vec![FastRetransmit { t: 9.0, seq: 3000, truth: Truth::Genuine }];
    assert!(picture.caption().ends_with(
        "1 segment was retransmitted after a loss. Duplicate acknowledgements started 1 fast retransmit."
    ));
    picture.sent.push(sent(9.5, 4, SegmentKind::Unneeded));
    picture.fast_retransmits.push(FastRetransmit { t: 9.5, seq: 4000, truth: Truth::Spurious });
    assert!(picture.caption().ends_with(
        "1 segment was retransmitted after a loss, and 1 without need (marked in vermillion). Duplicate \
         acknowledgements started 2 fast retransmits, 1 of them spurious."
    ));
}

#[test]
fn nothing_sent() {
    assert_eq!(Picture::default().caption(), "Nothing was sent in this picture.");
}
