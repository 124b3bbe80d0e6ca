//! Abis capacity of a cell: bit budget of each block period for the timeslots of one direction.
//!
//! A radio block uses its octets plus [`OVERHEAD`] of a rate that all timeslots share. A block that begins while
//! capacity is left is sent completely, and the excess is charged to the next period. Unused capacity expires. At 16
//! kbit/s for each timeslot, CS-1 and CS-2 fit exactly and CS-3 does not, as on 16-kbit/s subchannels (3GPP TS 48.060:
//! frames of 320 bits; TS 43.064 section 6.5). Unlike fixed subchannels, timeslots share unused capacity.

use crate::coding::Scheme;
use crate::tdma::{BLOCKS_PER_SECOND, Tick};
use base::{Rate, Time};

/// Synchronisation, control and time alignment bits of each radio block on Abis, octets.
const OVERHEAD: u64 = 6;

/// Capacity of one direction, in units of 1/50 bit: a rate in bit/s is the capacity of one block period.
#[derive(Clone, Copy, Debug)]
pub(super) struct Abis {
    rate: i64,
    left: i64,
    at: Tick,
}

impl Abis {
    pub(super) fn new(rate: Rate) -> Abis {
        let rate = rate.bps().min(1 << 40) as i64;
        Abis { rate, left: rate, at: 0 }
    }

    /// Adds the capacity of block period `n`.
    pub(super) fn begin(&mut self, n: Tick) {
        let periods = i64::from(n.saturating_sub(self.at));
        self.at = n;
        self.left = self.left.saturating_add(self.rate.saturating_mul(periods)).min(self.rate);
    }

    /// Whether capacity is left for a block.
    pub(super) fn is_open(&self) -> bool {
        self.left > 0
    }

    /// Charges a block of this scheme; `way`: 0 downlink, 1 uplink.
    pub(super) fn take(&mut self, scheme: Scheme, way: usize) {
        let octets = u64::from(scheme.properties().octets[way]) + OVERHEAD;
        self.left -= (octets * 8 * BLOCKS_PER_SECOND) as i64;
    }
}

/// Abis that carries LLC frames to a PCU in the base station. Frames queue in the order in which the SGSN and the PCU
/// pass them on; within a block period this may differ from the order of their times.
#[derive(Clone, Copy, Debug)]
pub(super) struct AbisFrames {
    rate: Rate,
    /// Time at which each direction is free again.
    free: [Time; 2],
}

impl AbisFrames {
    pub(super) fn new(rate: Rate) -> AbisFrames {
        AbisFrames { rate, free: [Time::ZERO; 2] }
    }

    /// Time at which a frame of `octets` that arrives at `t` is through. `way`: 0 down, 1 up.
    pub(super) fn carry(&mut self, way: usize, t: Time, octets: u32) -> Time {
        self.free[way] = self.free[way].max(t) + self.rate.span_of(u64::from(octets));
        self.free[way]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// GP-46: blocks in 50 periods of four timeslots on 64 kbit/s.
    #[test]
    fn gp_46_blocks_that_abis_carries() {
        let sent = |scheme: Scheme| {
            let mut abis = Abis::new(Rate::from_bps(64_000));
            let mut blocks = 0;
            for n in 1..=50 {
                abis.begin(n);
                for _ in 0..4 {
                    if abis.is_open() {
                        abis.take(scheme, 0);
                        blocks += 1;
                    }
                }
            }
            blocks
        };
        assert_eq!([Scheme::Cs1, Scheme::Cs2].map(sent), [200, 200]);
        // 8000 octets per second in blocks of 45 and 59 octets.
        assert_eq!([Scheme::Cs3, Scheme::Cs4].map(sent), [178, 136]);
    }
}
