//! Tests of large packets of kernels in virtual time: packets are as large as the node's `mtu` allows, up to
//! the maximum of IP. Needs a kernel for virtual time; without one each test reports this and is skipped.
#![cfg(target_os = "linux")]

mod common;

use base::wire::{self, flag};
use common::{has, kernels, kernels_for_programs, model, play};
use scenario::metric::Metric;
use uml::{KernelOutcome, Kernels};

/// Rate of the link, bit/s.
const RATE: f64 = 10e6;
/// Propagation delay of the link, s.
const DELAY: f64 = 0.005;
/// Size of a transfer, bytes.
const ALL: f64 = 2e6;

fn run(kernels: &Kernels, transport: &str, app: &str) -> KernelOutcome {
    let text = format!(
        r#"
        williwaw = 1
        [[hop]]
        name = "lan"
        between = ["server", "phone"]
        rate = "10 Mbit/s"
        delay = "5 ms"
        [[flow]]
        name = "talk"
        from = "server"
        to = "phone"
        transport = {transport}
        app = {app}
        [run]
        limit = "1 min"
        "#
    );
    let outcome = play(kernels, &model(&text, &[]), 0);
    let faults: Vec<_> = outcome.facts.iter().flatten().flat_map(|facts| &facts.faults).collect();
    assert!(faults.is_empty() && outcome.ran.complete, "{transport}: {faults:?}");
    outcome
}

fn get(outcome: &KernelOutcome, metric: Metric) -> f64 {
    outcome.ran.flows[0].get(metric).unwrap_or(f64::NAN)
}

/// Sizes of all packets, MSS options of all SYNs, and whether any packet is a fragment.
fn sizes(outcome: &KernelOutcome) -> (Vec<usize>, Vec<u16>, bool) {
    let mut file = Vec::new();
    outcome.capture.as_ref().expect("packets").write(&mut file).expect("memory");
    let mut reader = capture::Reader::open(&file[..]).expect("a capture");
    let (mut sizes, mut offered, mut fragments) = (Vec::new(), Vec::new(), false);
    while let Some(frame) = reader.next().expect("frames") {
        sizes.push(frame.bytes.len());
        let four = frame.bytes[0] >> 4 == 4;
        // More Fragments flag or fragment offset (RFC 791 section 3.1).
        fragments |= four && (frame.bytes[6] & 0x3f != 0 || frame.bytes[7] != 0);
        let tcp = wire::read(frame.bytes).expect("a packet").tcp;
        offered.extend(tcp.filter(|tcp| tcp.has(flag::SYN)).and_then(|tcp| tcp.mss));
    }
    (sizes, offered, fragments)
}

/// Segments are as large as both ends accept, and the link is busy from the first to the last.
#[test]
fn segments_are_as_large_as_packets_may_be() {
    let Some(kernels) = kernels() else { return };
    let kernel =
        |mtu: u32, more: &str| format!("{{ linux = {{ cc = \"cubic\", mtu = \"{mtu} B\"{more} }} }}");
    let of_model = "{ tcp = { profile = \"linux-6.x\", mss = \"8960 B\" } }";
    let ends = |from: &str, to: &str| format!("{{ from = {from}, to = {to} }}");
    for (transport, mtu, header) in [
        (kernel(1501, ""), 1501, 52),
        (kernel(9000, ""), 9000, 52),
        (kernel(65_535, ""), 65_535, 52),
        (kernel(9000, ", ip = 6"), 9000, 72),
        (kernel(9000, ", modem = \"20 Mbit/s\""), 9000, 52),
        (ends(&kernel(9000, ""), &kernel(1500, "")), 1500, 52),
        (ends(&kernel(1500, ""), &kernel(9000, "")), 1500, 52),
        (ends(&kernel(9000, ""), of_model), 9000, 52),
        (ends(of_model, &kernel(9000, "")), 9000, 52),
    ] {
        let outcome = run(&kernels, &transport, "{ bulk = { bytes = \"2 MB\" } }");
        let (sizes, _, fragments) = sizes(&outcome);
        assert_eq!((sizes.iter().max(), fragments), (Some(&(mtu as usize)), false), "{transport}");
        let payload = f64::from(mtu - header);
        let packets = (ALL / payload).ceil();
        let least = 3.0 * DELAY + (ALL + packets * f64::from(header)) * 8.0 / RATE;
        // A modem adds the transmission time of the first packet; the window opens over some round trips, in
        // each of which the link may idle, and a model acknowledges every second packet.
        let turn = 2.0 * DELAY + 3.0 * f64::from(mtu) * 8.0 / RATE;
        let took = get(&outcome, Metric::DownloadTime);
        assert!((least..least + 4.0 * turn).contains(&took), "{transport}: {took} s, {least} s at least");
        // There is no loss. If the window is one or two packets, a kernel without an ACK for this time sends
        // a loss probe.
        let probes = outcome.facts[0].as_ref().expect("a kernel's end").counter("TCPLossProbes");
        assert_eq!(get(&outcome, Metric::PacketsDropped), 0.0, "{transport}");
        assert!(get(&outcome, Metric::SegmentsRetransmitted) <= probes as f64, "{transport}");
    }
}

/// A kernel's message is one packet where it fits, and is fragmented for a smaller MTU.
#[test]
fn datagrams_are_as_large_as_packets_may_be() {
    let Some(kernels) = kernels() else { return };
    let app = "{ cbr = { rate = \"320 kbit/s\", packet = \"8000 B\", lasts = \"2 s\" } }";
    let outcome = run(&kernels, "{ linux = { protocol = \"udp\", mtu = \"9000 B\" } }", app);
    let (all, _, fragments) = sizes(&outcome);
    assert!(all.iter().all(|size| *size == 8028) && !fragments, "{all:?}");
    assert_eq!(
        (all.len(), get(&outcome, Metric::MessagesDelivered)),
        (20, 10.0),
        "each at both packet ports"
    );
    let delay = DELAY + 8028.0 * 8.0 / RATE;
    assert!((get(&outcome, Metric::MessageDelay) - delay).abs() < 1e-4);
}

/// Two runs have equal bytes, and SYNs offer the MSS of the network card.
#[test]
fn large_packets_are_the_same_every_time() {
    let Some(kernels) = kernels() else { return };
    for mtu in [9000u16, 65_535] {
        let once = || {
            let transport = format!("{{ linux = {{ cc = \"bbr\", mtu = \"{mtu} B\" }} }}");
            run(&kernels, &transport, "{ bulk = { bytes = \"2 MB\" } }")
        };
        let first = once();
        assert_eq!(sizes(&first).1, [mtu - 40; 4]);
        assert!(once().capture == first.capture, "{mtu} B: a repetition differs from itself");
    }
}

/// Programs at nodes with different MTUs: the node with the smaller MTU receives the larger packets of its
/// peer.
#[test]
fn programs_send_large_packets() {
    let Some(kernels) = kernels_for_programs() else { return };
    if !has("python3") {
        return;
    }
    let text = r#"
        williwaw = 1
        [[node]]
        name = "server"
        linux = { mtu = "9000 B" }
        [[hop]]
        name = "lan"
        between = ["server", "phone"]
        rate = "10 Mbit/s"
        delay = "5 ms"
        [[command]]
        name = "hears"
        at = "phone"
        serves = true
        run = '''exec /usr/bin/python3 -c 'import socket
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        s.bind(("", 7))
        for _ in range(2): print(len(s.recv(65535)), flush=True)' '''
        [[command]]
        name = "says"
        at = "server"
        run = '''/usr/bin/python3 -c 'import socket
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        for n in (8000, 20000): s.sendto(bytes(n), ("phone", 7))'
        sleep 1'''
        [run]
        limit = "10 s"
    "#;
    let text = text
        .replace("import socket\n        s =", "import socket\ns =")
        .replace("\n        s.bind", "\ns.bind");
    let text = text.replace("\n        for", "\nfor");
    let outcome = play(&kernels, &model(&text, &[]), 0);
    let wrote =
        outcome.commands.iter().map(|c| c.wrote.clone().map(|b| String::from_utf8_lossy(&b).into_owned()));
    let wrote: Vec<_> = wrote.collect();
    assert_eq!(wrote[0][0], "8000\n20000\n", "{wrote:?}");
    let (all, _, fragments) = sizes(&outcome);
    assert!(all.contains(&8028) && fragments, "{all:?}");
}
