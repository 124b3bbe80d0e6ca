//! Summaries of the cells of a grid over repetitions: statistics of each metric, per flow and for all flows
//! together.
//!
//! A cell is summarised per flow name, and once for all flows. For all flows, the flows of one repetition are
//! first combined by the column's [`Combine`](crate::Combine), then the repetitions are summarised. A flow
//! without a value is left out of its repetition, and a repetition without a value out of its cell. The `n`
//! of each [`Summary`] counts the values.

use crate::row::{self, Cell, Combine, Header, Row};
use crate::stats::Summary;

/// Summary of one cell.
#[derive(Clone, Debug, PartialEq)]
pub struct CellSummary {
    /// The cell and its grid values.
    pub cell: Cell,
    /// Finished repetitions.
    pub repetitions: u64,
    /// All flows together, one summary per column of the header; `None` without any value.
    pub metrics: Vec<Option<Summary>>,
    /// Each flow separately, by name.
    pub flows: Vec<(String, Vec<Option<Summary>>)>,
}

/// Summarises the rows of one cell, which are in the table's order.
pub(crate) fn summarise_cell(header: &Header, cell: Cell, rows: &[&Row]) -> CellSummary {
    let repetitions: Vec<&[&Row]> = rows.chunk_by(|a, b| a.repetition == b.repetition).collect();
    let metric = |(at, column): (usize, &row::Column)| {
        together(column.combine, repetitions.iter().map(|flows| flows.iter().map(move |row| row.values[at])))
    };
    let metrics = header.columns.iter().enumerate().map(metric).collect();

    // Stable sort: within a flow the repetitions stay in order.
    let mut by_flow = rows.to_vec();
    by_flow.sort_by(|a, b| a.flow.cmp(&b.flow));
    let flows = by_flow
        .chunk_by(|a, b| a.flow == b.flow)
        .map(|own| {
            let alone = |at| Summary::of(&own.iter().map(|row| row.values[at]).collect::<Vec<_>>());
            (own[0].flow.clone(), (0..header.columns.len()).map(alone).collect())
        })
        .collect();
    CellSummary { cell, repetitions: repetitions.len() as u64, metrics, flows }
}

/// Summary of a metric over repetitions, each of which is an iterator over the values of its flows.
pub(crate) fn together<F: Iterator<Item = Option<f64>>>(
    combine: Combine,
    repetitions: impl Iterator<Item = F>,
) -> Option<Summary> {
    Summary::of(&repetitions.map(|flows| combine.over(flows)).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::Column;
    use crate::source::summarise;

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
        // Times (1 + 3) / 2 and 5; drops 3 and 4; completion at 8 and 9.
        assert_eq!(means(&cells[0].metrics), [Some((3.5, 2)), Some((3.5, 2)), Some((8.5, 2))]);
        assert_eq!(cells[0].flows[0].0, "a");
        assert_eq!(means(&cells[0].flows[0].1), [Some((3.0, 2)), Some((0.5, 2)), Some((5.0, 1))]);
        assert_eq!(means(&cells[0].flows[1].1), [Some((3.0, 1)), Some((3.0, 2)), Some((8.5, 2))]);

        assert_eq!((cells[1].repetitions, cells[1].flows.len()), (0, 0));
        assert_eq!(cells[1].metrics, [None; 3]);
    }
}
