//! Test of multihomed SCTP between two kernels in virtual time: the association switches to the second path
//! when the first one breaks, within the bound of RFC 9260 section 8.2 (SC-05). Needs a kernel (`williwaw
//! linux build`, or WILLIWAW_LINUX); without one each test reports this and is skipped.
#![cfg(target_os = "linux")]

mod common;

use base::wire::IpHead;
use common::{kernels, model, play};
use uml::KernelOutcome;

/// The primary path breaks at 8 s.
const SCENARIO: &str = r#"
    williwaw = 1
    [[hop]]
    name = "cellular"
    between = ["server", "phone"]
    rate = "400 kbit/s"
    delay = "50 ms"
    queue = { drop-tail = { limit = "5 packets" } }
    [[hop.gate]]
    name = "broken"
    mode = "drop"
    start = "8 s"
    lasts = "1 h"
    [[hop]]
    name = "wifi"
    between = ["server", "phone"]
    rate = "1 Mbit/s"
    delay = "20 ms"
    queue = { drop-tail = { limit = "20 packets" } }
    [[flow]]
    name = "download"
    from = "server"
    to = "phone"
    route = ["cellular"]
    way-back = ["cellular"]
    other-routes = [["wifi"]]
    transport = { linux = { protocol = "sctp" } }
    app = { bulk = { bytes = "1 MB" } }
    [run]
    limit = "10 min"
"#;

/// Time of the break, s; scenario and capture start at 0.
const BREAK: f64 = 8.0;

/// A chunk that the sender sent: time, whether on the second path, type.
type Sent = (f64, bool, u8);

fn sent(outcome: &KernelOutcome) -> Vec<Sent> {
    let mut file = Vec::new();
    outcome.capture.as_ref().expect("packets").write(&mut file).expect("memory");
    let mut reader = capture::Reader::open(&file[..]).expect("a capture");
    let (mut all, mut first) = (Vec::new(), None);
    while let Some(frame) = reader.next().expect("frames") {
        let t = (frame.time_ns - *first.get_or_insert(frame.time_ns)) as f64 / 1e9;
        let head = IpHead::read(frame.bytes, 0).expect("a packet of IP");
        // Packets to the phone, at the server's packet port.
        if frame.interface != 0 || frame.bytes[19] != 2 {
            continue;
        }
        let second = frame.bytes[18] == 1;
        let (_, chunks) =
            base::wire::sctp::read(&frame.bytes[head.header as usize..]).expect("a packet of SCTP");
        all.extend(chunks.map(|chunk| (t, second, chunk.kind)));
    }
    all
}

const DATA: u8 = 0;
const HEARTBEAT: u8 = 4;

/// SC-05: with Path.Max.Retrans n, timeout number n + 1 makes the path inactive, after an RTO of at least
/// RTO.Min = 1 s doubled n times. From then on new data use the second path, which heartbeats have confirmed.
#[test]
fn two_kernels_go_over_to_the_second_path() {
    let Some(kernels) = kernels() else { return };
    for retransmissions in [1_u32, 2, 3] {
        let sysctl = format!(
            "flow.download.transport.linux.sysctl={{ \"net.sctp.path_max_retrans\" = {retransmissions}, \"net.sctp.pf_enable\" = 0 }}"
        );
        let outcome = play(&kernels, &model(SCENARIO, &[&sysctl]), 0);
        assert!(outcome.ran.complete, "{retransmissions}: {:?}", outcome.facts);
        let all = sent(&outcome);
        let confirmed =
            all.iter().find(|(_, second, kind)| *second && *kind == HEARTBEAT).expect("a heartbeat").0;
        // A retransmission uses another path than the lost chunk (RFC 9260 section 6.4.1), before the break
        // too: the short queue drops packets.
        let beside =
            |from: f64| all.iter().filter(move |(t, second, kind)| *second && *kind == DATA && *t >= from);
        let last = all.iter().rfind(|(_, second, kind)| !*second && *kind == DATA).expect("data").0;
        let over = beside(BREAK).next().expect("data by the second path").0;
        let bound = f64::from(2_u32.pow(retransmissions + 1)) + 0.3;
        println!(
            "Path.Max.Retrans {retransmissions}: heartbeat at {confirmed:.2} s, by the second path from {over:.2} s, the last by the first at {last:.2} s; \
             {} chunks by the second",
            beside(BREAK).count()
        );
        assert!(confirmed < BREAK, "{confirmed}");
        assert!(over - BREAK < bound && last - BREAK < bound, "{over} {last} {bound}");
    }
}

/// Two runs with one seed send equal packets.
#[test]
fn two_paths_are_the_same_every_time() {
    let Some(kernels) = kernels() else { return };
    let [one, two] = [(), ()].map(|()| sent(&play(&kernels, &model(SCENARIO, &[]), 0)));
    assert!(one.len() > 600 && one == two, "{} {}", one.len(), two.len());
}
