//! Links with an MTU: fragments and their loss (NS-21), path MTU discovery by ICMP, through black holes and by probes
//! (PR-05), negotiated segment sizes (TB-30), options that stay after a handover (PR-14). Each is compared with
//! arithmetic.

use base::event::Event;
use base::packet::DropReason;
use lab::once::{Options, RunOutcome, run_once};
use scenario::Model;
use scenario::metric::Metric;

fn play(model: &Model) -> RunOutcome {
    let outcome = run_once(model, 0, Options { trace: true, shuffle_ties: None });
    let network = &outcome.world.network;
    assert_eq!(network.bodies() as usize, network.packets_inside(), "bodies are left");
    outcome
}

fn metric(outcome: &RunOutcome, metric: Metric) -> f64 {
    outcome.flows[0].get(metric).unwrap_or(f64::NAN)
}

/// Two hops, the second one, toward the phone, with an MTU.
fn path(tcp: &str, second: &str, bytes: &str) -> Model {
    let text = format!(
        r#"
        williwaw = 1
        [[hop]]
        name = "core"
        between = ["server", "router"]
        rate = "100 Mbit/s"
        delay = "10 ms"
        [[hop]]
        name = "radio"
        between = ["router", "phone"]
        rate = "400 kbit/s"
        delay = "40 ms"
        queue = {{ drop-tail = {{ limit = "200 packets" }} }}
        {second}
        [[flow]]
        name = "download"
        from = "server"
        to = "phone"
        transport = {tcp}
        app = {{ bulk = {{ bytes = "{bytes}" }} }}
        [run]
        limit = "1 h"
        "#
    );
    testkit::model::<&str>(&text, &[])
}

fn tcp(more: &str) -> String {
    format!(
        "{{ tcp = {{ mss = \"1460 B\", timestamps = false, window = \"40 segments\", delayed-ack.timer = \"0 s\" {more} }} }}"
    )
}

/// Bytes that the application has received.
fn delivered(outcome: &RunOutcome) -> f64 {
    host::report(&outcome.world.network, outcome.world.flows[0].to)
        .map_or(f64::NAN, |end| end.received as f64)
}

fn drops(outcome: &RunOutcome, of: DropReason) -> Vec<f64> {
    let when = |r: &base::event::Record| match r.event {
        Event::Dropped { reason, .. } if reason == of => Some(r.t.as_secs_f64()),
        _ => None,
    };
    outcome.world.network.records().iter().filter_map(when).collect()
}

/// Sizes of the segments that were sent, by distinct length.
fn sizes(outcome: &RunOutcome) -> Vec<u32> {
    let mut sizes: Vec<u32> = (outcome.world.network.records().iter())
        .filter_map(|r| match r.event {
            Event::DataSent { len, .. } => Some(len),
            _ => None,
        })
        .collect();
    sizes.dedup();
    sizes
}

/// NS-21: with 576 bytes each packet of 1500 goes in three fragments (552 + 552 + 376 bytes behind headers of 20), 40 bytes
/// more than whole, and the rate of data is that much less.
#[test]
fn fragments_cost_their_headers() {
    let whole = play(&path(&tcp(", path-mtu = \"off\""), "", "1 MB"));
    let cut = play(&path(&tcp(", path-mtu = \"off\""), "mtu = \"576 B\"", "1 MB"));
    let segments = 685.0; // 1 MB in segments of 1460 bytes
    let radio = |outcome: &RunOutcome| outcome.world.network.counters().sent;
    assert_eq!(radio(&cut) - radio(&whole), 685 * 4, "three fragments and the packet put together");
    let slower = metric(&cut, Metric::DownloadTime) - metric(&whole, Metric::DownloadTime);
    let expected = segments * 40.0 * 8.0 / 400e3;
    assert!((slower - expected).abs() < 0.02 * expected, "{slower} {expected}");
    assert!(drops(&cut, DropReason::TooBig).is_empty() && metric(&cut, Metric::SegmentsRetransmitted) == 0.0);
}

/// NS-21: a packet is lost with any of its fragments. Lost with 2 % each, a packet of three is lost with 1 - 0.98^3 = 5.9 %.
#[test]
fn a_lost_fragment_is_a_lost_packet() {
    let loss = "mtu = \"576 B\"\n[[hop.loss]]\nname = \"errors\"\ndirections = \"down\"\nprobability = 0.02";
    let outcome =
        play(&path(&tcp(", path-mtu = \"off\", recovery = \"rfc6675\", sack = true"), loss, "4 MB"));
    let (sent, resent) =
        (metric(&outcome, Metric::SegmentsSent), metric(&outcome, Metric::SegmentsRetransmitted));
    let share = resent / sent;
    // 2740 packets and more: a standard deviation of 0.45 %.
    assert!((share - 0.0588).abs() < 3.0 * 0.0045, "{share}");
    // Fragments of such packets wait a minute for the rest.
    let (lost, late) = (drops(&outcome, DropReason::Loss), drops(&outcome, DropReason::Incomplete));
    assert!(!late.is_empty() && late[0] - lost[0] > 59.0 && late[0] - lost[0] < 61.0, "{lost:?} {late:?}");
}

/// PR-05, RFC 1191: a packet above the MTU is dropped, ICMP reports the MTU, and later segments have 536 bytes. No
/// timeout.
#[test]
fn icmp_lowers_the_segment_size() {
    for recovery in ["reno", "newreno", "sack", "rfc6675", "fack", "rack"] {
        let options = tcp(&format!(", recovery = \"{recovery}\", sack = true"));
        let outcome = play(&path(&options, "mtu = \"576 B\"", "1 MB"));
        let sizes = sizes(&outcome);
        assert_eq!((sizes[0], sizes[1]), (1460, 536), "{recovery}: {sizes:?}");
        assert!(sizes[1..].iter().all(|&len| len <= 536), "{recovery}: {sizes:?}");
        // The initial window was on its way: ten segments.
        assert_eq!(drops(&outcome, DropReason::TooBig).len(), 10, "{recovery}");
        let timeouts = metric(&outcome, Metric::GenuineTimeouts) + metric(&outcome, Metric::SpuriousTimeouts);
        assert_eq!(timeouts, 0.0, "{recovery}");
        // 400 kbit/s carry 536 of 576 bytes.
        let rate = metric(&outcome, Metric::Throughput) / (400e3 * 536.0 / 576.0);
        assert!((0.97..=1.0).contains(&rate), "{recovery}: {rate}");
        // 1 MB takes 1866 segments of 536 bytes; the ten large ones were sent in vain.
        let (goodput, sent) =
            (metric(&outcome, Metric::GoodputRatio), metric(&outcome, Metric::SegmentsSent));
        assert!((goodput - 1866.0 / sent).abs() < 1e-9 && goodput > 0.98, "{recovery}: {goodput} of {sent}");
    }
}

/// PR-05: a router that does not speak is a black hole: nothing ever arrives. RFC 4821 finds a way: after three timeouts
/// segments are smaller, and then single larger ones find the largest that passes, to within 8 bytes.
#[test]
fn a_black_hole_is_found_by_probes() {
    let silent = "mtu = \"1200 B\"\nicmp = false";
    let stuck = play(&path(&tcp(", give-up = \"120 s\""), silent, "1 MB"));
    assert_eq!(delivered(&stuck), 0.0);
    let probing = play(&path(&tcp(", path-mtu = \"probe\""), silent, "1 MB"));
    assert_eq!(delivered(&probing), 1e6);
    let sizes = sizes(&probing);
    let largest = sizes.iter().skip(8).max().copied().unwrap_or(0);
    let used = sizes.iter().rev().nth(1).copied().unwrap_or(0);
    assert!((1160 - 8..=1160).contains(&used) && largest > 1160, "{sizes:?}");
    // RTO of 1, 2, 4 s: the third expiration comes 7 s after the first segment.
    assert!(
        (7.0..20.0).contains(&(metric(&probing, Metric::DownloadTime) - 1e6 * 8.0 / 400e3)),
        "{:?}",
        metric(&probing, Metric::DownloadTime)
    );
}

/// TB-30: the ends tell different sizes, and the smaller one holds in both directions.
#[test]
fn the_smaller_segment_size_holds() {
    let ends = "{ from = { tcp = { mss = \"1460 B\", timestamps = false } }, to = { tcp = { mss = \"536 B\", timestamps = false } } }";
    let outcome = play(&path(ends, "", "100 kB"));
    assert_eq!(sizes(&outcome).into_iter().max(), Some(536));
}

/// PR-14: options negotiated by the SYNs stay. On a slow network the phone opened without window scaling and SACK;
/// after the handover to 20 Mbit/s with 190 ms of round trip its 65535 bytes a round trip are 2.76 Mbit/s, below the
/// link's rate.
#[test]
fn options_stay_after_a_handover() {
    let handover = |phone: &str| {
        let text = format!(
            r#"
            williwaw = 1
            [[hop]]
            name = "radio"
            between = ["server", "phone"]
            rate = "64 kbit/s"
            delay = "95 ms"
            queue = {{ drop-tail = {{ limit = "500 packets" }} }}
            [[state-machine]]
            name = "network"
            [[state-machine.state]]
            name = "gprs"
            lasts = "20 s"
            next = "wlan"
            [[state-machine.state]]
            name = "wlan"
            [[state-machine.state.on]]
            name = "radio"
            rate = "20 Mbit/s"
            [[flow]]
            name = "download"
            from = "server"
            to = "phone"
            transport = {{ from = {{ tcp = {{ window = "1 MB" }} }}, to = {{ tcp = {{ window = "1 MB", {phone} }} }} }}
            app = {{ bulk = {{ lasts = "80 s" }} }}
            [run]
            limit = "200 s"
            "#
        );
        play(&testkit::model::<&str>(&text, &[]))
    };
    let (old, new) = (
        handover("window-scale = false, sack = false, recovery = \"newreno\""),
        handover("window-scale = true"),
    );
    // Sixty seconds in the new network, plus the volume of the old one.
    let most = 60.0 * 65_535.0 / 0.19 + 20.0 * 8_000.0;
    assert!(delivered(&old) < most && delivered(&old) > 0.6 * most, "{} {most}", delivered(&old));
    assert!(delivered(&new) > 3.0 * most, "{}", delivered(&new));
}

/// Two network paths, the first one broken after 10 s, the second one with an MTU.
fn two_paths(sctp: &str, second: &str) -> String {
    let sctp = if sctp.is_empty() { String::new() } else { format!(", {sctp}") };
    format!(
        r#"
        williwaw = 1
        [[hop]]
        name = "first"
        between = ["server", "phone"]
        rate = "400 kbit/s"
        delay = "40 ms"
        [[hop.gate]]
        name = "break"
        at = "before-queue"
        start = "10 s"
        lasts = "1 h"
        [[hop]]
        name = "core"
        between = ["server", "router"]
        rate = "100 Mbit/s"
        delay = "10 ms"
        [[hop]]
        name = "second"
        between = ["router", "phone"]
        rate = "400 kbit/s"
        delay = "40 ms"
        mtu = "1006 B"
        {second}
        [[flow]]
        name = "download"
        from = "server"
        to = "phone"
        route = ["first"]
        other-routes = [["core", "second"]]
        transport = {{ sctp = {{ path-max-retransmissions = 1, window = "20 kB" {sctp} }} }}
        app = {{ bulk = {{ bytes = "2 MB" }} }}
        [run]
        limit = "1 h"
        "#
    )
}

/// Sizes of the packets with data as they were sent, in their order.
fn packets(outcome: &RunOutcome) -> Vec<u32> {
    let records = outcome.world.network.records();
    let id = |r: &base::event::Record| match r.event {
        Event::DataSent { packet, .. } => Some(packet),
        _ => None,
    };
    let mut sent: Vec<u64> = records.iter().filter_map(id).collect();
    sent.dedup();
    let mut sizes = std::collections::BTreeMap::new();
    for record in records {
        if let Event::Enqueued { packet, size, .. } = record.event {
            sizes.entry(packet).or_insert(size);
        }
    }
    sent.iter().filter_map(|packet| sizes.get(packet).copied()).collect()
}

/// PR-05, SC-01, RFC 9260 sections 6.9 and 7.3: a packet above the MTU is dropped, ICMP reports the MTU, and new
/// chunks are smaller. Chunks with TSNs are resent in packets that may be fragmented. No timeout, and the window is
/// not reduced.
#[test]
fn sctp_learns_the_mtu_by_icmp() {
    for profile in ["rfc9260", "rfc4960", "linux-6.x"] {
        let transport = format!("{{ sctp = {{ profile = \"{profile}\", window = \"60 kB\" }} }}");
        let outcome = play(&path(&transport, "mtu = \"576 B\"", "1 MB"));
        let sizes = packets(&outcome);
        let dropped = drops(&outcome, DropReason::TooBig).len();
        let large = sizes.iter().filter(|size| **size > 576).count();
        println!("{profile}: {dropped} dropped, {large} larger than the MTU, {} in all", sizes.len());
        // min(4 packets, max(2 packets, 4404 B)) begin a fourth of 1452 B: four on their way, and the same four again.
        assert_eq!((dropped, large), (4, 8), "{profile}: {sizes:?}");
        assert!(sizes[8..].iter().all(|size| *size <= 576), "{profile}");
        assert_eq!(metric(&outcome, Metric::SegmentsRetransmitted), 4.0, "{profile}");
        let timeouts = metric(&outcome, Metric::GenuineTimeouts) + metric(&outcome, Metric::SpuriousTimeouts);
        assert_eq!((timeouts, delivered(&outcome)), (0.0, 1e6), "{profile}");
        // 400 kbit/s carry 528 of 576 bytes.
        let rate = metric(&outcome, Metric::Throughput) / (400e3 * 528.0 / 576.0);
        assert!((0.96..=1.0).contains(&rate), "{profile}: {rate}");
    }
}

/// NS-21: without path MTU discovery every packet of SCTP is cut up; where a silent router must not, nothing arrives.
#[test]
fn sctp_that_does_not_learn_is_cut_up_or_stuck() {
    let cut = play(&path("{ sctp = { path-mtu = \"off\" } }", "mtu = \"576 B\"", "1 MB"));
    assert!(drops(&cut, DropReason::TooBig).is_empty());
    assert_eq!(delivered(&cut), 1e6);
    assert!(packets(&cut).iter().filter(|size| **size == 1500).count() > 600);
    let stuck = play(&path("{ sctp = {} }", "mtu = \"1200 B\"\nicmp = false", "1 MB"));
    assert_eq!(delivered(&stuck), 0.0);
    assert!(drops(&stuck, DropReason::TooBig).len() > 10);
}

/// PR-05, SC-01, RFC 8899: no router tells. Packets of 1200 bytes pass at once, larger ones are looked for by probes that cost no
/// window and no retransmission.
#[test]
fn sctp_probes_the_path_mtu() {
    let sctp = "{ sctp = { path-mtu = \"probe\", probe-timer = \"1 s\", window = \"60 kB\" } }";
    for (mtu, largest) in [(1500, 1500), (1200, 1200), (1203, 1200), (1400, 1400)] {
        let outcome = play(&path(sctp, &format!("mtu = \"{mtu} B\"\nicmp = false"), "4 MB"));
        let sizes = packets(&outcome);
        let refused = drops(&outcome, DropReason::TooBig).len();
        let from = sizes.iter().position(|size| *size == largest).unwrap_or(usize::MAX);
        let last = sizes.iter().rev().nth(1).copied();
        println!(
            "{mtu} B: packets of {} B, then {largest} B from packet {from}; {refused} probes refused",
            sizes[0]
        );
        assert_eq!((sizes[0], last, sizes.iter().max()), (1200, Some(largest), Some(&largest)), "{mtu}");
        // Three of each size that does not pass, and no data among them.
        assert_eq!(refused % 3, 0, "{mtu}: {refused}");
        assert_eq!(refused == 0, mtu == 1500, "{mtu}");
        assert_eq!(metric(&outcome, Metric::SegmentsRetransmitted), 0.0, "{mtu}");
        let timeouts = metric(&outcome, Metric::GenuineTimeouts) + metric(&outcome, Metric::SpuriousTimeouts);
        assert_eq!((timeouts, delivered(&outcome)), (0.0, 4e6), "{mtu}");
    }
    // Two round trips confirm 1500 bytes, on 90 ms and the packets before them.
    let first = play(&path(sctp, "", "4 MB"));
    let from = packets(&first).iter().position(|size| *size == 1500);
    assert!(from.is_some_and(|from| from < 25), "{from:?}");
}

/// PR-05, RFC 8899 section 5.2: a black hole below the base size. Without probes nothing arrives
/// (`sctp_that_does_not_learn_is_cut_up_or_stuck`). Three probes are lost, 15 s apart or one; the least size leads out.
#[test]
fn sctp_finds_its_way_out_of_a_black_hole() {
    for (timer, stands, bytes) in [(15.0, 45.0, 16e6), (1.0, 3.0, 4e6)] {
        let sctp = format!(
            "{{ sctp = {{ path-mtu = \"probe\", probe-timer = \"{timer} s\", window = \"60 kB\" }} }}"
        );
        let outcome = play(&path(&sctp, "mtu = \"1006 B\"\nicmp = false", &format!("{bytes} B")));
        assert_eq!(delivered(&outcome), bytes);
        let sizes = packets(&outcome);
        let last = sizes.iter().rev().nth(1).copied();
        let took = metric(&outcome, Metric::DownloadTime);
        let ideal = bytes / 956.0 * 1004.0 * 8.0 / 400e3;
        println!(
            "timer {timer} s: {took:.1} s, {ideal:.1} s of packets of 1004 B; the last ones have {last:?}"
        );
        assert_eq!(last, Some(1004));
        assert!((stands..stands + 15.0).contains(&(took - ideal)), "{took} {ideal}");
        // Those that had numbers before went in packets that may be cut up, once the timer of the data expired.
        assert!(sizes.iter().filter(|size| **size > 1004).count() < 20, "{sizes:?}");
    }
}

/// PR-05, RFC 8899 section 4.6: routers that tell make the search short, and the size that they tell is confirmed.
#[test]
fn sctp_probes_and_believes_routers() {
    let sctp = "{ sctp = { path-mtu = \"probe\", window = \"60 kB\" } }";
    for mtu in [576, 1006, 1300] {
        let outcome = play(&path(sctp, &format!("mtu = \"{mtu} B\""), "1 MB"));
        let sizes = packets(&outcome);
        assert_eq!(sizes.iter().rev().nth(1), Some(&(mtu / 4 * 4)), "{sizes:?}");
        let timeouts = metric(&outcome, Metric::GenuineTimeouts) + metric(&outcome, Metric::SpuriousTimeouts);
        assert_eq!((timeouts, delivered(&outcome)), (0.0, 1e6), "{mtu}");
        assert!(metric(&outcome, Metric::DownloadTime) < 1e6 * 8.0 / 400e3 * 1.12 + 1.0, "{mtu}");
    }
}

/// SC-05, PR-05, RFC 8899: the second path is a black hole for packets of the first one. It was probed before the failover, so
/// that no packet of data is lost by its size.
#[test]
fn sctp_probes_each_path() {
    let outcome = play(&testkit::model::<&str>(
        &two_paths("path-mtu = \"probe\", probe-timer = \"1 s\"", "icmp = false"),
        &[],
    ));
    let sizes = packets(&outcome);
    assert_eq!(delivered(&outcome), 2e6);
    assert_eq!(sizes.iter().rev().nth(1), Some(&1004));
    // The base size fails three times, and then sizes between; data of 1004 bytes never do.
    let refused = drops(&outcome, DropReason::TooBig);
    println!(
        "{} packets, {} refused, the last after {:.1} s",
        sizes.len(),
        refused.len(),
        refused.last().unwrap_or(&0.0)
    );
    assert_eq!(refused.len() % 3, 0, "{refused:?}");
    // Chunks are cut for the smaller path before it is used: the second one is active all the time.
    assert!(sizes[sizes.len() / 2..].iter().all(|size| *size <= 1004), "{sizes:?}");
}

/// SC-05, PR-05: each network path has an MTU of its own. The second one is smaller, and is learned after the failover.
#[test]
fn sctp_learns_the_mtu_of_each_path() {
    let outcome = play(&testkit::model::<&str>(&two_paths("", ""), &[]));
    let sizes = packets(&outcome);
    assert_eq!(delivered(&outcome), 2e6);
    let first = sizes.iter().position(|size| *size <= 1006).unwrap_or(0);
    assert!(first > 200, "about 10 s of 400 kbit/s go by the first path: {first}");
    let after = &sizes[first..];
    let larger = after.iter().filter(|size| **size > 1006).count();
    println!("{first} packets of 1500 B, then {} with {larger} larger than 1006 B", after.len());
    // Chunks outstanding on the first path had its size, met the router once, and were fragmented then.
    assert_eq!(larger, 0);
    let refused = drops(&outcome, DropReason::TooBig).len();
    assert!((1..=20_000 / 1452 + 1).contains(&refused), "{refused}");
}

/// NS-21, PR-05: other programs read fragments and ICMP in a capture without complaint.
#[test]
fn captures_show_fragments_and_errors() {
    let told = "icmp.type == 3 && icmp.code == 4 && icmp.mtu == 576";
    let sctp = "{ sctp = {} }".to_owned();
    for (transport, filter, least) in [
        (tcp(", path-mtu = \"off\""), "ip.flags.mf == 1 || ip.frag_offset > 0", 3 * 68 * 3),
        (tcp(""), told, 10),
        (sctp.clone(), told, 4),
        // Of the four chunks that were too large, three fragments each; all others must not be cut up.
        (sctp, "ip.flags.df == 0 && (ip.flags.mf == 1 || ip.frag_offset > 0)", 12),
    ] {
        let model = path(&transport, "mtu = \"576 B\"", "100 kB");
        let file = lab::capture::capture(&model, 0).write(Vec::new(), None, 0, "test").unwrap();
        let path = std::env::temp_dir().join(format!("williwaw-mtu-{}-{least}.pcapng", std::process::id()));
        std::fs::write(&path, &file).unwrap();
        let lines = |arguments: &[&str]| {
            let output =
                std::process::Command::new("tshark").arg("-n").arg("-r").arg(&path).args(arguments).output();
            output.ok().map(|o| String::from_utf8_lossy(&o.stdout).lines().count())
        };
        let Some(found) = lines(&["-Y", filter]) else {
            eprintln!("SKIPPED: tshark is not installed");
            return;
        };
        let wrong = "ip.checksum.status == 0 || icmp.checksum.status == 0 || tcp.checksum.status == 0 || sctp.checksum.status == 0 || _ws.malformed";
        let checks =
            ["-o", "ip.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE", "-o", "sctp.checksum:TRUE"];
        let wrong = lines(&[&checks[..], &["-Y", wrong]].concat());
        assert!(found >= least, "{filter}: {found}");
        assert_eq!(wrong, Some(0), "{filter}");
        let _ = std::fs::remove_file(&path);
    }
}
