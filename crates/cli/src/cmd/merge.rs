//! `williwaw merge`: shards of a sweep become the run folder of the whole.
//!
//! The tables of the merged folder (flows; users, cells, timeslots, seconds and radio blocks of networks) have the bytes
//! of those that one unsharded run writes.

use crate::cmd::run::plan::{Output, Place, Plan};
use crate::cmd::run::{Found, Kept};
use crate::console::clock::Stopwatch;
use crate::console::exit::{End, Failure};
use crate::console::talk::Talk;
use crate::output::VERSION;
use crate::output::record::Record;
use crate::output::style::Style;
use crate::output::table::Choice;
use crate::player::captures::Wanted;
use lab::part::Shard;
use lab::sweep::Sweep;
use lab::system::tables::{self, Tables};
use results::folder::Repetitions;
use results::source::Source;
use results::{Header, Row};
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

/// One folder, read.
struct Folder {
    path: PathBuf,
    record: Record,
    shard: Shard,
}

/// Does it.
pub(crate) fn run(args: Args, talk: &Talk) -> Result<End, Failure> {
    let watch = Stopwatch::start();
    let choice = Choice { metrics: args.metrics.clone(), flows: args.flows };
    choice.check(Metric::NAMES)?;
    let shards = args.folders.iter().map(|path| read(path)).collect::<Result<Vec<_>, _>>()?;
    let first = belong_together(&shards)?;
    let record = &first.record;
    let input = record.input(&first.path, &[])?;
    let given = (record.seed != input.scenario.first().run.seed).then_some(record.seed);
    let sweep = Sweep::of(&input.scenario, Some(record.repetitions), given, VERSION)?;
    // All shards are read before anything is written, and again to write: memory does not grow with them.
    let mut tables = vec![Wanting { name: "flows", header: &sweep.header }];
    tables.extend(sweep.tables.as_ref().map(beside).into_iter().flatten());
    for table in &tables {
        shards.iter().try_for_each(|shard| check(shard, &sweep, table))?;
    }
    let plan = Plan {
        repetitions: record.repetitions,
        seed: record.seed,
        given_seed: given,
        jobs: record.jobs,
        shuffle_ties: record.shuffle_ties,
        shard: None,
        place: Place::New(args.out),
        output: if args.json { Output::Json } else { Output::Table(args.table) },
        csv: None,
        report: false,
        wanted: Wanted::default(),
        choice,
        input,
    };
    let Some(mut kept) = Kept::open(&plan)? else {
        return Err(Failure::usage("there is no folder to merge into", "give --out DIR"));
    };
    let path = kept.folder.path().to_owned();
    kept.record.started.clone_from(&record.started);
    kept.folder.start(&sweep.header)?;
    // The flows mark a repetition as finished, so they come last.
    for table in tables.iter().rev() {
        for shard in &shards {
            each_batch(shard, &sweep, table, &mut |rows| {
                if table.name == "flows" {
                    return Ok(kept.folder.append(rows)?);
                }
                if let Some(known) = &sweep.tables {
                    known.keep(table.name, rows);
                }
                Ok(kept.folder.append_table(table.name, table.header, rows)?)
            })?;
        }
    }
    let table = kept.close(true, shards.iter().map(|shard| shard.record.seconds).sum())?;
    let found = Found {
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
    let end = found.show(talk)?;
    let seconds = watch.seconds();
    talk.note(&format!("{} shards merged in {seconds:.2} s; results in {}", shards.len(), path.display()));
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

/// Refuses folders of different sweeps, a shard that is there twice and shards that are missing; gives the first shard.
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

/// A table of the whole sweep.
struct Wanting<'a> {
    name: &'static str,
    header: &'a Header,
}

/// The tables of links and networks of cells that the sweep has. Those that summaries need are kept in it.
fn beside(known: &Tables) -> impl Iterator<Item = Wanting<'_>> {
    let all = tables::all().into_iter().zip(&known.headers).zip(&known.wanted);
    all.filter(|(_, wanted)| **wanted).map(|((table, header), _)| Wanting { name: table.name, header })
}

const AGAIN: &str = "run the shard again into a new folder";

/// Opens a table of a shard.
fn open(shard: &Folder, table: &Wanting<'_>) -> Result<Repetitions, Failure> {
    let (path, file) = (shard.path.display(), format!("{}.parquet", table.name));
    match Repetitions::open(&shard.path, table.name) {
        Err(results::Error::Empty { .. }) if table.name != "flows" => {
            Err(Failure::usage(format!("`{path}` has no table `{file}`"), AGAIN))
        }
        found => Ok(found?),
    }
}

/// Refuses a table of another run, and one of flows without a repetition that the shard should hold.
fn check(shard: &Folder, sweep: &Sweep, table: &Wanting<'_>) -> Result<(), Failure> {
    let name = shard.path.display();
    if let Some((what, there, here)) = open(shard, table)?.header().difference(table.header) {
        let of = match table.name {
            "flows" => format!("the results in `{name}` are"),
            other => format!("`{other}.parquet` in `{name}` is"),
        };
        return Err(Failure::usage(
            format!("{of} of another run: {what} is {there}, and {here} by its run.json"),
            AGAIN,
        ));
    }
    let mut done = 0;
    let mut last = None;
    each_batch(shard, sweep, table, &mut |rows| {
        for row in rows {
            let key = (row.cell, row.repetition);
            done += u64::from(last.replace(key) != Some(key));
        }
        Ok(())
    })?;
    let part = lab::part::Part::from(shard.shard);
    let due = part.count(sweep.cells.len() as u64 * u64::from(sweep.repetitions));
    if table.name == "flows" && done != due {
        return Err(Failure::usage(
            format!("`{name}` holds {done} of the {due} repetitions of shard {}", shard.shard),
            format!("continue it: williwaw run --resume {name}"),
        ));
    }
    Ok(())
}

/// Rows of which a batch has at least so many, unless it is the last.
const BATCH: usize = 4096;

/// Passes the rows of a shard's table to `each`, whole repetitions at a time.
fn each_batch(
    shard: &Folder,
    sweep: &Sweep,
    table: &Wanting<'_>,
    each: &mut dyn FnMut(&[Row]) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let (part, cells) = (lab::part::Part::from(shard.shard), sweep.cells.len() as u64);
    let flows = table.name == "flows";
    let own = |row: &Row| {
        row.repetition < u64::from(sweep.repetitions)
            && (flows || part.holds(row.cell, row.repetition, cells))
    };
    let mut from = open(shard, table)?;
    let mut rows = Vec::new();
    loop {
        let more = from.next(&mut rows)?;
        if rows.len() >= BATCH || !more {
            rows.retain(own);
            each(&rows)?;
            rows.clear();
        }
        if !more {
            return Ok(());
        }
    }
}
