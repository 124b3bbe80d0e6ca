//! The claim: a delay that was measured is met again, packet by packet.

use lab::once::{Options, run_once};
use scenario::metric::Metric;

/// What a download sees whose link has this delay; `trace` is the file beside the scenario.
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
    // Nothing overtakes: what is sent after the jump waits for what was sent during it.
    assert!(time > constant.0 + 4.0 && time < constant.0 + 12.0, "{time} against {constant:?}");
}
