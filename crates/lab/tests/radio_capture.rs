//! Tests of a capture's radio taps with tshark: its dissectors gsm_rlcmac, llcgprs, sndcp and bssgp read
//! every block and frame. Without tshark the test reports this.

use capture::Reader;
use lab::capture::capture;
use scenario::Model;
use scenario::metric::Metric;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;
use testkit::radio_hop::{bulk, over_radio};

fn model(radio: &str, flows: &str) -> Model {
    testkit::model::<&str>(&over_radio(&format!("[hop.radio.gprs]\n{radio}"), flows, "1 h"), &[])
}

/// Bearers with different block contents.
fn cases() -> Vec<(&'static str, Model)> {
    let down = bulk("download", "server", "phone", "150 kB");
    let both = format!("{down}{}", bulk("upload", "phone", "server", "40 kB"));
    vec![
        (
            "gprs",
            model(
                r#"
                class = 4
                scheme = "cs-2"
                errors = { c-i = { db = 12 } }
                tbf = { hold = { down = "1 s", up = "0 s" }, t3192 = "500 ms" }
                "#,
                &both,
            ),
        ),
        (
            "egprs",
            model(
                r#"
                class = 4
                scheme = "mcs-9"
                rlc = { window = 384, resegment = true }
                errors = { c-i = { db = 18 } }
                "#,
                &both,
            ),
        ),
        (
            "acknowledged",
            model(
                r#"
                class = 4
                scheme = "cs-3"
                llc = { mode = "acknowledged" }
                errors = { c-i = { db = 14 } }
                "#,
                &down,
            ),
        ),
    ]
}

/// The value of each wanted field in each frame.
fn fields(file: &Path, wanted: &[&str]) -> Option<Vec<Vec<String>>> {
    let mut tshark = Command::new("tshark");
    tshark.arg("-n").arg("-r").arg(file).args(["-T", "fields", "-E", "separator=;"]);
    wanted.iter().for_each(|f| _ = tshark.args(["-e", f]));
    let out = tshark.output().ok()?;
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    Some(text.lines().map(|l| l.split(';').map(str::to_owned).collect()).collect())
}

/// 10 000 blocks and their upper layers, all readable by tshark.
#[test]
fn tshark_reads_every_block_and_frame() {
    let folder = tempfile::tempdir().unwrap();
    let keep = std::env::var_os("WILLIWAW_KEEP").map(std::path::PathBuf::from);
    let folder = keep.as_deref().unwrap_or(folder.path());
    let (mut blocks, mut protocols) = (0, BTreeSet::new());
    for (name, model) in cases() {
        let file = folder.join(format!("{name}.pcapng"));
        let bytes = capture(&model, 0).write(Vec::new(), None, 96, "test").unwrap();
        let mut reader = Reader::open(&bytes[..]).unwrap();
        let mut frames: BTreeMap<u32, u64> = BTreeMap::new();
        while let Some(frame) = reader.next().unwrap() {
            *frames.entry(frame.interface).or_default() += 1;
        }
        let named: Vec<_> = reader.interfaces().iter().filter_map(|i| i.name.clone()).collect();
        assert_eq!(named, ["server", "phone", "radio air", "radio gb", "radio llc"], "{name}");
        blocks += frames[&2];
        std::fs::write(&file, &bytes).unwrap();
        let wanted = [
            "frame.interface_name",
            "frame.protocols",
            "_ws.malformed",
            "_ws.expert.message",
            "llcgprs.fcs",
            "frame.number",
        ];
        let Some(rows) = fields(&file, &wanted) else {
            eprintln!("skipped: tshark is not installed");
            return;
        };
        for row in rows.iter().filter(|r| r[0].starts_with("radio ")) {
            protocols.extend(row[1].split(':').map(str::to_owned));
            assert!(row[2].is_empty(), "{name}: {row:?}");
            let air = row[0] == "radio air";
            assert!(!air || row[1].contains("gsm_rlcmac"), "{name}: {row:?}");
            assert!(air || row[1].contains("llcgprs") || row[1].ends_with("bssgp"), "{name}: {row:?}");
            assert!(!row[3].contains("FCS") && !row[3].contains("error"), "{name}: {row:?}");
        }
    }
    assert!(blocks >= 10_000, "{blocks} blocks");
    for wanted in ["gsmtap", "gsm_rlcmac", "llcgprs", "sndcp", "gprs-ns", "bssgp"] {
        assert!(protocols.contains(wanted), "{wanted} among {protocols:?}");
    }
    eprintln!("tshark reads {blocks} blocks; {protocols:?}");
}

/// A change of cell lies under the timeout that it causes, with its steps.
#[test]
fn the_picture_names_the_change_of_cell_under_a_timeout() {
    let radio = r#"
        class = 4
        scheme = "cs-2"
        reselection = { at = ["20 s"], outage = "5 s" }
    "#;
    let model = model(radio, &bulk("download", "server", "phone", "150 kB"));
    let picture = lab::picture::picture(&model, 0, 0);
    let under = report::under(&picture.timeouts, &picture.sent, &picture.layers);
    let named = |u: &report::TimeoutOverlap| u.events.iter().any(|e| e.event.event == "cell reselection");
    assert!(under.iter().any(named), "{:?}", picture.layers);
    assert!(picture.layers.iter().any(|l| l.name == "radio TBF down" && !l.events.is_empty()));
}

/// WL-14: the capture names the restart of a network element, not a change of cell, under the timeout that the restart
/// causes.
#[test]
fn wl_14_the_picture_names_the_restart_under_a_timeout() {
    let radio = r#"
        class = 4
        scheme = "cs-2"
        reselection = { at = ["40 s"], outage = "5 s" }
        [[hop.radio.gprs.restart]]
        name = "crash"
        element = "pcu"
        at = ["20 s"]
        lasts = "6 s"
    "#;
    let model = model(radio, &bulk("download", "server", "phone", "150 kB"));
    let picture = lab::picture::picture(&model, 0, 0);
    let network = picture.layers.iter().find(|l| l.name == "radio network").unwrap();
    let events: Vec<_> = network.events.iter().map(|e| (e.event.as_str(), e.t, e.until)).collect();
    assert_eq!(events, [("PCU restart", 20.0, Some(26.0))]);
    let under = report::under(&picture.timeouts, &picture.sent, &picture.layers);
    let names = |u: &report::TimeoutOverlap| -> Vec<String> {
        u.events.iter().map(|e| e.event.event.clone()).collect()
    };
    let all: Vec<String> = under.iter().flat_map(names).collect();
    assert!(all.iter().any(|e| e == "PCU restart") && all.iter().any(|e| e == "cell reselection"), "{all:?}");
}

/// TA-06: each RLC block of a bearer is drawn over its number: first transmission, retransmission, acknowledgement;
/// dummy blocks, set-ups and releases of TBFs are in rows. The numbers drawn equal the bearer's counters.
#[test]
fn ta_06_the_picture_has_every_rlc_block() {
    let radio = r#"
        class = 4
        scheme = "cs-2"
        errors = { constant = { rate = 0.1 } }
        tbf = { hold = "1 s" }
    "#;
    let model = model(radio, &bulk("download", "server", "phone", "30 kB"));
    let picture = lab::picture::picture(&model, 0, 0);
    let outcome = lab::run_once(&model, 0, lab::once::Options::default());
    let get = |metric| outcome.flows[0].get(metric).unwrap();
    let dots = |name: &str| -> f64 {
        let named = picture.panels.iter().filter(|p| p.unit.starts_with("RLC block"));
        let series = named.flat_map(|p| &p.series).filter(|s| s.name == name);
        series.map(|s| s.points.len()).sum::<usize>() as f64
    };
    assert_eq!(dots("retransmitted"), get(Metric::RadioBlocksRepeated));
    assert!(dots("retransmitted") > 20.0 && dots("acknowledged: all before") > 10.0);
    let rows = |row: &str, event: &str| -> Vec<&report::LayerEvent> {
        let rows = picture.layers.iter().filter(|l| l.name.starts_with(row));
        rows.flat_map(|l| &l.events).filter(|e| e.event == event).collect()
    };
    let dummies: f64 = rows("radio RLC", "dummy blocks")
        .iter()
        .map(|e| e.detail.split(' ').next().unwrap().parse::<f64>().unwrap())
        .sum();
    assert_eq!(dummies, get(Metric::RadioBlocksDummy));
    assert!(dummies > 0.0, "TBFs are kept by dummy blocks");
    // 30 kB in blocks of 30 octets of data, with headers of 40 in 1000.
    assert!(dots("first sent") > 1000.0, "{}", dots("first sent"));
    assert!(!rows("radio TBF", "TBF set-up").is_empty() && !rows("radio TBF", "TBF released").is_empty());
    // A repeat has a number that was sent before it in the same direction.
    for panel in &picture.panels {
        let of = |name: &str| panel.series.iter().find(|s| s.name == name);
        let (Some(first), Some(again)) = (of("first sent"), of("retransmitted")) else { continue };
        for [t, number] in &again.points {
            assert!(first.points.iter().any(|[at, n]| at < t && n == number), "{number} at {t}");
        }
    }
}
