//! The claim: `measure` works between two processes, keeps what it measured, and ends as the contract says.

#![allow(clippy::disallowed_methods, reason = "what is tested takes real time")]

mod common;

use common::Desk;
use serde_json::Value;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

/// A server at a port of its own, and its address.
struct Serving(Child, String);

impl Serving {
    fn start(more: &[&str]) -> Serving {
        let mut server = Command::new(env!("CARGO_BIN_EXE_williwaw"))
            .args(["measure", "server", "--bind", "127.0.0.1:0"])
            .args(more)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(server.stderr.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening at ").expect(&line).to_owned();
        Serving(server, address)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Two processes, one document; what was measured can be shown again (WL-01, WL-09).
#[test]
fn a_client_measures_and_keeps_it() {
    let desk = Desk::new();
    let server = Serving::start(&["--token", "word"]);
    let client = |more: &[&str]| desk.run(&[&["measure", "client", &server.1], more].concat());
    let out = client(&[
        "--token",
        "word",
        "--bulk",
        "both",
        "--transactions",
        "published",
        "--count",
        "5",
        "--json",
    ]);
    assert_eq!(out.code, 0, "{}", out.err);
    let document: Value = serde_json::from_str(&out.out).unwrap();
    assert_eq!(document["schema"], "williwaw-measure/1");
    assert_eq!(document["complete"], true);
    assert_eq!(document["tests"].as_array().unwrap().len(), 5);
    assert_eq!(document["tests"][0]["runs"][0]["bytes"], 150_000);
    assert_eq!(document["tests"][4]["name"], "transactions 539/5070 B");
    assert_eq!(document["tests"][4]["metrics"]["response_time_s"]["n"], 5);
    let shown = desk.run(&["measure", "show", "measure-1.jsonl", "--json"]);
    assert_eq!(serde_json::from_str::<Value>(&shown.out).unwrap(), document);
    let shown = desk.run(&["measure", "show", "measure-1.jsonl"]);
    assert!(shown.out.contains("response time"), "{}", shown.out);
    // A wrong word, nothing to do, a place that is taken: one error each.
    for (more, code, word) in [
        (&["--token", "sword", "--echo"][..], 3, "the token is wrong"),
        (&["--echo"], 3, "asks for a token"),
        (&["--token", "word"], 2, "nothing to measure"),
        (&["--token", "word", "--bulk", "up", "--bytes", "0 B"], 2, "at least 1 B"),
        (&["--token", "word", "--bulk", "up", "--seconds", "0 s"], 2, "longer than nothing"),
        (&["--token", "word", "--echo", "--out", "measure-1.jsonl"], 2, "is there already"),
    ] {
        let out = client(more);
        assert_eq!(out.code, code, "{}", out.err);
        assert!(out.err.contains(word), "{}", out.err);
        assert_eq!(out.err.matches("error").count(), 1, "{}", out.err);
    }
    let open = desk.run(&["measure", "server", "--bind", "0.0.0.0:0"]);
    assert_eq!(open.code, 2, "{}", open.err);
}

/// An interrupt keeps what is finished and exits with 130.
#[cfg(unix)]
#[test]
fn an_interrupt_keeps_what_is_finished() {
    let desk = Desk::new();
    let server = Serving::start(&[]);
    let client = Command::new(env!("CARGO_BIN_EXE_williwaw"))
        .current_dir(desk.folder.path())
        .args(["measure", "client", &server.1, "--bulk", "up", "--bytes", "1 kB", "--reps", "100000"])
        .args(["--pause", "20 ms", "--quiet"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let kept = || std::fs::read_to_string(desk.path("measure-1.jsonl")).unwrap_or_default();
    for _ in 0..500 {
        if kept().lines().count() > 3 {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let interrupted = Command::new("kill").args(["-INT", &client.id().to_string()]).status().unwrap();
    assert!(interrupted.success());
    let out = client.wait_with_output().unwrap();
    assert_eq!(out.status.code(), Some(130), "{}", String::from_utf8_lossy(&out.stderr));
    assert!(kept().lines().count() > 3 && kept().ends_with("}}\n"));
    let shown = desk.run(&["measure", "show", "measure-1.jsonl", "--json"]);
    let document: Value = serde_json::from_str(&shown.out).unwrap();
    assert_eq!(document["complete"], false);
    assert!(document["tests"][0]["repetitions"]["done"].as_u64().unwrap() > 1);
}
