//! Tests of the download scenario's builder: its text is read as the model that its calls describe.
#![cfg(feature = "model")]

use testkit::{Download, model};

#[test]
fn text_reads_as_described() {
    let path = Download::over("400 kbit/s", "150 ms").drop_tail(12).spikes("pause", r#"[["6 s", "4 s"]]"#);
    let flows = path.tcp("mss = \"1000 B\"").bytes("50 kB").and("other", "7 s", "10 kB");
    let model = model::<&str>(&flows.limit("1 h").run("seed = 3").text(), &["flow.other.start=8 s"]);
    assert!((model.links[0].delay.mean_s() - 0.15).abs() < 1e-9);
    assert_eq!((model.gates.len(), model.run.seed), (1, 3));
    let flows: Vec<_> = model.flows.iter().map(|f| (f.name.as_str(), f.app.bulk().unwrap().0)).collect();
    assert_eq!(flows, [("download", Some(50_000)), ("other", Some(10_000))]);
}

#[test]
#[should_panic(expected = "colour")]
fn a_wrong_scenario_fails_with_its_diagnostics() {
    let _ = model::<&str>(&Download::over("1 Mbit/s", "1 ms").tcp("colour = 1").text(), &[]);
}

#[test]
#[should_panic(expected = "expected 1000")]
fn a_lost_corpus_fails() {
    testkit::corpus::replay("line", 1000, |_| ());
}
