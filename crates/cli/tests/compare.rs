//! Verdicts of `compare` on paired repetitions: sentence, table and document, with the numbers of `run`.

mod common;

use common::Desk;
use serde_json::Value;

const QUEUE: &str = "hop.radio.queue.drop-tail.limit=100 packets";

/// Both sides fix the grid, and differ in the detector. The queue loses nothing, so that every timeout is spurious.
const DETECTORS: &[&str] = &[
    "compare",
    "small.toml",
    "--set",
    "flow.download.transport.tcp.recovery=reno",
    "--set",
    QUEUE,
    "--set-a",
    "flow.download.transport.tcp.spurious=none",
    "--set-b",
    "flow.download.transport.tcp.spurious=eifel",
];

fn document(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {text}"))
}

/// Metric of one flow in every repetition of a cell, from `run --csv`.
fn by_repetition(desk: &Desk, set: &[&str], metric: &str) -> Vec<f64> {
    let ended = desk.run(&[&["run", "small.toml", "--no-out", "--csv"], set].concat());
    assert_eq!(ended.code, 0, "{}", ended.err);
    let mut lines = ended.out.lines();
    let at = lines.next().unwrap().split(',').position(|name| name == metric).unwrap();
    lines.map(|line| line.split(',').nth(at).unwrap().parse().unwrap()).collect()
}

#[test]
fn the_difference_is_that_of_pairs() {
    let desk = Desk::new();
    let ended = desk.run(&[DETECTORS, &["--json", "--reps", "12"]].concat());
    assert_eq!(ended.code, 0, "{}", ended.err);
    let compared = document(&ended.out);
    assert_eq!(compared["schema"], "williwaw-compare/1");
    let time = &compared["cells"][0]["metrics"]["download_time_s"];
    let of = |detector: &str| {
        let detector = format!("flow.download.transport.tcp.spurious={detector}");
        let set = [
            "--reps",
            "12",
            "--set",
            "flow.download.transport.tcp.recovery=reno",
            "--set",
            QUEUE,
            "--set",
            &detector,
        ];
        by_repetition(&desk, &set, "download_time_s")
    };
    let (a, b) = (of("none"), of("eifel"));
    let differences: Vec<f64> = a.iter().zip(&b).map(|(a, b)| b - a).collect();
    let mean = differences.iter().sum::<f64>() / 12.0;
    let spread = (differences.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / 11.0).sqrt();
    // Student's t of 11 degrees at 97.5 %, from any table.
    let reach = 2.200_985 * spread / 12.0_f64.sqrt();
    let near = |value: &Value, wanted: f64| (value.as_f64().unwrap() - wanted).abs() < 1e-4;
    assert!(near(&time["difference"]["mean"], mean), "{time} {mean}");
    assert!(
        near(&time["difference"]["ci95"][0], mean - reach)
            && near(&time["difference"]["ci95"][1], mean + reach)
    );
    let less = differences.iter().filter(|d| **d < 0.0).count();
    assert_eq!(time["less"], less);
    assert_eq!(time["difference"]["n"], 12);
    // Over a full link, fewer unneeded retransmissions save their transmission time.
    assert_eq!((time["told"].as_str(), time["better"].as_bool()), (Some("less"), Some(true)));
    let sentence = compared["sentence"].as_str().unwrap();
    assert!(
        sentence.contains("spurious = eifel has")
            && sentence.contains("less download time than spurious = none"),
        "{sentence}"
    );
}

#[test]
fn a_sentence_and_a_table() {
    let desk = Desk::new();
    insta::assert_snapshot!("two-cells", desk.run_at(100, DETECTORS).out);
    let whole =
        desk.run_at(80, &["compare", "small.toml", "--set-b", "hop.radio.queue.drop-tail.limit=20 packets"]);
    insta::assert_snapshot!("two-grids", whole.out);
    assert!(whole.out.lines().all(|line| line.chars().count() <= 80));
    // A side compared with itself is equal to the bit.
    desk.write("again.toml", common::SMALL);
    let same = desk.run(&["compare", "small.toml", "again.toml", "--metrics", "segments_sent", "--json"]);
    let same = document(&same.out);
    assert!(
        same["cells"]
            .as_array()
            .unwrap()
            .iter()
            .all(|cell| cell["metrics"]["segments_sent"]["told"] == "same")
    );
}

#[test]
fn runs_that_were_made_are_compared_as_they_are() {
    let desk = Desk::new();
    let set = |detector: &'static str| {
        ["--set", "flow.download.transport.tcp.recovery=reno", "--set", QUEUE, "--set", detector]
    };
    for (folder, detector) in [
        ("a", "flow.download.transport.tcp.spurious=none"),
        ("b", "flow.download.transport.tcp.spurious=eifel"),
    ] {
        let ended = desk.run(&[&["run", "small.toml", "--out", folder][..], &set(detector)].concat());
        assert_eq!(ended.code, 0, "{}", ended.err);
    }
    let made = desk.run(&["compare", "a", "b", "--json"]);
    assert_eq!(made.code, 0, "{}", made.err);
    let now = document(&desk.run(&[DETECTORS, &["--json"]].concat()).out);
    assert_eq!(document(&made.out)["cells"][0]["metrics"], now["cells"][0]["metrics"]);
    // A run folder and a scenario: the scenario gets the seed and repetitions of the folder.
    let mixed = desk.run(&["compare", "a", "small.toml", "--set", "run.seed=3", "--json"]);
    assert_eq!(mixed.code, 2, "what was run cannot be changed: {}", mixed.err);
    desk.write("deep.toml", &common::SMALL.replace("10 packets", "100 packets"));
    let mixed = document(&desk.run(&["compare", "a", "deep.toml", "--json"]).out);
    assert_eq!((mixed["cells"].as_array().unwrap().len(), &mixed["seed"]), (4, &1.into()));
    assert_eq!(mixed["cells"][0]["metrics"]["download_time_s"]["told"], "same");
    // Runs with different seeds cannot be paired.
    assert_eq!(desk.run(&["run", "small.toml", "--seed", "2", "--out", "c"]).code, 0);
    let other = desk.run(&["compare", "a", "c"]);
    assert_eq!(other.code, 2);
    assert!(other.err.contains("different seeds"), "{}", other.err);
    assert_eq!(desk.run(&["compare", "a", "small.toml", "--seed", "2"]).code, 2);
}

#[test]
fn what_is_kept_is_continued() {
    let desk = Desk::new();
    let first = desk.run(&[DETECTORS, &["--out", "kept", "--reps", "3"]].concat());
    assert_eq!(first.code, 0, "{}", first.err);
    assert!(desk.path("kept/a/flows.parquet").is_file() && desk.path("kept/b/run.json").is_file());
    let more = desk.run(&[DETECTORS, &["--out", "kept", "--reps", "8", "--json"]].concat());
    assert_eq!(more.code, 0, "{}", more.err);
    let at_once = desk.run(&[DETECTORS, &["--reps", "8", "--json"]].concat());
    assert_eq!(document(&more.out)["cells"], document(&at_once.out)["cells"]);
    let other = desk.run(&["compare", "small.toml", "--set-b", "run.limit=2 h", "--out", "kept"]);
    assert_eq!(other.code, 2);
    assert!(other.err.contains("holds the run of another scenario or seed"), "{}", other.err);
    // Nor is the run of another version.
    let mut record = document(&desk.read("kept/b/run.json"));
    record["version"] = "0.0.1".into();
    desk.write("kept/b/run.json", &record.to_string());
    let older = desk.run(&[DETECTORS, &["--out", "kept", "--reps", "8"]].concat());
    assert_eq!(older.code, 2, "{}", older.err);
    assert!(older.err.contains("was started by williwaw 0.0.1"), "{}", older.err);
}

#[test]
fn a_build_fails_where_it_gets_worse() {
    let desk = Desk::new();
    let better = desk.run(&[DETECTORS, &["--reps", "20", "--no-worse"]].concat());
    assert_eq!(better.code, 0, "{}", better.err);
    let turned: Vec<&str> = DETECTORS
        .iter()
        .map(|word| match *word {
            "--set-a" => "--set-b",
            "--set-b" => "--set-a",
            word => word,
        })
        .collect();
    let worse = desk.run(&[&turned[..], &["--reps", "20", "--no-worse"]].concat());
    assert_eq!(worse.code, 1);
    assert!(worse.err.contains("more download time"), "{}", worse.err);
    // One pair is not significant.
    assert_eq!(desk.run(&[&turned[..], &["--reps", "1", "--no-worse"]].concat()).code, 0);
}

#[test]
fn what_cannot_be_compared_is_said_before_anything_runs() {
    let desk = Desk::new();
    desk.write("other.toml", &common::SMALL.replace("\"reno\", \"sack\"", "\"tahoe\", \"fack\""));
    for (args, said) in [
        (&["compare", "small.toml"][..], "the second side is missing"),
        (&["compare", "small.toml", "small.toml"], "both sides are the same"),
        (&["compare", "small.toml", "nosuch.toml"], "there is no file `nosuch.toml`"),
        (&["compare", "small.toml", "--set-b", "hop.radio.rte=1"], "rte"),
        (
            &["compare", "small.toml", "--set-b", "run.limit=2 h", "--metrics", "speed"],
            "there is no metric `speed`",
        ),
        (&["compare", "-", "-"], "stdin can be read only once"),
        (&["compare", ".", "small.toml"], "holds no run"),
        (
            &["compare", "small.toml", "--set-a", "run.seed=1", "--set-b", "run.seed=2"],
            "cannot be set for one side only",
        ),
        (
            &[
                "compare",
                "small.toml",
                "--set-b",
                "run.limit=2 h",
                "--no-worse",
                "--metrics",
                "gate_closures",
            ],
            "has no better direction",
        ),
        (&["compare", "small.toml", "other.toml"], "no cell of the one grid has the values"),
    ] {
        let ended = desk.run(args);
        assert_eq!((ended.code, ended.out.as_str()), (2, ""), "{args:?}: {}", ended.err);
        assert!(ended.err.contains(said), "{args:?}: {}", ended.err);
    }
    // Different weather is reported, and the sentence does not claim equal weather.
    let apart = desk.run(&["compare", "small.toml", "--set-b", "hop.radio.gate.reselection.lasts=2 s"]);
    assert_eq!(apart.code, 0, "{}", apart.err);
    assert!(apart.err.contains("their weather is not the same: gate radio.reselection"), "{}", apart.err);
    assert!(apart.out.starts_with("With weather of their own"), "{}", apart.out);
}

#[test]
fn who_does_not_come_to_an_end_is_worse_and_that_is_said() {
    let desk = Desk::new();
    let cut = [
        "compare",
        "small.toml",
        "--set",
        "flow.download.transport.tcp.recovery=reno",
        "--set-b",
        "run.limit=8 s",
    ];
    let set = ["--set", "flow.download.transport.tcp.spurious=none", "--no-worse"];
    let ended = desk.run(&[&cut[..], &set[..]].concat());
    assert_eq!(ended.code, 1, "{}", ended.out);
    assert!(
        ended.out.contains("In 5 repetitions only small.toml has a value of download time"),
        "{}",
        ended.out
    );
    // A grid over the gate does not claim equal weather either.
    let lasts = "[grid]\n\"hop.radio.gate.reselection.lasts\" = [\"1 s\", \"uniform(3 s, 15 s)\"]";
    desk.write("gates.toml", &common::SMALL.replace("[grid]", lasts));
    let mut words = vec!["compare", "small.toml", "gates.toml"];
    for fixed in ["flow.download.transport.tcp.recovery=reno", "flow.download.transport.tcp.spurious=none"] {
        words.extend(["--set", fixed]);
    }
    let grid = desk.run(&words);
    assert_eq!(grid.code, 0, "{}", grid.err);
    assert!(grid.err.contains("their weather is not the same: gate radio.reselection"), "{}", grid.err);
    assert!(grid.out.starts_with("With weather of their own"), "{}", grid.out);
}

#[test]
fn the_page_shows_where_they_are_furthest_apart() {
    let desk = Desk::new();
    let ended = desk.run(&[DETECTORS, &["--report", "c.html"]].concat());
    assert_eq!(ended.code, 0, "{}", ended.err);
    let page = desk.read("c.html");
    assert!(page.matches("<svg").count() >= 2);
    assert!(page.contains("spurious = eifel compared with spurious = none"));
    let nowhere = desk.run(&[DETECTORS, &["--report", "no/such/folder/c.html"]].concat());
    assert_ne!(nowhere.code, 0);
    assert_eq!(nowhere.out, "");
}

/// The gate: not worse than a share (0), worse (1), undecided within the bound (5); looks double the repetitions; JUnit is
/// XML and has a case a cell; the summary is appended.
#[test]
fn a_gate_passes_fails_or_stays_undecided() {
    let desk = Desk::new();
    let turned: Vec<&str> = DETECTORS
        .iter()
        .map(|word| match *word {
            "--set-a" => "--set-b",
            "--set-b" => "--set-a",
            word => word,
        })
        .collect();
    let files = ["--junit", "gate.xml", "--summary", "gate.md"];
    let passed = desk.run(&[DETECTORS, &["--reps", "20", "--no-worse=10%"], &files].concat());
    assert_eq!(passed.code, 0, "{}{}", passed.out, passed.err);
    let failed = desk.run(&[&turned[..], &["--reps", "20", "--no-worse=0.1%"], &files].concat());
    assert_eq!(failed.code, 1, "{}", failed.err);
    assert!(failed.err.contains("Worse than 0.1 %"), "{}", failed.err);
    let xml = desk.read("gate.xml");
    assert!(
        xml.contains("<testcase name=\"download_time_s\"") && xml.contains("<failure message=\"worse\">"),
        "{xml}"
    );
    let summary = desk.read("gate.md");
    assert_eq!(summary.matches("### williwaw").count(), 2, "{summary}");
    assert!(summary.contains("**failed**") && summary.contains("| passed |"), "{summary}");
    // Two pairs with a wide spread are undecided at the bound.
    let wide = [&turned[..], &["--reps", "2", "--no-worse=12%", "--json"], &files].concat();
    let open = desk.run(&wide);
    assert_eq!(open.code, 5, "{}{}", open.out, open.err);
    assert!(open.err.contains("more repetitions narrow it"), "{}", open.err);
    let gate = &document(&open.out)["gate"];
    assert_eq!((gate["verdict"].as_str(), gate["looks"].as_u64()), (Some("undecided"), Some(1)), "{gate}");
    assert!(desk.read("gate.xml").contains("errors=\"1\""));
    // With a larger bound, more repetitions are run and reported.
    let more =
        desk.run(&[&turned[..], &["--reps", "2", "--max-reps", "60", "--no-worse=0.1%", "--json"]].concat());
    assert_eq!(more.code, 1, "{}{}", more.out, more.err);
    assert!(more.err.contains("undecided; going on to 4 repetitions of at most 60"), "{}", more.err);
    let told = document(&more.out);
    assert!(told["repetitions"].as_u64() > Some(2) && told["gate"]["looks"] == 6, "{}", told["gate"]);
    for (words, said) in [(&["--no-worse=ten"][..], "is no share"), (&["--junit", "x.xml"], "--no-worse")] {
        let wrong = desk.run(&[DETECTORS, words].concat());
        assert_eq!(wrong.code, 2, "{}", wrong.err);
        assert!(wrong.err.contains(said), "{}", wrong.err);
    }
    let parser = "import sys, xml.etree.ElementTree as e; r = e.parse(sys.argv[1]).getroot(); \
        s = r.find('testsuite'); assert r.tag == 'testsuites' and int(s.get('tests')) == len(s.findall('testcase'))";
    let path = desk.path("gate.xml");
    match std::process::Command::new("python3").args(["-c", parser]).arg(path).status() {
        Ok(status) => assert!(status.success(), "no JUnit"),
        Err(_) => eprintln!("skipped: no python3 to parse the file with"),
    }
}

/// The script of the action, outside of a container: it passes on verdicts, and reports missing inputs.
#[test]
fn the_action_for_builds_runs() {
    let desk = Desk::new();
    desk.write("slow.toml", &common::SMALL.replace("30 kbit/s", "15 kbit/s"));
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/ci/gate.sh");
    let run = |variables: &[(&str, &str)]| {
        let mut command = std::process::Command::new("bash");
        command.arg(script).current_dir(desk.path(""));
        command
            .env("WILLIWAW", env!("CARGO_BIN_EXE_williwaw"))
            .env("GITHUB_STEP_SUMMARY", desk.path("summary.md"));
        let done = command.envs(variables.iter().copied()).output().unwrap();
        (done.status.code(), String::from_utf8_lossy(&done.stdout).into_owned())
    };
    assert!(common::SMALL.contains("30 kbit/s"));
    let few = [("REPETITIONS", "10"), ("BOUND", "160")];
    let (code, said) = run(&[&[("BEFORE", "small.toml"), ("AFTER", "slow.toml")], &few[..]].concat());
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("::error::williwaw: worse than 10%"), "{said}");
    let (code, said) = run(&[&[("BEFORE", "slow.toml"), ("AFTER", "small.toml")], &few[..]].concat());
    assert_eq!(code, Some(0), "{said}");
    assert!(desk.read("summary.md").contains("### williwaw: passed"));
    assert!(desk.read("williwaw-gate.xml").contains("<testsuites"));
    let (code, said) = run(&[]);
    assert_eq!((code, said.contains("give the inputs")), (Some(2), true), "{said}");
}

const NEWS: &str = include_str!("../../../scenarios/transports.toml");

/// The carriers of one workload by one key, RT-09: models of five protocols, and kernels' sockets where a kernel is.
const CARRIERS: [&str; 6] = ["tcp", "sctp", "dccp", "atp", "udp", "{ dccp = { ccid = 2 } }"];

fn among(metric: &str, carriers: &[&str], more: &[&str]) -> Vec<String> {
    let mut args: Vec<String> = ["compare", "news.toml", "--metrics", metric].map(str::to_owned).to_vec();
    for carrier in carriers {
        args.extend(["--among".to_owned(), format!("flow.news.transport={carrier}")]);
    }
    args.extend(more.iter().map(|word| (*word).to_owned()));
    args
}

/// One workload file runs over every transport by one key, and one sentence says which of them is best; the difference is
/// that of `compare` with two sides.
#[test]
fn one_sentence_says_which_of_the_transports() {
    let desk = Desk::new();
    desk.write("news.toml", NEWS);
    let args = among("units_in_time", &CARRIERS, &["--reps", "8", "--json"]);
    let ended = desk.run(&args.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(ended.code, 0, "{}", ended.err);
    let ranked = document(&ended.out);
    println!("{}", ranked["sentence"]);
    assert_eq!(ranked["schema"], "williwaw-among/1");
    let variants = ranked["variants"].as_array().unwrap();
    assert_eq!(variants.len(), CARRIERS.len());
    let value = |i: usize| variants[i]["value"]["mean"].as_f64().unwrap();
    assert!((1..variants.len()).all(|i| value(i) <= value(i - 1)), "{ranked:#}");
    assert!(variants.iter().all(|variant| variant["value"]["n"] == 8), "every transport carries it");
    let name = |i: usize| variants[i]["name"].as_str().unwrap().to_owned();
    let sentence = ranked["sentence"].as_str().unwrap();
    assert!(
        sentence
            .starts_with(&format!("Under the same weather {} has the most units in time of 6, ", name(0))),
        "{sentence}"
    );
    // Two of them as two sides.
    let key = |i: usize| format!("flow.news.transport={}", name(i).trim_start_matches("transport = "));
    let two = desk.run(&[
        "compare",
        "news.toml",
        "--set-a",
        &key(0),
        "--set-b",
        &key(5),
        "--metrics",
        "units_in_time",
        "--reps",
        "8",
        "--json",
    ]);
    assert_eq!(two.code, 0, "{}", two.err);
    let two = document(&two.out);
    assert_eq!(two["cells"][0]["metrics"]["units_in_time"]["difference"], variants[5]["difference"]);
}

#[test]
fn what_cannot_be_ranked_is_said() {
    let desk = Desk::new();
    desk.write("news.toml", NEWS);
    for (metric, carriers, more, said) in [
        ("units_in_time", &CARRIERS[..1], &[][..], "a ranking needs at least two variants"),
        ("units_in_time", &CARRIERS[..2], &["--set-b", "run.limit=1 h"], "compares two"),
        ("units_in_time", &["tcp", "tpc"], &[], "tpc"),
        ("segments_delivered", &CARRIERS[..2], &[], "has no better direction"),
        ("all", &CARRIERS[..2], &[], "ranked by one metric"),
        ("units_in_time", &CARRIERS[..2], &["--among", "run.seed=2"], "one seed"),
    ] {
        let args = among(metric, carriers, more);
        let ended = desk.run(&args.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(ended.code, 2, "{args:?}: {}{}", ended.out, ended.err);
        assert!(ended.err.contains(said), "{args:?}: {}", ended.err);
    }
    desk.write("news.toml", &format!("{NEWS}\n[grid]\n\"hop.radio.delay\" = [\"100 ms\", \"200 ms\"]\n"));
    let args = among("units_in_time", &CARRIERS[..2], &[]);
    let ended = desk.run(&args.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(
        ended.code == 2 && ended.err.contains("has 2 cells, and a variant must have one"),
        "{}",
        ended.err
    );
}

/// The same workload over sockets of a kernel, by the same key; skipped aloud without a kernel.
#[test]
fn kernels_carry_the_same_workload() {
    let desk = Desk::new();
    desk.write("news.toml", NEWS);
    let list = desk.run(&["linux", "list"]);
    if list.out.is_empty() {
        return eprintln!("skipped: no kernel for virtual time; `williwaw linux build` makes one");
    }
    let name = list.out.lines().map(|line| line.split('\t').next().unwrap()).find(|name| *name == "dccp");
    let name = name.unwrap_or("default");
    let own = |protocol: &str| format!("{{ linux = {{ protocol = \"{protocol}\", kernel = \"{name}\" }} }}");
    let carriers = [own("tcp"), own("udp"), own("dccp"), "udp".to_owned()];
    let carriers: Vec<&str> = carriers.iter().map(String::as_str).collect();
    let args = among("units_in_time", &carriers, &["--reps", "2", "--json"]);
    let ended = desk.run(&args.iter().map(String::as_str).collect::<Vec<_>>());
    if ended.err.contains("does not support DCCP") {
        return eprintln!("skipped: {}", ended.err);
    }
    assert_eq!(ended.code, 0, "{}", ended.err);
    let ranked = document(&ended.out);
    println!("{}", ranked["sentence"]);
    let of = |word: &str| {
        let all = ranked["variants"].as_array().unwrap().iter();
        all.filter(|v| v["name"].as_str().unwrap().contains(word))
            .map(|v| v["value"]["mean"].clone())
            .collect::<Vec<_>>()
    };
    // Datagrams of a kernel have the losses of the model's datagrams.
    let udp = of("udp");
    assert!(udp.len() == 2 && udp[0] == udp[1], "{ranked:#}");
}
