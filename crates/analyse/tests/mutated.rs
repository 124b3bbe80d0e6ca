//! Captures with packets left out or doubled: verdicts and headlines become unknown, never others (TA-03). The public files are not
//! part of the project; where they are absent the test says so.

mod common;

use analyse::idle::IdleCause;
use analyse::{Analyser, Flow, Limits, Need, Observation, Reason, story};
use base::Span;
use common::meeting::{Elsewhere, elsewhere_with};
use common::scenarios::case;
use std::fs::File;
use std::path::Path;

/// The packets of a public file; none where it is absent.
fn packets(name: &str) -> Option<Vec<Observation>> {
    let above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().map(|dir| dir.join("shared/data/captures"));
    let file = above.into_iter().find_map(|dir| File::open(dir.join(name)).ok());
    let Some(file) = file else {
        eprintln!("skipped: there is no {name}");
        return None;
    };
    let mut reader = capture::Reader::open(file).unwrap();
    let mut all = Vec::new();
    while let Some(frame) = reader.next().unwrap() {
        all.extend(Observation::of(&frame));
    }
    Some(all)
}

fn judged(packets: &[Observation]) -> Vec<Flow> {
    let mut analyser = Analyser::new(Limits::default());
    packets.iter().for_each(|o| analyser.push(o));
    analyser.finish()
}

/// Each packet once more, so much later.
fn doubled(packets: &[Observation], later: Span) -> Vec<Observation> {
    let mut all = packets.to_vec();
    all.extend(packets.iter().map(|o| Observation { t: o.t + later, ..*o }));
    all.sort_by_key(|o| o.t);
    all
}

/// Retransmissions with a verdict or a reason.
fn told(flows: &[Flow]) -> Vec<(Need, Reason)> {
    let all = flows.iter().flat_map(|f| &f.ways).flat_map(|w| &w.retransmissions);
    let told = all.filter(|r| r.need != Need::Unknown || r.reason != Reason::Unknown);
    told.map(|r| (r.need, r.reason)).collect()
}

fn opening(flows: &[Flow]) -> (String, bool) {
    let story = story::tell(&flows.iter().collect::<Vec<_>>());
    (story.what, story.sure.starts_with("This is unsure"))
}

/// The transfer has nothing sent again and an application with nothing to send. Without every fifth or tenth frame it is the same
/// that is told, or nothing for sure.
#[test]
fn every_nth_frame_left_out_invents_nothing() {
    let Some(all) = packets("mlab_large-ndt.pcap") else { return };
    for n in [5, 10] {
        for k in 0..n {
            let rest: Vec<_> = all.iter().enumerate().filter(|(i, _)| i % n != k).map(|(_, o)| *o).collect();
            let flows = judged(&rest);
            assert_eq!(told(&flows), [], "without {k} of {n}");
            assert!(flows.iter().flat_map(|f| &f.ways).all(|w| w.timeouts.is_empty()), "without {k} of {n}");
            let (what, unsure) = opening(&flows);
            assert!(
                unsure || what.contains("the application had nothing to send"),
                "without {k} of {n}: {what}"
            );
        }
    }
}

/// What the receiver acknowledges had come to it: a gap of its own capture is no loss of the path.
#[test]
fn a_middle_missing_at_the_receiver_is_no_loss() {
    let Some(all) = packets("zeek_timestamp.pcap") else { return };
    let tenth = |n: usize| all.len() * n / 10;
    for from in 1..9 {
        for to in from + 1..10 {
            let rest = [&all[..tenth(from)], &all[tenth(to)..]].concat();
            let flows = judged(&rest);
            assert_eq!(told(&flows), [], "without {from} to {to}");
            for way in flows.iter().flat_map(|f| &f.ways) {
                assert_eq!(way.time.of(IdleCause::Lost), Span::ZERO, "without {from} to {to}");
            }
            let (what, unsure) = opening(&flows);
            assert!(unsure || !what.contains("lost"), "without {from} to {to}: {what}");
        }
    }
}

/// The same of transfers whose truth is known.
#[test]
fn a_middle_missing_at_the_receiver_makes_no_verdict_wrong() {
    let mut all = Elsewhere::default();
    for number in 0..120 {
        let (from, to) = (1 + number as usize % 5, 6 + number as usize % 4);
        let keeps = |place: usize, of: usize| !(of * from / 10..of * to / 10).contains(&place);
        let o = elsewhere_with(&case(number), true, &keeps);
        if o.wrong + o.invented > 0 {
            println!("{number}: {o:?}");
        }
        all.seen += o.seen;
        all.judged += o.judged;
        all.wrong += o.wrong;
        all.timeouts += o.timeouts;
        all.invented += o.invented;
    }
    println!("{all:?}");
    assert!(all.judged > 500 && all.wrong == 0 && all.invented == 0, "{all:?}");
}

/// Every frame twice at an equal time to live. Who counts its packets has a number 0 too.
#[test]
fn what_is_captured_twice_was_not_sent_again() {
    let Some(all) = packets("mlab_ndt-4c6fb.pcap") else { return };
    let whole = judged(&all);
    for micros in [1, 1_000, 6_000, 50_000, 250_000] {
        let flows = judged(&doubled(&all, Span::from_nanos(micros * 1000)));
        assert_eq!(told(&flows), told(&whole), "{micros} us later");
    }
}

/// One end writes no identification: where the other end's tell that all was captured twice, what looks sent again is unknown.
#[test]
fn copies_without_identification_are_not_judged() {
    let Some(all) = packets("zeek_ssh-dups.pcap") else { return };
    for micros in [1, 100, 1_000, 6_000, 50_000, 250_000] {
        let flows = judged(&doubled(&all, Span::from_nanos(micros * 1000)));
        assert_eq!(told(&flows), [], "{micros} us later");
        assert!(flows.iter().flat_map(|f| &f.ways).all(|w| w.timeouts.is_empty()), "{micros} us later");
        let (what, unsure) = opening(&flows);
        assert!(unsure || what.contains("the application had nothing to send"), "{micros} us later: {what}");
    }
}
