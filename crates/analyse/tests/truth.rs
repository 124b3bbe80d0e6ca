//! Verdicts on simulated transfers compared with the ground truth: correct or `unknown`. The figures of thousands of
//! scenarios are in `docs/analyser.md`; this test checks a part of them.
//!
//! TA-01, TA-03, TA-11: with the receiver's capture every verdict is correct; with the sender's capture alone nearly
//! every one, if duplicates are reported.

mod common;

use analyse::idle::IdleCause;
use analyse::{Analyser, Flow, Limits, Observation};
use common::meeting::{Elsewhere, Tally, captured, elsewhere, meet, meet_with, read, replies};
use common::scenarios::case;
use std::collections::BTreeMap;

#[test]
fn verdicts_meet_the_truth() {
    let mut by_options: BTreeMap<&str, (Tally, Tally)> = BTreeMap::new();
    let mut by_order: BTreeMap<&str, Tally> = BTreeMap::new();
    for number in 0..400 {
        let case = case(number);
        let meeting = meet(&case);
        let (alone, both) = by_options.entry(case.options).or_default();
        alone.add(&meeting.alone);
        both.add(&meeting.both);
        if case.options != "neither" {
            by_order.entry(case.order).or_default().add(&meeting.alone);
        }
        assert_eq!(
            meeting.alone.unseen + meeting.alone.invented,
            0,
            "scenario {number}: {:?}",
            meeting.alone
        );
    }
    for (options, (alone, both)) in &by_options {
        assert!(alone.truths > 2000 && alone.timeouts > 400, "{options}: too few to judge: {alone:?}");
        // With both captures every verdict is correct.
        let wrong = both.misses + both.false_alarms + both.unknown[0] + both.unknown[1];
        assert_eq!((wrong, both.wrong, both.untold), (0, 0, 0), "{options}: {both:?}");
    }
    let alone = |options: &str| by_options[options].0;
    let best = alone("timestamps and DSACK");
    assert!(best.precision() >= 0.98 && best.recall() >= 0.98, "{best:?}");
    assert!(best.timeouts_right() >= 0.99, "{best:?}");
    let dsack = alone("DSACK");
    assert!(dsack.precision() >= 0.98 && dsack.recall() >= 0.98, "{dsack:?}");
    assert!(dsack.timeouts_right() >= 0.99, "{dsack:?}");
    // Timestamps identify only copies of the oldest segment.
    let stamps = alone("timestamps");
    assert!(stamps.precision() >= 0.98 && stamps.timeouts_right() >= 0.95, "{stamps:?}");
    let (kept, overtaking) = (by_order["kept"], by_order["overtaking"]);
    assert!(kept.timeouts_right() >= 0.985, "{kept:?}");
    assert!(overtaking.precision() >= 0.98 && overtaking.timeouts_right() >= 0.965, "{overtaking:?}");
    let neither = alone("neither");
    assert!(neither.precision() >= 0.98 && neither.wrong * 2 <= neither.untold, "{neither:?}");
}

/// Segments that the receiver discards by PAWS (RFC 7323 section 5) did not arrive, in the ground truth and in the
/// verdict from both captures.
#[test]
fn what_paws_discards_did_not_arrive() {
    let mut alone = Tally::default();
    for number in 0..1500 {
        let case = case(number);
        if case.order != "overtaking" || !case.options.contains("timestamps") {
            continue;
        }
        let meeting = meet(&case);
        let both = &meeting.both;
        let wrong = both.misses + both.false_alarms + both.unknown[0] + both.unknown[1];
        assert_eq!((wrong, both.wrong, both.untold), (0, 0, 0), "scenario {number}: {both:?}");
        alone.add(&meeting.alone);
    }
    println!("recall {} precision {}: {alone:?}", alone.recall(), alone.precision());
    assert!(alone.truths > 2000 && alone.recall() >= 0.98, "{alone:?}");
}

/// Receivers without IP identification: more verdicts are unknown, no more are wrong.
#[test]
fn what_has_no_numbers_is_called_unknown() {
    let mut sums: BTreeMap<&str, Tally> = BTreeMap::new();
    for number in 0..200 {
        let case = case(number);
        sums.entry(case.options).or_default().add(&meet_with(&case, false).alone);
    }
    for options in ["DSACK", "timestamps and DSACK"] {
        let sum = sums[options];
        assert!(sum.precision() >= 0.98 && sum.recall() >= 0.98 && sum.timeouts_right() >= 0.98, "{sum:?}");
    }
    for options in ["timestamps", "neither"] {
        let sum = sums[options];
        assert!(sum.precision() >= 0.95 && sum.wrong * 2 <= sum.untold + 20, "{options}: {sum:?}");
    }
}

/// Lost ACKs are counted from the arriving ones: as many as the receiver's capture has more, up to the last arrival.
#[test]
fn lost_acknowledgements_are_counted() {
    let (mut told, mut lost) = (0, 0);
    for number in 0..80 {
        let case = case(number);
        let (flow, sent, came) = replies(&case);
        let (first, last) = (came.iter().min(), came.iter().max());
        let within = |id: &&u16| first.is_some_and(|f| f < id) && last.is_some_and(|l| *id < l);
        let missing = sent.iter().filter(within).filter(|id| !came.contains(id)).count() as u64;
        if let Some(counted) = flow.directions[0].replies_lost {
            assert_eq!(counted, missing, "scenario {number}");
            (told, lost) = (told + 1, lost + missing);
        }
    }
    assert!(told > 60 && lost > 500, "{told} told, {lost} lost");
}

/// A bulk transfer always has data to send: neither end's capture blames the application, or only seldom.
#[test]
fn the_application_is_not_blamed_for_the_path() {
    let (mut here, mut there, mut all) = (0.0, 0.0, 0.0);
    for number in 0..80 {
        let case = case(number);
        let idle = |at_receiver| {
            let flow = captured(&case, at_receiver);
            let direction = &flow.directions[0];
            let span = direction.data_span.map_or(0.0, |(from, to)| to.since(from).as_secs_f64());
            (direction.time.of(IdleCause::Application).as_secs_f64(), span)
        };
        let ((a, span), (b, _)) = (idle(false), idle(true));
        println!("{number} {} {} {a:.1} {b:.1} of {span:.1}", case.spike, case.options);
        (here, there, all) = (here + a, there + b, all + span);
    }
    assert!(here < 0.01 * all, "{here:.1} s of {all:.1} s at the sender");
    assert!(there < 0.01 * all, "{there:.1} s of {all:.1} s at the receiver");
}

/// Next to the receiver, and if the capture begins late, verdicts become unknown; few are wrong, and hardly any
/// timeout is false.
#[test]
fn elsewhere_more_is_unknown() {
    let mut there = Elsewhere::default();
    let mut late = Elsewhere::default();
    let add = |sum: &mut Elsewhere, o: Elsewhere| {
        sum.seen += o.seen;
        sum.judged += o.judged;
        sum.reasoned += o.reasoned;
        sum.wrong += o.wrong;
        sum.timeouts += o.timeouts;
        sum.invented += o.invented;
    };
    for number in 0..200 {
        let case = case(number);
        let o = elsewhere(&case, true, 0);
        if o.invented + o.wrong > 0 {
            println!("{number}: {o:?} {} {} {}", case.spike, case.options, case.order);
        }
        add(&mut there, o);
        add(&mut late, elsewhere(&case, false, 3 + number as usize % 48));
    }
    println!("next to the receiver {there:?}\nbegun late {late:?}");
    assert!(there.judged > 1000 && there.invented == 0 && there.wrong == 0, "{there:?}");
    assert!(
        late.judged > 1000 && late.wrong * 50 < late.judged && late.invented * 50 < late.timeouts,
        "{late:?}"
    );
}

/// The verdicts are the same after the packets were written to a file and read.
#[test]
fn bytes_say_the_same() {
    for number in (0..60).step_by(5) {
        let case = case(number);
        let model = read(&case.text);
        let captured = lab::capture::capture(&model, 0);
        let mut file = Vec::new();
        captured.write(&mut file, Some(0), 96, "test").unwrap();
        let mut reader = capture::Reader::open(&file[..]).unwrap();
        let mut analyser = Analyser::new(Limits::default());
        while let Some(frame) = reader.next().unwrap() {
            if let Some(o) = Observation::of(&frame) {
                analyser.push(&o);
            }
        }
        let flows = analyser.finish();
        let direct = meet(&case).plain;
        let told = |f: &Flow| {
            let all = f.directions[0].retransmissions.iter();
            all.map(|r| (r.seq, r.end, r.reason, r.need)).collect::<Vec<_>>()
        };
        assert_eq!(flows.len(), 1);
        assert_eq!(told(&flows[0]), told(&direct), "scenario {number}\n{}", case.text);
    }
}
