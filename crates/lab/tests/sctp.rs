//! Tests of SCTP from the scenario file: every workload, several network paths, captures that tshark reads,
//! and the published study.

use lab::capture::capture;
use lab::once::{Options, run_once};
use lab::reproduce::{Laboratory, Settings, list, quiet};
use lab::sweep::SweepControl;
use scenario::Model;
use scenario::metric::Metric;
use std::process::Command;
use std::sync::atomic::AtomicBool;

fn model(flow: &str) -> Model {
    model_with(flow, &[])
}

/// The model of a flow, with parts of the scenario's text replaced.
fn model_with(flow: &str, parts: &[(&str, &str)]) -> Model {
    let text = format!(
        r#"
        williwaw = 1
        [[hop]]
        name = "cellular"
        between = ["server", "phone"]
        rate = "400 kbit/s"
        delay = "150 ms"
        queue = {{ drop-tail = {{ limit = "12 packets" }} }}
        [[hop.loss]]
        name = "errors"
        probability = 0.02
        [[hop]]
        name = "wifi"
        between = ["server", "phone"]
        rate = "2 Mbit/s"
        delay = "20 ms"
        [[flow]]
        name = "f"
        from = "server"
        to = "phone"
        route = ["cellular"]
        way-back = ["cellular"]
        {flow}
        [run]
        repetitions = 1
        limit = "600 s"
        "#
    );
    let text = parts.iter().fold(text, |text, (old, new)| text.replacen(old, new, 1));
    scenario::read("sctp.toml", text.as_bytes(), &scenario::NoFiles).unwrap().first().clone()
}

fn get(model: &Model, metric: Metric) -> Option<f64> {
    let outcome = run_once(model, 0, Options::default());
    let counters = outcome.world.network.counters();
    assert!(outcome.complete, "{metric} of {:?}: it ends", model.flows[0].app);
    assert_eq!(counters.sent, counters.absorbed + counters.dropped, "no packet is lost from the books");
    outcome.flows[0].get(metric)
}

/// SC-01, SC-05: bulk, messages, requests and pages end over one and over two paths.
#[test]
fn every_workload_ends_over_one_path_and_over_two() {
    for paths in ["", "other-routes = [[\"wifi\"]]"] {
        let with = |app: &str| model(&format!("{paths}\napp = {app}\ntransport = \"sctp\""));
        assert!(get(&with("{ bulk = { bytes = \"200 kB\" } }"), Metric::DownloadTime).unwrap() > 4.0);
        let messages = with("{ cbr = { rate = \"64 kbit/s\", packet = \"500 B\", lasts = \"20 s\" } }");
        assert_eq!(get(&messages, Metric::MessagesDelivered), Some(320.0));
        let requests = with("{ request-reply = { request = \"300 B\", reply = \"5 kB\", count = 20 } }");
        assert_eq!(get(&requests, Metric::Responses), Some(20.0));
        let pages = with(
            "{ web = { pages = 3, main = \"5 kB\", objects = 4, object = \"3 kB\", reading = \"1 s\" } }",
        );
        assert_eq!(get(&pages, Metric::Pages), Some(3.0));
    }
}

/// SC-05: silences before a failover count, since a gate of one network path does not stop the other. Over this path alone the time
/// of the gate is left out: what remains is at most the last timeout.
#[test]
fn silences_before_a_failover_count() {
    let silence = |paths: &str| {
        let flow = format!(
            "{paths}\napp = {{ bulk = {{ bytes = \"2 MB\" }} }}\ntransport = {{ sctp = {{ path-max-retransmissions = 2 }} }}"
        );
        let gate =
            "[[hop.gate]]\nname = \"out\"\nstart = \"5 s\"\nlasts = \"20 s\"\nmode = \"drop\"\n[[hop.loss]]";
        let model = model_with(&flow, &[("[[hop.loss]]", gate)]);
        get(&model, Metric::LongestSilence).unwrap()
    };
    let (over_two, alone) = (silence("other-routes = [[\"wifi\"]]"), silence(""));
    println!("longest silence over two paths {over_two:.3} s, over one {alone:.3} s");
    // Timeouts of at least 1 s double: 1, 2 and 4 s before the path counts as lost.
    assert!((3.0..10.0).contains(&over_two), "{over_two}");
    assert!(alone < 20.0, "{alone}");
}

/// Tshark reads every packet without complaint, and its CRC32c is right.
#[test]
fn tshark_reads_what_a_capture_has() {
    let model = model(
        "other-routes = [[\"wifi\"]]\napp = { bulk = { bytes = \"60 kB\" } }\ntransport = { sctp = { ecn = true } }",
    );
    let capture = capture(&model, 0);
    let bytes = capture.write(Vec::new(), None, 0, "test").unwrap();
    let file = std::env::temp_dir().join(format!("williwaw-sctp-{}.pcapng", std::process::id()));
    std::fs::write(&file, bytes).unwrap();
    let fields = [
        "-o",
        "sctp.checksum:crc-32c",
        "-T",
        "fields",
        "-e",
        "frame.number",
        "-e",
        "sctp.checksum.status",
        "-e",
        "_ws.malformed",
    ];
    let out = match Command::new("tshark").arg("-r").arg(&file).args(fields).output() {
        Ok(out) => String::from_utf8(out.stdout).unwrap(),
        Err(error) => return eprintln!("SKIPPED: there is no tshark: {error}"),
    };
    let _ = std::fs::remove_file(&file);
    assert_eq!(out.lines().count(), capture.len());
    for line in out.lines() {
        let mut parts = line.split('\t');
        let (_, status, malformed) = (parts.next(), parts.next(), parts.next());
        assert_eq!((status, malformed.unwrap_or("")), (Some("1"), ""), "{line}");
    }
}

/// SC-07: the experiments of the study, its claims, and the ranks of table I under the module of 2002 and RFC 9260.
#[test]
fn the_study_of_delay_spikes_is_reproduced() {
    let stop = AtomicBool::new(false);
    let control = SweepControl { progress: &quiet, stop: &stop, jobs: 0, shuffle_ties: None, player: None };
    let settings = Settings { seeds: 0, reading_repetitions: 0, pictures: true, ..Settings::default() };
    let mut laboratory = Laboratory::new(settings, &control, "test");
    let mut wrong = Vec::new();
    let mut claims = 0;
    for (id, _) in list().unwrap().iter().filter(|(id, _)| id.starts_with("sctp/")) {
        let r = laboratory.reproduce(id).unwrap();
        claims += r.claims.len();
        for c in &r.claims {
            eprintln!("{} {id} {}: {}", c.id, if c.holds { "holds" } else { "differs" }, c.detail);
            if !c.holds && c.why.is_none() {
                wrong.push(format!("{id} {}: {}", c.id, c.detail));
            }
        }
        for v in r.values.iter().filter(|v| !v.within && v.why.is_none()) {
            wrong.push(format!("{id} {}: {} published, {:.3} measured", v.key, v.published, v.measured));
        }
    }
    assert_eq!(claims, 20);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Segments delivered at every rate, for each figure and sender.
#[test]
#[ignore = "prints a table"]
fn table_of_the_study() {
    let file = |name: &str| {
        let path =
            format!("{}/../../experiments/sctp/{name}-rates.scenario.toml", env!("CARGO_MANIFEST_DIR"));
        std::fs::read_to_string(path).unwrap()
    };
    let (tcp, sctp) = (file("tcp"), file("sctp"));
    let eifel = "timestamps = true\nspurious = \"eifel\"\nresponse = \"restore-1\"";
    for (window, queue, fixed) in [(60, 100_000, false), (20, 100_000, false), (60, 50, true), (20, 13, true)]
    {
        let set = |text: &str| {
            let text = text.replace("limit = \"100000 packets\"", &format!("limit = \"{queue} packets\""));
            text.replace("60 segments", &format!("{window} segments"))
                .replace("window-chunks = 60", &format!("window-chunks = {window}"))
        };
        let reno =
            if fixed { tcp.replace("bug-fix = \"off\"", "bug-fix = \"careful\"") } else { tcp.clone() };
        let senders = [
            ("reno", set(&reno)),
            ("eifel", set(&tcp.replace("timestamps = false", eifel))),
            ("ns2-2002", set(&sctp)),
            ("rfc9260", set(&sctp.replace("ns2-2002", "rfc9260"))),
            ("ns2-2.35", set(&sctp.replace("ns2-2002", "ns2-2.35"))),
        ];
        for (name, text) in senders {
            let scenario = scenario::read("study.toml", text.as_bytes(), &scenario::NoFiles).unwrap();
            let cells = (0..scenario.cell_count().unwrap()).map(|i| {
                let outcome = run_once(&scenario.cell(i).unwrap().model, 0, Options::default());
                let get = |metric| outcome.flows[0].get(metric).unwrap_or(f64::NAN);
                format!("{}/{}", get(Metric::SegmentsDelivered), get(Metric::SpuriousTimeouts))
            });
            println!("{window} {queue} {name}: {}", cells.collect::<Vec<_>>().join(" "));
        }
    }
}
