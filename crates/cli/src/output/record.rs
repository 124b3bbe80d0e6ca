//! Run record: scenario text, changes, files, seed, version and machine.
//!
//! Everything needed to understand its numbers and to continue it: the scenario's text and changes, the files it
//! named, seed, version, machine.

use crate::console::clock;
use crate::console::environment;
use crate::console::exit::Failure;
use crate::input::files::{self, Input, Inputs};
use lab::shard::Shard;
use results::folder::{self, RunFolder};
use scenario::Scenario;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The shape of `run.json`.
pub(crate) const SCHEMA: &str = "williwaw-folder/1";
/// The folder within a run's folder that keeps the files which the scenario named.
const INPUTS: &str = "inputs";

/// `run.json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) schema: String,
    /// The scenario's file name.
    pub(crate) scenario: String,
    pub(crate) title: String,
    /// Its text, exactly as read.
    pub(crate) text: String,
    /// Overrides, as `KEY=VALUE`.
    pub(crate) overrides: Vec<String>,
    /// Of text and overrides.
    pub(crate) hash: String,
    pub(crate) seed: u64,
    pub(crate) repetitions: u32,
    pub(crate) shuffle_ties: Option<u64>,
    /// The share of the run that lies here, as `3/16`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) shard: Option<String>,
    pub(crate) version: String,
    pub(crate) host: Host,
    /// Start, UTC.
    pub(crate) started: String,
    /// Duration, all sittings together.
    pub(crate) seconds: f64,
    /// Threads; 0: one for each core.
    pub(crate) jobs: usize,
    /// Whether every repetition is there.
    pub(crate) complete: bool,
    /// Of a run in real time: the machine's kernel, how exact it can be, and how exact it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) emulation: Option<serde_json::Value>,
    /// Files that the scenario named, and where in the folder they are kept.
    #[serde(default)]
    pub(crate) inputs: Vec<KeptFile>,
}

/// The machine.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Host {
    pub(crate) os: String,
    pub(crate) arch: String,
    pub(crate) cores: usize,
}

/// A file kept with the run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct KeptFile {
    /// As the scenario writes it.
    pub(crate) name: String,
    /// Relative to the run's folder.
    pub(crate) file: String,
}

impl Record {
    /// The record of a run that begins now.
    pub(crate) fn new(
        scenario: &Scenario,
        files: &Inputs,
        seed: u64,
        repetitions: u32,
        shuffle_ties: Option<u64>,
        jobs: usize,
    ) -> Record {
        let kept = files.keys().enumerate().map(|(i, name)| {
            let last =
                Path::new(name).file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
            KeptFile { name: name.clone(), file: format!("{INPUTS}/{i}-{last}") }
        });
        Record {
            schema: SCHEMA.to_owned(),
            scenario: scenario.name().to_owned(),
            title: scenario.title().to_owned(),
            text: scenario.text().to_owned(),
            overrides: scenario.overrides().iter().map(|(key, value)| format!("{key}={value}")).collect(),
            hash: scenario.hash(),
            seed,
            repetitions,
            shuffle_ties,
            shard: None,
            version: crate::output::VERSION.to_owned(),
            host: Host {
                os: std::env::consts::OS.to_owned(),
                arch: std::env::consts::ARCH.to_owned(),
                cores: environment::cores(),
            },
            started: clock::today(),
            seconds: 0.0,
            jobs,
            complete: false,
            emulation: None,
            inputs: kept.collect(),
        }
    }

    /// The record of a share of the run.
    pub(crate) fn of_shard(mut self, shard: Option<Shard>) -> Record {
        self.shard = shard.map(|shard| shard.to_string());
        self
    }

    /// The share of the run that lies in the folder.
    pub(crate) fn shard(&self) -> Result<Option<Shard>, Failure> {
        let shard = self.shard.as_deref().map(str::parse).transpose();
        shard.map_err(|why| Failure::machine(format!("run.json names an invalid shard: {why}"), ""))
    }

    /// Writes it, the files it keeps first: a folder with a record can be continued.
    pub(crate) fn begin(&self, folder: &RunFolder, files: &Inputs) -> Result<(), Failure> {
        if !self.inputs.is_empty() {
            let path = folder.file(INPUTS);
            std::fs::create_dir_all(&path).map_err(|error| Failure::write(&path, &error))?;
        }
        for kept in &self.inputs {
            let path = folder.file(&kept.file);
            let bytes = files.get(&kept.name).map_or(&[][..], Vec::as_slice);
            super::atomic_write::whole(&path, bytes)?;
        }
        self.write(folder)
    }

    /// Writes it, or writes it anew.
    pub(crate) fn write(&self, folder: &RunFolder) -> Result<(), Failure> {
        let value = serde_json::to_value(self)
            .map_err(|error| Failure::machine(format!("cannot write run.json: {error}"), ""))?;
        Ok(folder.write_run(&value)?)
    }

    /// Reads that of a folder.
    pub(crate) fn read(path: &Path) -> Result<Record, Failure> {
        let no_run = |why: String| {
            Failure::usage(
                format!("`{}` holds no run: {why}", path.display()),
                "name the folder that `williwaw run` printed; it has a run.json in it",
            )
        };
        if !path.is_dir() {
            return Err(no_run("there is no such folder".to_owned()));
        }
        let value = match folder::read_run(path) {
            Ok(value) => value,
            Err(results::Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
                return Err(no_run("it has no run.json".to_owned()));
            }
            Err(error) => return Err(no_run(error.to_string())),
        };
        let record: Record = serde_json::from_value(value).map_err(|error| no_run(error.to_string()))?;
        if record.schema != SCHEMA {
            return Err(no_run(format!(
                "its run.json is of shape {:?}, this program reads {SCHEMA:?}",
                record.schema
            )));
        }
        Ok(record)
    }

    /// The scenario as it was then, with `more` changes.
    pub(crate) fn input(&self, path: &Path, more: &[String]) -> Result<Input, Failure> {
        let mut files = Inputs::new();
        for kept in &self.inputs {
            let file = path.join(&kept.file);
            let bytes = std::fs::read(&file).map_err(|error| {
                Failure::usage(
                    format!("cannot read `{}`: {error}", file.display()),
                    "the file is part of the run folder",
                )
            })?;
            files.insert(kept.name.clone(), bytes);
        }
        let set: Vec<String> = self.overrides.iter().chain(more).cloned().collect();
        files::read_again(&self.scenario, &self.text, files, &set)
    }
}
