//! Tests of slow reading from a kernel's connection: unread data fill the kernel's buffer, its window closes,
//! the sender waits and continues when it opens, as with a native kernel in real time. Needs a kernel for
//! virtual time; without one each test reports this and is skipped.
#![cfg(target_os = "linux")]

mod common;

use base::Span;
use base::wire::{self, flag};
use common::{kernels, model, play};
use scenario::Model;
use scenario::metric::Metric;
use scenario::model::App;
use std::sync::atomic::AtomicBool;
use testkit::Download;
use uml::{KernelOutcome, Options};

/// Size of a receive buffer that does not grow, bytes; it bounds unread data.
const BUFFER: f64 = 32_768.0;
const KERNEL: &str =
    r#"{ linux = { cc = "cubic", sysctl = { tcp_rmem = "4096 32768 32768", tcp_moderate_rcvbuf = 0 } } }"#;
/// Model with an equal receive buffer.
const MODEL: &str = r#"{ tcp = { profile = "linux-6.x", mss = "1448 B", receive-buffer = { start = "32768 B", most = "32768 B" } } }"#;
/// Size of the download, bytes.
const ALL: f64 = 200e3;
/// Rate of a reader, bytes per second.
const RATE: f64 = 50e3;
/// Round-trip time with a packet on the link each way, s.
const TURN: f64 = 0.046;

/// Download over a fast link, with this reading pattern.
fn download(transport: &str, how: &str) -> Model {
    let path = Download::over("4 Mbit/s", "20 ms").drop_tail(100).transport(transport);
    let text = path.bytes("200 kB").bulk(how).limit("1 min").text();
    model(&text, &[])
}

fn get(outcome: &KernelOutcome, metric: Metric) -> f64 {
    outcome.ran.flows[0].get(metric).unwrap_or(f64::NAN)
}

fn run(kernels: &uml::Kernels, transport: &str, how: &str) -> KernelOutcome {
    let outcome = play(kernels, &download(transport, how), 0);
    let faults: Vec<_> = outcome.facts.iter().flatten().flat_map(|facts| &facts.faults).collect();
    assert!(faults.is_empty(), "{faults:?}");
    assert!(outcome.ran.complete, "{transport} with {how}");
    assert_eq!(get(&outcome, Metric::PacketsDropped), 0.0, "{transport} with {how}");
    outcome
}

/// Windows that the reading end advertises: time, bytes.
fn windows(outcome: &KernelOutcome, packet_port: u32) -> Vec<(f64, u32)> {
    let mut file = Vec::new();
    outcome.capture.as_ref().expect("packets").write(&mut file).expect("memory");
    let mut reader = capture::Reader::open(&file[..]).expect("a capture");
    let (mut scale, mut all) = (0, Vec::new());
    while let Some(frame) = reader.next().expect("frames") {
        let tcp = wire::read(frame.bytes).expect("a packet").tcp.expect("TCP");
        if tcp.source != 9 || frame.interface != packet_port {
            continue;
        }
        if tcp.has(flag::SYN) {
            scale = tcp.scale.unwrap_or(0);
            continue;
        }
        all.push((frame.time_ns as f64 / 1e9, u32::from(tcp.window) << scale));
    }
    all
}

/// Reading patterns: name, pause in s, and lower bound of the transfer time in s. A rate limits the part of
/// the data beyond the buffer.
const WAYS: [(&str, f64, f64); 3] = [
    ("read-pause = \"3 s\"", 3.0, 3.0),
    ("read-rate = \"400 kbit/s\"", 0.0, (ALL - BUFFER) / RATE),
    ("read-rate = \"400 kbit/s\", read-pause = \"1 s\"", 1.0, 1.0 + (ALL - BUFFER) / RATE),
];

/// Upper bound of the transfer time, s: at the rate of the reader or, without one, of the link. Each time
/// that the window closed, the reader may find less than its portion of a tenth of a second and wait for a
/// round trip.
fn latest((how, pause, _): (&str, f64, f64), closed: u64) -> f64 {
    let rate = if how.contains("read-rate") { RATE } else { 4e6 / 8.0 * 1448.0 / 1500.0 };
    pause + ALL / rate + closed as f64 * (0.1 + TURN) + 4.0 * TURN
}

/// TB-23: a window that closes and opens again; the duration is the reader's, for any sender; a repeated run has equal
/// bytes.
#[test]
fn what_is_not_read_closes_the_window() {
    let Some(kernels) = kernels() else { return };
    for way @ (how, pause, least) in WAYS {
        for (from, packet_port) in [(KERNEL, 1), (MODEL, 0)] {
            let ends = format!("{{ from = {from}, to = {KERNEL} }}");
            let outcome = run(&kernels, &ends, how);
            let facts = outcome.facts[0].as_ref().expect("a kernel's end");
            let closed = facts.to["TCPToZeroWindowAdv"];
            assert_eq!(facts.to.get("TCPFromZeroWindowAdv"), Some(&closed), "each time it opened again");
            let (took, most) = (get(&outcome, Metric::DownloadTime), latest(way, closed));
            assert!((least..most).contains(&took), "{how}, from {from}: {took} s, not {least} to {most}");
            let offered = windows(&outcome, packet_port);
            let shut = offered.iter().position(|(_, window)| *window == 0).expect("a closed window");
            let (opened, _) = offered[shut..].iter().find(|(_, window)| *window > 0).expect("it opens");
            if !how.contains("read-rate") {
                // The window opens at the time of reading, within the tick of the guest's clock.
                assert!((opened - pause).abs() < 1e-5, "from {from}: opened at {opened} s");
            }
            assert!(run(&kernels, &ends, how).capture == outcome.capture, "a repetition differs from itself");
        }
    }
}

/// TB-23: one application reads a model's connection, a kernel's in virtual time, and one of this machine's kernel
/// in real time, within equal bounds. Kernels differ in the delay of window updates, so times differ by less than the time to read the buffer.
#[test]
fn a_reader_is_as_slow_by_either_clock() {
    let Some(kernels) = kernels() else { return };
    let native = emulate::rights().map_err(|error| eprintln!("skipped in real time: {error}")).is_ok();
    for way @ (how, _, least) in WAYS {
        let virtually = run(&kernels, KERNEL, how);
        let closed = virtually.facts[0].as_ref().expect("a kernel's end").to["TCPToZeroWindowAdv"];
        let took = get(&virtually, Metric::DownloadTime);
        let read_by_model = run(&kernels, &format!("{{ from = {KERNEL}, to = {MODEL} }}"), how);
        let mut others = vec![("a model", get(&read_by_model, Metric::DownloadTime), closed)];
        let options = emulate::Options { lateness_limit: Span::from_millis(30), ..Default::default() };
        let stop = AtomicBool::new(false);
        if native {
            let real = emulate::once(&download(KERNEL, how), 0, &options, &stop).expect("a run in real time");
            if let Some(why) = real.unfaithful(&options) {
                eprintln!("{how}: not compared with real time, which was not faithful: {why}");
            } else {
                let time = real.ran.flows[0].get(Metric::DownloadTime).unwrap_or(f64::NAN);
                let closed = real.facts[0].as_ref().expect("a kernel's end").to["TCPToZeroWindowAdv"];
                others.push(("the kernel of this machine", time, closed));
            }
        }
        for (who, time, closed) in others {
            let most = latest(way, closed);
            assert!((least..most).contains(&time), "{how}: {time} s of {who}, not {least} to {most}");
            assert!((time - took).abs() < BUFFER / RATE, "{how}: {time} s of {who}, {took} s");
        }
    }
}

/// TB-23: bulk data of a given duration, read slowly: the flow ends at its time, and the data received until
/// then are reported.
#[test]
fn data_for_some_time_are_read_slowly_until_it_is_up() {
    let Some(kernels) = kernels() else { return };
    let mut model = download(KERNEL, "read-rate = \"400 kbit/s\"");
    model.flows[0].app = App::Bulk { bytes: None, lasts: Some(Span::from_secs(5)) };
    let outcome = play(&kernels, &model, 0);
    assert!(outcome.ran.complete);
    let came = get(&outcome, Metric::SegmentsDelivered) * 1448.0;
    assert!(came > 4.0 * RATE && came < 5.0 * RATE + BUFFER, "{came} B in 5 s");
}

/// An impossible request is an error before any kernel starts.
#[test]
fn other_sockets_are_not_read_slowly() {
    let Some(kernels) = kernels() else { return };
    for protocol in ["sctp", "mptcp"] {
        let transport = format!("{{ linux = {{ protocol = \"{protocol}\" }} }}");
        let model = download(&transport, "read-pause = \"1 s\"");
        let said = match uml::once(&model, 0, &kernels, &Options::default(), &AtomicBool::new(false)) {
            Ok(_) => panic!("it went well"),
            Err(error) => format!("{error} {}", error.help()),
        };
        assert!(
            said.contains("`download` reads at a pace of its own") && said.contains("read-pause"),
            "{said}"
        );
    }
}
