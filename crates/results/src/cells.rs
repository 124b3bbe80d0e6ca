//! Cell statistics over repetitions, per flow and for all flows.
//!
//! A cell is summed up per flow name, and once for all flows: there the flows of one repetition are first
//! taken together by the column's [`Combine`](crate::Combine), then the repetitions are summed up. A flow
//! without a value takes no part in its repetition, and a repetition without a value none in its cell; the
//! `n` of each [`Summary`] says how many did.

use crate::error::Result;
use crate::row::{self, Cell, Header, Row};
use crate::stats::Summary;

/// The results of one cell.
#[derive(Clone, Debug, PartialEq)]
pub struct CellSummary<'a> {
    /// The cell and its grid values.
    pub cell: &'a Cell,
    /// Finished repetitions.
    pub repetitions: u64,
    /// All flows together, one summary per column of the header; none where nothing was measured.
    pub metrics: Vec<Option<Summary>>,
    /// Each flow alone, by name.
    pub flows: Vec<(&'a str, Vec<Option<Summary>>)>,
}

/// Sums up every cell of the header, in its order; also those of which nothing has finished. The result does
/// not depend on the order of the rows.
///
/// # Errors
/// [`Error::Row`](crate::Error::Row) and [`Error::Conflict`](crate::Error::Conflict) for rows that make no
/// table.
pub fn summarise<'a>(header: &'a Header, rows: &'a [Row]) -> Result<Vec<CellSummary<'a>>> {
    let rows = row::in_order(header, rows)?;
    let mut rest = &rows[..];
    let mut cells = Vec::with_capacity(header.cells.len());
    for cell in &header.cells {
        let (own, others) = rest.split_at(rest.partition_point(|row| row.cell <= cell.index));
        rest = others;
        cells.push(summarise_cell(header, cell, own));
    }
    Ok(cells)
}

fn summarise_cell<'a>(header: &Header, cell: &'a Cell, rows: &[&'a Row]) -> CellSummary<'a> {
    let repetitions: Vec<&[&Row]> = rows.chunk_by(|a, b| a.repetition == b.repetition).collect();
    let together = |(at, column): (usize, &row::Column)| {
        let values: Vec<Option<f64>> = repetitions
            .iter()
            .map(|flows| column.combine.over(flows.iter().map(|row| row.values[at])))
            .collect();
        Summary::of(&values)
    };
    let metrics = header.columns.iter().enumerate().map(together).collect();

    // A stable sort: within a flow the repetitions stay in order.
    let mut by_flow = rows.to_vec();
    by_flow.sort_by(|a, b| a.flow.cmp(&b.flow));
    let flows = by_flow
        .chunk_by(|a, b| a.flow == b.flow)
        .map(|own| {
            let alone = |at| Summary::of(&own.iter().map(|row| row.values[at]).collect::<Vec<_>>());
            (own[0].flow.as_str(), (0..header.columns.len()).map(alone).collect())
        })
        .collect();
    CellSummary { cell, repetitions: repetitions.len() as u64, metrics, flows }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::{Column, Combine};

    #[test]
    fn flows_are_combined_within_a_repetition() {
        let columns = vec![
            Column::new("time_s", "s", Combine::Mean),
            Column::new("drops", "", Combine::Sum),
            Column::new("done_s", "s", Combine::Max),
        ];
        let cells = vec![Cell::new(0, [("n", "1")]), Cell::new(1, [("n", "2")])];
        let header = Header::new("", 1, "", cells, columns).unwrap();
        let rows = [
            Row::new(0, 1, "b", [None, Some(4.0), Some(9.0)]),
            Row::new(0, 0, "b", [Some(3.0), Some(2.0), Some(8.0)]),
            Row::new(0, 0, "a", [Some(1.0), Some(1.0), Some(5.0)]),
            Row::new(0, 1, "a", [Some(5.0), Some(0.0), None]),
        ];
        let cells = summarise(&header, &rows).unwrap();
        let means = |metrics: &[Option<Summary>]| -> Vec<Option<(f64, u64)>> {
            metrics.iter().map(|summary| summary.map(|summary| (summary.mean, summary.n))).collect()
        };
        assert_eq!(cells[0].repetitions, 2);
        // Times (1 + 3) / 2 and 5; drops 3 and 4; done at 8 and 9.
        assert_eq!(means(&cells[0].metrics), [Some((3.5, 2)), Some((3.5, 2)), Some((8.5, 2))]);
        assert_eq!(cells[0].flows[0].0, "a");
        assert_eq!(means(&cells[0].flows[0].1), [Some((3.0, 2)), Some((0.5, 2)), Some((5.0, 1))]);
        assert_eq!(means(&cells[0].flows[1].1), [Some((3.0, 1)), Some((3.0, 2)), Some((8.5, 2))]);

        assert_eq!((cells[1].repetitions, cells[1].flows.len()), (0, 0));
        assert_eq!(cells[1].metrics, [None; 3]);
    }
}
