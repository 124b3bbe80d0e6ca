//! Plan of `run` and `emulate` from their arguments: scenario, defaults, outputs, run folder, shard;
//! conflicting arguments are refused before anything is created or started.

use super::Args;
use crate::console::exit::Failure;
use crate::console::streams::Console;
use crate::input::files::{self, Input};
use crate::output::folder;
use crate::output::record::Record;
use crate::output::style::Style;
use crate::output::table::TableChoice;
use crate::player::captures::RequestedOutputs;
use crate::player::numbers;
use lab::shard::Shard;
use scenario::Scenario;
use scenario::cost::{PACKET_HOPS_TO_ASK, RUNS_TO_ASK};
use std::path::{Path, PathBuf};

/// Plan of a run: sweep, outputs and folder.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) input: Input,
    pub(crate) repetitions: u32,
    pub(crate) seed: u64,
    /// Seed given by the user, which also replaces seeds of the grid.
    pub(crate) given_seed: Option<u64>,
    /// Number of threads; 0: one per core.
    pub(crate) jobs: usize,
    pub(crate) shuffle_ties: Option<u64>,
    /// Shard of the sweep to run; `None`: the whole sweep.
    pub(crate) shard: Option<Shard>,
    pub(crate) place: ResultPlace,
    pub(crate) output: Output,
    pub(crate) csv: Option<PathBuf>,
    pub(crate) report: bool,
    pub(crate) wanted: RequestedOutputs,
    pub(crate) choice: TableChoice,
}

/// Location of results.
#[derive(Debug)]
pub(crate) enum ResultPlace {
    /// Results are not kept.
    None,
    /// New folder under `runs`.
    Fresh,
    /// This folder, which has no run yet.
    New(PathBuf),
    /// This folder, with the record of the run to continue.
    Resumed(PathBuf, Box<Record>),
}

/// Content of stdout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Output {
    /// The table, as terminal text, Markdown or LaTeX.
    Table(Style),
    /// One JSON document.
    Json,
    /// One line per repetition and flow.
    Csv,
}

impl Plan {
    /// Plan of the arguments. Asks the user to confirm a very large run.
    pub(crate) fn of(mut args: Args, console: &Console) -> Result<Plan, Failure> {
        args.sort_out();
        let (output, csv) = output(&args)?;
        let (input, place) = source(&args)?;
        let record = match &place {
            ResultPlace::Resumed(_, record) => Some(record),
            _ => None,
        };
        let run = input.scenario.first().run;
        let repetitions = args.draws.reps.or(record.map(|r| r.repetitions)).unwrap_or(run.repetitions);
        let mut plan = Plan {
            repetitions,
            seed: args.draws.seed.or(record.map(|r| r.seed)).unwrap_or(run.seed),
            given_seed: args.draws.seed.or(record.map(|r| r.seed).filter(|seed| *seed != run.seed)),
            jobs: args.threads.count(),
            shuffle_ties: args.shuffle_ties.or(record.and_then(|r| r.shuffle_ties)),
            shard: shard(args.shard, record.map(|r| &**r))?,
            output,
            csv,
            report: args.report,
            wanted: RequestedOutputs {
                pcap: args.pcap.clone(),
                snap: args.snap,
                xplot: args.xplot.clone(),
                events: args.events.clone(),
                series: args.series.clone(),
            },
            choice: TableChoice { metrics: args.metrics.clone(), flows: args.flows },
            input,
            place,
        };
        plan.keeps_all()?;
        numbers::check(&plan.choice, std::iter::once(plan.input.scenario.first()))?;
        let model = plan.input.scenario.first();
        if let Some(node) = model.nodes.iter().find(|node| node.wire.is_some()) {
            return Err(Failure::wire(&node.name));
        }
        if args.metrics.is_none() && !model.commands.is_empty() {
            // A command has only a duration, and durations of several commands have no meaningful mean.
            plan.choice.flows |= model.commands.len() + model.flows.len() > 1;
            let bare = model.flows.is_empty() && !numbers::any(model);
            plan.choice.metrics = bare.then(|| vec!["completion_time_s".to_owned()]);
        }
        plan.check(&args)?;
        console.warnings(plan.input.scenario.warnings());
        if !args.yes {
            ask(&plan.input.scenario, repetitions, console)?;
        }
        Ok(plan)
    }

    /// Refuses to continue a run with fewer repetitions than its folder holds: the table of the shorter run would
    /// not be that of the record.
    fn keeps_all(&self) -> Result<(), Failure> {
        let ResultPlace::Resumed(path, record) = &self.place else { return Ok(()) };
        if self.repetitions >= record.repetitions {
            return Ok(());
        }
        let held = results::folder::repetitions_held(path)?;
        if held <= u64::from(self.repetitions) {
            return Ok(());
        }
        Err(Failure::usage(
            format!(
                "`{}` has up to {held} repetitions of a cell, and --reps requests {}",
                path.display(),
                self.repetitions
            ),
            format!("give --reps {held} or more, or run the scenario with --out and another folder"),
        ))
    }

    fn check(&self, args: &Args) -> Result<(), Failure> {
        if self.report && matches!(self.place, ResultPlace::None) {
            return Err(Failure::usage("a report needs a run folder", "leave out --no-out"));
        }
        if !self.wanted.is_empty() && matches!(self.place, ResultPlace::None) {
            return Err(Failure::usage(
                "captures and other files of repetitions need a run folder",
                "leave out --no-out",
            ));
        }
        if let ResultPlace::New(path) = &self.place
            && path.is_file()
        {
            let message = format!("--out names the file `{}`", path.display());
            return Err(Failure::usage(message, "give a folder, new or without a run"));
        }
        self.wanted.check(self.repetitions)?;
        let recorded = self.wanted.events.is_some() || self.wanted.series.is_some();
        if let Some(real) = lab::sweep::guest(self.input.scenario.first()).filter(|_| recorded) {
            return Err(Failure::usage(
                format!("`{real}` takes part with a real kernel, of which no events are recorded"),
                "request its packets with --pcap, or its pictures with --xplot",
            ));
        }
        if let Some(csv) = &self.csv {
            let same = |a: &Path, b: &Path| {
                a == b || a.canonicalize().ok().zip(b.canonicalize().ok()).is_some_and(|(a, b)| a == b)
            };
            if args.file.as_deref().is_some_and(|file| same(file, csv)) {
                let message = format!("--csv would write over the scenario `{}`", csv.display());
                return Err(Failure::usage(message, "give it another name, or none for stdout"));
            }
            crate::output::atomic_write::possible(csv)?;
        }
        Ok(())
    }
}

impl Args {
    /// Repairs a scenario that was parsed as the optional value of `--csv` or `--resume` before it.
    fn sort_out(&mut self) {
        if self.file.is_none() {
            let scenario = |word: &mut Option<Option<PathBuf>>| match word {
                Some(Some(path)) if path.extension().is_some_and(|e| e == "toml") && path.is_file() => {
                    word.replace(None).flatten()
                }
                _ => None,
            };
            self.file = scenario(&mut self.csv).or_else(|| scenario(&mut self.resume));
        }
    }
}

fn output(args: &Args) -> Result<(Output, Option<PathBuf>), Failure> {
    match (&args.csv, args.json) {
        (Some(None), true) => Err(Failure::usage(
            "stdout takes either --json or --csv",
            "give the CSV a file: --csv results.csv",
        )),
        (Some(None), false) => Ok((Output::Csv, None)),
        (csv, json) => {
            Ok((if json { Output::Json } else { Output::Table(args.table) }, csv.clone().flatten()))
        }
    }
}

/// Requested shard; an error if it differs from the shard of the folder to resume.
fn shard(asked: Option<Shard>, record: Option<&Record>) -> Result<Option<Shard>, Failure> {
    let Some(record) = record else { return Ok(asked) };
    let kept = record.shard()?;
    let words = |shard: Option<Shard>| shard.map_or("the whole run".to_owned(), |s| format!("shard {s}"));
    if asked.is_some() && asked != kept {
        return Err(Failure::usage(
            format!("the folder to resume has {}, and the command requests {}", words(kept), words(asked)),
            "leave out --shard, or give --out a new folder",
        ));
    }
    Ok(kept)
}

fn source(args: &Args) -> Result<(Input, ResultPlace), Failure> {
    let new = || match (&args.out, args.no_out) {
        (Some(path), _) => ResultPlace::New(path.clone()),
        (None, true) => ResultPlace::None,
        (None, false) => ResultPlace::Fresh,
    };
    let resumed = |path: PathBuf| -> Result<(PathBuf, Box<Record>), Failure> {
        let record = Record::read(&path)?;
        Ok((path, Box::new(record)))
    };
    let folder = args.resume.as_ref().map(|folder| folder.clone().or_else(|| args.out.clone()));
    match (&args.file, folder) {
        (None, None) => {
            Err(Failure::usage("no scenario is given", "give its file, or --resume with a run folder"))
        }
        (None, Some(None)) => Err(Failure::usage("--resume needs a run folder", "name it: --resume FOLDER")),
        (None, Some(Some(path))) => {
            let (path, record) = resumed(path)?;
            let input = record.input(&path, &args.changes.set)?;
            Ok((input, ResultPlace::Resumed(path, record)))
        }
        (Some(file), None) => Ok((files::read(file, &args.changes.set)?, new())),
        (Some(file), Some(folder)) => {
            let input = files::read(file, &args.changes.set)?;
            let path = match folder {
                Some(path) => path,
                None => {
                    let seed = args.draws.seed.unwrap_or(input.scenario.first().run.seed);
                    folder::latest(input.scenario.name(), &input.scenario.hash(), seed, args.shard)?
                }
            };
            let (path, record) = resumed(path)?;
            Ok((input, ResultPlace::Resumed(path, record)))
        }
    }
}

/// Asks before a run whose size may be a mistake; an error without confirmation.
pub(crate) fn ask(scenario: &Scenario, repetitions: u32, console: &Console) -> Result<(), Failure> {
    let cost = scenario.cost();
    let more = f64::from(repetitions) / f64::from(cost.repetitions.max(1));
    let runs = cost.cells.saturating_mul(u64::from(repetitions));
    if runs <= RUNS_TO_ASK && cost.packet_hops * more <= PACKET_HOPS_TO_ASK {
        return Ok(());
    }
    let own = (repetitions != cost.repetitions).then(|| with_repetitions(scenario, repetitions)).flatten();
    let Some(question) = own.as_ref().unwrap_or(scenario).question() else { return Ok(()) };
    if console.ask(&question, "run it nevertheless?") {
        return Ok(());
    }
    Err(Failure::usage("the run was not started", "--yes starts it without asking"))
}

/// Scenario with another number of repetitions, for the wording of the question.
fn with_repetitions(scenario: &Scenario, repetitions: u32) -> Option<Scenario> {
    let mut set: Vec<String> =
        scenario.overrides().iter().map(|(key, value)| format!("{key}={value}")).collect();
    set.push(format!("run.repetitions={repetitions}"));
    scenario::read_with(scenario.name(), scenario.text().as_bytes(), &scenario::NoFiles, &set).ok()
}
