//! CPU time of a network of cells: `cargo bench -p williwaw-cells -- [seconds] [cells] [mobiles] [interface] [busy]`.
//!
//! Full buffers keep all slots busy; with `half`, a quarter of the mobiles has data. Set-up and the first ten seconds, in
//! which transfers begin, are counted apart. `growth` as the first argument prints the table of cells and users.

#![allow(clippy::print_stdout, reason = "this program is for its output")]

#[path = "../tests/common/mod.rs"]
mod common;

use base::{Span, Time};
use cells::config::{Config, Interface};
use cells::system::Cells;
use common::{Load, mobiles, start};

/// Cases of the benchmark.
struct Case {
    seconds: u64,
    cells: u64,
    users: u64,
    average: bool,
    half: bool,
}

/// CPU seconds and blocks of a run.
struct Cost {
    setup: f64,
    running: f64,
    /// Sum of the shortest time of each part: the cost on an idle machine.
    best: f64,
    downlink: u64,
    uplink: u64,
    periods: u64,
}

/// Parts of a run that are timed alone.
const PARTS: u64 = 10;
/// Seconds before the measurement.
const WARM: u64 = 10;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    if args.first().is_some_and(|a| a == "growth") {
        return growth();
    }
    let number = |at: usize, default: u64| args.get(at).and_then(|a| a.parse().ok()).unwrap_or(default);
    let word = |at: usize, w: &str| args.get(at).is_some_and(|a| a == w);
    let (seconds, cells, users) = (number(0, 60), number(1, 75), number(2, 500));
    println!("{}", line(&Case { seconds, cells, users, average: word(3, "average"), half: word(4, "half") }));
}

/// Networks of 75 to 768 cells with 6.7 users a cell, and 75 cells with 100 to 10 000 users.
fn growth() {
    for (cells, users) in [(75, 500), (192, 1280), (768, 5120), (75, 100), (75, 2000), (75, 10_000)] {
        let seconds = (60 * 75 / cells).max(10);
        println!("{}", line(&Case { seconds, cells, users, average: false, half: false }));
    }
}

fn line(case: &Case) -> String {
    let cost = measure(case);
    let per = |n: u64| cost.running * 1e9 / n.max(1) as f64;
    let erlang = cost.downlink as f64 / (50 * case.seconds * case.cells) as f64;
    format!(
        "{} cells, {} mobiles: {erlang:.2} Erlang a cell, {:.0} ns a downlink block ({} up), {:.1} us a block period, \
         {:.2} us a period and active user, an hour in {:.1} s (by the quickest tenth {:.1} s), set-up {:.2} s",
        case.cells,
        case.users,
        per(cost.downlink),
        cost.uplink,
        per(cost.periods) / 1e3,
        per(cost.periods) / 1e3 / case.users as f64,
        cost.running * 3600.0 / case.seconds as f64,
        cost.best * 3600.0 / case.seconds as f64,
        cost.setup,
    )
}

fn measure(case: &Case) -> Cost {
    let mut config = Config { mobiles: mobiles(case.users, 3.0), ..Config::default() };
    config.side = Config::side_of(case.cells).expect("cells = 3 n^2");
    if case.average {
        config.interface = Interface::Average;
    }
    config.bcch_reuse = config.reuse;
    if case.half {
        config.mobiles.truncate((case.users / 4) as usize);
    }
    let load =
        Load::new(config.mobiles.len() as u32, if case.half { 6 } else { 12 }, 1500).answering().unrecorded();
    let begun = cpu();
    let (mut network, id, _) = start(config, load, 1);
    let setup = cpu() - begun;
    network.run_until(Time::ZERO + Span::from_secs(WARM));
    let counts = |network: &path::Network| {
        let meter = network.element::<Cells>(id).expect("the element").meter();
        let blocks = |way: usize| meter.slots[way].iter().sum::<u64>();
        (blocks(0), blocks(1), meter.periods)
    };
    let first = counts(&network);
    let (mut running, mut best) = (0.0, f64::MAX);
    for part in 1..=PARTS {
        let before = cpu();
        network.run_until(
            Time::ZERO + Span::from_secs(WARM) + Span::from_millis(1000 * case.seconds * part / PARTS),
        );
        running += cpu() - before;
        best = f64::min(best, (cpu() - before) * PARTS as f64);
    }
    let last = counts(&network);
    Cost {
        setup,
        running,
        best,
        downlink: last.0 - first.0,
        uplink: last.1 - first.1,
        periods: last.2 - first.2,
    }
}

/// CPU time of this process so far, s.
fn cpu() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    stat.split_whitespace().next().and_then(|ns| ns.parse::<f64>().ok()).map_or(f64::NAN, |ns| ns * 1e-9)
}
