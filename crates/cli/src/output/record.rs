//! Run record (`run.json`): scenario text, overrides, files, seed, version and host, enough to explain and to
//! continue a run.

use crate::console::clock;
use crate::console::environment;
use crate::console::exit::Failure;
use crate::input::files::{self, Input, Inputs};
use lab::shard::Shard;
use results::folder::{self, RunFolder};
use scenario::Scenario;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Schema name of `run.json`.
pub(crate) const SCHEMA: &str = "williwaw-folder/1";
/// Subfolder of a run folder for the files that the scenario names.
const INPUTS: &str = "inputs";

/// Content of `run.json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) schema: String,
    /// File name of the scenario.
    pub(crate) scenario: String,
    pub(crate) title: String,
    /// Text of the scenario, exactly as read.
    pub(crate) text: String,
    /// Overrides, as `KEY=VALUE`.
    pub(crate) overrides: Vec<String>,
    /// Hash of text and overrides.
    pub(crate) hash: String,
    pub(crate) seed: u64,
    pub(crate) repetitions: u32,
    pub(crate) shuffle_ties: Option<u64>,
    /// Shard of the run in this folder, as `3/16`; absent for a whole run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) shard: Option<String>,
    pub(crate) version: String,
    pub(crate) host: Host,
    /// Start date and time, UTC.
    pub(crate) started: String,
    /// Duration, s, summed over the run and its continuations.
    pub(crate) seconds: f64,
    /// Number of threads; 0: one per core.
    pub(crate) jobs: usize,
    /// Whether all repetitions are finished.
    pub(crate) complete: bool,
    /// For a run in real time: kernel version, calibration of the host, lateness limit, and whether it was faithful.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) emulation: Option<serde_json::Value>,
    /// Files that the scenario names, with their copies in the folder.
    #[serde(default)]
    pub(crate) inputs: Vec<KeptFile>,
}

/// Host of the run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Host {
    pub(crate) os: String,
    pub(crate) arch: String,
    pub(crate) cores: usize,
}

/// Copy of a file that the scenario names.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct KeptFile {
    /// Name as written in the scenario.
    pub(crate) name: String,
    /// Path relative to the run folder.
    pub(crate) file: String,
}

impl Record {
    /// Record of a run that begins now.
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

    /// The record with its shard.
    pub(crate) fn of_shard(mut self, shard: Option<Shard>) -> Record {
        self.shard = shard.map(|shard| shard.to_string());
        self
    }

    /// Shard of the run in the folder, if any.
    pub(crate) fn shard(&self) -> Result<Option<Shard>, Failure> {
        let shard = self.shard.as_deref().map(str::parse).transpose();
        shard.map_err(|why| Failure::machine(format!("run.json names an invalid shard: {why}"), ""))
    }

    /// Writes the copies of files, then the record, so that every folder with a record can be continued.
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

    /// Writes or replaces the record.
    pub(crate) fn write(&self, folder: &RunFolder) -> Result<(), Failure> {
        let value = serde_json::to_value(self)
            .map_err(|error| Failure::machine(format!("cannot write run.json: {error}"), ""))?;
        Ok(folder.write_run(&value)?)
    }

    /// Reads the record of a run folder.
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

    /// Reads the recorded scenario again, with the further overrides `more`.
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
