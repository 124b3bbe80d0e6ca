//! Kernel flows over IPv6 compared with IPv4: ground truth of losses and retransmissions, and equal workload results.
//! Where the process may not create namespaces, the test reports this and is skipped.
#![cfg(target_os = "linux")]

use base::wire;
use emulate::{EmulationOutcome, Options};
use scenario::NoFiles;
use scenario::metric::Metric;
use std::net::IpAddr;
use std::sync::atomic::AtomicBool;

/// Runs the scenario with the kernel flow over this IP version; None, with a message, where that is not possible.
fn played(ip: u32, linux: &str, app: &str, lost: &str) -> Option<EmulationOutcome> {
    if let Err(error) = emulate::rights() {
        eprintln!("skipped: {error}");
        return None;
    }
    if !std::path::Path::new("/proc/sys/net/ipv6").exists() {
        eprintln!("skipped: this kernel has no version 6 of IP");
        return None;
    }
    let text = format!(
        r#"
        williwaw = 1
        [[hop]]
        name = "radio"
        between = ["server", "phone"]
        rate = "4 Mbit/s"
        delay = "20 ms"
        queue = "unlimited"
        [[hop.loss]]
        name = "noise"
        directions = "down"
        packets = "{lost}"
        [run]
        limit = "20 s"
        [[flow]]
        name = "work"
        from = "server"
        to = "phone"
        start = "100 ms"
        app = {app}
        transport = {{ linux = {{ ip = {ip}, {linux} }} }}
        "#
    );
    let scenario = scenario::read("test.toml", text.as_bytes(), &NoFiles)
        .unwrap_or_else(|d| panic!("{}", d.render(scenario::Style::default())));
    let options = Options { capture: true, ..Options::default() };
    let real = emulate::once(scenario.first(), 0, &options, &AtomicBool::new(false));
    let real = real.unwrap_or_else(|error| panic!("{error}"));
    let faults: Vec<_> = real.facts.iter().flatten().flat_map(|facts| &facts.faults).collect();
    assert!(real.ran.complete && faults.is_empty(), "{faults:?}");
    Some(real)
}

fn get(real: &EmulationOutcome, metric: Metric) -> f64 {
    real.ran.flows[0].get(metric).unwrap_or_else(|| panic!("there is no {metric:?}"))
}

/// Checks that every packet at the packet ports has this IP version and protocol, and does not exceed the MTU.
fn nothing_else(real: &EmulationOutcome, six: bool, protocol: u8, mtu: usize) {
    let capture = real.capture.as_ref().unwrap();
    assert!(capture.len() > 20);
    for (_, t, bytes) in capture.packets() {
        let kind = if six { bytes[6] } else { bytes[9] };
        let to = wire::destination(bytes).unwrap();
        assert_eq!((to.is_ipv6(), kind), (six, protocol), "at {t:?} to {to}");
        assert!(bytes.len() <= mtu && wire::read(bytes).is_ok(), "{} B", bytes.len());
        if let IpAddr::V6(to) = to {
            assert_eq!(to.segments()[..4], [0xfd77, 0x696c, 0x6c69, 0xffff]);
        }
    }
}

/// Seven data segments are lost by ordinal, and both kernels retransmit them. Losses, retransmissions and the absence
/// of unneeded ones are known from sequence numbers in both versions (SW-01, SW-36).
#[test]
fn the_truth_is_known_in_either_version() {
    for ip in [4, 6] {
        let linux = r#"cc = "reno", mtu = "1400 B", sysctl = { tcp_timestamps = 1, "net.ipv6.conf.default.hop_limit" = 33 }"#;
        let Some(real) = played(ip, linux, "{ bulk = { bytes = \"200 kB\" } }", "9-15") else { return };
        nothing_else(&real, ip == 6, 6, 1400);
        let facts = real.facts[0].as_ref().unwrap();
        // Headers of IP and TCP, with timestamps.
        let header = if ip == 6 { 40 } else { 20 };
        assert_eq!(facts.info.snd_mss, 1400 - header - 20 - 12);
        assert_eq!(get(&real, Metric::PacketsDropped), 7.0);
        let resent = get(&real, Metric::SegmentsRetransmitted);
        assert_eq!(resent, facts.counter("TcpRetransSegs") as f64);
        assert_eq!(resent - get(&real, Metric::UnneededRetransmissions), 7.0, "{resent} sent again");
        assert_eq!(facts.info.options & 3, 3, "timestamps and selective acknowledgements");
        let six = facts.counter("Ip6OutRequests");
        assert_eq!(six > 0, ip == 6, "{six} packets of version 6");
        // A sysctl setting of IPv6 applies to IPv6, and is harmless for IPv4.
        if ip == 6 {
            let capture = real.capture.as_ref().unwrap();
            let limits: std::collections::BTreeSet<u8> =
                capture.packets().map(|(.., bytes)| bytes[7]).collect();
            assert_eq!(limits, [33].into());
        }
    }
}

/// Requests over several connections, and datagrams: equal counts in both versions.
#[test]
fn workloads_are_the_same_in_either_version() {
    let pages = "{ web = { pages = 2, main = \"3 kB\", objects = \"3\", object = \"4 kB\", largest = \"9 kB\", request = \"200 B\", reading = \"50 ms\", serve = \"1 ms\", connections = 3, keep = \"page\" } }";
    let voice =
        "{ cbr = { rate = \"64 kbit/s\", packet = \"160 B\", lasts = \"600 ms\", playout = \"200 ms\" } }";
    let cases = [
        ("", pages, 6, &[Metric::Pages, Metric::Responses, Metric::Connections][..]),
        (
            "protocol = \"udp\"",
            voice,
            17,
            &[Metric::MessagesSent, Metric::MessagesDelivered, Metric::LossRatio],
        ),
    ];
    for (linux, app, protocol, counts) in cases {
        let four = played(4, linux, app, "5000");
        let Some((four, six)) = four.zip(played(6, linux, app, "5000")) else { return };
        nothing_else(&six, true, protocol, 1500);
        for metric in counts {
            assert_eq!(get(&four, *metric), get(&six, *metric), "{metric:?}");
        }
    }
}
