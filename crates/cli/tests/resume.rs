//! Journal of repetitions after a kill: a continued run loses no finished repetition.

mod common;

use common::Desk;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Starts a run that takes long enough to be killed, and waits until repetitions are written.
fn begin(desk: &Desk, repetitions: &str) -> Child {
    let mut child = Command::new(env!("CARGO_BIN_EXE_williwaw"))
        .args(["run", "small.toml", "--out", "run", "--reps", repetitions])
        .current_dir(desk.folder.path())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let journal = desk.path("run/flows.journal");
    let size = || std::fs::metadata(&journal).map_or(0, |m| m.len());
    for _ in 0..2000 {
        if size() > 20_000 {
            return child;
        }
        pause();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    panic!("no rows were written");
}

#[allow(clippy::disallowed_methods, reason = "waits for another process")]
fn pause() {
    std::thread::sleep(Duration::from_millis(5));
}

#[test]
fn a_run_that_is_killed_goes_on_where_it_was() {
    let desk = Desk::new();
    let mut child = begin(&desk, "3000");
    child.kill().unwrap();
    child.wait().unwrap();
    let before = results::folder::read(&desk.path("run")).unwrap().1.len();
    assert!((1..12_000).contains(&before), "{before} rows");
    // The file may be missing: the folder holds its contents.
    std::fs::rename(desk.path("small.toml"), desk.path("other.toml")).unwrap();
    let ended = desk.run(&["run", "--resume", "run"]);
    assert_eq!(ended.code, 0, "{}", ended.err);
    let other = desk.run(&["run", "other.toml", "--out", "whole", "--reps", "3000"]);
    assert_eq!(other.code, 0, "{}", other.err);
    let read = |name: &str| results::folder::read(&desk.path(name)).unwrap();
    assert_eq!(read("run"), read("whole"));
    assert!(!desk.path("run/flows.journal").exists());
}

#[cfg(unix)]
#[test]
fn ctrl_c_writes_what_is_done_and_tells_how_to_go_on() {
    let desk = Desk::new();
    let child = begin(&desk, "100000");
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{err}");
    assert!(err.contains("williwaw run --resume run\n"), "{err}");
    let done = results::folder::read(&desk.path("run")).unwrap().1.len();
    assert!(done > 0);
    // Fewer repetitions than the folder holds are refused, and all of them are kept.
    let held = results::folder::repetitions_held(&desk.path("run")).unwrap();
    let record = desk.read("run/run.json");
    let ended = desk.run(&["run", "--resume", "run", "--reps", "1"]);
    assert_eq!(ended.code, 2, "{}", ended.err);
    assert!(ended.err.contains(&format!("give --reps {held} or more")), "{}", ended.err);
    assert_eq!(results::folder::read(&desk.path("run")).unwrap().1.len(), done);
    assert_eq!(desk.read("run/run.json"), record);
    // As many as it holds complete the run.
    let ended = desk.run(&["run", "--resume", "run", "--reps", &held.to_string(), "--json"]);
    assert_eq!(ended.code, 0, "{}", ended.err);
    let document: serde_json::Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!(document["cells"][0]["reps"], held);
}

#[test]
fn a_finished_run_takes_more_repetitions() {
    let desk = Desk::new();
    desk.run(&["run", "small.toml"]);
    assert_eq!(desk.run(&["run", "small.toml", "--resume", "--reps", "9"]).code, 0);
    desk.run(&["run", "small.toml", "--reps", "9", "--out", "whole"]);
    let read = |name: &str| results::folder::read(&desk.path(name)).unwrap();
    assert_eq!(read("runs/small"), read("whole"));
    for verb in ["run", "emulate"] {
        let fewer = desk.run(&[verb, "--resume", "runs/small", "--reps", "5"]);
        assert_eq!(fewer.code, 2);
        assert!(fewer.err.contains("has up to 9 repetitions"), "{}", fewer.err);
    }
    assert_eq!(read("runs/small"), read("whole"));
    let other = desk.run(&["run", "--resume", "whole", "--seed", "2"]);
    assert_eq!(other.code, 2);
    assert!(other.err.contains("seed"), "{}", other.err);
}

#[test]
fn files_that_the_scenario_names_are_kept_with_the_run() {
    let desk = Desk::new();
    let listed = common::SMALL.replace(
        "every = \"uniform(20 s, 40 s)\"\nfirst = \"stationary\"\nlasts = \"uniform(3 s, 15 s)\"",
        "file = \"spikes.csv\"",
    );
    desk.write("listed.toml", &listed);
    desk.write("spikes.csv", "rep,start_s,length_s\n0,5,9\n1,6,4\n");
    let ended = desk.run(&["run", "listed.toml", "--out", "run", "--reps", "2"]);
    assert_eq!(ended.code, 0, "{}", ended.err);
    std::fs::remove_file(desk.path("spikes.csv")).unwrap();
    let again = desk.run(&["run", "--resume", "run"]);
    assert_eq!((again.code, again.out), (0, ended.out), "{}", again.err);
}
