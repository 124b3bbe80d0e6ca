//! The claim: the clock changes nothing. A model flow driven by time itself does what it does in virtual time,
//! to the last bit, however late the driver wakes up. Needs no rights.
#![cfg(target_os = "linux")]

use emulate::Options;
use lab::once::run_once;
use scenario::{Model, NoFiles};
use std::sync::atomic::AtomicBool;

fn model() -> Model {
    let text = r#"
        williwaw = 1
        [[hop]]
        name = "radio"
        between = ["server", "phone"]
        rate = "1 Mbit/s"
        delay = { random = "uniform(30 ms, 60 ms)" }
        queue = { drop-tail = { limit = "8 packets" } }
        [[hop.gate]]
        name = "pause"
        every = "uniform(300 ms, 600 ms)"
        lasts = "uniform(50 ms, 400 ms)"
        [[hop.loss]]
        name = "noise"
        directions = "down"
        probability = 0.02
        [[flow]]
        name = "a"
        from = "server"
        to = "phone"
        app = { bulk = { bytes = "60 kB" } }
        [[flow]]
        name = "b"
        from = "server"
        to = "phone"
        start = "200 ms"
        app = { bulk = { bytes = "30 kB" } }
        [run]
        limit = "20 s"
    "#;
    match scenario::read("test.toml", text.as_bytes(), &NoFiles) {
        Ok(scenario) => scenario.first().clone(),
        Err(diagnostics) => panic!("{}", diagnostics.render(scenario::Style::default())),
    }
}

/// The same measures and the same events at the same instants (catalogue SW-18: parts can be exchanged; here the
/// clock).
#[test]
fn a_model_in_real_time_gives_the_bits_of_virtual_time() {
    let model = model();
    let virtual_options = lab::once::Options { trace: true, shuffle_ties: None };
    let expected = run_once(&model, 0, virtual_options);
    let options = Options { trace: true, realtime: false, ..Options::default() };
    let never = AtomicBool::new(false);
    let real = match emulate::once(&model, 0, &options, &never) {
        Ok(real) => real.ran,
        Err(error) => panic!("{error}"),
    };
    assert!(expected.complete && real.complete);
    assert_eq!(real.flows, expected.flows);
    assert_eq!(real.world.network.records(), expected.world.network.records());
}
