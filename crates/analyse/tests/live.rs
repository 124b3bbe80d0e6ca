//! The claim: on captures of a real kernel's TCP the counts are the kernel's own and the verdicts those of the
//! emulator, which saw every packet arrive or end. Sixteen kinds of trouble, each in namespaces of its own, all at once.
//!
//! TA-01, TA-03: spurious and genuine timeouts of Linux are told from its capture.
#![cfg(target_os = "linux")]

use analyse::{Analyser, Flow, Keep, Need, Observation, Reason, join};
use base::Span;
use base::truth::Retransmission;
use emulate::agreement;
use std::sync::atomic::AtomicBool;

const SPIKE: &str = "hop.radio.gate.pause.spikes=[[\"2 s\", \"3 s\"]]";
const WIDE: &str = "flow.download.transport.linux.sysctl.tcp_rmem=\"4096 131072 6291456\"";
const NO_FRTO: &str = "flow.download.transport.linux.sysctl.tcp_frto=0";
const NO_STAMPS: &str = "flow.download.transport.linux.sysctl.tcp_timestamps=0";
const NO_SACK: &str = "flow.download.transport.linux.sysctl.tcp_sack=0";
const UP: &str = "hop.radio.gate.pause.directions=\"up\"";
const DROP: &str = "hop.radio.gate.pause.mode=\"drop\"";
const SHORT_QUEUE: &str = "hop.radio.queue.drop-tail.limit=\"20 packets\"";

/// What happens, and what is switched off.
const CASES: [(&str, &[&str]); 16] = [
    ("nothing", &[]),
    ("spike", &[SPIKE]),
    ("spike, no F-RTO", &[SPIKE, NO_FRTO]),
    ("spike, no timestamps", &[SPIKE, NO_STAMPS]),
    ("spike, neither", &[SPIKE, NO_FRTO, NO_STAMPS]),
    ("spike, no SACK", &[SPIKE, NO_SACK]),
    ("spike, nothing at all", &[SPIKE, NO_FRTO, NO_STAMPS, NO_SACK]),
    ("one segment lost", &["hop.radio.loss.noise.packets=\"30\""]),
    ("five in a row lost", &["hop.radio.loss.noise.packets=\"30-34\""]),
    ("three lost, no SACK", &["hop.radio.loss.noise.packets=\"30-32\"", NO_SACK]),
    ("the last one lost", &["hop.radio.loss.noise.packets=\"83\""]),
    ("spike and loss", &[SPIKE, "hop.radio.loss.noise.packets=\"40-42\""]),
    ("overflow", &[SHORT_QUEUE, WIDE]),
    ("overflow and spike", &[SHORT_QUEUE, WIDE, SPIKE]),
    ("acknowledgements held", &[SPIKE, UP]),
    ("acknowledgements lost", &[SPIKE, UP, DROP]),
];

struct Played {
    truths: Vec<Retransmission>,
    /// Retransmissions, timeouts, probes as the kernel counts them.
    kernel: [u64; 3],
    alone: Flow,
    both: Flow,
}

fn play(set: &[&str]) -> Result<Played, String> {
    let fixed = [
        "flow.download.transport.linux.cc=\"cubic\"",
        "flow.download.transport.linux.sysctl.tcp_rmem=\"4096 32768 32768\"",
        "hop.radio.rate=\"200 kbit/s\"",
    ];
    let set: Vec<String> = fixed.iter().chain(set).map(|s| (*s).to_owned()).collect();
    let model = agreement::model(&set)?;
    let options = emulate::Options {
        trace: true,
        capture: true,
        lateness_limit: Span::from_millis(30),
        ..Default::default()
    };
    let outcome = emulate::once(&model, 0, &options, &AtomicBool::new(false)).map_err(|e| e.to_string())?;
    if let Some(why) = outcome.unfaithful(&options) {
        return Err(format!("not faithful: {why}"));
    }
    let facts = outcome.facts[0].clone().unwrap_or_default();
    let mut file = Vec::new();
    outcome.capture.as_ref().unwrap().write(&mut file).unwrap();
    let side = |door: u32| {
        let mut reader = capture::Reader::open(&file[..]).unwrap();
        let mut analyser = Analyser::new(Keep { arrivals: true, ..Keep::default() });
        while let Some(frame) = reader.next().unwrap() {
            if let Some(o) = Observation::of(&frame).filter(|o| o.interface == door) {
                analyser.push(&o);
            }
        }
        analyser.finish().into_iter().enumerate().collect::<Vec<_>>()
    };
    let (mut here, there) = (side(0), side(1));
    let alone = here[0].1.clone();
    assert_eq!(join::join(&mut here, &there), 1);
    Ok(Played {
        truths: outcome.ran.world.network.ledgers()[0].verdicts(),
        kernel: ["TcpRetransSegs", "TCPTimeouts", "TCPLossProbes"].map(|name| facts.counter(name)),
        alone,
        both: here.remove(0).1,
    })
}

#[test]
fn linux_is_judged_as_the_emulator_saw_it() {
    if let Err(error) = emulate::rights() {
        eprintln!("skipped: {error}");
        return;
    }
    let played: Vec<Result<Played, String>> = std::thread::scope(|scope| {
        let all: Vec<_> = CASES.iter().map(|(_, set)| scope.spawn(|| play(set))).collect();
        all.into_iter().map(|w| w.join().unwrap()).collect()
    });
    let mut wrong = Vec::new();
    let mut judged = 0;
    for ((name, _), played) in CASES.iter().zip(played) {
        let played = match played {
            Ok(played) => played,
            Err(why) => {
                eprintln!("{name}: {why}");
                continue; // a machine that is too busy proves nothing
            }
        };
        judged += 1;
        let (way, both) = (&played.alone.ways[0], &played.both.ways[0]);
        let count = |reason: Reason| way.retransmissions.iter().filter(|r| r.reason == reason).count() as u64;
        let truth: Vec<(u64, bool)> = played.truths.iter().map(|t| (t.seq, t.unneeded)).collect();
        let said = |w: &analyse::Way| -> Vec<(u64, Option<bool>)> {
            let need = |n: Need| (n != Need::Unknown).then_some(n == Need::Unneeded);
            w.retransmissions.iter().map(|r| (r.seq, need(r.need))).collect()
        };
        let is: Vec<(u64, Option<bool>)> = truth.iter().map(|t| (t.0, Some(t.1))).collect();
        let resent = way.retransmissions.len() as u64;
        let [kernel_resent, timeouts, probes] = played.kernel;
        eprintln!(
            "{name}: kernel {kernel_resent} resent, {timeouts} timeouts, {probes} probes; seen {resent}, {}, {}; {} unneeded",
            way.timeouts.len(),
            count(Reason::Probe),
            way.count(Need::Unneeded),
        );
        let mut check = |what: &str, holds: bool, more: String| {
            if !holds {
                wrong.push(format!("{name}: {what}: {more}"));
            }
        };
        check("resent", resent == kernel_resent, format!("{resent} for {kernel_resent}"));
        let seen = (way.timeouts.len() as u64, count(Reason::Probe));
        // A probe of the only segment outstanding looks like a timeout.
        let told = seen.0 + seen.1 >= timeouts && seen.0 <= timeouts + probes && seen.1 <= probes;
        check("timeouts", told, format!("{seen:?} for {timeouts} and {probes}"));
        check("both captures", said(both) == is, format!("{:?} is {is:?}", said(both)));
        type Told = (u64, Option<bool>);
        let meets = |(s, i): (&Told, &Told)| s.0 == i.0 && s.1.is_none_or(|s| Some(s) == i.1);
        let alone = said(way);
        let all = alone.len() == is.len() && alone.iter().zip(&is).all(meets);
        check("the sender's capture", all, format!("{:?} is {is:?}", way.retransmissions));
    }
    assert!(judged > 0 || wrong.is_empty());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
