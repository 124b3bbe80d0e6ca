//! Benchmark of the result store: journal append and read, table write, summaries of cells.

use divan::counter::ItemsCount;
use results::{Cell, Column, Combine, Header, Journal, Row, Summary, journal, parquet, source};

fn main() {
    divan::main();
}

fn header() -> Header {
    let columns = (0..14).map(|at| Column::new(format!("metric_{at}"), "s", Combine::Mean)).collect();
    let cells: Vec<Cell> = (0..10).map(|at| Cell::new(at, [("recovery", at.to_string())])).collect();
    Header::new("4f1c", 1, "0.1.0", cells, columns).unwrap()
}

/// Rows of one flow per repetition, with fourteen metrics, two of them without a value.
fn rows(count: u64) -> Vec<Row> {
    (0..count)
        .map(|at| {
            let value = |column: u64| (column % 7 != 3).then_some((at * 31 + column * 7) as f64 / 3.0);
            Row::new((at % 10) as u32, at / 10, "download", (0..14).map(value))
        })
        .collect()
}

/// Appends batches to a growing journal; the time is per row.
#[divan::bench(args = [1, 8, 64, 1024])]
fn append(bencher: divan::Bencher<'_, '_>, batch: u64) {
    let folder = tempfile::tempdir().unwrap();
    let mut journal = Journal::create(folder.path().join("flows.journal"), &header()).unwrap();
    let rows = rows(batch);
    bencher.counter(ItemsCount::new(batch)).bench_local(|| journal.append(&rows).unwrap());
}

const MANY: u64 = 100_000;

#[divan::bench(sample_count = 10)]
fn read_journal(bencher: divan::Bencher<'_, '_>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("flows.journal");
    Journal::create(&path, &header()).unwrap().append(&rows(MANY)).unwrap();
    bencher.counter(ItemsCount::new(MANY)).bench(|| journal::read(&path).unwrap());
}

#[divan::bench(sample_count = 10)]
fn write_table(bencher: divan::Bencher<'_, '_>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("flows.parquet");
    let (header, rows) = (header(), rows(MANY));
    bencher.counter(ItemsCount::new(MANY)).bench(|| parquet::write_flows(&path, &header, &rows).unwrap());
}

#[divan::bench(sample_count = 10)]
fn sum_up_cells(bencher: divan::Bencher<'_, '_>) {
    let (header, rows) = (header(), rows(MANY));
    bencher.counter(ItemsCount::new(MANY)).bench(|| source::summarise(&header, &rows).unwrap().len());
}

#[divan::bench(args = [2, 100, 1000])]
fn summary(bencher: divan::Bencher<'_, '_>, count: u64) {
    let values: Vec<f64> = (0..count).map(|at| (at * 7919 % 1009) as f64).collect();
    bencher.bench(|| Summary::of(divan::black_box(&values)));
}
