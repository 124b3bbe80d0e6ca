//! Test of the replay of a recorded delay, packet by packet.

use lab::once::{Options, run_once};
use scenario::metric::Metric;

/// A download over a link with this delay; `trace` is the file beside the scenario.
fn run(delay: &str, trace: &'static str) -> (f64, f64, f64) {
    let text = format!(
        r#"
        williwaw = 1
        [[hop]]
        name = "radio"
        between = ["server", "phone"]
        rate = "100 kbit/s"
        delay = {delay}
        queue = "unlimited"
        [[flow]]
        name = "download"
        from = "server"
        to = "phone"
        transport = {{ tcp = {{ mss = "1000 B", window = "10 kB" }} }}
        app = {{ bulk = {{ bytes = "100 kB" }} }}
        "#
    );
    let files = move |_: &str| Ok(trace.as_bytes().to_vec());
    let scenario = scenario::read("replay.toml", text.as_bytes(), &files).unwrap_or_else(|d| panic!("{d}"));
    let outcome = run_once(scenario.first(), 0, Options::default());
    let get = |metric| outcome.flows[0].get(metric).unwrap();
    (get(Metric::DownloadTime), get(Metric::SpuriousTimeouts), get(Metric::PacketsDropped))
}

/// NS-06: a trace of one delay is that delay; one that jumps by seconds and comes back causes a spurious
/// timeout and no loss, and takes as much longer.
#[test]
fn measured_delays_are_replayed() {
    let constant = run("\"80 ms\"", "");
    assert_eq!(run("{ trace = \"t\" }", "0.7,80 ms\n9,0.08\n"), constant);
    let jump = "t_s,delay_s\n0,0.08\n4,6\n4.5,0.08\n";
    let (time, spurious, dropped) = run("{ down = { trace = \"t\" }, up = \"80 ms\" }", jump);
    assert!(spurious >= 1.0 && dropped == 0.0, "{spurious} {dropped}");
    // No overtaking: packets sent after the jump wait for those sent during it.
    assert!(time > constant.0 + 4.0 && time < constant.0 + 12.0, "{time} against {constant:?}");
}

/// NS-07, GP-44: measured C/I, block errors and reselections, each from a file, decide over the blocks of a bearer.
#[test]
fn measured_radio_conditions_are_replayed() {
    let play = |keys: &str, file: &'static str| {
        let text = format!(
            r#"
            williwaw = 1
            [[hop]]
            name = "radio"
            between = ["server", "phone"]
            [hop.radio.gprs]
            class = 4
            {keys}
            [[flow]]
            name = "download"
            from = "server"
            to = "phone"
            app = {{ bulk = {{ bytes = "100 kB" }} }}
            "#
        );
        let files = move |_: &str| Ok(file.as_bytes().to_vec());
        let scenario =
            scenario::read("replay.toml", text.as_bytes(), &files).unwrap_or_else(|d| panic!("{d}"));
        let outcome = run_once(scenario.first(), 0, Options::default());
        let get = |metric| outcome.flows[0].get(metric).unwrap_or(0.0);
        (get(Metric::DownloadTime), get(Metric::RadioBlocksRepeated), get(Metric::CellChanges))
    };
    let clean = play("", "");
    // 30 dB without losses equals no file; at 0 dB for 20 s hardly a block of CS-2 arrives.
    let good = play("errors = { c-i = { file = \"f\" } }", "t_s,c_over_i_db\n0,60\n");
    assert!((good.0 - clean.0).abs() < 0.5, "{good:?} {clean:?}");
    let hole = play("errors = { c-i = { file = \"f\" } }", "t_s,c_over_i_db\n0,60\n5,-20\n25,60\n");
    assert!(hole.0 > clean.0 + 15.0 && hole.1 > clean.1 + 100.0, "{hole:?} {clean:?}");
    let errors = play("errors = { recorded = { file = \"f\" } }", "0,0\n5,1\n25,0\n");
    assert!(errors.0 > clean.0 + 15.0 && errors.1 > clean.1 + 100.0, "{errors:?}");
    let changes = play("reselection = { file = \"f\" }", "t_s\n6\n14.5\n");
    assert!(changes.2 == 2.0 && changes.0 > clean.0 + 3.0, "{changes:?}");
}
