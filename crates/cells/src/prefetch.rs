//! Cache prefetch of a block period: reads of the senders, gains, receivers and counters of the next radio blocks.
//!
//! The state of 500 mobiles (6 MB) exceeds the second-level cache. A radio block uses about twenty cache lines, in
//! chains of hundreds of instructions. A short loop that reads the lines of the next blocks lets cache misses
//! overlap. The sums only keep the compiler from removing the reads.

use crate::direction::{DOWN, Event};
use crate::geometry::LANES;
use crate::slots::ones;
use crate::system::Cells;
use crate::tick::BlockOnAir;
use std::hint::black_box;

/// Number of radio blocks in one loop of reads: their cache lines fit into a quarter of a first-level cache of 32 KB.
pub(crate) const BATCH: usize = 16;

/// LLC octets of the largest radio block: two RLC blocks of MCS-9.
const LARGEST_BLOCK: u64 = 148;

impl Cells {
    /// Prefetches the sender of each timeslot's next mobile, for the selection of blocks in a cell.
    pub(crate) fn prefetch_cell(&self, way: usize, cell: usize) {
        let Some(cell) = self.slots.get(cell) else { return };
        let (turns, mut sum) = (&cell.turns[way], 0);
        for slot in ones(cell.used[way]) {
            let Some(mobile) = turns.first(slot) else { continue };
            let Some(ways) = self.ways.get(mobile as usize) else { continue };
            let sender = &ways[way].sender;
            sum ^= u64::from(ways[way].reports) ^ sender.prefetch();
            // The next packet moves from the SGSN to the BSC after this block or one of the next ones.
            if way == DOWN && sender.feed.waiting() < self.rules.bsc_octets + LARGEST_BLOCK {
                sum ^= self.sgsn[mobile as usize].queue.front().map_or(0, |packet| packet.id);
            }
        }
        black_box(sum);
    }

    /// Reads what the reports of a tick change at the senders.
    pub(crate) fn prefetch_reports(&self, events: &[Event]) {
        let mut sum = 0;
        for event in events {
            if let Event::Report { mobile, way, report, .. } = event {
                let w = &self.ways[*mobile as usize][usize::from(*way)];
                sum ^= u64::from(w.generation) ^ w.sender.prefetch_report(report.complete());
            }
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

    /// Prefetches the state used by the decision on blocks: receiver, quality, counters.
    pub(crate) fn prefetch_ends(&self, way: usize, blocks: &[BlockOnAir]) {
        let mut sum = 0;
        for on in blocks {
            let m = on.mobile as usize;
            let w = &self.ways[m][way];
            sum ^= w.receiver.prefetch();
            sum ^= u64::from(w.quality.blocks()) ^ self.meter.mobiles[m].ways[way].blocks;
        }
        black_box(sum);
    }
}
