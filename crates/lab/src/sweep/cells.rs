//! Cells of a sweep's grid: built at once in a small grid, built on demand in a large one.

use super::{Prepared, plain};
use results::Grid;
use results::row::Cell;
use scenario::{Diagnostics, Model, Scenario};
use std::borrow::Cow;

/// Largest grid whose cells are all held in memory; a cell takes about 30 kB.
pub const HELD: u64 = 1000;

/// Cells of a grid, in its order.
pub struct Cells {
    /// All cells. For a larger grid: the first cell, and each value of each axis with the first values of the
    /// other axes.
    held: Vec<Prepared>,
    /// Source of the cells of a larger grid.
    grid: Option<LazyGrid>,
}

/// A grid with more than [`HELD`] cells.
struct LazyGrid {
    scenario: Scenario,
    seed: Option<u64>,
    cells: usize,
}

impl From<Vec<Prepared>> for Cells {
    fn from(held: Vec<Prepared>) -> Cells {
        Cells { held, grid: None }
    }
}

impl Cells {
    /// Builds the cells of a scenario; `seed` replaces the scenario's own.
    ///
    /// # Errors
    /// A cell that was built is impossible. In a large grid, errors of other cells appear when those are
    /// built.
    pub fn new(scenario: &Scenario, seed: Option<u64>) -> Result<Cells, Diagnostics> {
        let count = scenario.cell_count().unwrap_or(u64::MAX);
        if count <= HELD {
            return Cells::whole(scenario, seed);
        }
        let held =
            samples(scenario).map(|index| prepared(scenario, seed, index)).collect::<Result<_, _>>()?;
        let cells = usize::try_from(count).unwrap_or(usize::MAX);
        Ok(Cells { held, grid: Some(LazyGrid { scenario: scenario.clone(), seed, cells }) })
    }

    /// Builds all cells of a scenario, in any number.
    ///
    /// # Errors
    /// A cell is impossible.
    pub fn whole(scenario: &Scenario, seed: Option<u64>) -> Result<Cells, Diagnostics> {
        let count = scenario.cell_count().unwrap_or(u64::MAX);
        let held = (0..count).map(|index| prepared(scenario, seed, index)).collect::<Result<_, _>>()?;
        Ok(Cells { held, grid: None })
    }

    /// Cells in memory: all, or a sample of a large grid that covers each value of each axis.
    pub fn held(&self) -> &[Prepared] {
        &self.held
    }

    /// [`Cells::held`] by value.
    pub fn into_held(self) -> Vec<Prepared> {
        self.held
    }

    /// Number of cells.
    pub fn len(&self) -> usize {
        self.grid.as_ref().map_or(self.held.len(), |grid| grid.cells)
    }

    /// True for an empty grid.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Cell by number, from 0; `None` beyond the grid.
    ///
    /// # Errors
    /// In a large grid: the combination of values is impossible.
    pub fn get(&self, index: usize) -> Result<Option<Cow<'_, Prepared>>, Diagnostics> {
        match &self.grid {
            None => Ok(self.held.get(index).map(Cow::Borrowed)),
            Some(grid) if index < grid.cells => {
                prepared(&grid.scenario, grid.seed, index as u64).map(|cell| Some(Cow::Owned(cell)))
            }
            Some(_) => Ok(None),
        }
    }

    /// Cell by number, if it exists and its values are possible.
    pub fn good(&self, index: usize) -> Option<Cow<'_, Prepared>> {
        self.get(index).ok().flatten()
    }

    /// Axes and parameter values of the cells, as header of result tables.
    pub(super) fn grid(&self, scenario: &Scenario) -> Grid {
        if self.grid.is_some() {
            let axis = |(key, values): (&str, Vec<serde_json::Value>)| {
                (key.to_owned(), values.iter().map(plain).collect())
            };
            return Grid::Product { axes: scenario.axes().map(axis).collect() };
        }
        let cell = |(i, cell): (usize, &Prepared)| Cell { index: i as u32, params: cell.params.clone() };
        self.held.iter().enumerate().map(cell).collect::<Vec<Cell>>().into()
    }
}

fn prepared(scenario: &Scenario, seed: Option<u64>, index: u64) -> Result<Prepared, Diagnostics> {
    let cell = scenario.cell(index)?;
    let mut model: Model = cell.model;
    if let Some(seed) = seed {
        model.run.seed = seed;
    }
    let params = cell.params.iter().map(|(key, value)| (key.clone(), plain(value))).collect();
    Ok(Prepared { params, model })
}

/// Numbers of the first cell, and of a cell for each value of each axis with the first values of the other
/// axes; at most [`HELD`] cells.
fn samples(scenario: &Scenario) -> impl Iterator<Item = u64> {
    let mut stride = scenario.cell_count().unwrap_or(u64::MAX);
    let mut all = vec![0];
    for (_, values) in scenario.axes() {
        stride /= (values.len() as u64).max(1);
        all.extend((1..values.len() as u64).map(|value| value.saturating_mul(stride)));
    }
    all.into_iter().take(HELD as usize)
}
