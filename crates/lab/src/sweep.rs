//! Parallel sweep of a grid: repetitions run in batches on a thread pool, appended to the journal of a run
//! folder.
//!
//! Results do not depend on the order in which repetitions finish.

mod cells;
mod unfinished;

pub use self::cells::{Cells, HELD};
use self::unfinished::{FinishedSet, UnfinishedRepetitions};
use crate::capture::SweepCaptures;
use crate::measure::{self, FlowMeasures};
use crate::once::{RunOutcome, recorded_until_stopped};
use crate::shard::ShardPart;
use crate::system::tables::{self, Tables};
use base::trace::Tracer;
use rayon::prelude::*;
use report::Picture;
use results::Error;
use results::folder::RunFolder;
use results::row::{Header, Row};
use scenario::model::radio::BearerKind;
use scenario::{Diagnostics, Model, Scenario};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// A sweep: cells, repetitions and the part to run.
pub struct Sweep {
    /// Cells of the grid, with their parameters as text.
    pub cells: Cells,
    /// Repetitions per cell.
    pub repetitions: u32,
    /// Part of the repetitions that this process runs.
    pub part: ShardPart,
    /// Header of the table of flows.
    pub header: Header,
    /// Tables of networks of cells, if a cell of the grid has any.
    pub tables: Option<Tables>,
    /// Captures that the runs write, if any are wanted.
    pub captures: Option<SweepCaptures>,
}

/// Results of a repetition: rows of flows, and rows of each further table.
#[derive(Default)]
struct RepRows {
    /// Rows of the table of flows.
    rows: Vec<Row>,
    /// Rows of each further table, in the order of [`tables::all`].
    beside: Vec<Vec<Row>>,
}

/// A cell ready to run.
#[derive(Clone)]
pub struct Prepared {
    /// Path and value of each axis.
    pub params: Vec<(String, String)>,
    /// Model to run.
    pub model: Model,
}

/// Progress of a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Number of finished repetitions, including repetitions of earlier runs in the folder.
    pub done: u64,
    /// Number of repetitions of the sweep.
    pub total: u64,
}

/// Progress callback, stop flag and threads of a sweep.
pub struct SweepControl<'a> {
    /// Progress callback; called at intervals, from any thread.
    pub progress: &'a (dyn Fn(Progress) + Sync),
    /// Set by the caller to end the sweep; running repetitions are abandoned within some milliseconds.
    pub stop: &'a AtomicBool,
    /// Threads; 0: one per core; 1: the caller's own.
    pub jobs: usize,
    /// Seed of a random tie-break; `None` breaks ties by position.
    pub shuffle_ties: Option<u64>,
    /// Runs repetitions with real kernels.
    pub player: Option<&'a dyn RepetitionPlayer>,
}

/// Results of a repetition.
#[derive(Default)]
pub struct RepetitionResults {
    /// Measures of each flow, then of each command that is not a server, in the order of the model.
    pub measures: Vec<FlowMeasures>,
    /// Names and metrics of the populations of networks of cells.
    pub populations: Vec<(String, FlowMeasures)>,
    /// Rows of the further tables (users, cells and others), in the order of [`tables::all`].
    pub beside: Vec<tables::Rows>,
}

impl RepetitionResults {
    /// Results of an outcome, with rows of further tables if the model fills any.
    pub fn of(model: &Model, outcome: RunOutcome) -> RepetitionResults {
        let tables = tables::wanted(model);
        let limit = base::Time::ZERO + model.run.limit;
        let beside = if tables { tables::rows(model, &outcome.world, limit) } else { Vec::new() };
        RepetitionResults { measures: outcome.flows, populations: outcome.populations, beside }
    }
}

/// Runner of repetitions with real kernels in virtual time. Implementations start processes, which this crate
/// does not.
pub trait RepetitionPlayer: Sync {
    /// Runs one repetition of a cell; `None` if it was stopped before its end.
    ///
    /// # Errors
    /// The repetition cannot be run, on this machine or at all.
    fn play(
        &self,
        cell: u32,
        model: &Model,
        repetition: u64,
        stop: &AtomicBool,
    ) -> Result<Option<RepetitionResults>, Refused>;

    /// Kernel release; empty if unknown.
    fn release(&self) -> String {
        String::new()
    }

    /// Counters of each flow's sending kernel for the repetitions since the previous call, by cell and repetition.
    fn counted(&self) -> BTreeMap<(u32, u64), Vec<Counters>> {
        BTreeMap::new()
    }

    /// Runs a repetition again and draws one of its flows; `None` without support for pictures.
    ///
    /// # Errors
    /// Errors of [`RepetitionPlayer::play`].
    fn draw(&self, _model: &Model, _repetition: u64, _flow: usize) -> Result<Option<Picture>, Refused> {
        Ok(None)
    }
}

/// Counters of a kernel under the kernel's names; zero counters may be absent.
pub type Counters = BTreeMap<String, u64>;

/// Reason why a repetition with real kernels could not be run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Refused {
    /// Cause.
    pub message: String,
    /// Remedy; may be empty.
    pub mend: String,
    /// True if the scenario causes the error, false if the machine does.
    pub asked: bool,
}

/// Why a sweep could not be run.
#[derive(Debug)]
#[non_exhaustive]
pub enum SweepError {
    /// A cell of the grid is impossible.
    Scenario(Diagnostics),
    /// The results could not be stored.
    Results(Error),
    /// Name of a flow, command, node, bearer or hop that needs a real kernel or program; the caller supplied no
    /// [`RepetitionPlayer`].
    Real(String),
    /// A repetition with real kernels could not be run.
    Refused(Refused),
    /// Threads could not be started.
    Threads(String),
    /// Panic in one repetition; all other repetitions are kept. The text is the command that reproduces it.
    Fault(String),
}

impl From<Refused> for SweepError {
    fn from(why: Refused) -> Self {
        SweepError::Refused(why)
    }
}

impl From<Error> for SweepError {
    fn from(error: Error) -> Self {
        SweepError::Results(error)
    }
}

/// Value of the grid as tables show it: text without quotes.
pub fn plain(value: &serde_json::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Name of a part of the scenario that is no model: a real kernel, or a program that serves a hop; `None` without
/// one.
pub fn real(model: &Model) -> Option<&str> {
    guest(model).or(process(model))
}

/// Flow or command with a real kernel, bearer with a real PCU, or node with a wire's end; `None` without one.
pub fn guest(model: &Model) -> Option<&str> {
    let wire = model.nodes.iter().find(|node| node.wire.is_some()).map(|node| &node.name);
    let flow = model.flows.iter().find(|flow| flow.transport.linux().is_some()).map(|flow| &flow.name);
    flow.or(model.commands.first().map(|command| &command.name)).or(wire).map(String::as_str).or(pcu(model))
}

/// Name of the first hop that an external program serves, if there is one.
pub fn process(model: &Model) -> Option<&str> {
    model.processes.first().map(|process| process.name.as_str())
}

/// Name of the first bearer with a real PCU (external program), if there is one.
pub fn pcu(model: &Model) -> Option<&str> {
    let real = |kind: &BearerKind| matches!(kind, BearerKind::Gprs(of) if of.pcu.is_some());
    model.bearers.iter().find(|bearer| real(&bearer.kind)).map(|bearer| bearer.name.as_str())
}

/// Upper bound of repetitions per batch; larger batches do not reduce the overhead further.
const BATCH: u64 = 8;

/// Repetitions per batch: few enough that every thread gets several batches.
fn batch(todo: u64, threads: usize) -> usize {
    (todo / (4 * threads.max(1) as u64)).clamp(1, BATCH) as usize
}

/// Maps `each` over all items in order, on the number of threads in [`SweepControl::jobs`].
pub(crate) fn on_all_threads<T: Sync, R: Send>(
    jobs: usize,
    all: &[T],
    each: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    if jobs == 1 || all.len() < 2 {
        return all.iter().map(each).collect();
    }
    match rayon::ThreadPoolBuilder::new().num_threads(jobs).build() {
        Ok(pool) => pool.install(|| all.par_iter().with_max_len(1).map(&each).collect()),
        // Without a thread pool the work runs on the caller's thread.
        Err(_) => all.iter().map(each).collect(),
    }
}

/// Result of [`Sweep::run_kept`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SweepResult {
    /// Number of finished repetitions, including repetitions of earlier runs in the folder.
    pub done: u64,
    /// True if all repetitions are finished.
    pub complete: bool,
    /// True if the folder contains further repetitions, outside of this sweep.
    pub beyond: bool,
}

/// Consumer of a batch's results.
type BatchConsumer<'a> = &'a mut (dyn FnMut(RepRows) -> results::Result<()> + Send);

impl RepRows {
    fn add(&mut self, other: RepRows) {
        self.rows.extend(other.rows);
        self.beside.resize_with(other.beside.len().max(self.beside.len()), Vec::new);
        self.beside.iter_mut().zip(other.beside).for_each(|(all, rows)| all.extend(rows));
    }
}

impl Sweep {
    /// Builds every cell of a scenario for virtual time. `repetitions` and `seed` replace those of the
    /// scenario.
    pub fn new(
        scenario: &Scenario,
        repetitions: Option<u32>,
        seed: Option<u64>,
        version: &str,
    ) -> Result<Sweep, SweepError> {
        let sweep = Sweep::of(scenario, repetitions, seed, version)?;
        match sweep.cells.held().iter().find_map(|cell| real(&cell.model)) {
            Some(flow) => Err(SweepError::Real(flow.to_owned())),
            None => Ok(sweep),
        }
    }

    /// Builds the cells of a scenario for any clock. Cells of a large grid are built when they are run.
    pub fn of(
        scenario: &Scenario,
        repetitions: Option<u32>,
        seed: Option<u64>,
        version: &str,
    ) -> Result<Sweep, SweepError> {
        let cells = Cells::new(scenario, seed).map_err(SweepError::Scenario)?;
        Sweep::with(cells, scenario, repetitions, seed, version)
    }

    /// [`Sweep::of`] with all cells built at once, for callers that use them more than once.
    pub fn whole(
        scenario: &Scenario,
        repetitions: Option<u32>,
        seed: Option<u64>,
        version: &str,
    ) -> Result<Sweep, SweepError> {
        let cells = Cells::whole(scenario, seed).map_err(SweepError::Scenario)?;
        Sweep::with(cells, scenario, repetitions, seed, version)
    }

    fn with(
        cells: Cells,
        scenario: &Scenario,
        repetitions: Option<u32>,
        seed: Option<u64>,
        version: &str,
    ) -> Result<Sweep, SweepError> {
        let run = scenario.first().run;
        let seed = seed.unwrap_or(run.seed);
        let header = Header::new(scenario.hash(), seed, version, cells.grid(scenario), measure::columns())?;
        let tables = if cells.held().iter().any(|cell| tables::wanted(&cell.model)) {
            let headers = tables::headers(&header.scenario_hash, seed, version, &header.cells)?;
            let wants = |t: &tables::Table| cells.held().iter().any(|cell| (t.wanted)(&cell.model));
            let wanted = tables::all().iter().map(wants).collect();
            Some(Tables { headers, wanted, kept: Mutex::default() })
        } else {
            None
        };
        let repetitions = repetitions.unwrap_or(run.repetitions);
        Ok(Sweep { cells, repetitions, part: ShardPart::WHOLE, header, tables, captures: None })
    }

    /// Restricts the sweep to a part.
    pub fn only(mut self, part: ShardPart) -> Sweep {
        self.part = part;
        self
    }

    /// Number of repetitions in this sweep's part.
    pub fn total(&self) -> u64 {
        self.part.count(self.cells.len() as u64 * u64::from(self.repetitions))
    }

    /// Runs the unfinished repetitions and returns all rows in no particular order; false if it was stopped
    /// before the end. With a folder, each batch is appended to the journal before the next one begins.
    pub fn run(
        &self,
        folder: Option<&mut RunFolder>,
        control: &SweepControl<'_>,
    ) -> Result<(Vec<Row>, bool), SweepError> {
        let mut rows = Vec::new();
        let complete = self.run_each(folder, control, &mut |row| rows.push(row))?;
        Ok((rows, complete))
    }

    /// [`Sweep::run`] that passes each row to `each` and keeps none.
    pub fn run_each(
        &self,
        folder: Option<&mut RunFolder>,
        control: &SweepControl<'_>,
        each: &mut (dyn FnMut(Row) + Send),
    ) -> Result<bool, SweepError> {
        let mut folder = folder;
        let kept = match folder.as_deref_mut() {
            Some(folder) => folder.start(&self.header)?,
            None => Vec::new(),
        };
        self.read_tables(folder.as_deref())?;
        let mut done = FinishedSet::none(self.repetitions);
        // Rows of repetitions outside of this sweep are ignored.
        for row in kept.into_iter().filter(|row| self.holds(row.cell, row.repetition)) {
            done.add(row.cell, row.repetition);
            each(row);
        }
        let (_, complete) = self.drive(done, control, &mut |new: RepRows| {
            if let Some(folder) = &mut folder {
                self.append(folder, &new)?;
            }
            new.rows.into_iter().for_each(&mut *each);
            Ok(())
        })?;
        Ok(complete)
    }

    /// Runs the unfinished repetitions into a folder. Rows are not held in memory, so that memory does not
    /// grow with repetitions or cells.
    pub fn run_kept(
        &self,
        folder: &mut RunFolder,
        control: &SweepControl<'_>,
    ) -> Result<SweepResult, SweepError> {
        let (mut done, mut beyond) = (FinishedSet::none(self.repetitions), false);
        folder.resume(&self.header, &mut |cell, repetition| match self.holds(cell, repetition) {
            true => done.add(cell, repetition),
            false => beyond = true,
        })?;
        self.read_tables(Some(folder))?;
        let (done, complete) = self.drive(done, control, &mut |new| self.append(folder, &new))?;
        Ok(SweepResult { done, complete, beyond })
    }

    /// Whether a repetition belongs to this sweep.
    pub fn holds(&self, cell: u32, repetition: u64) -> bool {
        let cells = self.cells.len() as u64;
        repetition < u64::from(self.repetitions) && self.part.holds(cell, repetition, cells)
    }

    /// Reads the rows of small tables that earlier runs wrote.
    fn read_tables(&self, folder: Option<&RunFolder>) -> Result<(), SweepError> {
        if let (Some(folder), Some(tables)) = (folder, &self.tables) {
            for name in Tables::KEPT {
                tables.keep(name, &folder.table(name)?);
            }
        }
        Ok(())
    }

    /// Runs the unfinished repetitions on all threads and passes each batch to `take`. Returns the number of
    /// finished repetitions, and whether all repetitions are finished.
    fn drive(
        &self,
        done: FinishedSet,
        control: &SweepControl<'_>,
        take: BatchConsumer<'_>,
    ) -> Result<(u64, bool), SweepError> {
        let total = self.total();
        let count = AtomicU64::new(done.count());
        (control.progress)(Progress { done: done.count(), total });
        if control.player.is_none()
            && let Some(flow) = self.cells.held().iter().find_map(|cell| real(&cell.model))
        {
            return Err(SweepError::Real(flow.to_owned()));
        }
        let cells = u32::try_from(self.cells.len()).unwrap_or(u32::MAX);
        let left = total.saturating_sub(done.count());
        let todo = Mutex::new(UnfinishedRepetitions::new(cells, self.part, done));
        let first = Mutex::new(None::<SweepError>);
        let faults = Mutex::new(Vec::<String>::new());
        let sink = Mutex::new(take);
        let ended = AtomicBool::new(false);
        let hinder = |error: SweepError| {
            ended.store(true, Ordering::Relaxed);
            if let Ok(mut first) = first.lock() {
                first.get_or_insert(error);
            }
        };
        let work = |size: usize| {
            let going = || !control.stop.load(Ordering::Relaxed) && !ended.load(Ordering::Relaxed);
            let mut hand = SweepWorker { sweep: self, cell: None };
            while going() {
                let Ok(mut left) = todo.lock() else { return };
                let batch: Vec<(u32, u64)> = left.by_ref().take(size).collect();
                drop(left);
                if batch.is_empty() {
                    return;
                }
                let mut ran = 0;
                let mut new = RepRows::default();
                for (cell, repetition) in batch.into_iter().take_while(|_| going()) {
                    match hand.one_or_fault(cell, repetition, control) {
                        Ok(Ok(Some(brought))) => {
                            new.add(brought);
                            ran += 1;
                        }
                        Ok(Ok(None)) => {}
                        Ok(Err(why)) => hinder(why),
                        Err(text) => {
                            if let Ok(mut faults) = faults.lock() {
                                faults.push(text);
                            }
                        }
                    }
                }
                if ran == 0 {
                    continue;
                }
                let Ok(mut sink) = sink.lock() else { return };
                if let Some(tables) = &self.tables {
                    tables::all().iter().zip(&new.beside).for_each(|(t, rows)| tables.keep(t.name, rows));
                }
                if let Err(error) = (*sink)(new) {
                    hinder(error.into());
                    return;
                }
                let done = count.fetch_add(ran, Ordering::Relaxed) + ran;
                (control.progress)(Progress { done, total });
            }
        };
        // One job runs on the caller's thread, for targets without threads (WebAssembly).
        if control.jobs == 1 {
            work(batch(left, 1));
        } else {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(control.jobs)
                .build()
                .map_err(|e| SweepError::Threads(e.to_string()))?;
            let size = batch(left, pool.current_num_threads());
            pool.broadcast(|_| work(size));
        }
        if let Ok(Some(error)) = first.into_inner() {
            return Err(error);
        }
        if let Some(text) = faults.into_inner().unwrap_or_default().into_iter().min() {
            return Err(SweepError::Fault(text));
        }
        let done = count.into_inner();
        Ok((done, done == total))
    }

    /// Appends a batch to the folder. The table of flows is last, because its rows mark a repetition as finished.
    fn append(&self, folder: &mut RunFolder, new: &RepRows) -> results::Result<()> {
        let headers = self.tables.iter().flat_map(|tables| tables.headers.iter().zip(&tables.wanted));
        for ((table, (header, wanted)), rows) in tables::all().iter().zip(headers).zip(&new.beside) {
            if *wanted {
                folder.append_table(table.name, header, rows)?;
            }
        }
        folder.append(&new.rows)
    }
}

/// State of one worker thread; it caches the cell that it built last.
struct SweepWorker<'a> {
    sweep: &'a Sweep,
    cell: Option<(u32, Cow<'a, Prepared>)>,
}

impl SweepWorker<'_> {
    /// Runs one repetition. Converts a panic to a fault with the command that reproduces it.
    fn one_or_fault(
        &mut self,
        cell: u32,
        repetition: u64,
        control: &SweepControl<'_>,
    ) -> Result<Result<Option<RepRows>, SweepError>, String> {
        let sweep = self.sweep;
        let run = std::panic::AssertUnwindSafe(|| self.one(cell, repetition, control));
        std::panic::catch_unwind(run).map_err(|_| {
            let seed = sweep.cells.good(cell as usize).map_or(sweep.header.seed, |cell| cell.model.run.seed);
            let hash = &sweep.header.scenario_hash;
            format!(
                "repetition {repetition} of cell {cell} with seed {seed} of scenario {hash}; \
                 to see it again: williwaw plot FILE --cell {cell} --rep {repetition} --seed {seed}"
            )
        })
    }

    /// Runs one repetition; `None` if it was stopped.
    fn one(
        &mut self,
        cell: u32,
        repetition: u64,
        control: &SweepControl<'_>,
    ) -> Result<Option<RepRows>, SweepError> {
        let sweep = self.sweep;
        if self.cell.as_ref().is_none_or(|(held, _)| *held != cell) {
            self.cell = sweep.cells.get(cell as usize).map_err(SweepError::Scenario)?.map(|own| (cell, own));
        }
        let Some((_, prepared)) = &self.cell else { return Ok(None) };
        let model = &prepared.model;
        if let (Some(flow), None) = (real(model), control.player) {
            return Err(SweepError::Real(flow.to_owned()));
        }
        let played = match control.player {
            Some(player) if real(model).is_some() => player.play(cell, model, repetition, control.stop)?,
            _ => self.modelled(cell, model, repetition, control),
        };
        let Some(RepetitionResults { measures, populations, beside }) = played else { return Ok(None) };
        let commands = model.commands.iter().filter(|command| !command.serves);
        let names = model.flows.iter().map(|flow| &flow.name).chain(commands.map(|command| &command.name));
        // Members of a population have tables of their own; in the table of flows a population is one row.
        let named = names.zip(measures).enumerate().filter(|(i, _)| model.system_of(*i).is_none());
        let named = named.map(|(_, named)| named).map(|(name, measures)| (name.clone(), measures));
        let named = named.chain(populations);
        let row = |(flow, values): (String, Vec<Option<f64>>)| Row { cell, repetition, flow, values };
        let rows = named.map(|(name, measures)| row((name, measures.values))).collect();
        let beside = beside.into_iter().filter(|_| sweep.tables.is_some());
        let beside = beside.map(|rows| rows.into_iter().map(row).collect()).collect();
        Ok(Some(RepRows { rows, beside }))
    }

    /// Runs one repetition of models alone, and writes its capture if it is wanted; `None` if it was stopped.
    fn modelled(
        &self,
        cell: u32,
        model: &Model,
        repetition: u64,
        control: &SweepControl<'_>,
    ) -> Option<RepetitionResults> {
        // Captures break ties by position.
        let captures = self.sweep.captures.as_ref().filter(|_| control.shuffle_ties.is_none());
        let captures = captures.filter(|captures| captures.wants(model, repetition));
        let outcome = match captures {
            Some(captures) => captures.run(cell, model, repetition, control.stop),
            None => {
                let tracer = Tracer::off();
                recorded_until_stopped(model, repetition, tracer, control.shuffle_ties, control.stop)
            }
        };
        Some(RepetitionResults::of(model, outcome?))
    }
}
