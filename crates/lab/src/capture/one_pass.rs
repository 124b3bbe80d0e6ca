//! Packet captures written by the run for the results, in one pass.
//!
//! Two facts in a file can change until the end of a run. The verdict on a retransmission is settled once all earlier
//! packets have ended, and packets are written in that order. The window scale is that of the largest window so far;
//! what was written with a smaller one is corrected at the end ([`super::rescale`]). Both are compared with the finished
//! repetition. A file that does not agree is discarded, and the repetition runs again for its capture
//! ([decision 0168](../../../../docs/adr/0168-captures-in-the-run-for-results.md)).

use super::collector::Collector;
use super::foresight::{self, Foresight, Verdicts};
use super::rescale::Rescaling;
use super::stream::{self, Files};
use crate::once::{RunOutcome, Running, recorded_until_stopped, run_in_parts};
use ::capture::Tap;
use base::trace::Tracer;
use path::Network;
use scenario::Model;
use scenario::build::World;
use std::collections::BTreeMap;
use std::io::{self, BufWriter, Read, Seek, Write};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// File of a capture. It is discarded when it is dropped, unless it was kept.
pub trait CaptureFile: Read + Write + Seek + Send {
    /// Keeps the finished file.
    ///
    /// # Errors
    /// The file cannot be given its name.
    fn keep(&mut self) -> io::Result<()>;
}

/// Creates a file of a repetition's capture, by cell, repetition and host; without a host, the file of all taps.
type Open = dyn Fn(u32, u64, Option<&Tap>) -> io::Result<Box<dyn CaptureFile>> + Send + Sync;

/// Bound of the verdicts that a sweep keeps: 3 MB.
const MOST: usize = 1 << 20;
/// Bound of the files that are open at a time.
const OPEN: usize = 256;
/// Buffer of a file, bytes.
const BUFFER: usize = 1 << 18;

/// Captures that the runs of a sweep write. The captures of repetitions that cannot be written in one pass follow later,
/// for which their foresights are kept within a bound on memory.
pub struct SweepCaptures {
    /// Whether a repetition is captured.
    wanted: Box<dyn Fn(u64) -> bool + Send + Sync>,
    open: Box<Open>,
    /// Snap length, bytes; 0 keeps whole packets.
    snap: u32,
    application: String,
    /// Number of open files.
    files: AtomicUsize,
    kept: Mutex<Kept>,
}

/// Capture of a repetition after its run for the results.
pub enum Captured {
    /// Number of complete files.
    Whole(usize),
    /// No file; foresight for a second pass ([`super::stream`]).
    Foreseen(Foresight),
    /// No file: the network kept a copy of a packet after its end ([`super::Streamed::AtEnd`]).
    AtEnd,
}

/// Captures by cell and repetition.
#[derive(Default)]
struct Kept {
    captures: BTreeMap<(u32, u64), Captured>,
    /// Number of verdicts, and one more for each capture, whose memory without verdicts counts too.
    amount: usize,
}

/// Mark of a repetition that was stopped.
struct Stopped;

impl SweepCaptures {
    /// Captures of the repetitions that `wanted` selects, into files of `open`.
    pub fn of(
        wanted: impl Fn(u64) -> bool + Send + Sync + 'static,
        open: impl Fn(u32, u64, Option<&Tap>) -> io::Result<Box<dyn CaptureFile>> + Send + Sync + 'static,
        snap: u32,
        application: &str,
    ) -> SweepCaptures {
        let (files, kept) = (AtomicUsize::new(0), Mutex::default());
        let (wanted, open) = (Box::new(wanted), Box::new(open));
        SweepCaptures { wanted, open, snap, application: application.to_owned(), files, kept }
    }

    /// Whether the run of a repetition writes its capture.
    pub(crate) fn wants(&self, model: &Model, repetition: u64) -> bool {
        (self.wanted)(repetition) && foresight::streams(model)
    }

    /// Takes what is kept of the capture of a repetition.
    pub fn take(&self, cell: u32, repetition: u64) -> Option<Captured> {
        let mut kept = self.kept.lock().ok()?;
        let taken = kept.captures.remove(&(cell, repetition))?;
        kept.amount -= amount(&taken);
        Some(taken)
    }

    /// Runs a repetition and writes its capture; `None` if it was stopped.
    pub fn run(&self, cell: u32, model: &Model, repetition: u64, stop: &AtomicBool) -> Option<RunOutcome> {
        let (outcome, captured) = self.written(cell, model, repetition, stop)?;
        if let (Some(captured), Ok(mut kept)) = (captured, self.kept.lock()) {
            let amount = kept.amount + amount(&captured);
            if amount <= MOST {
                kept.amount = amount;
                kept.captures.insert((cell, repetition), captured);
            }
        }
        Some(outcome)
    }

    fn written(
        &self,
        cell: u32,
        model: &Model,
        repetition: u64,
        stop: &AtomicBool,
    ) -> Option<(RunOutcome, Option<Captured>)> {
        let count = model.nodes.len() + 1;
        let before = self.files.fetch_add(count, Ordering::Relaxed);
        let ended = Release(&self.files, count);
        let mut running = Running::new(model, repetition, Tracer::of(&stream::RECORDED), None);
        // A repetition with more files than the bound is written if no other is.
        let pass = (before == 0 || before + count <= OPEN)
            .then(|| Pass::open(self, cell, model, repetition, running.world()).ok())
            .flatten();
        let Some(pass) = pass else {
            drop(ended);
            let tracer = Tracer::of_windows();
            let mut outcome = recorded_until_stopped(model, repetition, tracer, None, stop)?;
            let foresight = Foresight::of(&mut outcome.world);
            return Some((outcome, Some(Captured::Foreseen(foresight))));
        };
        let mut pass = Some(pass);
        let stopped = || stop.load(Ordering::Relaxed);
        let mut full = |network: &Network| stopped() || stream::is_part(network);
        let each = &mut |world: &mut World| {
            let written = match &mut pass {
                Some(pass) => pass.part(world).is_ok(),
                None => {
                    world.network.tracer().drain(&mut Vec::new(), &mut Vec::new());
                    true
                }
            };
            // What is wrong with the files is reported by the second attempt.
            if !written {
                pass = None;
            }
            if stopped() { Err(Stopped) } else { Ok(()) }
        };
        run_in_parts(&mut running, &mut full, each).ok()?;
        let outcome = running.judge();
        let captured = pass.map(|pass| pass.end(&outcome.world));
        Some((outcome, captured))
    }
}

/// Amount of a capture in [`Kept`].
fn amount(captured: &Captured) -> usize {
    let verdicts = if let Captured::Foreseen(foresight) = captured { foresight.len() } else { 0 };
    verdicts + 1
}

/// Subtracts from the number of open files when it is dropped.
struct Release<'a>(&'a AtomicUsize, usize);

impl Drop for Release<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(self.1, Ordering::Relaxed);
    }
}

/// One pass over a repetition, with its files.
struct Pass<'m> {
    model: &'m Model,
    files: Files<'m, BufWriter<Box<dyn CaptureFile>>>,
    rescaling: Rescaling,
    /// Whether packets may have been written.
    begun: bool,
}

impl<'m> Pass<'m> {
    fn open(
        captures: &SweepCaptures,
        cell: u32,
        model: &'m Model,
        repetition: u64,
        world: &World,
    ) -> io::Result<Self> {
        let mut open =
            |tap: Option<&Tap>| Ok(BufWriter::with_capacity(BUFFER, (captures.open)(cell, repetition, tap)?));
        let verdicts = Verdicts::so_far(world);
        let ends = Collector::new(model, world, None).windows.ends(model);
        let (snap, application) = (captures.snap, &captures.application);
        let files = Files::open(model, world, ends, verdicts, snap, application, &mut open)?;
        Ok(Pass { model, files, rescaling: Rescaling::default(), begun: false })
    }

    /// Takes the records of a batch and writes the packets whose end is known.
    fn part(&mut self, world: &mut World) -> io::Result<()> {
        self.files.take(world);
        self.rescale()?;
        self.begun = true;
        self.files.write(Some(world.network.now()), world.network.ledgers())
    }

    /// Adopts the window scales of the windows so far.
    fn rescale(&mut self) -> io::Result<()> {
        let Files { collector, writers, ends, .. } = &mut self.files;
        let mut changed = false;
        for flow in collector.windows.outgrown() {
            let now = collector.windows.ends_of(self.model, flow);
            if now != ends[flow] {
                if self.begun {
                    self.rescaling.change(flow, ends[flow].map(|end| end.scale), now.map(|end| end.scale));
                    changed = true;
                }
                ends[flow] = now;
            }
        }
        if changed {
            self.rescaling.begin(writers)?;
            collector.discard_blocks();
        }
        Ok(())
    }

    /// Writes the rest, corrects the window scales, and keeps the files if they agree with the finished repetition.
    fn end(mut self, world: &World) -> Captured {
        let written = self.files.write(None, world.network.ledgers());
        if written.is_ok() && !self.files.whole {
            return Captured::AtEnd;
        }
        let verdicts = foresight::verdicts(world);
        let Files { collector, writers, ends, verdicts: given, .. } = self.files;
        let agrees = written.is_ok()
            && given.are(&verdicts)
            && (self.rescaling.is_empty() || collector.windows.are_of_their_ledgers());
        let kept = || -> io::Result<Option<usize>> {
            let count = writers.len();
            let mut files = Vec::new();
            for (at, writer) in writers.into_iter().enumerate() {
                let mut file = writer.finish()?.into_inner().map_err(io::IntoInnerError::into_error)?;
                if !self.rescaling.correct(&mut file, at, &ends)? {
                    return Ok(None);
                }
                files.push(file);
            }
            files.iter_mut().try_for_each(|file| file.keep())?;
            Ok(Some(count))
        };
        match agrees.then(kept) {
            Some(Ok(Some(count))) => Captured::Whole(count),
            _ => Captured::Foreseen(Foresight { verdicts, windows: collector.windows }),
        }
    }
}
