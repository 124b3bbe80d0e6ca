//! Interference: powers on air in a block period, and the SINR of each burst.
//!
//! Power rows are indexed by group, timeslot, burst and carrier; a radio block reads one row of gains, one of powers
//! and one of fades per burst. Neighbours interfere only in bursts in which hopping puts them on the same carrier.
//! Fades depend on mobile, carrier and place, so that variants of a scenario meet the same ones.

use crate::config::{Config, Hopping, Interface};
use crate::fading::{ROWS, ROWS_PER_WAVELENGTH, Tape, WIDTH};
use crate::geometry::{LANES, Layout};
use crate::link::{Air, BURSTS};
use crate::numeric::{from_db, key, unit};
use radio::tdma::Tick;
use std::sync::Arc;

/// Speed of light, m/s.
const LIGHT: f64 = 299_792_458.0;
/// A TDMA frame, s.
const FRAME: f64 = 60.0 / 13_000.0;

/// An uplink block on air.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UpBlock {
    pub(crate) mobile: u32,
    pub(crate) cell: u32,
    pub(crate) power: f32,
}

/// The state of the air in one block period.
pub(crate) struct Medium {
    /// Rows of the tape that the lanes of a group fill.
    chunks: usize,
    /// Rows of powers of a timeslot: bursts times carriers, or one for average curves.
    layers: usize,
    slots: usize,
    carriers: usize,
    hopping: Hopping,
    interface: Interface,
    /// [group][slot][burst][carrier][lane]: transmitted power relative to the largest, by rows of the tape. Average
    /// curves need no bursts and no carriers: [group][slot][lane].
    powers: Vec<[f32; WIDTH]>,
    /// [group][slot]: any power set.
    used: Vec<bool>,
    /// Carrier of each cell in each burst.
    carrier: Vec<[u8; BURSTS]>,
    /// Uplink blocks by [group][slot].
    up: Vec<Vec<UpBlock>>,
    /// Noise relative to the largest power, downlink and uplink.
    noise: [f32; 2],
    fixed: Option<f32>,
    tape: Arc<Tape>,
    /// Rows of the tape that each mobile moves in a frame, in 1/65536.
    speeds: Vec<u64>,
    identities: Vec<u64>,
    seed: u64,
}

impl Medium {
    pub(crate) fn new(config: &Config, layout: &Layout, seed: u64) -> Medium {
        let carriers = if config.hopping == Hopping::None { 1 } else { config.carriers.max(1) as usize };
        let slots = config.mac.slots as usize;
        let groups = layout.groups.len();
        let r = &config.radio;
        let wavelength = LIGHT / (r.frequency_mhz * 1e6);
        let rows = |speed: f64| {
            (speed.max(r.least_speed) * FRAME / wavelength * ROWS_PER_WAVELENGTH * 65_536.0) as u64
        };
        let layers = if config.interface == Interface::Average { 1 } else { BURSTS * carriers };
        let chunks = layout.row / WIDTH;
        Medium {
            chunks,
            layers,
            slots,
            carriers,
            hopping: config.hopping,
            interface: config.interface,
            powers: vec![[0.0; WIDTH]; groups * slots * layers * chunks],
            used: vec![false; groups * slots],
            carrier: vec![[0; BURSTS]; layout.cells()],
            up: vec![Vec::new(); groups * slots],
            noise: [
                libm::pow(10.0, (r.noise_dbm - r.eirp_dbm) / 10.0) as f32,
                libm::pow(10.0, (r.uplink_noise_dbm - r.mobile_dbm - r.antenna_db) / 10.0) as f32,
            ],
            fixed: r.fixed_ci_db.map(|db| from_db(db.min(120.0) as f32)),
            tape: Tape::shared(),
            speeds: config.mobiles.iter().map(|m| rows(m.speed)).collect(),
            identities: config.mobiles.iter().map(|m| key(seed, 1 + m.identity)).collect(),
            seed,
        }
    }

    /// Clears the air and draws the carriers of a block period.
    pub(crate) fn clear(&mut self, layout: &Layout, tick: Tick) {
        let span = self.layers * self.chunks;
        for (i, used) in self.used.iter_mut().enumerate().filter(|(_, used)| **used) {
            self.powers[i * span..(i + 1) * span].fill([0.0; WIDTH]);
            *used = false;
        }
        self.up.iter_mut().for_each(Vec::clear);
        if self.carriers == 1 {
            return;
        }
        let carriers = self.carriers as u64;
        for burst in 0..BURSTS {
            let frame = u64::from(tick) * BURSTS as u64 + burst as u64;
            for site in 0..layout.sites() {
                let base = match self.hopping {
                    Hopping::Cyclic => (key(self.seed, site as u64) >> 8) + frame,
                    _ => key(self.seed ^ frame.wrapping_mul(0x2545_f491_4f6c_dd1d), site as u64) >> 8,
                };
                for sector in 0..3 {
                    // Sectors of a site hop in step and never collide.
                    let carrier = (base + sector) % carriers;
                    self.carrier[3 * site + sector as usize][burst] = carrier as u8;
                }
            }
        }
    }

    /// A cell sends on a timeslot with this power.
    #[inline]
    pub(crate) fn send_down(&mut self, layout: &Layout, cell: usize, slot: usize, power: f32) {
        let (group, lane) = layout.lane[cell];
        let at = group as usize * self.slots + slot;
        self.used[at] = true;
        let (chunk, lane) = (lane as usize / WIDTH, lane as usize % WIDTH);
        let layer = at * self.layers;
        if self.layers == 1 {
            self.powers[layer * self.chunks + chunk][lane] = power;
            return;
        }
        for (burst, carrier) in self.carrier[cell].into_iter().enumerate() {
            let layer = layer + burst * self.carriers + usize::from(carrier);
            self.powers[layer * self.chunks + chunk][lane] = power;
        }
    }

    /// A mobile sends on a timeslot.
    #[inline]
    pub(crate) fn send_up(&mut self, layout: &Layout, slot: usize, block: UpBlock) {
        let (group, _) = layout.lane[block.cell as usize];
        self.up[group as usize * self.slots + slot].push(block);
    }

    /// The row of the tape at which a mobile is on a carrier in a frame.
    #[inline(always)]
    fn fade_row(&self, mobile: usize, carrier: usize, frame: u64, salt: u64) -> usize {
        let moved = (self.speeds[mobile] * frame) >> 16;
        let round = moved / ROWS as u64;
        let start = key(self.identities[mobile] ^ salt, carrier as u64 + 16 * round);
        (start >> 20) as usize + moved as usize
    }

    /// What a downlink radio block meets.
    #[inline]
    pub(crate) fn down(
        &self,
        layout: &Layout,
        gains: &[f32],
        mobile: usize,
        cell: usize,
        slot: usize,
        tick: Tick,
    ) -> Air {
        if let Some(fixed) = self.fixed {
            return Air { sinr: [fixed; BURSTS] };
        }
        let (group, lane) = layout.lane[cell];
        let (group, lane) = (group as usize, lane as usize);
        let from = mobile * layout.stride() + group * layout.row;
        let gains = gains[from..from + layout.row].as_chunks::<WIDTH>().0;
        let layer = (group * self.slots + slot) * self.layers;
        let (chunk, lane) = (lane / WIDTH, lane % WIDTH);
        if self.interface == Interface::Average {
            let powers = &self.powers[layer * self.chunks..(layer + 1) * self.chunks];
            let own = gains[chunk][lane] * powers[chunk][lane];
            let total: f32 = gains.iter().zip(powers).map(|(g, p)| weighted(g, p, &[1.0; WIDTH])).sum();
            let sinr = own / ((total - own).max(0.0) / self.carriers as f32 + self.noise[0]);
            return Air { sinr: [sinr; BURSTS] };
        }
        let first = u64::from(tick) * BURSTS as u64;
        let mut sinr = [0.0; BURSTS];
        for (burst, (sinr, carrier)) in sinr.iter_mut().zip(self.carrier[cell]).enumerate() {
            let carrier = usize::from(carrier);
            let fade = self.fade_row(mobile, carrier, first + burst as u64, 0);
            let start = (layer + burst * self.carriers + carrier) * self.chunks;
            let powers = &self.powers[start..start + self.chunks];
            let mut total = 0.0;
            for (at, (g, p)) in gains.iter().zip(powers).enumerate() {
                total += weighted(g, p, self.tape.row(fade + 613 * at));
            }
            let own = gains[chunk][lane] * powers[chunk][lane] * self.tape.row(fade + 613 * chunk)[lane];
            *sinr = own / ((total - own).max(0.0) + self.noise[0]);
        }
        Air { sinr }
    }

    /// A draw for average curves: correlated as the fades are where nothing hops, else independent.
    #[inline]
    pub(crate) fn draw(&self, layout: &Layout, mobile: usize, cell: usize, tick: Tick, hash: u64) -> f32 {
        if self.carriers > 1 {
            return unit(hash);
        }
        let lane = layout.lane[cell].1 as usize;
        self.tape.rank(self.fade_row(mobile, 0, u64::from(tick) * BURSTS as u64, 0), lane)
    }

    /// What an uplink radio block meets. Two receiving branches with independent fades are combined by maximum ratio.
    pub(crate) fn up(&self, layout: &Layout, gains: &[f32], block: &UpBlock, slot: usize, tick: Tick) -> Air {
        if let Some(fixed) = self.fixed {
            return Air { sinr: [fixed; BURSTS] };
        }
        let cell = block.cell as usize;
        let (group, lane) = layout.lane[cell];
        let (stride, to) = (layout.stride(), layout.index(cell));
        let others = &self.up[group as usize * self.slots + slot];
        let mut sinr = [0.0; BURSTS];
        for (burst, sinr) in sinr.iter_mut().enumerate() {
            let carrier = self.carrier[cell][burst];
            let frame = u64::from(tick) * BURSTS as u64 + burst as u64;
            let fade = |mobile: u32, salt| {
                if self.interface == Interface::Average {
                    return 1.0;
                }
                let row = self.fade_row(mobile as usize, usize::from(carrier), frame, salt);
                self.tape.row(row)[lane as usize % WIDTH]
            };
            let mut interference = 0.0;
            for other in others.iter().filter(|o| o.cell != block.cell) {
                let share = if self.interface == Interface::Average {
                    1.0 / self.carriers as f32
                } else if self.carrier[other.cell as usize][burst] == carrier {
                    fade(other.mobile, 2)
                } else {
                    continue;
                };
                interference += other.power * gains[other.mobile as usize * stride + to] * share;
            }
            let own = block.power * gains[block.mobile as usize * stride + to];
            let branches = fade(block.mobile, 2) + fade(block.mobile, 3);
            *sinr = own * branches / (interference + self.noise[1]);
        }
        Air { sinr }
    }

    /// Noise relative to the largest downlink power.
    pub(crate) fn noise_down(&self) -> f32 {
        self.noise[0]
    }

    /// Received level of a mobile's serving cell at largest power, dBm.
    pub(crate) fn received_dbm(config: &Config, gain: f32) -> f32 {
        config.radio.eirp_dbm as f32 + crate::numeric::to_db(gain)
    }
}

/// The sum of products of three rows, with a fixed order of additions.
#[inline(always)]
fn weighted(gains: &[f32; WIDTH], powers: &[f32; WIDTH], fades: &[f32; WIDTH]) -> f32 {
    let mut products = [0.0_f32; WIDTH];
    for k in 0..WIDTH {
        products[k] = gains[k] * powers[k] * fades[k];
    }
    let mut sums = [0.0_f32; LANES];
    for k in 0..LANES {
        sums[k] = (products[k] + products[k + 8]) + (products[k + 16] + products[k + 24]);
    }
    let [a, b, c, d, e, f, g, h] = sums;
    ((a + b) + (c + d)) + ((e + f) + (g + h))
}
