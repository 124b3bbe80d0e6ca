//! Every output option of every verb with scenarios of commands alone, of datagrams alone and of both beside TCP: a
//! result, or one error with a remedy. Where the process may not make namespaces, the real-time part is skipped aloud.

mod common;

use common::{Desk, Ended};

const PATH: &str = r#"
    williwaw = 1
    title = "outputs"
    [[hop]]
    name = "radio"
    between = ["server", "phone"]
    rate = "1 Mbit/s"
    delay = "20 ms"
    queue = { drop-tail = { limit = "10 packets" } }
    [run]
    limit = "5 s"
"#;
const COMMAND: &str = r#"
    [[command]]
    name = "wait"
    at = "phone"
    run = "sleep 0.1"
"#;
const DATAGRAMS: &str = r#"
    [[flow]]
    name = "voice"
    from = "server"
    to = "phone"
    transport = "udp"
    app = { cbr = { rate = "200 kbit/s", packet = "500 B", lasts = "400 ms" } }
"#;
const DOWNLOAD: &str = r#"
    [[flow]]
    name = "download"
    from = "server"
    to = "phone"
    app = { bulk = { bytes = "20 kB" } }
"#;

const KINDS: [(&str, &[&str]); 4] = [
    ("commands", &[COMMAND]),
    ("datagrams", &[DATAGRAMS]),
    ("mixed", &[DATAGRAMS, DOWNLOAD]),
    ("all", &[DATAGRAMS, COMMAND, DOWNLOAD]),
];

fn desk() -> Desk {
    let desk = Desk::new();
    for (kind, parts) in KINDS {
        desk.write(&format!("{kind}.toml"), &format!("{PATH}{}", parts.concat()));
    }
    desk
}

/// Asserts that there is no panic, and that an error has a remedy.
fn sound(ended: &Ended, what: &str) {
    assert!(!ended.err.contains("panicked"), "{what}: {}", ended.err);
    assert!([0, 2, 3, 4].contains(&ended.code), "{what}: {}\n{}", ended.code, ended.err);
    if ended.code == 2 || ended.code == 3 {
        assert!(ended.err.contains("help:"), "{what}: {}", ended.err);
    }
}

#[test]
fn virtual_time_answers_every_output_option() {
    let desk = desk();
    for (kind, parts) in KINDS {
        let file = format!("{kind}.toml");
        let kernels = parts.contains(&COMMAND);
        let out = format!("{kind}.run");
        for (i, options) in [
            &["--no-out"][..],
            &["--json", "--no-out", "--flows", "--metrics", "all"],
            &["--csv", "x.csv", "--no-out"],
            &["--report"],
            &["--pcap=0"],
            &["--xplot=all"],
            &["--events"],
            &["--series=all"],
        ]
        .iter()
        .enumerate()
        {
            let mut args = vec!["run", &file, "--reps", "1"];
            let folder = format!("{out}{i}");
            if !options.contains(&"--no-out") {
                args.extend(["--out", &folder]);
            }
            args.extend(*options);
            let ended = desk.run(&args);
            sound(&ended, &args.join(" "));
            // Commands run in kernels of virtual time, where one has been built.
            let possible: &[i32] = match options.first() {
                // A kernel has no event log.
                Some(&"--events" | &"--series=all") if kernels => &[2],
                _ if kernels => &[0, 3],
                _ => &[0],
            };
            assert!(possible.contains(&ended.code), "{}: {}", args.join(" "), ended.err);
        }
        for options in [
            &["-o", "p.svg", "-o", "p.html", "-o", "p.xplot"][..],
            &["--json"],
            &["--layers-out", "l.csv", "-o", "p.svg"],
            &["--flow", "nothing"],
        ] {
            let mut args = vec!["plot", &file];
            args.extend(options);
            sound(&desk.run(&args), &args.join(" "));
        }
        for options in [&[][..], &["--json"]] {
            let mut args = vec!["check", &file];
            args.extend(options);
            let ended = desk.run(&args);
            assert_eq!(ended.code, 0, "{}: {}", args.join(" "), ended.err);
            assert_eq!(ended.out.contains("sleep 0.1"), kernels, "{}", ended.out);
        }
        for options in [&["--json"][..], &["--report", "c.html"]] {
            let mut args = vec!["compare", &file, &file, "--reps", "2"];
            args.extend(options);
            sound(&desk.run(&args), &args.join(" "));
        }
    }
}

/// Outputs requested for some repetitions are sorted and complete: events as in `--pcap`, samples that end where the
/// metrics do.
#[test]
fn events_and_series_are_written_on_request() {
    let desk = Desk::new();
    let args = ["run", "small.toml", "--out", "kept", "--events=1,3", "--series=2", "--json"];
    let ended = desk.run(&args);
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert!(ended.err.contains("rows in kept/events.parquet"), "{}", ended.err);
    let (columns, rows) = read(&desk.path("kept/events.parquet"));
    assert_eq!(columns[..5], ["cell", "repetition", "t_s", "at", "event"]);
    let mut asked: Vec<_> = rows.iter().map(|row| (row[0].clone(), row[1].clone())).collect();
    asked.dedup();
    let cells = ["0", "1", "2", "3"];
    let expected: Vec<_> =
        cells.iter().flat_map(|cell| ["1", "3"].map(|rep| ((*cell).to_owned(), rep.to_owned()))).collect();
    assert_eq!(asked, expected);
    // The tables agree with the metrics: retransmissions, timeouts, window at the end.
    let flows = results::parquet::read_flows(&desk.path("kept/flows.parquet")).unwrap();
    let at = |name: &str| flows.0.columns.iter().position(|column| column.name == name).unwrap();
    let event = columns.iter().position(|name| name == "event").unwrap();
    for row in flows.1.iter().filter(|row| [1, 3].contains(&row.repetition)) {
        let of = |event_name: &str| {
            let mine = |line: &&Vec<String>| {
                line[0] == row.cell.to_string()
                    && line[1] == row.repetition.to_string()
                    && line[event] == format!("\"{event_name}\"")
            };
            rows.iter().filter(mine).count() as f64
        };
        assert_eq!(Some(of("transport:data_sent")), row.values[at("segments_sent")]);
        let timeouts = [at("spurious_timeouts"), at("genuine_timeouts")].map(|at| row.values[at].unwrap());
        assert_eq!(of("transport:rto_fired"), timeouts.iter().sum::<f64>());
    }
    let (columns, rows) = read(&desk.path("kept/series.parquet"));
    assert_eq!(columns, ["cell", "repetition", "t_s", "series", "subject", "value"]);
    assert!(rows.iter().all(|row| row[1] == "2"));
    let known: std::collections::BTreeSet<_> = rows.iter().map(|row| row[3].as_str()).collect();
    assert!(known.contains("\"cwnd_bytes\"") && known.contains("\"queue_packets\""), "{known:?}");
    let refused = desk.run(&["run", "small.toml", "--out", "other", "--events=5"]);
    assert_eq!(refused.code, 2);
    assert!(refused.err.contains("--events requests repetition 5, but the run has 5"), "{}", refused.err);
}

/// Names of the columns and the rows of a Parquet file, each value as it is printed.
fn read(path: &std::path::Path) -> (Vec<String>, Vec<Vec<String>>) {
    use parquet::file::reader::{FileReader as _, SerializedFileReader};
    let reader = SerializedFileReader::new(std::fs::File::open(path).unwrap()).unwrap();
    let schema = reader.metadata().file_metadata().schema_descr();
    let columns = schema.columns().iter().map(|column| column.name().to_owned()).collect();
    let rows = reader.get_row_iter(None).unwrap();
    let rows = rows.map(|row| row.unwrap().get_column_iter().map(|(_, field)| field.to_string()).collect());
    (columns, rows.collect())
}

/// The caption of a flow of datagrams speaks of datagrams.
#[test]
fn captions_speak_of_what_is_drawn() {
    let desk = desk();
    let ended = desk.run(&["plot", "datagrams.toml", "-o", "p.svg"]);
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert!(ended.out.contains("datagrams left"), "{}", ended.out);
    assert!(!ended.out.contains("timer") && !ended.out.contains("segment"), "{}", ended.out);
    assert!(desk.read("p.svg").contains("datagram number"));
    // With losses, the caption names their place.
    let lossy = "hop.radio.queue={ drop-tail = { limit = \"1 packet\" } }";
    let ended = desk.run(&["plot", "datagrams.toml", "--set", "hop.radio.rate=100 kbit/s", "--set", lossy]);
    assert!(ended.out.contains("were lost, at radio.down"), "{}{}", ended.out, ended.err);
}

/// Assumptions are stated (ME-03), time and data sent are shown by default (ME-02), the receiver's trace can be drawn
/// alone (NS-16), and a run keeps its inputs (ME-06).
#[test]
fn assumptions_costs_and_parameters_are_told() {
    let desk = desk();
    desk.write("one.toml", &format!("{PATH}{}", DOWNLOAD.replace("20 kB", "200 kB")));
    let ended = desk.run(&["check", "one.toml"]);
    assert!(
        ended.out.contains("one long flow") && ended.out.contains("no traffic in the reverse direction"),
        "{}",
        ended.out
    );
    let ended = desk.run(&["check", "mixed.toml"]);
    assert!(!ended.out.contains("one long flow"), "{}", ended.out);
    let ended = desk.run(&["run", "one.toml", "--out", "kept", "--set", "hop.radio.delay=70 ms"]);
    assert!(ended.out.contains("download time") && ended.out.contains("segments sent"), "{}", ended.out);
    let again = desk.run(&["plot", "kept", "--json"]);
    let other = desk.run(&["plot", "one.toml", "--json", "--set", "hop.radio.delay=70 ms"]);
    let picture =
        |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap()["picture"]["sent"].clone();
    assert_eq!(picture(&again.out), picture(&other.out), "the folder repeats the run");
    for (offset, bytes) in [("25 segments", 25 * 1460), ("20000 B", 20_000)] {
        let moved = desk.run(&["plot", "kept", "--json", "--receiver-offset", offset]);
        let first = |text: &str| {
            serde_json::from_str::<serde_json::Value>(text).unwrap()["picture"]["received"][0]["seq"]
                .as_u64()
                .unwrap()
        };
        assert_eq!(first(&moved.out), first(&again.out) + bytes, "{offset}");
    }
    // RB-03: the combination that the paper forbids is warned of.
    let wrong = ["--set", "flow.download.transport.tcp.rto.restart-on-duplicates=each"];
    let ended = desk.run(&[&["check", "one.toml"][..], &wrong].concat());
    assert!(ended.err.contains("MUST NOT"), "{}", ended.err);
    let safe = ["--set", "flow.download.transport.tcp.duplicates.in-recovery=ignore"];
    let ended = desk.run(&[&["check", "one.toml"][..], &wrong, &safe].concat());
    assert!(!ended.err.contains("MUST NOT"), "{}", ended.err);
}

/// Commands alone can be reported on, and each node has a capture of its own.
#[cfg(target_os = "linux")]
#[test]
fn real_time_answers_every_output_option() {
    let desk = desk();
    for (kind, parts) in KINDS {
        let file = format!("{kind}.toml");
        let folder = format!("{kind}.emulate");
        let everything = [
            "emulate",
            &file,
            "--reps",
            "1",
            "--lateness",
            "1 s",
            "--out",
            &folder,
            "--report",
            "--captures",
            "--events",
            "--metrics",
            "all",
            "--pcap",
            "first.pcapng",
        ];
        let ended = desk.run(&everything);
        if ended.code == 3 {
            return eprintln!("skipped: {}", ended.err);
        }
        sound(&ended, &file);
        assert_eq!(ended.code, 0, "{file}: {}", ended.err);
        let report = desk.read(&format!("{folder}/report.html"));
        let flows = parts.iter().any(|part| *part != COMMAND);
        // Only packets of machines cross a packet port; those of models stay inside.
        let machines = parts.contains(&COMMAND);
        assert_eq!(report.contains("there is no sequence to draw"), !flows, "{file}");
        for capture in ["first.server.pcapng", "first.phone.pcapng"] {
            let bytes = std::fs::read(desk.path(capture)).unwrap_or_default();
            if machines {
                let mut reader = capture::Reader::open(&bytes[..]).unwrap();
                assert!(reader.next().unwrap().is_some(), "{file}: {capture} is empty");
                assert_eq!(reader.interfaces().len(), 1, "{file}: {capture}");
            }
        }
        if machines {
            assert!(desk.path(&format!("{folder}/captures/0-0.phone.pcapng")).is_file());
        }
        for options in [&["--json", "--no-out"][..], &["--svg", "e.svg", "--no-out"]] {
            let mut args = vec!["emulate", &file, "--reps", "1", "--lateness", "1 s"];
            args.extend(options);
            let ended = desk.run(&args);
            sound(&ended, &args.join(" "));
            let nothing = !flows && options.contains(&"--svg");
            assert_eq!(ended.code, if nothing { 2 } else { 0 }, "{}: {}", args.join(" "), ended.err);
        }
    }
}
