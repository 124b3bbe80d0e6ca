//! Files of a repetition in real time in its run folder, named by cell and repetition: JSON document,
//! captures, events, output of commands.

use super::captures;
use crate::console::exit::Failure;
use crate::player::rep_report::{RepArtefacts, RepReport};
use netns::output::NAMES;
use scenario::Model;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Files of the repetitions in a run folder.
pub(crate) struct Store {
    pub(crate) folder: PathBuf,
    pub(crate) captures: bool,
    pub(crate) events: bool,
}

impl Store {
    fn named(&self, kind: &str, (cell, repetition): (u32, u64), end: &str) -> PathBuf {
        self.folder.join(kind).join(format!("{cell}-{repetition}{end}"))
    }

    /// Folder for the output of the commands of a repetition.
    pub(crate) fn outputs(&self, of: (u32, u64)) -> PathBuf {
        self.named("commands", of, "")
    }

    /// Name of the run.
    pub(crate) fn name(&self) -> Option<String> {
        Some(self.folder.file_name()?.to_string_lossy().into_owned())
    }

    /// Writes the JSON document and the files of a repetition.
    pub(crate) fn write(
        &self,
        report: &RepReport,
        files: &RepArtefacts,
        model: &Model,
    ) -> Result<(), Failure> {
        let of = report.key();
        write(&self.named("repetitions", of, ".json"), format!("{:#}\n", report.document).as_bytes())?;
        if let Some(bytes) = files.capture.as_ref().filter(|_| self.captures) {
            let path = self.named("captures", of, ".pcapng");
            write(&path, bytes)?;
            for (node, bytes) in captures::nodes(bytes, model) {
                write(&captures::beside(&path, &node), &bytes)?;
            }
        }
        if let Some(bytes) = files.events.as_ref().filter(|_| self.events) {
            write(&self.named("events", of, ".jsonl"), bytes)?;
        }
        for ((i, which), bytes) in &files.outputs {
            let (Some(command), Some(end)) = (model.commands.get(*i), NAMES.get(*which)) else { continue };
            write(&self.outputs(of).join(format!("{}.{end}", command.name)), bytes)?;
        }
        Ok(())
    }

    /// JSON documents of these repetitions, as far as they exist.
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
