//! Emulations of `compare --emulate`: repetitions of both sides in turn in real time, so that drift of the
//! host affects both equally.
//!
//! The side that goes first changes from repetition to repetition. An unfaithful repetition is played again,
//! up to a bound. A repetition that stays unfaithful is left out of the comparison on both sides.

use super::Args;
use super::side::{RunSettings, Side, SideSource};
use crate::cmd::emulate::refuse;
use crate::cmd::run::RunStore;
use crate::console::exit::{ExitStatus, Failure};
use crate::console::progress;
use crate::console::streams::Console;
use crate::player::artefacts::Store;
use crate::player::local_player::{self, LocalPlayer};
use crate::player::rep_report::RepReport;
use crate::player::{numbers, summary};
use emulate::Options;
use emulate::accuracy::calibrate::Calibration;
use emulate::accuracy::live::Live;
use lab::sweep::Sweep;
use netns::output::Outputs;
use results::numbers::Reported;
use results::{CompactRows, Row};
use serde_json::json;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// Repetitions of both sides, over all looks of a gate.
pub(crate) struct Emulator {
    options: Options,
    /// Maximum number of attempts for one repetition.
    tries: u32,
    calibration: serde_json::Value,
    sides: [SideResults; 2],
    /// Number of repetitions played again.
    again: u64,
}

/// Results of one side so far.
struct SideResults {
    rows: Vec<Row>,
    reported: Vec<Reported>,
    /// Cell and repetition of each repetition that stayed unfaithful.
    unfaithful: BTreeSet<(u32, u64)>,
    failed: bool,
    kept: Option<(RunStore, Store)>,
    seconds: f64,
}

impl Emulator {
    /// Checks rights, calibrates the host, and opens the run folders of both sides if they are kept.
    pub(crate) fn begin(
        sides: [&SideSource; 2],
        sweeps: [&Sweep; 2],
        terms: &RunSettings<'_>,
        args: &Args,
        console: &Console,
    ) -> Result<Emulator, Failure> {
        for sweep in sweeps {
            refuse(sweep, 1)?;
        }
        if let Some(lost) = netns::user::gain_rights()? {
            console.note(&format!("without root, in a user namespace: there is no {lost}"));
        }
        let calibration = Calibration::of_this_machine(true, None);
        console.note(&summary::calibrated(&calibration, "this machine"));
        let options = Options {
            trace: false,
            capture: false,
            realtime: calibration.method().realtime,
            offload: true,
            spin: calibration.method().spin,
            lateness_limit: args.lateness,
        };
        let [a, b] = [("a", 0), ("b", 1)].map(|(name, i)| {
            let folder = args.out.as_ref().map(|out| out.join(name));
            SideResults::begin(sides[i], sweeps[i], terms, folder.as_deref())
        });
        Ok(Emulator {
            options,
            tries: args.tries.max(1),
            calibration: summary::calibration(&calibration),
            sides: [a?, b?],
            again: 0,
        })
    }

    /// Runs the missing repetitions up to the number in `terms`; false if stopped.
    fn play(
        &mut self,
        sweeps: [&Sweep; 2],
        terms: &RunSettings<'_>,
        tell: &dyn Fn(u64, u64),
        console: &Console,
    ) -> Result<bool, Failure> {
        let most = sweeps.iter().map(|sweep| sweep.cells.len()).max().unwrap_or(0) as u32;
        let done = [0, 1].map(|i: usize| BTreeSet::from_iter(results::row::finished(&self.sides[i].rows)));
        let total =
            sweeps.iter().map(|sweep| sweep.cells.len() as u64).sum::<u64>() * u64::from(terms.repetitions);
        let mut count = 0;
        for repetition in 0..u64::from(terms.repetitions) {
            for cell in 0..most {
                let first = (repetition % 2) as usize;
                for side in [first, 1 - first] {
                    let key = (cell, repetition);
                    if cell as usize >= sweeps[side].cells.len() {
                        continue;
                    }
                    if !done[side].contains(&key) && !self.one(side, sweeps[side], key, terms, console)? {
                        return Ok(false);
                    }
                    count += 1;
                    tell(count, total);
                }
            }
        }
        Ok(true)
    }

    /// Plays one repetition of one side until it is faithful, at most `tries` times; false if stopped.
    fn one(
        &mut self,
        side: usize,
        sweep: &Sweep,
        key: (u32, u64),
        terms: &RunSettings<'_>,
        console: &Console,
    ) -> Result<bool, Failure> {
        for attempt in 1..=self.tries {
            let here = LocalPlayer {
                sweep,
                options: &self.options,
                elsewhere: None,
                called: "compare",
                beside: false,
                events: false,
            };
            let model = &sweep.cells.held()[key.0 as usize].model;
            let outputs = match &self.sides[side].kept {
                Some((_, store)) => Outputs::Folder(store.outputs(key)),
                None if numbers::any(model) => Outputs::Memory,
                None => Outputs::Nowhere,
            };
            let watch = crate::console::clock::Stopwatch::start();
            let played = here.play(key, outputs, false, &Arc::<Live>::default(), terms.stop);
            let stopped = |failure: &Failure| failure.end == ExitStatus::Interrupted;
            let (report, brought) = match played {
                Err(failure) if stopped(&failure) => return Ok(false),
                other => other?,
            };
            if terms.stop.load(Relaxed) && !report.complete {
                return Ok(false);
            }
            if !report.faithful && attempt < self.tries {
                self.again += 1;
                continue;
            }
            let played = &mut self.sides[side];
            if let Some((_, store)) = &played.kept {
                store.write(&report, &brought, model)?;
            }
            played.take(report, watch.seconds(), console)?;
            return Ok(true);
        }
        Ok(true)
    }

    /// Runs the missing repetitions, and returns both sides.
    pub(crate) fn look(
        &mut self,
        sweeps: [Sweep; 2],
        labels: &[String; 2],
        terms: &RunSettings<'_>,
        console: &Console,
    ) -> Result<[Side; 2], Failure> {
        let [a, b] = &sweeps;
        let complete = progress::shown(console, |tell| self.play([a, b], terms, tell, console))?;
        self.sides(sweeps, labels, complete)
    }

    /// JSON: numbers of repetitions played again and left out.
    pub(crate) fn document(&self) -> serde_json::Value {
        let left: BTreeSet<&(u32, u64)> = self.sides.iter().flat_map(|side| &side.unfaithful).collect();
        let left: Vec<_> =
            left.iter().map(|(cell, repetition)| json!({ "cell": cell, "repetition": repetition })).collect();
        json!({ "played_again": self.again, "left_out": left, "tries": self.tries, "calibration": self.calibration })
    }

    /// Results of both sides so far, without repetitions that stayed unfaithful on either side.
    fn sides(&self, sweeps: [Sweep; 2], labels: &[String; 2], complete: bool) -> Result<[Side; 2], Failure> {
        let mut left_out: BTreeSet<(u32, u64)> = BTreeSet::new();
        self.sides.iter().for_each(|side| left_out.extend(&side.unfaithful));
        let mut made = sweeps.into_iter().zip(&self.sides).zip(labels).map(|((sweep, played), label)| {
            let mut header = sweep.header.clone();
            let stays = |cell, repetition| !left_out.contains(&(cell, repetition));
            let mut rows: Vec<Row> =
                played.rows.iter().filter(|row| stays(row.cell, row.repetition)).cloned().collect();
            let reported: Vec<Reported> =
                played.reported.iter().filter(|one| stays(one.cell, one.repetition)).cloned().collect();
            numbers::put_beside(&mut header, &mut rows, &reported, None)?;
            Ok::<_, Failure>(Side {
                label: label.clone(),
                sweep,
                header,
                rows: CompactRows::from_iter(&rows),
                complete,
                stage: None,
                real_time: true,
                captured: false,
            })
        });
        match (made.next(), made.next()) {
            (Some(a), Some(b)) => Ok([a?, b?]),
            _ => Err(Failure::machine("a comparison has two sides", "")),
        }
    }

    /// Closes the run folders, prints warnings, and returns the exit status.
    pub(crate) fn end(
        mut self,
        sweeps: [&Sweep; 2],
        repetitions: u32,
        complete: bool,
        console: &Console,
    ) -> Result<ExitStatus, Failure> {
        let mut end = ExitStatus::Good;
        for (played, sweep) in self.sides.iter_mut().zip(sweeps) {
            let faithful = played.unfaithful.is_empty();
            if let Some((kept, _)) = &mut played.kept {
                kept.record.repetitions = repetitions;
                kept.record.emulation = Some(json!({
                    "kernel": local_player::kernel_version(),
                    "calibration": self.calibration,
                    "lateness_limit_s": self.options.lateness_limit.as_secs_f64(),
                    "faithful": faithful,
                }));
                kept.close(complete, played.seconds)?;
                if complete {
                    let (mut header, mut rows) = (sweep.header.clone(), played.rows.clone());
                    numbers::put_beside(&mut header, &mut rows, &played.reported, Some(kept.folder.path()))?;
                }
            }
            if played.failed {
                end = ExitStatus::Failed;
            }
        }
        if self.again > 0 {
            let were = if self.again == 1 { "repetition was" } else { "repetitions were" };
            console.note(&format!("{} {were} not faithful and run again", self.again));
        }
        let left: BTreeSet<&(u32, u64)> = self.sides.iter().flat_map(|side| &side.unfaithful).collect();
        if !left.is_empty() {
            let tries = self.tries;
            let n = left.len();
            console.complaint(
                "unfaithful",
                &format!("repetitions left out on both sides after {tries} tries: {n}"),
            );
            let played = self.sides.iter().map(|side| results::row::finished(&side.rows).len()).max();
            // With more than half of the repetitions missing, the comparison is unfaithful.
            if 2 * n > played.unwrap_or(0) {
                end = ExitStatus::Unfaithful;
            }
        }
        Ok(end)
    }
}

impl SideResults {
    fn begin(
        named: &SideSource,
        sweep: &Sweep,
        terms: &RunSettings<'_>,
        out: Option<&Path>,
    ) -> Result<SideResults, Failure> {
        let mut played = SideResults {
            rows: Vec::new(),
            reported: Vec::new(),
            unfaithful: BTreeSet::new(),
            failed: false,
            kept: None,
            seconds: 0.0,
        };
        let Some(path) = out else { return Ok(played) };
        let mut kept = named.keep(path, terms)?;
        let store = Store { folder: kept.folder.path().to_owned(), captures: false, events: false };
        played.rows = kept.folder.start(&sweep.header)?;
        let before = results::row::finished(&played.rows);
        for document in store.read(&before) {
            played.reported.extend(numbers::in_document(&document));
            let place = document["cell"].as_u64().zip(document["repetition"].as_u64());
            if let Some((cell, repetition)) = place.filter(|_| !document["unfaithful"].is_null()) {
                played.unfaithful.insert((cell as u32, repetition));
            }
        }
        played.kept = Some((kept, store));
        Ok(played)
    }

    fn take(&mut self, report: RepReport, seconds: f64, console: &Console) -> Result<(), Failure> {
        let rows = report.rows();
        if let Some((kept, _)) = &mut self.kept {
            kept.folder.append(&rows)?;
        }
        self.rows.extend(rows);
        self.reported.extend(numbers::in_document(&report.document));
        if !report.faithful {
            self.unfaithful.insert(report.key());
        }
        let faults = report.complaints.iter().filter(|(head, _)| head != "unfaithful");
        faults.for_each(|(head, text)| console.complaint(head, text));
        self.failed |= report.failed;
        self.seconds += seconds;
        Ok(())
    }
}
