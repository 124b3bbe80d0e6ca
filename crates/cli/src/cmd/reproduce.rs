//! `williwaw reproduce`: published experiments run again, with measured values beside published ones, claims,
//! and an HTML page.

use crate::console::clock::Stopwatch;
use crate::console::exit::{ExitStatus, Failure};
use crate::console::streams::Console;
use crate::console::{environment, interrupt, progress};
use crate::output::VERSION;
use crate::output::table::TextTable;
use crate::output::terminal;
use crate::player::kernels::{self, KernelOptions, KernelPlayer};
use lab::reproduce::{
    Laboratory, ReproduceError, Reproduced, Settings, Totals, catalogue, json, list, page, scenario_text,
    weights,
};
use lab::sweep::{Progress, RepetitionPlayer, SweepControl};
use serde_json::json as value;
use std::path::PathBuf;

/// Run the published experiments: published values beside measured ones, claims checked
///
/// Without ids, it runs all. A prefix selects several: `gprs-eifel` is every experiment of that paper. Exit
/// code 1 if a value outside its band, or a claim that does not hold, has no recorded explanation.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    williwaw reproduce gprs-eifel/table2 gprs-eifel/table3\n  \
    williwaw reproduce --list\n  \
    williwaw reproduce delays responding/table1 --today\n  \
    williwaw reproduce gprs-eifel/table2 --scenario > table2.toml")]
pub(crate) struct Args {
    /// Ids of experiments or of papers
    ids: Vec<String>,
    /// List the experiments
    #[arg(long)]
    list: bool,
    /// List the claims: the catalogue's statement, the test that runs, and whether the test is the literal one
    #[arg(long, conflicts_with_all = ["list", "scenario"])]
    claims: bool,
    /// Print the scenario file of one experiment
    #[arg(long, conflicts_with = "list")]
    scenario: bool,
    /// Repetitions of each cell; overrides the experiment
    #[arg(long, alias = "repetitions", value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..))]
    reps: Option<u32>,
    /// Seed of the judged runs; verdicts count with 1
    #[arg(long, value_name = "S", default_value_t = 1, allow_negative_numbers = true)]
    seed: u64,
    /// Further evidence: share of values inside their bands over this many seeds, with the published
    /// repetitions
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(0..=1000))]
    seeds: u32,
    /// Further evidence: run each reading of what a paper leaves open, with at most this many repetitions
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "1000",
          value_parser = clap::value_parser!(u32).range(1..))]
    readings: Option<u32>,
    #[command(flatten)]
    threads: crate::console::args::Threads,
    /// HTML page to write [default: reproduce.html]
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Write no page
    #[arg(long, conflicts_with = "html")]
    no_html: bool,
    /// Add the TCP of a current Linux kernel to the study's senders, in at most the first REPS repetitions of
    /// each experiment. Needs a kernel in virtual time (`williwaw linux build`); large tables take minutes
    #[arg(long, value_name = "REPS", num_args = 0..=1, require_equals = true, default_missing_value = "20",
          value_parser = clap::value_parser!(u32).range(1..))]
    today: Option<u32>,
    /// The kernel of `--today`, which it implies: a name given to `williwaw linux build`, or the path of a binary
    #[arg(long, value_name = "KERNEL")]
    linux: Option<String>,
    /// Print one JSON document instead of the tables
    #[arg(long)]
    json: bool,
}

/// Default number of repetitions with current kernels (`--today`).
const TODAY: u32 = 20;
/// Real time after which a silent kernel is abandoned.
const PATIENCE: base::Span = base::Span::from_secs(30);

impl Args {
    /// Player of current kernels; `None` without `--today` or `--linux`, or with a note if no kernel is installed.
    fn stage(&self, console: &Console) -> Result<Option<KernelPlayer>, Failure> {
        if self.today.is_none() && self.linux.is_none() {
            return Ok(None);
        }
        let kernel_options = KernelOptions { linux: self.linux.clone(), look: None, patience: PATIENCE };
        // A kernel named by `--linux` must exist.
        if kernel_options.linux.is_none() && !kernels::default_exists()? {
            console.note(
                "no column for Linux today: there is no kernel for virtual time; `williwaw linux build` makes one",
            );
            return Ok(None);
        }
        KernelPlayer::with(&std::iter::once(None).collect(), &kernel_options).map(Some)
    }
}

/// Reason of an early end of the experiments.
enum Ended {
    /// An experiment could not be run.
    NotRun(ReproduceError),
    /// The results of an experiment could not be written.
    Unwritten(Failure),
}

/// Runs the verb.
pub(crate) fn run(args: Args, console: &Console) -> Result<ExitStatus, Failure> {
    let known = list().map_err(failure)?;
    if args.list {
        return show_list(&known, args.json, console);
    }
    let ids = chosen(&args.ids, &known)?;
    if args.claims {
        return show_claims(&args.ids, args.json, console);
    }
    if args.scenario {
        let [id] = ids.as_slice() else {
            return Err(Failure::usage("--scenario prints one scenario", "name one experiment"));
        };
        console.data(scenario_text(id).unwrap_or_default())?;
        return Ok(ExitStatus::Good);
    }
    if let Some(path) = &args.html {
        crate::output::atomic_write::possible(path)?;
    }
    let watch = Stopwatch::start();
    let settings = Settings {
        seed: args.seed,
        repetitions: args.reps,
        seeds: args.seeds,
        reading_repetitions: args.readings.unwrap_or(0),
        pictures: !args.no_html && (!args.json || args.html.is_some()),
        kernels: args.today.unwrap_or(TODAY),
    };
    let stage = args.stage(console)?;
    let stop = interrupt::watch(console);
    let jobs = args.threads.count();
    let parts = weights(&ids, &settings).map_err(failure)?;
    let outcome = progress::of_parts(console, |board| {
        let progress = |p: Progress| board.within(p.done, p.total);
        let player = stage.as_ref().map(|stage| stage as &dyn RepetitionPlayer);
        let control = SweepControl { progress: &progress, stop, jobs, shuffle_ties: None, player };
        let mut laboratory = Laboratory::new(settings, &control, VERSION);
        let each = ids.iter().zip(&parts).enumerate().map(|(i, (id, part))| {
            board.begin(&format!("{id} ({} of {})", i + 1, ids.len()), *part);
            let done = laboratory.reproduce(id).map_err(Ended::NotRun)?;
            // Each experiment is printed at its end, because all together take minutes.
            if !args.json {
                board.above(|| show(&done, console)).map_err(Ended::Unwritten)?;
            }
            Ok(done)
        });
        each.collect::<Result<Vec<Reproduced>, Ended>>()
    });
    let all = match outcome {
        Ok(all) => all,
        Err(Ended::NotRun(ReproduceError::Stopped)) => {
            console.note("stopped");
            return Ok(ExitStatus::Interrupted);
        }
        Err(Ended::NotRun(error)) => return Err(failure(error)),
        Err(Ended::Unwritten(failure)) => return Err(failure),
    };
    let totals = Totals::of(&all);
    if args.json {
        console.document(&json::document(&all, args.seed, VERSION))?;
    } else {
        console
            .data(&crate::output::terminal::folded(&format!("{}\n", page::short(&totals)), console.width))?;
    }
    let path = match (args.html, args.no_html, args.json) {
        (Some(path), _, _) => Some(path),
        (None, false, false) => Some(PathBuf::from("reproduce.html")),
        _ => None,
    };
    let seconds = watch.seconds();
    if let Some(path) = path {
        let mut provenance = vec![
            ("version".to_owned(), VERSION.to_owned()),
            ("seed".to_owned(), args.seed.to_string()),
            ("made in".to_owned(), format!("{seconds:.1} s")),
        ];
        provenance.extend(stage.as_ref().map(|stage| ("Linux today".to_owned(), stage.release())));
        let html = page::page(&all, provenance).html();
        crate::output::atomic_write::whole(&path, html)?;
        console.note(&format!("pictures and tables: {}", path.display()));
    }
    let jobs = if jobs == 0 { environment::cores() } else { jobs };
    let count = |n: usize, word: &str| format!("{n} {word}{}", if n == 1 { "" } else { "s" });
    let (experiments, threads) = (count(all.len(), "experiment"), count(jobs, "thread"));
    console.note(&format!("{experiments} in {seconds:.1} s on {threads}"));
    Ok(if totals.good() { ExitStatus::Good } else { ExitStatus::Failed })
}

fn failure(error: ReproduceError) -> Failure {
    match error {
        ReproduceError::Unknown(id) => unknown(&id, None),
        ReproduceError::Sweep(error) => error.into(),
        ReproduceError::Data(why) => {
            Failure::machine(format!("the experiment's own data are wrong: {why}"), "")
        }
        other => Failure::machine(format!("{other:?}"), ""),
    }
}

fn unknown(id: &str, near: Option<&str>) -> Failure {
    let list = "`williwaw reproduce --list` names them all";
    let remedy = near.map_or_else(|| list.to_owned(), |near| format!("did you mean `{near}`? {list}"));
    Failure::usage(format!("there is no experiment `{id}`"), remedy)
}

/// Ids of the requested experiments, each once, in the requested order; all without a request.
fn chosen(asked: &[String], known: &[(String, String)]) -> Result<Vec<String>, Failure> {
    let mut ids: Vec<String> = Vec::new();
    for word in asked {
        let word = word.trim_end_matches('/');
        let found = known.iter().filter(|(id, _)| id == word || id.starts_with(&format!("{word}/")));
        let before = ids.len();
        let mut any = false;
        for (id, _) in found {
            any = true;
            if !ids.contains(id) {
                ids.push(id.clone());
            }
        }
        if !any && ids.len() == before {
            let papers = known.iter().filter_map(|(id, _)| id.split('/').next());
            let all = known.iter().map(|(id, _)| id.as_str()).chain(papers);
            return Err(unknown(word, scenario::nearest(word, all)));
        }
    }
    Ok(if asked.is_empty() { known.iter().map(|(id, _)| id.clone()).collect() } else { ids })
}

fn show_list(known: &[(String, String)], json: bool, console: &Console) -> Result<ExitStatus, Failure> {
    if json {
        let all: Vec<_> = known.iter().map(|(id, title)| value!({ "id": id, "title": title })).collect();
        console.document(&value!({ "schema": "williwaw-experiments/1", "experiments": all }))?;
        return Ok(ExitStatus::Good);
    }
    let wide = known.iter().map(|(id, _)| id.len()).max().unwrap_or(0);
    for (id, title) in known {
        console.data(&crate::output::terminal::folded(&format!("{id:wide$}  {title}\n"), console.width))?;
    }
    Ok(ExitStatus::Good)
}

/// Prints the claims of the selected experiments or papers; all claims without a selection.
fn show_claims(asked: &[String], json: bool, console: &Console) -> Result<ExitStatus, Failure> {
    let all = catalogue::claims().map_err(failure)?;
    let wanted = |experiment: &str| {
        let words = asked.iter().map(|word| word.trim_end_matches('/'));
        asked.is_empty()
            || words.into_iter().any(|w| experiment == w || experiment.starts_with(&format!("{w}/")))
    };
    let all: Vec<_> = all.into_iter().filter(|claim| wanted(&claim.stated.experiment)).collect();
    if json {
        let lines: Vec<_> = all
            .iter()
            .map(|claim| {
                value!({
                    "id": claim.id, "experiment": claim.stated.experiment, "stated": claim.stated.test,
                    "test": claim.test.as_ref().map(|test| &test.test), "letter": claim.statement(),
                })
            })
            .collect();
        console.document(&value!({ "schema": "williwaw-claims/1", "claims": lines }))?;
        return Ok(ExitStatus::Good);
    }
    for claim in &all {
        let here = claim.test.as_ref().map_or_else(String::new, |test| format!("  here:   {}\n", test.test));
        console.data(&format!(
            "{} {} {}\n  stated: {}\n{here}",
            claim.id,
            claim.stated.experiment,
            claim.statement(),
            claim.stated.test
        ))?;
    }
    let tested = all.iter().filter(|claim| claim.test.is_some()).count();
    let equal = all.iter().filter(|claim| claim.statement() == "equal").count();
    console.data(&format!(
        "{} claims, {tested} tested here, {equal} by a test equal to the catalogue's\n",
        all.len()
    ))?;
    Ok(ExitStatus::Good)
}

/// Prints one experiment as text.
fn show(r: &Reproduced, console: &Console) -> Result<(), Failure> {
    let e = &r.experiment;
    console.data(&format!("{}: {}\n", e.id, e.title))?;
    if !r.values.is_empty() {
        console.data(&terminal::text(&values(r), console.width, console.colour))?;
    }
    if let Some(today) = &r.kernels {
        let (heads, rows) = page::beside(r, today);
        let labels = heads.iter().position(|head| head.starts_with("time")).unwrap_or(0);
        let board = TextTable { heads, labels, rows, notes: vec![page::about(today)] };
        console.data(&terminal::text(&board, console.width, console.colour))?;
    }
    for claim in &r.claims {
        let word = match (claim.holds, claim.former) {
            (true, _) => "holds",
            (false, true) => "FAILS (held by the former judgement)",
            (false, false) => "FAILS",
        };
        console.data(&format!("  {} {word}: {} [{}]\n", claim.id, claim.text, claim.detail))?;
        if let Some(why) = &claim.why {
            console.data(&format!("    known: {why}\n"))?;
        }
    }
    for claim in &r.untested {
        console.data(&format!("  {} not tested: {} [{}]\n", claim.id, claim.text, claim.why))?;
    }
    if !r.readings.is_empty() {
        console.data("  readings of points that the paper leaves open; values inside, claims:\n")?;
        for reading in &r.readings {
            let of = reading.measured.len();
            let chosen = if reading.chosen { " (chosen)" } else { "" };
            console.data(&format!("    {:2} of {of}  {}{chosen}\n", reading.within, reading.name))?;
            for (id, holds, detail) in &reading.claims {
                let word = if *holds { "holds" } else { "fails" };
                console.data(&format!("             {id} {word} [{detail}]\n"))?;
            }
        }
    }
    console.data("\n")
}

fn values(r: &Reproduced) -> TextTable {
    let d = page::decimals(&r.values);
    let mut heads = r.experiment.heads();
    let labels = heads.len();
    let mut units: Vec<&str> = r.values.iter().map(|v| v.unit.as_str()).collect();
    units.dedup();
    let unit = if units.len() == 1 { units[0] } else { "" };
    let with_unit = |name: &str| if unit.is_empty() { name.to_owned() } else { format!("{name}, {unit}") };
    heads.extend([with_unit("published"), with_unit("measured"), "95 % interval".into()]);
    if r.kernels.is_some() {
        heads.push(with_unit(page::TODAY));
    }
    heads.push("verdict".into());
    let mut reasons: Vec<(String, String)> = Vec::new();
    let rows = r
        .values
        .iter()
        .map(|v| {
            let mut row: Vec<String> = v.key.split('/').map(str::to_owned).collect();
            let interval = v.ci95.map_or_else(String::new, |[low, high]| format!("{low:.d$}..{high:.d$}"));
            row.extend([v.published.to_string(), format!("{:.d$}", v.measured), interval]);
            if r.kernels.is_some() {
                row.push(page::linux(v, d));
            }
            let verdict = match (v.within, &v.why) {
                (true, _) => "inside",
                (false, Some(_)) => "OUTSIDE, explained",
                (false, None) => "OUTSIDE",
            };
            row.push(verdict.to_owned());
            let remark = page::remark(v);
            // A remark common to several values is printed once.
            match reasons.iter_mut().find(|(_, w)| *w == remark) {
                _ if remark.is_empty() => {}
                Some((keys, _)) => *keys = format!("{keys}, {}", v.key),
                None => reasons.push((v.key.clone(), remark)),
            }
            row
        })
        .collect();
    let mut notes: Vec<String> = reasons.into_iter().map(|(keys, why)| format!("{keys}: {why}")).collect();
    if let Some(s) = r.share {
        notes.push(format!(
            "over {} seeds with {} repetitions each, {:.1} % of the values are inside",
            s.seeds,
            s.repetitions,
            100.0 * s.within as f64 / s.of.max(1) as f64
        ));
    }
    TextTable { heads, labels, rows, notes }
}
