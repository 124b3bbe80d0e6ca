//! Rows of 32 numbers that begin with a cache line: gains, powers, masks and fades of the cells of a group.
//!
//! Two lines of 64 bytes hold a row; unaligned it would touch three, and the compiler could not use vector operands
//! in memory.

use crate::fading::WIDTH;

/// A row.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(crate) struct Row<T>(pub(crate) [T; WIDTH]);

/// Levels of all cells at each mobile: ratios to the transmitted power.
pub(crate) struct Gains {
    rows: Vec<Row<f32>>,
    /// Rows of a mobile.
    each: usize,
}

impl Gains {
    /// Zero levels of `cells` cells, a multiple of the width of a row, at `mobiles` mobiles.
    pub(crate) fn new(mobiles: usize, cells: usize) -> Gains {
        let each = cells.div_ceil(WIDTH);
        Gains { rows: vec![Row([0.0; WIDTH]); mobiles * each], each }
    }

    /// Rows of a mobile.
    #[inline(always)]
    pub(crate) fn of(&self, mobile: usize) -> &[Row<f32>] {
        &self.rows[mobile * self.each..(mobile + 1) * self.each]
    }

    /// `count` rows of a mobile from its row `from`.
    #[inline(always)]
    pub(crate) fn part(&self, mobile: usize, from: usize, count: usize) -> &[Row<f32>] {
        &self.rows[mobile * self.each + from..][..count]
    }

    /// Level of a cell, by its index in the mobile's rows.
    #[inline(always)]
    pub(crate) fn at(&self, mobile: usize, index: usize) -> f32 {
        self.rows[mobile * self.each + index / WIDTH].0[index % WIDTH]
    }

    /// Sets the levels of a mobile.
    pub(crate) fn set(&mut self, mobile: usize, levels: &[f32]) {
        let rows = &mut self.rows[mobile * self.each..(mobile + 1) * self.each];
        for (row, levels) in rows.iter_mut().zip(levels.as_chunks::<WIDTH>().0) {
            row.0 = *levels;
        }
    }
}
