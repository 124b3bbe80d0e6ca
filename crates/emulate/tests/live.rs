//! Transfers between two kernels across the scenario's path. Each test creates namespaces, which end with it; where
//! the process may not, the test reports this and is skipped.
#![cfg(target_os = "linux")]

use base::Span;
use base::event::Event;
use emulate::{EmulationOutcome, Error, Options};
use scenario::metric::Metric;
use scenario::{Model, NoFiles};
use std::sync::atomic::AtomicBool;
use testkit::Download;

fn scenario() -> Download {
    let path = Download::over("1 Mbit/s", "50 ms")
        .unlimited()
        .faults("[[hop.loss]]\nname = \"noise\"\ndirections = \"down\"\npackets = \"100000\"");
    path.transport("{ linux = { cc = \"cubic\" } }").limit("10 s")
}

fn model(set: &[&str]) -> Model {
    testkit::model(&scenario().text(), set)
}

/// Options of a run. Slow links make real stacks robust: no assertion depends on milliseconds.
fn options() -> Options {
    Options { trace: true, capture: true, lateness_limit: Span::from_millis(20), ..Options::default() }
}

/// Runs the scenario; None, with a message, where the process lacks rights.
fn play(set: &[&str]) -> Option<EmulationOutcome> {
    if let Err(error) = emulate::rights() {
        eprintln!("skipped: {error}");
        return None;
    }
    match emulate::once(&model(set), 0, &options(), &AtomicBool::new(false)) {
        Ok(outcome) => Some(outcome),
        Err(error) => panic!("{error}"),
    }
}

fn get(outcome: &EmulationOutcome, metric: Metric) -> f64 {
    outcome.ran.flows[0].get(metric).unwrap_or(f64::NAN)
}

/// Unmodified stacks and sockets at both ends of the model's path, which has its rate and its delay (SW-01, SW-02,
/// SW-11, SW-13).
#[test]
fn a_kernel_downloads_through_the_path() {
    let Some(outcome) = play(&[]) else { return };
    assert!(outcome.ran.complete, "{:?}", outcome.facts);
    // 69 segments of 1500 bytes at 1 Mbit/s, and three times the delay of 50 ms for handshake and first byte; slow
    // start fills the link within two round trips.
    let bound = 100_000.0 / 1448.0 * 1500.0 * 8.0 / 1e6 + 0.15;
    let time = get(&outcome, Metric::DownloadTime);
    assert!((bound * 0.99..bound + 0.4).contains(&time), "{time} s, at best {bound} s");
    assert_eq!(get(&outcome, Metric::SegmentsRetransmitted), 0.0);
    let facts = outcome.facts[0].as_ref().unwrap();
    assert_eq!((facts.info.snd_mss, facts.info.total_retrans), (1448, 0));
    assert!(facts.info.min_rtt >= 100_000, "a round trip of {} us", facts.info.min_rtt);
    assert_eq!(outcome.timing.refused + outcome.timing.overrun + outcome.timing.strange, 0);
    assert_eq!(outcome.ran.world.network.bodies(), 0);
    // Each packet crosses two packet ports, except those in flight at the end.
    let sent = outcome.ran.world.network.counters().sent as usize;
    let crossed = outcome.capture.as_ref().map_or(0, |capture| capture.len());
    assert!(crossed > 2 * sent - 20 && crossed <= 2 * sent, "{crossed} crossings of {sent} packets");
}

/// PR-05: behind a link of 576 bytes the kernel receives "fragmentation needed" from the path's router, and sends
/// segments of 576 - 40 - 12 bytes (timestamps) from then on.
#[test]
fn a_kernel_lowers_its_segments_to_the_path() {
    let Some(outcome) = play(&["hop.radio.mtu=\"576 B\""]) else { return };
    assert!(outcome.ran.complete, "{:?}", outcome.facts);
    let facts = outcome.facts[0].as_ref().unwrap();
    assert_eq!(facts.info.snd_mss, 524);
    let refused = outcome
        .ran
        .world
        .network
        .records()
        .iter()
        .filter(|r| matches!(r.event, Event::Dropped { reason: base::packet::DropReason::TooBig, .. }));
    assert!((1..=10).contains(&refused.count()), "the first window at most");
    assert_eq!(outcome.ran.world.network.bodies(), 0);
}

/// PR-05, RFC 2923: a router without ICMP errors is a black hole, which the kernel passes only by probing (RFC 4821).
#[test]
fn a_kernel_gets_through_a_black_hole_by_probing() {
    let silent = ["hop.radio.mtu=\"576 B\"", "hop.radio.icmp=false"];
    let Some(stuck) = play(&[&silent[..], &["run.limit=\"5 s\""]].concat()) else { return };
    assert!(!stuck.ran.complete);
    // The SYN.
    assert!(stuck.facts[0].as_ref().unwrap().info.bytes_acked <= 1);
    let probing = "flow.download.transport.linux.sysctl.tcp_mtu_probing=1";
    let Some(found) = play(&[&silent[..], &["run.limit=\"30 s\"", probing]].concat()) else { return };
    let mss = found.facts[0].as_ref().unwrap().info.snd_mss;
    assert!(found.ran.complete && mss <= 524, "{mss}");
}

/// A loss by the ordinal of a data segment drops that segment of a real stack. The ground truth of its retransmissions
/// is known, and the kernel's variables are recorded (SW-56).
#[test]
fn named_segments_are_lost_and_resent() {
    let Some(outcome) = play(&["hop.radio.loss.noise.packets=\"20-22, 40\""]) else { return };
    let sent = outcome.ran.world.network.records().iter().filter_map(|r| match r.event {
        Event::DataSent { packet, seq, .. } => Some((packet, seq)),
        _ => None,
    });
    let sent: Vec<(u64, u64)> = sent.collect();
    let dropped: Vec<u64> = outcome
        .ran
        .world
        .network
        .records()
        .iter()
        .filter_map(|r| match r.event {
            Event::Dropped { packet, .. } => {
                sent.iter().position(|(p, _)| *p == packet).map(|i| i as u64 + 1)
            }
            _ => None,
        })
        .collect();
    assert_eq!(dropped, [20, 21, 22, 40]);
    let (again, unneeded) =
        (get(&outcome, Metric::SegmentsRetransmitted), get(&outcome, Metric::UnneededRetransmissions));
    // The counts of emulator and kernel are equal, and lost segments equal needed retransmissions.
    assert_eq!(again as u64, u64::from(outcome.facts[0].as_ref().unwrap().info.total_retrans));
    assert_eq!(again - unneeded, 4.0);
    let facts = outcome.facts[0].as_ref().unwrap();
    assert_eq!(facts.counter("TcpRetransSegs"), again as u64);
    let halved = facts.history.windows(2).any(|w| w[1].1.snd_ssthresh < w[0].1.snd_ssthresh);
    assert!(halved && facts.history.iter().any(|(_, info)| info.ca_state == 3), "no recovery was seen");
    assert_eq!(get(&outcome, Metric::PacketsDropped), 4.0);
}

/// With and without segmentation offload the path sees every segment by itself, of the MSS, and a loss drops one.
#[test]
fn every_segment_of_a_large_packet_crosses_by_itself() {
    for offload in [true, false] {
        if let Err(error) = emulate::rights() {
            return eprintln!("skipped: {error}");
        }
        let bytes = "flow.download.app.bulk.bytes=\"2 MB\"";
        let set = ["hop.radio.rate=\"50 Mbit/s\"", "hop.radio.loss.noise.packets=\"40\"", bytes];
        let options = Options { offload, ..options() };
        let outcome = emulate::once(&model(&set), 0, &options, &AtomicBool::new(false)).unwrap();
        assert!(outcome.ran.complete, "{:?}", outcome.facts);
        assert!(offload || !outcome.timing.offload);
        let sent = outcome.ran.world.network.records().iter().filter_map(|r| match r.event {
            Event::DataSent { seq, len, .. } => Some((seq, len)),
            _ => None,
        });
        let sent: Vec<(u64, u32)> = sent.collect();
        let distinct: std::collections::BTreeSet<(u64, u32)> = sent.iter().copied().collect();
        assert_eq!(distinct.iter().map(|(_, len)| u64::from(*len)).sum::<u64>(), 2_000_000);
        assert_eq!(sent.iter().map(|(_, len)| *len).max(), Some(1448));
        let full = distinct.iter().filter(|(_, len)| *len == 1448).count();
        assert!(full >= distinct.len() - 20, "{full} of {} have the MSS", distinct.len());
        assert_eq!(get(&outcome, Metric::PacketsDropped), 1.0);
        let facts = outcome.facts[0].as_ref().unwrap();
        assert_eq!(facts.counter("TcpRetransSegs"), get(&outcome, Metric::SegmentsRetransmitted) as u64);
        // Below the rate from which on segments are joined, the kernel receives each one by itself.
        assert!(facts.to["TcpInSegs"] as usize >= distinct.len(), "{:?}", facts.to);
        let crossings = outcome.capture.as_ref().unwrap().len();
        assert!(crossings >= 2 * sent.len() - 1, "each segment but the lost one crosses two ports");
    }
}

/// Sysctl settings of a flow apply in its namespaces only.
#[test]
fn a_flow_has_its_own_settings() {
    let set = "flow.download.transport.linux.sysctl.tcp_timestamps=0";
    let before = std::fs::read("/proc/sys/net/ipv4/tcp_timestamps").ok();
    let Some(outcome) = play(&[set, "flow.download.transport.linux.mtu=\"576 B\""]) else { return };
    assert_eq!(outcome.facts[0].as_ref().unwrap().info.snd_mss, 536);
    assert_eq!(std::fs::read("/proc/sys/net/ipv4/tcp_timestamps").ok(), before);
    // An option that the kernel lacks is reported by name.
    let never = AtomicBool::new(false);
    let refused = emulate::once(
        &model(&["flow.download.transport.linux.sysctl.tcp_nonsense=1"]),
        0,
        &options(),
        &never,
    );
    assert!(
        matches!(refused, Err(Error::Kernel(netns::Error::Refused { what, .. })) if what.contains("net.ipv4.tcp_nonsense"))
    );
    let refused =
        emulate::once(&model(&["flow.download.transport.linux.cc=\"nonsense\""]), 0, &options(), &never);
    assert!(
        matches!(refused, Err(Error::Kernel(netns::Error::Refused { what, .. })) if what.contains("nonsense"))
    );
}

/// A stopped run ends, and a limit ends an endless run.
#[test]
fn it_ends_when_told_and_at_its_limit() {
    let Some(outcome) = play(&["run.limit=\"400 ms\""]) else { return };
    assert!(!outcome.ran.complete);
    let stopped = emulate::once(
        &model(&["flow.download.app.bulk.bytes=\"100 MB\""]),
        0,
        &options(),
        &AtomicBool::new(true),
    );
    assert!(stopped.is_ok_and(|outcome| !outcome.ran.complete));
}

/// Several flows with different starts (SW-17), kernels and a model, share the link (SW-18).
#[test]
fn kernels_and_a_model_share_a_link() {
    if emulate::rights().is_err() {
        eprintln!("skipped: no rights to make namespaces");
        return;
    }
    let flow = |name: &str, transport: &str| {
        format!(
            "[[flow]]\nname = \"{name}\"\nfrom = \"server\"\nto = \"phone\"\nstart = \"200 ms\"\ntransport = {transport}\n\
             app = {{ bulk = {{ bytes = \"50 kB\" }} }}\n"
        )
    };
    let text = scenario().text() + &flow("reno", "{ linux = { cc = \"reno\" } }") + &flow("model", "\"tcp\"");
    let model = match scenario::read("test.toml", text.as_bytes(), &NoFiles) {
        Ok(scenario) => scenario.first().clone(),
        Err(diagnostics) => panic!("{}", diagnostics.render(scenario::Style::default())),
    };
    let outcome = match emulate::once(&model, 0, &options(), &AtomicBool::new(false)) {
        Ok(outcome) => outcome,
        Err(error) => panic!("{error}"),
    };
    assert!(outcome.ran.complete, "{:?}", outcome.facts);
    let times: Vec<f64> = outcome.ran.flows.iter().filter_map(|f| f.get(Metric::DownloadTime)).collect();
    assert_eq!(times.len(), 3);
    // Together they take the time of 200 kB at 1 Mbit/s.
    assert!(times.iter().any(|t| *t > 1.6), "{times:?}");
    assert_eq!(outcome.facts.iter().filter(|f| f.is_some()).count(), 2);
}
