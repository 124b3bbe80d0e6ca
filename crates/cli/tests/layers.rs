//! The claim: `analyse --layers` reports which lower-layer event overlaps which timeout or silence, with its
//! certainty, and the cost of each interruption; for runs in virtual time, and for captures and logs of runs in real
//! time (TA-05, TA-07, TA-08).

mod common;

use capture::Unpacked;
use common::Desk;
use serde_json::Value;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use testkit::Download;

fn scenario() -> Download {
    let spikes = r#"[["4 s", "6 s"], ["30 s", "5 s"]]"#;
    let path = Download::over("100 kbit/s", "100 ms").drop_tail(30).spikes("reselection", spikes);
    path.tcp(r#"profile = "rfc", window = "8 kB", mss = "1000 B""#).bytes("6 MB")
}

/// The file of a test of the analyser, unpacked.
fn unpacked(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../analyse/tests/data/spike").join(name);
    let mut out = Vec::new();
    Unpacked::new(File::open(path).unwrap()).unwrap().read_to_end(&mut out).unwrap();
    out
}

fn document(desk: &Desk, args: &[&str]) -> Value {
    let out = desk.run(args);
    assert_eq!(out.code, 0, "{}", out.err);
    serde_json::from_str(&out.out).unwrap()
}

/// Each timeout and silence overlaps a reselection, with the probability of coincidence; interval, length, silence
/// and losses of the interruptions; signalling beside them (TA-05, TA-07, TA-08).
#[test]
fn a_reselection_in_virtual_time_lies_under_its_timeouts() {
    let desk = Desk::new();
    desk.write("s.toml", &scenario().text());
    assert_eq!(desk.run(&["run", "s.toml", "--pcap", "--out", "out", "--quiet"]).code, 0);
    assert_eq!(desk.run(&["plot", "s.toml", "--layers-out", "path.csv", "--json"]).code, 0);
    // Beside the reselections: a very frequent event, and an event outside of the connection's time.
    let mut table = desk.read("path.csv");
    for i in 0..600 {
        table += &format!("{i},paging,,,radio\n");
    }
    table += "9000,cell update,9001,,signalling\n";
    desk.write("path.csv", &table);
    let capture = "out/rep0.server.pcapng";
    let all = document(&desk, &["analyse", capture, "--layers", "path.csv", "--json"]);
    let below = &all["flows"][0]["below"];
    let troubles = below["troubles"].as_array().unwrap();
    assert!(troubles.iter().any(|x| x["kind"] == "timeout"), "{below:#}");
    for trouble in troubles {
        let under = trouble["under"].as_array().unwrap();
        let of = |name: &str| under.iter().find(|m| m["event"] == name);
        let reselection = of("radio.reselection").unwrap_or_else(|| panic!("nothing under {trouble:#}"));
        assert!(["sure", "likely"].contains(&reselection["sureness"].as_str().unwrap()));
        assert!(of("paging").is_none_or(|m| m["sureness"] == "may-be-chance"), "{trouble:#}");
        assert!(of("cell update").is_none());
    }
    assert!(
        troubles.iter().any(|x| x["under"][0]["sureness"] == "sure" || x["under"][1]["sureness"] == "sure")
    );
    let first = &below["together"][0];
    assert_eq!(
        (&first["event"], &first["events"], &first["harmless"]),
        (&"radio.reselection".into(), &2.into(), &0.into())
    );
    assert_eq!(first["touched"], first["troubles"]);
    assert!(first["accident"].as_f64().unwrap() < 0.05, "{first:#}");
    let names: Vec<&str> =
        below["together"].as_array().unwrap().iter().filter_map(|x| x["event"].as_str()).collect();
    assert_eq!(
        names,
        ["radio.reselection", "paging"],
        "what lies outside of the connection's time is left out"
    );
    // Cost of the two interruptions: no loss, and silences longer than the interruptions.
    let episodes = &below["episodes"][0];
    assert_eq!((&episodes["event"], &episodes["n"]), (&"radio.reselection".into(), &2.into()));
    assert_eq!(episodes["interval_s"]["mean"], 26.0);
    assert_eq!((&episodes["length_s"]["min"], &episodes["length_s"]["max"]), (&5.0.into(), &6.0.into()));
    assert_eq!(
        episodes["lost"]["to-client"]["max"].as_f64().unwrap()
            + episodes["lost"]["to-server"]["max"].as_f64().unwrap(),
        0.0
    );
    assert!(episodes["longer_by_s"]["min"].as_f64().unwrap() > 0.0, "{episodes:#}");
    // The capture alone shows the same two silences.
    assert_eq!(all["flows"][0]["silences"]["n"], 2);
    for columns in [60, 120] {
        let text = desk.run_at(columns, &["analyse", capture, "--layers", "path.csv"]).out;
        assert!(
            text.split_whitespace()
                .collect::<Vec<_>>()
                .join(" ")
                .contains("coincide with `radio.reselection`"),
            "{text}"
        );
    }
}

/// A GPRS bearer with two changes of cell, each with a routing area update.
const BEARER: &str = r#"
williwaw = 1
[[hop]]
name = "radio"
between = ["server", "phone"]
[hop.radio.gprs.reselection]
at = ["30 s", "80 s"]
routing-area = 1
system-information = "uniform(1.2 s, 2.4 s)"
[[flow]]
name = "transfer"
from = "FROM"
to = "TO"
transport = { tcp = { profile = "rfc", mss = "1000 B" } }
app = { bulk = { bytes = "300 kB" } }
[run]
limit = "1000 s"
"#;

/// TA-07: the run's own table of the bearer with its own capture: interval and length of the cell changes, and the
/// cost of each in segments. Downlink data of the old cell are lost, uplink data wait at the mobile. TA-08: cell
/// update and routing area update of each change, in order and with their times, within the connection.
#[test]
fn changes_of_cell_of_a_bearer_are_measured() {
    let desk = Desk::new();
    for (from, to) in [("server", "phone"), ("phone", "server")] {
        desk.write("s.toml", &BEARER.replace("FROM", from).replace("TO", to));
        let out = format!("out-{from}");
        assert_eq!(desk.run(&["run", "s.toml", "--pcap", "--out", &out, "--quiet"]).code, 0);
        assert_eq!(desk.run(&["plot", "s.toml", "--layers-out", "path.csv", "--json"]).code, 0);
        let changes: Vec<String> = desk
            .read("path.csv")
            .lines()
            .filter(|l| l.contains("cell reselection"))
            .map(str::to_owned)
            .collect();
        assert_eq!(changes.len(), 2, "{changes:?}");
        for change in &changes {
            let at = |step: &str| change.find(step).unwrap_or_else(|| panic!("no {step}: {change}"));
            assert!(at("access after") < at("cell-update after"), "{change}");
            assert!(at("cell-update after") < at("routing-area-update after"), "{change}");
        }
        let capture = format!("{out}/rep0.{from}.pcapng");
        let all = document(&desk, &["analyse", &capture, "--layers", "path.csv", "--json"]);
        let episodes = all["flows"][0]["below"]["episodes"].as_array().unwrap();
        let found = episodes.iter().find(|e| e["event"] == "cell reselection").unwrap();
        assert_eq!((&found["n"], &found["interval_s"]["mean"]), (&2.into(), &50.0.into()), "{from}");
        let length = |which: &str| found["length_s"][which].as_f64().unwrap();
        assert!(2.5 < length("min") && length("max") < 5.0, "{from}: {found:#}");
        // Who opens the connection is the client, and sends here.
        let lost = |way: &str, which: &str| found["lost"][way][which].as_f64().unwrap();
        assert_eq!(lost("to-client", "max"), 0.0, "{from}");
        match from {
            "server" => assert!(lost("to-server", "min") >= 10.0, "{found:#}"),
            _ => assert!(lost("to-server", "max") <= 1.0, "{found:#}"),
        }
    }
}

/// The log of a run in real time, and the kernel's packets at both packet ports (TA-05).
#[test]
fn a_stall_in_real_time_lies_under_the_kernels_timeout() {
    let desk = Desk::new();
    for case in ["both", "neither"] {
        std::fs::write(desk.path("c.pcapng"), unpacked(&format!("{case}.pcapng.gz"))).unwrap();
        std::fs::write(desk.path("c.jsonl"), unpacked(&format!("{case}.jsonl.gz"))).unwrap();
        let all = document(&desk, &["analyse", "c.pcapng", "--layers", "c.jsonl", "--json"]);
        // Both packet ports are in one file: each packet passes two interfaces, 300 ms apart.
        assert_eq!(all["notices"].as_array().unwrap().len(), 1, "{}", all["notices"]);
        let flow = &all["flows"][0];
        let resent = flow["retransmissions"].as_u64().unwrap();
        assert!((1..=16).contains(&resent), "{case}: {resent} retransmissions");
        assert_eq!(flow["unneeded_retransmissions"], flow["retransmissions"], "{case}");
        let spurious = flow["timeouts"].as_array().unwrap();
        assert!(!spurious.is_empty() && spurious.iter().all(|t| t["kind"] == "spurious"), "{case}");
        let troubles = flow["below"]["troubles"].as_array().unwrap();
        for trouble in troubles.iter().filter(|x| x["kind"] == "timeout") {
            let under = trouble["under"].as_array().unwrap();
            assert!(under.iter().any(|m| m["event"] == "stall"), "{case}: {trouble:#}");
        }
    }
}

#[test]
fn what_is_wrong_with_a_file_of_events_has_its_line() {
    let desk = Desk::new();
    std::fs::write(desk.path("c.pcapng"), unpacked("both.pcapng.gz")).unwrap();
    desk.write("head.csv", "when,what\n1,a\n");
    desk.write("time.csv", "time_s,event\n1,a\nsoon,b\n");
    desk.write("log.jsonl", "{\"t\":1,\"event\":\"path:marked\"}\n{\"t\":2}\n");
    desk.write("none.csv", "time_s,event\n");
    for (file, word) in [
        ("head.csv", "line 1"),
        ("time.csv", "line 3"),
        ("log.jsonl", "line 2"),
        ("missing.csv", "cannot read"),
    ] {
        let out = desk.run(&["analyse", "c.pcapng", "--layers", file]);
        assert_eq!(out.code, 2, "{file}: {}", out.err);
        assert!(out.err.contains(word) && out.err.contains("help:"), "{file}: {}", out.err);
    }
    let out = desk.run(&["analyse", "c.pcapng", "--layers", "none.csv"]);
    assert!(out.out.contains("none of the events is within the time of this connection"), "{}", out.out);
}

/// The capture of a bearer's radio blocks is a layer of its own: TBFs, repeats and pauses lie under the timeouts, and the
/// picture has each block (TA-05, TA-06).
#[test]
fn ta_06_radio_blocks_of_a_capture_lie_under_timeouts() {
    let desk = Desk::new();
    let text = BEARER.replace("FROM", "server").replace("TO", "phone");
    desk.write("s.toml", &text);
    assert_eq!(desk.run(&["run", "s.toml", "--pcap", "--out", "out", "--quiet"]).code, 0);
    let (whole, sender) = ("out/rep0.pcapng", "out/rep0.server.pcapng");
    let all = document(&desk, &["analyse", sender, "--layers", whole, "--json"]);
    let below = &all["flows"][0]["below"];
    let troubles = below["troubles"].as_array().unwrap();
    assert!(!troubles.is_empty(), "{below:#}");
    let under = |x: &Value| x["under"].as_array().cloned().unwrap_or_default();
    let pauses = troubles.iter().filter(|x| under(x).iter().any(|m| m["event"] == "no data block")).count();
    assert!(pauses > 0, "a change of cell leaves the air empty: {below:#}");
    let layers: Vec<String> =
        troubles.iter().flat_map(under).filter_map(|m| Some(m["layer"].as_str()?.to_owned())).collect();
    assert!(layers.iter().any(|l| l == "RLC down"), "{layers:?}");
    assert!(!layers.iter().any(|l| l.starts_with("RLC blocks")), "single blocks explain nothing: {layers:?}");
    let drawn = document(&desk, &["plot", sender, "--layers", whole, "--json"]);
    assert!(drawn.to_string().contains("RLC blocks down"), "blocks are drawn");
    let none = desk.run(&["analyse", sender, "--layers", sender]);
    assert_eq!(none.code, 2);
    assert!(none.err.contains("no radio block in GSMTAP"), "{}", none.err);
}
