//! Robustness of verdicts and headlines against incomplete captures: transfers of the simulator, whose truth is known, and
//! capture files, each changed in 56 ways.
//!
//! `cargo run --release -p williwaw-analyse --example mutate -- [SCENARIOS] [FIRST] [FILE...]`; `--odd` prints contradictions only,
//! `--only WORD` selects changes by name, `--at sender` or `--at receiver` one side of the simulator.

#![allow(missing_docs, clippy::print_stdout, reason = "it prints a table")]

#[path = "../tests/common/mod.rs"]
mod common;

use analyse::{Analyser, Flow, Limits, Need, Observation, Reason, RecoveryVerdict, story};
use base::Span;
use base::truth::Cause;
use common::changes::{CHANGES, Changed, headline};
use common::meeting::{Truths, truths};
use common::scenarios::case;
use std::collections::BTreeMap;
use std::fs::File;

fn judged(packets: impl Iterator<Item = Observation>) -> Vec<Flow> {
    let mut analyser = Analyser::new(Limits::default());
    packets.for_each(|o| analyser.push(&o));
    analyser.finish()
}

#[derive(Default)]
struct Count {
    captures: u64,
    seen: u64,
    judged: u64,
    wrong: u64,
    timeouts: u64,
    invented: u64,
    missing: u64,
    headlines: u64,
    sure: u64,
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let value = |word: &str| args.iter().position(|a| a == word).and_then(|at| args.get(at + 1)).cloned();
    let given: Vec<u64> = args.iter().filter_map(|a| a.parse().ok()).collect();
    let (count, first) = (given.first().copied().unwrap_or(100), given.get(1).copied().unwrap_or(0));
    let odd = args.iter().any(|a| a == "--odd");
    let only = value("--only").unwrap_or_default();
    let at = value("--at");
    let files: Vec<&String> = args.iter().filter(|a| a.contains("pcap")).collect();
    let mut table: BTreeMap<(String, &str), Count> = BTreeMap::new();
    for number in first..first + count {
        let case = case(number);
        let of = truths(&case);
        for side in ["sender", "receiver"] {
            if at.as_ref().is_some_and(|at| at != side) {
                continue;
            }
            let seen = if side == "sender" { &of.here } else { &of.there };
            let whole = story::tell(&judged(seen.iter().copied()).iter().collect::<Vec<_>>());
            for (name, change) in CHANGES.iter().filter(|c| c.0.contains(&*only)) {
                let changed = change(seen, number);
                let flows = judged(changed.iter().map(|c| c.1));
                let entry = table.entry((side.to_owned(), name)).or_default();
                entry.captures += 1;
                let told = story::tell(&flows.iter().collect::<Vec<_>>());
                let sure = !told.sure.starts_with("This is unsure");
                entry.sure += u64::from(sure);
                if sure && headline(&told.what) != headline(&whole.what) {
                    entry.headlines += 1;
                    if odd {
                        println!("{side} {name} {number}: {}\n    whole: {}", told.what, whole.what);
                    }
                }
                meet(&of, side, seen, &changed, &flows, entry, &mut |line| {
                    if odd {
                        println!(
                            "{side} {name} {number} [{}; {}; {}]: {line}",
                            case.options, case.order, case.spike
                        );
                    }
                });
            }
        }
    }
    for file in files {
        let mut reader = capture::Reader::open(File::open(file).expect("a file")).expect("a capture");
        let mut all = Vec::new();
        while let Some(frame) = reader.next().expect("whole") {
            all.extend(Observation::of(&frame));
        }
        let flows = judged(all.iter().copied());
        let whole = story::tell(&flows.iter().collect::<Vec<_>>());
        let known = facts(&flows, &all.iter().copied().enumerate().collect::<Vec<_>>());
        let short = file.rsplit('/').next().unwrap_or(file);
        for (name, change) in CHANGES.iter().filter(|c| c.0.contains(&*only)) {
            let changed = change(&all, 1);
            let flows = judged(changed.iter().map(|c| c.1));
            let told = story::tell(&flows.iter().collect::<Vec<_>>());
            let entry = table.entry((short.to_owned(), name)).or_default();
            entry.captures += 1;
            let sure = !told.sure.starts_with("This is unsure");
            entry.sure += u64::from(sure);
            if sure && headline(&told.what) != headline(&whole.what) {
                entry.headlines += 1;
                if odd {
                    println!("{short} {name}: {} {}\n    whole: {}", told.what, told.sure, whole.what);
                }
            }
            for (at, now) in facts(&flows, &changed) {
                entry.seen += 1;
                let before = known.get(&at);
                let (need, reason) = now;
                entry.judged += u64::from(need != Need::Unknown);
                let is_wrong = need != Need::Unknown && before.is_none_or(|b| b.0 != need);
                entry.wrong += u64::from(is_wrong);
                entry.timeouts += u64::from(reason == Reason::Timeout);
                let invented = reason == Reason::Timeout && before.is_none_or(|b| b.1 != Reason::Timeout);
                entry.invented += u64::from(invented);
                if odd && (is_wrong || invented) {
                    println!(
                        "{short} {name}: packet {} at {}: {now:?}, whole {before:?}",
                        at,
                        all[at].t.as_secs_f64()
                    );
                }
            }
        }
    }
    println!(
        "| capture | change | captures | sent again | judged | wrong | timeouts | invented | headlines that are sure | others than of the whole |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    for ((side, name), c) in &table {
        println!(
            "| {side} | {name} | {} | {} | {} | {} | {} | {} | {} | {} |",
            c.captures, c.seen, c.judged, c.wrong, c.timeouts, c.invented, c.sure, c.headlines
        );
    }
}

/// Verdict on each retransmitted packet, by its index in the whole capture.
fn facts(flows: &[Flow], packets: &[Changed]) -> BTreeMap<usize, (Need, Reason)> {
    let mut out = BTreeMap::new();
    for flow in flows {
        for (i, direction) in flow.directions.iter().enumerate() {
            let from = if i == 0 { flow.client } else { flow.server };
            for r in &direction.retransmissions {
                let wire = direction.origin.wrapping_add(r.seq as u32);
                let same = |c: &&Changed| {
                    c.1.t == r.t
                        && c.1.from() == from
                        && c.1.payload > 0
                        && wire.wrapping_sub(c.1.head.seq) < c.1.payload
                };
                if let Some((at, _)) = packets.iter().find(same) {
                    out.insert(*at, (r.need, r.reason));
                }
            }
        }
    }
    out
}

fn meet(
    of: &Truths,
    side: &str,
    seen: &[Observation],
    changed: &[Changed],
    flows: &[Flow],
    out: &mut Count,
    odd: &mut dyn FnMut(String),
) {
    let here: BTreeMap<(Option<u16>, u32), &Observation> = of
        .here
        .iter()
        .filter(|o| o.payload > 0 && o.source == of.sender)
        .map(|o| ((o.id, o.head.seq), o))
        .collect();
    for flow in flows {
        for (i, direction) in flow.directions.iter().enumerate() {
            let from = if i == 0 { flow.client } else { flow.server };
            if from.address != of.sender {
                continue;
            }
            for r in &direction.retransmissions {
                let wire = direction.origin.wrapping_add(r.seq as u32);
                let same = |c: &&Changed| {
                    let within = wire.wrapping_sub(c.1.head.seq) < c.1.payload;
                    c.1.t == r.t && c.1.payload > 0 && c.1.source == of.sender && within
                };
                let Some((at, _)) = changed.iter().find(same) else { continue };
                let packet = &seen[*at];
                let Some(sent) = here.get(&(packet.id, packet.head.seq)) else { continue };
                let seq = u64::from(wire.wrapping_sub(of.first));
                // Segments of a merged frame were sent up to 5 ms after its first.
                let merged = if wire == packet.head.seq { Span::ZERO } else { Span::from_millis(6) };
                let truth =
                    of.truths.iter().find(|t| t.seq == seq && t.t >= sent.t && t.t.since(sent.t) <= merged);
                out.seen += 1;
                let told = r.need != Need::Unknown;
                out.judged += u64::from(told);
                let is_timeout = r.reason == Reason::Timeout;
                out.timeouts += u64::from(is_timeout);
                let Some(truth) = truth else {
                    if told || r.reason != Reason::Unknown {
                        out.missing += 1;
                        out.wrong += u64::from(told);
                        out.invented += u64::from(is_timeout);
                        odd(format!("sent once: {r:?}"));
                    }
                    continue;
                };
                let wrong = told && (r.need == Need::Unneeded) != truth.unneeded;
                let invented = is_timeout && truth.cause != Cause::Timeout;
                out.wrong += u64::from(wrong);
                out.invented += u64::from(invented);
                if wrong || invented {
                    odd(format!(
                        "{:.6} seq {seq} {} {:?} by {} {:?}; truth {} unneeded {}",
                        r.t.as_secs_f64(),
                        r.reason,
                        r.need,
                        r.evidence,
                        r.likelihood,
                        truth.cause,
                        truth.unneeded
                    ));
                }
            }
            let _ = (side, RecoveryVerdict::Unknown);
        }
    }
}
