//! Result row and header of a run: keys, columns, units, combination over flows, checks and sort order.
//!
//! A [`Row`] contains the metrics of one flow in one repetition of one cell of the grid; the [`Header`]
//! describes cells and columns. A missing value (the download time of an unfinished download) is `None`; a
//! non-finite value counts as missing.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
pub use crate::grid::Cell;
use crate::grid::Grid;

/// Schema version of written files; it changes when older readers would misread them.
pub const SCHEMA: &str = "williwaw-flows/1";

/// Names of the key columns in every table, in order.
pub const KEYS: [&str; 3] = ["cell", "repetition", "flow"];

/// Combination of the values of several flows into the value of a repetition. Flows without a value are left
/// out; if no flow has a value, the repetition has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Combine {
    /// Mean over flows: ratios and times.
    Mean,
    /// Sum over flows: counts, and rates that share a link.
    Sum,
    /// Maximum over flows: time of completion.
    Max,
}

impl Combine {
    /// Value of a repetition from those of its flows; non-finite values count as missing.
    pub fn over(self, values: impl IntoIterator<Item = Option<f64>>) -> Option<f64> {
        let (mut n, mut sum, mut max) = (0.0_f64, 0.0_f64, f64::NEG_INFINITY);
        for value in values.into_iter().flatten().filter(|value| value.is_finite()) {
            n += 1.0;
            sum += value;
            max = max.max(value);
        }
        let combined = match self {
            Combine::Mean => sum / n,
            Combine::Sum => sum,
            Combine::Max => max,
        };
        (n > 0.0 && combined.is_finite()).then_some(combined)
    }
}

impl fmt::Display for Combine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Combine::Mean => "mean",
            Combine::Sum => "sum",
            Combine::Max => "max",
        })
    }
}

/// A metric of the table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Column {
    /// Name of the metric, as in the scenario's expectations: `download_time_s`.
    pub name: String,
    /// Unit of the values (`s`, `bit/s`); empty for counts and ratios.
    pub unit: String,
    /// Combination over flows.
    pub combine: Combine,
}

impl Column {
    /// A column with this name, unit and combination.
    pub fn new(name: impl Into<String>, unit: impl Into<String>, combine: Combine) -> Column {
        Column { name: name.into(), unit: unit.into(), combine }
    }
}

/// Identity of a run. The number of repetitions is not a part of it, so that a run can be continued with more
/// of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// [`SCHEMA`] of the writing program.
    pub schema: String,
    /// Hash of the scenario's text and overrides.
    pub scenario_hash: String,
    /// Seed of all random streams.
    pub seed: u64,
    /// Version of the program; results may differ between versions.
    pub version: String,
    /// Grid, in ascending order of index.
    pub cells: Grid,
    /// Metrics, in the order of [`Row::values`].
    pub columns: Vec<Column>,
}

/// A grid key as a column of the table.
#[derive(Clone, Debug, PartialEq)]
pub struct ParamColumn {
    /// The grid key.
    pub name: String,
    /// Whether every value of the grid is a finite number.
    pub is_number: bool,
}

impl Header {
    /// Header of a run with the current [`SCHEMA`].
    ///
    /// # Errors
    /// [`Error::Header`], see [`Header::check`].
    pub fn new(
        scenario_hash: impl Into<String>,
        seed: u64,
        version: impl Into<String>,
        cells: impl Into<Grid>,
        columns: Vec<Column>,
    ) -> Result<Header> {
        let header = Header {
            schema: SCHEMA.to_owned(),
            scenario_hash: scenario_hash.into(),
            seed,
            version: version.into(),
            cells: cells.into(),
            columns,
        };
        header.check()?;
        Ok(header)
    }

    /// Whether the header can be written as a table.
    ///
    /// # Errors
    /// [`Error::Header`] for another schema, for indexes that do not ascend or exceed 2^31 - 1, for a
    /// duplicate key in a cell, or for two columns of equal name.
    pub fn check(&self) -> Result<()> {
        let fail = |why: String| Err(Error::Header(why));
        if self.schema != SCHEMA {
            return fail(format!("its schema is {:?}, this program reads {SCHEMA:?}", self.schema));
        }
        let largest = match &self.cells {
            Grid::Listed(cells) => {
                if let Some(pair) = cells.windows(2).find(|pair| pair[0].index >= pair[1].index) {
                    return fail(format!("cell {} precedes cell {}", pair[0].index, pair[1].index));
                }
                cells.iter().try_for_each(|cell| {
                    let keys = cell.params.iter().map(|(key, _)| key.as_str());
                    match twice(keys.collect()) {
                        Some(key) => fail(format!("cell {} has the grid key {key:?} twice", cell.index)),
                        None => Ok(()),
                    }
                })?;
                cells.last().map_or(0, |cell| u64::from(cell.index))
            }
            Grid::Product { axes } => {
                if let Some(key) = twice(axes.iter().map(|(key, _)| key.as_str()).collect()) {
                    return fail(format!("the grid has the key {key:?} twice"));
                }
                (self.cells.len() as u64).saturating_sub(1)
            }
        };
        if i32::try_from(largest).is_err() {
            return fail(format!("cell {largest} does not fit the table"));
        }
        let mut names: Vec<String> = KEYS.map(str::to_owned).to_vec();
        names.extend(self.param_columns().into_iter().map(|param| param.name));
        names.extend(self.columns.iter().map(|column| column.name.clone()));
        match twice(names.iter().map(String::as_str).collect()) {
            Some(name) => fail(format!("two columns have the name {name:?}")),
            None => Ok(()),
        }
    }

    /// Cell with this index.
    pub fn cell(&self, index: u32) -> Option<Cow<'_, Cell>> {
        self.cells.get(index)
    }

    /// Index of a metric in [`Row::values`].
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name == name)
    }

    /// Grid keys of all cells, in order of first appearance.
    pub fn param_columns(&self) -> Vec<ParamColumn> {
        let cells = match &self.cells {
            Grid::Listed(cells) => cells,
            Grid::Product { axes } => {
                let column = |(key, values): &(String, Vec<String>)| ParamColumn {
                    name: key.clone(),
                    is_number: values.iter().all(|value| number(value).is_some()),
                };
                return axes.iter().map(column).collect();
            }
        };
        let mut found: Vec<ParamColumn> = Vec::new();
        for cell in cells {
            for (at, (name, value)) in cell.params.iter().enumerate() {
                let is_number = number(value).is_some();
                // In a grid every cell has equal keys in equal order.
                let known = match found.get(at) {
                    Some(param) if param.name == *name => Some(at),
                    _ => found.iter().position(|param| param.name == *name),
                };
                match known {
                    Some(known) => found[known].is_number &= is_number,
                    None => found.push(ParamColumn { name: name.clone(), is_number }),
                }
            }
        }
        found
    }

    /// First difference of two headers: field name, value here, value there.
    pub fn difference(&self, other: &Header) -> Option<(String, String, String)> {
        let found = |field: &str, here: &dyn fmt::Display, there: &dyn fmt::Display| {
            Some((field.to_owned(), here.to_string(), there.to_string()))
        };
        if self.schema != other.schema {
            return found("the schema", &self.schema, &other.schema);
        }
        if self.version != other.version {
            return found("the version", &self.version, &other.version);
        }
        if self.scenario_hash != other.scenario_hash {
            return found("the scenario's hash", &self.scenario_hash, &other.scenario_hash);
        }
        if self.seed != other.seed {
            return found("the seed", &self.seed, &other.seed);
        }
        if self.cells.len() != other.cells.len() {
            return found("the number of cells", &self.cells.len(), &other.cells.len());
        }
        // Equal axes need no comparison of cells.
        if self.cells != other.cells
            && let Some((here, there)) =
                self.cells.iter().zip(other.cells.iter()).find(|(here, there)| here != there)
        {
            return found(&format!("cell {}", here.index), &describe_cell(&here), &describe_cell(&there));
        }
        if self.columns.len() != other.columns.len() {
            return found("the number of metrics", &self.columns.len(), &other.columns.len());
        }
        let (at, (here, there)) =
            self.columns.iter().zip(&other.columns).enumerate().find(|(_, (here, there))| here != there)?;
        found(&format!("metric {}", at + 1), &describe_column(here), &describe_column(there))
    }

    /// Checks that a row has a cell of this header and a value per column.
    ///
    /// # Errors
    /// [`Error::Row`] if its cell does not exist, the number of values differs, or its repetition exceeds
    /// 2^63 - 1.
    pub fn check_row(&self, row: &Row) -> Result<()> {
        let why = if !self.cells.has(row.cell) {
            format!("the grid has no cell {}", row.cell)
        } else if row.values.len() != self.columns.len() {
            format!("{} values for {} metrics", row.values.len(), self.columns.len())
        } else if i64::try_from(row.repetition).is_err() {
            "the repetition's number is too large".to_owned()
        } else {
            return Ok(());
        };
        Err(Error::Row { cell: row.cell, repetition: row.repetition, flow: row.flow.clone(), why })
    }
}

/// First duplicate among the names, if any.
fn twice(mut names: Vec<&str>) -> Option<String> {
    names.sort_unstable();
    names.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0].to_owned())
}

fn describe_cell(cell: &Cell) -> String {
    let params: Vec<String> = cell.params.iter().map(|(key, value)| format!("{key} = {value}")).collect();
    format!("{} ({})", cell.index, params.join(", "))
}

fn describe_column(column: &Column) -> String {
    format!("{} in {:?} by {}", column.name, column.unit, column.combine)
}

/// Grid value as a finite number; `None` for other text.
pub(crate) fn number(text: &str) -> Option<f64> {
    text.parse().ok().filter(|value: &f64| value.is_finite())
}

/// Metrics of one flow in one repetition.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Index of the cell.
    pub cell: u32,
    /// Number of the repetition within the cell, from 0.
    pub repetition: u64,
    /// Name of the flow.
    pub flow: String,
    /// One value per column of the header, in the column's unit.
    pub values: Vec<Option<f64>>,
}

impl Row {
    /// A row with these values (of `f64` or of `Option<f64>`).
    pub fn new<T: Into<Option<f64>>>(
        cell: u32,
        repetition: u64,
        flow: impl Into<String>,
        values: impl IntoIterator<Item = T>,
    ) -> Row {
        Row { cell, repetition, flow: flow.into(), values: values.into_iter().map(Into::into).collect() }
    }

    /// Sort key of tables.
    pub fn key(&self) -> (u32, u64, &str) {
        (self.cell, self.repetition, &self.flow)
    }
}

/// Rows sorted by cell, repetition and flow, each key once. Rows with equal key and values (a repetition that
/// was run again) count once.
///
/// # Errors
/// [`Error::Row`] for a row that does not fit the header, [`Error::Conflict`] for one key with two values.
pub fn in_order<'a>(header: &Header, rows: &'a [Row]) -> Result<Vec<&'a Row>> {
    for row in rows {
        header.check_row(row)?;
    }
    let mut sorted: Vec<&Row> = rows.iter().collect();
    if !sorted.is_sorted_by_key(|row| row.key()) {
        sorted.sort_by(|a, b| a.key().cmp(&b.key()));
    }
    for pair in sorted.windows(2) {
        if pair[0].key() == pair[1].key() && !same_values(pair[0], pair[1]) {
            let Row { cell, repetition, flow, .. } = pair[1].clone();
            return Err(Error::Conflict { cell, repetition, flow });
        }
    }
    sorted.dedup_by(|later, kept| later.key() == kept.key());
    Ok(sorted)
}

/// Equality as in the table: equal bits, and non-finite values count as missing.
fn same_values(a: &Row, b: &Row) -> bool {
    let bits = |value: &Option<f64>| value.filter(|value| value.is_finite()).map(f64::to_bits);
    a.values.iter().map(bits).eq(b.values.iter().map(bits))
}

/// Finished repetitions in `rows`, as `(cell, repetition)`, ascending and without duplicates; a resumed run
/// skips them.
pub fn finished(rows: &[Row]) -> Vec<(u32, u64)> {
    let mut keys: Vec<(u32, u64)> = rows.iter().map(|row| (row.cell, row.repetition)).collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> Header {
        let cells = vec![
            Cell::new(0, [("recovery", "reno"), ("bytes", "100")]),
            Cell::new(3, [("recovery", "sack"), ("bytes", "1e3")]),
        ];
        let columns = vec![Column::new("time_s", "s", Combine::Mean), Column::new("drops", "", Combine::Sum)];
        Header::new("ab12", 1, "0.1.0", cells, columns).unwrap()
    }

    fn listed(header: &mut Header) -> &mut Vec<Cell> {
        match &mut header.cells {
            Grid::Listed(cells) => cells,
            Grid::Product { .. } => unreachable!("made from a list"),
        }
    }

    #[test]
    fn grid_keys_know_whether_they_are_numbers() {
        let keys: Vec<(String, bool)> =
            header().param_columns().into_iter().map(|param| (param.name, param.is_number)).collect();
        assert_eq!(keys, [("recovery".to_owned(), false), ("bytes".to_owned(), true)]);
        assert_eq!(number("inf"), None);
        assert_eq!(number("300 ms"), None);
        assert_eq!(number("1e3"), Some(1000.0));
    }

    #[test]
    fn a_header_that_makes_no_table_is_refused() {
        let refused = |change: &dyn Fn(&mut Header)| {
            let mut header = header();
            change(&mut header);
            header.check().unwrap_err().to_string()
        };
        assert!(refused(&|h| listed(h)[1].index = 0).contains("cell 0 precedes cell 0"));
        assert!(refused(&|h| listed(h)[1].index = u32::MAX).contains("does not fit the table"));
        assert!(refused(&|h| h.columns[0].name = "flow".into()).contains("name \"flow\""));
        assert!(refused(&|h| h.columns[0].name = "bytes".into()).contains("name \"bytes\""));
        assert!(refused(&|h| listed(h)[0].params[1].0 = "recovery".into()).contains("\"recovery\" twice"));
        assert!(refused(&|h| h.schema = "williwaw-flows/2".into()).contains("williwaw-flows/2"));
    }

    #[test]
    fn a_difference_is_named() {
        let names = |change: &dyn Fn(&mut Header)| {
            let mut other = header();
            change(&mut other);
            header().difference(&other).map(|(field, here, there)| format!("{field}: {here} / {there}"))
        };
        assert_eq!(names(&|_| ()), None);
        assert_eq!(names(&|h| h.seed = 2).unwrap(), "the seed: 1 / 2");
        assert_eq!(names(&|h| h.version = "0.2.0".into()).unwrap(), "the version: 0.1.0 / 0.2.0");
        assert_eq!(
            names(&|h| listed(h)[1].params[0].1 = "newreno".into()).unwrap(),
            "cell 3: 3 (recovery = sack, bytes = 1e3) / 3 (recovery = newreno, bytes = 1e3)"
        );
        assert_eq!(
            names(&|h| h.columns[1].combine = Combine::Max).unwrap(),
            "metric 2: drops in \"\" by sum / drops in \"\" by max"
        );
    }

    #[test]
    fn rows_come_in_order_and_once() {
        let header = header();
        let row =
            |cell, repetition, flow: &str, time: f64| Row::new(cell, repetition, flow, [Some(time), None]);
        let rows = [row(3, 0, "a", 1.0), row(0, 1, "b", 2.0), row(0, 1, "a", 3.0), row(3, 0, "a", 1.0)];
        let keys: Vec<_> = in_order(&header, &rows).unwrap().into_iter().map(Row::key).collect();
        assert_eq!(keys, [(0, 1, "a"), (0, 1, "b"), (3, 0, "a")]);
        assert_eq!(finished(&rows), [(0, 1), (3, 0)]);

        let twice = [row(0, 0, "a", 1.0), row(0, 0, "a", 2.0)];
        assert!(matches!(in_order(&header, &twice), Err(Error::Conflict { cell: 0, repetition: 0, .. })));
        assert!(matches!(in_order(&header, &[row(1, 0, "a", 1.0)]), Err(Error::Row { cell: 1, .. })));
        assert!(in_order(&header, &[Row::new(0, 0, "a", [1.0])]).is_err());
        assert!(in_order(&header, &[row(0, u64::MAX, "a", 1.0)]).is_err());
    }

    #[test]
    fn flows_are_taken_together() {
        let values = [Some(1.0), None, Some(4.0), Some(f64::NAN)];
        assert_eq!(Combine::Mean.over(values), Some(2.5));
        assert_eq!(Combine::Sum.over(values), Some(5.0));
        assert_eq!(Combine::Max.over(values), Some(4.0));
        assert_eq!(Combine::Sum.over([None, Some(f64::INFINITY)]), None);
        assert_eq!(Combine::Sum.over([Some(f64::MAX), Some(f64::MAX)]), None);
    }
}
