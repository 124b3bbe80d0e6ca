//! `williwaw merge`: merge of the shards of a sweep into one run folder, equal to that of an unsharded run.
//!
//! Shards are read repetition by repetition. Memory does not grow with the shards, except by the tables that
//! summaries need. Every table of the merged folder (flows; users, cells, timeslots, seconds and radio blocks
//! of cell networks) equals that of an unsharded run byte by byte.

use crate::cmd::run::plan::{Output, Plan, ResultPlace};
use crate::cmd::run::{RunResults, RunStore};
use crate::console::clock::Stopwatch;
use crate::console::exit::{ExitStatus, Failure};
use crate::console::streams::Console;
use crate::output::VERSION;
use crate::output::record::Record;
use crate::output::style::Style;
use crate::output::table::TableChoice;
use crate::player::captures::RequestedOutputs;
use lab::shard::{Shard, ShardPart};
use lab::sweep::Sweep;
use lab::system::tables::{self, Tables};
use results::source::Source;
use results::{Header, Merged, Row, folder};
use scenario::metric::Metric;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Merge the shards of a sweep into one run folder, equal to that of an unsharded run
///
/// Every folder must hold a finished shard of one sweep. Shards must agree in scenario, changes, seed,
/// repetitions and version of williwaw; otherwise nothing is written.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    williwaw merge shards/1 shards/2 shards/3 --out whole\n  \
    williwaw merge shards/* --out whole --json")]
pub(crate) struct Args {
    /// Run folders of `williwaw run --shard`
    #[arg(required = true, value_name = "FOLDER")]
    folders: Vec<PathBuf>,
    /// Keep the merged results in this folder
    #[arg(long, short, value_name = "DIR")]
    out: PathBuf,
    /// Print one JSON document instead of the table
    #[arg(long)]
    json: bool,
    /// Format of the table
    #[arg(long, value_name = "STYLE", value_enum, default_value = "text", conflicts_with = "json")]
    table: Style,
    /// Metrics to show, separated by commas, or `all`
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    metrics: Option<Vec<String>>,
    /// Show each flow as well as all flows together
    #[arg(long)]
    flows: bool,
}

/// Run folder of a shard.
struct Folder {
    path: PathBuf,
    record: Record,
    shard: Shard,
}

/// Runs the verb.
pub(crate) fn run(args: Args, console: &Console) -> Result<ExitStatus, Failure> {
    let watch = Stopwatch::start();
    let choice = TableChoice { metrics: args.metrics.clone(), flows: args.flows };
    choice.check(Metric::NAMES)?;
    let shards = args.folders.iter().map(|path| read(path)).collect::<Result<Vec<_>, _>>()?;
    let first = belong_together(&shards)?;
    let record = &first.record;
    let input = record.input(&first.path, &[])?;
    let given = (record.seed != input.scenario.first().run.seed).then_some(record.seed);
    let sweep = Sweep::of(&input.scenario, Some(record.repetitions), given, VERSION)?;
    for shard in &shards {
        complete(shard, &sweep)?;
    }
    let tables = sweep.tables.as_ref().map_or_else(Vec::new, wanted);
    for shard in &shards {
        for (name, header) in &tables {
            table_of(shard, name, header)?;
        }
    }
    let plan = Plan {
        repetitions: record.repetitions,
        seed: record.seed,
        given_seed: given,
        jobs: record.jobs,
        shuffle_ties: record.shuffle_ties,
        shard: None,
        place: ResultPlace::New(args.out),
        output: if args.json { Output::Json } else { Output::Table(args.table) },
        csv: None,
        report: false,
        wanted: RequestedOutputs::default(),
        choice,
        input,
    };
    let Some(mut kept) = RunStore::open(&plan)? else {
        return Err(Failure::usage("the merged results have no folder", "give one with --out"));
    };
    let path = kept.folder.path().to_owned();
    kept.record.started.clone_from(&record.started);
    kept.folder.start(&sweep.header)?;
    for shard in &shards {
        for (name, header) in &tables {
            let found = table_of(shard, name, header)?;
            each_repetition(found, shard, &sweep, &mut |rows| {
                if let Some(tables) = &sweep.tables {
                    tables.keep(name, rows);
                }
                Ok(kept.folder.append_table(name, header, rows)?)
            })?;
        }
        let found = folder::repetitions(&shard.path, "flows")?;
        each_repetition(found, shard, &sweep, &mut |rows| Ok(kept.folder.append(rows)?))?;
    }
    let table = kept.close(true, shards.iter().map(|shard| shard.record.seconds).sum())?;
    let found = RunResults {
        sweep: &sweep,
        source: Source::Table(&table),
        complete: true,
        path: Some(&path),
        plan: &plan,
        verb: "run",
        more: Vec::new(),
        stage: None,
        drawn: None,
    };
    let end = found.show(console)?;
    let seconds = watch.seconds();
    console.note(&format!("{} shards merged in {seconds:.2} s; results in {}", shards.len(), path.display()));
    Ok(end)
}

fn read(path: &Path) -> Result<Folder, Failure> {
    let record = Record::read(path)?;
    let name = path.display();
    let Some(shard) = record.shard()? else {
        return Err(Failure::usage(
            format!("`{name}` holds a whole run, not a shard"),
            "give run folders of `williwaw run --shard N/OF`",
        ));
    };
    if !record.complete {
        return Err(Failure::usage(
            format!("`{name}` holds shard {shard}, which is not finished"),
            format!("continue it: williwaw run --resume {name}"),
        ));
    }
    Ok(Folder { path: path.to_owned(), record, shard })
}

/// Refuses shards of different sweeps, duplicate shards and missing shards; returns the first shard.
fn belong_together(shards: &[Folder]) -> Result<&Folder, Failure> {
    let mut by_number: BTreeMap<Shard, &Folder> = BTreeMap::new();
    for shard in shards {
        if let Some(other) = by_number.insert(shard.shard, shard) {
            let (a, b) = (other.path.display(), shard.path.display());
            return Err(Failure::usage(
                format!("`{a}` and `{b}` both hold shard {}", shard.shard),
                "give each shard once",
            ));
        }
    }
    let Some(first) = by_number.values().next().copied() else {
        return Err(Failure::usage("no shard is given", ""));
    };
    for shard in by_number.values().skip(1) {
        let (a, b) = (&first.record, &shard.record);
        let ties = |record: &Record| record.shuffle_ties.map_or("no".to_owned(), |seed| seed.to_string());
        let parts = [
            ("the number of shards", first.shard.of().to_string(), shard.shard.of().to_string()),
            ("the hash of the scenario", a.hash.clone(), b.hash.clone()),
            ("the seed", a.seed.to_string(), b.seed.to_string()),
            ("the number of repetitions", a.repetitions.to_string(), b.repetitions.to_string()),
            ("the version of williwaw", a.version.clone(), b.version.clone()),
            ("the seed of shuffled ties", ties(a), ties(b)),
        ];
        if let Some((what, here, there)) = parts.into_iter().find(|(_, here, there)| here != there) {
            let (a, b) = (first.path.display(), shard.path.display());
            return Err(Failure::usage(
                format!("`{a}` and `{b}` are of different sweeps: {what} is {here} and {there}"),
                "merge the shards of one sweep only",
            ));
        }
    }
    let of = first.shard.of();
    let missing: Vec<String> = (1..=of)
        .filter(|number| !by_number.keys().any(|shard| shard.number() == *number))
        .map(|number| number.to_string())
        .collect();
    if missing.is_empty() {
        return Ok(first);
    }
    let word = if missing.len() == 1 { "shard" } else { "shards" };
    Err(Failure::usage(
        format!(
            "{word} {} of {of} {} missing",
            missing.join(", "),
            if missing.len() == 1 { "is" } else { "are" }
        ),
        format!("run it: williwaw run {} --shard {}/{of} --out DIR", first.record.scenario, missing[0]),
    ))
}

/// Names and headers of the tables of networks of cells that the sweep fills.
fn wanted(known: &Tables) -> Vec<(&'static str, &Header)> {
    let all = tables::all().into_iter().zip(&known.headers).zip(&known.wanted);
    all.filter(|(_, wanted)| **wanted).map(|((table, header), _)| (table.name, header)).collect()
}

/// Table of cell networks of a shard; an error if its header differs from `header`.
fn table_of(shard: &Folder, table: &str, header: &Header) -> Result<Merged, Failure> {
    let name = shard.path.display();
    let again = "run the shard again into a new folder";
    let found = match folder::repetitions(&shard.path, table) {
        Err(results::Error::Empty { .. }) => {
            return Err(Failure::usage(format!("`{name}` has no table `{table}.parquet`"), again));
        }
        other => other?,
    };
    match found.header().difference(header) {
        None => Ok(found),
        Some((what, there, here)) => Err(Failure::usage(
            format!(
                "`{table}.parquet` in `{name}` is of another run: {what} is {there}, and {here} by its run.json"
            ),
            again,
        )),
    }
}

/// Checks that a shard belongs to the sweep and has all of its repetitions.
fn complete(shard: &Folder, sweep: &Sweep) -> Result<(), Failure> {
    let name = shard.path.display();
    let found = folder::repetitions(&shard.path, "flows")?;
    if let Some((what, there, here)) = found.header().difference(&sweep.header) {
        return Err(Failure::usage(
            format!(
                "the results in `{name}` are of another run: {what} is {there}, and {here} by its run.json"
            ),
            "run the shard again into a new folder",
        ));
    }
    let mut done = 0;
    each_repetition(found, shard, sweep, &mut |_| {
        done += 1;
        Ok(())
    })?;
    let due = share(sweep, shard.shard.into());
    if done == due {
        return Ok(());
    }
    Err(Failure::usage(
        format!("`{name}` holds {done} of the {due} repetitions of shard {}", shard.shard),
        format!("continue it: williwaw run --resume {name}"),
    ))
}

/// Calls `each` with the rows of each repetition that belongs to the shard.
fn each_repetition(
    mut found: Merged,
    shard: &Folder,
    sweep: &Sweep,
    each: &mut dyn FnMut(&[Row]) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let (part, cells) = (ShardPart::from(shard.shard), sweep.cells.len() as u64);
    let mut rows: Vec<Row> = Vec::new();
    while found.next(&mut rows)? {
        let own = rows.first().is_some_and(|row| {
            row.repetition < u64::from(sweep.repetitions) && part.holds(row.cell, row.repetition, cells)
        });
        if own {
            each(&rows)?;
        }
        rows.clear();
    }
    Ok(())
}

fn share(sweep: &Sweep, part: ShardPart) -> u64 {
    part.count(sweep.cells.len() as u64 * u64::from(sweep.repetitions))
}
