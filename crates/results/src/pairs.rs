//! Paired comparison of two runs by repetition: differences with confidence intervals, verdicts, and matching
//! of cells and columns.
//!
//! Two runs with one seed have equal weather in repetitions of equal number, which therefore form pairs.
//! Effects common to both runs cancel in the difference, whose interval is far narrower than those of the two
//! means (decision 0004).

use crate::error::Result;
use crate::row::{self, Header, Row};
use crate::stats::{Summary, paired_difference};
use std::collections::BTreeMap;

/// Comparison of one metric in two cells, over the common repetitions.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Contrast {
    /// Summary of the first run's values, over the pairs.
    pub a: Option<Summary>,
    /// Summary of the second run's values, over the pairs.
    pub b: Option<Summary>,
    /// Summary of second minus first value, with the paired interval.
    pub difference: Option<Summary>,
    /// Pairs with a smaller second value.
    pub less: u64,
    /// Pairs with a larger second value.
    pub more: u64,
    /// Common repetitions with a value in the first run only.
    pub only_a: u64,
    /// Common repetitions with a value in the second run only.
    pub only_b: u64,
    /// Repetition with the largest absolute difference, the first among equal ones; `None` without pairs.
    pub furthest: Option<u64>,
}

/// Verdict on a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PairVerdict {
    /// No pairs.
    Nothing,
    /// A single pair: the uncertainty of the difference is unknown.
    Once,
    /// Equal in every pair.
    Same,
    /// The interval is below zero: the second run has less.
    Less,
    /// The interval is above zero: the second run has more.
    More,
    /// Zero is within the interval.
    Open,
}

impl Contrast {
    /// Verdict at the 95 % level.
    pub fn verdict(&self) -> PairVerdict {
        let Some(difference) = self.difference else { return PairVerdict::Nothing };
        match difference.ci95 {
            _ if self.less + self.more == 0 => PairVerdict::Same,
            None => PairVerdict::Once,
            Some([_, high]) if high < 0.0 => PairVerdict::Less,
            Some([low, _]) if low > 0.0 => PairVerdict::More,
            Some(_) => PairVerdict::Open,
        }
    }

    /// Difference relative to the first run's mean; `None` if that is 0.
    pub fn relative(&self) -> Option<f64> {
        let (difference, a) = (self.difference?, self.a?);
        (a.mean != 0.0).then(|| difference.mean / a.mean.abs())
    }

    /// Number of pairs.
    pub fn pairs(&self) -> u64 {
        self.difference.map_or(0, |difference| difference.n)
    }

    fn of(repetitions: &[u64], a: &[Option<f64>], b: &[Option<f64>]) -> Result<Contrast> {
        let (mut left, mut right) = (Vec::new(), Vec::new());
        let [mut less, mut more, mut only_a, mut only_b] = [0; 4];
        let (mut furthest, mut apart) = (None, 0.0);
        for (number, (a, b)) in repetitions.iter().zip(a.iter().zip(b)) {
            match (a.filter(|a| a.is_finite()), b.filter(|b| b.is_finite())) {
                (Some(a), Some(b)) => {
                    left.push(a);
                    right.push(b);
                    less += u64::from(b < a);
                    more += u64::from(b > a);
                    if (b - a).abs() > apart {
                        (furthest, apart) = (Some(*number), (b - a).abs());
                    }
                }
                (Some(_), None) => only_a += 1,
                (None, Some(_)) => only_b += 1,
                (None, None) => {}
            }
        }
        let difference = paired_difference(&right, &left)?;
        let (a, b) = (Summary::of(&left), Summary::of(&right));
        Ok(Contrast { a, b, difference, less, more, only_a, only_b, furthest })
    }
}

/// A cell of one run compared with a cell of another.
#[derive(Clone, Debug, PartialEq)]
pub struct CellContrast {
    /// Numbers of the common repetitions.
    pub repetitions: Vec<u64>,
    /// All common flows together, in the order of the requested metrics. A repetition in which a flow has a
    /// value on one side only forms no pair.
    pub metrics: Vec<Contrast>,
    /// Each common flow, by name; empty unless requested.
    pub flows: Vec<(String, Vec<Contrast>)>,
}

/// A run: header and rows.
pub type Run<'a> = (&'a Header, &'a [Row]);

/// Column indexes of the common metrics, in the order of the first run.
pub fn columns(a: &Header, b: &Header) -> Vec<(usize, usize)> {
    let places = a.columns.iter().enumerate();
    places.filter_map(|(at, column)| Some((at, b.column(&column.name)?))).collect()
}

/// Matching cells, by index: cells with equal grid values. If one run has a single cell and no cells match,
/// that cell is paired with each cell of the other run. Empty without matches.
pub fn cells(a: &Header, b: &Header) -> Vec<(u32, u32)> {
    let sorted = |cell: &row::Cell| {
        let mut params = cell.params.clone();
        params.sort();
        params
    };
    let mut others = BTreeMap::new();
    for cell in b.cells.iter() {
        others.entry(sorted(&cell)).or_insert(cell.index);
    }
    let same = |cell: std::borrow::Cow<'_, row::Cell>| Some((cell.index, *others.get(&sorted(&cell))?));
    let found: Vec<(u32, u32)> = a.cells.iter().filter_map(same).collect();
    if !found.is_empty() {
        return found;
    }
    let indexes = |header: &Header| header.cells.iter().map(|cell| cell.index).collect::<Vec<u32>>();
    match (a.cells.len(), b.cells.len()) {
        (1, _) => indexes(a).iter().flat_map(|&one| indexes(b).into_iter().map(move |o| (one, o))).collect(),
        (_, 1) => indexes(b).iter().flat_map(|&one| indexes(a).into_iter().map(move |o| (o, one))).collect(),
        _ => found,
    }
}

/// Two runs with sorted rows, for comparing all their cells.
pub struct Pair<'a> {
    a: Sorted<'a>,
    b: Sorted<'a>,
}

impl<'a> Pair<'a> {
    /// Sorts the rows of both runs.
    ///
    /// # Errors
    /// Errors of [`row::in_order`].
    pub fn new(a: Run<'a>, b: Run<'a>) -> Result<Pair<'a>> {
        Ok(Pair { a: Sorted::new(a)?, b: Sorted::new(b)? })
    }

    /// Compares a cell of one run with a cell of the other, in these metrics (column indexes in both
    /// headers); with `flows`, each flow too.
    ///
    /// # Errors
    /// Errors of [`paired_difference`].
    pub fn contrast(
        &self,
        cells: (u32, u32),
        columns: &[(usize, usize)],
        flows: bool,
    ) -> Result<CellContrast> {
        let (a, b) = (self.a.by_repetition(cells.0), self.b.by_repetition(cells.1));
        let repetitions: Vec<u64> = a.keys().filter(|number| b.contains_key(number)).copied().collect();
        let (left_names, right_names) = (names(&a), names(&b));
        let common: Vec<&str> =
            left_names.iter().filter(|name| right_names.contains(name)).copied().collect();
        let together = |&(left, right): &(usize, usize)| {
            let combine = self.a.header.columns[left].combine;
            let of = |number: &u64| {
                let values = [given(a[number], left, &common), given(b[number], right, &common)];
                let [mine, others] =
                    values.each_ref().map(|flows| flows.iter().map(|(name, _)| *name).collect::<Vec<_>>());
                let [mut value, mut other] =
                    values.map(|flows| combine.over(flows.into_iter().map(|(_, value)| Some(value))));
                // A flow without a value on one side, for example unfinished, must not favour that side.
                if !common.is_empty() && mine != others {
                    value = value.filter(|_| others.iter().all(|name| mine.contains(name)));
                    other = other.filter(|_| mine.iter().all(|name| others.contains(name)));
                }
                (value, other)
            };
            let (left, right): (Vec<_>, Vec<_>) = repetitions.iter().map(of).unzip();
            Contrast::of(&repetitions, &left, &right)
        };
        let metrics = columns.iter().map(together).collect::<Result<Vec<Contrast>>>()?;
        let one = |name: &str| {
            let alone = |rows: &BTreeMap<u64, &[&Row]>, at: usize| {
                let of = |number: &u64| rows[number].iter().find(|row| row.flow == name)?.values[at];
                repetitions.iter().map(of).collect::<Vec<Option<f64>>>()
            };
            let pair = |&(left, right): &(usize, usize)| {
                Contrast::of(&repetitions, &alone(&a, left), &alone(&b, right))
            };
            Ok((name.to_owned(), columns.iter().map(pair).collect::<Result<Vec<Contrast>>>()?))
        };
        let flows = common.iter().filter(|_| flows).map(|name| one(name)).collect::<Result<Vec<_>>>()?;
        Ok(CellContrast { repetitions, metrics, flows })
    }
}

/// Rows of a run by cell, repetition and flow.
struct Sorted<'a> {
    header: &'a Header,
    rows: Vec<&'a Row>,
}

impl<'a> Sorted<'a> {
    fn new((header, rows): Run<'a>) -> Result<Sorted<'a>> {
        Ok(Sorted { header, rows: row::in_order(header, rows)? })
    }

    fn by_repetition(&self, cell: u32) -> BTreeMap<u64, &[&'a Row]> {
        let from = self.rows.partition_point(|row| row.cell < cell);
        let rows = &self.rows[from..];
        let rows = &rows[..rows.partition_point(|row| row.cell == cell)];
        rows.chunk_by(|a, b| a.repetition == b.repetition).map(|rows| (rows[0].repetition, rows)).collect()
    }
}

/// Values of a repetition's flows: of the flows in `common`, or of all flows if `common` is empty.
fn given<'a>(rows: &[&'a Row], at: usize, common: &[&str]) -> Vec<(&'a str, f64)> {
    let counts = |row: &&&Row| common.is_empty() || common.contains(&row.flow.as_str());
    let value = |row: &&'a Row| Some((row.flow.as_str(), row.values[at].filter(|value| value.is_finite())?));
    rows.iter().filter(counts).filter_map(value).collect()
}

/// Names of flows, without duplicates, in alphabetical order.
fn names<'a>(rows: &BTreeMap<u64, &[&'a Row]>) -> Vec<&'a str> {
    let mut names: Vec<&str> = rows.values().copied().flatten().map(|row| row.flow.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::{Cell, Column, Combine};
    use proptest::prelude::*;

    fn header(cells: Vec<Cell>) -> Header {
        let columns = vec![Column::new("time_s", "s", Combine::Mean), Column::new("drops", "", Combine::Sum)];
        Header::new("", 1, "", cells, columns).unwrap()
    }

    fn plain() -> Header {
        header(vec![Cell::new(0, [("n", "1")])])
    }

    /// Times of one flow, one per repetition.
    fn rows(times: &[Option<f64>]) -> Vec<Row> {
        let row = |(at, time): (usize, &Option<f64>)| Row::new(0, at as u64, "a", [*time, Some(1.0)]);
        times.iter().enumerate().map(row).collect()
    }

    fn of(a: &[Option<f64>], b: &[Option<f64>]) -> CellContrast {
        let header = plain();
        let (a, b) = (rows(a), rows(b));
        let pair = Pair::new((&header, &a), (&header, &b)).unwrap();
        pair.contrast((0, 0), &[(0, 0), (1, 1)], true).unwrap()
    }

    /// Data of Gosset (1908), as in [`crate::stats`]: two drugs, ten patients, each patient a pair.
    #[test]
    fn the_sleep_of_ten_patients_is_a_pair_each() {
        let first = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0].map(Some);
        let second = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4].map(Some);
        let found = of(&first, &second);
        let gain = found.metrics[0];
        let difference = gain.difference.unwrap();
        assert!((difference.mean - 1.58).abs() < 1e-12);
        let [low, high] = difference.ci95.unwrap();
        assert!((low - 0.700_114_2).abs() < 1e-6 && (high - 2.459_885_8).abs() < 1e-6, "{low} {high}");
        assert_eq!((gain.verdict(), gain.less, gain.more), (PairVerdict::More, 0, 9));
        // The ninth patient gained most.
        assert_eq!(gain.furthest, Some(8));
        assert_eq!(found.flows[0].1, found.metrics);
        // Unpaired, the two intervals overlap widely: 0.75 ± 1.28 and 2.33 ± 1.43.
        assert!(gain.a.unwrap().ci95.unwrap()[1] > gain.b.unwrap().ci95.unwrap()[0]);
        assert_eq!((found.metrics[1].verdict(), found.metrics[1].furthest), (PairVerdict::Same, None));
    }

    #[test]
    fn what_only_one_has_makes_no_pair_and_is_counted() {
        let found = of(&[Some(1.0), None, Some(3.0), Some(9.0)], &[Some(2.0), Some(5.0), None]);
        let contrast = found.metrics[0];
        assert_eq!((contrast.pairs(), contrast.only_a, contrast.only_b), (1, 1, 1));
        assert_eq!(contrast.verdict(), PairVerdict::Once);
        assert_eq!((contrast.a.unwrap().mean, contrast.b.unwrap().mean), (1.0, 2.0));
        assert_eq!(found.repetitions, [0, 1, 2]);
        assert_eq!(of(&[None], &[Some(1.0)]).metrics[0].verdict(), PairVerdict::Nothing);
        assert_eq!(contrast.relative(), Some(1.0));
    }

    #[test]
    fn a_flow_that_never_ends_does_not_make_its_side_faster() {
        let header = plain();
        let row = |flow: &str, time: Option<f64>| Row::new(0, 0, flow, [time, Some(1.0)]);
        let a = [row("first", Some(10.0)), row("second", Some(100.0))];
        let b = [row("first", Some(12.0)), row("second", None)];
        let of = |a: &[Row], b: &[Row]| {
            let pair = Pair::new((&header, a), (&header, b)).unwrap();
            pair.contrast((0, 0), &[(0, 0), (1, 1)], false).unwrap().metrics
        };
        let time = of(&a, &b)[0];
        assert_eq!((time.verdict(), time.only_a, time.only_b), (PairVerdict::Nothing, 1, 0));
        // A flow missing on one side is left out on both.
        let drops = of(&a, &b[..1])[1];
        assert_eq!((drops.a.unwrap().mean, drops.b.unwrap().mean), (1.0, 1.0));
    }

    #[test]
    fn cells_go_together_by_their_values_or_one_with_all() {
        let grid = |values: &[&str]| {
            header(values.iter().enumerate().map(|(i, v)| Cell::new(i as u32, [("k", *v)])).collect())
        };
        let single = header(vec![Cell::new(0, Vec::<(&str, &str)>::new())]);
        assert_eq!(cells(&grid(&["x", "y"]), &grid(&["y", "x"])), [(0, 1), (1, 0)]);
        assert_eq!(cells(&grid(&["x", "y"]), &grid(&["z", "y"])), [(1, 1)]);
        assert_eq!(cells(&single, &grid(&["x", "y"])), [(0, 0), (0, 1)]);
        assert_eq!(cells(&grid(&["x", "y"]), &single), [(0, 0), (1, 0)]);
        assert_eq!(cells(&single, &single), [(0, 0)]);
        assert_eq!(cells(&grid(&["x", "y"]), &grid(&["z", "w"])), []);
    }

    proptest! {
        /// The difference of the means is the mean of the differences, and swapping the sides changes the
        /// sign.
        #[test]
        fn sides_can_be_turned(pairs in proptest::collection::vec((any::<Option<i16>>(), any::<Option<i16>>()), 1..40)) {
            let (a, b): (Vec<_>, Vec<_>) =
                pairs.iter().map(|(a, b)| (a.map(f64::from), b.map(f64::from))).unzip();
            let (there, back) = (of(&a, &b).metrics[0], of(&b, &a).metrics[0]);
            prop_assert_eq!((there.less, there.more, there.only_a), (back.more, back.less, back.only_b));
            prop_assert_eq!(there.pairs() + there.only_a + there.only_b, pairs.iter().filter(|(a, b)| a.is_some() || b.is_some()).count() as u64);
            if let (Some(difference), Some(a), Some(b)) = (there.difference, there.a, there.b) {
                prop_assert!((difference.mean - (b.mean - a.mean)).abs() < 1e-6);
                prop_assert!((difference.mean + back.difference.unwrap().mean).abs() < 1e-9);
            }
            let turned = match there.verdict() { PairVerdict::Less => PairVerdict::More, PairVerdict::More => PairVerdict::Less, same => same };
            prop_assert_eq!(turned, back.verdict());
        }
    }
}
