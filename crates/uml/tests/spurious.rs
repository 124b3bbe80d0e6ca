//! Tests of timeout counters of kernels in virtual time against native kernels: F-RTO, timestamps and SACK on
//! and off; outage, outage with a loss, lost ACKs. The analyser's verdicts from the packets equal the sending
//! kernel's counters.
#![cfg(target_os = "linux")]

mod common;

use analyse::{Analyser, Flow, Limits, Need, Observation, Reason, RecoveryVerdict, join};
use base::Span;
use common::{Cell, Recorded, Situation, kernels, play, recorded};
use netns::facts::FlowFacts;
use scenario::metric::Metric;
use std::sync::atomic::AtomicBool;
use uml::{KernelOutcome, Kernels};

/// Kernel counters of timeouts, without counts of segments.
const VERDICTS: [&str; 4] = ["TCPTimeouts", "TCPSpuriousRTOs", "TCPLossUndo", "TCPLossProbes"];

fn facts(outcome: &KernelOutcome) -> &FlowFacts {
    let facts = outcome.facts[0].as_ref().expect("a kernel's flow");
    assert!(facts.faults.is_empty(), "{:?}", facts.faults);
    facts
}

/// Runs every recorded cell in virtual time.
fn every(recorded: &Recorded, kernels: &Kernels, mut each: impl FnMut(&Situation, &Cell, &KernelOutcome)) {
    for situation in &recorded.situation {
        for cell in &situation.cell {
            each(situation, cell, &play(kernels, &recorded.model(situation, cell), 0));
        }
    }
}

/// SW-56: nine counters of 24 cells are equal, except where a cell states a reason.
#[test]
fn kernels_in_virtual_time_count_what_native_ones_did() {
    let Some(kernels) = kernels() else { return };
    let recorded = recorded();
    let mut wrong = Vec::new();
    every(&recorded, &kernels, |situation, cell, outcome| {
        let found: Vec<u64> = recorded.counters.iter().map(|name| facts(outcome).counter(name)).collect();
        let verdicts = |counts: &[u64]| -> Vec<u64> {
            let named = recorded.counters.iter().zip(counts);
            named.filter(|(name, _)| VERDICTS.contains(&name.as_str())).map(|(_, n)| *n).collect()
        };
        let same = match cell.differs {
            None => cell.runs.contains(&found),
            Some(_) => cell.runs.iter().any(|run| verdicts(run) == verdicts(&found)),
        };
        if !same {
            wrong.push(format!("{}: {found:?} for {:?}", cell.name(situation), cell.runs));
        }
        // A retransmission that replaced no loss was unneeded; the ledger of the packet ports has seen each
        // copy.
        let unneeded = outcome.ran.flows[0].get(Metric::UnneededRetransmissions).unwrap_or(f64::NAN);
        let lost = situation.set.iter().filter(|set| set.contains("packets=")).count();
        assert_eq!(unneeded, (found[0] - lost as u64) as f64, "{}", cell.name(situation));
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// As in virtual time, but with the kernel of this machine in real time, all cells concurrently: its verdicts
/// are equal. Takes 90 s, mostly asleep.
#[test]
fn the_kernel_of_this_machine_says_the_same() {
    let Some(kernels) = kernels() else { return };
    if let Err(error) = emulate::rights() {
        return eprintln!("skipped: {error}");
    }
    let recorded = recorded();
    let native = |situation: &Situation, cell: &Cell| -> Result<[u64; 4], String> {
        let options = emulate::Options { lateness_limit: Span::from_millis(30), ..Default::default() };
        let model = recorded.model(situation, cell);
        let outcome =
            emulate::once(&model, 0, &options, &AtomicBool::new(false)).map_err(|e| e.to_string())?;
        if let Some(why) = outcome.unfaithful(&options) {
            return Err(format!("not faithful: {why}"));
        }
        let facts = outcome.facts[0].clone().unwrap_or_default();
        Ok(VERDICTS.map(|name| facts.counter(name)))
    };
    let played: Vec<_> = std::thread::scope(|scope| {
        let cells = recorded.situation.iter().flat_map(|s| s.cell.iter().map(move |cell| (s, cell)));
        let started: Vec<_> = cells.map(|(s, cell)| (s, cell, scope.spawn(|| native(s, cell)))).collect();
        started.into_iter().map(|(s, cell, run)| (s, cell, run.join().expect("a run"))).collect()
    });
    let mut wrong = Vec::new();
    for (situation, cell, native) in played {
        let native = match native {
            Ok(native) => native,
            // A run on an overloaded machine proves nothing.
            Err(why) => {
                eprintln!("{}: {why}", cell.name(situation));
                continue;
            }
        };
        let outcome = play(&kernels, &recorded.model(situation, cell), 0);
        let virtually = VERDICTS.map(|name| facts(&outcome).counter(name));
        if native != virtually {
            wrong.push(format!("{}: {virtually:?} for {native:?}", cell.name(situation)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The analyser's report from the sender's capture, and from the captures of both ends.
fn judged(outcome: &KernelOutcome) -> (Flow, Flow) {
    let mut file = Vec::new();
    outcome.capture.as_ref().expect("packets").write(&mut file).expect("memory");
    let side = |packet_port: u32| {
        let mut reader = capture::Reader::open(&file[..]).expect("a capture");
        let mut analyser = Analyser::new(Limits { arrivals: true, ..Limits::default() });
        while let Some(frame) = reader.next().expect("frames") {
            if let Some(o) = Observation::of(&frame).filter(|o| o.interface == packet_port) {
                analyser.push(&o);
            }
        }
        analyser.finish().into_iter().enumerate().collect::<Vec<_>>()
    };
    let (mut here, there) = (side(0), side(1));
    let alone = here[0].1.clone();
    assert_eq!(join::join(&mut here, &there), 1);
    (alone, here.remove(0).1)
}

/// TA-01, TA-03: the analyser and the kernel count the same on the packets of one run. Where the kernel calls
/// a timeout spurious, so does the analyser, from the sender's packets alone.
#[test]
fn the_analyser_says_what_the_kernel_says() {
    let Some(kernels) = kernels() else { return };
    let mut wrong = Vec::new();
    every(&recorded(), &kernels, |situation, cell, outcome| {
        let (kernel, name) = (facts(outcome), cell.name(situation));
        let (alone, both) = judged(outcome);
        let (direction, with_both) = (&alone.directions[0], &both.directions[0]);
        let truths = outcome.ran.world.network.ledgers()[0].verdicts();
        let unneeded = truths.iter().filter(|truth| truth.unneeded).count() as u64;
        let resent = direction.retransmissions.len() as u64;
        let timeouts = direction.timeouts.len() as u64;
        let probes = direction.retransmissions.iter().filter(|r| r.reason == Reason::Probe).count() as u64;
        let spurious = |w: &analyse::FlowDirection| {
            w.timeouts.iter().filter(|t| t.kind == RecoveryVerdict::Spurious).count() as u64
        };
        let undone = kernel.counter("TCPLossUndo") + kernel.counter("TCPDSACKUndo");
        eprintln!(
            "| {name} | {} {} {} | {resent} {timeouts} {probes} | {} {undone} | {} {} | {unneeded} | {} {} {} |",
            kernel.counter("TcpRetransSegs"),
            kernel.counter("TCPTimeouts"),
            kernel.counter("TCPLossProbes"),
            kernel.counter("TCPSpuriousRTOs"),
            spurious(direction),
            spurious(with_both),
            direction.count(Need::Unneeded),
            direction.count(Need::Unknown),
            with_both.count(Need::Unneeded),
        );
        let mut check = |what: &str, said: u64, is: u64| {
            if said != is {
                wrong.push(format!("{name}: {what}: {said} for {is}"));
            }
        };
        check("resent", resent, kernel.counter("TcpRetransSegs"));
        check("timeouts", timeouts, kernel.counter("TCPTimeouts"));
        check("probes", probes, kernel.counter("TCPLossProbes"));
        check("unneeded, both captures", with_both.count(Need::Unneeded), unneeded);
        if kernel.counter("TCPSpuriousRTOs") > 0 || kernel.counter("TCPLossUndo") > 0 {
            check("spurious", u64::from(spurious(direction) > 0), 1);
            check("spurious, both captures", u64::from(spurious(with_both) > 0), 1);
        }
        // The analyser calls no needed retransmission unneeded.
        check("unneeded", u64::from(direction.count(Need::Unneeded) > unneeded), 0);
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
