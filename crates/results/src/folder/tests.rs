use serde_json::json;
use tempfile::TempDir;

use super::*;
use crate::row::{Cell, Column, Combine};

fn header() -> Header {
    let cells = vec![Cell::new(0, [("recovery", "reno")])];
    Header::new("4f1c", 1, "0.1.0", cells, vec![Column::new("time_s", "s", Combine::Mean)]).unwrap()
}

fn rows(repetitions: std::ops::Range<u64>) -> Vec<Row> {
    repetitions.map(|repetition| Row::new(0, repetition, "download", [repetition as f64])).collect()
}

fn begun() -> (TempDir, PathBuf, RunFolder) {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("runs").join("first");
    let mut folder = RunFolder::create(&path).unwrap();
    folder.write_run(&json!({"seed": 1})).unwrap();
    assert_eq!(folder.start(&header()).unwrap(), []);
    (parent, path, folder)
}

fn names(path: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Checks the invariants of every folder after a kill: the rows in `finished` can be read, and the run can be
/// continued to ten repetitions and finished.
#[track_caller]
fn continues(path: &Path, finished: &[Row]) {
    match read(path) {
        Ok((found, rows)) => assert_eq!((found, &rows[..]), (header(), finished)),
        Err(Error::Empty { .. }) => assert_eq!(finished, []),
        Err(error) => panic!("{error}"),
    }
    let mut folder = RunFolder::open(path).unwrap();
    assert_eq!(folder.start(&header()).unwrap(), finished);
    let done = row::finished(finished);
    for row in rows(0..10).iter().filter(|row| !done.contains(&(row.cell, row.repetition))) {
        folder.append(std::slice::from_ref(row)).unwrap();
    }
    assert_eq!(folder.finish().unwrap(), rows(0..10));
    assert_eq!(names(path), [LOCK, TABLE, RUN]);
    assert_eq!(read(path).unwrap(), (header(), rows(0..10)));
}

#[test]
fn a_run_from_beginning_to_end() {
    let (_parent, path, mut folder) = begun();
    folder.append(&rows(0..4)).unwrap();
    assert_eq!(read(&path).unwrap().1, rows(0..4), "readable while it is written");
    folder.sync().unwrap();
    folder.append(&rows(4..6)).unwrap();
    assert_eq!(folder.finish().unwrap(), rows(0..6));
    assert_eq!(read_run(&path).unwrap(), json!({"seed": 1}));
    assert!(matches!(folder.append(&rows(6..7)), Err(Error::Order { .. })));
    assert!(matches!(folder.finish(), Err(Error::Order { .. })));
    drop(folder);
    continues(&path, &rows(0..6));
}

#[test]
fn two_runs_do_not_share_a_folder() {
    let (_parent, path, folder) = begun();
    assert!(matches!(RunFolder::open(&path), Err(Error::Locked { .. })));
    assert!(matches!(RunFolder::create(&path), Err(Error::Locked { .. })));
    drop(folder);
    assert!(matches!(RunFolder::create(&path), Err(Error::Occupied { found: RUN, .. })));
    assert!(RunFolder::open(&path).is_ok());
    let missing = path.join("missing");
    assert!(matches!(RunFolder::open(&missing), Err(Error::Io { .. })));
    assert!(!missing.exists(), "opening makes nothing");
}

#[test]
fn another_run_is_refused_before_and_after_the_end() {
    let (_parent, path, mut folder) = begun();
    folder.append(&rows(0..2)).unwrap();
    drop(folder);
    let other = Header { scenario_hash: "ffff".into(), ..header() };
    let refused = |file: &str| {
        let error = RunFolder::open(&path).unwrap().start(&other).unwrap_err().to_string();
        assert!(error.contains(file) && error.contains("the scenario's hash is 4f1c there"), "{error}");
    };
    refused(JOURNAL);
    continues(&path, &rows(0..2));
    refused(TABLE);
    assert_eq!(names(&path), [LOCK, TABLE, RUN], "a refusal leaves no journal behind");
}

#[test]
fn killed_before_anything_finished() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path();
    // A folder with a lock only.
    drop(RunFolder::create(path).unwrap());
    assert!(matches!(read(path), Err(Error::Empty { .. })));
    // Killed while `run.json` was written: it does not exist, and the folder can still be taken.
    fs::write(durable::temporary(&path.join(RUN)), "{\"se").unwrap();
    let folder = RunFolder::create(path).unwrap();
    assert_eq!(names(path), [LOCK], "what was half prepared is gone");
    folder.write_run(&json!({"seed": 1})).unwrap();
    drop(folder);
    // A kill at every byte of the journal's beginning.
    let whole = {
        let mut folder = RunFolder::open(path).unwrap();
        folder.start(&header()).unwrap();
        fs::read(path.join(JOURNAL)).unwrap()
    };
    for cut in 0..=whole.len() {
        fs::write(path.join(JOURNAL), &whole[..cut]).unwrap();
        assert_eq!(RunFolder::open(path).unwrap().start(&header()).unwrap(), []);
    }
    continues(path, &[]);
}

#[test]
fn killed_while_a_repetition_was_written() {
    let (_parent, path, mut folder) = begun();
    folder.append(&rows(0..5)).unwrap();
    drop(folder);
    let journal = path.join(JOURNAL);
    let whole = fs::read(&journal).unwrap();
    fs::write(&journal, &whole[..whole.len() - 1]).unwrap();
    continues(&path, &rows(0..4));
}

#[test]
fn killed_while_the_table_was_written() {
    let (_parent, path, mut folder) = begun();
    folder.append(&rows(0..5)).unwrap();
    drop(folder);
    fs::write(durable::temporary(&path.join(TABLE)), "PAR1 half a tab").unwrap();
    continues(&path, &rows(0..5));
}

#[test]
fn killed_between_table_and_journal() {
    let (_parent, path, mut folder) = begun();
    folder.append(&rows(0..5)).unwrap();
    let journal = fs::read(path.join(JOURNAL)).unwrap();
    folder.finish().unwrap();
    drop(folder);
    fs::write(path.join(JOURNAL), journal).unwrap();
    continues(&path, &rows(0..5));
}

#[test]
fn killed_while_a_finished_run_was_continued() {
    let (_parent, path, mut folder) = begun();
    folder.append(&rows(0..5)).unwrap();
    folder.finish().unwrap();
    // A new journal, first empty, then with a new repetition.
    folder.start(&header()).unwrap();
    assert_eq!(read(&path).unwrap().1, rows(0..5));
    folder.append(&rows(7..8)).unwrap();
    drop(folder);
    continues(&path, &[rows(0..5), rows(7..8)].concat());
}

#[test]
fn a_repetition_with_different_values_is_an_error() {
    let (_parent, path, mut folder) = begun();
    folder.append(&rows(0..2)).unwrap();
    folder.append(&rows(1..2)).unwrap();
    folder.append(&[Row::new(0, 0, "download", [0.5])]).unwrap();
    assert!(matches!(folder.finish(), Err(Error::Conflict { repetition: 0, .. })));
    assert!(path.join(JOURNAL).exists(), "nothing is thrown away over it");
}

#[test]
fn a_damaged_run_json_is_named() {
    let (_parent, path, _folder) = begun();
    fs::write(path.join(RUN), "{").unwrap();
    let message = read_run(&path).unwrap_err().to_string();
    assert!(message.contains(RUN) && message.contains("is not JSON"), "{message}");
}

/// EG-25: further tables are durable like the main one, continued after a kill, and extended by more
/// repetitions.
#[test]
fn eg_25_tables_beside_the_main_one() {
    let cells = vec![Cell::new(0, [("recovery", "reno")])];
    let columns = vec![Column::new("erlang", "", Combine::Mean)];
    let beside = Header::new("4f1c", 1, "0.1.0", cells, columns).unwrap();
    let of = |repetitions: std::ops::Range<u64>| -> Vec<Row> {
        let names = ["cell-0", "cell-1"];
        repetitions.flat_map(|r| names.map(|name| Row::new(0, r, name, [r as f64]))).collect()
    };
    let (_parent, path, mut folder) = begun();
    folder.append_table("cells", &beside, &of(0..1)).unwrap();
    folder.append(&rows(0..1)).unwrap();
    // Killed between both tables: the repetition is run again.
    folder.append_table("cells", &beside, &of(1..2)).unwrap();
    assert_eq!(folder.table("cells").unwrap(), of(0..2));
    assert_eq!(folder.table("slots").unwrap(), []);
    drop(folder);

    let mut folder = RunFolder::open(&path).unwrap();
    folder.start(&header()).unwrap();
    for repetition in 1..3 {
        folder.append_table("cells", &beside, &of(repetition..repetition + 1)).unwrap();
        folder.append(&rows(repetition..repetition + 1)).unwrap();
    }
    folder.finish().unwrap();
    assert_eq!(names(&path), [LOCK, "cells.parquet", TABLE, RUN]);
    assert_eq!(read_named(&path, "cells").unwrap(), (beside.clone(), of(0..3)));

    folder.start(&header()).unwrap();
    folder.append_table("cells", &beside, &of(3..4)).unwrap();
    folder.append(&rows(3..4)).unwrap();
    assert_eq!(folder.table("cells").unwrap(), of(0..4));
    folder.finish().unwrap();
    assert_eq!(read_named(&path, "cells").unwrap().1, of(0..4));
    let other = Header { seed: 2, ..beside };
    folder.start(&header()).unwrap();
    folder.append_table("cells", &other, &of(4..5)).unwrap();
    folder.append(&rows(4..5)).unwrap();
    assert!(matches!(folder.finish(), Err(Error::OtherRun { .. })), "tables of two runs do not mix");
}
