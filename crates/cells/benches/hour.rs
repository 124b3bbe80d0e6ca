//! CPU time of a network of cells: `cargo bench -p williwaw-cells -- [seconds] [cells] [mobiles] [interface] [busy]`.
//!
//! Full buffers keep all slots busy; with `half`, half of the mobiles are silent. Without arguments: 60 s of the
//! table of `benches/README.md`, scaled to an hour.

#![allow(clippy::print_stdout, reason = "this program is for its output")]

#[path = "../tests/common/mod.rs"]
mod common;

use cells::config::{Config, Interface};
use cells::system::Cells;
use common::{Load, mobiles, run};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let number = |at: usize, default: u64| args.get(at).and_then(|a| a.parse().ok()).unwrap_or(default);
    let word = |at: usize, w: &str| args.get(at).is_some_and(|a| a == w);
    let (seconds, cells, users) = (number(0, 60), number(1, 75), number(2, 500));
    let mut config = Config { mobiles: mobiles(users, 3.0), ..Config::default() };
    config.side = Config::side_of(cells).expect("cells = 3 n^2");
    if word(3, "average") {
        config.interface = Interface::Average;
    }
    config.bcch_reuse = config.reuse;
    let packets = if word(4, "half") { 6 } else { 12 };
    if word(4, "half") {
        config.mobiles.truncate((users / 4) as usize);
    }
    let load = Load::new(config.mobiles.len() as u32, packets, 1500).answering();
    let before = cpu();
    let (network, id, _) = run(config, load, seconds);
    let spent = cpu() - before;
    let meter = network.element::<Cells>(id).expect("the element").meter();
    let blocks: u64 = meter.slots.iter().flatten().sum();
    println!(
        "{cells} cells, {users} mobiles, {seconds} s: {spent:.2} s of CPU, {:.2} Erlang a cell, {:.0} ns a radio block, an hour in {:.1} s",
        meter.erlang(base::Span::from_secs(seconds)),
        spent * 1e9 / blocks as f64,
        spent * 3600.0 / seconds as f64
    );
}

/// CPU time of this process so far, s.
fn cpu() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let ticks: f64 = after.split_whitespace().skip(11).take(2).filter_map(|t| t.parse::<f64>().ok()).sum();
    ticks / 100.0
}
