//! Measurement of the cost of a packet capture: `captured FILE run|pcap|discard|stream|whole [FOLDER]`.
//!
//! Runs the first repetition of a scenario's first cell: without a capture (`run`), for its results and then for
//! captures in FOLDER as `williwaw run --pcap` does (`pcap`), with captures streamed in two passes into nothing
//! (`discard`) or into FOLDER (`stream`), or with all packets kept in memory until the end (`whole`). Prints the largest
//! resident memory; `/usr/bin/time` tells the processor time.

#![expect(clippy::print_stdout, reason = "an example speaks")]

use lab::capture::{Foresight, Foresights, capture, stream};
use lab::once::{Options, run_once};
use lab::sweep::{Sweep, SweepControl};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

/// Bytes of each packet that are kept, as `williwaw run --pcap` keeps them.
const SNAP: u32 = 96;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let (Some(file), Some(mode)) = (args.next(), args.next()) else { return Err("FILE and a mode".into()) };
    let folder = PathBuf::from(args.next().unwrap_or_else(|| ".".to_owned()));
    let text = std::fs::read(&file)?;
    let scenario = scenario::read(&file, &text, &scenario::NoFiles).map_err(|wrong| wrong.to_string())?;
    let model = scenario.first();
    let create = |name: &str| Ok(BufWriter::with_capacity(1 << 18, File::create(folder.join(name))?));
    match mode.as_str() {
        "run" => drop(run_once(model, 0, Options::default())),
        "whole" => {
            let made = capture(model, 0);
            for (at, tap) in made.hosts().iter().map(Some).chain([None]).enumerate() {
                let name = tap.map_or("all", |tap| &tap.name);
                let out: std::io::Result<BufWriter<File>> = create(&format!("{name}.pcapng"));
                made.write(out?, tap.map(|_| at), SNAP, "captured")?;
            }
        }
        "stream" | "discard" | "pcap" => {
            let discard = mode == "discard";
            let mut open = |tap: Option<&::capture::Tap>| -> std::io::Result<Box<dyn Write>> {
                let name = tap.map_or("all", |tap| &tap.name);
                Ok(if discard {
                    Box::new(std::io::sink())
                } else {
                    Box::new(create(&format!("{name}.pcapng"))?)
                })
            };
            let known = if mode == "pcap" { results(&scenario)? } else { None };
            println!("{:?}", stream(model, 0, SNAP, "captured", known, &mut open)?);
        }
        _ => return Err("run, pcap, discard, stream or whole".into()),
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    println!("{}", status.lines().find(|line| line.starts_with("VmHWM:")).unwrap_or("memory unknown"));
    Ok(())
}

/// Runs the repetition for its results, and returns the foresight of its capture.
fn results(scenario: &scenario::Scenario) -> Result<Option<Foresight>, Box<dyn std::error::Error>> {
    let stop = AtomicBool::new(false);
    let control = SweepControl { progress: &|_| (), stop: &stop, jobs: 1, shuffle_ties: None, player: None };
    let mut sweep = Sweep::new(scenario, Some(1), None, "captured").map_err(|error| format!("{error:?}"))?;
    sweep.foresights = Some(Foresights::of(|_| true));
    let (rows, _) = sweep.run(None, &control).map_err(|error| format!("{error:?}"))?;
    println!("{} rows", rows.len());
    Ok(sweep.foresights.and_then(|foresights| foresights.take(0, 0)))
}
