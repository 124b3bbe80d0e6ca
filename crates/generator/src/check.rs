//! Invariants of a run of a random scenario: conservation of packets and bytes, monotone time, bounds, equal
//! results on any number of threads.

use lab::once::{Options, run_once};
use lab::sweep::{Sweep, SweepControl, SweepError};
use scenario::Scenario;
use std::sync::atomic::AtomicBool;

/// Violated invariant, as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation(pub String);

/// Resource use of one scenario, summed over repetitions and cells, and a digest of all results.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Usage {
    /// FNV-1a hash of the bits of all metrics.
    pub digest: u64,
    /// Packets sent by hosts and background loads.
    pub packets: u64,
    /// Packets delivered by links.
    pub hops: u64,
    /// Frames sent by channels.
    pub frames: u64,
    /// Wake-ups (calendar events).
    pub events: u64,
    /// Simulated seconds.
    pub simulated_s: f64,
}

const FNV: u64 = 0xcbf2_9ce4_8422_2325;

fn mix(digest: u64, bits: u64) -> u64 {
    bits.to_le_bytes().iter().fold(digest, |d, byte| (d ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Runs every cell and repetition one after the other and checks the invariants of each.
///
/// # Errors
/// The first violation.
pub fn run(scenario: &Scenario) -> Result<Usage, Violation> {
    let mut taken = Usage { digest: FNV, ..Usage::default() };
    for cell in scenario.cells() {
        let cell = cell.map_err(|d| Violation(format!("a cell is refused after all: {d}")))?;
        for repetition in 0..u64::from(cell.model.run.repetitions) {
            let outcome = run_once(&cell.model, repetition, Options::default());
            let network = &outcome.world.network;
            let counters = network.counters();
            let inside = network.packets_inside() as u64;
            let place = format!("cell {} repetition {repetition}", cell.index);
            if counters.sent != counters.absorbed + counters.dropped + inside {
                return Err(Violation(format!(
                    "{place}: packets are not conserved: {} sent, {} absorbed, {} dropped, {inside} inside",
                    counters.sent, counters.absorbed, counters.dropped
                )));
            }
            let [sent, absorbed, dropped] = counters.bytes;
            let gone = absorbed + dropped + counters.compressed;
            if gone > sent || inside == 0 && gone != sent {
                return Err(Violation(format!(
                    "{place}: bytes are not conserved: {:?}, {} by compression",
                    counters.bytes, counters.compressed
                )));
            }
            if outcome.flows.len() != cell.model.flows.len() {
                return Err(Violation(format!("{place}: {} flows have measures", outcome.flows.len())));
            }
            for measures in &outcome.flows {
                for value in &measures.values {
                    if value.is_some_and(|v| !v.is_finite()) {
                        return Err(Violation(format!("{place}: a measure is {value:?}")));
                    }
                    taken.digest = mix(taken.digest, value.map_or(1, f64::to_bits));
                }
            }
            let end = network.now().as_secs_f64();
            taken.digest = mix(taken.digest, counters.wakes);
            taken.packets += counters.sent;
            taken.hops += counters.hops;
            taken.frames += counters.frames;
            taken.events += counters.wakes;
            taken.simulated_s += end.min(cell.model.run.limit.as_secs_f64());
        }
    }
    Ok(taken)
}

/// Runs the grid on one thread and on two, and compares the rows.
///
/// # Errors
/// The rows differ, or the run failed.
pub fn threads(scenario: &Scenario) -> Result<(), Violation> {
    let rows = |jobs| -> Result<String, Violation> {
        let sweep = Sweep::new(scenario, None, None, "fuzz").map_err(|e| Violation(said(&e)))?;
        let stop = AtomicBool::new(false);
        let control = SweepControl { progress: &|_| (), stop: &stop, jobs, shuffle_ties: None, player: None };
        let (mut rows, complete) = sweep.run(None, &control).map_err(|e| Violation(said(&e)))?;
        rows.sort_by(|a, b| (a.cell, a.repetition, &a.flow).cmp(&(b.cell, b.repetition, &b.flow)));
        Ok(format!("{complete} {rows:?}"))
    };
    if rows(1)? == rows(2)? {
        return Ok(());
    }
    Err(Violation("one thread and two give different rows".to_owned()))
}

fn said(error: &SweepError) -> String {
    format!("the sweep failed: {error:?}")
}
