//! Interference between cells: transmitted powers and hopping carriers of a block period, and the SINR of each radio
//! block or burst.
//!
//! The SINR of a radio block is computed from one row of gains and one of powers, and for each burst a row of masks
//! and one of fading gains. The powers of a timeslot and the masks of all carriers fit into the first-level cache.
//! Cells interfere only in bursts in which hopping assigns them the same carrier. Fading gains depend on mobile,
//! carrier and distance moved, so that variants of a scenario have equal gains.

use crate::config::{Config, Hopping, Interface};
use crate::curve::Draw;
use crate::fading::{FadingTable, ROWS, ROWS_PER_WAVELENGTH};
use crate::geometry::{LANES, Layout};
use crate::link::{Air, BURSTS};
use crate::numeric::{from_db, key};
use crate::rows::{Gains, Row, WIDTH};
use radio::tdma::Tick;
use std::hint::black_box;
use std::sync::Arc;

/// Speed of light, m/s.
const LIGHT: f64 = 299_792_458.0;
/// Duration of a TDMA frame, s.
const FRAME: f64 = 60.0 / 13_000.0;

/// An uplink radio block in transmission.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UpBlock {
    pub(crate) mobile: u32,
    /// Serving cell.
    pub(crate) cell: u32,
    /// Transmitted power as a ratio to the maximum.
    pub(crate) power: f32,
}

/// Powers and carriers of all transmissions in one block period.
pub(crate) struct Medium {
    /// Rows of [`WIDTH`] lanes (cells) per frequency group.
    chunks: usize,
    slots: usize,
    carriers: usize,
    hopping: Hopping,
    interface: Interface,
    /// Transmitted downlink power as a ratio to the maximum, by [group][slot][lane].
    powers: Vec<Row<f32>>,
    /// By [group][burst][carrier][lane]: all bits set if the cell uses the carrier in the burst, otherwise 0.
    masks: Vec<Row<u32>>,
    /// Carrier of each cell in each burst.
    carrier: Vec<[u8; BURSTS]>,
    /// Uplink blocks by [group][slot].
    up: Vec<Vec<UpBlock>>,
    /// Noise as a ratio to the maximum power, downlink and uplink; antenna gains are included in the power.
    noise: [f32; 2],
    /// Constant SINR of each burst as a ratio, in place of interference, noise and fading.
    fixed: Option<f32>,
    tape: Arc<FadingTable>,
    /// For each mobile: movement per TDMA frame, in 1/65536 of a row of the fading table, and key of its fading.
    fades: Vec<(u64, u64)>,
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
        let chunks = layout.row / WIDTH;
        // A single carrier is used by all cells of its group in every burst.
        let alone = if carriers == 1 { u32::MAX } else { 0 };
        Medium {
            chunks,
            slots,
            carriers,
            hopping: config.hopping,
            interface: config.interface,
            powers: vec![Row([0.0; WIDTH]); groups * slots * chunks],
            masks: vec![Row([alone; WIDTH]); groups * BURSTS * carriers * chunks],
            carrier: vec![[0; BURSTS]; layout.cells()],
            up: vec![Vec::new(); groups * slots],
            noise: [
                libm::pow(10.0, (r.noise_dbm - r.eirp_dbm) / 10.0) as f32,
                libm::pow(10.0, (r.uplink_noise_dbm - r.mobile_dbm - r.antenna_db) / 10.0) as f32,
            ],
            fixed: r.fixed_ci_db.map(|db| from_db(db.min(120.0) as f32)),
            tape: FadingTable::shared(),
            fades: config.mobiles.iter().map(|m| (rows(m.speed), key(seed, 1 + m.identity))).collect(),
            seed,
        }
    }

    /// Removes the transmissions of the previous block period, and draws the carriers of the bursts of `tick`.
    pub(crate) fn clear(&mut self, layout: &Layout, tick: Tick) {
        self.powers.fill(Row([0.0; WIDTH]));
        self.up.iter_mut().for_each(Vec::clear);
        // One carrier needs no masks, and average curves do not use them.
        if self.carriers == 1 || self.interface == Interface::Average {
            return;
        }
        self.masks.fill(Row([0; WIDTH]));
        let carriers = self.carriers as u64;
        for burst in 0..BURSTS {
            let frame = u64::from(tick) * BURSTS as u64 + burst as u64;
            for site in 0..layout.sites() {
                let base = match self.hopping {
                    Hopping::Cyclic => (key(self.seed, site as u64) >> 8) + frame,
                    _ => key(self.seed ^ frame.wrapping_mul(0x2545_f491_4f6c_dd1d), site as u64) >> 8,
                };
                let mut carrier = (base % carriers) as usize;
                for cell in 3 * site..3 * site + 3 {
                    self.carrier[cell][burst] = carrier as u8;
                    let (group, lane) = layout.lane[cell];
                    let row = self.mask_row(group as usize, burst, carrier) + lane as usize / WIDTH;
                    self.masks[row].0[lane as usize % WIDTH] = u32::MAX;
                    // The sectors of a site hop with a constant offset, so that they never use the same carrier.
                    carrier = if carrier + 1 == self.carriers { 0 } else { carrier + 1 };
                }
            }
        }
    }

    /// Index of the first row in `masks` of a group's carrier in a burst.
    #[inline(always)]
    fn mask_row(&self, group: usize, burst: usize, carrier: usize) -> usize {
        ((group * BURSTS + burst) * self.carriers + carrier) * self.chunks
    }

    /// Adds the transmission of a cell on a timeslot; `power` is a ratio to the maximum.
    #[inline]
    pub(crate) fn send_down(&mut self, layout: &Layout, cell: usize, slot: usize, power: f32) {
        let (group, lane) = layout.lane[cell];
        let row = (group as usize * self.slots + slot) * self.chunks + lane as usize / WIDTH;
        self.powers[row].0[lane as usize % WIDTH] = power;
    }

    /// Adds the transmission of a mobile on a timeslot.
    #[inline]
    pub(crate) fn send_up(&mut self, layout: &Layout, slot: usize, block: UpBlock) {
        let (group, _) = layout.lane[block.cell as usize];
        self.up[group as usize * self.slots + slot].push(block);
    }

    /// Row of the fading table for a mobile on a carrier in a frame; [`FadingTable::row`] wraps it. Radio links with
    /// different `salt` fade independently: 0 downlink, 2 and 3 the receive branches of the uplink.
    #[inline(always)]
    fn fade_row(&self, mobile: usize, carrier: usize, frame: u64, salt: u64) -> usize {
        let (speed, identity) = self.fades[mobile];
        let moved = (speed * frame) >> 16;
        let round = moved / ROWS as u64;
        let start = key(identity ^ salt, carrier as u64 + 16 * round);
        (start >> 20) as usize + moved as usize
    }

    /// Mean SINR of a downlink radio block, as a ratio, without fading. Each interferer counts with the probability
    /// of the same carrier.
    #[inline]
    pub(crate) fn down_mean(
        &self,
        layout: &Layout,
        gains: &Gains,
        mobile: usize,
        cell: usize,
        slot: usize,
    ) -> f32 {
        if let Some(fixed) = self.fixed {
            return fixed;
        }
        let (group, lane) = layout.lane[cell];
        let (group, lane) = (group as usize, lane as usize);
        let gains = gains.part(mobile, group * self.chunks, self.chunks);
        let row = (group * self.slots + slot) * self.chunks;
        let powers = &self.powers[row..][..self.chunks];
        let own = gains[lane / WIDTH].0[lane % WIDTH] * powers[lane / WIDTH].0[lane % WIDTH];
        let total: f32 = gains.iter().zip(powers).map(|(g, p)| folded(&received(g, p))).sum();
        own / ((total - own).max(0.0) / self.carriers as f32 + self.noise[0])
    }

    /// Mean SINR of an uplink radio block, as a ratio, without fading. Two receive branches double the own power.
    pub(crate) fn up_mean(&self, layout: &Layout, gains: &Gains, block: &UpBlock, slot: usize) -> f32 {
        if let Some(fixed) = self.fixed {
            return fixed;
        }
        let cell = block.cell as usize;
        let to = layout.index(cell);
        let others = &self.up[layout.lane[cell].0 as usize * self.slots + slot];
        let own = block.power * gains.at(block.mobile as usize, to);
        let share = 1.0 / self.carriers as f32;
        let mut interference = 0.0;
        for other in others.iter().filter(|o| o.cell != block.cell) {
            interference += other.power * gains.at(other.mobile as usize, to) * share;
        }
        own * 2.0 / (interference + self.noise[1])
    }

    /// SINR of each burst of a downlink radio block, with fading.
    #[inline]
    pub(crate) fn down(
        &self,
        layout: &Layout,
        gains: &Gains,
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
        let gains = gains.part(mobile, group * self.chunks, self.chunks);
        let row = (group * self.slots + slot) * self.chunks;
        let powers = &self.powers[row..][..self.chunks];
        let (chunk, lane) = (lane / WIDTH, lane % WIDTH);
        let own = gains[chunk].0[lane] * powers[chunk].0[lane];
        let first = u64::from(tick) * BURSTS as u64;
        let (mut fades, mut masks, mut totals) = ([0; BURSTS], [0; BURSTS], [0.0; BURSTS]);
        for (b, carrier) in self.carrier[cell].into_iter().enumerate() {
            fades[b] = self.fade_row(mobile, usize::from(carrier), first + b as u64, 0);
            masks[b] = self.mask_row(group, b, usize::from(carrier));
        }
        for (at, (g, p)) in gains.iter().zip(powers).enumerate() {
            let received = received(g, p);
            for (b, total) in totals.iter_mut().enumerate() {
                *total += weighted(&received, &self.masks[masks[b] + at], self.tape.row(fades[b] + 613 * at));
            }
        }
        let mut sinr = [0.0; BURSTS];
        for (b, sinr) in sinr.iter_mut().enumerate() {
            let own = own * self.tape.row(fades[b] + 613 * chunk).0[lane];
            *sinr = own / ((totals[b] - own).max(0.0) + self.noise[0]);
        }
        Air { sinr }
    }

    /// Uniform draw for a decision by average curves. With one carrier it is the rank of the present fading gain, so
    /// that draws of consecutive blocks are correlated; with more it is independent, from `hash`.
    #[inline]
    pub(crate) fn draw(&self, layout: &Layout, mobile: usize, cell: usize, tick: Tick, hash: u64) -> Draw {
        if self.carriers > 1 {
            return Draw::new(hash);
        }
        let lane = layout.lane[cell].1 as usize;
        // Ranks are odd multiples of 1/4096, which a draw represents exactly.
        Draw::of(self.tape.rank(self.fade_row(mobile, 0, u64::from(tick) * BURSTS as u64, 0), lane))
    }

    /// SINR of each burst of an uplink radio block, with fading. Two receive branches with independent fading are
    /// combined by maximum ratio.
    pub(crate) fn up(&self, layout: &Layout, gains: &Gains, block: &UpBlock, slot: usize, tick: Tick) -> Air {
        if let Some(fixed) = self.fixed {
            return Air { sinr: [fixed; BURSTS] };
        }
        let cell = block.cell as usize;
        let (group, lane) = layout.lane[cell];
        let to = layout.index(cell);
        let others = &self.up[group as usize * self.slots + slot];
        let own = block.power * gains.at(block.mobile as usize, to);
        let mut sinr = [0.0; BURSTS];
        for (burst, sinr) in sinr.iter_mut().enumerate() {
            let carrier = self.carrier[cell][burst];
            let frame = u64::from(tick) * BURSTS as u64 + burst as u64;
            let fade = |mobile: u32, salt| {
                let row = self.fade_row(mobile as usize, usize::from(carrier), frame, salt);
                self.tape.row(row).0[lane as usize % WIDTH]
            };
            let mut interference = 0.0;
            for other in others.iter().filter(|o| o.cell != block.cell) {
                if self.carrier[other.cell as usize][burst] != carrier {
                    continue;
                }
                let share = fade(other.mobile, 2);
                interference += other.power * gains.at(other.mobile as usize, to) * share;
            }
            let branches = fade(block.mobile, 2) + fade(block.mobile, 3);
            *sinr = own * branches / (interference + self.noise[1]);
        }
        Air { sinr }
    }

    /// Noise of a mobile's receiver as a ratio to the maximum downlink power.
    pub(crate) fn noise_down(&self) -> f32 {
        self.noise[0]
    }

    /// Received level, dBm, of a cell that transmits at maximum power; `gain` is its level at the mobile as a ratio.
    pub(crate) fn received_dbm(config: &Config, gain: f32) -> f32 {
        config.radio.eirp_dbm as f32 + crate::numeric::to_db(gain)
    }
}

/// Power received at the mobile from each cell of a row, before fading.
#[inline(always)]
fn received(Row(gains): &Row<f32>, Row(powers): &Row<f32>) -> [f32; WIDTH] {
    let mut products = [0.0_f32; WIDTH];
    for k in 0..WIDTH {
        products[k] = gains[k] * powers[k];
    }
    products
}

/// Sum of the received powers of the cells that a mask selects, each times its fading gain.
#[inline(always)]
fn weighted(received: &[f32; WIDTH], Row(mask): &Row<u32>, Row(fades): &Row<f32>) -> f32 {
    let mut products = [0.0_f32; WIDTH];
    for k in 0..WIDTH {
        products[k] = f32::from_bits(received[k].to_bits() & mask[k]) * fades[k];
    }
    folded(&products)
}

/// Sum of a row. The order of additions is fixed, so that results are equal on all platforms.
#[inline(always)]
fn folded(products: &[f32; WIDTH]) -> f32 {
    let mut sums = [0.0_f32; LANES];
    for k in 0..LANES {
        sums[k] = (products[k] + products[k + 8]) + (products[k + 16] + products[k + 24]);
    }
    // `black_box` stores the sums in memory: otherwise the compiler shuffles all products for the last additions,
    // with twice as many instructions.
    let [a, b, c, d, e, f, g, h] = black_box(sums);
    ((a + b) + (c + d)) + ((e + f) + (g + h))
}
