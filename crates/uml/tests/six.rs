//! Tests of IPv6 between kernels in virtual time and with models: as IPv4, with 20 B more of headers. Needs a kernel
//! for virtual time; without one each test reports this and is skipped.
#![cfg(target_os = "linux")]

mod common;

use base::wire::checksum::Sum;
use base::wire::{IpHead, TCP};
use common::{SPIKE, kernels, model, play};
use scenario::metric::Metric;
use uml::KernelOutcome;

const PATH: &str = "flow.download.transport";
const QUIET: [&str; 2] = ["hop.radio.queue.drop-tail.limit=100 packets", "hop.radio.gate.spike.lasts=0 s"];

fn get(outcome: &KernelOutcome, metric: Metric) -> f64 {
    outcome.ran.flows[0].get(metric).unwrap_or(f64::NAN)
}

fn run(kernels: &uml::Kernels, transport: &str, set: &[&str]) -> KernelOutcome {
    let transport = format!("{PATH}={transport}");
    let set: Vec<&str> = std::iter::once(transport.as_str()).chain(set.iter().copied()).collect();
    let outcome = play(kernels, &model(SPIKE, &set), 0);
    let faults: Vec<_> = outcome.facts.iter().flatten().flat_map(|facts| &facts.faults).collect();
    assert!(faults.is_empty() && outcome.ran.complete, "{transport}: {faults:?}");
    outcome
}

/// Checks that all packets are TCP over IPv6 with valid checksums.
fn only_the_flow(outcome: &KernelOutcome) {
    let mut file = Vec::new();
    outcome.capture.as_ref().expect("packets").write(&mut file).expect("memory");
    let mut reader = capture::Reader::open(&file[..]).expect("a capture");
    let mut packets = 0;
    while let Some(frame) = reader.next().expect("frames") {
        let ip = IpHead::read(frame.bytes, 0).expect("a packet of IP");
        assert_eq!((ip.version, ip.protocol), (6, TCP));
        let inside = &frame.bytes[ip.header as usize..];
        let sum = Sum::ZERO.and_pseudo(ip.source, ip.destination, TCP, inside.len() as u32).and(inside);
        assert_eq!(sum.finish(), 0, "a wrong checksum");
        packets += 1;
    }
    assert!(packets > 100);
}

/// The link is busy from the first data to the last, so the transfer time follows from the bytes: 72 B of
/// headers and options in each packet, 1428 B of data. Kernels at both ends, or a model at one.
#[test]
fn a_download_takes_what_its_bytes_take() {
    let Some(kernels) = kernels() else { return };
    let kernel = "{ linux = { ip = 6, cc = \"cubic\" } }";
    let packets = (200e3_f64 / 1428.0).ceil();
    // The handshake crosses the path twice, with 80 B each; the data once.
    let least = 0.9 + 2.0 * 80.0 * 8.0 / 30e3 + (200e3 + packets * 72.0) * 8.0 / 30e3;
    for transport in [
        kernel.to_owned(),
        format!("{{ from = \"tcp\", to = {kernel} }}"),
        format!("{{ from = {kernel}, to = {{ tcp = {{ profile = \"linux-6.x\" }} }} }}"),
    ] {
        // The first window may be sent before the first ACK is back: RTT 0.6 s, ten packets of 0.4 s.
        let outcome = run(&kernels, &transport, &QUIET);
        let took = get(&outcome, Metric::DownloadTime);
        assert!((least..least + 0.4).contains(&took), "{transport}: {took} s, {least} s at least");
        assert_eq!(get(&outcome, Metric::SegmentsSent), packets, "{transport}");
        only_the_flow(&outcome);
        assert!(
            run(&kernels, &transport, &QUIET).capture == outcome.capture,
            "{transport}: not the same twice"
        );
    }
}

/// With both IP versions the timeouts of an outage are detected as spurious.
#[test]
fn a_pause_is_judged_as_over_version_4() {
    let Some(kernels) = kernels() else { return };
    let set = [QUIET[0], "hop.radio.gate.spike.start=11 s", "hop.radio.gate.spike.lasts=20 s"];
    let names = ["TCPTimeouts", "TCPSpuriousRTOs", "TCPLossUndo"];
    let verdict = |ip: u8| {
        let transport = format!(
            "{{ linux = {{ ip = {ip}, cc = \"cubic\", sysctl = {{ tcp_rmem = \"4096 16384 16384\" }} }} }}"
        );
        let outcome = run(&kernels, &transport, &set);
        let facts = outcome.facts[0].clone().expect("a kernel's flow");
        (names.map(|name| facts.counter(name)), facts.undone())
    };
    let (six, four) = (verdict(6), verdict(4));
    assert_eq!(six, four, "{names:?}");
    assert!(six.0[0] > 0 && six.1, "{six:?}: no timeout that was taken back");
}

/// Web pages over several connections.
#[test]
fn pages_come_over_version_6() {
    let Some(kernels) = kernels() else { return };
    let app = "flow.download.app={ web = { pages = 3, connections = 3, reading = \"1 s\" } }";
    let outcome =
        run(&kernels, "{ linux = { ip = 6 } }", &["hop.radio.rate=1 Mbit/s", QUIET[0], QUIET[1], app]);
    assert_eq!(get(&outcome, Metric::Pages), 3.0);
    only_the_flow(&outcome);
}

/// IPv6 arrivals have counters of their own: as many packets and bytes as crossed the packet port towards
/// each kernel.
#[test]
fn the_counters_of_version_6_are_told() {
    let Some(kernels) = kernels() else { return };
    let outcome = run(&kernels, "{ linux = { ip = 6, cc = \"cubic\" } }", &QUIET);
    let mut file = Vec::new();
    outcome.capture.as_ref().expect("packets").write(&mut file).expect("memory");
    let mut reader = capture::Reader::open(&file[..]).expect("a capture");
    let mut came = [[0; 2]; 2];
    while let Some(frame) = reader.next().expect("frames") {
        let tcp = base::wire::read(frame.bytes).expect("a packet").tcp.expect("TCP");
        let to_reader = tcp.destination == 9;
        if to_reader == (frame.interface == 1) {
            let [packets, bytes] = &mut came[usize::from(to_reader)];
            (*packets, *bytes) = (*packets + 1, *bytes + frame.bytes.len() as u64);
        }
    }
    let facts = outcome.facts[0].as_ref().expect("a kernel's flow");
    for (counters, came) in [&facts.from, &facts.to].into_iter().zip(came) {
        assert_eq!(["Ip6InReceives", "Ip6InOctets"].map(|name| counters[name]), came);
    }
    let four = play(&kernels, &model(SPIKE, &QUIET), 0);
    let facts = four.facts[0].as_ref().expect("a kernel's flow");
    assert_eq!((facts.from.get("Ip6InReceives"), facts.from["IpInReceives"] > 0), (None, true));
}
