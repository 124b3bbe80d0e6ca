//! `williwaw print` and the Wireshark fields: the headers of a capture, and why each retransmission was sent.

#![allow(clippy::unwrap_used, reason = "a test")]

use assert_cmd::Command;
use serde_json::Value;
use std::path::{Path, PathBuf};

const STUDY: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments/seawind/case-study.scenario.toml");

fn williwaw(arguments: &[&str]) -> String {
    let done = Command::cargo_bin("williwaw").unwrap().args(arguments).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}

/// Runs repetitions of the case study with captures, and gives their document and the folder.
fn captured(folder: &Path, repetitions: u32) -> (Value, PathBuf) {
    let out = folder.join("run");
    let (reps, pcap) = (repetitions.to_string(), format!("--pcap=0-{}", repetitions - 1));
    let document =
        williwaw(&["run", STUDY, "--out", out.to_str().unwrap(), "--reps", &reps, &pcap, "--json", "-q"]);
    (serde_json::from_str(&document).unwrap(), out)
}

fn losses(capture: &Path) -> Vec<Value> {
    let document = williwaw(&["print", "--losses", "--json", capture.to_str().unwrap()]);
    let document: Value = serde_json::from_str(&document).unwrap();
    assert_eq!(document["schema"], "williwaw-losses/1");
    document["retransmissions"].as_array().unwrap().clone()
}

/// SW-54, C096: in a transfer as figure 6 of the Seawind paper shows it, every retransmission is named: a queue drop
/// before the change of cell at 40 s, a link error, or a copy that was not lost.
#[test]
fn every_retransmission_has_its_reason() {
    let folder = tempfile::tempdir().unwrap();
    let (document, out) = captured(folder.path(), 20);
    let start = 1_000_000_000.0;
    let (mut all, mut like_figure_6) = (0, 0);
    for repetition in 0..20 {
        let losses = losses(&out.join(format!("rep{repetition}.pcapng")));
        all += losses.len();
        // When the first copy left: before or after the change.
        let count = |reason: &str, before: bool| {
            let fits = |l: &&Value| {
                l["dropped"] == reason && (l["earlier_t"].as_f64().unwrap() < start + 40.0) == before
            };
            losses.iter().filter(fits).count()
        };
        let known =
            |l: &Value| ["queue-full", "loss"].iter().any(|r| l["dropped"] == *r) || l["dropped"].is_null();
        assert!(losses.iter().all(known));
        assert!(losses.iter().all(|l| l["at"].is_null() || l["at"] == "gsm.down"));
        let figure = count("queue-full", true) >= 1 && count("queue-full", false) == 0;
        like_figure_6 += u32::from(figure && count("loss", false) >= 15 * count("loss", true).max(1));
    }
    let counted = document["cells"][0]["metrics"]["segments_retransmitted"]["mean"].as_f64().unwrap() * 20.0;
    println!(
        "{all} retransmissions of 20 transfers have their reason; {like_figure_6} transfers are as in figure 6"
    );
    assert_eq!(all as f64, counted.round());
    assert!(like_figure_6 >= 1);
}

/// SW-51: the printer at every tap of a run; the lines are held against tcpdump's in `capture/tests/print.rs`.
#[test]
fn a_line_for_each_packet_of_every_tap() {
    let folder = tempfile::tempdir().unwrap();
    let (_, out) = captured(folder.path(), 1);
    let lines = williwaw(&["print", out.join("rep0.server.pcapng").to_str().unwrap()]);
    let first = lines.lines().next().unwrap();
    assert!(first.contains("IP 10.0.0.1.49152 > ") && first.contains("Flags [S], seq "), "{first}");
    assert!(lines.lines().all(|line| line.contains(", length ")));
    let all = williwaw(&["print", out.join("rep0.pcapng").to_str().unwrap()]);
    assert!(all.lines().count() > 4 * lines.lines().count());
    let broken = Command::cargo_bin("williwaw").unwrap().args(["print", STUDY]).output().unwrap();
    assert_eq!(broken.status.code(), Some(2));
}

/// A capture without the fates of its packets gives no count of retransmissions.
#[test]
fn a_capture_without_fates_tells_no_losses() {
    let capture = concat!(env!("CARGO_MANIFEST_DIR"), "/../analyse/tests/data/kept/rack-sender.pcap");
    let done = Command::cargo_bin("williwaw").unwrap().args(["print", "--losses", capture]).output().unwrap();
    assert_eq!(done.status.code(), Some(2));
    assert!(done.stdout.is_empty());
    let told = String::from_utf8_lossy(&done.stderr);
    assert!(told.contains("does not record the fate of its packets"), "{told}");
}

/// The fields of the Lua file in Wireshark equal the comments.
#[test]
fn wireshark_shows_the_verdicts() {
    if std::process::Command::new("tshark").arg("--version").output().is_err() {
        println!("skipped: tshark is not installed");
        return;
    }
    let lua = concat!(env!("CARGO_MANIFEST_DIR"), "/../capture/wireshark/williwaw.lua");
    let text = std::fs::read_to_string(lua).unwrap();
    assert!(text.lines().count() <= 100);
    let folder = tempfile::tempdir().unwrap();
    let (document, out) = captured(folder.path(), 1);
    let shown = std::process::Command::new("tshark")
        .args([
            "-X",
            &format!("lua_script:{lua}"),
            "-T",
            "fields",
            "-e",
            "williwaw.verdict",
            "-e",
            "williwaw.summary",
            "-r",
        ])
        .arg(out.join("rep0.server.pcapng"))
        .output()
        .unwrap();
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    if shown.is_empty() {
        println!("skipped: this tshark has no Lua");
        return;
    }
    let count =
        |word: &str| shown.lines().filter(|line| line.split('\t').next() == Some(word)).count() as f64;
    let metric = |name: &str| document["cells"][0]["metrics"][name]["mean"].as_f64().unwrap();
    assert_eq!(count("unneeded"), metric("unneeded_retransmissions"));
    assert_eq!(count("needed") + count("unneeded"), metric("segments_retransmitted"));
    assert!(shown.contains("dropped: loss at gsm.down") && shown.contains("genuine timeout"));
}
