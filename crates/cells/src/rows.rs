//! Cache-aligned rows of 32 numbers, for gains, powers, masks and fading of the cells of a frequency group; matrix of
//! the levels of all cells at all mobiles.
//!
//! An aligned row takes two cache lines of 64 bytes; an unaligned one takes three, and the compiler cannot use it
//! as a vector operand in memory.

/// Lanes (radio links) per row.
pub(crate) const WIDTH: usize = 32;

/// A row of [`WIDTH`] numbers, aligned to a cache line.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(crate) struct Row<T>(pub(crate) [T; WIDTH]);

/// Levels of all cells at each mobile: ratios to the transmitted power.
pub(crate) struct Gains {
    rows: Vec<Row<f32>>,
    /// Number of rows per mobile.
    each: usize,
}

impl Gains {
    /// Levels 0 for `mobiles` mobiles; `cells` is the number of levels of each, with padding.
    pub(crate) fn new(mobiles: usize, cells: usize) -> Gains {
        let each = cells.div_ceil(WIDTH);
        Gains { rows: vec![Row([0.0; WIDTH]); mobiles * each], each }
    }

    /// All rows of a mobile.
    #[inline(always)]
    pub(crate) fn of(&self, mobile: usize) -> &[Row<f32>] {
        &self.rows[mobile * self.each..(mobile + 1) * self.each]
    }

    /// `count` rows of a mobile, from the mobile's row `from`.
    #[inline(always)]
    pub(crate) fn part(&self, mobile: usize, from: usize, count: usize) -> &[Row<f32>] {
        &self.rows[mobile * self.each + from..][..count]
    }

    /// Level of a cell at a mobile; `index` counts numbers from the mobile's first row.
    #[inline(always)]
    pub(crate) fn at(&self, mobile: usize, index: usize) -> f32 {
        self.rows[mobile * self.each + index / WIDTH].0[index % WIDTH]
    }

    /// Sets all levels of a mobile.
    pub(crate) fn set(&mut self, mobile: usize, levels: &[f32]) {
        let rows = &mut self.rows[mobile * self.each..(mobile + 1) * self.each];
        for (row, levels) in rows.iter_mut().zip(levels.as_chunks::<WIDTH>().0) {
            row.0 = *levels;
        }
    }
}
