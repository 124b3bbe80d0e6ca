//! Output of the verb `run`: tables, documents, verdicts, run folders.

mod common;

use common::Desk;
use serde_json::Value;

fn document(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {text}"))
}

#[test]
fn the_table_fits_its_terminal() {
    let desk = Desk::new();
    for columns in [40, 60, 120] {
        let ended = desk.run_at(columns, &["run", "small.toml", "--no-out"]);
        assert_eq!(ended.code, 0, "{}", ended.err);
        for line in ended.out.lines() {
            assert!(line.chars().count() <= columns, "{line}");
        }
        insta::assert_snapshot!(format!("table-{columns}"), ended.out);
    }
}

#[test]
fn a_single_cell_stands_upright_and_a_pipe_has_no_colours() {
    let desk = Desk::new();
    let args = ["run", "small.toml", "--no-out", "--set", "grid.x=1"];
    assert_eq!(desk.run(&args).code, 2);
    let fixed = [
        "run",
        "small.toml",
        "--no-out",
        "--set",
        "flow.download.transport.tcp.recovery=sack",
        "--set",
        "flow.download.transport.tcp.spurious=eifel",
        "--metrics",
        "all",
    ];
    let ended = desk.run(&fixed);
    assert!(!ended.out.contains('\x1b'));
    insta::assert_snapshot!("single", ended.out);
    let coloured = desk.run(&[&fixed[..], &["--color", "always"]].concat());
    assert!(coloured.out.contains('\x1b'));
    let quiet = desk.run(&[&fixed[..], &["--quiet"]].concat());
    assert_eq!((quiet.out, quiet.err), (ended.out, String::new()));
}

#[test]
fn json_is_one_document_of_the_agreed_shape() {
    let desk = Desk::new();
    let ended = desk.run(&["run", "small.toml", "--json", "--reps", "3", "--seed", "7"]);
    assert_eq!(ended.code, 0, "{}", ended.err);
    let document = document(&ended.out);
    assert_eq!(document["schema"], "williwaw-run/1");
    assert_eq!(document["scenario"], "small.toml");
    assert_eq!(document["seed"], 7);
    assert_eq!(document["folder"], "runs/small");
    assert_eq!(document["complete"], true);
    let cells = document["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 4);
    assert_eq!(cells[1]["params"]["flow.download.transport.tcp.spurious"], "eifel");
    let time = &cells[0]["metrics"]["download_time_s"];
    for key in ["mean", "stddev", "median", "p10", "p90", "p95", "p99", "min", "max"] {
        assert!(time[key].is_f64(), "{key} of {time}");
    }
    assert_eq!((time["ci95"].as_array().unwrap().len(), &time["n"]), (2, &Value::from(3)));
    let expectation = &document["expectations"][0];
    assert_eq!(expectation["key"], "download.download_time_s.mean");
    assert_eq!(expectation["holds"], true);
    // Theory: 50 KiB at 30 kbit/s takes at least this long.
    assert!(time["mean"].as_f64().unwrap() > 50.0 * 1024.0 * 8.0 / 30_000.0);
}

#[test]
fn csv_goes_to_stdout_or_to_a_file_but_never_over_the_scenario() {
    let desk = Desk::new();
    let ended = desk.run(&["run", "small.toml", "--no-out", "--csv"]);
    assert_eq!(ended.out.lines().count(), 1 + 4 * 5);
    assert!(ended.out.starts_with("cell,repetition,flow,flow.download.transport.tcp.recovery,"));
    let swapped = desk.run(&["run", "--no-out", "--csv", "small.toml"]);
    assert_eq!(swapped.out, ended.out);
    assert_eq!(desk.run(&["run", "small.toml", "--no-out", "--csv", "a.csv", "--json"]).code, 0);
    assert_eq!(desk.read("a.csv"), ended.out);
    let refused = desk.run(&["run", "small.toml", "--no-out", "--csv", "small.toml"]);
    assert_eq!(refused.code, 2);
    assert_eq!(desk.read("small.toml"), common::SMALL);
    assert_eq!(desk.run(&["run", "small.toml", "--no-out", "--csv", "--json"]).code, 2);
}

#[test]
fn a_failed_expectation_is_exit_code_1_and_says_which() {
    let desk = Desk::new();
    desk.write("strict.toml", &common::SMALL.replace("< 200 s", "< 20 s"));
    let ended = desk.run(&["run", "strict.toml", "--no-out", "--quiet"]);
    assert_eq!(ended.code, 1);
    insta::assert_snapshot!("failed", ended.err);
    let json = document(&desk.run(&["run", "strict.toml", "--no-out", "--json"]).out);
    assert_eq!(json["expectations"][0]["holds"], false);
}

#[test]
fn a_wrong_file_is_exit_code_2_with_every_mistake() {
    let desk = Desk::new();
    let wrong = common::SMALL.replace("30 kbit/s", "30 parsec").replace("seed = 1", "seed = \"one\"");
    desk.write("wrong.toml", &wrong);
    let ended = desk.run(&["run", "wrong.toml"]);
    assert_eq!((ended.code, ended.out.as_str()), (2, ""));
    insta::assert_snapshot!("wrong", ended.err);
    assert!(!desk.path("runs").exists(), "nothing was begun");
    let ended = desk.run(&["run", "nowhere.toml"]);
    assert_eq!(ended.code, 2);
    insta::assert_snapshot!("nowhere", ended.err);
    for args in [
        &["run"][..],
        &["run", "small.toml", "--reps", "0"],
        &["run", "small.toml", "--metrics", "speed"],
        &["run", "small.toml", "--no-out", "--report"],
        &["run", "small.toml", "--reps", "2000000"],
        &["run", "--resume", "nowhere"],
        &["fly"],
    ] {
        let ended = desk.run(args);
        assert_eq!((ended.code, ended.out.as_str()), (2, ""), "{args:?}");
        assert!(!ended.err.is_empty());
    }
}

#[test]
fn a_place_that_cannot_be_written_is_exit_code_3() {
    let desk = Desk::new();
    desk.write("file", "");
    let ended = desk.run(&["run", "small.toml", "--out", "file/below"]);
    assert_eq!(ended.code, 3, "{}", ended.err);
    assert!(ended.err.contains("--no-out"), "{}", ended.err);
}

#[test]
fn runs_get_folders_of_their_own() {
    let desk = Desk::new();
    for folder in ["runs/small", "runs/small-2"] {
        let ended = desk.run(&["run", "small.toml"]);
        assert!(ended.err.contains(&format!("results in {folder}\n")), "{}", ended.err);
    }
    let record = document(&desk.read("runs/small/run.json"));
    assert_eq!(record["text"], common::SMALL);
    assert_eq!((&record["seed"], &record["repetitions"]), (&Value::from(1), &Value::from(5)));
    assert_eq!(record["complete"], true);
    for key in ["hash", "version", "started", "seconds", "jobs", "host", "overrides"] {
        assert!(!record[key].is_null(), "{key}");
    }
    assert!(desk.path("runs/small/flows.parquet").exists());
    // A named folder is taken only if it is free.
    assert_eq!(desk.run(&["run", "small.toml", "--out", "mine"]).code, 0);
    let taken = desk.run(&["run", "small.toml", "--out", "mine"]);
    assert_eq!(taken.code, 2);
    assert!(taken.err.contains("--resume"), "{}", taken.err);
}

#[test]
fn the_number_of_threads_and_the_order_of_ties_change_nothing() {
    let desk = Desk::new();
    let csv = |more: &[&str]| desk.run(&[&["run", "small.toml", "--no-out", "--csv"], more].concat()).out;
    let one = csv(&["--jobs", "1"]);
    assert_eq!(one, csv(&["--jobs", "2"]));
    assert_eq!(one, csv(&["--shuffle-ties", "9"]), "one flow has no ties that matter");
    assert_ne!(one, csv(&["--seed", "2"]));
    for jobs in ["1", "2"] {
        desk.run(&["run", "small.toml", "--out", jobs, "--jobs", jobs]);
    }
    let rows = |jobs: &str| results::folder::read(&desk.path(jobs)).unwrap();
    assert_eq!(rows("1"), rows("2"));
}

#[test]
fn a_report_opens_from_disk_and_draws_a_bounded_number_of_pictures() {
    let desk = Desk::new();
    let ended = desk.run(&["run", "small.toml", "--report", "--out", "r"]);
    assert!(ended.err.contains("report: r/report.html"), "{}", ended.err);
    let page = desk.read("r/report.html");
    assert_eq!(page.matches("<figure class=\"picture\"").count(), 4);
    assert!(page.contains(">Results<") && !page.contains("src=\"http"));
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    use std::process::{Command, Stdio};
    let desk = Desk::new();
    let mut child = Command::new(env!("CARGO_BIN_EXE_williwaw"))
        .args(["run", "small.toml", "--no-out", "--csv", "--reps", "500"])
        .current_dir(desk.folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{err}");
    assert!(!err.contains("panic") && !err.contains("error"), "{err}");
}

#[test]
fn captures_of_chosen_repetitions_lie_in_the_folder() {
    let desk = Desk::new();
    let ended = desk.run(&["run", "small.toml", "--out", "r", "--pcap=0,2", "--snap", "60", "--xplot"]);
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert!(
        ended.err.contains("24 captures in r") && ended.err.contains("4 xplot files in r"),
        "{}",
        ended.err
    );
    let bytes = std::fs::read(desk.path("r/cell3.rep2.server.pcapng")).unwrap();
    assert_eq!(bytes[..4], [0x0a, 0x0d, 0x0d, 0x0a]);
    let all = std::fs::read(desk.path("r/cell3.rep2.pcapng")).unwrap();
    assert!(all.len() > 3 * bytes.len() && !desk.path("r/cell3.rep1.pcapng").exists());
    assert!(desk.read("r/cell0.rep0.download.xplot").ends_with("go\n"));
    // Equal seeds yield equal packets.
    desk.run(&["run", "small.toml", "--out", "again", "--pcap=2", "--snap", "60"]);
    assert_eq!(std::fs::read(desk.path("again/cell3.rep2.pcapng")).unwrap(), all);
    for wrong in [
        &["--pcap=5", "--out", "x"][..],
        &["--xplot=3-9", "--out", "x"],
        &["--pcap=3-1", "--out", "x"],
        &["--pcap", "--no-out"],
        &["--snap", "60", "--out", "x"],
    ] {
        assert_eq!(desk.run(&[&["run", "small.toml"], wrong].concat()).code, 2, "{wrong:?}");
        assert!(!desk.path("x").exists());
    }
}

/// A transfer that does not finish has the goodput of its delivered part.
#[test]
fn the_goodput_of_a_transfer_that_is_cut_off_is_a_ratio() {
    let desk = Desk::new();
    let all = ["run", "small.toml", "--no-out", "--json", "--set", "run.limit=20 s"];
    let ended = desk.run(&[&all[..], &["--set", "flow.download.app.bulk.bytes=900 GB"]].concat());
    let json: Value = serde_json::from_str(&ended.out).unwrap();
    for cell in json["cells"].as_array().unwrap() {
        let metric = |name: &str| cell["metrics"][name]["mean"].as_f64();
        assert_eq!(metric("download_time_s"), None);
        let (sent, resent) = (metric("segments_sent").unwrap(), metric("segments_retransmitted").unwrap());
        assert!(sent > resent && sent > 10.0);
        for name in ["goodput_ratio", "goodput_link_ratio"] {
            let ratio = metric(name).unwrap();
            assert!((0.1..=1.0).contains(&ratio), "{name} {ratio}");
        }
    }
}

/// Interruptions of 60 s every 30 s never end: they cause a warning, and the run ends soon.
#[test]
fn a_link_that_closes_for_good_is_run_to_its_limit() {
    let desk = Desk::new();
    desk.write(
        "closed.toml",
        "williwaw = 1\nrun.limit = \"1 h\"\n[[hop]]\nname = \"radio\"\nbetween = [\"server\", \"phone\"]\nrate = \"30 kbit/s\"\n\
         gate = [{ name = \"g\", every = \"uniform(20 s, 40 s)\", lasts = \"1 min\" },\n\
         { name = \"h\", every = \"uniform(20 s, 40 s)\", lasts = \"1 s\" }]\n\
         [[flow]]\nname = \"f\"\nfrom = \"server\"\nto = \"phone\"\napp = { bulk = { bytes = \"300 kB\" } }\n",
    );
    let ended = desk.run(&["run", "closed.toml", "--no-out", "--json"]);
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert!(ended.err.contains("from the first one on it never ends"), "{}", ended.err);
    let json: Value = serde_json::from_str(&ended.out).unwrap();
    // The closures of both gates count.
    assert!(json["cells"][0]["metrics"]["gate_closures"]["mean"].as_f64().unwrap() > 80.0);
    assert_eq!(json["cells"][0]["metrics"]["download_time_s"]["n"], 0);
}

/// Mistakes of the command line end with exit code 2 and the mend.
#[test]
fn slips_of_the_command_line_are_mended() {
    let desk = Desk::new();
    desk.write("file.txt", "");
    for (args, told) in [
        (&["--metrics", "download_time"][..], "did you mean `download_time_s`?"),
        (&["--metrics", "xyzzy"], "docs/results.md lists the metrics"),
        (&["--out", "file.txt"], "--out names the file `file.txt`"),
        (&["--seed", "abc"], "a seed is a whole number from 0"),
        (&["--reps", "1", "--pcap=50"], "its number is 0"),
    ] {
        let ended = desk.run(&[&["run", "small.toml"], args].concat());
        assert_eq!(ended.code, 2, "{args:?}: {}", ended.err);
        assert!(ended.err.contains(told), "{args:?}: {}", ended.err);
        assert!(ended.err.lines().all(|line| line.len() < 200), "{}", ended.err);
    }
    let version = common::SMALL.replace("williwaw = 1", "williwaw = 2");
    desk.write("later.toml", &version);
    let ended = desk.run(&["check", "later.toml"]);
    assert!(ended.err.contains("`williwaw` must be the number 1, not 2"), "{}", ended.err);
}
