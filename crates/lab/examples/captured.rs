//! Measurement of the cost of a packet capture: `captured FILE run|pcap|discard|stream|whole [FOLDER]`.
//!
//! Runs the first repetition of a scenario's first cell: without a capture (`run`), for its results with captures in
//! FOLDER as `williwaw run --pcap` does (`pcap`), with captures streamed in two passes into nothing
//! (`discard`) or into FOLDER (`stream`), or with all packets kept in memory until the end (`whole`). Prints the largest
//! resident memory; `/usr/bin/time` tells the processor time.

#![expect(clippy::print_stdout, reason = "an example speaks")]

use lab::capture::{CaptureFile, Captured, SweepCaptures, capture, stream};
use lab::once::{Options, run_once};
use lab::sweep::{Sweep, SweepControl};
use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
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
        "stream" | "discard" => {
            let discard = mode == "discard";
            let mut open = |tap: Option<&::capture::Tap>| -> io::Result<Box<dyn Write>> {
                let name = tap.map_or("all", |tap| &tap.name);
                Ok(if discard { Box::new(io::sink()) } else { Box::new(create(&format!("{name}.pcapng"))?) })
            };
            println!("{:?}", stream(model, 0, SNAP, "captured", None, &mut open)?);
        }
        "pcap" => results(&scenario, &folder)?,
        _ => return Err("run, pcap, discard, stream or whole".into()),
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    println!("{}", status.lines().find(|line| line.starts_with("VmHWM:")).unwrap_or("memory unknown"));
    Ok(())
}

/// File of a capture, kept in any case.
struct Kept(File);

impl Read for Kept {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.0.read(bytes)
    }
}

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Seek for Kept {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.0.seek(to)
    }
}

impl CaptureFile for Kept {
    fn keep(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Runs the repetition for its results and writes its captures into `folder`, in a further pass if need be.
fn results(scenario: &scenario::Scenario, folder: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let stop = AtomicBool::new(false);
    let control = SweepControl { progress: &|_| (), stop: &stop, jobs: 1, shuffle_ties: None, player: None };
    let mut sweep = Sweep::new(scenario, Some(1), None, "captured").map_err(|error| format!("{error:?}"))?;
    let path = folder.to_owned();
    let create = move |tap: Option<&::capture::Tap>| {
        let name = tap.map_or("all", |tap| &tap.name);
        let mut options = File::options();
        options.read(true).write(true).create(true).truncate(true).open(path.join(format!("{name}.pcapng")))
    };
    let open = create.clone();
    let open = move |cell, _, tap: Option<&::capture::Tap>| -> io::Result<Box<dyn CaptureFile>> {
        if cell > 0 {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        Ok(Box::new(Kept(open(tap)?)))
    };
    sweep.captures = Some(SweepCaptures::of(|_| true, open, SNAP, "captured"));
    let (rows, _) = sweep.run(None, &control).map_err(|error| format!("{error:?}"))?;
    println!("{} rows", rows.len());
    let known = match sweep.captures.and_then(|captures| captures.take(0, 0)) {
        Some(Captured::Whole(files)) => {
            println!("{files} files in one pass");
            return Ok(());
        }
        Some(Captured::Foreseen(known)) => Some(known),
        _ => None,
    };
    let mut open = |tap: Option<&::capture::Tap>| Ok(BufWriter::with_capacity(1 << 18, create(tap)?));
    println!("{:?}", stream(scenario.first(), 0, SNAP, "captured", known, &mut open)?);
    Ok(())
}
