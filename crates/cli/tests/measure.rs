//! The claim: `measure` works between two processes, keeps its results, and ends with the documented exit codes.

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

/// Two processes, one document; results can be shown again (WL-01, WL-09).
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
    // A wrong token, no test requested, an existing results file: one error each.
    for (more, code, word) in [
        (&["--token", "sword", "--echo"][..], 3, "the token is wrong"),
        (&["--echo"], 3, "requires a token"),
        (&["--token", "word"], 2, "nothing to measure"),
        (&["--token", "word", "--bulk", "up", "--bytes", "0 B"], 2, "at least 1 B"),
        (&["--token", "word", "--bulk", "up", "--seconds", "0 s"], 2, "longer than nothing"),
        (&["--token", "word", "--echo", "--out", "measure-1.jsonl"], 2, "already exists"),
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

/// WL-14: a modem that is missing is one error with its remedy, and leaves no file; its speed alone is none.
#[test]
fn wl_14_a_missing_modem_is_one_error() {
    let desk = Desk::new();
    let client = |more: &[&str]| desk.run(&[&["measure", "client", "127.0.0.1:1", "--echo"], more].concat());
    let out = client(&["--modem", "missing"]);
    assert_eq!(out.code, 3, "{}", out.err);
    assert!(
        out.err.contains("cannot open the modem `missing`") && out.err.contains("ls /dev/tty"),
        "{}",
        out.err
    );
    assert!(!desk.path("measure-1.jsonl").exists());
    assert_eq!(client(&["--modem-speed", "115200"]).code, 2);
}

/// A link that the tool sets up and releases, and how long that took (WL-07).
#[test]
fn commands_before_and_after_are_timed_and_kept() {
    let desk = Desk::new();
    let server = Serving::start(&[]);
    let client =
        |more: &[&str]| desk.run(&[&["measure", "client", &server.1, "--bulk", "down"], more].concat());
    let out = client(&["--before", "sleep 0.3; echo dialled", "--after", "exit 4", "--json"]);
    assert_eq!(out.code, 0, "{}", out.err);
    let document: Value = serde_json::from_str(&out.out).unwrap();
    let link = document["link"].as_array().unwrap();
    assert_eq!(link.len(), 2, "{document}");
    assert_eq!((&link[0]["before"], &link[0]["status"]), (&true.into(), &0.into()));
    assert!(link[0]["seconds"].as_f64().is_some_and(|s| (0.3..5.0).contains(&s)), "{}", link[0]);
    assert_eq!((&link[1]["before"], &link[1]["status"]), (&false.into(), &4.into()));
    let shown = desk.run(&["measure", "show", "measure-1.jsonl", "--json"]);
    assert_eq!(serde_json::from_str::<Value>(&shown.out).unwrap(), document);
    let failed = client(&["--before", "exit 7"]);
    assert_eq!(failed.code, 3, "{}", failed.err);
    assert!(failed.err.contains("ended with status 7"), "{}", failed.err);
}

/// A server that gets no more threads refuses single connections and serves on.
#[test]
#[cfg(target_os = "linux")]
fn a_lack_of_threads_is_an_error_of_one_connection() {
    use std::io::Write as _;
    let user = "54321";
    let program = env!("CARGO_BIN_EXE_williwaw");
    let limited = ["--reuid", user, "--regid", user, "--clear-groups", "prlimit", "--nproc=9", program];
    let mut server = Command::new("setpriv");
    server.args(limited).args(["measure", "server", "--bind", "127.0.0.1:0"]).stderr(Stdio::piped());
    let Ok(mut server) = server.spawn() else { return eprintln!("skipped: no setpriv") };
    let mut said = BufReader::new(server.stderr.take().unwrap());
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    let Some(address) = line.trim().strip_prefix("listening at ").map(str::to_owned) else {
        let _ = (server.kill(), server.wait());
        return eprintln!("skipped: {line}");
    };
    let serving = Serving(server, address);
    let strangers: Vec<std::net::TcpStream> =
        (0..12).map(|_| std::net::TcpStream::connect(&serving.1).unwrap()).collect();
    let mut refused = String::new();
    while !refused.contains("cannot start another thread") {
        refused.clear();
        assert!(said.read_line(&mut refused).unwrap() > 0, "it ended");
    }
    for mut stranger in strangers {
        let _ = stranger.write_all(b"x");
    }
    // After the idle connections have ended, a client is served.
    let desk = Desk::new();
    let since = std::time::Instant::now();
    loop {
        let out = desk.run(&["measure", "client", &serving.1, "--bulk", "down", "--no-out"]);
        if out.code == 0 {
            break;
        }
        assert!(since.elapsed().as_secs() < 30, "{}", out.err);
        std::thread::sleep(std::time::Duration::from_millis(200));
    }
}
