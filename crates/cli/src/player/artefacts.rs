//! Paths of per-repetition artefacts in a run folder.
//!
//! In folders of the run's folder, named by cell and repetition.

use super::captures;
use crate::console::exit::Failure;
use crate::player::rep_report::{RepArtefacts, RepReport};
use netns::output::NAMES;
use scenario::Model;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Folder of artefacts beside the rows.
pub(crate) struct Store {
    pub(crate) folder: PathBuf,
    pub(crate) captures: bool,
    pub(crate) events: bool,
}

impl Store {
    fn named(&self, kind: &str, (cell, repetition): (u32, u64), end: &str) -> PathBuf {
        self.folder.join(kind).join(format!("{cell}-{repetition}{end}"))
    }

    /// The folder for what commands write.
    pub(crate) fn outputs(&self, of: (u32, u64)) -> PathBuf {
        self.named("commands", of, "")
    }

    /// Name of the run.
    pub(crate) fn name(&self) -> Option<String> {
        Some(self.folder.file_name()?.to_string_lossy().into_owned())
    }

    /// Keeps the artefacts that are not in the table.
    pub(crate) fn write(
        &self,
        told: &RepReport,
        brought: &RepArtefacts,
        model: &Model,
    ) -> Result<(), Failure> {
        let of = told.key();
        write(&self.named("repetitions", of, ".json"), format!("{:#}\n", told.document).as_bytes())?;
        if let Some(bytes) = brought.capture.as_ref().filter(|_| self.captures) {
            let path = self.named("captures", of, ".pcapng");
            write(&path, bytes)?;
            for (node, bytes) in captures::nodes(bytes, model) {
                write(&captures::beside(&path, &node), &bytes)?;
            }
        }
        if let Some(bytes) = brought.events.as_ref().filter(|_| self.events) {
            write(&self.named("events", of, ".jsonl"), bytes)?;
        }
        for ((i, which), bytes) in &brought.outputs {
            let (Some(command), Some(end)) = (model.commands.get(*i), NAMES.get(*which)) else { continue };
            write(&self.outputs(of).join(format!("{}.{end}", command.name)), bytes)?;
        }
        Ok(())
    }

    /// Artefacts of these repetitions.
    pub(crate) fn read(&self, of: &[(u32, u64)]) -> Vec<Value> {
        let one = |of: &(u32, u64)| {
            let text = std::fs::read(self.named("repetitions", *of, ".json")).ok()?;
            serde_json::from_slice(&text).ok()
        };
        of.iter().filter_map(one).collect()
    }
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let made = path.parent().map_or(Ok(()), std::fs::create_dir_all);
    made.map_err(|error| Failure::write(path, &error))?;
    crate::output::atomic_write::whole(path, bytes)
}
