//! Tests of two real kernels in virtual time against recorded runs in real time, and of repeatability. Needs
//! a kernel for virtual time (`williwaw linux build`, or WILLIWAW_LINUX); without one each test reports this
//! and is skipped.
#![cfg(target_os = "linux")]

mod common;

use common::{SPIKE, kernels, model, play};
use netns::facts::FlowFacts;
use scenario::metric::Metric;
use std::sync::atomic::AtomicBool;
use uml::{KernelOutcome, Options};

fn get(outcome: &KernelOutcome, metric: Metric) -> f64 {
    outcome.ran.flows[0].get(metric).unwrap_or(f64::NAN)
}

fn facts(outcome: &KernelOutcome) -> &FlowFacts {
    let facts = outcome.facts[0].as_ref().expect("a kernel's flow");
    assert!(facts.faults.is_empty(), "{:?}", facts.faults);
    facts
}

/// Three runs each of `williwaw emulate` with Linux 6.18, HZ 250, took 66.7387 s and 66.3609 s, each within 0.1 ms,
/// with these counters.
#[test]
fn a_spike_takes_as_long_as_in_real_time() {
    let Some(kernels) = kernels() else { return };
    for (cc, native, counts) in [("cubic", 66.7387, [31, 1, 0, 0, 27]), ("reno", 66.3609, [12, 1, 1, 1, 11])]
    {
        let path = format!("flow.download.transport.linux.cc={cc}");
        let outcome = play(&kernels, &model(SPIKE, &[&path]), 0);
        let took = get(&outcome, Metric::DownloadTime);
        assert!((took - native).abs() < 0.010, "{cc}: {took} s");
        let names = ["TcpRetransSegs", "TCPTimeouts", "TCPLossUndo", "TCPLossProbes", "TCPFastRetrans"];
        assert_eq!(names.map(|name| facts(&outcome).counter(name)), counts, "{cc}");
        assert_eq!(
            get(&outcome, Metric::SegmentsRetransmitted),
            counts[0] as f64,
            "{cc}: counts at the packet port"
        );
        assert!(outcome.ran.complete);
    }
}

/// PR-05: a kernel in virtual time receives the ICMP error "fragmentation needed" and sends smaller segments;
/// behind a silent router the transfer stalls until the kernel probes (`tcp_mtu_probing`, RFC 4821).
#[test]
fn a_kernel_learns_the_path_mtu() {
    let Some(kernels) = kernels() else { return };
    let narrow = ["hop.radio.mtu=576 B", "hop.radio.gate.spike.start=900 s"];
    let outcome = play(&kernels, &model(SPIKE, &narrow), 0);
    assert!(outcome.ran.complete && facts(&outcome).info.snd_mss == 524, "{}", facts(&outcome).info.snd_mss);
    let silent = [&narrow[..], &["hop.radio.icmp=false", "run.limit=200 s"]].concat();
    let stuck = play(&kernels, &model(SPIKE, &silent), 0);
    assert!(!stuck.ran.complete, "a black hole lets nothing through");
    let probing = [&silent[..], &["flow.download.transport.linux.sysctl.tcp_mtu_probing=1"]].concat();
    let found = play(&kernels, &model(SPIKE, &probing), 0);
    let mss = facts(&found).info.snd_mss;
    assert!(found.ran.complete && mss <= 524, "{mss}");
}

/// Runs with one seed have equal bytes; another repetition has other random numbers.
#[test]
fn a_repetition_is_the_same_byte_for_byte() {
    let Some(kernels) = kernels() else { return };
    let model = model(SPIKE, &["flow.download.transport.linux.cc=bbr"]);
    let bytes = |repetition| {
        let mut file = Vec::new();
        let outcome = play(&kernels, &model, repetition);
        outcome.capture.expect("packets").write(&mut file).expect("memory");
        file
    };
    let first = bytes(0);
    assert!(first.len() > 100_000);
    // Concurrent runs, so that the scheduler of the machine varies their order.
    std::thread::scope(|scope| {
        let others: Vec<_> = (0..8).map(|_| scope.spawn(|| bytes(0))).collect();
        for other in others {
            assert!(other.join().expect("a run") == first, "a repetition differs from itself");
        }
    });
    assert!(bytes(1) != first, "another repetition has the same random numbers");
}

/// SW-56: counters of native kernels (22 runs in real time) after an outage of ten seconds without loss,
/// judged by F-RTO, by timestamps, by both or by neither.
#[test]
fn the_kernels_verdict_on_a_spurious_timeout_is_the_native_one() {
    let Some(kernels) = kernels() else { return };
    let base = [
        "hop.radio.queue.drop-tail.limit=100 packets",
        "hop.radio.gate.spike.start=11 s",
        "flow.download.app.bulk.bytes=120 kB",
        "flow.download.transport.linux.mtu=576 B",
        "flow.download.transport.linux.sysctl.tcp_rmem=4096 16384 16384",
    ];
    // SACK, F-RTO, timestamps; minimum and maximum of retransmissions; TCPTimeouts, TCPSpuriousRTOs,
    // TCPLossUndo, TCPDSACKUndo.
    let cases = [
        ([1, 0, 0], (14, 15), [1, 0, 0]),
        ([1, 0, 1], (2, 2), [1, 0, 1]),
        ([1, 2, 0], (2, 2), [1, 1, 1]),
        ([1, 2, 1], (2, 2), [1, 0, 1]),
        ([0, 0, 0], (13, 14), [1, 0, 0]),
        ([0, 0, 1], (1, 1), [1, 0, 1]),
        ([0, 2, 0], (1, 1), [1, 1, 1]),
    ];
    for ([sack, frto, stamps], (least, most), counts) in cases {
        let own = [("tcp_sack", sack), ("tcp_frto", frto), ("tcp_timestamps", stamps)]
            .map(|(name, value)| format!("flow.download.transport.linux.sysctl.{name}={value}"));
        let set: Vec<&str> = base.into_iter().chain(own.iter().map(String::as_str)).collect();
        let outcome = play(&kernels, &model(SPIKE, &set), 0);
        let facts = facts(&outcome);
        let again = facts.counter("TcpRetransSegs");
        assert!((least..=most).contains(&again), "sack {sack} frto {frto} timestamps {stamps}: {again}");
        let found = ["TCPTimeouts", "TCPSpuriousRTOs", "TCPLossUndo"].map(|name| facts.counter(name));
        assert_eq!(found, counts, "sack {sack} frto {frto} timestamps {stamps}");
        // Nothing was lost, so every retransmission was unneeded; so the ledger of the packet ports must say.
        assert_eq!(get(&outcome, Metric::UnneededRetransmissions), again as f64);
        assert_eq!(get(&outcome, Metric::PacketsDropped), 0.0);
    }
}

/// A model's flow shares the link with a kernel's flow.
#[test]
fn a_kernel_and_a_model_share_a_link() {
    let Some(kernels) = kernels() else { return };
    let text = SPIKE.replace(
        "[run]",
        "[[flow]]\nname = \"other\"\nfrom = \"server\"\nto = \"phone\"\ntransport = \"tcp\"\napp = { bulk = { bytes = \"50 kB\" } }\n[run]",
    );
    let outcome = play(&kernels, &model(&text, &[]), 0);
    assert!(outcome.ran.complete);
    let alone = play(&kernels, &model(SPIKE, &[]), 0);
    assert!(get(&outcome, Metric::DownloadTime) > get(&alone, Metric::DownloadTime) + 10.0);
    assert!(outcome.ran.flows[1].get(Metric::DownloadTime).is_some_and(|t| t > 20.0));
    assert!(outcome.facts[1].is_none());
}

/// Samples of the sending kernel's `TCP_INFO` over time.
#[test]
fn the_kernel_is_looked_at_as_it_goes() {
    let Some(kernels) = kernels() else { return };
    let options = Options { look: Some(base::Span::from_millis(100)), ..Options::default() };
    let model = model(SPIKE, &[]);
    let outcome = uml::once(&model, 0, &kernels, &options, &AtomicBool::new(false)).expect("a run");
    let facts = facts(&outcome);
    assert!(facts.history.len() > 50, "{}", facts.history.len());
    assert!(facts.history.is_sorted_by(|a, b| a.0 < b.0));
    assert!(facts.history.iter().any(|(_, info)| info.ca_state == 4), "no timeout was seen");
    assert_eq!(facts.info.total_retrans, 31);
}

/// A run that reaches its limit reports its counters until then.
#[test]
fn time_is_up_before_the_work_is_done() {
    let Some(kernels) = kernels() else { return };
    let outcome = play(&kernels, &model(SPIKE, &["run.limit=25 s"]), 0);
    assert!(!outcome.ran.complete);
    assert_eq!(outcome.ran.flows[0].get(Metric::DownloadTime), None);
    assert!(facts(&outcome).counter("TcpRetransSegs") > 0);
    let delivered = get(&outcome, Metric::SegmentsDelivered);
    assert!((30.0..60.0).contains(&delivered), "{delivered}");
}

/// An error message of the kernel is reported as it is.
#[test]
fn a_kernel_without_it_says_so() {
    let Some(kernels) = kernels() else { return };
    let refused = |set: &str| {
        let stop = AtomicBool::new(false);
        match uml::once(&model(SPIKE, &[set]), 0, &kernels, &Options::default(), &stop) {
            Ok(_) => panic!("it went well"),
            Err(error) => error.to_string(),
        }
    };
    let said = refused("flow.download.transport.linux.cc=nosuch");
    assert!(said.contains("using the congestion control nosuch: No such file"), "{said}");
    let said = refused("flow.download.transport.linux.sysctl={ tcp_nosuch = 1 }");
    assert!(said.contains("setting net/ipv4/tcp_nosuch: No such file"), "{said}");
    let said = refused("flow.download.transport.linux.kernel=nosuch");
    assert!(said.contains("there is no kernel `nosuch`"), "{said}");
}
