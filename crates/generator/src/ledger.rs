//! Ledger of compared scenarios: a line for each, so that a comparison that was stopped goes on.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use std::str::FromStr;

/// Hexadecimal digits of a digest.
const DIGITS: usize = 16;

/// One scenario's forecast beside the truth, as measured. A line of the ledger: number, five quantities foretold, five
/// true ones, digest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Entry {
    /// The scenario's number.
    pub number: u64,
    /// Foretold, in the order of [`crate::estimate::QUANTITIES`].
    pub foretold: [f64; 5],
    /// True, in the same order.
    pub truth: [f64; 5],
    /// Digest of the results, [`crate::check::Usage::digest`].
    pub digest: u64,
}

impl FromStr for Entry {
    type Err = ();

    fn from_str(line: &str) -> Result<Entry, ()> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [number, quantities @ .., digest] = words.as_slice() else { return Err(()) };
        // Of a line that was cut in its last word.
        if digest.len() != DIGITS {
            return Err(());
        }
        let values = quantities.iter().map(|word| word.parse::<f64>()).collect::<Result<Vec<f64>, _>>();
        let [a, b, c, d, e, f, g, h, i, j] = values.map_err(|_| ())?[..] else { return Err(()) };
        Ok(Entry {
            number: number.parse().map_err(|_| ())?,
            foretold: [a, b, c, d, e],
            truth: [f, g, h, i, j],
            digest: u64::from_str_radix(digest, 16).map_err(|_| ())?,
        })
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.number)?;
        self.foretold.iter().chain(&self.truth).try_for_each(|x| write!(f, " {x}"))?;
        write!(f, " {:016x}", self.digest)
    }
}

/// Entries by the scenario's number, and the file that keeps them.
#[derive(Debug, Default)]
pub struct Ledger {
    entries: BTreeMap<u64, Entry>,
    file: Option<File>,
}

impl Ledger {
    /// Reads a ledger and opens it for more. Without a path nothing is kept.
    ///
    /// # Errors
    /// The file cannot be read or opened. A line that is no entry, as a killed process leaves it, is passed over.
    pub fn open(path: Option<&Path>) -> Result<Ledger, String> {
        let Some(path) = path else { return Ok(Ledger::default()) };
        let said = |error: std::io::Error| format!("{}: {error}", path.display());
        let mut file = OpenOptions::new().create(true).append(true).open(path).map_err(said)?;
        let text = std::fs::read_to_string(path).map_err(said)?;
        if !text.is_empty() && !text.ends_with('\n') {
            writeln!(file).map_err(said)?;
        }
        let entries =
            text.lines().filter_map(|line| line.parse().ok()).map(|e: Entry| (e.number, e)).collect();
        Ok(Ledger { entries, file: Some(file) })
    }

    /// The entry of a scenario.
    pub fn entry(&self, number: u64) -> Option<Entry> {
        self.entries.get(&number).copied()
    }

    /// Adds an entry.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn keep(&mut self, entry: Entry) -> Result<Entry, String> {
        if let Some(file) = &mut self.file {
            writeln!(file, "{entry}").map_err(|error| format!("the ledger: {error}"))?;
        }
        self.entries.insert(entry.number, entry);
        Ok(entry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: Entry = Entry {
        number: 7,
        foretold: [1.0, 0.0, 3.5, 1e-6, 2e6],
        truth: [2.0, 0.0, 3.0, 2e-6, 1e6],
        digest: 0xab,
    };

    #[test]
    fn a_stopped_comparison_goes_on_behind_what_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.txt");
        let mut ledger = Ledger::open(Some(&path)).unwrap();
        assert_eq!(ledger.entry(7), None);
        ledger.keep(FIRST).unwrap();
        ledger.keep(Entry { number: 8, ..FIRST }).unwrap();
        drop(ledger);
        // A kill within the last line.
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, &text[..text.len() - 3]).unwrap();
        let mut again = Ledger::open(Some(&path)).unwrap();
        assert_eq!((again.entry(7), again.entry(8)), (Some(FIRST), None));
        again.keep(Entry { number: 8, ..FIRST }).unwrap();
        assert_eq!(Ledger::open(Some(&path)).unwrap().entry(8), Some(Entry { number: 8, ..FIRST }));
    }
}
