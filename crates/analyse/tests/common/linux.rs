//! Transfers of a Linux kernel through the emulator, captured at both ends: packets, the emulator's verdicts, the
//! kernel's counters.

#![allow(dead_code, unreachable_pub, reason = "tests use parts of it")]

use analyse::{Analyser, Flow, Limits, Observation};
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

/// Impairments of the path, and TCP options disabled by sysctl.
pub const TROUBLES: [(&str, &[&str]); 16] = [
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

const FAST: &str = "hop.radio.rate=\"2 Mbit/s\"";
const MORE: &str = "flow.download.app.bulk.bytes=\"400 kB\"";
const SCATTERED: &str = "hop.radio.loss.noise.packets=\"12, 31, 32, 60, 90, 91, 92, 120, 150, 181\"";
const OUTAGE: &str = "hop.radio.gate.pause.spikes=[[\"1 s\", \"400 ms\"]]";

/// Shorter and faster paths, 6 to 50 ms from end to end: a capture at a host or router near the path.
pub const SHORT_PATHS: [(&str, &[&str]); 12] = [
    ("6 ms, scattered losses", &[FAST, MORE, SCATTERED, "hop.radio.delay=\"6 ms\""]),
    ("10 ms, scattered losses, no SACK", &[FAST, MORE, SCATTERED, NO_SACK, "hop.radio.delay=\"10 ms\""]),
    (
        "20 ms, scattered losses, no timestamps",
        &[FAST, MORE, SCATTERED, NO_STAMPS, "hop.radio.delay=\"20 ms\""],
    ),
    (
        "30 ms, scattered losses, neither",
        &[FAST, MORE, SCATTERED, NO_STAMPS, NO_SACK, "hop.radio.delay=\"30 ms\""],
    ),
    ("50 ms, scattered losses", &[FAST, MORE, SCATTERED, WIDE, "hop.radio.delay=\"50 ms\""]),
    ("8 ms, spike", &[FAST, MORE, OUTAGE, "hop.radio.delay=\"8 ms\""]),
    ("15 ms, spike, no SACK", &[FAST, MORE, OUTAGE, NO_SACK, NO_FRTO, "hop.radio.delay=\"15 ms\""]),
    ("25 ms, outage", &[FAST, MORE, OUTAGE, DROP, "hop.radio.delay=\"25 ms\""]),
    ("40 ms, outage, neither", &[FAST, MORE, OUTAGE, DROP, NO_STAMPS, NO_SACK, "hop.radio.delay=\"40 ms\""]),
    ("12 ms, acknowledgements lost", &[FAST, MORE, OUTAGE, UP, DROP, "hop.radio.delay=\"12 ms\""]),
    (
        "12 ms, acknowledgements lost, no SACK",
        &[FAST, MORE, OUTAGE, UP, DROP, NO_SACK, "hop.radio.delay=\"12 ms\""],
    ),
    ("35 ms, overflow", &[FAST, MORE, SHORT_QUEUE, WIDE, "hop.radio.delay=\"35 ms\""]),
];

const PAUSE: &str = "flow.download.app.bulk.read-pause=\"4 s\"";
const SHORT: &str = "hop.radio.delay=\"20 ms\"";

/// The receiving application pauses or reads slowly.
pub const CLOSED: [(&str, &[&str]); 10] = [
    ("closed window", &[PAUSE]),
    ("closed window, no timestamps", &[PAUSE, NO_STAMPS]),
    ("closed window, no SACK", &[PAUSE, NO_SACK]),
    ("closed window, neither", &[PAUSE, NO_SACK, NO_STAMPS]),
    ("closed window, short path", &[PAUSE, SHORT]),
    ("closed window, fast path", &[PAUSE, FAST, SHORT, MORE]),
    ("closed window and a loss", &[PAUSE, "hop.radio.loss.noise.packets=\"20\""]),
    ("closed window, large buffer", &[PAUSE, WIDE, FAST, "flow.download.app.bulk.bytes=\"2 MB\""]),
    ("slow reader", &["flow.download.app.bulk.read-rate=\"60 kbit/s\""]),
    ("slow reader, no timestamps", &["flow.download.app.bulk.read-rate=\"60 kbit/s\"", NO_STAMPS]),
];

/// Transfer with its captures and counters.
pub struct Played {
    pub truths: Vec<Retransmission>,
    /// Retransmissions, timeouts and probes by the kernel's counters.
    pub kernel: [u64; 3],
    /// Packets captured next to the sender, and next to the receiver.
    pub sides: [Vec<Observation>; 2],
}

/// Runs one transfer with these scenario overrides.
pub fn play(name: &str, set: &[&str]) -> Result<Played, String> {
    let fixed = [
        "flow.download.transport.linux.cc=\"cubic\"",
        "flow.download.transport.linux.sysctl.tcp_rmem=\"4096 32768 32768\"",
        "hop.radio.rate=\"200 kbit/s\"",
    ];
    let set: Vec<String> = fixed.iter().chain(set).map(|s| (*s).to_owned()).collect();
    let model = agreement::model(&set).map_err(|e| e.to_string())?;
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
    outcome.capture.as_ref().ok_or("no capture")?.write(&mut file).map_err(|e| e.to_string())?;
    let kept = format!("{}/{}.pcapng", env!("CARGO_TARGET_TMPDIR"), name.replace([' ', ','], "_"));
    std::fs::write(kept, &file).map_err(|e| e.to_string())?;
    let mut sides = [Vec::new(), Vec::new()];
    let mut reader = capture::Reader::open(&file[..]).map_err(|e| e.to_string())?;
    while let Some(frame) = reader.next().map_err(|e| e.to_string())? {
        if let Some(o) = Observation::of(&frame) {
            sides[o.interface as usize].push(o);
        }
    }
    Ok(Played {
        truths: outcome.ran.world.network.ledgers()[0].verdicts(),
        kernel: ["TcpRetransSegs", "TCPTimeouts", "TCPLossProbes"].map(|name| facts.counter(name)),
        sides,
    })
}

/// Runs all transfers in parallel, each in namespaces of its own; none without the rights. Transfers that a busy
/// machine could not run are omitted.
pub fn play_all<'a>(kinds: &[(&'a str, &[&str])]) -> Vec<(&'a str, Played)> {
    if let Err(error) = emulate::rights() {
        eprintln!("skipped: {error}");
        return Vec::new();
    }
    let played: Vec<_> = std::thread::scope(|scope| {
        let all: Vec<_> = kinds.iter().map(|(name, set)| scope.spawn(|| play(name, set))).collect();
        all.into_iter().map(|w| w.join().unwrap()).collect()
    });
    let mut out = Vec::new();
    for ((name, _), played) in kinds.iter().zip(played) {
        match played {
            Ok(played) => out.push((*name, played)),
            Err(why) => eprintln!("{name}: {why}"),
        }
    }
    out
}

/// Connection of these packets.
pub fn judged(packets: &[Observation]) -> Flow {
    let mut analyser = Analyser::new(Limits { arrivals: true, ..Limits::default() });
    packets.iter().for_each(|o| analyser.push(o));
    analyser.finish().remove(0)
}
