//! The claim: in real time, kernels meet the firewall of a hop and the restarts of a GPRS network as models meet them in virtual
//! time, and `analyse --layers` names both. Where the process may make no namespaces, the test reports this and is skipped.
#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_methods, reason = "what is tested takes real time")]

mod common;

use common::{Desk, Ended};
use serde_json::Value;
use std::process::Command;
use testkit::radio_hop::{bulk, flow, over_radio};

/// `emulate s.toml` with a log of events and captures, kept in `kept`; `None` where the machine cannot run it.
fn emulate(desk: &Desk, set: &[&str]) -> Option<Ended> {
    let mut args = vec!["emulate", "s.toml", "--json", "--events", "--captures", "--out", "kept"];
    args.extend(["--lateness", "500 ms", "--no-realtime"]);
    set.iter().for_each(|set| args.extend(["--set", set]));
    let ended = desk.run(&args);
    if ended.code == 3 {
        eprintln!("skipped: {}", ended.err);
        return None;
    }
    assert_eq!(ended.code, 0, "{}", ended.err);
    Some(ended)
}

fn document(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// Mean of a metric of a flow.
fn mean(document: &Value, flow: &str, metric: &str) -> Option<f64> {
    let cell = &document["cells"][0];
    let of = |cell: &Value| cell["metrics"][metric]["mean"].as_f64();
    of(&cell["flows"][flow]).or_else(|| of(cell))
}

/// Programs at both ends of a bearer behind a firewall.
const PROGRAMS: &str = r#"
    [[command]]
    name = "serve"
    at = "server"
    run = "exec python3 echo.py"
    serves = true
    [[command]]
    name = "listen"
    at = "phone"
    run = "exec python3 echo.py"
    serves = true
    [[command]]
    name = "out"
    at = "phone"
    start = "2 s"
    run = "python3 ask.py server"
    [[command]]
    name = "in"
    at = "server"
    start = "2 s"
    run = "python3 ask.py phone"
"#;

/// Echoes on every connection.
const ECHO: &str = "\
import socket, threading
def serve(c):
    while data := c.recv(100):
        c.sendall(data)
listening = socket.create_server(('', 7000))
while True:
    threading.Thread(target=serve, args=(listening.accept()[0],), daemon=True).start()
";

/// Asks twice, with a pause longer than the idle timeout, and prints what happens.
const ASK: &str = "\
import socket, sys, time
try:
    c = socket.create_connection((sys.argv[1], 7000), timeout=20)
    for pause in (0, 7):
        time.sleep(pause)
        c.sendall(b'x')
        print('echoed' if c.recv(1) == b'x' else 'closed')
except OSError as error:
    print(type(error).__name__)
";

/// GP-01: the phone's kernel opens a connection and the server's does not; after the idle timeout a reset ends it.
#[test]
fn gp_01_programs_meet_the_firewall() {
    if Command::new("python3").arg("--version").output().is_err() {
        return eprintln!("skipped: there is no python3");
    }
    let desk = Desk::new();
    let hop = "radio = \"gprs\"\nfirewall = { established = \"3 s\", unknown = \"reset\" }";
    desk.write("s.toml", &over_radio(hop, PROGRAMS, "60 s"));
    desk.write("echo.py", ECHO);
    desk.write("ask.py", ASK);
    if emulate(&desk, &[]).is_none() {
        return;
    }
    assert_eq!(desk.read("kept/commands/0-0/out.stdout"), "echoed\nConnectionResetError\n");
    assert_eq!(desk.read("kept/commands/0-0/in.stdout"), "ConnectionRefusedError\n");
    let events = desk.read("kept/events/0-0.jsonl");
    for step in ["opened", "expired", "reset"] {
        let told = |line: &str| line.contains("path:firewall") && line.contains(step);
        assert!(events.lines().any(told), "{step}");
    }
}

/// GP-01: entries and expired entries of kernels' flows are those of the model's flows, and the same flows are refused and reset.
#[test]
fn gp_01_both_clocks_count_alike() {
    let ticker = "{ ticker = { size = \"100 B\", every = \"6 s\", count = 2 } }";
    let flows = [("out", "phone", "server"), ("in", "server", "phone"), ("open", "server", "phone")]
        .map(|(name, from, to)| flow(name, from, to, "\"tcp\"", ticker))
        .concat();
    for unknown in ["reset", "adopt"] {
        let desk = Desk::new();
        let keys = format!("established = \"3 s\", unknown = \"{unknown}\", open-to = [\"open\"]");
        desk.write(
            "s.toml",
            &over_radio(&format!("radio = \"gprs\"\nfirewall = {{ {keys} }}"), &flows, "40 s"),
        );
        let model = desk.run(&["run", "s.toml", "--json", "--no-out"]);
        assert_eq!(model.code, 0, "{}", model.err);
        let Some(kernels) = emulate(&desk, &["flow.*.transport=linux"]) else { return };
        let (model, kernels) = (document(&model.out), document(&kernels.out));
        for name in ["out", "in", "open"] {
            let of = |document, metric: &str| mean(document, name, metric).unwrap();
            for metric in ["firewall_entries", "firewall_expired"] {
                assert_eq!(of(&kernels, metric), of(&model, metric), "{unknown} {name} {metric}");
            }
            // How often a refused segment is sent again, and so answered with a reset, is a matter of the sender's timer.
            for metric in ["firewall_refused", "firewall_resets"] {
                let some = [&kernels, &model].map(|document| of(document, metric) > 0.0);
                assert_eq!(some[0], some[1], "{unknown} {name} {metric}");
            }
        }
    }
}

/// WL-14: the restart of PCU or SGSN is counted, is in the log, and lies under the kernel's timeouts. It is longer than the timer
/// of a sender that has filled the queue of the PCU, which the SGSN's restart leaves alone.
#[test]
fn wl_14_a_restart_stands_under_a_kernels_timeouts() {
    for (element, metric, name) in
        [("pcu", "restarts_pcu", "PCU restart"), ("sgsn", "restarts_sgsn", "SGSN restart")]
    {
        let desk = Desk::new();
        let restart = format!(
            "[hop.radio.gprs]\nclass = 4\n[[hop.radio.gprs.restart]]\nname = \"crash\"\nelement = \"{element}\"\n\
             at = [\"6 s\"]\nlasts = \"12 s\""
        );
        let transfer = bulk("download", "server", "phone", "60 kB");
        desk.write("s.toml", &over_radio(&restart, &transfer, "120 s"));
        let Some(kernels) = emulate(&desk, &["flow.*.transport=linux"]) else { return };
        let kernels = document(&kernels.out);
        assert_eq!(mean(&kernels, "download", metric), Some(1.0), "{kernels:#}");
        assert_eq!(mean(&kernels, "download", "restart_s"), Some(12.0));
        let all =
            desk.run(&["analyse", "kept/captures/0-0.pcapng", "--layers", "kept/events/0-0.jsonl", "--json"]);
        assert_eq!(all.code, 0, "{}", all.err);
        let all = document(&all.out);
        let below = &all["flows"][0]["below"];
        let under = below["troubles"].as_array().unwrap().iter();
        let timeouts = under.filter(|t| t["kind"] == "timeout");
        let named = timeouts.filter(|t| t["under"].as_array().unwrap().iter().any(|m| m["event"] == name));
        assert!(named.count() > 0, "{element}: {below:#}");
        let episodes = below["episodes"].as_array().unwrap();
        let episode = episodes.iter().find(|e| e["event"] == name).unwrap();
        assert!((episode["length_s"]["max"].as_f64().unwrap() - 12.0).abs() < 0.001, "{episode:#}");
    }
}
