//! Counters of a network of cells by mobile, cell, timeslot, coding scheme and C/I; load and SGSN queue by second;
//! block error rate, C/I quantiles, Erlang and round trip.
//!
//! `way` and pairs by direction: 0 is the downlink, 1 the uplink.

use crate::curve::SCHEMES;
use crate::direction::{DOWN, UP};
use base::{Span, Time};
use radio::coding::Scheme;

/// First bin of C/I histograms, dB; bins are 1 dB wide.
pub const CI_FROM: i32 = -20;
/// Number of bins of C/I histograms.
pub const CI_BINS: usize = 80;

/// Counters of one direction of a mobile, one cache line.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(align(64))]
pub struct WayCounts {
    /// Radio blocks sent.
    pub blocks: u64,
    /// RLC blocks sent.
    pub rlc_sent: u64,
    /// RLC blocks not decoded, or in a radio block whose header was lost.
    pub rlc_lost: u64,
    /// Packets that left the network of cells.
    pub packets: u64,
    /// Octets of these packets.
    pub octets: u64,
    /// Sum of packet delays, from transmission by the source host until the packet left the network of cells.
    pub delay: Span,
    /// TBFs set up.
    pub tbfs: u64,
    /// Sum of C/I over radio blocks, dB.
    pub ci_db: f64,
}

impl WayCounts {
    /// Counts a radio block with `sent` RLC blocks, `lost` of them lost.
    #[inline]
    pub(crate) fn count(&mut self, ci_db: f32, sent: u64, lost: u64) {
        self.blocks += 1;
        self.ci_db += f64::from(ci_db);
        self.rlc_sent += sent;
        self.rlc_lost += lost;
    }
}

/// Counters of a mobile.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MobileCounts {
    /// Counters of downlink and uplink.
    pub ways: [WayCounts; 2],
    /// Packets dropped at a full SGSN buffer.
    pub dropped: u64,
    /// Packets lost in cell changes.
    pub flushed: u64,
    /// Cell changes: start, and new cell.
    pub changes: Vec<(Time, u32)>,
}

/// Counters of a cell.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CellCounts {
    /// Radio blocks sent, downlink and uplink.
    pub blocks: [u64; 2],
    /// RLC blocks sent.
    pub rlc_sent: [u64; 2],
    /// RLC blocks lost.
    pub rlc_lost: [u64; 2],
    /// Octets of packets delivered.
    pub octets: [u64; 2],
    /// Cell changes into the cell.
    pub entered: u64,
}

impl CellCounts {
    /// Counts a radio block of a direction with `sent` RLC blocks, `lost` of them lost.
    #[inline]
    pub(crate) fn count(&mut self, way: usize, sent: u64, lost: u64) {
        self.blocks[way] += 1;
        self.rlc_sent[way] += sent;
        self.rlc_lost[way] += lost;
    }
}

/// Counters of the voice calls of a cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VoiceCounts {
    /// Calls offered.
    pub offered: u64,
    /// Calls blocked: each timeslot had a call.
    pub blocked: u64,
    /// Block periods in which a call held a timeslot, sum over timeslots.
    pub held: u64,
    /// Block periods in which a TBF with a radio block to send found its timeslot held by a call, by direction.
    pub preempted: [u64; 2],
}

/// Counters of the admission of TBFs to the timeslots of a cell in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AdmissionCounts {
    /// TBFs that requested timeslots after their set-up.
    pub requests: u64,
    /// Requests that found a full timeslot at every position and were queued. None is refused.
    pub queued: u64,
}

/// Blocks in one bin of C/I, 1 dB wide.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RadioBin {
    /// Radio blocks.
    pub blocks: u64,
    /// RLC blocks sent and lost by scheme, MCS-1 first.
    pub schemes: [[u64; 2]; SCHEMES],
}

impl RadioBin {
    /// Counts a radio block of a scheme with `sent` RLC blocks, `lost` of them lost.
    #[inline]
    pub(crate) fn count(&mut self, scheme: Scheme, sent: u64, lost: u64) {
        self.blocks += 1;
        let counts = &mut self.schemes[crate::link::index(scheme)];
        *counts = [counts[0] + sent, counts[1] + lost];
    }
}

/// Sample of load and counters: blocks and octets are totals since the start; the other fields are values at time
/// `t`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Second {
    /// Time.
    pub t: Time,
    /// Octets in the SGSN queues, sum over mobiles.
    pub queued: u64,
    /// Octets in the longest SGSN queue of a mobile.
    pub queued_most: u64,
    /// Number of mobiles with an active downlink TBF.
    pub active: u32,
    /// Radio blocks sent.
    pub blocks: [u64; 2],
    /// RLC blocks sent.
    pub rlc_sent: [u64; 2],
    /// RLC blocks lost.
    pub rlc_lost: [u64; 2],
    /// Octets of packets delivered.
    pub octets: [u64; 2],
}

/// All counters of a network of cells.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Meter {
    /// Counters of each mobile.
    pub mobiles: Vec<MobileCounts>,
    /// Counters of each cell.
    pub cells: Vec<CellCounts>,
    /// Radio blocks sent, by [way][cell][slot]: the block periods in which packet data used the timeslot.
    pub slots: [Vec<u64>; 2],
    /// RLC payload decoded for the first time, octets, by [way][cell][slot].
    pub slot_octets: [Vec<u64>; 2],
    /// Blocks by C/I, as [way][bin]; [`CI_FROM`] and [`CI_BINS`] give the bins.
    pub radio: [Vec<RadioBin>; 2],
    /// Samples once a second while block periods are simulated: always with a TBF, not while the network is idle.
    pub seconds: Vec<Second>,
    /// Number of simulated block periods.
    pub periods: u64,
}

impl Meter {
    pub(crate) fn new(mobiles: usize, cells: usize, slots: usize) -> Meter {
        Meter {
            mobiles: vec![MobileCounts::default(); mobiles],
            cells: vec![CellCounts::default(); cells],
            slots: [vec![0; cells * slots], vec![0; cells * slots]],
            slot_octets: [vec![0; cells * slots], vec![0; cells * slots]],
            radio: [vec![RadioBin::default(); CI_BINS], vec![RadioBin::default(); CI_BINS]],
            ..Meter::default()
        }
    }

    /// Histogram bin of each C/I, dB; values outside the range count in the first or last bin.
    #[inline]
    pub(crate) fn bins<const N: usize>(db: &[f32; N]) -> [u32; N] {
        let mut bins = [0; N];
        for k in 0..N {
            let bin = (db[k] + CI_BINS as f32) as i32 - CI_BINS as i32 - CI_FROM;
            bins[k] = bin.clamp(0, CI_BINS as i32 - 1) as u32;
        }
        bins
    }

    /// Sample at time `t` with the totals of all cells.
    pub(crate) fn second(&self, t: Time, (queued, queued_most): (u64, u64), active: u32) -> Second {
        let sum = |of: &dyn Fn(&CellCounts, usize) -> u64| {
            [DOWN, UP].map(|way| self.cells.iter().map(|c| of(c, way)).sum())
        };
        Second {
            t,
            queued,
            queued_most,
            active,
            blocks: sum(&|c, way| c.blocks[way]),
            rlc_sent: sum(&|c, way| c.rlc_sent[way]),
            rlc_lost: sum(&|c, way| c.rlc_lost[way]),
            octets: sum(&|c, way| c.octets[way]),
        }
    }

    /// RLC blocks of a direction, sent and lost by scheme, MCS-1 first.
    pub fn schemes(&self, way: usize) -> [[u64; 2]; SCHEMES] {
        let mut all = [[0; 2]; SCHEMES];
        for bin in &self.radio[way] {
            for (sum, [sent, lost]) in all.iter_mut().zip(bin.schemes) {
                *sum = [sum[0] + sent, sum[1] + lost];
            }
        }
        all
    }

    /// Quantile `p` (0 to 1) of the C/I of the radio blocks of a direction, dB, interpolated within a bin; `None`
    /// without blocks.
    pub fn ci_percentile(&self, way: usize, p: f64) -> Option<f64> {
        let bins = &self.radio[way];
        let total: u64 = bins.iter().map(|bin| bin.blocks).sum();
        let wanted = p * total as f64;
        let mut before = 0.0;
        for (at, bin) in bins.iter().enumerate() {
            let n = bin.blocks as f64;
            if n > 0.0 && before + n >= wanted {
                return Some(f64::from(CI_FROM) + at as f64 + ((wanted - before) / n).clamp(0.0, 1.0));
            }
            before += n;
        }
        None
    }

    /// Carried packet traffic of the downlink, Erlang: mean number of timeslots per cell in use, over the time
    /// `lasted`.
    pub fn erlang(&self, lasted: Span) -> f64 {
        let used: u64 = self.slots[DOWN].iter().sum();
        let periods = lasted.as_secs_f64() * radio::tdma::BLOCKS_PER_SECOND as f64;
        if periods > 0.0 { used as f64 / periods / self.cells.len().max(1) as f64 } else { 0.0 }
    }

    /// Share of lost RLC blocks of a direction; `None` without blocks.
    pub fn block_error_rate(&self, way: usize) -> Option<f64> {
        let (sent, lost) = self.schemes(way).iter().fold((0, 0), |(s, l), [a, b]| (s + a, l + b));
        (sent > 0).then(|| lost as f64 / sent as f64)
    }

    /// Mean packet delay of the downlink plus mean packet delay of the uplink, s: the round trip without the
    /// delayed-ACK timer. `None` without packets in a direction.
    pub fn round_trip_s(&self) -> Option<f64> {
        let mean = |way: usize| {
            let (n, sum) = self
                .mobiles
                .iter()
                .fold((0, 0.0), |(n, s), m| (n + m.ways[way].packets, s + m.ways[way].delay.as_secs_f64()));
            (n > 0).then(|| sum / n as f64)
        };
        Some(mean(DOWN)? + mean(UP)?)
    }
}
