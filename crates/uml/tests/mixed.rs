//! Tests of flows with a model at one end and a real kernel at the other: both exchange bytes, agree on
//! options, and behave as with a peer of their own kind. Needs a kernel for virtual time; without one each
//! test reports this and is skipped.
#![cfg(target_os = "linux")]

mod common;

use base::wire::checksum::Sum;
use base::wire::{self, IpHead, TCP, TcpHead, flag};
use common::{SPIKE, kernels, model, play};
use scenario::metric::Metric;
use uml::KernelOutcome;

const PATH: &str = "flow.download.transport";
/// Transport of a model end: the profile of this kernel.
const MODEL: &str = "{ tcp = { profile = \"linux-6.x\" } }";
/// Transport of a kernel end.
const KERNEL: &str = "{ linux = { cc = \"cubic\" } }";
/// Neither outage nor loss.
const QUIET: [&str; 2] = ["hop.radio.queue.drop-tail.limit=100 packets", "hop.radio.gate.spike.lasts=0 s"];
/// Transmission time of a packet of 1500 B at 30 kbit/s, s.
const PACKET: f64 = 1500.0 * 8.0 / 30e3;

fn get(outcome: &KernelOutcome, metric: Metric) -> f64 {
    outcome.ran.flows[0].get(metric).unwrap_or(f64::NAN)
}

/// A flow between these ends.
fn run(kernels: &uml::Kernels, from: &str, to: &str, set: &[&str]) -> KernelOutcome {
    let ends = format!("{PATH}={{ from = {from}, to = {to} }}");
    let set: Vec<&str> = std::iter::once(ends.as_str()).chain(set.iter().copied()).collect();
    let outcome = play(kernels, &model(SPIKE, &set), 0);
    let faults: Vec<_> = outcome.facts.iter().flatten().flat_map(|facts| &facts.faults).collect();
    assert!(faults.is_empty(), "{faults:?}");
    assert!(outcome.ran.complete, "{from} to {to} with {set:?}");
    outcome
}

/// A captured packet: tap, time, header.
struct Seen {
    tap: u32,
    t: f64,
    tcp: TcpHead,
    payload: u32,
}

/// All packets of a capture, with checksums verified.
fn packets(outcome: &KernelOutcome) -> Vec<Seen> {
    let mut file = Vec::new();
    outcome.capture.as_ref().expect("packets").write(&mut file).expect("memory");
    let mut reader = capture::Reader::open(&file[..]).expect("a capture");
    let mut all = Vec::new();
    while let Some(frame) = reader.next().expect("frames") {
        let ip = IpHead::read(frame.bytes, 0).expect("a packet of IP");
        let inside = &frame.bytes[ip.header as usize..];
        let sum = Sum::ZERO.and_pseudo(ip.source, ip.destination, TCP, inside.len() as u32).and(inside);
        assert_eq!(sum.finish(), 0, "a wrong checksum of TCP");
        if ip.version == 4 {
            assert_eq!(Sum::ZERO.and(&frame.bytes[..20]).finish(), 0, "a wrong checksum of IP");
        }
        let digest = wire::read(frame.bytes).expect("a packet");
        let (t, tap) = (frame.time_ns as f64 / 1e9, frame.interface);
        all.push(Seen { tap, t, tcp: digest.tcp.expect("TCP"), payload: digest.payload });
    }
    all
}

/// Data segments at the opening end: stream offset, length, time.
fn data(outcome: &KernelOutcome, tap: u32) -> Vec<(u32, u32, f64)> {
    let all = packets(outcome);
    let from_here = |seen: &&Seen| seen.tap == tap && seen.tcp.destination == 9;
    let syn = all.iter().filter(from_here).find(|seen| seen.tcp.has(flag::SYN)).expect("a SYN");
    let offset = |seen: &Seen| (seen.tcp.seq.wrapping_sub(syn.tcp.seq), seen.payload, seen.t);
    all.iter().filter(from_here).filter(|seen| seen.payload > 0).map(offset).collect()
}

/// A model's transfer to a kernel takes as long as to a model: the link is busy from the first data to the
/// last. The difference is in the start (length of the SYNs) and in one ACK at the end.
#[test]
fn a_model_sends_to_a_kernel_as_to_a_model() {
    let Some(kernels) = kernels() else { return };
    let mixed = run(&kernels, MODEL, "\"linux\"", &QUIET);
    let alone = ["tcp.profile=linux-6.x", "tcp.mss=1448 B"].map(|option| format!("{PATH}.{option}"));
    let set: Vec<&str> = QUIET.into_iter().chain(alone.iter().map(String::as_str)).collect();
    let alone = lab::run_once(&model(SPIKE, &set), 0, lab::once::Options::default());
    let (took, takes) =
        (get(&mixed, Metric::DownloadTime), alone.flows[0].get(Metric::DownloadTime).unwrap());
    // 139 packets, the last one short.
    let least = 0.6 + (200e3 + 139.0 * 52.0) * 8.0 / 30e3 + 0.3;
    assert!(took > least && (took - takes).abs() < PACKET, "{took} s, between models {takes} s");
    assert_eq!(get(&mixed, Metric::SegmentsSent), 139.0);
    assert_eq!(get(&mixed, Metric::SegmentsRetransmitted), 0.0);
    // Counters that only a model has are reported for it, beside the kernel's counters.
    assert_eq!(get(&mixed, Metric::GenuineTimeouts), 0.0);
    let facts = mixed.facts[0].as_ref().expect("a kernel's end");
    assert!(facts.from.is_empty() && !facts.to.contains_key("TcpInErrs"), "{:?}", facts.to);
    assert!(facts.to["TcpInSegs"] > 139, "{:?}", facts.to);
}

/// A kernel sends to a model as to a kernel; packet times differ by less than the transmission time of a
/// packet.
#[test]
fn a_kernel_sends_to_a_model_as_to_a_kernel() {
    let Some(kernels) = kernels() else { return };
    let mixed = data(&run(&kernels, KERNEL, MODEL, &QUIET), 0);
    let real = data(&run(&kernels, KERNEL, KERNEL, &QUIET), 0);
    assert_eq!((mixed.len(), real.len()), (139, 139));
    for (a, b) in mixed.iter().zip(&real) {
        assert_eq!((a.0, a.1), (b.0, b.1), "at {} s", a.2);
        assert!((a.2 - b.2).abs() <= PACKET, "offset {}: {} s to a model, {} s to a kernel", a.0, a.2, b.2);
    }
}

/// Runs with one seed have equal bytes at both ends; another repetition has others.
#[test]
fn a_mixed_flow_is_the_same_byte_for_byte() {
    let Some(kernels) = kernels() else { return };
    for (from, to) in [(MODEL, KERNEL), (KERNEL, MODEL)] {
        let first = run(&kernels, from, to, &[]);
        assert!(run(&kernels, from, to, &[]).capture == first.capture, "a repetition differs from itself");
        let taps: std::collections::BTreeSet<u32> = packets(&first).iter().map(|seen| seen.tap).collect();
        assert_eq!(taps.len(), 2, "both ends are captured");
        let ends = format!("{PATH}={{ from = {from}, to = {to} }}");
        assert!(play(&kernels, &model(SPIKE, &[&ends]), 1).capture != first.capture);
    }
}

/// SW-56: outage of ten seconds. The sending kernel's counters do not depend on the receiver: a kernel with a
/// small buffer, or a model with an equal window.
#[test]
fn a_kernels_verdict_does_not_hang_on_who_receives() {
    let Some(kernels) = kernels() else { return };
    let base = [
        "hop.radio.queue.drop-tail.limit=100 packets",
        "hop.radio.gate.spike.start=11 s",
        "flow.download.app.bulk.bytes=120 kB",
    ];
    let names = ["TcpRetransSegs", "TCPTimeouts", "TCPSpuriousRTOs", "TCPLossUndo", "TCPLossProbes"];
    for [sack, frto, stamps] in [[1, 0, 1], [1, 2, 0], [1, 2, 1], [0, 0, 1], [0, 2, 0]] {
        let own = format!("tcp_sack = {sack}, tcp_frto = {frto}, tcp_timestamps = {stamps}");
        let sender = format!("{{ linux = {{ cc = \"cubic\", mtu = \"576 B\", sysctl = {{ {own} }} }} }}");
        let kernel = "{ linux = { mtu = \"576 B\", sysctl = { tcp_rmem = \"4096 16384 16384\" } } }";
        let model = "{ tcp = { profile = \"linux-6.x\", mss = \"524 B\", window = \"7104 B\" } }";
        let counted = |to: &str| {
            let outcome = run(&kernels, &sender, to, &base);
            let facts = outcome.facts[0].clone().expect("a kernel's end");
            (names.map(|name| facts.counter(name)), get(&outcome, Metric::UnneededRetransmissions))
        };
        let (to_kernel, to_model) = (counted(kernel), counted(model));
        assert_eq!(to_model, to_kernel, "sack {sack} frto {frto} timestamps {stamps}: {names:?}");
        assert_eq!(to_model.0[1], 1, "one timeout");
    }
}

/// A kernel reports duplicates (RFC 2883), and from the report the model detects that its timeout was
/// spurious.
#[test]
fn a_duplicate_report_of_a_kernel_reaches_the_model() {
    let Some(kernels) = kernels() else { return };
    let pause = ["hop.radio.queue.drop-tail.limit=100 packets", "hop.radio.gate.spike.start=11 s"];
    let sender = "{ tcp = { profile = \"rfc\", timestamps = false, sack = \"on\", spurious = \"dsack\", window = \"8 kB\" } }";
    let outcome =
        run(&kernels, sender, "{ linux = { sysctl = { tcp_rmem = \"4096 16384 16384\" } } }", &pause);
    let facts = outcome.facts[0].as_ref().expect("a kernel's end");
    assert!(facts.to["TCPDSACKOldSent"] > 0, "{:?}", facts.to);
    assert_eq!(get(&outcome, Metric::SpuriousTimeouts), 1.0, "what the ledger knows");
    assert_eq!(get(&outcome, Metric::TimeoutsJudgedSpurious), 1.0, "what the model found");
}

/// The model does not use options that the kernel does not offer, and vice versa.
#[test]
fn both_ends_agree_on_options() {
    let Some(kernels) = kernels() else { return };
    let kernel = |own: &str| format!("{{ linux = {{ sysctl = {{ {own} }} }} }}");
    let plain = kernel("tcp_sack = 0, tcp_timestamps = 0, tcp_window_scaling = 0");
    let small = "{ tcp = { profile = \"linux-6.x\", mss = \"500 B\", timestamps = false, sack = \"off\", recovery = \"newreno\" } }";
    // At this rate the first reply arrives within a second.
    let losses = ["hop.radio.rate=1 Mbit/s", "hop.radio.gate.spike.lasts=0 s"];
    for (from, to) in [(MODEL, &*plain), (&*plain, MODEL), (small, KERNEL), (KERNEL, small)] {
        let all = packets(&run(&kernels, from, to, &losses));
        let syns: Vec<_> = all.iter().filter(|seen| seen.tcp.has(flag::SYN)).collect();
        // Each SYN is captured at both ends.
        assert_eq!(syns.len(), 4, "{from} to {to}");
        assert!(syns.iter().all(|seen| seen.tcp.mss.is_some()));
        let stamped =
            all.iter().filter(|seen| seen.tcp.timestamps.is_some() && !seen.tcp.has(flag::SYN)).count();
        let reports = all.iter().filter(|seen| !seen.tcp.blocks().is_empty()).count();
        assert_eq!((stamped, reports), (0, 0), "{from} to {to}");
        // A SYN-ACK has only options of the SYN.
        let answer = syns.iter().find(|seen| seen.tcp.has(flag::ACK)).unwrap().tcp;
        assert!(answer.timestamps.is_none() && !answer.permits_sack, "{from} to {to}");
        let largest = all.iter().map(|seen| seen.payload).max();
        let mss = if from == small || to == small { 500 } else { 1460 };
        assert_eq!(largest, Some(mss), "{from} to {to}");
    }
}

/// A reader that stops closes its window; the kernel sends window probes, gets replies, and continues when
/// the window opens.
#[test]
fn a_closed_window_of_a_model_is_probed_by_a_kernel() {
    let Some(kernels) = kernels() else { return };
    let reads = "flow.download.app={ bulk = { bytes = \"100 kB\", read-pause = \"40 s\" } }";
    let small = "{ tcp = { profile = \"linux-6.x\", window = \"16 kB\" } }";
    let outcome = run(&kernels, KERNEL, small, &[QUIET[0], QUIET[1], reads]);
    let facts = outcome.facts[0].as_ref().expect("a kernel's end");
    assert!(facts.counter("TCPWinProbe") > 0, "{:?}", facts.from);
    assert!(get(&outcome, Metric::DownloadTime) > 40.0);
    assert_eq!(get(&outcome, Metric::SegmentsRetransmitted), 0.0);
}

/// SW-18, EG-18: flows of pages and of messages with a kernel's connections at one end and a model's at the
/// other; both ends count the same.
#[test]
fn pages_are_asked_of_a_kernel_by_a_model_and_the_other_way_round() {
    let Some(kernels) = kernels() else { return };
    let app = "flow.download.app={ web = { pages = 3, connections = 3, reading = \"1 s\" } }";
    let set = ["hop.radio.rate=1 Mbit/s", QUIET[0], QUIET[1], app];
    let mut saw = Vec::new();
    for (from, to) in [(MODEL, KERNEL), (KERNEL, MODEL), (KERNEL, KERNEL)] {
        let outcome = run(&kernels, from, to, &set);
        let names = [Metric::Pages, Metric::Responses, Metric::Connections, Metric::PacketsDropped];
        saw.push((names.map(|metric| get(&outcome, metric)), get(&outcome, Metric::PageTime)));
    }
    assert_eq!((saw[0].0, saw[1].0), (saw[2].0, saw[2].0));
    assert_eq!(saw[0].0[0], 3.0);
    let time = saw[2].1;
    assert!(saw.iter().all(|(_, t)| (t - time).abs() < 0.1 * time), "{saw:?}");
}
