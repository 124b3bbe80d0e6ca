use super::*;
use crate::row::{Cell, Column, Combine};
use proptest::prelude::*;
use std::fs;

fn header() -> Header {
    let cells = vec![
        Cell::new(0, [("flow.download.recovery", "reno"), ("bytes", "100")]),
        Cell::new(1, [("flow.download.recovery", "sack"), ("bytes", "1.50")]),
        Cell::new(5, [("flow.download.recovery", "sack")]),
    ];
    let columns = vec![Column::new("time_s", "s", Combine::Mean), Column::new("drops", "", Combine::Sum)];
    Header::new("4f1c", u64::MAX, "0.1.0", cells, columns).unwrap()
}

fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for cell in [0, 1, 5] {
        for repetition in 0..50_u64 {
            for flow in ["download", "naïve"] {
                let time = 30.0 + repetition as f64 / 7.0;
                let drops = (repetition % 3 > 0).then_some(repetition as f64);
                rows.push(Row::new(cell, repetition, flow, [Some(time), drops]));
            }
        }
    }
    rows
}

#[test]
fn a_table_comes_back_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("flows.parquet");
    let mut shuffled = rows();
    shuffled.reverse();
    shuffled.swap(3, 77);
    shuffled.push(rows()[9].clone());
    write_flows(&path, &header(), &shuffled).unwrap();
    assert_eq!(read_flows(&path).unwrap(), (header(), rows()));
    let entries = fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(entries, 1, "nothing is left beside the table");

    let bytes = fs::read(&path).unwrap();
    write_flows(&path, &header(), &rows()).unwrap();
    assert_eq!(fs::read(&path).unwrap(), bytes, "the order of finishing leaves no trace");
}

#[test]
fn an_empty_table_is_a_table() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("flows.parquet");
    write_flows(&path, &header(), &[]).unwrap();
    assert_eq!(read_flows(&path).unwrap(), (header(), vec![]));
}

#[test]
fn more_rows_than_a_group_holds() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("flows.parquet");
    let rows: Vec<Row> = (0..GROUP as u64 + 1000)
        .map(|at| Row::new(1, at, "download", [Some(at as f64), (at % 2 == 0).then_some(1.0)]))
        .collect();
    write_flows(&path, &header(), &rows).unwrap();
    assert!(read_flows(&path).unwrap().1 == rows);
}

#[test]
fn what_makes_no_table_leaves_the_old_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("flows.parquet");
    write_flows(&path, &header(), &rows()).unwrap();
    let twice = [Row::new(0, 0, "a", [1.0, 1.0]), Row::new(0, 0, "a", [2.0, 1.0])];
    assert!(matches!(write_flows(&path, &header(), &twice), Err(Error::Conflict { .. })));
    assert_eq!(read_flows(&path).unwrap().1.len(), rows().len());
}

#[test]
fn other_files_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("flows.parquet");
    assert!(matches!(read_flows(&path), Err(Error::Io { .. })));
    fs::write(&path, "PAR1 it is not PAR1").unwrap();
    assert!(matches!(read_flows(&path), Err(Error::Parquet { .. })));

    // A table with another schema.
    let fields = Type::group_type_builder("other").build().unwrap();
    let file = fs::File::create(&path).unwrap();
    SerializedFileWriter::new(file, Arc::new(fields), Arc::default()).unwrap().close().unwrap();
    assert!(matches!(read_flows(&path), Err(Error::NotFlows { .. })));

    write_flows(&path, &header(), &rows()).unwrap();
    let whole = fs::read(&path).unwrap();
    for cut in (0..whole.len()).step_by(7) {
        fs::write(&path, &whole[..cut]).unwrap();
        assert!(read_flows(&path).is_err(), "cut at byte {cut}");
    }
}

#[test]
fn every_flipped_byte_is_survived() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("flows.parquet");
    let rows = &rows()[..2];
    write_flows(&path, &header(), rows).unwrap();
    let whole = fs::read(&path).unwrap();
    for at in 0..whole.len() {
        for mask in [0xff, 0x01] {
            let mut bytes = whole.clone();
            bytes[at] ^= mask;
            fs::write(&path, &bytes).unwrap();
            // A flipped byte of the footer may leave the rows unchanged, but never gives other rows.
            if let Ok((_, found)) = read_flows(&path) {
                assert_eq!(found, rows, "byte {at}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn any_rows_come_back(
        bits in prop::collection::vec((0..3_usize, 0..9_u64, ".{0,8}", any::<[Option<u64>; 2]>()), 0..40)
    ) {
        let mut rows: Vec<Row> = bits
            .into_iter()
            .map(|(cell, repetition, flow, values)| {
                let cell = header().cells.at(cell).unwrap().index;
                let values = values.map(|bits| bits.map(f64::from_bits).filter(|value| value.is_finite()));
                Row::new(cell, repetition, flow, values)
            })
            .collect();
        rows.sort_by(|a, b| a.key().cmp(&b.key()));
        rows.dedup_by(|a, b| a.key() == b.key());
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("flows.parquet");
        write_flows(&path, &header(), &rows).unwrap();
        let (_, found) = read_flows(&path).unwrap();
        // Debug format distinguishes -0.0 from 0.0.
        prop_assert_eq!(format!("{found:?}"), format!("{rows:?}"));
    }
}
