//! Serialised report of a repetition in real time, with its files.
//!
//! Words that go from one host to another, and the bytes of the files that come with them.

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
    /// Every workload was done.
    pub(crate) complete: bool,
    /// The measures of each flow, and of each command that does not serve.
    pub(crate) rows: Vec<(String, Vec<Option<f64>>)>,
    /// All that is not in the table.
    pub(crate) document: Value,
    /// For people.
    pub(crate) said: String,
    /// Faults: a word and a sentence.
    pub(crate) complaints: Vec<(String, String)>,
    /// A command failed.
    pub(crate) failed: bool,
    pub(crate) faithful: bool,
}

/// Artefacts of a repetition: files that were requested and are not written yet.
#[derive(Clone, Debug, Default)]
pub(crate) struct RepArtefacts {
    pub(crate) capture: Option<Vec<u8>>,
    pub(crate) events: Option<Vec<u8>>,
    /// A `report::Picture` as JSON.
    pub(crate) picture: Option<Vec<u8>>,
    /// By the number of the command, and 0 for its output or 1 for that for errors.
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

    /// Prints the faults, and returns the verb's end.
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
    /// Messages that carry it to another host: the kind of each piece, and its bytes.
    pub(crate) fn pieces(&self) -> Vec<(String, &[u8])> {
        let named = [("capture", &self.capture), ("events", &self.events), ("picture", &self.picture)];
        let named =
            named.into_iter().filter_map(|(kind, bytes)| Some((kind.to_owned(), &bytes.as_ref()?[..])));
        let outputs =
            self.outputs.iter().map(|((i, which), bytes)| (format!("output {i} {which}"), &bytes[..]));
        named.chain(outputs).collect()
    }

    /// More of a piece has come; false if there is no such kind.
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
    fn what_is_brought_arrives_whole() {
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
