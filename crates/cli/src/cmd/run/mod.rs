//! `williwaw run`: a scenario, or its whole grid, in virtual time.

mod expect;

use self::expect::Verdict;
use crate::console::clock::Stopwatch;
use crate::console::exit::{End, Failure};
use crate::console::talk::Talk;
use crate::console::{environment, interrupt, progress};
use crate::input::files::Inputs;
use crate::input::plan::{Output, Place, Plan, VERSION};
use crate::output::record::Record;
use crate::output::style::Style;
use crate::output::table::{self, Board};
use crate::output::{explore, folder, page};
use crate::player::kernels::{Stage, Wish};
use crate::player::numbers;
use lab::part::{Part, Shard};
use lab::sweep::{Control, Player, Progress, Sweep};
use report::Picture;
use results::folder::RunFolder;
use results::{Header, Row, cells, csv, json};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Run a scenario, or its whole grid, in virtual time
///
/// Prints a table of means with their 95 % intervals and keeps every repetition in a run folder.
/// A [[command]] is a program at a node, played inside a kernel of its own (`williwaw linux build` makes one once).
/// A run that was interrupted or killed loses no finished repetition: --resume continues it.
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
    /// Run one share of the repetitions, as in 3/16; `williwaw merge` puts the shares together
    #[arg(long, value_name = "N/OF")]
    pub(crate) shard: Option<Shard>,
    /// Keep the results in this folder; without it, in a new one under `runs`
    #[arg(long, short, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Keep no results
    #[arg(long, conflicts_with_all = ["out", "resume"])]
    pub(crate) no_out: bool,
    /// Continue the run in this folder; with a scenario alone, its latest run
    #[arg(long, value_name = "DIR", num_args = 0..=1)]
    pub(crate) resume: Option<Option<PathBuf>>,
    /// Print one JSON document in place of the table
    #[arg(long)]
    pub(crate) json: bool,
    /// How the table is written
    #[arg(long, value_name = "STYLE", value_enum, default_value = "text", conflicts_with = "json")]
    pub(crate) table: Style,
    /// Write one line per repetition and flow to FILE; without one, to stdout in place of the table
    #[arg(long, value_name = "FILE", num_args = 0..=1)]
    pub(crate) csv: Option<Option<PathBuf>>,
    /// Write report.html with pictures into the folder; of a grid also explore.html, in which the axes are sliders
    #[arg(long)]
    pub(crate) report: bool,
    /// Write packet captures of repetitions into the folder, at every host and both sides of every link
    #[arg(long, value_name = "REPS", num_args = 0..=1, require_equals = true, default_missing_value = "0",
          value_parser = crate::output::captures::Repetitions::parse)]
    pub(crate) pcap: Option<crate::output::captures::Repetitions>,
    /// Keep so many bytes of each packet in captures; 0 keeps all
    #[arg(long, value_name = "BYTES", default_value_t = 96, requires = "pcap")]
    pub(crate) snap: u32,
    /// Write time-sequence pictures of repetitions for xplot into the folder
    #[arg(long, value_name = "REPS", num_args = 0..=1, require_equals = true, default_missing_value = "0",
          value_parser = crate::output::captures::Repetitions::parse)]
    pub(crate) xplot: Option<crate::output::captures::Repetitions>,
    /// Metrics to show, separated by commas, or `all`
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) metrics: Option<Vec<String>>,
    /// Show each flow beside all flows together
    #[arg(long)]
    pub(crate) flows: bool,
    /// Start a very large run without asking
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// The kernel of flows with `transport = "linux"` and of nodes with commands: a name given to `williwaw linux build`, or the path of a binary
    #[arg(long, value_name = "KERNEL")]
    pub(crate) linux: Option<String>,
    /// Look at the kernels' TCP_INFO at these intervals of virtual time; without it, at the end only
    #[arg(long, value_name = "TIME", value_parser = crate::player::kernels::span)]
    pub(crate) look: Option<base::Span>,
    /// Give up a kernel that is silent for so long of real time
    #[arg(long, value_name = "TIME", default_value = "30 s", value_parser = crate::player::kernels::span)]
    pub(crate) patience: base::Span,
    /// Break ties between simultaneous events at random, to see that nothing hangs on their order
    #[arg(long, value_name = "SEED")]
    pub(crate) shuffle_ties: Option<u64>,
}

/// Does it.
pub(crate) fn run(args: Args, talk: &Talk) -> Result<End, Failure> {
    let wish = Wish { linux: args.linux.clone(), look: args.look, patience: args.patience };
    let plan = Plan::of(args, talk)?;
    let watch = Stopwatch::start();
    let sweep = Sweep::of(&plan.input.scenario, Some(plan.repetitions), plan.given_seed, VERSION)?;
    let mut sweep = sweep.only(plan.shard.map_or(Part::WHOLE, Part::from));
    let mut stage = Stage::of(&sweep, &wish)?;
    let mut kept = Kept::open(&plan)?;
    if let (Some(stage), Some(kept)) = (&mut stage, &kept) {
        stage.keep_in(kept.folder.path());
    }
    let stop = interrupt::watch(talk);
    let (mut rows, complete) = progress::shown(talk, |tell| {
        let progress = |progress: Progress| tell(progress.done, progress.total);
        let control = Control {
            progress: &progress,
            stop,
            jobs: plan.jobs,
            shuffle_ties: plan.shuffle_ties,
            player: stage.as_ref().map(|stage| stage as &dyn Player),
        };
        sweep.run(kept.as_mut().map(|kept| &mut kept.folder), &control)
    })?;
    let path = kept.as_ref().map(|kept| kept.folder.path().to_owned());
    if let Some(kept) = &mut kept {
        kept.close(complete, watch.seconds())?;
    }
    if let Some(stage) = &stage {
        let reported = stage.reported(path.as_deref(), &sweep, &rows);
        numbers::put_beside(&mut sweep.header, &mut rows, &reported, path.as_deref().filter(|_| complete))?;
    }
    let found = Found {
        sweep: &sweep,
        rows: &rows,
        complete,
        path: path.as_deref(),
        plan: &plan,
        verb: "run",
        more: Vec::new(),
        stage,
        drawn: None,
    };
    let mut end = found.show(talk)?;
    if complete && plan.report {
        found.report(talk)?;
    }
    if let Some(path) = path.as_deref().filter(|_| complete && !plan.wanted.is_empty()) {
        plan.wanted.write(&sweep, plan.repetitions, found.stage.as_ref(), path, talk)?;
    }
    found.close(talk, &watch);
    if let Some(stage) = &found.stage {
        end = stage.judge(end, talk);
    }
    Ok(end)
}

/// The run's folder and its record.
pub(crate) struct Kept {
    pub(crate) folder: RunFolder,
    pub(crate) record: Record,
}

impl Kept {
    pub(crate) fn open(plan: &Plan) -> Result<Option<Kept>, Failure> {
        let new = |folder: RunFolder, files: &Inputs| -> Result<Option<Kept>, Failure> {
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
            Ok(Some(Kept { folder, record }))
        };
        match &plan.place {
            Place::None => Ok(None),
            Place::Fresh => new(folder::fresh(plan.input.scenario.name(), plan.shard)?, &plan.input.files),
            Place::New(path) => new(RunFolder::create(path)?, &plan.input.files),
            Place::Resumed(path, record) => {
                let folder = RunFolder::open(path)?;
                let mut record = (**record).clone();
                record.repetitions = plan.repetitions;
                record.jobs = plan.jobs;
                Ok(Some(Kept { folder, record }))
            }
        }
    }

    /// The table is made when all is done; until then the journal stays, to be continued.
    pub(crate) fn close(&mut self, complete: bool, seconds: f64) -> Result<(), Failure> {
        if complete {
            self.folder.finish()?;
        } else {
            self.folder.sync()?;
        }
        self.record.complete = complete;
        self.record.seconds += seconds;
        self.record.write(&self.folder)
    }
}

/// What came out.
pub(crate) struct Found<'a> {
    pub(crate) sweep: &'a Sweep,
    pub(crate) rows: &'a [Row],
    pub(crate) complete: bool,
    pub(crate) path: Option<&'a Path>,
    pub(crate) plan: &'a Plan,
    /// The verb, to continue with.
    pub(crate) verb: &'static str,
    /// What the verb has to tell beside, in the document.
    pub(crate) more: Vec<(&'static str, Value)>,
    /// The kernels in virtual time, if there are any.
    pub(crate) stage: Option<Stage>,
    /// What was drawn of the first repetition while it was played in real time, with the number of its cell.
    pub(crate) drawn: Option<(usize, Picture)>,
}

impl Found<'_> {
    fn header(&self) -> &Header {
        &self.sweep.header
    }

    /// Data on stdout, verdicts on stderr.
    pub(crate) fn show(&self, talk: &Talk) -> Result<End, Failure> {
        let summaries = cells::summarise(self.header(), self.rows)?;
        // Expectations are about the whole sweep.
        let verdicts: Vec<Verdict> = if self.complete && self.plan.shard.is_none() {
            let pairs = self.sweep.cells.iter().zip(&summaries);
            pairs.flat_map(|(cell, summary)| expect::judge(&cell.model, self.header(), summary)).collect()
        } else {
            Vec::new()
        };
        match self.plan.output {
            Output::Table(style) => {
                let board: Board = table::board(self.header(), &summaries, &self.plan.choice);
                talk.data(&style.text(&board, talk))?;
                if let Some(stage) = &self.stage {
                    stage.tell(self.sweep, talk);
                }
            }
            Output::Json => talk.document(&self.document(&verdicts)?)?,
            Output::Csv => talk.data(&self.csv_text()?)?,
        }
        if let Some(path) = &self.plan.csv {
            crate::output::atomic_write::whole(path, self.csv_text()?)?;
        }
        numbers::missing(&self.plan.choice, self.header(), talk);
        expect::tell(&verdicts, talk);
        Ok(match (self.complete, verdicts.iter().all(|verdict| verdict.holds)) {
            (false, _) => End::Interrupted,
            (true, true) => End::Good,
            (true, false) => End::Failed,
        })
    }

    fn csv_text(&self) -> Result<String, Failure> {
        let mut bytes = Vec::new();
        csv::write_csv(&mut bytes, self.header(), self.rows)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn document(&self, verdicts: &[Verdict]) -> Result<Value, Failure> {
        let scenario = &self.plan.input.scenario;
        let mut document = json::run_document(scenario.name(), self.header(), self.rows)?;
        document["title"] = json!(scenario.title());
        document["repetitions"] = json!(self.plan.repetitions);
        document["complete"] = json!(self.complete);
        if let Some(shard) = self.plan.shard {
            document["shard"] = json!(shard.to_string());
        }
        document["expectations"] = verdicts.iter().map(Verdict::document).collect();
        if let Some(stage) = &self.stage {
            document["kernels"] = stage.document(self.sweep);
        }
        if let Some(tables) = &self.sweep.tables
            && self.sweep.cells.iter().any(|cell| !cell.model.systems.is_empty())
        {
            let cells = (0..self.sweep.cells.len() as u32).map(|cell| {
                let systems = lab::system::summary::of(tables, self.sweep.repetitions, cell);
                systems.iter().map(lab::system::summary::Summary::document).collect::<Vec<Value>>()
            });
            document["systems"] = json!(cells.collect::<Vec<_>>());
        }
        document["folder"] = json!(self.path.map(|path| path.display().to_string()));
        for (key, value) in &self.more {
            document[*key] = value.clone();
        }
        Ok(document)
    }

    /// Pictures of the first flow in repetition 0 of some cells. A repetition in real time was drawn when it was
    /// played; others are played again with their trace.
    fn pictures(&self) -> Result<Vec<(usize, Picture)>, Failure> {
        if self.verb == "emulate" {
            return Ok(self.drawn.clone().into_iter().collect());
        }
        let mut all = Vec::new();
        for index in page::chosen(self.sweep.cells.len()) {
            let model = &self.sweep.cells[index].model;
            let picture = match &self.stage {
                _ if model.flows.is_empty() => None,
                Some(stage) if lab::sweep::real(model).is_some() => {
                    stage.pictures(model, 0)?.into_iter().next().map(|(_, picture)| picture)
                }
                _ => Some(lab::picture::picture(model, 0, 0)),
            };
            all.extend(picture.map(|picture| (index, picture)));
        }
        Ok(all)
    }

    pub(crate) fn report(&self, talk: &Talk) -> Result<(), Failure> {
        let Some(folder) = self.path else { return Ok(()) };
        let summaries = cells::summarise(self.header(), self.rows)?;
        let page = page::page(self.plan, self.sweep, &summaries, self.pictures()?);
        let path = folder.join("report.html");
        crate::output::atomic_write::whole(&path, page.html())?;
        talk.note(&format!("report: {}", path.display()));
        if self.verb == "run"
            && let Some(grid) = explore::explore(self.plan, self.sweep, self.rows, &summaries)
        {
            let path = folder.join("explore.html");
            let (html, left_out) = grid.html();
            crate::output::atomic_write::whole(&path, html)?;
            let missing =
                if left_out > 0 { format!("; {left_out} pictures are left out") } else { String::new() };
            talk.note(&format!("report with sliders: {}{missing}", path.display()));
        }
        Ok(())
    }

    /// How much was done, where it lies, and how to go on.
    pub(crate) fn close(&self, talk: &Talk, watch: &Stopwatch) {
        let (done, total) = (results::row::finished(self.rows).len(), self.sweep.total());
        if !self.complete {
            talk.note(&format!("stopped: {done} of {total} repetitions are done"));
            match self.path {
                Some(path) => {
                    talk.note(&format!("continue with: williwaw {} --resume {}", self.verb, shell(path)))
                }
                None => talk.note("nothing was kept (--no-out), so it cannot be continued"),
            }
            return;
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
        talk.note(&text);
    }
}

/// A path as a shell takes it.
fn shell(path: &Path) -> String {
    let text = path.display().to_string();
    let safe = |c: char| c.is_ascii_alphanumeric() || "/._-+:@%".contains(c);
    if text.chars().all(safe) { text } else { format!("'{}'", text.replace('\'', "'\\''")) }
}
