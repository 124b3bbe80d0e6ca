//! Benchmark of a parameter grid: 36 cells of 100 repetitions on two threads, and the grid with more
//! repetitions.

use crate::clock::Clock;
use crate::say;
use lab::sweep::{Sweep, SweepControl};
use scenario::{NoFiles, read};
use std::sync::atomic::AtomicBool;

const SCENARIO: &str = r#"
williwaw = 1
[[hop]]
name = "radio"
between = ["server", "phone"]
rate = "30 kbit/s"
delay = "300 ms"
queue = { drop-tail = { limit = "9 packets" } }
[[hop.gate]]
name = "reselection"
every = "uniform(20 s, 40 s)"
first = "stationary"
lasts = "uniform(3 s, 15 s)"
[[flow]]
name = "download"
from = "server"
to = "phone"
transport = { tcp = { profile = "ns2-2001", bug-fix = "off" } }
app = { bulk = { bytes = "308 kB" } }
[run]
repetitions = 100
limit = "1 h"
[grid]
"hop.radio.gate.reselection.every" = ["uniform(20 s, 40 s)", "uniform(40 s, 80 s)", "uniform(80 s, 140 s)"]
"hop.radio.queue.drop-tail.limit" = ["9 packets", "100 packets"]
"flow.download.transport.tcp.recovery" = ["reno", "newreno", "sack"]
"flow.download.transport.tcp.spurious" = ["none", "eifel"]
"#;

/// Runs the grid with 100 and with more repetitions.
pub(crate) fn measure() {
    let scenario = match read("grid", SCENARIO.as_bytes(), &NoFiles) {
        Ok(scenario) => scenario,
        Err(wrong) => panic!("{}", wrong.render(scenario::Style::default())),
    };
    for (jobs, repetitions) in [(1, 100), (2, 100), (2, 200), (2, 400)] {
        let Ok(sweep) = Sweep::new(&scenario, Some(repetitions), None, "bench") else {
            panic!("the grid is possible")
        };
        let mut least = f64::INFINITY;
        let mut rows = 0;
        for _ in 0..3 {
            let stop = AtomicBool::new(false);
            let control =
                SweepControl { progress: &|_| {}, stop: &stop, jobs, shuffle_ties: None, player: None };
            let clock = Clock::start();
            let Ok((done, true)) = sweep.run(None, &control) else { panic!("the grid runs") };
            least = least.min(clock.wall().as_secs_f64());
            rows = done.len();
        }
        say(&format!(
            "grid      {} cells x {repetitions}, {jobs} thread(s): {least:.3} s, {:.1} us a row",
            sweep.cells.len(),
            1e6 * least / rows as f64
        ));
    }
}
