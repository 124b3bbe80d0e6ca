//! Block period (20 ms tick) of a network of cells: scheduled events, measurements, selection of radio blocks by
//! all cells, SINR, decoding of all blocks, polls and reports.
//!
//! First every cell selects its radio blocks, so that all transmitted powers are known; then every block is decoded.
//! Results do not depend on the order of cells. Random draws are keyed by (seed, tick, cell, slot, direction).

use crate::adaptation::{Forget, measured};
use crate::air::UpBlock;
use crate::config::{Config, Interface};
use crate::decision::Law;
use crate::direction::{DOWN, Event, Tbf, UP};
use crate::link::{Air, BURSTS};
use crate::meter::Meter;
use crate::numeric::{from_db, key, to_db, unit};
use crate::observe::{Fix, RadioEvent};
use crate::prefetch::BATCH;
use crate::slots::ones;
use crate::system::Cells;
use path::Cx;
use radio::coding::Modulation;
use radio::rlc::packed::PackedReport;
use radio::rlc::send::RadioBlock;
use radio::tdma::{BLOCKS_PER_SECOND, Tick, ticks};

/// Reception of a radio block.
#[derive(Clone, Copy, Default)]
pub(crate) struct Reception {
    /// Quality, its square, and the mean SINR without modulation errors, in dB and as a ratio.
    measured: [f32; 4],
    /// Bin of the SINR in the counters.
    bin: u32,
}

impl Reception {
    #[inline(always)]
    pub(crate) fn quality(&self) -> f32 {
        self.measured[0]
    }
    /// Mean SINR, dB.
    #[inline(always)]
    pub(crate) fn ci(&self) -> f32 {
        self.measured[2]
    }
    /// Mean SINR as a ratio.
    #[inline(always)]
    pub(crate) fn mean(&self) -> f32 {
        self.measured[3]
    }
}

/// Reception of the bursts of a radio block.
#[derive(Clone, Copy)]
pub(crate) struct Bursts {
    /// SINR of each burst, with modulation errors.
    pub(crate) air: Air,
    /// Mutual information of each burst, for quality reports.
    pub(crate) heard: [f32; BURSTS],
}

/// Parameters that every radio block uses, in one struct for the cache.
#[derive(Clone, Copy)]
pub(crate) struct Rules {
    /// Decisions by average curves, not burst by burst.
    average: bool,
    /// Weight of a radio block in the averages of quality.
    forget: Forget,
    /// Standard deviation of the measurement error in a report, dB.
    error_db: f32,
    /// Average power of 8-PSK as a ratio to GMSK.
    back_off: f32,
    /// Timeslots per cell.
    slots: usize,
    /// Time from a poll until the report takes effect at the sender, ticks.
    report_delay: Tick,
    /// Octets that the BSC keeps for a mobile.
    pub(crate) bsc_octets: u64,
}

impl Rules {
    pub(crate) fn new(config: &Config) -> Rules {
        Rules {
            average: config.interface == Interface::Average,
            forget: Forget::new(config.adaptation.forget as f32),
            error_db: config.adaptation.error_db as f32,
            back_off: from_db(-config.radio.backoff_db as f32),
            slots: config.mac.slots as usize,
            report_delay: ticks(config.mac.report_delay).max(1),
            bsc_octets: u64::from(config.core.bsc_octets),
        }
    }
}

/// A radio block in transmission.
#[derive(Clone, Copy)]
pub(crate) struct BlockOnAir {
    /// Cell, of at most 12 288. Small fields keep the blocks of all cells in fewer cache lines.
    pub(crate) cell: u16,
    /// Timeslot, of at most 128.
    pub(crate) slot: u8,
    pub(crate) mobile: u32,
    /// Transmitted power as a ratio to the maximum.
    power: f32,
    pub(crate) block: RadioBlock,
}

impl BlockOnAir {
    /// Place for a block.
    pub(crate) const EMPTY: BlockOnAir =
        BlockOnAir { cell: 0, slot: 0, mobile: 0, power: 0.0, block: RadioBlock::EMPTY };

    /// The same block as the uplink of the medium knows it.
    #[inline]
    fn uplink(&self) -> UpBlock {
        UpBlock { mobile: self.mobile, cell: u32::from(self.cell), power: self.power }
    }
}

impl Cells {
    /// Executes one block period.
    pub(crate) fn tick(&mut self, cx: &mut Cx<'_>, now: Tick) {
        self.deliver(cx);
        self.events(now);
        if now.is_multiple_of(self.period) {
            self.measure(cx, now);
        }
        if now.is_multiple_of(BLOCKS_PER_SECOND as u32) {
            self.sample(cx);
        }
        self.meter.periods += 1;
        if self.live == 0 && self.voice.is_none() {
            return;
        }
        if let Some(voice) = &mut self.voice {
            voice.tick(now);
        }
        self.medium.clear(&self.layout, now);
        let mut air = std::mem::take(&mut self.on_air);
        let down = self.choose::<DOWN>(now, &mut air[DOWN]);
        let up = self.choose::<UP>(now, &mut air[UP]);
        self.receive::<DOWN>(now, &air[DOWN][..down]);
        self.receive::<UP>(now, &air[UP][..up]);
        self.on_air = air;
    }

    /// Reception of all blocks of a direction. All are measured before the first decision, so that branches on draws do
    /// not delay memory accesses of the next block.
    fn receive<const WAY: usize>(&mut self, now: Tick, air: &[BlockOnAir]) {
        self.meet::<WAY>(now, air);
        let (met, bursts) = (std::mem::take(&mut self.met), std::mem::take(&mut self.bursts));
        let mut ahead = air.chunks(BATCH).skip(1);
        for (at, (blocks, met)) in air.chunks(BATCH).zip(met.chunks(BATCH)).enumerate() {
            self.prefetch_ends(WAY, ahead.next().unwrap_or_default());
            if self.rules.average {
                for (on, met) in blocks.iter().zip(met) {
                    self.judge::<WAY>(now, on, met, None);
                }
            } else {
                let bursts = &bursts[BATCH * at..];
                for ((on, met), bursts) in blocks.iter().zip(met).zip(bursts) {
                    self.judge::<WAY>(now, on, met, Some(bursts));
                }
            }
        }
        (self.met, self.bursts) = (met, bursts);
    }

    /// Delivers the packets completed in the previous block period: downlink to the host, uplink to the core network.
    fn deliver(&mut self, cx: &mut Cx<'_>) {
        let mut delivered = std::mem::take(&mut self.delivered);
        for (mobile, way, packet) in delivered.drain(..) {
            if way == DOWN {
                self.hand_over(cx, DOWN, mobile, packet);
            } else {
                self.cross_core(UP, cx.now(), mobile, packet);
            }
        }
        self.delivered = delivered;
    }

    /// Handles the scheduled events of a tick.
    fn events(&mut self, now: Tick) {
        let list = self.wheel.take(now);
        self.prefetch_reports(&list);
        for event in &list {
            match *event {
                Event::Started { mobile, way, generation } => {
                    let w = &self.ways[mobile as usize][usize::from(way)];
                    if w.generation == generation && w.tbf == Tbf::Starting {
                        self.admit(mobile as usize, usize::from(way), now);
                    }
                }
                Event::Report { mobile, way, generation, ref report, quality } => {
                    let (m, way) = (mobile as usize, usize::from(way));
                    if self.ways[m][way].generation != generation {
                        continue;
                    }
                    self.ways[m][way].reports -= 1;
                    self.ways[m][way].sender.on_packed_report(report, now);
                    self.adapt(m, way, quality);
                    self.end_or_hold(m, way, now);
                }
                Event::Held { mobile, way, generation } => {
                    let (m, way) = (mobile as usize, usize::from(way));
                    let w = &self.ways[m][way];
                    if w.generation == generation && w.tbf == Tbf::Active && w.sender.is_done() {
                        self.end_tbf(m, way, self.motion.serving[m] as usize, now);
                    }
                }
                Event::Arrived { mobile } => {
                    let m = mobile as usize;
                    self.outage[m] = false;
                    self.note(m, now, RadioEvent::Arrived { cell: self.motion.serving[m] });
                    self.refill(m);
                    [DOWN, UP].into_iter().for_each(|way| self.start_tbf(m, way, now));
                }
            }
        }
        self.wheel.give_back(list);
    }

    /// Sets coding scheme and power of a direction after a report.
    fn adapt(&mut self, m: usize, way: usize, quality: Option<[f32; 3]>) {
        let w = &mut self.ways[m][way];
        w.quality.reported = quality;
        w.scheme = self.chooser.choose(quality, w.scheme);
        if let Some([_, _, ci]) = quality {
            let level = self.config.power[way].after_report(w.power_db, ci);
            if level != w.power_db {
                w.power_db = level;
                w.power = from_db(level);
            }
        }
    }

    /// Ends a TBF without data, at once or after the hold time.
    fn end_or_hold(&mut self, m: usize, way: usize, now: Tick) {
        let w = &self.ways[m][way];
        if w.tbf != Tbf::Active || !w.sender.is_done() {
            return;
        }
        let hold = ticks(self.config.mac.hold[way]);
        if hold == 0 {
            return self.end_tbf(m, way, self.motion.serving[m] as usize, now);
        }
        let event = Event::Held { mobile: m as u32, way: way as u8, generation: w.generation };
        self.wheel.add(now, hold, event);
    }

    /// Measurement of all mobiles: motion, cell changes, uplink power of mobiles without an uplink TBF.
    fn measure(&mut self, cx: &mut Cx<'_>, now: Tick) {
        for m in 0..self.ways.len() {
            self.motion.prefetch(&self.shadow, m + 2);
            let from = self.motion.serving[m];
            if let Some(to) = self.motion.measure(&self.layout, &self.shadow, m, now)
                && !self.outage[m]
            {
                self.change_cell(cx, m, from, to, now);
            } else if self.outage[m] {
                // During a cell change the new cell stays the serving cell.
                self.motion.serving[m] = from;
            }
            if self.ways[m][UP].tbf == Tbf::Idle {
                self.set_uplink_power(m);
            }
        }
        if self.observe.trails {
            let fix = |m: usize| Fix {
                place: self.motion.places[m],
                cell: self.motion.serving[m],
                ci_db: self.ways[m][DOWN].quality.ci().filter(|_| self.ways[m][DOWN].tbf != Tbf::Idle),
                changing: self.outage[m],
            };
            self.records.trails.push((cx.now(), (0..self.ways.len()).map(fix).collect()));
        }
    }

    /// Samples counters, SGSN queues and the number of active downlink TBFs, once a second.
    fn sample(&mut self, cx: &Cx<'_>) {
        let (sum, most) = self
            .sgsn
            .iter()
            .fold((0, 0), |(sum, most), s| (sum + u64::from(s.octets), u64::from(s.octets).max(most)));
        let active = self.ways.iter().filter(|w| w[DOWN].tbf == Tbf::Active).count();
        let second = self.meter.second(cx.now(), (sum, most), active as u32);
        self.meter.seconds.push(second);
        if let Some(m) = self.observe.mobile {
            let queued = self.sgsn.get(m as usize).map_or(0, |s| s.octets);
            self.records.events.push((cx.now(), RadioEvent::Queue { octets: queued }));
        }
    }

    /// First pass: block of each cell on each timeslot. `air` has a place for each; returns the number of blocks.
    fn choose<const WAY: usize>(&mut self, now: Tick, air: &mut [BlockOnAir]) -> usize {
        let Rules { back_off, bsc_octets, .. } = self.rules;
        let mut count = 0;
        let all = (1_u128 << self.config.mac.slots) - 1;
        for cell in 0..self.slots.len() {
            self.prefetch_cell(WAY, cell + 1);
            for slot in ones(if self.voice.is_some() { all } else { self.slots[cell].used[WAY] }) {
                if let Some(speaks) = self.voice.as_ref().and_then(|v| v.on(cell, slot, now)) {
                    if speaks && WAY == DOWN {
                        self.medium.send_down(&self.layout, cell, slot, 1.0);
                    }
                    self.count_preempted(WAY, cell, slot);
                    continue;
                }
                let ways = &self.ways;
                let turns = &mut self.slots[cell].turns[WAY];
                let Some(mobile) = turns.next(slot, |m| ways[m as usize][WAY].ready()) else { continue };
                let w = &mut self.ways[mobile as usize][WAY];
                let (scheme, preempts) = (w.scheme, w.preempts());
                let Some(on) = air.get_mut(count) else { return count };
                if !w.sender.next_into(now, scheme, preempts, &mut on.block) {
                    continue;
                }
                let psk8 = on.block.scheme.properties().modulation == Modulation::Psk8;
                let power = w.power * if psk8 { back_off } else { 1.0 };
                (on.cell, on.slot, on.mobile, on.power) = (cell as u16, slot as u8, mobile, power);
                count += 1;
                if WAY == DOWN {
                    self.medium.send_down(&self.layout, cell, slot, power);
                    if w.sender.feed.waiting() < bsc_octets {
                        self.refill(mobile as usize);
                    }
                } else {
                    self.medium.send_up(&self.layout, slot, UpBlock { mobile, cell: cell as u32, power });
                }
            }
        }
        count
    }

    /// Counts a block period of a timeslot held by a voice call, if a TBF there has a radio block to send.
    #[cold]
    fn count_preempted(&mut self, way: usize, cell: usize, slot: usize) {
        let ways = &self.ways;
        let waits = self.slots[cell].turns[way].of(slot).iter().any(|m| ways[*m as usize][way].ready());
        if let Some(voice) = self.voice.as_mut().filter(|_| waits) {
            voice.preempt(cell, way);
        }
    }

    /// Computes SINR and quality of each radio block into `met` and `bursts`.
    fn meet<const WAY: usize>(&mut self, now: Tick, air: &[BlockOnAir]) {
        self.met.clear();
        self.bursts.clear();
        let mut ahead = air.chunks(BATCH).skip(1);
        for blocks in air.chunks(BATCH) {
            if WAY == DOWN {
                self.prefetch_gains(ahead.next().unwrap_or_default());
            }
            if self.rules.average {
                self.meet_average::<WAY>(blocks);
            } else {
                self.meet_bursts::<WAY>(now, blocks);
            }
        }
    }

    /// SINR and quality of at most [`BATCH`] radio blocks for average curves: one SINR per block.
    fn meet_average<const WAY: usize>(&mut self, blocks: &[BlockOnAir]) {
        let mut sinr = [0.0; BATCH];
        for (sinr, on) in sinr.iter_mut().zip(blocks) {
            *sinr = if WAY == DOWN {
                let (m, cell, slot) = (on.mobile as usize, on.cell as usize, on.slot as usize);
                self.medium.down_mean(&self.layout, &self.motion.gains, m, cell, slot)
            } else {
                self.medium.up_mean(&self.layout, &self.motion.gains, &on.uplink(), on.slot as usize)
            };
        }
        // Separate loops, which the compiler turns into vector instructions.
        let mut met = [Reception::default(); BATCH];
        let mean = sinr.map(|s| 0.25 * (s + s + s + s));
        let ci = decibels(&mean);
        sinr.iter_mut().for_each(|s| *s = self.link.capped(*s));
        let (bin, quality) = (Meter::bins(&ci), self.link.steady(&sinr));
        for (at, met) in met.iter_mut().enumerate() {
            *met = Reception { measured: measured(quality[at], ci[at], mean[at]), bin: bin[at] };
        }
        self.met.extend_from_slice(&met[..blocks.len()]);
    }

    /// SINR and quality of at most [`BATCH`] radio blocks, burst by burst.
    fn meet_bursts<const WAY: usize>(&mut self, now: Tick, blocks: &[BlockOnAir]) {
        let (mut mean, mut quality) = ([0.0; BATCH], [0.0; BATCH]);
        for (at, on) in blocks.iter().enumerate() {
            let mut air = if WAY == DOWN {
                let (m, cell, slot) = (on.mobile as usize, on.cell as usize, on.slot as usize);
                self.medium.down(&self.layout, &self.motion.gains, m, cell, slot, now)
            } else {
                self.medium.up(&self.layout, &self.motion.gains, &on.uplink(), on.slot as usize, now)
            };
            mean[at] = 0.25 * (air.sinr[0] + air.sinr[1] + air.sinr[2] + air.sinr[3]);
            air.sinr.iter_mut().for_each(|s| *s = self.link.capped(*s));
            let heard = self.link.heard(&air);
            quality[at] = self.link.quality(&heard);
            self.bursts.push(Bursts { air, heard });
        }
        let ci = decibels(&mean);
        let bin = Meter::bins(&ci);
        let met = |at: usize| Reception { measured: measured(quality[at], ci[at], mean[at]), bin: bin[at] };
        self.met.extend((0..blocks.len()).map(met));
    }

    /// Decides which RLC blocks of a radio block are decoded, counts them, and polls. `bursts` is `None` with average
    /// curves; inlining compiles a copy for each of the two cases.
    #[inline(always)]
    fn judge<const WAY: usize>(
        &mut self,
        now: Tick,
        on: &BlockOnAir,
        met: &Reception,
        bursts: Option<&Bursts>,
    ) {
        let m = on.mobile as usize;
        let hash = key(
            self.seed,
            u64::from(now) << 24 | u64::from(on.cell) << 8 | u64::from(on.slot) << 1 | WAY as u64,
        );
        let w = &mut self.ways[m][WAY];
        w.quality.block(&met.measured, self.rules.forget);
        let law =
            Law { link: &self.link, medium: &self.medium, layout: &self.layout, now, on, met, bursts, hash };
        let heard = law.header();
        let delivered = &mut self.delivered;
        let first = law.take::<WAY>(w, delivered, &on.block.first, false, heard);
        let second = on.block.second.as_ref().map(|rlc| law.take::<WAY>(w, delivered, rlc, true, heard));
        let (arrived, fresh) = second.map_or(first, |(arrived, fresh)| (first.0 + arrived, first.1 + fresh));
        if self.observe.mobile == Some(on.mobile) {
            self.note_blocks(WAY, now, on, met, [Some(first.0), second.map(|s| s.0)]);
        }
        let sent = 1 + u64::from(second.is_some());
        self.count::<WAY>(on, met, (sent, sent - arrived, fresh));
        self.poll::<WAY>(now, m, heard, hash);
    }

    /// Counts a radio block with the number of its RLC blocks sent, lost, and decoded for the first time.
    #[inline(always)]
    fn count<const WAY: usize>(
        &mut self,
        on: &BlockOnAir,
        met: &Reception,
        (sent, lost, fresh): (u64, u64, u64),
    ) {
        let (cell, m) = (on.cell as usize, on.mobile as usize);
        let at = cell * self.rules.slots + on.slot as usize;
        self.meter.slots[WAY][at] += 1;
        self.meter.slot_octets[WAY][at] += fresh * u64::from(on.block.scheme.payload());
        self.meter.radio[WAY][met.bin as usize].count(on.block.scheme, sent, lost);
        self.meter.mobiles[m].ways[WAY].count(met.ci(), sent, lost);
        self.meter.cells[cell].count(WAY, sent, lost);
    }

    /// Records the RLC blocks of the observed mobile. `arrived`: 1 for a decoded block, 0 for a lost one.
    #[cold]
    fn note_blocks(
        &mut self,
        way: usize,
        now: Tick,
        on: &BlockOnAir,
        met: &Reception,
        arrived: [Option<u64>; 2],
    ) {
        for arrived in arrived.into_iter().flatten() {
            let (scheme, arrived) = (on.block.scheme, arrived == 1);
            let block = RadioEvent::Block { way, scheme, ci_db: met.ci(), arrived };
            self.records.events.push((radio::tdma::start_of(now), block));
        }
    }

    /// Polls after each poll period, or at once if no missing or new block remains and no report is in flight. The
    /// poll is answered by a report if the radio block's header was decoded (`heard`).
    #[inline(always)]
    fn poll<const WAY: usize>(&mut self, now: Tick, m: usize, heard: bool, hash: u64) {
        let w = &mut self.ways[m][WAY];
        let force = !w.sender.has_work() && w.reports == 0;
        if w.poller.block(false, force) && heard {
            self.report(WAY, now, m, hash);
        }
    }

    /// Sends a report, which reaches the sender after the report delay.
    #[inline(never)]
    fn report(&mut self, way: usize, now: Tick, m: usize, hash: u64) {
        let w = &mut self.ways[m][way];
        let error = self.rules.error_db;
        let error = if error > 0.0 { error * normal(hash) } else { 0.0 };
        w.reports += 1;
        let event = Event::Report {
            mobile: m as u32,
            way: way as u8,
            generation: w.generation,
            report: PackedReport::of(&w.receiver),
            quality: w.quality.report(error),
        };
        self.wheel.add(now, self.rules.report_delay, event);
    }
}

/// Converts ratios to decibels.
fn decibels(ratios: &[f32; BATCH]) -> [f32; BATCH] {
    let mut db = [0.0; BATCH];
    for k in 0..BATCH {
        db[k] = to_db(ratios[k]);
    }
    db
}

/// Approximately standard normal number from a hash: the scaled sum of four uniform numbers.
fn normal(hash: u64) -> f32 {
    let sum: f32 = (0..4).map(|k| unit(key(hash, k))).sum();
    (sum - 2.0) * 1.732_050_8
}
