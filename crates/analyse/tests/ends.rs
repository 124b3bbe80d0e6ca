//! Captures that are incomplete or not next to the sender: verdicts become unknown, never wrong. Linux sends through
//! the emulator, in namespaces, with thirty-eight kinds of impairment.
//!
//! TA-01, TA-03: next to the receiver, from the middle of a connection on, and with duplicate frames.
#![cfg(target_os = "linux")]

#[path = "common/linux.rs"]
mod linux;

use analyse::capture_point::Side;
use analyse::flow::Retransmission;
use analyse::{Flow, Need, Observation, Reason, story};
use base::{Span, Time};
use linux::{CLOSED, Played, SHORT_PATHS, TROUBLES, judged, play_all};
use std::sync::OnceLock;

/// All transfers, run once.
fn kinds() -> &'static [(&'static str, Played)] {
    static PLAYED: OnceLock<Vec<(&str, Played)>> = OnceLock::new();
    PLAYED.get_or_init(|| {
        let mut all = play_all(&TROUBLES);
        all.extend(play_all(&SHORT_PATHS));
        all.extend(play_all(&CLOSED));
        all
    })
}

/// Time at which the sender sent a packet that was captured elsewhere.
fn sent_at(played: &Played, t: Time, seq: u32) -> Option<Time> {
    let there = played.sides.iter().flatten().find(|o| o.t == t && o.head.seq == seq && o.payload > 0)?;
    let same = |o: &&Observation| (o.id, o.head.seq, o.payload) == (there.id, seq, there.payload);
    played.sides[0].iter().find(same).map(|o| o.t)
}

/// Contradictions of the verdicts on another capture of a transfer with the sender's capture and the emulator's log.
fn contradictions(played: &Played, flow: &Flow) -> Vec<String> {
    let whole = judged(&played.sides[0]);
    let mut out = Vec::new();
    for direction in [0, 1].map(|i| &flow.directions[i]).into_iter().filter(|w| w.data_bytes > 1000) {
        let sender = whole.directions.iter().find(|w| w.data_bytes > 1000).unwrap();
        for r in &direction.retransmissions {
            let wire = direction.origin.wrapping_add(r.seq as u32);
            let t = sent_at(played, r.t, wire);
            let seq = u64::from(wire.wrapping_sub(sender.origin));
            let same = |s: &&Retransmission| Some(s.t) == t && s.seq == seq;
            let Some(at) = sender.retransmissions.iter().position(|s| same(&s)) else {
                out.push(format!("byte {seq} at {t:?} was sent once: {r:?}"));
                continue;
            };
            let is = sender.retransmissions[at].reason;
            let kind = |r: Reason| match r {
                Reason::Fast | Reason::Recovery => 0,
                Reason::Timeout | Reason::Probe => 1,
                Reason::GoBackN => 2,
                Reason::Unknown => 3,
            };
            if r.reason != Reason::Unknown && kind(r.reason) != kind(is) {
                out.push(format!("byte {seq} at {}: {} is {is}", r.t.as_secs_f64(), r.reason));
            }
            let truth = played.truths[at].unneeded;
            if r.need != Need::Unknown && (r.need == Need::Unneeded) != truth {
                let told = (r.need, r.evidence, r.likelihood);
                out.push(format!("byte {seq} at {}: {told:?}, unneeded {truth}", r.t.as_secs_f64()));
            }
        }
        let timeouts = direction.timeouts.len() as u64;
        if timeouts > played.kernel[1] + played.kernel[2] {
            out.push(format!("{timeouts} timeouts for {:?}", played.kernel));
        }
    }
    // The first sentences of the diagnosis name timeouts only if there are some.
    let (told, is) = (story::tell(&[flow]), story::tell(&[&whole]));
    let blames = |s: &story::Diagnosis| s.what.contains("timeout");
    if blames(&told) && played.kernel[1] == 0 && !blames(&is) {
        out.push(format!("{told:?}"));
    }
    out
}

#[test]
fn next_to_the_receiver_no_timeout_is_invented() {
    let mut wrong = Vec::new();
    let (mut known, mut all, mut told) = (0, 0, 0);
    for (name, played) in kinds() {
        let flow = judged(&played.sides[1]);
        let direction = &flow.directions[flow.main()];
        assert_eq!(direction.place.side(), Side::Receiver, "{name}: {:?}", direction.place);
        wrong.extend(contradictions(played, &flow).into_iter().map(|w| format!("{name}: {w}")));
        let count = |reason| direction.retransmissions.iter().filter(|r| r.reason == reason).count();
        all += direction.retransmissions.len();
        known += direction.retransmissions.len() - count(Reason::Unknown);
        told += direction.timeouts.len();
        let tell = story::tell(&[&flow]);
        eprintln!(
            "{name}: kernel {:?}; {} resent, {} timeouts, {} unknown; {}",
            played.kernel,
            direction.retransmissions.len(),
            direction.timeouts.len(),
            count(Reason::Unknown),
            tell.what
        );
    }
    eprintln!("{all} retransmissions, {known} with a reason, {told} timeouts");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_capture_that_starts_late_says_nothing_wrong() {
    let mut wrong = Vec::new();
    let (mut closed, mut captures) = (0, 0);
    for (name, played) in kinds() {
        for (side, packets) in played.sides.iter().enumerate() {
            let whole = story::tell(&[&judged(packets)]);
            for cut in 1..=50 {
                let flow = judged(&packets[cut..]);
                captures += 1;
                let of = format!("{name}, side {side}, without {cut}");
                wrong.extend(contradictions(played, &flow).into_iter().map(|w| format!("{of}: {w}")));
                let told = story::tell(&[&flow]);
                let shut = packets[cut..]
                    .iter()
                    .copied()
                    .skip_while(|o| o.payload < 100)
                    .collect::<Vec<_>>()
                    .windows(2)
                    .any(|w| {
                        let zero = |o: &Observation| o.head.window == 0 && o.payload == 0;
                        zero(&w[0]) && w[1].t.since(w[0].t) > Span::from_secs(1)
                    });
                if whole.what.contains("window was closed") && shut {
                    closed += 1;
                    if !told.what.contains("window was closed") && !told.sure.starts_with("This is unsure") {
                        wrong.push(format!("{of}: {}", told.what));
                    }
                }
            }
        }
    }
    eprintln!("{captures} captures, {closed} with a closed window");
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong[..wrong.len().min(40)].join("\n"));
}

#[test]
fn copies_behind_a_router_are_no_retransmissions() {
    let mut wrong = Vec::new();
    let mut copies = 0;
    for (name, played) in kinds() {
        let mut both = played.sides[0].clone();
        let there = played.sides[1].iter();
        both.extend(there.map(|o| Observation {
            ttl: if o.payload > 0 { o.ttl - 1 } else { o.ttl },
            interface: 0,
            ..*o
        }));
        // The receiver's packets are captured first at the point next to it.
        let data = |o: &Observation| played.sides[0].iter().any(|d| d.payload > 0 && d.source == o.source);
        let ports: Vec<bool> = both.iter().map(data).collect();
        let here = played.sides[0].len();
        for (i, o) in both.iter_mut().enumerate() {
            o.interface = 0;
            o.ttl = if ports[i] == (i < here) { 64 } else { 63 };
        }
        both.sort_by_key(|o| o.t);
        let flow = judged(&both);
        wrong.extend(contradictions(played, &flow).into_iter().map(|w| format!("{name}: {w}")));
        let id = |o: &Observation| o.id.filter(|id| *id > 0).map(|id| (o.source, id));
        let known: std::collections::BTreeSet<_> = played.sides[0].iter().filter_map(id).collect();
        let twice = played.sides[1].iter().filter_map(id).filter(|id| known.contains(id)).count() as u64;
        if flow.captured_twice < twice {
            wrong.push(format!("{name}: {} copies of {twice} were found", flow.captured_twice));
        }
        copies += flow.captured_twice;
        eprintln!("{name}: {} copies; {}", flow.captured_twice, story::tell(&[&flow]).what);
    }
    eprintln!("{copies} copies");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
