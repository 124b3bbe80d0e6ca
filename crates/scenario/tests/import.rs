//! The claim: command lines of netem and mahimahi and recordings become equivalent scenarios, as far as possible;
//! notes list the rest. No input makes it panic.

use path::qdisc::{drop_head, drop_tail};
use proptest::prelude::*;
use scenario::import::{Classes, ImportFormat, Imported, access_log, import};
use scenario::model::{App, Capacity, Delay, LinkRate, LossKind, Model, Queue, Timing};
use scenario::{Style, read_with};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

fn imported(text: &str) -> Imported {
    let kind = ImportFormat::of(text).unwrap_or_else(|| panic!("unknown: {text}"));
    import(kind, text).unwrap_or_else(|mistake| panic!("{mistake:?}"))
}

/// Any file is a trace of one packet a millisecond.
fn model(imported: &Imported) -> Model {
    let files = |_: &str| -> Result<Vec<u8>, String> { Ok(b"1\n2\n3\n".to_vec()) };
    match read_with("imported.toml", imported.scenario.as_bytes(), &files, &[]) {
        Ok(scenario) => scenario.first().clone(),
        Err(diagnostics) => panic!("{}\n{}", imported.scenario, diagnostics.render(Style::default())),
    }
}

fn wrong(text: &str) -> String {
    let kind = ImportFormat::of(text).expect("known");
    let mistake = import(kind, text).expect_err(text);
    format!("{}\n  help: {}\n", mistake.message, mistake.help)
}

#[test]
fn netem_says_the_same() {
    let line =
        "tc qdisc add dev eth0 root netem delay 100ms 20ms distribution normal loss 1% rate 1mbit limit 50";
    let imported = imported(line);
    let model = model(&imported);
    let (down, up) = (&model.links[0], &model.links[1]);
    assert_eq!(down.rate, LinkRate::Constant(base::Rate::from_bps(1_000_000)));
    let Delay::PerPacket { dist, reorder: true } = &down.delay else { panic!("{:?}", down.delay) };
    assert_eq!(*dist, base::dist::Dist::Normal(100e6, 20e6));
    assert_eq!(
        down.queue,
        Queue::DropTail(drop_tail::Options { limit: Capacity { packets: Some(50), bytes: None } })
    );
    assert_eq!(model.losses[0].kind, LossKind::Probability(0.01));
    assert_eq!(model.losses[0].links, [0]);
    // The uplink is unlimited.
    assert_eq!(up.delay, Delay::Constant(base::Span::ZERO));
    insta::assert_snapshot!(imported.scenario);
}

/// WL-06: means of request and reply by class of frequency from a proxy's log, without cache hits and huge downloads.
#[test]
fn sizes_of_classes_come_from_a_log() {
    let mut log = String::new();
    let url = format!("http://a/{}", "x".repeat(31));
    // `GET ` and 40 characters are 44 B of the first line.
    for reply in [400, 500, 600, 4_000, 5_000, 6_000, 30_000, 50_000, 100_000] {
        let _ = writeln!(
            log,
            "1066036250.129 345 10.0.0.1 TCP_MISS/200 {reply} GET {url} - DIRECT/1.2.3.4 text/html"
        );
    }
    for line in [
        "TCP_HIT/200 700 GET http://a/ -",
        "TCP_MISS/304 200 GET http://a/ -",
        "TCP_MISS/200 9000000 GET http://a/ -",
        "TCP_MISS/200 900 CONNECT a:443 -",
        "TCP_MISS/404 900 GET http://a/ -",
    ] {
        let _ = writeln!(log, "1066036251.5 5 10.0.0.2 {line} DIRECT/1.2.3.4 text/html");
    }
    let imported = imported(&log);
    let model = model(&imported);
    let sizes: Vec<(String, f64, f64)> = (model.flows.iter())
        .map(|flow| {
            let App::Requests(plan) = &flow.app else { panic!("{:?}", flow.app) };
            (flow.name.clone(), plan.request.mean(), plan.reply.mean())
        })
        .collect();
    let expected = [("small", 284.0, 500.0), ("medium", 284.0, 5_000.0), ("large", 284.0, 60_000.0)];
    assert_eq!(sizes, expected.map(|(name, request, reply)| (name.to_owned(), request, reply)));
    assert_eq!(imported.left_out.len(), 3, "{:?}", imported.left_out);
    assert!(imported.left_out[0].starts_with("2 requests answered by a cache"), "{:?}", imported.left_out);
    // The other two formats, and another number of classes.
    let common = "10.0.0.1 - - [10/Oct/2000:13:55:36 -0700] \"GET /a HTTP/1.0\" 200 2326\n\
                  10.0.0.1 - - [10/Oct/2000:13:55:37 -0700] \"GET /b HTTP/1.0\" 200 10000\n\
                  10.0.0.1 - - [10/Oct/2000:13:55:38 -0700] \"GET /b HTTP/1.0\" 200 -\n";
    let two = access_log(common, Classes { number: 2, largest: 100_000 }).unwrap();
    assert!(two.scenario.contains("request = \"255 B\", reply = \"2326 B\""), "{}", two.scenario);
    let columns =
        "reply_bytes,request_bytes,result\n499,280,MISS\n4758,348,MISS\n5070,539,MISS\n9,9,mem_hit\n";
    let three = access_log(columns, Classes::default()).unwrap();
    assert!(three.scenario.contains("request = \"348 B\", reply = \"4758 B\"") && three.roughly.is_empty());
    let few = access_log(common, Classes { number: 3, largest: 100_000 }).unwrap_err();
    assert!(few.message.contains("2 requests are too few for 3 classes"), "{few:?}");
    assert!(wrong(&format!("{columns}x,y,z\n")).contains("line 6"));
}

/// Units of tc are converted to units of scenarios; two devices are two directions.
#[test]
fn units_and_devices_of_tc() {
    let text = "# both ways\nsudo tc qdisc add dev eth0 root netem delay 1.5s 500000 25%\n\
                sudo tc qdisc replace dev ifb0 root handle 1: netem rate 1mbps loss gemodel 1% 10% 70% 0.1% \\\n  duplicate 3%\n";
    let imported = imported(text);
    let model = model(&imported);
    let Delay::PerPacket { dist, .. } = &model.links[0].delay else { panic!("varies") };
    assert_eq!(*dist, base::dist::Dist::Uniform(1e9, 2e9));
    assert_eq!(model.links[1].rate, LinkRate::Constant(base::Rate::from_bps(8_000_000)));
    let LossKind::PerPacketStates { to_bad, to_good, loss_good, loss_bad } = model.losses[0].kind else {
        panic!("states")
    };
    assert_eq!((to_bad, to_good, loss_good, loss_bad), (0.01, 0.1, 0.001, 0.7));
    assert_eq!(model.losses[0].links, [1]);
    // NS-19: netem's copies keep their share.
    let copies = &model.losses[1];
    assert_eq!(
        (&copies.kind, copies.fate),
        (&LossKind::Probability(0.03), scenario::model::Fate::Duplicated)
    );
    assert_eq!(copies.links, [1]);
    assert!(imported.left_out.iter().any(|note| note.contains("depends on the one before by 25 %")));
    let tbf = self::imported("tc qdisc add dev ppp0 root tbf rate 256kbit burst 4kb latency 500ms");
    let model = self::model(&tbf);
    assert_eq!(model.links[0].rate, LinkRate::Constant(base::Rate::from_bps(256_000)));
    assert_eq!(
        model.links[0].queue,
        Queue::DropTail(drop_tail::Options { limit: Capacity { packets: None, bytes: Some(16_000 + 4096) } })
    );
}

#[test]
fn shells_of_mahimahi_say_the_same() {
    let line = "mm-delay 50 mm-link up.trace 'my down.trace' --uplink-queue=droptail --uplink-queue-args=\"packets=100\" \
                --downlink-queue=drophead --downlink-queue-args=bytes=90000 mm-loss uplink 0.01 mm-onoff downlink 5 0.5 -- curl example.org";
    let imported = imported(line);
    let model = model(&imported);
    assert_eq!(model.links.len(), 8);
    let nodes: Vec<&str> = model.nodes.iter().map(|n| n.name.as_str()).collect();
    assert_eq!(nodes.first(), Some(&"server"));
    assert_eq!(model.links[0].delay, Delay::Constant(base::Span::from_millis(50)));
    let (down, up) = (&model.links[2], &model.links[3]);
    assert_eq!(
        down.queue,
        Queue::DropHead(drop_head::Options { limit: Capacity { packets: None, bytes: Some(90_000) } })
    );
    assert_eq!(
        up.queue,
        Queue::DropTail(drop_tail::Options { limit: Capacity { packets: Some(100), bytes: None } })
    );
    assert!(matches!(down.rate, LinkRate::Schedule(_)));
    assert_eq!(
        (model.losses[0].kind.clone(), model.losses[0].links.clone()),
        (LossKind::Probability(0.01), vec![5])
    );
    assert!(matches!(&model.gates[0].timing, Timing::Every { lasts, .. } if lasts.mean() == 0.5e9));
    // All eight links are on the way.
    assert_eq!(model.flows[0].route.len(), 4);
    insta::assert_snapshot!(imported.scenario);
}

#[test]
fn recordings_become_schedules() {
    let csv = "t_s,rate_kbps_down,rate_kbps_up,delay_ms,loss_percent_down\n10,1000,200,50,0\n11,1000,200,50,0\n12,0,200,80,100\n14,500,-,80,2\n18,500,200,80,2\n";
    let imported = imported(csv);
    let model = model(&imported);
    let LinkRate::Schedule(rates) = &model.links[0].rate else { panic!("a schedule") };
    let steps: Vec<(f64, u64)> = rates.steps.iter().map(|(t, r)| (t.as_secs_f64(), r.bps())).collect();
    assert_eq!(steps, [(0.0, 1_000_000), (2.0, 0), (4.0, 500_000)]);
    assert_eq!(model.links[1].rate, LinkRate::Constant(base::Rate::from_bps(200_000)));
    let Timing::Listed(lost) = &model.gates[0].timing else { panic!("given times") };
    assert_eq!(
        lost.iter().map(|(t, l)| (t.as_secs_f64(), l.as_secs_f64())).collect::<Vec<_>>(),
        [(2.0, 2.0)]
    );
    let LossKind::Probability(p) = model.losses[0].kind else { panic!("a share") };
    assert!((p - 0.02 * 4.0 / 6.0).abs() < 1e-8, "{p}: 2 % for 4 of the 6 seconds that are not lost whole");
    insta::assert_snapshot!(imported.scenario);
}

#[test]
fn mistakes_are_told_with_their_word() {
    let all: String = [
        "tc qdisc add dev eth0 root netem dely 100ms",
        "tc qdisc add dev eth0 root netem delay",
        "tc qdisc add dev eth0 root netem delay fast",
        "tc qdisc add dev eth0 root netem loss 200%",
        "tc qdisc add dev eth0 root fq_codel",
        "tc qdisc show dev eth0",
        "tc qdisc add dev eth0 root tbf burst 10kb",
        "mm-delay",
        "mm-delay soon",
        "mm-link up.trace",
        "mm-link up down --uplink-queue=red",
        "mm-link up down --uplink-queue=droptail",
        "mm-link up down --uplink-queue=droptail --uplink-queue-args=packets=none",
        "mm-loss sideways 0.1",
        "mm-webrecord x",
        "mm-delay 5 'mm-link",
        "rate_bps,delay_ms\n1,2",
        "t_s,colour\n0,1",
        "t_s,rate_bps\n0,fast",
        "t_s,rate_bps\n1,5\n0,5",
        "t_s,rate_bps\n0,0\n1,0",
        "t_s,loss\n0,7",
    ]
    .iter()
    .map(|text| format!("{text}\n  {}", wrong(text)))
    .collect();
    insta::assert_snapshot!(all);
    assert_eq!(ImportFormat::of("hello"), None);
    assert_eq!(ImportFormat::of(""), None);
}

/// Reference data that are not part of the sources.
fn reference(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/cellular-traces").join(name)
}

/// The mean rate of a trace equals its recorded opportunities.
#[test]
fn recorded_opportunities_keep_their_mean() {
    let folder = reference("mahimahi");
    let Ok(down) = std::fs::read_to_string(folder.join("TMobile-UMTS-driving.down")) else {
        eprintln!("skipped: {} is not here", folder.display());
        return;
    };
    let imported = imported("mm-link TMobile-UMTS-driving.up TMobile-UMTS-driving.down");
    let files = |name: &str| std::fs::read(folder.join(name)).map_err(|e| e.to_string());
    let scenario = read_with("imported.toml", imported.scenario.as_bytes(), &files, &[]);
    let scenario = scenario.unwrap_or_else(|d| panic!("{}", d.render(Style::default())));
    let mean = scenario.first().links[0].rate.mean_bps().expect("a rate");
    let times: Vec<f64> = down.lines().filter_map(|line| line.trim().parse().ok()).collect();
    let expected = times.len() as f64 * 1504.0 * 8.0 / (times.last().expect("a trace") / 1000.0);
    assert!((mean / expected - 1.0).abs() < 1e-9, "{mean} for {expected}");
}

/// Recorded drives of phones, if the reference data are installed.
#[test]
fn recorded_drives_are_read_whole() {
    let folder = reference("5g-ucc");
    let Ok(entries) = std::fs::read_dir(&folder) else {
        eprintln!("skipped: {} is not here", folder.display());
        return;
    };
    let mut read = 0;
    for path in
        entries.filter_map(|e| Some(e.ok()?.path())).filter(|p| p.extension().is_some_and(|e| e == "csv"))
    {
        let text = std::fs::read_to_string(&path).expect("a recording");
        let model = model(&imported(&text));
        let LinkRate::Schedule(rates) = &model.links[0].rate else {
            panic!("{}: a schedule", path.display())
        };
        assert!(rates.steps.len() > 50, "{}", path.display());
        // The last rate change is at the last line with a different bitrate.
        let rows = text.lines().skip(1).filter(|line| !line.is_empty()).count() as f64;
        assert!(rates.steps.last().expect("steps").0.as_secs_f64() <= 4.0 * rows, "{}", path.display());
        read += 1;
    }
    assert!(read > 0, "no recording in {}", folder.display());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// Any command line yields a readable scenario or an error.
    #[test]
    fn any_words_are_read_or_refused(
        start in prop_oneof![
            Just("tc qdisc add dev eth0 root netem"), Just("tc qdisc add dev eth0 root tbf"), Just("mm-link a b"),
            Just("mm-delay 10"), Just("t_s,rate_bps,delay_ms,loss\n"), Just(""),
        ],
        words in prop::collection::vec(prop_oneof![
            prop::sample::select(vec![
                "delay", "loss", "rate", "limit", "distribution", "normal", "pareto", "gemodel", "state", "reorder",
                "1ms", "0", "1%", "100%", "1mbit", "7", "1e9", "burst", "10kb", "latency", "mm-loss", "uplink", "0.5",
                "mm-onoff", "--once", "--uplink-queue=codel", "--uplink-queue-args=packets=1", "1,2,3,4\n", "0,0,0,1\n", "'", "\\",
            ]).prop_map(str::to_owned),
            "\\PC{0,6}",
        ], 0..12),
    ) {
        let text = format!("{start} {}", words.join(" "));
        for kind in [ImportFormat::Netem, ImportFormat::Mahimahi, ImportFormat::Recording] {
            match import(kind, &text) {
                Ok(imported) => { model(&imported); }
                Err(mistake) => prop_assert!(!mistake.message.is_empty()),
            }
        }
    }

    /// Delay, rate, loss and limit of a command line are those of the scenario.
    #[test]
    fn plain_netem_is_exact(delay in 0u32..100_000, kbit in 1u32..10_000_000, loss in 0u32..=1000, limit in 1u32..100_000) {
        let text = format!(
            "tc qdisc add dev eth0 root netem delay {delay}us loss {}% rate {kbit}kbit limit {limit}",
            f64::from(loss) / 10.0
        );
        let model = model(&imported(&text));
        prop_assert_eq!(&model.links[0].delay, &Delay::Constant(base::Span::from_nanos(u64::from(delay) * 1000)));
        prop_assert_eq!(&model.links[0].rate, &LinkRate::Constant(base::Rate::from_bps(u64::from(kbit) * 1000)));
        prop_assert_eq!(model.links[0].queue, Queue::DropTail(drop_tail::Options { limit: Capacity { packets: Some(limit), bytes: None } }));
        let shares: Vec<f64> = model.losses.iter().map(|l| match l.kind { LossKind::Probability(p) => p, _ => f64::NAN }).collect();
        let expected: Vec<f64> = (loss > 0).then_some(f64::from(loss) / 1000.0).into_iter().collect();
        prop_assert_eq!(shares.len(), expected.len());
        for (share, expected) in shares.iter().zip(expected) {
            prop_assert!((share - expected).abs() < 1e-9);
        }
    }
}
