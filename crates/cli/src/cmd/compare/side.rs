//! One side of `compare` in three stages: source (scenario, run folder or captures), prepared run with its run
//! folder, and results with kernel counters.

use super::captured;
use crate::cmd::run::RunStore;
use crate::console::clock::Stopwatch;
use crate::console::exit::Failure;
use crate::console::streams::{Console, printable};
use crate::input::files::{self, Input};
use crate::output::VERSION;
use crate::output::record::Record;
use crate::player::kernels::{KernelOptions, KernelPlayer};
use crate::player::numbers;
use lab::sweep::{Counters, Progress, RepetitionPlayer, Sweep, SweepControl};
use results::folder::{self, RunFolder};
use results::{Column, Combine, CompactRows, Header, Row};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// Source of a side: its scenario, and the run folder or captures if it names these.
pub(crate) struct SideSource {
    pub(crate) input: Input,
    pub(crate) path: PathBuf,
    /// Overrides of this side only, `KEY=VALUE`.
    pub(crate) own: Vec<String>,
    /// Record of a run folder.
    pub(crate) record: Option<Box<Record>>,
    /// Captures of repetitions of the other side's scenario.
    pub(crate) captures: Vec<PathBuf>,
}

/// A side whose run or reading can begin.
pub(crate) struct PreparedSide {
    named: SideSource,
    label: String,
    sweep: Sweep,
    stage: Option<KernelPlayer>,
    kept: Option<RunStore>,
}

/// A side with its results.
pub(crate) struct Side {
    pub(crate) label: String,
    pub(crate) sweep: Sweep,
    /// Columns of the rows; for a run folder, as recorded.
    pub(crate) header: Header,
    pub(crate) rows: CompactRows,
    pub(crate) complete: bool,
    pub(crate) stage: Option<KernelPlayer>,
    /// True for runs in real time and for captures: repetitions cannot be played again.
    pub(crate) real_time: bool,
    /// True if the metrics were derived from captures.
    pub(crate) captured: bool,
}

/// Settings of both runs.
pub(crate) struct RunSettings<'a> {
    pub(crate) seed: u64,
    pub(crate) repetitions: u32,
    pub(crate) jobs: usize,
    pub(crate) kernel_options: &'a KernelOptions,
    pub(crate) stop: &'static AtomicBool,
}

impl SideSource {
    /// Reads a side; `set` are the overrides of both sides, `own` the overrides of this side only.
    pub(crate) fn read(path: &Path, set: &[String], own: &[String]) -> Result<SideSource, Failure> {
        let named = |input, record| {
            let (path, own) = (path.to_owned(), own.to_vec());
            SideSource { input, path, own, record, captures: Vec::new() }
        };
        if !path.is_dir() {
            return Ok(named(files::read(path, &[set, own].concat())?, None));
        }
        let record = Record::read(path)?;
        if !(set.is_empty() && own.is_empty()) {
            return Err(Failure::usage(
                format!("`{}` is a finished run, which cannot be changed", path.display()),
                "give its scenario to run it again with --set, --set-a or --set-b",
            ));
        }
        let input = record.input(path, &[])?;
        Ok(named(input, Some(Box::new(record))))
    }

    /// Captures of the other side's scenario, with the overrides `set` of both sides.
    pub(crate) fn captured(
        path: &Path,
        captures: Vec<PathBuf>,
        scenario: &Path,
        set: &[String],
    ) -> Result<SideSource, Failure> {
        let other = SideSource::read(scenario, set, &[])?;
        Ok(SideSource { input: other.input, path: path.to_owned(), own: Vec::new(), record: None, captures })
    }

    /// True for a finished run (in virtual or real time) or captures.
    pub(crate) fn made(&self) -> bool {
        self.record.is_some() || !self.captures.is_empty()
    }

    /// File name of the side as a terminal may show it: the last part of its path, or with `whole` the full path.
    pub(crate) fn name(&self, whole: bool) -> String {
        printable(&self.file_name(whole)).into_owned()
    }

    fn file_name(&self, whole: bool) -> String {
        let last = self.path.file_name().map(|name| name.to_string_lossy().into_owned());
        match last {
            _ if self.path == Path::new("-") => "stdin".to_owned(),
            Some(name) if !whole => name,
            _ => self.path.display().to_string(),
        }
    }

    /// Overrides that differ from the other side: `spurious = eifel`; empty if none.
    pub(crate) fn own_words(&self, other: &SideSource) -> String {
        let own = self.own.iter().filter(|word| !other.own.contains(word));
        let apart: Vec<(&str, &str)> = own.filter_map(|word| word.split_once('=')).collect();
        let keys: Vec<&str> = apart.iter().map(|(key, _)| key.trim()).collect();
        let named = crate::output::labels::short(&keys).into_iter().zip(&apart);
        named.map(|(key, (_, value))| format!("{key} = {}", value.trim())).collect::<Vec<_>>().join(", ")
    }

    /// Sweep to run, or the sweep of the finished run.
    pub(crate) fn sweep(&self, terms: &RunSettings<'_>) -> Result<Sweep, Failure> {
        let scenario = &self.input.scenario;
        // Seeds of the grid stay unless the user gave a seed.
        let seed = Some(terms.seed).filter(|seed| *seed != scenario.first().run.seed);
        Ok(Sweep::whole(scenario, Some(terms.repetitions), seed, VERSION)?)
    }

    /// Prepares kernels and run folder, so that their errors are reported before any run starts.
    pub(crate) fn ready(
        self,
        label: String,
        sweep: Sweep,
        terms: &RunSettings<'_>,
        out: Option<&Path>,
    ) -> Result<PreparedSide, Failure> {
        if self.made() {
            return Ok(PreparedSide { named: self, label, sweep, stage: None, kept: None });
        }
        let mut stage = KernelPlayer::of(&sweep, terms.kernel_options)?;
        let kept = out.map(|path| self.keep(path, terms)).transpose()?;
        if let (Some(stage), Some(kept)) = (&mut stage, &kept) {
            stage.keep_in(kept.folder.path());
        }
        Ok(PreparedSide { named: self, label, sweep, stage, kept })
    }

    /// Run folder of the side, created or continued.
    pub(crate) fn keep(&self, path: &Path, terms: &RunSettings<'_>) -> Result<RunStore, Failure> {
        let scenario = &self.input.scenario;
        if path.join(folder::RUN).is_file() {
            let mut record = Record::read(path)?;
            if record.hash != scenario.hash() || record.seed != terms.seed {
                return Err(Failure::usage(
                    format!("`{}` holds the run of another scenario or seed", path.display()),
                    "give --out another folder",
                ));
            }
            // Another version may yield other results for the same scenario and seed.
            if record.version != VERSION {
                return Err(Failure::usage(
                    format!(
                        "`{}` was started by williwaw {}, and this is {VERSION}: results may differ between versions",
                        path.display(),
                        record.version
                    ),
                    "give --out another folder, or remove this one",
                ));
            }
            record.repetitions = terms.repetitions;
            return Ok(RunStore { folder: RunFolder::open(path)?, record });
        }
        let folder = RunFolder::create(path)?;
        let files = &self.input.files;
        let record = Record::new(scenario, files, terms.seed, terms.repetitions, None, terms.jobs);
        record.begin(&folder, files)?;
        Ok(RunStore { folder, record })
    }
}

impl PreparedSide {
    /// Number of repetitions to run; 0 for a finished run.
    pub(crate) fn total(&self) -> u64 {
        if self.named.made() { 0 } else { self.sweep.total() }
    }

    /// Runs the side, or reads the results of a finished run.
    pub(crate) fn side(
        self,
        terms: &RunSettings<'_>,
        tell: &(dyn Fn(Progress) + Sync),
        console: &Console,
    ) -> Result<Side, Failure> {
        let PreparedSide { named, label, sweep, stage, mut kept } = self;
        if !named.captures.is_empty() {
            let (header, rows) = captured::read(&named.captures, &sweep, console)?;
            let rows = CompactRows::from_iter(&rows);
            let (stage, real_time) = (None, true);
            return Ok(Side { label, sweep, header, rows, complete: true, stage, real_time, captured: true });
        }
        if let Some(record) = &named.record {
            let (mut header, mut rows) = recorded(&named.path, terms.repetitions)?;
            let reported = numbers::kept(&named.path, &sweep, &rows.finished());
            numbers::put_beside_compact(&mut header, &mut rows, &reported, None)?;
            let (complete, real_time) = (record.complete, record.emulation.is_some());
            return Ok(Side {
                label,
                sweep,
                header,
                rows,
                complete,
                stage: None,
                real_time,
                captured: false,
            });
        }
        let watch = Stopwatch::start();
        let control = SweepControl {
            progress: tell,
            stop: terms.stop,
            jobs: terms.jobs,
            shuffle_ties: None,
            player: stage.as_ref().map(|stage| stage as &dyn RepetitionPlayer),
        };
        let mut rows = CompactRows::default();
        let folder = kept.as_mut().map(|kept| &mut kept.folder);
        let complete = sweep.run_each(folder, &control, &mut |row| rows.push(&row))?;
        if let Some(kept) = &mut kept {
            kept.close(complete, watch.seconds())?;
        }
        let mut header = sweep.header.clone();
        if let Some(stage) = &stage {
            let folder = kept.as_ref().map(|kept| kept.folder.path().to_owned());
            let reported = stage.reported(folder.as_deref(), &sweep, &rows.finished());
            let folder = folder.as_deref().filter(|_| complete);
            numbers::put_beside_compact(&mut header, &mut rows, &reported, folder)?;
        }
        Ok(Side { label, sweep, header, rows, complete, stage, real_time: false, captured: false })
    }
}

/// Results of a run folder, without repetitions from this number on.
fn recorded(path: &Path, repetitions: u32) -> results::Result<(Header, CompactRows)> {
    let mut recorded = folder::repetitions(path, "flows")?;
    let (mut rows, mut of_one) = (CompactRows::default(), Vec::new());
    while recorded.next(&mut of_one)? {
        rows.extend(of_one.iter().filter(|row| row.repetition < u64::from(repetitions)));
        of_one.clear();
    }
    Ok((recorded.header().clone(), rows))
}

impl Side {
    /// Counters of the sending kernels: one column per counter, one row per repetition with the sum over its flows.
    /// `None` without kernels.
    pub(crate) fn counters(&self, names: &[&str]) -> Option<(Header, CompactRows)> {
        let counted: BTreeMap<(u32, u64), Vec<Counters>> = self.stage.as_ref()?.counted();
        let sum =
            |flows: &[Counters], name: &str| -> u64 { flows.iter().filter_map(|flow| flow.get(name)).sum() };
        let columns = names.iter().map(|name| Column::new(*name, "", Combine::Sum)).collect();
        let cells = self.header.cells.clone();
        let header = Header::new("", self.header.seed, "", cells, columns).ok()?;
        let row = |((cell, repetition), flows): (&(u32, u64), &Vec<Counters>)| {
            let values: Vec<f64> = names.iter().map(|name| sum(flows, name) as f64).collect();
            Row::new(*cell, *repetition, "all", values)
        };
        let rows: Vec<Row> = counted.iter().map(row).collect();
        Some((header, CompactRows::from_iter(&rows)))
    }
}
