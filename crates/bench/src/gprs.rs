//! GPRS study of 2001 as a benchmark: one transfer over one slow link that delay spikes suspend repeatedly.

use crate::clock::{Clock, each, least};
use crate::dumbbell::totals;
use crate::say;
use lab::once::{Options, run_once};
use scenario::{Model, read};
use std::time::Duration;

const SCENARIO: &str = r#"
williwaw = 1
[[hop]]
name = "radio"
between = ["server", "phone"]
rate = "30 kbit/s"
delay = "300 ms"
queue = { drop-tail = { limit = "100 packets" } }
[[hop.gate]]
name = "spikes"
file = "spikes-difficult.csv"
[[flow]]
name = "download"
from = "server"
to = "phone"
transport = { tcp = { profile = "ns2-2001", bug-fix = "off", recovery = "sack" } }
app = { bulk = { bytes = "308 kB" } }
"#;
const SPIKES: &[u8] = include_bytes!("../../lab/tests/data/ns2/spikes-difficult.csv");
const REPETITIONS: u64 = 100;

/// SACK, 100 kB, difficult weather; and a transfer of one segment, whose time is nearly all set-up.
pub(crate) fn measure() {
    let (took, hops) = of(false);
    let (set_up, _) = of(true);
    let work = took.saturating_sub(set_up);
    say(&format!(
        "gprs      {REPETITIONS} repetitions, {hops} hops: {:.1} us a repetition, {:.1} ns a packet-hop (all included); {:.1} us and {:.1} ns without set-up",
        each(took, REPETITIONS) / 1000.0,
        each(took, hops),
        each(work, REPETITIONS) / 1000.0,
        each(work, hops)
    ));
}

/// Model of the study, or of one segment (`empty`).
fn model(empty: bool) -> Model {
    let text = if empty { SCENARIO.replace("308 kB", "1 kB") } else { SCENARIO.to_owned() };
    let file = |_: &str| Ok(SPIKES.to_vec());
    match read("gprs", text.as_bytes(), &file) {
        Ok(scenario) => scenario.first().clone(),
        Err(wrong) => panic!("{}", wrong.render(scenario::Style::default())),
    }
}

/// Packet hops and data segments of the first `repetitions`.
pub(crate) fn count(empty: bool, repetitions: u64) -> (u64, u64) {
    let model = model(empty);
    (0..repetitions).fold((0, 0), |(hops, data), repetition| {
        let t = totals(&run_once(&model, repetition, Options::default()).world);
        (hops + t.hops, data + t.data)
    })
}

fn of(empty: bool) -> (Duration, u64) {
    let model = model(empty);
    // Measured by wall time: the system's thread time advances in ticks of some milliseconds, as long as this
    // run takes.
    least(100, || {
        let clock = Clock::start();
        let mut hops = 0;
        for repetition in 0..REPETITIONS {
            hops += run_once(&model, repetition, Options::default()).world.network.counters().hops;
        }
        (clock.wall(), hops)
    })
}
