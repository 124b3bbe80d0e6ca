//! Parallel sweep of a grid: batches, journal, order-independent results.
//!
//! Every repetition of every cell is independent of the others: they go to a pool of threads in small batches,
//! finished ones go to the run's journal, and the order in which they finish shows nowhere.

mod cells;
mod todo;

pub use self::cells::{Cells, HELD};
use self::todo::{Done, Todo};
use crate::measure::{self, FlowMeasures};
use crate::once::{Options, Outcome, run_until_stopped};
use crate::part::Part;
use crate::system::tables::{self, Tables};
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

/// What to run.
pub struct Sweep {
    /// The cells of the grid, with their parameters as text.
    pub cells: Cells,
    /// Repetitions of each.
    pub repetitions: u32,
    /// The share of them that is run here.
    pub part: Part,
    /// What a run's results are stamped with.
    pub header: Header,
    /// Tables of networks of cells, if a cell of the grid has one.
    pub tables: Option<Tables>,
}

/// What a repetition brings: the rows of flows, and those of each table beside.
#[derive(Default)]
struct Brought {
    rows: Vec<Row>,
    beside: Vec<Vec<Row>>,
}

/// A cell ready to run.
#[derive(Clone)]
pub struct Prepared {
    /// Path and value of each axis.
    pub params: Vec<(String, String)>,
    /// What to run.
    pub model: Model,
}

/// How far a sweep has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Repetitions finished, earlier ones of a resumed run included.
    pub done: u64,
    /// Repetitions in all.
    pub total: u64,
}

/// What watches and stops a sweep.
pub struct Control<'a> {
    /// Called now and then, from any thread.
    pub progress: &'a (dyn Fn(Progress) + Sync),
    /// Set from outside to end the sweep; the repetitions in hand are given up within some milliseconds.
    pub stop: &'a AtomicBool,
    /// Threads; 0: one for each core; 1: the caller's own.
    pub jobs: usize,
    /// Break ties by this seed instead of by position.
    pub shuffle_ties: Option<u64>,
    /// Who plays repetitions in which a real kernel takes part.
    pub player: Option<&'a dyn Player>,
}

/// What a repetition brings.
#[derive(Default)]
pub struct Played {
    /// The measures of each flow, then of each command that does not serve, in the order of the model.
    pub measures: Vec<FlowMeasures>,
    /// Populations of networks of cells.
    pub populations: Vec<(String, FlowMeasures)>,
    /// Rows of the tables beside, in the order of [`tables::all`].
    pub beside: Vec<tables::Rows>,
}

impl Played {
    /// From an outcome; tables only where the model has some.
    pub fn of(model: &Model, outcome: Outcome) -> Played {
        let tables = tables::wanted(model);
        let limit = base::Time::ZERO + model.run.limit;
        let beside = if tables { tables::rows(model, &outcome.world, limit) } else { Vec::new() };
        Played { measures: outcome.flows, populations: outcome.populations, beside }
    }
}

/// Plays repetitions in which real kernels take part, in virtual time. Whoever implements it starts processes, which
/// is no business of ours.
pub trait Player: Sync {
    /// Plays one repetition of a cell. None if it was stopped before its end.
    ///
    /// # Errors
    /// It cannot be played, on this machine or at all.
    fn play(
        &self,
        cell: u32,
        model: &Model,
        repetition: u64,
        stop: &AtomicBool,
    ) -> Result<Option<Played>, Refused>;

    /// Which kernels they are; empty where nobody says.
    fn release(&self) -> String {
        String::new()
    }

    /// What the sending kernel of each flow has counted since this was last asked, by cell and repetition.
    fn counted(&self) -> BTreeMap<(u32, u64), Vec<Counters>> {
        BTreeMap::new()
    }

    /// Plays a repetition again and draws one of its flows; nothing from who does not draw.
    ///
    /// # Errors
    /// As of [`Player::play`].
    fn draw(&self, _model: &Model, _repetition: u64, _flow: usize) -> Result<Option<Picture>, Refused> {
        Ok(None)
    }
}

/// What a kernel has counted, by the names that it uses; what is 0 may be left out.
pub type Counters = BTreeMap<String, u64>;

/// Why a repetition with real kernels could not be played.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Refused {
    /// What is wrong.
    pub message: String,
    /// How to mend it; may be empty.
    pub mend: String,
    /// What the scenario asks for is at fault, and not the machine.
    pub asked: bool,
}

/// Why a sweep could not be run.
#[derive(Debug)]
#[non_exhaustive]
pub enum SweepError {
    /// A cell of the grid is impossible.
    Scenario(Diagnostics),
    /// The results could not be kept.
    Results(Error),
    /// This flow has a real kernel's transport, and nobody was given who plays it.
    Real(String),
    /// A repetition with real kernels could not be played.
    Refused(Refused),
    /// No threads to run on.
    Threads(String),
    /// A fault of ours in one repetition; the others are kept. The text is the command that shows it.
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

/// A value of the grid as it stands in tables: text without its quotes.
pub fn plain(value: &serde_json::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// What takes part in a model and is not of it, if there is such a thing: a real kernel, or a program that serves a hop.
pub fn real(model: &Model) -> Option<&str> {
    guest(model).or(process(model))
}

/// A flow or a command in which a real kernel takes part, if there is one; or a bearer with a real PCU, or a node at
/// which a wire ends.
pub fn guest(model: &Model) -> Option<&str> {
    let wire = model.nodes.iter().find(|node| node.wire.is_some()).map(|node| &node.name);
    let flow = model.flows.iter().find(|flow| flow.transport.linux().is_some()).map(|flow| &flow.name);
    flow.or(model.commands.first().map(|command| &command.name)).or(wire).map(String::as_str).or(pcu(model))
}

/// A hop that a program serves, if there is one.
pub fn process(model: &Model) -> Option<&str> {
    model.processes.first().map(|process| process.name.as_str())
}

/// A bearer whose PCU is a program, if there is one.
pub fn pcu(model: &Model) -> Option<&str> {
    let real = |kind: &BearerKind| matches!(kind, BearerKind::Gprs(of) if of.pcu.is_some());
    model.bearers.iter().find(|bearer| real(&bearer.kind)).map(|bearer| bearer.name.as_str())
}

/// At most so many repetitions are handed out at once: enough to make the hand-over cheap.
const BATCH: u64 = 8;

/// Repetitions handed out at once: few enough that every thread gets several batches.
fn batch(todo: u64, threads: usize) -> usize {
    (todo / (4 * threads.max(1) as u64)).clamp(1, BATCH) as usize
}

/// What `each` makes of all of these, in their order, on so many threads as [`Control::jobs`] says.
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
        // Without threads it takes longer, no more.
        Err(_) => all.iter().map(each).collect(),
    }
}

/// What [`Sweep::run_kept`] found and left in the folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ran {
    /// Finished repetitions, earlier ones included.
    pub done: u64,
    /// Whether that is all of them.
    pub complete: bool,
    /// Whether the folder also holds repetitions beyond those of this sweep.
    pub beyond: bool,
}

/// What takes the results of a batch.
type Take<'a> = &'a mut (dyn FnMut(Brought) -> results::Result<()> + Send);

impl Brought {
    fn add(&mut self, other: Brought) {
        self.rows.extend(other.rows);
        self.beside.resize_with(other.beside.len().max(self.beside.len()), Vec::new);
        self.beside.iter_mut().zip(other.beside).for_each(|(all, rows)| all.extend(rows));
    }
}

impl Sweep {
    /// Reads every cell of a scenario, to run it in virtual time. `repetitions` and `seed` replace the
    /// scenario's own.
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

    /// Reads the cells of a scenario, whichever clock will drive it. Those of a large grid are read as they are run.
    pub fn of(
        scenario: &Scenario,
        repetitions: Option<u32>,
        seed: Option<u64>,
        version: &str,
    ) -> Result<Sweep, SweepError> {
        let cells = Cells::new(scenario, seed).map_err(SweepError::Scenario)?;
        Sweep::with(cells, scenario, repetitions, seed, version)
    }

    /// [`Sweep::of`] with every cell at hand, however many there are: for who looks at them more than once.
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
        Ok(Sweep { cells, repetitions, part: Part::WHOLE, header, tables })
    }

    /// The same sweep, of which only a part is run.
    pub fn only(mut self, part: Part) -> Sweep {
        self.part = part;
        self
    }

    /// Repetitions in all, of the part that is run here.
    pub fn total(&self) -> u64 {
        self.part.count(self.cells.len() as u64 * u64::from(self.repetitions))
    }

    /// Runs what is not yet done and returns every row, in no particular order; false if it was
    /// stopped before the end. With a folder, each batch is in its journal before the next begins.
    pub fn run(
        &self,
        folder: Option<&mut RunFolder>,
        control: &Control<'_>,
    ) -> Result<(Vec<Row>, bool), SweepError> {
        let mut folder = folder;
        let mut rows = match folder.as_deref_mut() {
            Some(folder) => folder.start(&self.header)?,
            None => Vec::new(),
        };
        self.read_tables(folder.as_deref())?;
        // A run may be continued with fewer repetitions than it has: those beyond are left out.
        rows.retain(|row| self.holds(row.cell, row.repetition));
        let mut done = Done::none(self.repetitions);
        rows.iter().for_each(|row| done.add(row.cell, row.repetition));
        let (_, complete) = self.drive(done, control, &mut |new: Brought| {
            if let Some(folder) = &mut folder {
                self.append(folder, &new)?;
            }
            rows.extend(new.rows);
            Ok(())
        })?;
        Ok((rows, complete))
    }

    /// Runs what is not yet done into a folder, in memory that does not grow with repetitions or cells: the rows are in
    /// the folder and nowhere else.
    pub fn run_kept(&self, folder: &mut RunFolder, control: &Control<'_>) -> Result<Ran, SweepError> {
        let (mut done, mut beyond) = (Done::none(self.repetitions), false);
        folder.resume(&self.header, &mut |cell, repetition| match self.holds(cell, repetition) {
            true => done.add(cell, repetition),
            false => beyond = true,
        })?;
        self.read_tables(Some(folder))?;
        let (done, complete) = self.drive(done, control, &mut |new| self.append(folder, &new))?;
        Ok(Ran { done, complete, beyond })
    }

    /// Whether a repetition belongs to the part that is run here.
    pub fn holds(&self, cell: u32, repetition: u64) -> bool {
        let cells = self.cells.len() as u64;
        repetition < u64::from(self.repetitions) && self.part.holds(cell, repetition, cells)
    }

    /// What earlier sittings wrote into tables whose rows are kept.
    fn read_tables(&self, folder: Option<&RunFolder>) -> Result<(), SweepError> {
        if let (Some(folder), Some(tables)) = (folder, &self.tables) {
            for name in Tables::KEPT {
                tables.keep(name, &folder.table(name)?);
            }
        }
        Ok(())
    }

    /// Runs what is not done on all threads, each batch through `take`; how many are finished then, and whether that
    /// is all.
    fn drive(&self, done: Done, control: &Control<'_>, take: Take<'_>) -> Result<(u64, bool), SweepError> {
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
        let todo = Mutex::new(Todo::new(cells, self.part, done));
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
            let mut hand = Hand { sweep: self, cell: None };
            while going() {
                let Ok(mut left) = todo.lock() else { return };
                let batch: Vec<(u32, u64)> = left.by_ref().take(size).collect();
                drop(left);
                if batch.is_empty() {
                    return;
                }
                let mut ran = 0;
                let mut new = Brought::default();
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
        // Where there are no threads (WebAssembly) one job is the caller's.
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

    /// Tables first: a repetition is finished by its rows of flows.
    fn append(&self, folder: &mut RunFolder, new: &Brought) -> results::Result<()> {
        let headers = self.tables.iter().flat_map(|tables| tables.headers.iter().zip(&tables.wanted));
        for ((table, (header, wanted)), rows) in tables::all().iter().zip(headers).zip(&new.beside) {
            if *wanted {
                folder.append_table(table.name, header, rows)?;
            }
        }
        folder.append(&new.rows)
    }
}

/// One thread's hand on the sweep: it keeps the cell that it made last.
struct Hand<'a> {
    sweep: &'a Sweep,
    cell: Option<(u32, Cow<'a, Prepared>)>,
}

impl Hand<'_> {
    /// Runs one repetition; a panic in it is told with what is needed to see it again.
    fn one_or_fault(
        &mut self,
        cell: u32,
        repetition: u64,
        control: &Control<'_>,
    ) -> Result<Result<Option<Brought>, SweepError>, String> {
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

    /// None if it was stopped in the middle.
    fn one(
        &mut self,
        cell: u32,
        repetition: u64,
        control: &Control<'_>,
    ) -> Result<Option<Brought>, SweepError> {
        let sweep = self.sweep;
        if self.cell.as_ref().is_none_or(|(held, _)| *held != cell) {
            self.cell = sweep.cells.get(cell as usize).map_err(SweepError::Scenario)?.map(|own| (cell, own));
        }
        let Some((_, prepared)) = &self.cell else { return Ok(None) };
        let model = &prepared.model;
        if let (Some(flow), None) = (real(model), control.player) {
            return Err(SweepError::Real(flow.to_owned()));
        }
        let options = Options { trace: false, shuffle_ties: control.shuffle_ties };
        let played = match control.player {
            Some(player) if real(model).is_some() => player.play(cell, model, repetition, control.stop)?,
            _ => run_until_stopped(model, repetition, options, control.stop)
                .map(|outcome| Played::of(model, outcome)),
        };
        let Some(Played { measures, populations, beside }) = played else { return Ok(None) };
        let commands = model.commands.iter().filter(|command| !command.serves);
        let names = model.flows.iter().map(|flow| &flow.name).chain(commands.map(|command| &command.name));
        // Members of a population stand in tables of their own; here they are one row.
        let named = names.zip(measures).enumerate().filter(|(i, _)| model.system_of(*i).is_none());
        let named = named.map(|(_, named)| named).map(|(name, measures)| (name.clone(), measures));
        let named = named.chain(populations);
        let row = |(flow, values): (String, Vec<Option<f64>>)| Row { cell, repetition, flow, values };
        let rows = named.map(|(name, measures)| row((name, measures.values))).collect();
        let beside = beside.into_iter().filter(|_| sweep.tables.is_some());
        let beside = beside.map(|rows| rows.into_iter().map(row).collect()).collect();
        Ok(Some(Brought { rows, beside }))
    }
}
