//! Property test of the journal reader: no truncated, changed or random journal causes a panic or yields rows
//! that the file does not contain.

mod fuzz;

use proptest::prelude::*;
use results::journal::Journal;
use results::row::{Cell, Column, Combine, Header, Row};

fn written() -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    let columns = vec![Column::new("time_s", "s", Combine::Mean)];
    let cells = vec![Cell::new(0, [("rate", "1 Mbit/s")])];
    let header = Header::new("00112233445566778899aabbccddeeff", 1, "0.0.0", cells, columns).unwrap();
    let mut journal = Journal::create(&path, &header).unwrap();
    for repetition in 0..3 {
        journal.append(&[Row::new(0, repetition, "flow", [Some(repetition as f64)])]).unwrap();
    }
    journal.sync().unwrap();
    std::fs::read(&path).unwrap()
}

proptest! {
    #[test]
    fn changed_journals_are_harmless(changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..3u8), 0..6)) {
        let mut bytes = written();
        for (at, to, how) in changes {
            if bytes.is_empty() {
                break;
            }
            let i = at.index(bytes.len());
            match how {
                0 => bytes[i] = to,
                1 => bytes.truncate(i),
                _ => bytes.extend_from_within(i..),
            }
        }
        fuzz::journal(&bytes);
    }

    #[test]
    fn made_up_journals_are_harmless(tail in proptest::collection::vec(any::<u8>(), 0..200)) {
        fuzz::journal(&[b"williwaw journal 1\n".as_slice(), &tail].concat());
    }
}

#[test]
fn a_whole_one_is_read() {
    let bytes = written();
    fuzz::journal(&bytes);
    let contents = results::journal::parse(std::path::Path::new("x"), &bytes).unwrap().unwrap();
    assert_eq!(contents.rows.len(), 3);
}
