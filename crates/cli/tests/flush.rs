//! RST flush with real stacks: a program that aborts its connection leaves nothing in the queue before the radio link (QM-09).
//! In namespaces and real time, and with kernels in virtual time. Where the process may not make namespaces, or there is no
//! python3 or no kernel, the test reports this and is skipped.
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

/// Packets flushed, and those that the link delivered later than 200 ms after the first flush or, without one, after the reset:
/// of a run in real time, from its events.
fn events(desk: &Desk, out: &str) -> (usize, usize) {
    let text = desk.read(&format!("{out}/events/0-0.jsonl"));
    let events: Vec<Value> = text.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    let times = |which: &dyn Fn(&Value) -> bool| -> Vec<f64> {
        events.iter().filter(|e| which(e)).filter_map(|e| e["t"].as_f64()).collect()
    };
    let flushed =
        |e: &Value| e["event"] == "path:dropped" && e["why"] == "flushed" || e["reason"] == "flushed";
    let (flushed, delivered) =
        (times(&flushed), times(&|e| e["event"] == "path:delivered" && e["at"] == "radio.down"));
    // The reader aborts about 2.5 s after the start.
    let after = flushed.first().copied().unwrap_or(2.6) + 0.2;
    (flushed.len(), delivered.iter().filter(|t| **t > after).count())
}

/// Stale data of a run in virtual time, from its captures at the two hosts: data that left and never arrived, and data
/// that arrived later than 200 ms after the phone's first reset.
fn captured(desk: &Desk, out: &str) -> (usize, usize) {
    let packets = |host: &str| {
        let bytes = std::fs::read(desk.path(&format!("{out}/rep0.{host}.pcapng"))).unwrap();
        let mut reader = capture::Reader::open(&bytes[..]).unwrap();
        let mut packets = Vec::new();
        while let Some(frame) = reader.next().unwrap() {
            let digest = base::wire::read(frame.bytes).unwrap();
            packets.extend(digest.tcp.map(|tcp| (frame.time_ns, tcp, digest.payload)));
        }
        packets
    };
    let (server, phone) = (packets("server"), packets("phone"));
    let data = |(_, tcp, payload): &&(i64, base::wire::TcpHead, u32)| tcp.source == 8000 && *payload > 0;
    let (left, came) = (server.iter().filter(data).count(), phone.iter().filter(data).count());
    let reset = phone.iter().find(|(_, tcp, _)| tcp.source != 8000 && tcp.has(base::wire::flag::RST));
    let after = reset.expect("a reset").0 + 200_000_000;
    (left - came, phone.iter().filter(data).filter(|(t, ..)| *t > after).count())
}

/// Both counts of a run in real or virtual time; `None` if the machine cannot run it.
fn play(desk: &Desk, clock: &[&str], flush: bool) -> Option<(usize, usize)> {
    let (set, out) = (format!("hop.radio.rst-flush={flush}"), format!("{}-{flush}", clock[0]));
    let ended = desk.run(&[clock, &["s.toml", "--out", &out, "--set", &set]].concat());
    if ended.code == 3 {
        eprintln!("skipped: {}", ended.err);
        return None;
    }
    assert_eq!(ended.code, 0, "{}", ended.err);
    Some(if clock[0] == "run" { captured(desk, &out) } else { events(desk, &out) })
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
    // A run that ends with its programs leaves some of them in the queue.
    assert!(without.0 <= 5 && without.1 >= 5, "{without:?}");
}

#[test]
fn a_program_that_aborts_leaves_nothing_behind() {
    if python() {
        judge(&["emulate", "--events", "--lateness", "1 s"]);
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
        judge(&["run", "--pcap", "--linux", &kernel.to_string_lossy()]);
    }
}
