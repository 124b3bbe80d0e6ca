//! Run folders under `runs`: a new one by the scenario's name and a number, and the latest run of a scenario
//! to continue.

use super::record::Record;
use crate::console::exit::Failure;
use lab::shard::Shard;
use results::folder::RunFolder;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Default folder of new runs.
const RUNS: &str = "runs";

/// Creates a new folder under [`RUNS`], named after the scenario and the shard.
pub(crate) fn fresh(scenario: &str, shard: Option<Shard>) -> Result<RunFolder, Failure> {
    let runs = Path::new(RUNS);
    let refused = |error: std::io::Error| {
        Failure::machine(
            format!("cannot make a folder for the results under `{RUNS}`: {error}"),
            "choose another place with --out, or keep nothing with --no-out",
        )
    };
    std::fs::create_dir_all(runs).map_err(refused)?;
    for path in candidates(scenario, shard) {
        // Creation is atomic, so that two runs that start together get two folders.
        match std::fs::create_dir(&path) {
            Ok(()) => return Ok(RunFolder::create(path)?),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(refused(error)),
        }
    }
    Err(Failure::usage(format!("`{RUNS}` is full"), "name a folder with --out"))
}

/// Folder of the newest run under [`RUNS`] with this scenario hash, seed and shard.
pub(crate) fn latest(
    scenario: &str,
    hash: &str,
    seed: u64,
    shard: Option<Shard>,
) -> Result<PathBuf, Failure> {
    let mut found: Option<(String, PathBuf)> = None;
    for path in candidates(scenario, shard) {
        if !path.is_dir() {
            break;
        }
        let Ok(record) = Record::read(&path) else { continue };
        let newer = found.as_ref().is_none_or(|(started, _)| record.started >= *started);
        if record.hash == hash && record.seed == seed && record.shard()? == shard && newer {
            found = Some((record.started, path));
        }
    }
    found.map(|(_, path)| path).ok_or_else(|| {
        Failure::usage(
            format!("there is no run of this scenario under `{RUNS}` to resume"),
            "name its folder: --resume FOLDER; or start a new run without --resume",
        )
    })
}

/// Folders `runs/NAME`, `runs/NAME-2`, `runs/NAME-3`...; for a shard `runs/NAME.3-of-16`...
fn candidates(scenario: &str, shard: Option<Shard>) -> impl Iterator<Item = PathBuf> {
    let name = match shard {
        Some(shard) => format!("{}.{}-of-{}", stem(scenario), shard.number(), shard.of()),
        None => stem(scenario),
    };
    (1..1_000_000u32).map(move |n| {
        let folder = if n == 1 { name.clone() } else { format!("{name}-{n}") };
        Path::new(RUNS).join(folder)
    })
}

fn stem(scenario: &str) -> String {
    let stem = Path::new(scenario).file_stem().map(|s| s.to_string_lossy().into_owned());
    stem.filter(|s| !s.is_empty()).unwrap_or_else(|| "run".to_owned())
}
