//! Cache prefetch of a block period: reads of the senders, gains, receivers and counters of the next radio blocks.
//!
//! The state of 500 mobiles (6 MB) exceeds the second-level cache. A radio block uses about twenty cache lines, in
//! chains of hundreds of instructions. A short loop that reads the lines of the next blocks lets cache misses
//! overlap. The sums only keep the compiler from removing the reads.

use crate::geometry::LANES;
use crate::slots::ones;
use crate::system::Cells;
use crate::tick::BlockOnAir;
use std::hint::black_box;

/// Number of radio blocks in one loop of reads: their cache lines fit into a quarter of a first-level cache of 32 KB.
pub(crate) const BATCH: usize = 16;

impl Cells {
    /// Prefetches the sender of each timeslot's next mobile, for the selection of blocks in a cell.
    pub(crate) fn prefetch_cell(&self, way: usize, cell: usize) {
        let Some(cell) = self.slots.get(cell) else { return };
        let (turns, mut sum) = (&cell.turns[way], 0);
        for slot in ones(cell.used[way]) {
            let Some(mobile) = turns.first(slot) else { continue };
            let Some(ways) = self.ways.get(mobile as usize) else { continue };
            sum += u64::from(ways[way].reports) + ways[way].sender.prefetch();
        }
        black_box(sum);
    }

    /// Prefetches the gains of downlink blocks, for their SINR.
    pub(crate) fn prefetch_gains(&self, blocks: &[BlockOnAir]) {
        let mut sum = 0.0;
        for on in blocks {
            let group = self.layout.lane[on.cell as usize].0 as usize;
            let (m, from) = (on.mobile as usize, group * self.layout.row);
            sum += self.motion.gains.at(m, from) + self.motion.gains.at(m, from + 2 * LANES);
        }
        black_box(sum);
    }

    /// Prefetches receiver, soft bits, quality and counters of radio blocks, for their decoding.
    pub(crate) fn prefetch_ends(&self, way: usize, blocks: &[BlockOnAir]) {
        let mut sum = 0;
        for on in blocks {
            let (m, bsn) = (on.mobile as usize, on.block.first.bsn);
            let w = &self.ways[m][way];
            let soft = w.soft[bsn as usize & (w.soft.len() - 1)];
            sum += w.receiver.prefetch() + u64::from(soft.is_empty());
            sum += u64::from(w.quality.blocks()) + self.meter.mobiles[m].ways[way].blocks;
        }
        black_box(sum);
    }
}
