//! UDP, QUIC and qlog from the command line: a real QUIC stack (aioquic) across an interruption, its capture and its own log
//! beside each other. Where aioquic or namespaces are missing, the test reports this and is skipped.
#![cfg(target_os = "linux")]

mod common;

use common::Desk;
use serde_json::Value;
use std::path::Path;

fn aioquic() -> Option<String> {
    let named = std::process::Command::new("sh").args(["-c", "echo \"$PYTHON\""]).output().ok()?;
    let named = String::from_utf8_lossy(&named.stdout).trim().to_owned();
    let mut all = [named, "python3".to_owned(), "/usr/bin/python3".to_owned()].into_iter();
    let works = |python: &String| {
        let tried = std::process::Command::new(python).args(["-c", "import aioquic"]).output();
        !python.is_empty() && tried.is_ok_and(|output| output.status.success())
    };
    let found = all.find(works);
    if found.is_none() {
        eprintln!("skipped: no python3 has aioquic here");
    }
    found
}

fn document(out: &str) -> Value {
    serde_json::from_str(out).unwrap_or_else(|e| panic!("{e}: {out}"))
}

#[test]
fn a_capture_and_a_qlog_of_one_connection_agree() {
    let Some(python) = aioquic() else { return };
    let desk = Desk::new();
    let real = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/real");
    for file in ["quic.toml", "quic.py"] {
        std::fs::copy(real.join(file), desk.path(file)).unwrap();
    }
    std::fs::create_dir(desk.path("logs")).unwrap();
    let args = ["emulate", "quic.toml", "--reps", "1", "--captures", "--out", "kept", "--lateness", "200 ms"];
    let output = desk.command(&args).env("PYTHON", python).env("QLOG", desk.path("logs")).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.code() == Some(3) {
        eprintln!("skipped: {said}");
        return;
    }
    assert!(output.status.success(), "{said}");
    let log = std::fs::read_dir(desk.path("logs")).unwrap().next().expect("a qlog").unwrap().path();
    let log = log.to_str().unwrap();

    let capture = "kept/captures/0-0.server.pcapng";
    let seen = document(&desk.run(&["analyse", capture, "--json"]).out);
    let flow = &seen["datagram_flows"][0];
    let down = &flow["ways"][flow["main"].as_u64().unwrap() as usize];
    assert_eq!(
        (&flow["quic"]["version"], &flow["quic"]["spin_bit"]),
        (&"0x00000001".into(), &"spins".into())
    );
    // The smallest round trip is at least twice 30 ms; the median includes a queue of at most 0.4 s.
    let spin = &flow["quic"]["spin_rtt_s"];
    let rtt = |key: &str| spin[key].as_f64().unwrap();
    assert!(rtt("min") >= 0.06 && rtt("median") < 0.6, "{spin}");
    assert!(down["bytes"].as_u64().unwrap() > 1_000_000, "{down}");
    let longest = down["longest_gaps"][0]["lasts_s"].as_f64().unwrap();
    let said = desk.run(&["analyse", capture]);
    let flat = said.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("QUIC") && flat.contains("spin bit gives round trips"), "{}", said.out);

    let told = document(&desk.run(&["analyse", log, "--json"]).out);
    let trace = &told["qlog_traces"][0];
    assert_eq!(trace["vantage_point"], "server");
    // Each datagram of the capture holds a packet of the log, some of the handshake two.
    let sent = trace["packets_sent"].as_u64().unwrap();
    let datagrams = down["datagrams"].as_u64().unwrap();
    assert!(
        sent >= datagrams && sent <= datagrams + 6,
        "{sent} packets in {datagrams} datagrams; longest gap {longest}"
    );
    for (file, words) in [(capture, "rate"), (log, "packets sent")] {
        let page = desk.run(&["analyse", file, "--html", "case.html"]);
        assert_eq!(page.code, 0, "{}", page.err);
        assert!(desk.read("case.html").contains(words), "{file}");
        let drawn = desk.run(&["plot", file, "-o", "p.svg"]);
        assert_eq!(drawn.code, 0, "{}", drawn.err);
        assert!(desk.read("p.svg").starts_with("<svg"), "{file}");
    }
    assert_eq!(desk.run(&["plot", capture, "--kind", "rtt", "-o", "p.svg"]).code, 0);
    assert_eq!(desk.run(&["plot", capture, "--kind", "window"]).code, 2);
}

#[test]
fn what_is_no_qlog_is_refused_in_a_sentence() {
    let desk = Desk::new();
    desk.write("a.qlog", "{\"traces\": []}");
    let ended = desk.run(&["analyse", "a.qlog"]);
    assert_eq!(ended.code, 2, "{}", ended.err);
    assert!(ended.err.contains("so it is no qlog"), "{}", ended.err);
    desk.write("b.qlog", "\u{1e}{\"qlog_version\":\"0.3\",\"trace\":{}}\n");
    let empty = desk.run(&["analyse", "b.qlog", "--flow", ":1"]);
    assert_eq!(empty.code, 2, "{}", empty.err);
    assert_eq!(desk.run(&["analyse", "b.qlog"]).code, 0);
}
