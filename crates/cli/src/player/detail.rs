//! Detailed tables of selected repetitions: `events.parquet` and `series.parquet`.

use super::captures::{Repetitions, RequestedOutputs};
use crate::console::exit::Failure;
use crate::console::streams::Console;
use lab::detail;
use lab::sweep::Sweep;
use results::parquet::long::{self, Head, Kind, Push};
use scenario::Model;
use std::path::Path;

/// Writes the requested tables into the run folder.
pub(crate) fn write(
    wanted: &RequestedOutputs,
    sweep: &Sweep,
    repetitions: u32,
    folder: &Path,
    console: &Console,
) -> Result<(), Failure> {
    let table = |name: &str, asked: &Option<Repetitions>, columns: &[(&str, Kind)], of: Of| {
        let Some(asked) = asked else { return Ok(()) };
        let path = folder.join(format!("{name}.parquet"));
        let head = Head { name, columns, of: &sweep.header };
        let rows = long::write(&path, head, &mut |push| {
            for (number, cell) in (0..sweep.cells.len()).filter_map(|at| Some((at, sweep.cells.good(at)?))) {
                for rep in (0..repetitions).filter(|rep| asked.has(*rep)) {
                    of(&cell.model, number as u32, u64::from(rep), push)?;
                }
            }
            Ok(())
        })?;
        console.note(&format!("{rows} rows in {}", path.display()));
        Ok::<(), Failure>(())
    };
    table("events", &wanted.events, &detail::event_columns(), detail::events)?;
    table("series", &wanted.series, detail::SERIES_COLUMNS, detail::samples)
}

type Of = fn(&Model, u32, u64, Push<'_>) -> results::Result<()>;
