//! Rows of a run by column: a metric that does not vary takes no memory per row.
//!
//! A row has a value for each of about a hundred metrics, and a scenario varies some of them. A column whose
//! values are equal so far is kept as one value; from the first other value on it takes 8 bytes per row.
//! Values come back with the bits they were given.

use std::collections::BTreeMap;

use crate::row::{self, Row};

/// Bits of a missing value: a quiet NaN whose payload no operation makes.
const MISSING: u64 = 0x7ff8_6d69_7373_6564;

/// Rows of a run, in the order in which they were added.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CompactRows {
    /// Names of flows, in order of first appearance.
    flows: Vec<String>,
    /// Index in `flows` of each name.
    numbers: BTreeMap<String, u32>,
    keys: Vec<Key>,
    columns: Vec<Values>,
}

/// Key of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Key {
    repetition: u64,
    cell: u32,
    /// Index in [`CompactRows::flows`].
    flow: u32,
}

/// Values of a metric, as bits.
#[derive(Clone, Debug, PartialEq)]
enum Values {
    /// Equal in all rows.
    Constant(u64),
    /// One for each row.
    Each(Vec<u64>),
}

impl Values {
    /// Adds the value of the next row, before which there are `rows`.
    fn push(&mut self, rows: usize, bits: u64) {
        match self {
            Values::Constant(all) if rows == 0 => *all = bits,
            Values::Constant(all) if *all == bits => {}
            Values::Constant(all) => {
                let mut each = vec![*all; rows];
                each.push(bits);
                *self = Values::Each(each);
            }
            Values::Each(each) => each.push(bits),
        }
    }

    fn of(&self, row: usize) -> u64 {
        match self {
            Values::Constant(all) => *all,
            Values::Each(each) => each[row],
        }
    }
}

impl CompactRows {
    /// Adds a row. All rows have equally many values.
    pub fn push(&mut self, row: &Row) {
        let flow = match self.numbers.get(&row.flow) {
            Some(number) => *number,
            None => {
                let number = self.flows.len() as u32;
                self.flows.push(row.flow.clone());
                self.numbers.insert(row.flow.clone(), number);
                number
            }
        };
        let rows = self.keys.len();
        if rows == 0 {
            self.columns.resize(row.values.len(), Values::Constant(MISSING));
        }
        for (column, value) in self.columns.iter_mut().zip(&row.values) {
            column.push(rows, value.map_or(MISSING, f64::to_bits));
        }
        self.keys.push(Key { repetition: row.repetition, cell: row.cell, flow });
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Number of values per row; 0 without rows.
    pub fn width(&self) -> usize {
        self.columns.len()
    }

    /// Adds columns without values up to this width.
    pub fn widen(&mut self, width: usize) {
        if !self.is_empty() && width > self.width() {
            self.columns.resize(width, Values::Constant(MISSING));
        }
    }

    /// Cell, repetition and flow of a row.
    pub fn key(&self, row: usize) -> (u32, u64, &str) {
        let Key { repetition, cell, flow } = self.keys[row];
        (cell, repetition, &self.flows[flow as usize])
    }

    /// Value of a row in a column.
    pub fn value(&self, row: usize, column: usize) -> Option<f64> {
        let bits = self.columns[column].of(row);
        (bits != MISSING).then_some(f64::from_bits(bits))
    }

    /// A row as it was added, with columns added since.
    pub fn row(&self, row: usize) -> Row {
        let (cell, repetition, flow) = self.key(row);
        Row::new(cell, repetition, flow, (0..self.width()).map(|column| self.value(row, column)))
    }

    /// All rows in the order in which they were added.
    pub fn iter(&self) -> impl Iterator<Item = Row> {
        (0..self.len()).map(|row| self.row(row))
    }

    /// [`row::finished`] of these rows.
    pub fn finished(&self) -> Vec<(u32, u64)> {
        row::unique(self.keys.iter().map(|key| (key.cell, key.repetition)))
    }
}

impl<'a> Extend<&'a Row> for CompactRows {
    fn extend<T: IntoIterator<Item = &'a Row>>(&mut self, rows: T) {
        rows.into_iter().for_each(|row| self.push(row));
    }
}

impl<'a> FromIterator<&'a Row> for CompactRows {
    fn from_iter<T: IntoIterator<Item = &'a Row>>(rows: T) -> CompactRows {
        let mut all = CompactRows::default();
        all.extend(rows);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn columns_that_do_not_vary_take_no_memory_per_row() {
        let rows: Vec<Row> =
            (0..1000).map(|r| Row::new(0, r, "a", [Some(1.5), None, Some(-0.0), Some(r as f64)])).collect();
        let compact = CompactRows::from_iter(&rows);
        let each = |values: &Values| matches!(values, Values::Each(_));
        assert_eq!(compact.columns.iter().map(each).collect::<Vec<_>>(), [false, false, false, true]);
        assert_eq!(compact.iter().collect::<Vec<_>>(), rows);
    }

    #[test]
    fn columns_can_be_added_without_values() {
        let mut compact = CompactRows::from_iter(&[Row::new(3, 7, "a", [1.0])]);
        compact.widen(3);
        assert_eq!(compact.row(0), Row::new(3, 7, "a", [Some(1.0), None, None]));
    }

    proptest! {
        #[test]
        fn rows_come_back_bit_by_bit(
            rows in proptest::collection::vec((0..3_u32, any::<u64>(), "[ab]{0,2}", any::<[Option<u64>; 3]>()), 0..40),
            repeated in any::<bool>(),
        ) {
            let rows: Vec<Row> = rows
                .into_iter()
                .map(|(cell, repetition, flow, bits)| {
                    // Equal values in a row of rows, as metrics that do not vary have them.
                    let bits = if repeated { [Some(1), None, bits[2].map(|x| x % 2)] } else { bits };
                    Row::new(cell, repetition, flow, bits.map(|x| x.map(f64::from_bits)))
                })
                .collect();
            let compact = CompactRows::from_iter(&rows);
            let bits = |row: &Row| row.values.iter().map(|x| x.map(f64::to_bits)).collect::<Vec<_>>();
            prop_assert_eq!(compact.len(), rows.len());
            for (row, back) in rows.iter().zip(compact.iter()) {
                prop_assert_eq!(row.key(), back.key());
                prop_assert_eq!(bits(row), bits(&back));
            }
            prop_assert_eq!(compact.finished(), row::finished(&rows));
        }
    }
}
