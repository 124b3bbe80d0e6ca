//! The claim: a capture of a run in real time has every tap of the path, named as `run` names them, and each packet at
//! each tap at the model's time. Where the process may make no namespaces, the test reports this and is skipped.
#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_methods, reason = "what is tested takes real time")]

mod common;

use base::wire::checksum::Sum;
use capture::Reader;
use common::Desk;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

const CALM: [&str; 3] = ["--lateness", "200 ms", "--no-realtime"];

/// Two stages; the second is the slower one, loses two data packets, and its queue is short.
const STAGES: &str = r#"
    williwaw = 1
    [[hop]]
    name = "core"
    between = ["server", "base"]
    rate = "2 Mbit/s"
    delay = "10 ms"
    queue = "unlimited"
    [[hop]]
    name = "radio"
    between = ["base", "phone"]
    rate = "800 kbit/s"
    delay = "40 ms"
    queue = { drop-tail = { limit = "12 packets" } }
    [[hop.loss]]
    name = "noise"
    directions = "down"
    packets = "9-10"
    [[flow]]
    name = "download"
    from = "server"
    to = "phone"
    transport = { linux = { cc = "cubic" } }
    app = { bulk = { bytes = "100 kB" } }
    [run]
    limit = "20 s"
"#;
const TAPS: [&str; 10] = [
    "server",
    "phone",
    "core.down in",
    "core.down out",
    "core.up in",
    "core.up out",
    "radio.down in",
    "radio.down out",
    "radio.up in",
    "radio.up out",
];

/// A packet at a tap.
struct Seen {
    /// Seconds.
    t: f64,
    ecn: u8,
    words: BTreeMap<String, String>,
    bytes: usize,
    port: u16,
}

impl Seen {
    fn word(&self, word: &str) -> Option<&str> {
        self.words.get(word).map(String::as_str)
    }
    fn number(&self, word: &str) -> f64 {
        self.word(word).map_or(0.0, |word| word.parse().unwrap())
    }
}

/// Packets at each tap; every header's checksum is right and times never decrease.
fn read(path: &Path) -> (Vec<String>, Vec<BTreeMap<u64, Seen>>) {
    let mut reader = Reader::open(std::fs::File::open(path).unwrap()).unwrap();
    let mut taps: Vec<BTreeMap<u64, Seen>> = Vec::new();
    let mut last = 0;
    while let Some(frame) = reader.next().unwrap() {
        assert!(frame.time_ns >= last, "out of order");
        last = frame.time_ns;
        let comment = frame.comments().next().unwrap_or_default();
        let words = comment.split(' ').filter_map(|word| word.split_once('='));
        let words: BTreeMap<String, String> = words.map(|(a, b)| (a.to_owned(), b.to_owned())).collect();
        let sound = frame.bytes[0] >> 4 == 6 || Sum::ZERO.and(&frame.bytes[..20]).finish() == 0;
        assert!(sound || words.contains_key("corrupt"), "checksum of IP: {comment}");
        let Some(number) = words.get("packet") else { continue };
        let number: u64 = number.parse().unwrap();
        taps.resize_with(taps.len().max(frame.interface as usize + 1), BTreeMap::new);
        let seen = Seen {
            t: last as f64 / 1e9,
            ecn: frame.bytes[1] & 3,
            words,
            bytes: frame.bytes.len(),
            port: u16::from_be_bytes([frame.bytes[20], frame.bytes[21]]),
        };
        let before = taps[frame.interface as usize].insert(number, seen);
        assert!(before.is_none(), "packet {number} twice at a tap");
    }
    assert!(reader.notices().kept().is_empty(), "{:?}", reader.notices().kept());
    let name = |i: &capture::Interface| i.name.clone().unwrap_or_default();
    let names: Vec<String> = reader.interfaces().iter().map(name).collect();
    taps.resize_with(names.len(), BTreeMap::new);
    (names, taps)
}

/// Captures of a run in real time; `None` without the rights.
fn emulated(desk: &Desk, text: &str, more: &[&str]) -> Option<Value> {
    desk.write("s.toml", text);
    let args = [&["emulate", "s.toml", "--json", "--captures", "--out", "kept"][..], &CALM, more].concat();
    let done = desk.run(&args);
    if done.code == 3 {
        eprintln!("skipped: {}", done.err);
        return None;
    }
    assert_eq!(done.code, 0, "{}", done.err);
    Some(serde_json::from_str(&done.out).unwrap())
}

/// SW-52: every tap of the path has its packets, each at the time by rate, delay and queue.
#[test]
fn every_tap_of_the_path_is_captured() {
    let desk = Desk::new();
    let Some(document) = emulated(&desk, STAGES, &[]) else { return };
    let file = desk.path("kept/captures/0-0.pcapng");
    let (names, taps) = read(&file);
    assert_eq!(names, TAPS);
    // As in virtual time.
    let modelled = ["run", "s.toml", "--set", "flow.download.transport=tcp", "--pcap", "--out", "modelled"];
    assert_eq!(desk.run(&modelled).code, 0);
    assert_eq!(read(&desk.path("modelled/rep0.pcapng")).0, TAPS);

    // Packets of the server go one way, those of the phone the other.
    let way = |names: [&str; 6]| names.map(|name| &taps[TAPS.iter().position(|tap| *tap == name).unwrap()]);
    let down = way(["server", "core.down in", "core.down out", "radio.down in", "radio.down out", "phone"]);
    let up = way(["phone", "radio.up in", "radio.up out", "core.up in", "core.up out", "server"]);
    let (mut through, mut dropped, mut resent, mut needed) = (0, 0u64, 0, 0);
    for [first, a, b, c, d, last] in [down, up] {
        // A host's tap has its received packets too.
        for (number, seen) in first.iter().filter(|(number, _)| a.contains_key(number)) {
            let at: Vec<&Seen> = [a, b, c, d, last].iter().filter_map(|tap| tap.get(number)).collect();
            assert!(at.iter().all(|other| other.words == seen.words), "one comment at all taps");
            assert_eq!(seen.t, at[0].t);
            assert!(at.is_sorted_by(|one, next| one.t <= next.t));
            resent += u64::from(seen.word("verdict").is_some());
            needed += u64::from(seen.word("verdict") == Some("needed"));
            if seen.word("dropped").is_some() {
                assert!(!last.contains_key(number));
                assert!(matches!(seen.word("at"), Some("radio.down" | "radio.noise")), "{:?}", seen.words);
                dropped += 1;
            } else if at.len() == 5 {
                let bits = seen.bytes as f64 * 8.0;
                let due = seen.t + 0.05 + bits / 2e6 + bits / 8e5 + seen.number("queued");
                assert!((at[3].t - due).abs() < 1e-7, "{} s, {due} s", at[3].t);
                assert!((at[4].t - at[3].t - seen.number("late")).abs() < 1e-8);
                assert!(seen.number("late") > 0.0);
                through += 1;
            }
        }
    }
    assert!(through > 100, "{through}");
    let rows = &document["repetitions"][0]["flows"]["download"];
    assert_eq!(rows["from"]["TcpRetransSegs"].as_u64(), Some(resent), "the kernel's own count");
    // Each lost segment, except an unneeded copy, is retransmitted once.
    assert!(
        dropped >= 2 && (needed..=resent).contains(&dropped),
        "{dropped} lost, {needed} of {resent} needed"
    );
    // Analysis uses the two ends, and ignores the taps between.
    let done = desk.run(&["analyse", "kept/captures/0-0.pcapng", "--json"]);
    let analysed: Value = serde_json::from_str(&done.out).unwrap();
    let told = analysed["notices"].to_string();
    assert!(told.contains("judged at interface 0") && told.contains("interface 1, nearest"), "{told}");
    let flow = &analysed["flows"][0];
    assert_eq!(
        (&flow["retransmissions"], &flow["unneeded_retransmissions"]),
        (&resent.into(), &(resent - needed).into())
    );
    accepted(&file, true);
}

/// tshark and capinfos, if installed, accept the capture, and with `sound` each of its packets.
fn accepted(file: &Path, sound: bool) {
    for (program, args) in [("tshark", &["-T", "fields", "-e", "_ws.malformed", "-r"][..]), ("capinfos", &[])]
    {
        let Ok(output) = Command::new(program).args(args).arg(file).output() else {
            eprintln!("skipped: there is no {program} here");
            continue;
        };
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let complaints = String::from_utf8_lossy(&output.stderr).into_owned();
        let complaints = complaints.lines().filter(|line| !line.starts_with("Running as user"));
        assert_eq!(complaints.collect::<Vec<_>>(), [""; 0]);
        if program == "tshark" && sound {
            assert!(output.stdout.iter().all(|c| *c == b'\n'), "malformed packets");
        }
    }
}

/// An ECN mark is in the captures at the taps after the link that sets it, the receiving kernel's included.
#[test]
fn marks_are_seen_behind_the_link_that_made_them() {
    let desk = Desk::new();
    let text = STAGES
        .replace(
            "drop-tail = { limit = \"12 packets\" }",
            "threshold = { limit = \"100 packets\", mark = \"4 packets\" }",
        )
        .replace("cc = \"cubic\"", "cc = \"cubic\", sysctl = { tcp_ecn = 1 }");
    if emulated(&desk, &text, &[]).is_none() {
        return;
    }
    let (_, taps) = read(&desk.path("kept/captures/0-0.pcapng"));
    let tap = |name: &str| &taps[TAPS.iter().position(|tap| *tap == name).unwrap()];
    let marked: Vec<u64> = tap("phone").iter().filter(|(_, seen)| seen.ecn == 3).map(|(n, _)| *n).collect();
    assert!(marked.len() > 3, "{}", marked.len());
    for number in marked {
        let ecn =
            ["server", "core.down out", "radio.down in", "radio.down out"].map(|name| tap(name)[&number].ecn);
        assert_eq!(ecn, [2, 2, 2, 3]);
    }
}

/// Programs of machines and flows of a model share the taps; a packet that links have corrupted is said to be one.
#[test]
fn programs_and_models_are_captured_beside_each_other() {
    let desk = Desk::new();
    let text = r#"
        williwaw = 1
        [[hop]]
        name = "radio"
        between = ["server", "phone"]
        rate = "2 Mbit/s"
        delay = "20 ms"
        queue = "unlimited"
        [[hop.error]]
        name = "noise"
        directions = "up"
        probability = 0.3
        mode = "corrupt"
        [[flow]]
        name = "model"
        from = "server"
        to = "phone"
        start = "200 ms"
        transport = "tcp"
        app = { bulk = { bytes = "8 kB" } }
        [[command]]
        name = "say"
        at = "phone"
        run = "i=0; while [ $i -lt 20 ]; do echo > /dev/udp/server/4000; i=$((i + 1)); done; sleep 0.2"
        [run]
        limit = "60 s"
        seed = 3
    "#;
    // The shell that commands are given to need not know /dev/udp.
    let text = text.replace("run = \"", "run = \"exec bash -c '").replace("sleep 0.2\"", "sleep 0.2'\"");
    if Command::new("bash").arg("-c").arg("true").status().is_err() {
        return eprintln!("skipped: there is no bash here");
    }
    if emulated(&desk, &text, &[]).is_none() {
        return;
    }
    let file = desk.path("kept/captures/0-0.pcapng");
    let (names, taps) = read(&file);
    assert_eq!(names, ["server", "phone", "radio.down in", "radio.down out", "radio.up in", "radio.up out"]);
    let said: Vec<&Seen> = taps[4].values().filter(|seen| seen.bytes == 29).collect();
    assert_eq!(said.len(), 20);
    let wrong = said.iter().filter(|seen| seen.word("corrupt") == Some("yes")).count();
    assert!((1..16).contains(&wrong), "{wrong} of 20");
    let of_model = |tap: usize| taps[tap].values().filter(|seen| seen.port == 49_152).count();
    assert!(of_model(0) > 4 && [2, 3, 1].iter().all(|&tap| of_model(tap) == of_model(0)));
    accepted(&file, false);
}
