//! Test of agreement with ns-2.35: with the profile `ns2-2001` a transfer over a link suspended by delay
//! spikes is equal, packet for packet. `data/ns2/README.md` describes the recordings, `docs/ns2-agreement.md`
//! the settings and the differences.

use base::Time;
use base::event::{Event, Record};
use base::packet::DropReason;
use host::Host;
use lab::once::{Options, RunOutcome, run_once};
use scenario::metric::Metric;
use scenario::{Model, read};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

const MSS: u64 = 1000;
const FLAVOURS: [&str; 3] = ["reno", "newreno", "sack"];
/// Name of a buffer and the packets that wait beside the one in transmission.
const BUFFERS: [(&str, u32); 2] = [("10KB", 9), ("100KB", 100)];

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/ns2")
}

fn text(file: &str) -> String {
    std::fs::read_to_string(data().join(file)).unwrap_or_else(|e| panic!("{file}: {e}"))
}

/// The transfer that was recorded. `more` are further options of the TCP.
fn model(weather: &str, flavour: &str, limit: u32, more: &str) -> Model {
    // Under `fack` stands FACK as its paper has it.
    let flavour = if flavour == "fack" { "fack-ns2" } else { flavour };
    let scenario = format!(
        r#"
        williwaw = 1
        [[hop]]
        name = "radio"
        between = ["server", "phone"]
        rate = "30 kbit/s"
        delay = "300 ms"
        queue = {{ down = {{ drop-tail = {{ limit = "{limit} packets" }} }}, up = {{ drop-tail = {{ limit = "1000 packets" }} }} }}

        [[hop.gate]]
        name = "spikes"
        at = "after-queue"
        directions = "both"
        file = "spikes-{weather}.csv"

        [[flow]]
        name = "download"
        from = "server"
        to = "phone"
        transport = {{ tcp = {{ profile = "ns2-2001", bug-fix = "off", recovery = "{flavour}"{more} }} }}
        app = {{ bulk = {{ bytes = "308 kB" }} }}

        [run]
        limit = "4000 s"
        "#
    );
    let load = |name: &str| std::fs::read(data().join(name)).map_err(|e| e.to_string());
    match read("ns2.toml", scenario.as_bytes(), &load) {
        Ok(scenario) => scenario.first().clone(),
        Err(wrong) => panic!("{}", wrong.render(scenario::Style::default())),
    }
}

/// One repetition as ns-2 prints it. Two agree if all counts are equal and times are within a microsecond.
#[derive(Clone, Copy, Debug)]
struct Run {
    rep: u64,
    time_s: f64,
    segments_sent: u64,
    timeouts: u64,
    drops: u64,
}

impl Run {
    fn agrees(&self, with: &Run) -> bool {
        (self.time_s - with.time_s).abs() <= 1e-6
            && self.segments_sent == with.segments_sent
            && self.timeouts == with.timeouts
            && self.drops == with.drops
    }
}

fn recorded_runs(csv: &str) -> Vec<Run> {
    let row = |line: &str| {
        let mut fields = line.split(',').map(|f| f.parse::<f64>().expect("a number"));
        let mut next = || fields.next().expect("five columns");
        let (rep, time_s) = (next() as u64, next());
        Run { rep, time_s, segments_sent: next() as u64, timeouts: next() as u64, drops: next() as u64 }
    };
    csv.lines().filter(|l| l.starts_with(|c: char| c.is_ascii_digit())).map(row).collect()
}

fn our_run(model: &Model, rep: u64) -> Run {
    let outcome = run_once(model, rep, Options::default());
    assert!(outcome.complete, "repetition {rep} did not end");
    let metric = |m| outcome.flows[0].get(m).expect("measured");
    let host = outcome.world.network.element::<Host>(outcome.world.flows[0].from).expect("a host");
    Run {
        rep,
        time_s: metric(Metric::CompletionTime),
        segments_sent: metric(Metric::SegmentsSent) as u64,
        timeouts: host.counters().expirations,
        drops: outcome.world.network.ledgers()[0].queue_drops,
    }
}

/// Compares all repetitions of one file and says which differ; how many agree.
fn compare_runs(file: &str, model: &Model, say: &mut String) -> (usize, usize) {
    compare_rows(file, &recorded_runs(&text(file)), model, say)
}

fn compare_rows(file: &str, theirs: &[Run], model: &Model, say: &mut String) -> (usize, usize) {
    assert!(!theirs.is_empty(), "{file} is empty");
    let mut differing = String::new();
    let mut agree = 0;
    for their in theirs {
        let our = our_run(model, their.rep);
        if our.agrees(their) {
            agree += 1;
        } else {
            let _ = write!(differing, "\n    ns-2 {their:?}\n    ours {our:?}");
        }
    }
    let _ = writeln!(say, "{file}: {agree} of {} agree{differing}", theirs.len());
    (agree, theirs.len())
}

fn agreement(weather: &str, variant: &str, more: &str) {
    let mut say = String::new();
    let mut differ = 0;
    for flavour in FLAVOURS {
        for (buffer, limit) in BUFFERS {
            let model = model(weather, flavour, limit, more);
            let file = format!("runs-{weather}-{flavour}-{buffer}{variant}.csv");
            let (agree, of) = compare_runs(&file, &model, &mut say);
            differ += of - agree;
        }
    }
    assert_eq!(differ, 0, "{say}");
}

#[test]
fn difficult_weather() {
    agreement("difficult", "", "");
}

#[test]
fn mediocre_weather() {
    agreement("mediocre", "", "");
}

#[test]
fn easy_weather() {
    agreement("easy", "", "");
}

#[test]
fn when_every_sample_ends_the_backoff() {
    agreement("difficult", "-resetrto", ", rto = { backoff-reset = \"sample\" }");
}

#[test]
fn one_spike_and_no_chance() {
    let mut say = String::new();
    for flavour in ["tahoe", "reno", "newreno", "sack"] {
        for (buffer, limit) in BUFFERS {
            let model = model("fixed", flavour, limit, "");
            let (agree, of) = compare_runs(&format!("runs-fixed-{flavour}-{buffer}.csv"), &model, &mut say);
            assert_eq!(agree, of, "{say}");
        }
    }
}

/// FACK, plain and with its rampdown. One repetition in 600 parts from ns-2 (`docs/ns2-agreement.md`).
#[test]
fn fack_as_the_simulator_has_it() {
    let mut say = String::new();
    let mut differ = 0;
    for (weather, more, variant) in [
        ("difficult", "", ""),
        ("mediocre", "", ""),
        ("difficult", ", fack = { rampdown = true }", "-rampdown"),
    ] {
        for (buffer, limit) in BUFFERS {
            let model = model(weather, "fack", limit, more);
            let name = format!("runs-{weather}-fack-{buffer}{variant}.csv");
            let mut theirs = recorded_runs(&text(&name));
            for their in &mut theirs {
                their.timeouts = our_run(&model, their.rep).timeouts; // ns-2 does not count FACK's
            }
            let (agree, of) = compare_rows(&name, &theirs, &model, &mut say);
            differ += of - agree;
        }
    }
    assert!(differ <= 2, "{say}");
}

/// Here no two things that matter fall together, so that no order of ties is part of the agreement.
#[test]
fn the_order_of_ties_does_not_matter() {
    for flavour in FLAVOURS {
        for (_, limit) in BUFFERS {
            let model = model("difficult", flavour, limit, "");
            for rep in 0..30 {
                let by_place = run_once(&model, rep, Options::default());
                for seed in 1..4 {
                    let shuffled = run_once(&model, rep, Options { trace: false, shuffle_ties: Some(seed) });
                    assert_eq!(by_place.flows, shuffled.flows, "{flavour}, {limit}, repetition {rep}");
                }
            }
        }
    }
}

/// Event at the sender: `s` data offered to the queue, `x` refused by it, `a` a cumulative acknowledgement arriving,
/// each with its segment.
type Packet = (f64, char, u64);

fn recorded_packets(csv: &str) -> Vec<Packet> {
    let row = |line: &str| {
        let mut fields = line.split(',');
        let mut next = || fields.next().expect("three columns").to_owned();
        let t = next().parse().expect("a time");
        (t, next().chars().next().expect("a letter"), next().parse().expect("a segment"))
    };
    csv.lines().filter(|l| l.starts_with(|c: char| c.is_ascii_digit())).map(row).collect()
}

/// Events of our run, from its trace, up to the end of the transfer.
fn our_packets(model: &Model, rep: u64) -> Vec<Packet> {
    let mut outcome: RunOutcome = run_once(model, rep, Options { trace: true, shuffle_ties: None });
    let end = outcome.flows[0].get(Metric::CompletionTime).expect("complete");
    let end = Time::from_secs_f64(end);
    let records: Vec<Record> = outcome.world.network.tracer().take();
    let sender = outcome.world.flows[0].from.0;
    let down = outcome.world.names.iter().position(|n| n == "radio.down").expect("the link") as u32;
    let mut segment_of = std::collections::BTreeMap::new();
    let mut packets = Vec::new();
    for Record { t, source, event } in records.into_iter().filter(|r| r.t <= end) {
        let t = t.as_secs_f64();
        match event {
            Event::DataSent { packet, seq, .. } if source.0 == sender => {
                let segment = (seq - 1) / MSS + 1;
                segment_of.insert(packet, segment);
                packets.push((t, 's', segment));
            }
            // A packet at the queue that brought no data is the SYN.
            Event::Enqueued { packet, .. } if source.0 == down && !segment_of.contains_key(&packet) => {
                packets.push((t, 's', 0));
            }
            Event::Dropped { packet, reason: DropReason::QueueFull, .. } if source.0 == down => {
                packets.push((t, 'x', segment_of[&packet]));
            }
            Event::AckReceived { ack, .. } if source.0 == sender => {
                packets.push((t, 'a', ack.saturating_sub(1) / MSS));
            }
            _ => {}
        }
    }
    packets
}

/// First difference of two traces, if any. Each kind is compared in its order, times within a microsecond: events
/// further apart are then in equal order across kinds too.
fn parting(theirs: &[Packet], ours: &[Packet]) -> Option<String> {
    ['s', 'x', 'a'].into_iter().find_map(|kind| {
        let of = |all: &[Packet]| all.iter().filter(|p| p.1 == kind).copied().collect::<Vec<_>>();
        let (theirs, ours) = (of(theirs), of(ours));
        let same = |(a, b): (&Packet, &Packet)| a.2 == b.2 && (a.0 - b.0).abs() <= 1e-6;
        let n = theirs.iter().zip(&ours).take_while(|pair| same(*pair)).count();
        let differs = n < theirs.len() || n < ours.len();
        differs
            .then(|| format!("`{kind}` number {}: ns-2 {:?}, ours {:?}", n + 1, theirs.get(n), ours.get(n)))
    })
}

#[test]
fn packet_for_packet() {
    let mut files: Vec<String> = std::fs::read_dir(data())
        .expect("the recorded data")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .filter(|name| name.starts_with("packets-"))
        .collect();
    files.sort();
    assert!(files.len() >= 26, "traces are missing: {files:?}");
    let mut wrong = String::new();
    for file in files {
        // packets-WEATHER-FLAVOUR-BUFFER[-repN].csv
        let parts: Vec<&str> = file.trim_end_matches(".csv").split('-').collect();
        let rep = parts.get(4).map_or(0, |r| r.trim_start_matches("rep").parse().expect("a repetition"));
        let limit = BUFFERS.iter().find(|b| b.0 == parts[3]).expect("a buffer").1;
        let theirs = recorded_packets(&text(&file));
        let ours = our_packets(&model(parts[1], parts[2], limit, ""), rep);
        assert!(theirs.len() > 600, "{file} is short");
        if let Some(at) = parting(&theirs, &ours) {
            let _ = writeln!(wrong, "{file}: {at}");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// The recordings could be out of date; where ns-2 is installed a few are made anew, of repetitions
/// and a weather whose packets were not recorded.
#[test]
fn packet_for_packet_live() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../peers/ns2/transfer.tcl");
    let probe = Command::new("ns").arg("/dev/null").output();
    if !probe.is_ok_and(|p| p.status.success()) {
        eprintln!("SKIPPED: ns-2 is not installed (Debian package ns2); only the recordings were compared");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let mut wrong = String::new();
    for (weather, flavour, (buffer, limit), rep) in [
        ("difficult", "tahoe", BUFFERS[0], 12),
        ("difficult", "reno", BUFFERS[0], 57),
        ("difficult", "newreno", BUFFERS[0], 3),
        ("difficult", "newreno", BUFFERS[1], 31),
        ("difficult", "sack", BUFFERS[0], 52),
        ("difficult", "sack", BUFFERS[1], 41),
        ("mediocre", "sack", BUFFERS[0], 61),
        ("easy", "newreno", BUFFERS[0], 91),
        ("difficult", "fack", BUFFERS[0], 0),
        ("mediocre", "fack", BUFFERS[0], 25),
        ("difficult", "fack", BUFFERS[1], 8),
    ] {
        let trace = folder.path().join("packets.csv");
        let run = Command::new("ns")
            .arg(&script)
            .args([format!("flavour={flavour}"), format!("limit={limit}"), format!("first={rep}")])
            .arg(format!("spikes={}", data().join(format!("spikes-{weather}.csv")).display()))
            .arg(format!("trace={}", trace.display()))
            .output()
            .expect("ns runs");
        assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
        let model = model(weather, flavour, limit, "");
        let theirs = recorded_packets(&std::fs::read_to_string(&trace).expect("its trace"));
        let row = recorded_runs(&String::from_utf8_lossy(&run.stdout))[0];
        let mut our = our_run(&model, rep);
        if flavour == "fack" {
            our.timeouts = 0; // it does not count them
        }
        if let Some(at) = parting(&theirs, &our_packets(&model, rep)) {
            let _ = writeln!(wrong, "{weather} {flavour} {buffer} {rep}: {at}");
        }
        if !our.agrees(&row) {
            let _ = writeln!(wrong, "{weather} {flavour} {buffer}: ns-2 {row:?}, ours {our:?}");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
