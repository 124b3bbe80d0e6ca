//! `williwaw compare`: paired comparison of scenarios, finished runs or captures with common random numbers,
//! and the non-inferiority gate, which adds repetitions while undecided.

mod among;
mod captured;
mod emulated;
mod gate;
mod page;
mod side;
mod text;
mod weather;

use self::emulated::Emulator;
use self::gate::{GateVerdict, Judged, Margin};
use self::side::{RunSettings, Side, SideSource};
use self::text::{CellPair, Comparison, better, chosen};
use crate::cmd::run::plan::ask;
use crate::console::clock::Stopwatch;
use crate::console::exit::{ExitStatus, Failure};
use crate::console::streams::Console;
use crate::console::{interrupt, progress};
use crate::output::VERSION;
use crate::output::table::{ALL, TableChoice};
use crate::output::{labels, terminal};
use crate::player::kernels::{KernelOptions, SENDER_COUNTERS};
use crate::player::numbers;
use lab::sweep::{Progress, Sweep};
use results::Column;
use results::pairs::{self, Contrast, Pair};
use serde_json::json;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Compare two scenarios pair by pair with common random numbers, with the verdict in one sentence
///
/// In each repetition both sides draw the same pauses, fades and load (common random numbers). The 95 %
/// interval is that of the paired difference. A side is a scenario, or the folder of an earlier run, in virtual
/// time or by `emulate`. A side can also be a capture of the other side's scenario at the sending host, or a
/// folder with one capture per repetition.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    williwaw compare before.toml after.toml\n  \
    williwaw compare scenario.toml --set-b flow.download.transport.tcp.spurious=eifel --reps 100\n  \
    williwaw compare scenarios/linux/before-after.toml --set-a flow.download.transport.linux.kernel=before --set-b flow.download.transport.linux.kernel=after\n  \
    williwaw compare runs/before runs/after --metrics goodput_ratio\n  \
    williwaw compare scenario.toml field.pcapng --metrics completion_time_s,spurious_timeouts\n  \
    williwaw compare news.toml --metrics message_delay_s --among flow.news.transport=tcp --among flow.news.transport=sctp --among flow.news.transport=atp")]
pub(crate) struct Args {
    /// The first side, the reference: a scenario, a run folder or a capture
    pub(crate) a: PathBuf,
    /// The second side [default: the first scenario, changed by --set-b]
    pub(crate) b: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) draws: crate::console::args::Draws,
    #[command(flatten)]
    pub(crate) threads: crate::console::args::Threads,
    #[command(flatten)]
    pub(crate) changes: crate::console::args::Changes,
    /// Change one value of the first side only
    #[arg(long = "set-a", value_name = "KEY=VALUE")]
    pub(crate) set_a: Vec<String>,
    /// Change one value of the second side only
    #[arg(long = "set-b", value_name = "KEY=VALUE")]
    pub(crate) set_b: Vec<String>,
    /// A variant of the first scenario; all variants are ranked by one metric. Give it once per variant
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) among: Vec<String>,
    /// Keep both runs in this folder, as `a` and `b`; the same command again continues them
    #[arg(long, short, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Print one JSON document instead of sentence and table
    #[arg(long)]
    pub(crate) json: bool,
    /// Write an HTML page with the table, and pictures of the repetition in which the sides differ most
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
    /// Metrics to show, separated by commas, or `all`; the sentence is about the first
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) metrics: Option<Vec<String>>,
    /// Show each flow as well as all flows together
    #[arg(long)]
    pub(crate) flows: bool,
    /// Exit with 1 if the second side is worse in the first metric, at 95 % in each cell, or yields it in fewer
    /// repetitions. With a share (`--no-worse=10%`) it is a test of non-inferiority: 0 if a loss of that share
    /// is excluded, 1 if it is certain, 5 if undecided
    #[arg(long, value_name = "SHARE", num_args = 0..=1, require_equals = true, value_parser = gate::margin)]
    pub(crate) no_worse: Option<Option<Margin>>,
    /// With --no-worse=SHARE: double the repetitions up to this many while a cell is undecided
    #[arg(long, value_name = "N", requires = "no_worse", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_reps: Option<u32>,
    /// Write the verdicts as a JUnit file, a test case for each cell
    #[arg(long, value_name = "FILE", requires = "no_worse")]
    pub(crate) junit: Option<PathBuf>,
    /// Append the verdicts as Markdown, for the summary page of a CI build (`$GITHUB_STEP_SUMMARY`)
    #[arg(long, value_name = "FILE", requires = "no_worse")]
    pub(crate) summary: Option<PathBuf>,
    /// Run both sides in real time, as `emulate` does, alternating repetition by repetition
    #[arg(long, conflicts_with_all = ["linux", "report"])]
    pub(crate) emulate: bool,
    /// With --emulate: attempts per repetition until one is faithful
    #[arg(long, value_name = "N", default_value_t = 3, requires = "emulate", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) tries: u32,
    /// With --emulate: limit of the 99th percentile of lateness
    #[arg(long, value_name = "TIME", default_value = "1 ms", requires = "emulate", value_parser = crate::player::kernels::span)]
    pub(crate) lateness: base::Span,
    /// Start very large runs without asking
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// The kernel of flows with `transport = "linux"` and of nodes with commands: a name given to `williwaw linux build`, or the path of a binary
    #[arg(long, value_name = "KERNEL")]
    pub(crate) linux: Option<String>,
    /// Real time after which a silent kernel is abandoned
    #[arg(long, value_name = "TIME", default_value = "30 s", value_parser = crate::player::kernels::span)]
    pub(crate) patience: base::Span,
}

/// Runs the verb.
pub(crate) fn run(args: Args, console: &Console) -> Result<ExitStatus, Failure> {
    if !args.among.is_empty() {
        TableChoice { metrics: args.metrics.clone(), flows: args.flows }
            .check(scenario::metric::Metric::NAMES)?;
        return among::run(&args, console);
    }
    let sides = wanted(&args)?;
    let labels = called(&sides)?;
    let kernel_options = KernelOptions { linux: args.linux.clone(), look: None, patience: args.patience };
    let mut terms = terms(&args, &sides, &kernel_options, interrupt::watch(console))?;
    for side in sides.iter().filter(|side| !side.made()) {
        console.warnings(side.input.scenario.warnings());
        if !args.yes {
            ask(&side.input.scenario, terms.repetitions, console)?;
        }
    }
    // A finished run gets no further repetitions.
    let made = sides.iter().any(SideSource::made);
    let most = args.max_reps.filter(|_| !made).unwrap_or(terms.repetitions);
    let looks = gate::looks(terms.repetitions, most);
    let sweeps = [sides[0].sweep(&terms)?, sides[1].sweep(&terms)?];
    if pairs::cells(&sweeps[0].header, &sweeps[1].header).is_empty() {
        return Err(Failure::usage(
            "no cell of the one grid has the values of a cell of the other",
            "compare grids with the same axes, or choose one cell of each with --set-a and --set-b",
        ));
    }
    remark(&sides, &sweeps, console);
    let watch = Stopwatch::start();
    let emulator = match args.emulate {
        true => Some(Emulator::begin(sides.each_ref(), sweeps.each_ref(), &terms, &args, console)?),
        false => None,
    };
    let mut plan = GatePlan { margin: args.no_worse.flatten(), looks, most, emulator };
    let [a, b] = until_decided(&args, sides, sweeps, &labels, &mut terms, &mut plan, console)?;
    let complete = a.complete && b.complete;
    let compared = compared([&a, &b], &args)?;
    show(&compared, [&a, &b], &terms, &plan, &args, console)?;
    let mut end = match plan.emulator.take() {
        Some(emulator) => emulator.end([&a.sweep, &b.sweep], terms.repetitions, complete, console)?,
        None => ExitStatus::Good,
    };
    if !complete {
        console.note("stopped: only pairs of finished repetitions were compared");
        if let Some(out) = &args.out {
            console.note(&format!(
                "finished repetitions are in {}; the same command continues the run",
                out.display()
            ));
        }
        return Ok(ExitStatus::Interrupted);
    }
    if let Some(path) = &args.report {
        let page = page::page(&compared, [&a, &b], &terms)?;
        crate::output::atomic_write::whole(path, page.html())?;
        console.note(&format!("report: {}", path.display()));
    }
    let kept = args.out.as_ref().map_or(String::new(), |out| format!("; both runs are in {}", out.display()));
    console.note(&format!("compared in {:.2} s{kept}", watch.seconds()));
    for side in [&a, &b] {
        if let Some(stage) = &side.stage {
            end = stage.judge(end, console);
        }
    }
    match args.no_worse {
        None => Ok(end),
        Some(None) => Ok(judged(&compared, end, console)),
        Some(Some(margin)) => {
            let all = gate::judge(&compared, margin, looks);
            gated(&args, &all, [&a.label, &b.label], watch.seconds(), console)?;
            Ok(match gate::overall(&all) {
                GateVerdict::Passed => end,
                GateVerdict::Failed => ExitStatus::Failed,
                // More repetitions do not help if most of them are unfaithful.
                GateVerdict::Undecided if end == ExitStatus::Unfaithful => end,
                GateVerdict::Undecided => ExitStatus::Undecided,
            })
        }
    }
}

/// Both sides as named on the command line; an error if they cannot be compared as requested.
fn wanted(args: &Args) -> Result<[SideSource; 2], Failure> {
    for file in [&args.report, &args.junit, &args.summary].into_iter().flatten() {
        crate::output::atomic_write::possible(file)?;
    }
    let stdin = |path: &Path| path == Path::new("-");
    if stdin(&args.a) && args.b.as_deref().is_none_or(stdin) {
        return Err(Failure::usage("stdin can be read only once", "put one of the scenarios into a file"));
    }
    let sides = [named(args, 0)?, named(args, 1)?];
    let choice = TableChoice { metrics: args.metrics.clone(), flows: args.flows };
    numbers::check(&choice, sides.iter().map(|side| side.input.scenario.first()))?;
    possible(args)?;
    let made = SideSource::made;
    if args.emulate && sides.iter().any(made) {
        return Err(Failure::usage(
            "--emulate runs scenarios, and one side is a finished run",
            "leave out --emulate, or give the scenario of that run",
        ));
    }
    if args.out.is_some() && sides.iter().all(made) {
        return Err(Failure::usage(
            "both sides are finished runs, which stay in their folders",
            "leave out --out",
        ));
    }
    Ok(sides)
}

/// Prints sentence and table, or the JSON document.
fn show(
    compared: &Comparison<'_>,
    sides: [&Side; 2],
    terms: &RunSettings<'_>,
    plan: &GatePlan,
    args: &Args,
    console: &Console,
) -> Result<(), Failure> {
    let metric = compared.shown.first().map(|&at| compared.columns[at].name.as_str());
    let among = metric.and_then(|metric| captured::Rank::of(sides, metric));
    if args.json {
        let mut document = document(compared, sides, terms, plan);
        if let Some(among) = &among {
            document["among"] = among.document();
        }
        return console.document(&document);
    }
    let mut text = terminal::wrap(&compared.sentence(), console.width.unwrap_or(usize::MAX)).join("\n");
    if let Some(among) = &among {
        text.push('\n');
        text.push_str(&terminal::wrap(among.sentence(), console.width.unwrap_or(usize::MAX)).join("\n"));
    }
    text.push_str("\n\n");
    text.push_str(&terminal::text(&compared.board(), console.width, console.colour));
    let choice = TableChoice { metrics: args.metrics.clone(), flows: args.flows };
    numbers::missing(&choice, &sides[0].header, console);
    console.data(&text)
}

/// Writes the JUnit file and the Markdown summary of the gate, and prints failed cells.
fn gated(
    args: &Args,
    all: &[Judged],
    labels: [&str; 2],
    seconds: f64,
    console: &Console,
) -> Result<(), Failure> {
    if let Some(file) = &args.junit {
        crate::output::atomic_write::whole(file, gate::junit(all, labels, seconds))?;
    }
    if let Some(file) = &args.summary {
        let before = std::fs::read_to_string(file).unwrap_or_default();
        crate::output::atomic_write::whole(file, before + &gate::summary(all, labels))?;
    }
    for judged in all {
        match judged.verdict {
            GateVerdict::Passed => {}
            GateVerdict::Failed => console.complaint("worse", &judged.text),
            GateVerdict::Undecided => console.complaint("undecided", &judged.text),
        }
    }
    Ok(())
}

/// Plan of the gate.
struct GatePlan {
    margin: Option<Margin>,
    /// Number of looks at the results, the first included.
    looks: u32,
    /// Maximum number of repetitions.
    most: u32,
    /// Runner of both sides in real time, for `--emulate`.
    emulator: Option<Emulator>,
}

/// Runs both sides, with more repetitions as long as the gate is undecided and the bound allows.
fn until_decided(
    args: &Args,
    mut sides: [SideSource; 2],
    sweeps: [Sweep; 2],
    labels: &[String; 2],
    terms: &mut RunSettings<'_>,
    plan: &mut GatePlan,
    console: &Console,
) -> Result<[Side; 2], Failure> {
    let mut sweeps = Some(sweeps);
    loop {
        let now = match sweeps.take() {
            Some(sweeps) => sweeps,
            None => [sides[0].sweep(terms)?, sides[1].sweep(terms)?],
        };
        let [mut a, mut b] = match &mut plan.emulator {
            Some(emulator) => emulator.look(now, labels, terms, console)?,
            None => both(sides, now, labels, terms, args.out.as_deref(), console)?,
        };
        // A metric that commands of one side only report has no values on the other side, but is known.
        let (own, other) = (a.header.clone(), b.header.clone());
        numbers::with_columns_of(&mut a.header, &mut a.rows, &other);
        numbers::with_columns_of(&mut b.header, &mut b.rows, &own);
        let enough = match plan.margin {
            Some(margin) if a.complete && b.complete && terms.repetitions < plan.most => {
                let compared = compared([&a, &b], args)?;
                gate::overall(&gate::judge(&compared, margin, plan.looks)) != GateVerdict::Undecided
            }
            _ => true,
        };
        if enough {
            return Ok([a, b]);
        }
        terms.repetitions = terms.repetitions.saturating_mul(2).min(plan.most);
        console.note(&format!(
            "undecided; going on to {} repetitions of at most {}",
            terms.repetitions, plan.most
        ));
        sides = [named(args, 0)?, named(args, 1)?];
    }
}

/// JSON document of the comparison.
fn document(
    compared: &Comparison<'_>,
    sides: [&Side; 2],
    terms: &RunSettings<'_>,
    plan: &GatePlan,
) -> serde_json::Value {
    let mut document = compared.document();
    document["schema"] = json!("williwaw-compare/1");
    document["seed"] = json!(terms.seed);
    document["version"] = json!(VERSION);
    document["complete"] = json!(sides.iter().all(|side| side.complete));
    document["repetitions"] = json!(terms.repetitions);
    if let Some(emulator) = &plan.emulator {
        document["emulation"] = emulator.document();
    }
    if let Some(margin) = plan.margin {
        let judged = gate::judge(compared, margin, plan.looks);
        let one = |j: &Judged| json!({ "cell": j.name, "verdict": j.verdict.name(), "text": j.text });
        document["gate"] = json!({
            "margin": margin.0,
            "looks": plan.looks,
            "verdict": gate::overall(&judged).name(),
            "cells": judged.iter().map(one).collect::<Vec<_>>(),
        });
    }
    for (key, side) in ["a", "b"].into_iter().zip(sides) {
        document[key]["scenario_hash"] = json!(side.header.scenario_hash);
        document[key]["version"] = json!(side.header.version);
        document[key]["cells"] = json!(side.header.cells.len());
    }
    document
}

/// Prints the cells in which the second side is worse, and returns the exit status.
fn judged(compared: &Comparison<'_>, end: ExitStatus, console: &Console) -> ExitStatus {
    let worse = compared.worse();
    for beside in &worse {
        let place = labels::cell(&beside.params);
        let place = if place.is_empty() { place } else { format!(" ({place})") };
        console.complaint("worse", &format!("{}{place}", compared.of_cell(beside, compared.shown[0])));
    }
    if worse.is_empty() { end } else { ExitStatus::Failed }
}

/// Refuses conflicting arguments.
fn possible(args: &Args) -> Result<(), Failure> {
    let own = args.set_a.iter().chain(&args.set_b).filter_map(|word| word.split_once('='));
    for (key, _) in own {
        let remedy = match key.trim() {
            "run.seed" => "both sides use one seed: --seed",
            "run.repetitions" => "repetitions are paired: --reps",
            _ => continue,
        };
        return Err(Failure::usage(format!("`{}` cannot be set for one side only", key.trim()), remedy));
    }
    let first = args.metrics.as_ref().and_then(|names| names.first()).filter(|name| **name != ALL);
    if let Some(name) = first.filter(|name| args.no_worse.is_some() && better(name).is_none()) {
        let message = format!("the metric `{name}` has no better direction, so --no-worse cannot judge it");
        return Err(Failure::usage(message, "name another metric first: --metrics download_time_s"));
    }
    Ok(())
}

fn named(args: &Args, side: usize) -> Result<SideSource, Failure> {
    let set = &args.changes.set;
    if let Some(captured) = captured::side(args, side)? {
        return Ok(captured);
    }
    match (side, &args.b) {
        (0, _) => SideSource::read(&args.a, set, &args.set_a),
        (_, Some(b)) => SideSource::read(b, set, &args.set_b),
        (_, None) if args.set_a.is_empty() && args.set_b.is_empty() => Err(Failure::usage(
            "the second side is missing",
            "give a second scenario, or a change: --set-b KEY=VALUE",
        )),
        (_, None) => SideSource::read(&args.a, set, &args.set_b),
    }
}

/// Labels of both sides: their different overrides, or the distinguishing part of their file names.
fn called(sides: &[SideSource; 2]) -> Result<[String; 2], Failure> {
    let [a, b] = sides;
    let own = [a.own_words(b), b.own_words(a)];
    if a.path == b.path && own.iter().all(|words| !words.is_empty()) && own[0] != own[1] {
        return Ok(own);
    }
    let with = |name: String, words: &str| {
        if words.is_empty() { name } else { format!("{name} with {words}") }
    };
    for whole in [false, true] {
        let labels = [with(a.name(whole), &own[0]), with(b.name(whole), &own[1])];
        if labels[0] != labels[1] {
            return Ok(labels);
        }
    }
    Err(Failure::usage(
        "both sides are the same",
        "give another scenario, or a change of one side: --set-b KEY=VALUE",
    ))
}

/// Settings of both runs. Seed and repetitions come from the options, else from finished runs, else from the first
/// scenario.
fn terms<'a>(
    args: &Args,
    sides: &[SideSource; 2],
    kernel_options: &'a KernelOptions,
    stop: &'static std::sync::atomic::AtomicBool,
) -> Result<RunSettings<'a>, Failure> {
    let models = sides.each_ref().map(|side| side.input.scenario.first());
    for model in models {
        if let Some(node) = model.nodes.iter().find(|node| node.wire.is_some()) {
            return Err(Failure::wire(&node.name));
        }
    }
    let records = || sides.iter().filter_map(|side| side.record.as_deref());
    let seed = args.draws.seed.or(records().next().map(|record| record.seed)).unwrap_or(models[0].run.seed);
    if let Some(record) = records().find(|record| record.seed != seed) {
        return Err(Failure::usage(
            format!("the runs have different seeds, {} and {seed}, so they cannot be paired", record.seed),
            "run one of them again with the seed of the other",
        ));
    }
    let made = records().map(|record| record.repetitions).min();
    let repetitions = match (args.draws.reps, made) {
        (Some(asked), Some(made)) if asked > made && records().count() == 2 => {
            return Err(Failure::usage(
                format!("--reps requests {asked} repetitions, and the runs have {made}"),
                "continue the runs first: williwaw run --resume DIR --reps N",
            ));
        }
        (asked, made) => asked.or(made).unwrap_or(models[0].run.repetitions),
    };
    Ok(RunSettings { seed, repetitions, jobs: args.threads.count(), kernel_options, stop })
}

/// Prints notes on the validity of the comparison.
fn remark(sides: &[SideSource; 2], sweeps: &[Sweep; 2], console: &Console) {
    let [a, b] = sweeps;
    let together = pairs::cells(&a.header, &b.header);
    let mut apart: Vec<String> = together.iter().flat_map(|&cells| unlike(a, b, cells)).collect();
    apart.sort_unstable();
    apart.dedup();
    if !apart.is_empty() {
        console.note(&format!("their weather is not the same: {}", apart.join(", ")));
    }
    if sweeps.iter().any(|sweep| sweep.cells.held().iter().any(|cell| weather::per_packet(&cell.model))) {
        console
            .note("losses or delays are drawn for each packet: a side with other packets has other losses");
    }
    let flows = [a, b].map(|sweep| {
        let models = sweep.cells.held().iter().map(|cell| &cell.model);
        models.flat_map(|model| &model.flows).map(|flow| flow.name.as_str()).collect::<BTreeSet<&str>>()
    });
    let alone: Vec<&str> = flows[0].symmetric_difference(&flows[1]).copied().collect();
    if !alone.is_empty() {
        console.note(&format!("only one side has the flows {}", alone.join(", ")));
    }
    for (i, (sweep, side)) in sweeps.iter().zip(sides).enumerate() {
        let paired = |index: u32| together.iter().any(|cells| [cells.0, cells.1][i] == index);
        let left = sweep.header.cells.iter().filter(|cell| !paired(cell.index)).count();
        if left > 0 {
            let cells = if left == 1 { "cell has" } else { "cells have" };
            console.note(&format!("{left} {cells} no partner in {}", side.path.display()));
        }
        let emulation = side.record.as_ref().and_then(|record| record.emulation.as_ref());
        if emulation.is_some_and(|emulation| emulation["faithful"] == false) {
            console
                .note(&format!("the run in {} was not faithful: packets left too late", side.path.display()));
        }
    }
    let versions =
        sides.each_ref().map(|side| side.record.as_ref().map_or(VERSION, |record| &record.version));
    if versions[0] != versions[1] {
        console.note(&format!("they are of two versions of williwaw, {} and {}", versions[0], versions[1]));
    }
    if sides.iter().any(|side| !side.captures.is_empty()) {
        console.note(
            "of captures only values from the sender's packets are compared; their weather is their own",
        );
    }
    for side in sides {
        if side.record.as_ref().is_some_and(|record| !record.complete) {
            console.note(&format!("the run in {} is not complete", side.path.display()));
        }
    }
}

/// Differences between the weather of two cells.
fn unlike(a: &Sweep, b: &Sweep, (left, right): (u32, u32)) -> Vec<String> {
    let (Some(a), Some(b)) = (a.cells.held().get(left as usize), b.cells.held().get(right as usize)) else {
        return Vec::new();
    };
    let mut apart = weather::apart(&a.model, &b.model);
    if a.model.run.seed != b.model.run.seed {
        apart.push("seed".to_owned());
    }
    apart
}

/// Runs or reads both sides. Errors in the second side are reported before the first side is run.
fn both(
    sides: [SideSource; 2],
    sweeps: [Sweep; 2],
    labels: &[String; 2],
    terms: &RunSettings<'_>,
    out: Option<&Path>,
    console: &Console,
) -> Result<[Side; 2], Failure> {
    progress::shown(console, |tell| {
        let ([a, b], [to_a, to_b]) = (sides, sweeps);
        let place = |name: &str| out.map(|out| out.join(name));
        let a = a.ready(labels[0].clone(), to_a, terms, place("a").as_deref())?;
        let b = b.ready(labels[1].clone(), to_b, terms, place("b").as_deref())?;
        let (first, total) = (a.total(), a.total() + b.total());
        let of_a = |progress: Progress| tell(progress.done, total);
        let of_b = |progress: Progress| tell(first + progress.done, total);
        Ok([a.side(terms, &of_a, console)?, b.side(terms, &of_b, console)?])
    })
}

/// Pairs both sides cell by cell.
fn compared<'a>(sides: [&'a Side; 2], args: &Args) -> Result<Comparison<'a>, Failure> {
    let [a, b] = sides;
    let together = pairs::cells(&a.header, &b.header);
    let places = pairs::columns(&a.header, &b.header);
    let counters = a.counters(SENDER_COUNTERS).zip(b.counters(SENDER_COUNTERS));
    let rows = Pair::new((&a.header, &a.rows), (&b.header, &b.rows))?;
    let counted_rows = match &counters {
        Some(((header, rows), (other, others))) => {
            Some((header, pairs::columns(header, other), Pair::new((header, rows), (other, others))?))
        }
        None => None,
    };
    // The JSON document always has the flows, the table only with --flows.
    let flows = args.flows || args.json;
    let mut cells = Vec::new();
    for &(left, right) in &together {
        let contrast = rows.contrast((left, right), &places, flows)?;
        let mut counted = Vec::new();
        if let Some((header, places, rows)) = &counted_rows {
            let of = rows.contrast((left, right), places, false)?;
            let names = places.iter().map(|&(at, _)| header.columns[at].name.clone());
            // Kernel counters that are zero on both sides are left out.
            let counts =
                |contrast: &Contrast| [contrast.a, contrast.b].iter().flatten().any(|s| s.mean > 0.0);
            counted = names.zip(of.metrics).filter(|(_, contrast)| counts(contrast)).collect();
        }
        let params =
            |side: &Side, index| side.header.cell(index).map_or_else(Vec::new, |cell| cell.params.clone());
        let (own, other) = (params(a, left), params(b, right));
        // Grid values of the side with more cells, so that they identify each row.
        let params = if a.header.cells.len() >= b.header.cells.len() { own } else { other };
        let same_weather =
            !(a.captured || b.captured) && unlike(&a.sweep, &b.sweep, (left, right)).is_empty();
        cells.push(CellPair { cells: (left, right), params, contrast, counters: counted, same_weather });
    }
    let columns: Vec<Column> = places.iter().map(|&(at, _)| a.header.columns[at].clone()).collect();
    let shown = chosen(args.metrics.as_deref(), &columns, &cells);
    Ok(Comparison { labels: [&a.label, &b.label], columns, shown, cells, flows: args.flows })
}
