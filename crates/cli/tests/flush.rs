//! RST flush with real stacks: a program that aborts its connection leaves nothing in the queue before the radio link (QM-09).
//! In namespaces and real time, and with kernels in virtual time. Where the process may not make namespaces, or there is no
//! python3 or no kernel, it says so and is skipped.
#![cfg(target_os = "linux")]

mod common;

use common::Desk;
use serde_json::Value;

const SCENARIO: &str = r#"
    williwaw = 1
    [[hop]]
    name = "radio"
    between = ["server", "phone"]
    rate = { down = "200 kbit/s", up = "1 Mbit/s" }
    delay = "20 ms"
    queue = { drop-tail = { limit = "100 packets" } }
    [[command]]
    name = "source"
    at = "server"
    serves = true
    run = """python3 -c '
import socket
s = socket.create_server(("", 8000), backlog=4)
while True:
    c, _ = s.accept()
    try:
        c.sendall(bytes(400000))
    except OSError:
        pass
    c.close()
'"""
    [[command]]
    name = "reader"
    at = "phone"
    start = "500 ms"
    run = """python3 -c '
import socket, struct, time
c = socket.create_connection(("server", 8000))
c.recv(2000)
time.sleep(2)
c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
c.close()
time.sleep(1.5)
'"""
    [run]
    limit = "20 s"
"#;

/// Packets flushed, and those that the link delivered later than 200 ms after the first flush or, without one, after the reset.
fn play(desk: &Desk, clock: &[&str], flush: bool) -> Option<(usize, usize)> {
    let (set, out) = (format!("hop.radio.rst-flush={flush}"), format!("{}-{flush}", clock[0]));
    let args = [clock, &["s.toml", "--events", "--out", &out, "--set", &set]].concat();
    let ended = desk.run(&args);
    if ended.code == 3 {
        eprintln!("skipped: {}", ended.err);
        return None;
    }
    assert_eq!(ended.code, 0, "{}", ended.err);
    let events: Vec<Value> = desk
        .read(&format!("{out}/events/0-0.jsonl"))
        .lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect();
    let flushed: Vec<f64> = (events.iter())
        .filter(|e| e["event"] == "path:dropped" && e["why"] == "flushed" || e["reason"] == "flushed")
        .filter_map(|e| e["t"].as_f64())
        .collect();
    // The reader aborts about 2.5 s after the start.
    let after = flushed.first().copied().unwrap_or(2.6) + 0.2;
    let late = |e: &&Value| {
        e["event"] == "path:delivered"
            && e["at"] == "radio.down"
            && e["t"].as_f64().is_some_and(|t| t > after)
    };
    Some((flushed.len(), events.iter().filter(late).count()))
}

fn python() -> bool {
    let python = std::process::Command::new("python3").arg("--version").output();
    let there = python.is_ok_and(|output| output.status.success());
    if !there {
        eprintln!("skipped: there is no python3 here");
    }
    there
}

fn judge(clock: &[&str]) {
    let desk = Desk::new();
    desk.write("s.toml", SCENARIO);
    let Some(with) = play(&desk, clock, true) else { return };
    let Some(without) = play(&desk, clock, false) else { return };
    // Of the kernel's first window of 64 kB some forty packets wait; each takes 60 ms.
    assert!(with.0 >= 10 && with.1 <= 2, "{with:?}");
    assert!(without.0 == 0 && without.1 >= 5, "{without:?}");
}

#[test]
fn a_program_that_aborts_leaves_nothing_behind() {
    if python() {
        judge(&["emulate", "--lateness", "1 s"]);
    }
}

/// The same program in a kernel of virtual time.
#[test]
#[allow(clippy::disallowed_methods, reason = "a test that says where its kernel is")]
fn a_program_that_aborts_in_virtual_time_leaves_nothing_behind() {
    let home = std::env::var_os("HOME").map(std::path::PathBuf::from).unwrap_or_default();
    let kernel = home.join(".cache/williwaw/kernels/default/linux");
    if !kernel.is_file() {
        return eprintln!("skipped: no kernel for virtual time; `williwaw linux build` makes one");
    }
    if python() {
        judge(&["run", "--linux", &kernel.to_string_lossy()]);
    }
}
