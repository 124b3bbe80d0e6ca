//! Report of a repetition in real time: rows, JSON document, faults and requested files, serialised between
//! an agent and its controller.

use crate::console::exit::ExitStatus;
use crate::console::streams::Console;
use results::Row;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// Report of a repetition.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct RepReport {
    pub(crate) cell: u32,
    pub(crate) repetition: u64,
    /// Whether every workload is complete.
    pub(crate) complete: bool,
    /// Name and measures of each flow, and of each command that is no server.
    pub(crate) rows: Vec<(String, Vec<Option<f64>>)>,
    /// JSON document with results beyond the rows.
    pub(crate) document: Value,
    /// Summary text for the terminal.
    pub(crate) said: String,
    /// Faults: keyword and sentence.
    pub(crate) complaints: Vec<(String, String)>,
    /// Whether a command failed.
    pub(crate) failed: bool,
    pub(crate) faithful: bool,
}

/// Requested files of a repetition, in memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct RepArtefacts {
    pub(crate) capture: Option<Vec<u8>>,
    pub(crate) events: Option<Vec<u8>>,
    /// Picture of the first flow, a `report::Picture` as JSON.
    pub(crate) picture: Option<Vec<u8>>,
    /// Output of commands, by index of the command, and 0 for stdout or 1 for stderr.
    pub(crate) outputs: BTreeMap<(usize, usize), Vec<u8>>,
}

impl RepReport {
    pub(crate) fn key(&self) -> (u32, u64) {
        (self.cell, self.repetition)
    }

    pub(crate) fn rows(&self) -> Vec<Row> {
        let row = |(flow, values): &(String, Vec<Option<f64>>)| Row {
            cell: self.cell,
            repetition: self.repetition,
            flow: flow.clone(),
            values: values.clone(),
        };
        self.rows.iter().map(row).collect()
    }

    /// Prints the faults, and returns the exit status.
    pub(crate) fn judge(&self, end: ExitStatus, console: &Console) -> ExitStatus {
        self.complaints.iter().for_each(|(head, text)| console.complaint(head, text));
        match end {
            _ if !self.faithful => ExitStatus::Unfaithful,
            ExitStatus::Good if self.failed => ExitStatus::Failed,
            _ => end,
        }
    }
}

impl RepArtefacts {
    /// Messages that carry the files to another host: kind and bytes of each.
    pub(crate) fn pieces(&self) -> Vec<(String, &[u8])> {
        let named = [("capture", &self.capture), ("events", &self.events), ("picture", &self.picture)];
        let named =
            named.into_iter().filter_map(|(kind, bytes)| Some((kind.to_owned(), &bytes.as_ref()?[..])));
        let outputs =
            self.outputs.iter().map(|((i, which), bytes)| (format!("output {i} {which}"), &bytes[..]));
        named.chain(outputs).collect()
    }

    /// Appends bytes of a message to its file; false for an unknown kind.
    pub(crate) fn add(&mut self, kind: &str, mut bytes: Vec<u8>) -> bool {
        let place = match kind {
            "capture" => self.capture.get_or_insert_default(),
            "events" => self.events.get_or_insert_default(),
            "picture" => self.picture.get_or_insert_default(),
            _ => {
                let numbers = kind.strip_prefix("output ").and_then(|rest| rest.split_once(' '));
                let Some((Ok(i), Ok(which))) = numbers.map(|(i, which)| (i.parse(), which.parse())) else {
                    return false;
                };
                self.outputs.entry((i, which)).or_default()
            }
        };
        place.append(&mut bytes);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_arrive_complete() {
        let brought = RepArtefacts {
            capture: Some(vec![1; 5]),
            events: None,
            picture: Some(b"<svg/>".to_vec()),
            outputs: BTreeMap::from([((0, 1), b"alas".to_vec()), ((12, 0), b"yes".to_vec())]),
        };
        let mut arrived = RepArtefacts::default();
        for (kind, bytes) in brought.pieces() {
            for some in bytes.chunks(2) {
                assert!(arrived.add(&kind, some.to_vec()));
            }
        }
        assert_eq!((arrived.capture, arrived.events), (brought.capture, None));
        assert_eq!((arrived.picture, arrived.outputs), (brought.picture, brought.outputs));
        for kind in ["", "output", "output 1", "output x 0", "../../etc/passwd"] {
            assert!(!RepArtefacts::default().add(kind, Vec::new()), "{kind}");
        }
    }
}
