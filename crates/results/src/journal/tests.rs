use std::fs;

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::row::{Cell, Column, Combine};

fn header() -> Header {
    let cells = vec![Cell::new(0, [("recovery", "reno")]), Cell::new(1, [("recovery", "sack")])];
    let columns = (0..9).map(|at| Column::new(format!("metric_{at}"), "s", Combine::Mean)).collect();
    Header::new("4f1c", 7, "0.1.0", cells, columns).unwrap()
}

/// Three repetitions; the second has two flows, with missing and unusual values.
fn rows() -> Vec<Row> {
    let mut strange = vec![None; 9];
    strange[0] = Some(-0.0);
    strange[8] = Some(f64::MIN_POSITIVE / 4.0);
    vec![
        Row::new(1, 0, "download", (0..9).map(|at| f64::from(at) / 3.0)),
        Row::new(0, 3, "download", [0.0; 9]),
        Row { cell: 0, repetition: 3, flow: "naïve \"upload\"".into(), values: strange },
        Row::new(0, 1 << 40, "", [None; 9]),
    ]
}

/// Number of finished rows after each of the three repetitions.
const WHOLE: [usize; 4] = [0, 1, 3, 4];

fn folder() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("flows.journal");
    (folder, path)
}

/// Ends of the header and of each repetition in a journal of [`rows`].
fn ends(path: &Path) -> Vec<u64> {
    let mut journal = Journal::create(path, &header()).unwrap();
    let mut ends = vec![journal.length()];
    for pair in WHOLE.windows(2) {
        journal.append(&rows()[pair[0]..pair[1]]).unwrap();
        ends.push(journal.length());
    }
    ends
}

#[test]
fn what_was_appended_is_read_back() {
    let (_folder, path) = folder();
    let mut journal = Journal::create(&path, &header()).unwrap();
    journal.append(&rows()).unwrap();
    journal.append(&[]).unwrap();
    journal.sync().unwrap();
    let contents = read(&path).unwrap().unwrap();
    assert_eq!((contents.header, contents.rows), (header(), rows()));
    assert_eq!(contents.length, journal.length());
    assert_eq!(fs::metadata(&path).unwrap().len(), journal.length());
    assert!(Journal::create(&path, &header()).is_err(), "a journal is never begun over another");
}

#[test]
fn cut_at_every_byte_the_finished_repetitions_remain() {
    let (_folder, path) = folder();
    let ends = ends(&path);
    let whole = fs::read(&path).unwrap();
    for cut in 0..=whole.len() {
        fs::write(&path, &whole[..cut]).unwrap();
        let (mut journal, found) = Journal::open_or_resume(&path, &header()).unwrap();
        let records = ends.iter().filter(|&&end| end <= cut as u64).count();
        let finished = WHOLE[records.saturating_sub(1)];
        assert_eq!(found, rows()[..finished], "cut at byte {cut}");

        journal.append(&rows()[finished..]).unwrap();
        drop(journal);
        assert_eq!(fs::read(&path).unwrap(), whole, "continued after a cut at byte {cut}");
    }
}

#[test]
fn cut_at_every_byte_and_filled_with_zeros() {
    let (_folder, path) = folder();
    let ends = ends(&path);
    let whole = fs::read(&path).unwrap();
    for cut in MAGIC.len()..whole.len() {
        let mut bytes = whole[..cut].to_vec();
        bytes.resize(whole.len() + 100, 0);
        fs::write(&path, &bytes).unwrap();
        // Zeros after the cut may equal the original bytes; then the record is complete.
        let same = bytes.iter().zip(&whole).take_while(|(a, b)| a == b).count() as u64;
        let records = ends.iter().filter(|&&end| end <= same).count();
        let found = read(&path).unwrap().map_or(Vec::new(), |contents| contents.rows);
        assert_eq!(found, rows()[..WHOLE[records.saturating_sub(1)]], "cut at byte {cut}");
    }
}

#[test]
fn every_flipped_bit_is_noticed() {
    let (_folder, path) = folder();
    let ends = ends(&path);
    let whole = fs::read(&path).unwrap();
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (at % 8);
        fs::write(&path, &bytes).unwrap();
        let result = Journal::open_or_resume(&path, &header());
        if at < MAGIC.len() {
            assert!(matches!(result, Err(Error::NotAJournal { .. })), "byte {at}");
        } else if (at as u64) < ends[2] {
            let mut starts = vec![MAGIC.len() as u64];
            starts.extend(&ends);
            let start = starts.into_iter().filter(|&start| start <= at as u64).max().unwrap();
            let Err(Error::Damaged { offset, .. }) = result else { panic!("byte {at}: {result:?}") };
            assert_eq!(offset, start, "byte {at}");
            assert_eq!(fs::read(&path).unwrap(), bytes, "a damaged journal is not touched");
        } else {
            // An invalid last record is treated as truncated.
            assert_eq!(result.unwrap().1, rows()[..3], "byte {at}");
        }
    }
}

#[test]
fn another_run_is_refused_by_name() {
    let (_folder, path) = folder();
    drop(Journal::create(&path, &header()).unwrap());
    let other = Header { seed: 8, ..header() };
    let message = Journal::open_or_resume(&path, &other).unwrap_err().to_string();
    let text = "holds another run: the seed is 7 there and 8 here";
    assert!(message.ends_with(text), "{message}");
    assert!(message.starts_with(path.to_str().unwrap()), "{message}");
}

#[test]
fn a_file_of_something_else_is_left_alone() {
    let (_folder, path) = folder();
    fs::write(&path, "my thesis").unwrap();
    assert!(matches!(Journal::open_or_resume(&path, &header()), Err(Error::NotAJournal { .. })));
    assert_eq!(fs::read_to_string(&path).unwrap(), "my thesis");
}

#[test]
fn no_record_counts_where_it_was_not_written() {
    let (_folder, path) = folder();
    let ends = ends(&path);
    let mut bytes = fs::read(&path).unwrap();
    // The first repetition is removed, so that the others have wrong offsets.
    bytes.drain(ends[0] as usize..ends[1] as usize);
    fs::write(&path, &bytes).unwrap();
    let found = read(&path).unwrap().unwrap();
    assert_eq!(found.rows, []);
}

#[test]
fn a_row_that_does_not_fit_leaves_the_batch_out() {
    let (_folder, path) = folder();
    let mut journal = Journal::create(&path, &header()).unwrap();
    let batch = [rows().remove(0), Row::new(2, 0, "download", [0.0; 9])];
    assert!(matches!(journal.append(&batch), Err(Error::Row { cell: 2, .. })));
    journal.append(&rows()).unwrap();
    assert_eq!(read(&path).unwrap().unwrap().rows, rows());
}

#[test]
fn what_is_not_finite_is_absent() {
    let (_folder, path) = folder();
    let mut journal = Journal::create(&path, &header()).unwrap();
    journal.append(&[Row::new(0, 0, "download", [f64::NAN; 9])]).unwrap();
    assert_eq!(read(&path).unwrap().unwrap().rows, [Row::new(0, 0, "download", [None; 9])]);
}

fn any_rows() -> impl Strategy<Value = Vec<Row>> {
    let value = prop::option::of(any::<f64>().prop_filter("finite", |value| value.is_finite()));
    let row = (0..2_u32, 0..5_u64, ".{0,12}", prop::collection::vec(value, 9))
        .prop_map(|(cell, repetition, flow, values)| Row { cell, repetition, flow, values });
    prop::collection::vec(row, 0..12)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn any_batches_come_back(batches in prop::collection::vec(any_rows(), 0..4)) {
        let (_folder, path) = folder();
        let mut journal = Journal::create(&path, &header()).unwrap();
        for batch in &batches {
            journal.append(batch).unwrap();
        }
        drop(journal);
        let (_, found) = Journal::open_or_resume(&path, &header()).unwrap();
        prop_assert_eq!(found, batches.concat());
    }

    #[test]
    fn any_cut_keeps_whole_repetitions(rows in any_rows(), cut in any::<prop::sample::Index>()) {
        let (_folder, path) = folder();
        let mut journal = Journal::create(&path, &header()).unwrap();
        let begin = journal.length();
        journal.append(&rows).unwrap();
        let cut = begin + cut.index((journal.length() - begin) as usize + 1) as u64;
        OpenOptions::new().write(true).open(&path).unwrap().set_len(cut).unwrap();
        let (_, found) = Journal::open_or_resume(&path, &header()).unwrap();
        prop_assert_eq!(&found[..], &rows[..found.len()]);
        if let (Some(last), Some(next)) = (found.last(), rows.get(found.len())) {
            prop_assert_ne!((last.cell, last.repetition), (next.cell, next.repetition));
        }
    }

    #[test]
    fn any_bytes_are_survived(tail in prop::collection::vec(any::<u8>(), 0..200), begun in any::<bool>()) {
        let (_folder, path) = folder();
        let mut bytes = if begun { MAGIC.to_vec() } else { Vec::new() };
        bytes.extend(tail);
        fs::write(&path, &bytes).unwrap();
        let _ = read(&path);
        let _ = Journal::open_or_resume(&path, &header());
    }
}

/// A file in memory that counts the bytes read from it.
struct Counted {
    file: Cursor<Vec<u8>>,
    bytes: std::rc::Rc<std::cell::Cell<usize>>,
}

impl io::Read for Counted {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(into)?;
        self.bytes.set(self.bytes.get() + read);
        Ok(read)
    }
}

impl Seek for Counted {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

/// Two threads leave two ascending runs, which are read alternately: each byte is read once, not once per
/// repetition.
#[test]
fn going_back_and_forth_reads_the_file_once() {
    let (_folder, path) = folder();
    let mut journal = Journal::create(&path, &header()).unwrap();
    let row = |repetition| Row::new(0, repetition, "download", [0.5; 9]);
    for repetition in (0..400).step_by(2).chain((1..400).step_by(2)) {
        journal.append(&[row(repetition)]).unwrap();
    }
    let text = fs::read(&path).unwrap();
    let bytes = std::rc::Rc::default();
    let counted = Counted { file: Cursor::new(text.clone()), bytes: std::rc::Rc::clone(&bytes) };
    let mut reader = Reader::new(&path, BufReader::with_capacity(1 << 18, counted)).unwrap().unwrap();
    let mut places = Vec::new();
    while reader.next_key().unwrap().is_some() {
        places.push(reader.at());
    }
    let (length, begin) = (reader.at(), text.len() as u64 - 400 * (places[1] - places[0]));
    assert_eq!(length, text.len() as u64);
    places.insert(0, begin);
    let mut rows = Vec::new();
    for repetition in 0..400 {
        reader.go_to(places[repetition / 2 + 200 * (repetition % 2)]).unwrap();
        assert!(reader.next(&mut rows).unwrap());
    }
    assert_eq!(rows, (0..400).map(row).collect::<Vec<_>>());
    assert!(bytes.get() <= 3 * text.len(), "{} bytes were read of {}", bytes.get(), text.len());
    // An incomplete last record does not end the journal: earlier records are read again.
    reader.go_to(length).unwrap();
    assert!(!reader.next(&mut rows).unwrap());
    reader.go_to(places[399]).unwrap();
    assert!(reader.next(&mut rows).unwrap());
    assert_eq!(rows.last(), Some(&row(399)));
}
