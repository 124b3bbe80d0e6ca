//! `williwaw run`: repetitions of a scenario or its grid in virtual time, with run folder, results in memory
//! or on disk, output, and continuation.

mod expect;
mod explore;
pub(crate) mod page;
pub(crate) mod plan;

use self::expect::ExpectationResult;
use crate::cmd::run::plan::{Output, Plan, ResultPlace};
use crate::console::clock::Stopwatch;
use crate::console::exit::{ExitStatus, Failure};
use crate::console::streams::Console;
use crate::console::{environment, interrupt, progress};
use crate::input::files::Inputs;
use crate::output::VERSION;
use crate::output::folder;
use crate::output::record::Record;
use crate::output::scratch::Scratch;
use crate::output::style::Style;
use crate::output::table::{self, TextTable};
use crate::player::kernels::{KernelOptions, KernelPlayer};
use crate::player::link_processes::LinkProcesses;
use crate::player::numbers;
use lab::shard::{Shard, ShardPart};
use lab::sweep::{Progress, RepetitionPlayer, Sweep, SweepControl, SweepError};
use report::Picture;
use results::cells::CellSummary;
use results::folder::RunFolder;
use results::row::finished;
use results::source::Source;
use results::{Header, Row, Table, csv, json};
use serde::ser::{Serialize, SerializeMap as _, Serializer};
use serde_json::{Map, Value, json};
use std::cell::RefCell;
use std::path::{Path, PathBuf};

/// Run a scenario, or its whole grid, in virtual time
///
/// Prints a table of means with their 95 % intervals and keeps every repetition in a run folder.
/// A [[command]] runs a program at a node, inside a kernel in virtual time (`williwaw linux build` builds it
/// once).
/// An interrupted or killed run loses no finished repetition: --resume continues it.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    williwaw run scenario.toml --reps 1000 --report\n  \
    williwaw run scenario.toml --set hop.radio.rate='60 kbit/s' --json\n  \
    williwaw run scenario.toml --shard 3/16 --out shards/3\n  \
    williwaw run --resume runs/scenario")]
pub(crate) struct Args {
    /// The scenario; `-` is stdin
    pub(crate) file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) draws: crate::console::args::Draws,
    #[command(flatten)]
    pub(crate) threads: crate::console::args::Threads,
    #[command(flatten)]
    pub(crate) changes: crate::console::args::Changes,
    /// Run one shard of the repetitions, as in 3/16; `williwaw merge` merges the shards
    #[arg(long, value_name = "N/OF")]
    pub(crate) shard: Option<Shard>,
    /// Run folder for the results [default: a new folder under `runs`]
    #[arg(long, short, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Keep no results
    #[arg(long, conflicts_with_all = ["out", "resume"])]
    pub(crate) no_out: bool,
    /// Continue the run in this folder; without a folder, the latest run of the scenario
    #[arg(long, value_name = "DIR", num_args = 0..=1)]
    pub(crate) resume: Option<Option<PathBuf>>,
    /// Print one JSON document instead of the table
    #[arg(long)]
    pub(crate) json: bool,
    /// Format of the table
    #[arg(long, value_name = "STYLE", value_enum, default_value = "text", conflicts_with = "json")]
    pub(crate) table: Style,
    /// Write one line per repetition and flow to FILE; without FILE, to stdout instead of the table
    #[arg(long, value_name = "FILE", num_args = 0..=1)]
    pub(crate) csv: Option<Option<PathBuf>>,
    /// Write report.html with pictures into the folder; for a grid also explore.html, with a slider for each
    /// axis
    #[arg(long)]
    pub(crate) report: bool,
    /// Write packet captures of repetitions into the folder, at every host and both sides of every link; of real
    /// kernels only at their two ends, without the fates of packets
    #[arg(long, value_name = "REPS", num_args = 0..=1, require_equals = true, default_missing_value = "0",
          value_parser = crate::player::captures::Repetitions::parse)]
    pub(crate) pcap: Option<crate::player::captures::Repetitions>,
    /// Bytes kept of each packet in captures (snap length); 0 keeps whole packets
    #[arg(long, value_name = "BYTES", default_value_t = 96, requires = "pcap")]
    pub(crate) snap: u32,
    /// Write time-sequence pictures of repetitions for xplot into the folder
    #[arg(long, value_name = "REPS", num_args = 0..=1, require_equals = true, default_missing_value = "0",
          value_parser = crate::player::captures::Repetitions::parse)]
    pub(crate) xplot: Option<crate::player::captures::Repetitions>,
    /// Write events.parquet into the folder: every event of these repetitions, `0,3,7-9` or `all`
    #[arg(long, value_name = "REPS", num_args = 0..=1, require_equals = true, default_missing_value = "0",
          value_parser = crate::player::captures::Repetitions::parse)]
    pub(crate) events: Option<crate::player::captures::Repetitions>,
    /// Write series.parquet into the folder: window, RTT, queues, states and gates of these repetitions over time
    #[arg(long, value_name = "REPS", num_args = 0..=1, require_equals = true, default_missing_value = "0",
          value_parser = crate::player::captures::Repetitions::parse)]
    pub(crate) series: Option<crate::player::captures::Repetitions>,
    /// Metrics to show, separated by commas, or `all`
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) metrics: Option<Vec<String>>,
    /// Show each flow as well as all flows together
    #[arg(long)]
    pub(crate) flows: bool,
    /// Start a very large run without asking
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// The kernel of flows with `transport = "linux"` and of nodes with commands: a name given to `williwaw linux build`, or the path of a binary
    #[arg(long, value_name = "KERNEL")]
    pub(crate) linux: Option<String>,
    /// Read the kernels' TCP_INFO at this interval of virtual time; without it, only at the end
    #[arg(long, value_name = "TIME", value_parser = crate::player::kernels::span)]
    pub(crate) look: Option<base::Span>,
    /// Real time after which a silent kernel is abandoned
    #[arg(long, value_name = "TIME", default_value = "30 s", value_parser = crate::player::kernels::span)]
    pub(crate) patience: base::Span,
    /// Break ties between simultaneous events at random, to test that results do not depend on their order
    #[arg(long, value_name = "SEED")]
    pub(crate) shuffle_ties: Option<u64>,
}

/// Runs the verb.
pub(crate) fn run(args: Args, console: &Console) -> Result<ExitStatus, Failure> {
    let kernel_options =
        KernelOptions { linux: args.linux.clone(), look: args.look, patience: args.patience };
    let again = [
        ("--pcap", args.pcap.is_some()),
        ("--xplot", args.xplot.is_some()),
        ("--events", args.events.is_some()),
        ("--series", args.series.is_some()),
    ];
    let again = again.into_iter().find_map(|(output, asked)| asked.then_some(output));
    let plan = Plan::of(args, console)?;
    let watch = Stopwatch::start();
    let sweep = Sweep::of(&plan.input.scenario, Some(plan.repetitions), plan.given_seed, VERSION)?;
    let mut sweep = sweep.only(plan.shard.map_or(ShardPart::WHOLE, ShardPart::from));
    let mut stage = KernelPlayer::of(&sweep, &kernel_options)?;
    let processes = LinkProcesses::of(&sweep, plan.shuffle_ties, again)?;
    let mut kept = RunStore::open(&plan)?;
    let folder = kept.as_ref().map(|kept| kept.folder.path());
    sweep.captures = folder.and_then(|folder| plan.wanted.captures(sweep.cells.len(), folder));
    if let (Some(stage), Some(kept)) = (&mut stage, &kept) {
        stage.keep_in(kept.folder.path());
    }
    let stop = interrupt::watch_run(console, kept.is_some());
    let player = stage.as_ref().map(|stage| stage as &dyn RepetitionPlayer);
    let player = player.or(processes.as_ref().map(|processes| processes as &dyn RepetitionPlayer));
    let run = |with: &mut dyn FnMut(&SweepControl<'_>) -> Result<(), SweepError>| {
        progress::shown(console, |tell| {
            let progress = |progress: Progress| tell(progress.done, progress.total);
            let (jobs, shuffle_ties) = (plan.jobs, plan.shuffle_ties);
            with(&SweepControl { progress: &progress, stop, jobs, shuffle_ties, player })
        })
    };
    // Metrics of commands in kernels are known only after the run, and few rows without a folder fit into memory.
    let few = sweep.total().saturating_mul(plan.input.scenario.first().flows.len() as u64) <= FEW;
    let ran = match &mut kept {
        Some(kept) if stage.is_none() => {
            let mut ran = None;
            run(&mut |control| sweep.run_kept(&mut kept.folder, control).map(|of| ran = Some(of)))?;
            let (complete, beyond) = ran.map_or((false, false), |ran| (ran.complete, ran.beyond));
            let table = kept.close(complete, watch.seconds())?;
            Results::of(table, beyond, &sweep, complete)?
        }
        None if stage.is_none() && !few => {
            let mut scratch = Scratch::new()?;
            let mut complete = false;
            run(&mut |control| {
                sweep.run_kept(&mut scratch.folder, control).map(|ran| complete = ran.complete)
            })?;
            Results::of(scratch.folder.so_far()?, false, &sweep, complete)?
        }
        _ => {
            let mut brought = (Vec::new(), false);
            let folder = &mut kept.as_mut().map(|kept| &mut kept.folder);
            run(&mut |control| sweep.run(folder.as_deref_mut(), control).map(|all| brought = all))?;
            let (mut rows, complete) = brought;
            let path = kept.as_ref().map(|kept| kept.folder.path().to_owned());
            if let Some(kept) = &mut kept {
                kept.close(complete, watch.seconds())?;
            }
            if let Some(stage) = &stage {
                let reported = stage.reported(path.as_deref(), &sweep, &finished(&rows));
                let folder = path.as_deref().filter(|_| complete);
                numbers::put_beside(&mut sweep.header, &mut rows, &reported, folder)?;
            }
            Results { complete, kind: Kind::Rows(rows) }
        }
    };
    let path = kept.as_ref().map(|kept| kept.folder.path().to_owned());
    let complete = ran.complete;
    let found = RunResults {
        sweep: &sweep,
        source: ran.source(&sweep.header),
        complete,
        path: path.as_deref(),
        plan: &plan,
        verb: "run",
        more: Vec::new(),
        stage,
        drawn: None,
    };
    let mut end = found.show(console)?;
    if complete && plan.report {
        found.report(console)?;
    }
    if let Some(path) = path.as_deref().filter(|_| complete && !plan.wanted.is_empty()) {
        plan.wanted.write(&sweep, plan.repetitions, found.stage.as_ref(), path, console)?;
    }
    found.close(console, &watch)?;
    if let Some(stage) = &found.stage {
        end = stage.judge(end, console);
    }
    Ok(end)
}

/// Maximum number of rows kept in memory in a run without folder: about 40 MB.
const FEW: u64 = 20_000;
/// Maximum number of cells in a table on the terminal or in a report.
const SHOWN: usize = 1000;

/// Rows of a run, in memory or in the table of the run folder.
struct Results {
    complete: bool,
    kind: Kind,
}

enum Kind {
    Rows(Vec<Row>),
    Table(Box<Table>),
}

impl Results {
    /// Results from a table; with `beyond`, the table has repetitions beyond the sweep, which are left out.
    fn of(table: Table, beyond: bool, sweep: &Sweep, complete: bool) -> Result<Results, Failure> {
        if !beyond {
            return Ok(Results { complete, kind: Kind::Table(Box::new(table)) });
        }
        let mut rows = Vec::new();
        Source::Table(&table).each_row(&mut |row| {
            if sweep.holds(row.cell, row.repetition) {
                rows.push(row.clone());
            }
            Ok(())
        })?;
        Ok(Results { complete, kind: Kind::Rows(rows) })
    }

    fn source<'a>(&'a self, header: &'a Header) -> Source<'a> {
        match &self.kind {
            Kind::Rows(rows) => Source::Rows(header, rows),
            Kind::Table(table) => Source::Table(table),
        }
    }
}

/// Run folder and its record.
pub(crate) struct RunStore {
    pub(crate) folder: RunFolder,
    pub(crate) record: Record,
}

impl RunStore {
    pub(crate) fn open(plan: &Plan) -> Result<Option<RunStore>, Failure> {
        let new = |folder: RunFolder, files: &Inputs| -> Result<Option<RunStore>, Failure> {
            let record = Record::new(
                &plan.input.scenario,
                files,
                plan.seed,
                plan.repetitions,
                plan.shuffle_ties,
                plan.jobs,
            )
            .of_shard(plan.shard);
            record.begin(&folder, files)?;
            Ok(Some(RunStore { folder, record }))
        };
        match &plan.place {
            ResultPlace::None => Ok(None),
            ResultPlace::Fresh => {
                new(folder::fresh(plan.input.scenario.name(), plan.shard)?, &plan.input.files)
            }
            ResultPlace::New(path) => new(RunFolder::create(path)?, &plan.input.files),
            ResultPlace::Resumed(path, record) => {
                let folder = RunFolder::open(path)?;
                let mut record = (**record).clone();
                record.repetitions = plan.repetitions;
                record.jobs = plan.jobs;
                Ok(Some(RunStore { folder, record }))
            }
        }
    }

    /// Writes the record and, if all repetitions are finished, the table. Otherwise the journal stays for continuation,
    /// and the returned table of finished repetitions exists only in this process.
    pub(crate) fn close(&mut self, complete: bool, seconds: f64) -> Result<Table, Failure> {
        let table = if complete {
            self.folder.close()?
        } else {
            self.folder.sync()?;
            self.folder.so_far()?
        };
        self.record.complete = complete;
        self.record.seconds += seconds;
        self.record.write(&self.folder)?;
        Ok(table)
    }
}

/// Results of a run, with what their output needs.
pub(crate) struct RunResults<'a> {
    pub(crate) sweep: &'a Sweep,
    pub(crate) source: Source<'a>,
    pub(crate) complete: bool,
    pub(crate) path: Option<&'a Path>,
    pub(crate) plan: &'a Plan,
    /// Name of the verb, for the command that continues the run.
    pub(crate) verb: &'static str,
    /// Further keys of the JSON document.
    pub(crate) more: Vec<(&'static str, Value)>,
    /// Player of kernels in virtual time, if any.
    pub(crate) stage: Option<KernelPlayer>,
    /// Picture of the first repetition, drawn in real time, with the number of its cell.
    pub(crate) drawn: Option<(usize, Picture)>,
}

impl RunResults<'_> {
    fn header(&self) -> &Header {
        self.source.header()
    }

    /// Prints data on stdout and verdicts on stderr, and returns the exit status. Cells are summarised one by one.
    pub(crate) fn show(&self, console: &Console) -> Result<ExitStatus, Failure> {
        // A shard alone cannot be judged: expectations are about the whole sweep.
        let expects = self.sweep.cells.held().iter().any(|cell| !cell.model.expect.is_empty());
        let judged = expects && self.complete && self.plan.shard.is_none();
        let mut verdicts: Vec<ExpectationResult> = Vec::new();
        let mut judge = |summary: &CellSummary, verdicts: &mut Vec<ExpectationResult>| {
            if judged && let Some(cell) = self.sweep.cells.good(summary.cell.index as usize) {
                verdicts.extend(expect::judge(&cell.model, self.header(), summary));
            }
        };
        match self.plan.output {
            Output::Table(style) => {
                let summaries = self.summaries(&mut |summary| judge(summary, &mut verdicts))?;
                let mut board: TextTable = table::board(self.header(), &summaries, &self.plan.choice);
                board.notes.extend(self.left_out(summaries.len()));
                console.data(&style.text(&board, console))?;
                if let Some(stage) = &self.stage {
                    stage.tell(self.sweep, console);
                }
            }
            Output::Json => {
                let document = Document { found: self, judge: RefCell::new((&mut judge, &mut verdicts)) };
                console.stream(&document)?;
            }
            Output::Csv => {
                console.piece(|out| csv::write_source(out, &self.source))?;
                if judged {
                    self.source.each_cell(&mut |summary| {
                        judge(&summary, &mut verdicts);
                        Ok(())
                    })?;
                }
            }
        }
        if let Some(path) = &self.plan.csv {
            crate::output::atomic_write::stream(path, &mut |out| csv::write_source(out, &self.source))?;
        }
        numbers::missing(&self.plan.choice, self.header(), console);
        expect::tell(&verdicts, console);
        Ok(match (self.complete, verdicts.iter().all(|verdict| verdict.holds)) {
            (false, _) => ExitStatus::Interrupted,
            (true, true) => ExitStatus::Good,
            (true, false) => ExitStatus::Failed,
        })
    }

    /// Summaries of the cells to show; `each` is called with the summary of every cell.
    fn summaries(&self, each: &mut dyn FnMut(&CellSummary)) -> Result<Vec<CellSummary>, Failure> {
        let mut shown = Vec::new();
        self.source.each_cell(&mut |summary| {
            each(&summary);
            if shown.len() < SHOWN {
                shown.push(summary);
            }
            Ok(())
        })?;
        Ok(shown)
    }

    /// Note on the cells that a table leaves out; `None` if it shows all.
    fn left_out(&self, shown: usize) -> Option<String> {
        let all = self.header().cells.len();
        (shown < all).then(|| {
            format!("The first {shown} of {all} cells; --json, --csv and `flows.parquet` in the run folder have all.")
        })
    }

    /// Keys of the JSON document that follow the cells.
    fn behind(&self, verdicts: &[ExpectationResult]) -> Map<String, Value> {
        let mut document = Map::new();
        let mut put = |key: &str, value: Value| document.insert(key.to_owned(), value);
        put("title", json!(self.plan.input.scenario.title()));
        put("repetitions", json!(self.plan.repetitions));
        put("complete", json!(self.complete));
        if let Some(shard) = self.plan.shard {
            put("shard", json!(shard.to_string()));
        }
        put("expectations", verdicts.iter().map(ExpectationResult::document).collect());
        if let Some(stage) = &self.stage {
            put("kernels", stage.document(self.sweep));
        }
        if let Some(tables) = &self.sweep.tables
            && self.sweep.cells.held().iter().any(|cell| !cell.model.systems.is_empty())
        {
            let cells = (0..self.sweep.cells.len() as u32).map(|cell| {
                let systems = lab::system::summary::of(tables, self.sweep.repetitions, cell);
                systems.iter().map(lab::system::summary::Summary::document).collect::<Vec<Value>>()
            });
            put("systems", json!(cells.collect::<Vec<_>>()));
        }
        put("folder", json!(self.path.map(|path| path.display().to_string())));
        document
    }

    /// Pictures of the first flow in repetition 0 of some cells. A picture in real time was drawn during the run; in
    /// virtual time the repetition is played again with its trace.
    fn pictures(&self) -> Result<Vec<(usize, Picture)>, Failure> {
        if self.verb == "emulate" {
            return Ok(self.drawn.clone().into_iter().collect());
        }
        let mut all = Vec::new();
        for index in page::chosen(self.sweep.cells.len()) {
            let Some(prepared) = self.sweep.cells.good(index) else { continue };
            let model = &prepared.model;
            let picture = match &self.stage {
                // A program that serves a hop is not started again.
                _ if model.flows.is_empty() || !model.processes.is_empty() => None,
                Some(stage) if lab::sweep::real(model).is_some() => {
                    stage.pictures(model, 0)?.into_iter().next().map(|(_, picture)| picture)
                }
                _ => Some(lab::picture::picture(model, 0, 0)),
            };
            all.extend(picture.map(|picture| (index, picture)));
        }
        Ok(all)
    }

    pub(crate) fn report(&self, console: &Console) -> Result<(), Failure> {
        let Some(folder) = self.path else { return Ok(()) };
        let summaries = self.summaries(&mut |_| ())?;
        let page = page::page(self.plan, self.sweep, &summaries, self.pictures()?);
        let path = folder.join("report.html");
        crate::output::atomic_write::whole(&path, page.html())?;
        console.note(&format!("report: {}", path.display()));
        if self.verb == "run"
            && let Some(grid) = explore::explore(self.plan, self.sweep, &self.source, &summaries)?
        {
            let path = folder.join("explore.html");
            let (html, left_out) = grid.html();
            crate::output::atomic_write::whole(&path, html)?;
            let missing =
                if left_out > 0 { format!("; {left_out} pictures are left out") } else { String::new() };
            console.note(&format!("report with sliders: {}{missing}", path.display()));
        }
        Ok(())
    }

    /// Prints duration, location of the results, and the command that continues the run.
    pub(crate) fn close(&self, console: &Console, watch: &Stopwatch) -> Result<(), Failure> {
        if !self.complete {
            let (mut done, total) = (0u64, self.sweep.total());
            let mut last = None;
            self.source.each_row(&mut |row| {
                let key = (row.cell, row.repetition);
                done += u64::from(last.replace(key) != Some(key));
                Ok(())
            })?;
            console.note(&format!("stopped: {done} of {total} repetitions are done"));
            match self.path {
                Some(path) => {
                    console.note(&format!("continue with: williwaw {} --resume {}", self.verb, shell(path)))
                }
                None => console.note("no results were stored (--no-out), so the run cannot be continued"),
            }
            return Ok(());
        }
        let jobs = if self.plan.jobs == 0 { environment::cores() } else { self.plan.jobs };
        let count = |n: usize, word: &str| format!("{n} {word}{}", if n == 1 { "" } else { "s" });
        let mut text = format!(
            "{} of {} in {:.2} s on {}",
            count(self.sweep.cells.len(), "cell"),
            count(self.plan.repetitions as usize, "repetition"),
            watch.seconds(),
            count(jobs, "thread"),
        );
        if let Some(shard) = self.plan.shard {
            text.push_str(&format!(", shard {shard}"));
        }
        if let Some(path) = self.path {
            text.push_str(&format!("; results in {}", path.display()));
        }
        console.note(&text);
        Ok(())
    }
}

/// Function that evaluates the expectations of a cell.
type Judge<'a> = &'a mut dyn FnMut(&CellSummary, &mut Vec<ExpectationResult>);

/// JSON document of a run, whose cells are converted while it is written.
struct Document<'a> {
    found: &'a RunResults<'a>,
    judge: RefCell<(Judge<'a>, &'a mut Vec<ExpectationResult>)>,
}

impl Serialize for Document<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let found = self.found;
        let header = found.header();
        let mut head = json::head(found.plan.input.scenario.name(), header);
        let mut more: Vec<&(&'static str, Value)> = Vec::new();
        for one in &found.more {
            match head.get_mut(one.0) {
                Some(value) => *value = one.1.clone(),
                None => more.push(one),
            }
        }
        let mut document = serializer.serialize_map(None)?;
        head.iter().try_for_each(|(key, value)| document.serialize_entry(key, value))?;
        let mut judging = self.judge.borrow_mut();
        let (judge, verdicts) = &mut *judging;
        let mut judge = |summary: &CellSummary| judge(summary, verdicts);
        document.serialize_entry("cells", &json::Cells::new(found.source, &mut judge))?;
        let mut behind = found.behind(verdicts);
        behind.extend(more.into_iter().map(|(key, value)| ((*key).to_owned(), value.clone())));
        behind.iter().try_for_each(|(key, value)| document.serialize_entry(key, value))?;
        document.end()
    }
}

/// Path quoted for a shell.
fn shell(path: &Path) -> String {
    let text = path.display().to_string();
    let safe = |c: char| c.is_ascii_alphanumeric() || "/._-+:@%".contains(c);
    if text.chars().all(safe) { text } else { format!("'{}'", text.replace('\'', "'\\''")) }
}
