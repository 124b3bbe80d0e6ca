//! Example: writes a table of results as a run does, for other programs to read:
//!
//! ```sh
//! cargo run -p williwaw-results --example table -- /tmp/flows.parquet
//! duckdb -c "SELECT bytes, count(*), avg(time_s), count(packets_dropped) FROM '/tmp/flows.parquet' GROUP BY ALL"
//! ```

use std::path::Path;

use results::{Cell, Column, Combine, Header, Row, parquet};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args_os().nth(1).ok_or("the path of the table to write is missing")?;
    let cells = vec![
        Cell::new(0, [("flow.download.transport.tcp.recovery", "reno"), ("bytes", "100")]),
        Cell::new(1, [("flow.download.transport.tcp.recovery", "sack"), ("bytes", "1e3")]),
        Cell::new(2, [("flow.download.transport.tcp.recovery", "naïve, \"quoted\""), ("bytes", "1.5")]),
    ];
    let columns =
        vec![Column::new("time_s", "s", Combine::Mean), Column::new("packets_dropped", "", Combine::Sum)];
    let header = Header::new("4f1c", 1, env!("CARGO_PKG_VERSION"), cells, columns)?;
    let mut rows = Vec::new();
    for cell in 0..3 {
        for repetition in 0..100_000_u64 {
            let drops = (!repetition.is_multiple_of(4)).then_some(repetition as f64);
            rows.push(Row::new(cell, repetition, "download", [Some(repetition as f64 / 8.0), drops]));
        }
    }
    parquet::write_flows(Path::new(&path), &header, &rows)?;
    Ok(())
}
