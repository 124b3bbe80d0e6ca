//! Captures at both ends of a Linux kernel's transfers across a delay spike: verdicts equal those of the emulator's
//! log. The files under `data/spike/` are four runs of `scenarios/linux/verdict.toml` in real time (F-RTO and
//! timestamps off and on; Linux 6.18): packets at both ports, headers only, and the event log.
//!
//!     williwaw emulate scenarios/linux/verdict.toml --jobs 4 --captures --events --out kept
//!
//! TA-01, TA-03: a spurious timeout of Linux is recognised from its capture, with and without its own detectors.

use analyse::{Analyser, Flow, Limits, Need, Observation, RecoveryVerdict, join};
use capture::{Reader, Unpacked};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};

const CASES: [&str; 4] = ["neither", "timestamps", "frto", "both"];

fn file(case: &str, end: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/spike").join(format!("{case}.{end}"))
}

/// Connections in the capture of one end.
fn side(case: &str, packet_port: u32) -> Vec<(usize, Flow)> {
    let mut reader =
        Reader::open(Unpacked::new(File::open(file(case, "pcapng.gz")).unwrap()).unwrap()).unwrap();
    let mut analyser = Analyser::new(Limits { arrivals: true, ..Limits::default() });
    while let Some(frame) = reader.next().unwrap() {
        if let Some(o) = Observation::of(&frame).filter(|o| o.interface == packet_port) {
            analyser.push(&o);
        }
    }
    analyser.finish().into_iter().enumerate().collect()
}

/// Data of the sender in the emulator's log.
struct Log {
    /// First byte and time of every retransmission, and whether an earlier copy was not lost.
    resent: Vec<(u64, f64, bool)>,
    /// Packets dropped on the path.
    dropped: usize,
}

fn log(case: &str) -> Log {
    let lines = BufReader::new(Unpacked::new(File::open(file(case, "jsonl.gz")).unwrap()).unwrap()).lines();
    let events: Vec<Value> = lines.map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect();
    let of = |name: &str| events.iter().filter(move |e| e["event"] == name).collect::<Vec<_>>();
    let dropped: BTreeSet<u64> = of("path:dropped").iter().filter_map(|e| e["packet"].as_u64()).collect();
    let mut copies: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    let mut resent = Vec::new();
    for event in of("transport:data_sent") {
        let (seq, packet) = (event["seq"].as_u64().unwrap(), event["packet"].as_u64().unwrap());
        let before = copies.entry(seq).or_default();
        if event["cause"] == "resent" {
            let unneeded = before.iter().any(|copy| !dropped.contains(copy));
            resent.push((seq, event["t"].as_f64().unwrap(), unneeded));
        }
        before.push(packet);
    }
    Log { resent, dropped: dropped.len() }
}

#[test]
fn captures_of_a_spike_say_what_the_log_knows() {
    for case in CASES {
        let log = log(case);
        // Twelve in the recorded run (others: 14, 15) where the kernel has no detector, otherwise two.
        let expected = if case == "neither" { 12..=16 } else { 1..=3 };
        assert!(expected.contains(&log.resent.len()), "{case}: {}", log.resent.len());
        assert_eq!(log.dropped, 0, "{case}");
        let (mut here, there) = (side(case, 0), side(case, 1));
        assert_eq!(here.len(), 1, "{case}: one connection");
        let alone = here[0].1.clone();
        assert_eq!(join::join(&mut here, &there), 1, "{case}");
        for (which, flow) in [("the sender's capture", &alone), ("both captures", &here[0].1)] {
            let direction = &flow.directions[0];
            let said: Vec<u64> = direction.retransmissions.iter().map(|r| r.seq).collect();
            let known: Vec<u64> = log.resent.iter().map(|r| r.0).collect();
            assert_eq!(said, known, "{case}, {which}");
            for (verdict, (seq, t, unneeded)) in direction.retransmissions.iter().zip(&log.resent) {
                assert!((verdict.t.as_secs_f64() - t).abs() < 0.05, "{case}, {which}: {seq} at {t} s");
                let need = if *unneeded { Need::Unneeded } else { Need::Needed };
                let unknown = which != "both captures" && verdict.need == Need::Unknown;
                assert!(verdict.need == need || unknown, "{case}, {which}: {seq} is {:?}", verdict.need);
            }
            // One timeout, during the gate's spike, and spurious.
            assert_eq!(direction.timeouts.len(), 1, "{case}, {which}");
            assert_eq!(direction.timeouts[0].kind, RecoveryVerdict::Spurious, "{case}, {which}");
            let at = direction.timeouts[0].t.as_secs_f64();
            assert!((11.0..21.7).contains(&at), "{case}, {which}: {at} s");
        }
    }
}
