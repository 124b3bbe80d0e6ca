//! Capture analysis without the output document, to measure the speed of reading and verdicts. `whole FILE...`
//!
//! Prints segments, connections, retransmissions by verdict, and the largest memory this process has had.

#![expect(clippy::print_stdout, reason = "an example speaks")]

use analyse::{Analyser, Need, Observation};
use capture::Reader;
use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for path in std::env::args().skip(1) {
        let mut reader = Reader::path(Path::new(&path))?;
        let mut analyser = Analyser::default();
        let mut segments = 0u64;
        while let Some(frame) = reader.next()? {
            if let Some(o) = Observation::of(&frame) {
                segments += 1;
                analyser.push(&o);
            }
        }
        let flows = analyser.finish();
        let again = || flows.iter().flat_map(|f| &f.directions).flat_map(|w| &w.retransmissions);
        let of = |need| again().filter(|r| r.need == need).count();
        let likely: f64 = again().filter_map(|r| r.likelihood).sum();
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let memory = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("unknown").trim();
        println!(
            "{path}: {segments} segments, {} connections, {} needed, {} unneeded ({likely:.3} likely), {} unknown, memory {memory}",
            flows.len(),
            of(Need::Needed),
            of(Need::Unneeded),
            of(Need::Unknown),
        );
    }
    Ok(())
}
