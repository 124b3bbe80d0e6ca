//! Grid of a run: cells as a list or as the product of axes, and their access by position or index.
//!
//! A list takes some hundred bytes per cell in memory and in every file. The product of axes takes the size
//! of its values, whatever the number of cells. A product numbers its cells like the equivalent list; the
//! last axis varies fastest.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// One combination of grid values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cell {
    /// Index of the cell in the grid's order; rows refer to it.
    pub index: u32,
    /// Grid keys and values as the scenario spells them, in the grid's order.
    pub params: Vec<(String, String)>,
}

impl Cell {
    /// A cell with this index and these grid values.
    pub fn new<K: Into<String>, V: Into<String>>(
        index: u32,
        params: impl IntoIterator<Item = (K, V)>,
    ) -> Cell {
        Cell { index, params: params.into_iter().map(|(key, value)| (key.into(), value.into())).collect() }
    }

    /// Value of grid key `key` in this cell.
    pub fn param(&self, key: &str) -> Option<&str> {
        self.params.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
    }
}

/// Cells of a run. In JSON a list of cells, or an object with `axes`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Grid {
    /// Cells in ascending order of index.
    Listed(Vec<Cell>),
    /// All combinations of the values of these keys, numbered from 0.
    Product {
        /// Grid keys with their values as the scenario spells them.
        axes: Vec<(String, Vec<String>)>,
    },
}

impl From<Vec<Cell>> for Grid {
    fn from(cells: Vec<Cell>) -> Grid {
        Grid::Listed(cells)
    }
}

impl Grid {
    /// Number of cells; saturates at the maximum of `usize`.
    pub fn len(&self) -> usize {
        match self {
            Grid::Listed(cells) => cells.len(),
            Grid::Product { axes } => {
                axes.iter().fold(1, |n: usize, (_, values)| n.saturating_mul(values.len()))
            }
        }
    }

    /// Whether there are no cells.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Cell at position `place` of the grid's order, from 0.
    pub fn at(&self, place: usize) -> Option<Cow<'_, Cell>> {
        match self {
            Grid::Listed(cells) => cells.get(place).map(Cow::Borrowed),
            Grid::Product { axes } => {
                let index = u32::try_from(place).ok().filter(|_| place < self.len())?;
                let mut rest = place;
                let mut params: Vec<(String, String)> = axes
                    .iter()
                    .rev()
                    .map(|(key, values)| {
                        let value = values[rest % values.len()].clone();
                        rest /= values.len();
                        (key.clone(), value)
                    })
                    .collect();
                params.reverse();
                Some(Cow::Owned(Cell { index, params }))
            }
        }
    }

    /// Cell with this index.
    pub fn get(&self, index: u32) -> Option<Cow<'_, Cell>> {
        match self {
            // Cells are almost always numbered from 0.
            Grid::Listed(cells) => match cells.get(index as usize) {
                Some(cell) if cell.index == index => Some(Cow::Borrowed(cell)),
                _ => {
                    let at = cells.binary_search_by_key(&index, |cell| cell.index).ok()?;
                    Some(Cow::Borrowed(&cells[at]))
                }
            },
            Grid::Product { .. } => self.at(index as usize),
        }
    }

    /// Whether a cell with this index exists.
    pub fn has(&self, index: u32) -> bool {
        match self {
            Grid::Listed(_) => self.get(index).is_some(),
            Grid::Product { .. } => (index as usize) < self.len(),
        }
    }

    /// All cells in order.
    pub fn iter(&self) -> impl Iterator<Item = Cow<'_, Cell>> {
        (0..self.len()).map_while(|place| self.at(place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn product() -> Grid {
        let axis = |key: &str, values: [&str; 3]| (key.to_owned(), values.map(str::to_owned).to_vec());
        Grid::Product { axes: vec![axis("rate", ["1", "2", "3"]), axis("loss", ["0", "0.1", "0.2"])] }
    }

    #[test]
    fn a_product_says_the_same_as_its_list() {
        let product = product();
        let listed = Grid::from(product.iter().map(Cow::into_owned).collect::<Vec<_>>());
        assert_eq!((product.len(), listed.len()), (9, 9));
        for index in 0..10 {
            assert_eq!(product.get(index), listed.get(index), "{index}");
            assert_eq!(product.has(index), index < 9);
            assert_eq!(listed.has(index), index < 9);
        }
        let fifth = product.at(5).unwrap();
        assert_eq!(fifth.params, [("rate".into(), "2".into()), ("loss".into(), "0.2".into())]);
    }

    #[test]
    fn both_shapes_come_back_from_json() {
        for grid in [product(), Grid::from(vec![Cell::new(3, [("rate", "1")])]), Grid::from(Vec::new())] {
            let text = serde_json::to_string(&grid).unwrap();
            assert_eq!(serde_json::from_str::<Grid>(&text).unwrap(), grid, "{text}");
        }
        let axes = r#"{"axes":[["rate",["1","2","3"]],["loss",["0","0.1","0.2"]]]}"#;
        assert_eq!(serde_json::to_string(&product()).unwrap(), axes);
        // Without axes there is one cell without values; an axis without values yields no cells.
        assert_eq!(Grid::Product { axes: Vec::new() }.len(), 1);
        assert!(Grid::Product { axes: vec![("rate".into(), Vec::new())] }.at(0).is_none());
    }
}
