//! The claim: a capture is drawn in every format that a file name requests, with the lower-layer events at its
//! timeouts.

mod common;

use common::Desk;
use serde_json::Value;
use testkit::Download;

fn scenario() -> Download {
    let path =
        Download::over("400 kbit/s", "150 ms").drop_tail(40).spikes("reselection", r#"[["6 s", "4 s"]]"#);
    path.tcp(r#"profile = "rfc", recovery = "newreno", timestamps = true"#).bytes("400 kB")
}

fn run(desk: &Desk, args: &[&str]) -> (i32, String, String) {
    let ended = desk.run(args);
    (ended.code, ended.out, ended.err)
}

/// Captured at both ends, drawn on one clock, with the gate that the scenario had (TA-01, TA-05, TA-09).
#[test]
fn a_capture_is_drawn_in_every_format() {
    let desk = Desk::new();
    let at = &desk;
    desk.write("s.toml", &scenario().text());
    assert_eq!(run(at, &["run", "s.toml", "--reps", "1", "--out", "out", "--pcap"]).0, 0);
    assert_eq!(run(at, &["plot", "s.toml", "--layers-out", "gates.csv", "--json"]).0, 0);
    let (server, phone) = ("out/rep0.server.pcapng", "out/rep0.phone.pcapng");
    let both = ["plot", server, "--receiver", phone, "--layers", "gates.csv"];
    let files = ["-o", "a.html", "-o", "a.svg", "-o", "a.png", "-o", "a.xplot"];
    let (code, told, said) = run(at, &[&both[..], &files].concat());
    assert_eq!(code, 0, "{said}");
    assert!(
        told.contains("spurious") && told.contains("gate: radio.reselection at 6.000 to 10.000 s"),
        "{told}"
    );
    let begins = |name: &str| std::fs::read(at.path(name)).unwrap()[..4].to_vec();
    assert_eq!(begins("a.svg"), b"<svg");
    assert_eq!(begins("a.png"), b"\x89PNG");
    assert_eq!(begins("a.xplot"), b"time");
    assert_eq!(begins("a.html"), b"<!do");
    let (_, told, _) = run(at, &[&both[..], &["--json"]].concat());
    let document: Value = serde_json::from_str(&told).unwrap();
    assert_eq!(document["under"][0]["kind"], "spurious");
    assert_eq!(document["under"][0]["events"][0]["event"], "radio.reselection");
    let clocks = &document["clocks"];
    let within = clocks["within_s"].as_f64().unwrap();
    assert!(clocks["receiver_ahead_s"].as_f64().unwrap().abs() <= within + 1e-6, "{clocks}");
    let picture = &document["picture"];
    let unneeded =
        |p: &Value| p["sent"].as_array().unwrap().iter().filter(|s| s["kind"] == "unneeded").count();
    let (_, told, _) = run(at, &["plot", "s.toml", "--json"]);
    let simulated: Value = serde_json::from_str(&told).unwrap();
    assert_eq!(unneeded(picture), unneeded(&simulated["picture"]));
    for kind in ["rtt", "throughput", "outstanding", "window"] {
        let (code, told, said) = run(at, &["plot", server, "--kind", kind, "-o", "b.svg", "--json"]);
        assert_eq!(code, 0, "{said}");
        let document: Value = serde_json::from_str(&told).unwrap();
        assert!(!document["chart"]["panel"]["series"][0]["points"].as_array().unwrap().is_empty(), "{kind}");
    }
    // Every error is one message with its place.
    desk.write("bad.csv", "time_s,event\nsoon,x\n");
    for (args, word) in [
        (&["plot", server, "-o", "a.gif"][..], "names no picture format"),
        (&["plot", server, "--rep", "1"], "--rep does not apply to a capture"),
        (&["plot", "s.toml", "--from", "1"], "--from is for captures"),
        (&["plot", server, "--layers", "bad.csv"], "`bad.csv`, line 2"),
        (&["plot", server, "--from", "5", "--until", "5"], "--until 5 is not after"),
        (&["plot", server, "--kind", "rtt", "-o", "a.xplot"], "only the time sequence"),
        (&["plot", server, "--flow", "192.0.2.9"], "has the end"),
    ] {
        let (code, _, said) = run(at, args);
        assert_eq!(code, 2, "{args:?}: {said}");
        assert!(said.contains(word), "{args:?}: {said}");
    }
}
