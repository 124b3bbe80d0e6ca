use super::*;
use crate::folder::RunFolder;
use crate::grid::Grid;
use crate::json;
use crate::row::{Column, Combine};

fn header(cells: usize) -> Header {
    let columns = vec![
        Column::new("time_s", "s", Combine::Mean),
        Column::new("drops", "", Combine::Sum),
        Column::new("done_s", "s", Combine::Max),
    ];
    let values = (0..cells).map(|cell| format!("{cell}")).collect();
    let grid = Grid::Product { axes: vec![("rate".to_owned(), values)] };
    Header::new("ab12", 7, "0.1.0", grid, columns).unwrap()
}

/// Unordered values, some missing, one of them negative zero.
fn values(cell: u32, repetition: u64, flow: u64) -> [Option<f64>; 3] {
    let mixed =
        (u64::from(cell) * 7919 + repetition * 104_729 + flow * 31).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let x = (mixed >> 40) as f64 / 1000.0;
    [
        (!mixed.is_multiple_of(5)).then_some(x),
        Some(if mixed.is_multiple_of(97) { -0.0 } else { x.floor() }),
        Some(x * x),
    ]
}

fn repetition(cell: u32, repetition: u64, flows: &[&str]) -> Vec<Row> {
    let row =
        |(at, flow): (usize, &&str)| Row::new(cell, repetition, *flow, values(cell, repetition, at as u64));
    flows.iter().enumerate().map(row).collect()
}

/// A folder whose repetitions finished in random order, merged to a table, and equal rows in memory.
fn both(header: &Header, repetitions: &[(u32, u64)], flows: &[&str]) -> (Table, Vec<Row>) {
    let place = tempfile::tempdir().unwrap();
    let mut folder = RunFolder::create(place.path().join("run")).unwrap();
    folder.start(header).unwrap();
    let (early, late) = repetitions.split_at(repetitions.len() / 3);
    for (sitting, part) in [early, late].into_iter().enumerate() {
        // Two threads with alternating batches of eight, and a third one that is late.
        let mut batches: Vec<&[(u32, u64)]> = part.chunks(8).collect();
        batches.chunks_mut(2).filter(|pair| pair.len() == 2).for_each(|pair| pair.swap(0, 1));
        let all = batches.len();
        if all > 40 {
            batches[3..all / 2].rotate_left(1);
        }
        for batch in batches {
            let rows: Vec<Row> = batch.iter().flat_map(|key| repetition(key.0, key.1, flows)).collect();
            folder.append(&rows).unwrap();
        }
        if sitting == 0 {
            drop(folder.close().unwrap());
            let mut found = Vec::new();
            folder.resume(header, &mut |cell, repetition| found.push((cell, repetition))).unwrap();
            assert_eq!(found, early);
        }
    }
    let so_far = folder.so_far().unwrap();
    let table = folder.close().unwrap();
    let mut rows = Vec::new();
    Source::Table(&table)
        .each_row(&mut |row| {
            rows.push(row.clone());
            Ok(())
        })
        .unwrap();
    let mut again = Vec::new();
    Source::Table(&so_far)
        .each_row(&mut |row| {
            again.push(row.clone());
            Ok(())
        })
        .unwrap();
    assert!(rows == again);
    let expected: Vec<Row> = repetitions.iter().flat_map(|key| repetition(key.0, key.1, flows)).collect();
    assert!(rows == expected, "order or values");
    (table, expected)
}

fn summaries(source: Source<'_>) -> Vec<CellSummary> {
    let mut all = Vec::new();
    source
        .each_cell(&mut |summary| {
            all.push(summary);
            Ok(())
        })
        .unwrap();
    all
}

/// Short cells, long cells that are read by column, and cells without rows, across several row groups.
#[test]
fn a_table_is_summed_up_as_its_rows_are() {
    let many = |cell: u32| match cell {
        0 | 3 => 10,
        1 => 2 * GROUP as u64 + 5,
        2 => 0,
        4 => GROUP as u64 + 700,
        _ => 1,
    };
    let header = header(9);
    let keys: Vec<(u32, u64)> =
        (0..8).flat_map(|cell| (0..many(cell)).map(move |repetition| (cell, repetition))).collect();
    for flows in [&["a"][..], &["a", "b"]] {
        let (table, rows) = both(&header, &keys, flows);
        let found = summaries(Source::Table(&table));
        assert!(found == summaries(Source::Rows(&header, &rows)), "{} flows", flows.len());
        assert_eq!(found.len(), 9);
        assert_eq!(found.iter().map(|cell| cell.repetitions).collect::<Vec<_>>()[1], many(1));
        // The sign of zero is visible in the bits only.
        let signs = |summaries: &[CellSummary]| -> Vec<bool> {
            let flows = summaries.iter().flat_map(|cell| &cell.flows).flat_map(|(_, metrics)| metrics);
            let all = summaries.iter().flat_map(|cell| &cell.metrics).chain(flows);
            all.flatten().map(|summary| summary.min.is_sign_negative()).collect()
        };
        assert_eq!(signs(&found), signs(&summaries(Source::Rows(&header, &rows))));
    }
}

#[test]
fn documents_are_the_same_from_both() {
    let header = header(40);
    let keys: Vec<(u32, u64)> = (0..40).flat_map(|cell| (0..9).map(move |number| (cell, number))).collect();
    let (table, rows) = both(&header, &keys, &["a", "b"]);
    let document = json::run_document("x", &header, &rows).unwrap();
    let mut seen = 0;
    let mut count = |_: &CellSummary| seen += 1;
    let cells = json::Cells::new(Source::Table(&table), &mut count);
    let text = serde_json::to_string_pretty(&cells).unwrap();
    assert_eq!(text, format!("{:#}", document["cells"]));
    assert_eq!(seen, 40);

    let (mut of_rows, mut of_table) = (Vec::new(), Vec::new());
    crate::csv::write_csv(&mut of_rows, &header, &rows).unwrap();
    crate::csv::write_source(&mut of_table, &Source::Table(&table)).unwrap();
    assert!(of_rows == of_table && of_rows.len() > 10_000);
}
