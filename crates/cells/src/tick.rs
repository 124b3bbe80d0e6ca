//! Block period of a network of cells: events, measurements, selection of blocks by all cells, decoding of
//! all blocks.
//!
//! First every cell selects its blocks, so that all powers are known; then every block is decoded. Results do
//! not depend on the order of cells. Draws are keyed by (seed, tick, cell, slot, direction).

use crate::air::UpBlock;
use crate::config::Interface;
use crate::direction::{DOWN, Event, Tbf, UP};
use crate::link::{Air, BURSTS, Fate, Soft};
use crate::meter::Meter;
use crate::numeric::{from_db, key, to_db, unit};
use crate::observe::{Fix, RadioEvent};
use crate::prefetch::BATCH;
use crate::system::Cells;
use path::Cx;
use radio::coding::Modulation;
use radio::rlc::receive::BlockPart;
use radio::rlc::send::{RadioBlock, Unit};
use radio::tdma::{BLOCKS_PER_SECOND, Tick, ticks};

/// Reception of a radio block.
#[derive(Clone, Copy)]
pub(crate) struct Reception {
    /// SINR of each burst, with modulation errors.
    air: Air,
    /// Mean SINR without modulation errors, as a ratio; below, in dB.
    mean: f32,
    ci: f32,
    /// Mutual information of each burst, for quality reports.
    heard: [f32; BURSTS],
    quality: f32,
}

/// A radio block on the air.
#[derive(Clone, Copy)]
pub(crate) struct BlockOnAir {
    pub(crate) cell: u32,
    slot: u32,
    pub(crate) mobile: u32,
    power: f32,
    pub(crate) block: RadioBlock,
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
        for way in [DOWN, UP] {
            self.choose(way, now, &mut air[way]);
        }
        for way in [DOWN, UP] {
            // All receptions are computed before the first decision, so that branches on draws do not delay
            // memory accesses of the next block.
            self.meet(way, now, &air[way]);
            let met = std::mem::take(&mut self.met);
            let batches = air[way].chunks(BATCH);
            let mut ahead = batches.clone().skip(1);
            for (blocks, met) in batches.zip(met.chunks(BATCH)) {
                self.prefetch_ends(way, ahead.next().unwrap_or_default());
                for (on_air, met) in blocks.iter().zip(met) {
                    self.judge(way, now, on_air, met);
                }
            }
            air[way].clear();
            self.met = met;
        }
        self.on_air = air;
    }

    /// Delivers the packets that the previous block period completed.
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

    fn events(&mut self, now: Tick) {
        let mut list = self.wheel.take(now);
        for event in list.drain(..) {
            match event {
                Event::Started { mobile, way, generation } => {
                    let w = &self.ways[mobile as usize][usize::from(way)];
                    if w.generation == generation && w.tbf == Tbf::Starting {
                        self.admit(mobile as usize, usize::from(way), now);
                    }
                }
                Event::Report { mobile, way, generation, report, quality } => {
                    let (m, way) = (mobile as usize, usize::from(way));
                    if self.ways[m][way].generation != generation {
                        continue;
                    }
                    self.ways[m][way].reports -= 1;
                    self.ways[m][way].sender.on_report(&report, now);
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
        self.wheel.give_back(now, list);
    }

    /// Sets scheme and power after a report.
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

    /// Ends a TBF without data, now or after its hold time.
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

    /// Measurements of all mobiles.
    fn measure(&mut self, cx: &mut Cx<'_>, now: Tick) {
        for m in 0..self.ways.len() {
            let from = self.motion.serving[m];
            if let Some(to) = self.motion.measure(&self.layout, &self.shadow, m, now)
                && !self.outage[m]
            {
                self.change_cell(cx, m, from, to, now);
            } else if self.outage[m] {
                // A mobile in a cell change does not change again; its target stays the serving cell.
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

    /// Records the SGSN queue and the number of mobiles with a TBF.
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

    /// First pass: block of each cell on each timeslot.
    fn choose(&mut self, way: usize, now: Tick, air: &mut Vec<BlockOnAir>) {
        let back_off = from_db(-self.config.radio.backoff_db as f32);
        let all = (1_u128 << self.config.mac.slots) - 1;
        for cell in 0..self.slots.len() {
            self.prefetch_cell(way, cell + 1);
            let mut slots = if self.voice.is_some() { all } else { self.slots[cell].used[way] };
            while slots != 0 {
                let slot = slots.trailing_zeros() as usize;
                slots &= slots - 1;
                if let Some(speaks) = self.voice.as_ref().and_then(|v| v.on(cell, slot, now)) {
                    if speaks && way == DOWN {
                        self.medium.send_down(&self.layout, cell, slot, 1.0);
                    }
                    continue;
                }
                let ways = &self.ways;
                let turns = &mut self.slots[cell].turns[way][slot];
                let Some(mobile) = turns.next(|m| ways[m as usize][way].ready()) else { continue };
                let w = &mut self.ways[mobile as usize][way];
                let (scheme, preempts) = (w.scheme, w.preempts());
                let Some(block) = w.sender.next(now, scheme, preempts) else { continue };
                let psk8 = block.scheme.properties().modulation == Modulation::Psk8;
                let power = w.power * if psk8 { back_off } else { 1.0 };
                if way == DOWN {
                    self.medium.send_down(&self.layout, cell, slot, power);
                    if w.sender.feed.waiting() < u64::from(self.config.core.bsc_octets) {
                        self.refill(mobile as usize);
                    }
                } else {
                    self.medium.send_up(&self.layout, slot, UpBlock { mobile, cell: cell as u32, power });
                }
                air.push(BlockOnAir { cell: cell as u32, slot: slot as u32, mobile, power, block });
            }
        }
    }

    /// Second pass: reception of each radio block.
    fn meet(&mut self, way: usize, now: Tick, air: &[BlockOnAir]) {
        let average = self.config.interface == Interface::Average;
        self.met.clear();
        for (at, on) in air.iter().enumerate() {
            if way == DOWN && at.is_multiple_of(BATCH) {
                self.prefetch_gains(air.chunks(BATCH).nth(at / BATCH + 1).unwrap_or_default());
            }
            let (cell, slot, m) = (on.cell as usize, on.slot as usize, on.mobile as usize);
            let air = if way == DOWN {
                self.medium.down(&self.layout, &self.motion.gains, m, cell, slot, now)
            } else {
                let block = UpBlock { mobile: on.mobile, cell: on.cell, power: on.power };
                self.medium.up(&self.layout, &self.motion.gains, &block, slot, now)
            };
            let mean = 0.25 * (air.sinr[0] + air.sinr[1] + air.sinr[2] + air.sinr[3]);
            let mut air = air;
            let (heard, quality) = if average {
                air.sinr = [self.link.capped(air.sinr[0]); BURSTS];
                self.link.steady(air.sinr[0])
            } else {
                air.sinr.iter_mut().for_each(|s| *s = self.link.capped(*s));
                let heard = self.link.heard(&air);
                (heard, self.link.quality(&heard))
            };
            self.met.push(Reception { air, mean, ci: to_db(mean), heard, quality });
        }
    }

    /// Decides which RLC blocks of a radio block arrive.
    fn judge(&mut self, way: usize, now: Tick, on: &BlockOnAir, met: &Reception) {
        let (cell, slot, m) = (on.cell as usize, on.slot as usize, on.mobile as usize);
        let &Reception { air, mean, ci, heard: bursts, quality } = met;
        let hash = key(
            self.seed,
            u64::from(now) << 24 | u64::from(on.cell) << 8 | (on.slot << 1) as u64 | way as u64,
        );
        let counts = &mut self.meter.mobiles[m].ways[way];
        counts.blocks += 1;
        counts.ci_db += f64::from(ci);
        self.meter.cells[cell].blocks[way] += 1;
        let at = cell * self.config.mac.slots as usize + slot;
        self.meter.slots[way][at] += 1;
        let bin = Meter::bin(ci);
        self.meter.radio[way][bin].blocks += 1;
        let forget = self.config.adaptation.forget as f32;
        self.ways[m][way].quality.block(quality, ci, forget);
        let watched = self.observe.mobile == Some(on.mobile);
        let average = self.config.interface == Interface::Average;
        let heard = average || self.link.header(&air, on.block.scheme, quality, hash);
        let (mut sent, mut lost) = (0, 0);
        for (second, rlc) in on.block.units().enumerate() {
            let fate = if heard {
                self.fate(
                    way,
                    now,
                    on,
                    (&air, &bursts),
                    (mean, ci),
                    second == 1,
                    &rlc,
                    hash >> (12 + 12 * second),
                )
            } else {
                Fate::NoHeader
            };
            sent += 1;
            lost += u64::from(fate != Fate::Arrived);
            if fate == Fate::Arrived {
                self.arrived(way, m, at, &rlc, on);
            }
            if watched {
                let arrived = fate == Fate::Arrived;
                let block = RadioEvent::Block { way, scheme: on.block.scheme, ci_db: ci, arrived };
                self.records.events.push((radio::tdma::start_of(now), block));
            }
        }
        self.count(way, bin, on, (sent, lost));
        self.poll(way, now, m, heard, hash);
    }

    /// Whether an RLC block is decoded.
    #[allow(
        clippy::too_many_arguments,
        reason = "the parts of one decision; a struct of them would be taken apart at once"
    )]
    fn fate(
        &mut self,
        way: usize,
        now: Tick,
        on: &BlockOnAir,
        (air, bursts): (&Air, &[f32; 4]),
        mean: (f32, f32),
        second: bool,
        rlc: &Unit,
        hash: u64,
    ) -> Fate {
        let (m, cell) = (on.mobile as usize, on.cell as usize);
        let w = &mut self.ways[m][way];
        let at = rlc.bsn as usize & (w.soft.len() - 1);
        let mut part = Soft::default();
        let soft = if rlc.part == BlockPart::Whole { &mut w.soft[at] } else { &mut part };
        if rlc.attempt == 0 {
            *soft = Soft::default();
        }
        // A half is decoded by its own scheme without combining.
        let first = if rlc.part == BlockPart::Whole { rlc.first_scheme } else { on.block.scheme };
        if self.config.interface == Interface::Bursts {
            return self.link.data(air, bursts, on.block.scheme, second, first, soft, hash);
        }
        let draw = self.medium.draw(&self.layout, m, cell, now, hash << 28);
        self.link.data_average(mean, on.block.scheme, first, soft, draw)
    }

    /// Counts the RLC blocks of a radio block.
    #[inline]
    fn count(&mut self, way: usize, bin: usize, on: &BlockOnAir, (sent, lost): (u64, u64)) {
        let scheme = &mut self.meter.radio[way][bin].schemes[crate::link::index(on.block.scheme)];
        scheme[0] += sent;
        scheme[1] += lost;
        let counts = &mut self.meter.mobiles[on.mobile as usize].ways[way];
        counts.rlc_sent += sent;
        counts.rlc_lost += lost;
        let counts = &mut self.meter.cells[on.cell as usize];
        counts.rlc_sent[way] += sent;
        counts.rlc_lost[way] += lost;
    }

    /// Handles an RLC block that has arrived.
    fn arrived(&mut self, way: usize, m: usize, at: usize, rlc: &Unit, on: &BlockOnAir) {
        let w = &mut self.ways[m][way];
        let taken = w.receiver.take(rlc.bsn, rlc.part, rlc.last);
        if taken.duplicate {
            return;
        }
        self.meter.slot_octets[way][at] += u64::from(on.block.scheme.payload());
        let delivered = &mut self.delivered;
        w.sender.feed.deliver(taken.complete, |packet| delivered.push((on.mobile, way, packet)));
    }

    /// Polls for a report, if one is due; the report is sent if the radio block's header was decoded.
    fn poll(&mut self, way: usize, now: Tick, m: usize, heard: bool, hash: u64) {
        let w = &mut self.ways[m][way];
        let force = !w.sender.has_work() && w.reports == 0;
        if !w.poller.block(false, force) || !heard {
            return;
        }
        let error = self.config.adaptation.error_db as f32;
        let error = if error > 0.0 { error * normal(hash) } else { 0.0 };
        w.reports += 1;
        let event = Event::Report {
            mobile: m as u32,
            way: way as u8,
            generation: w.generation,
            report: w.receiver.report(),
            quality: w.quality.report(error),
        };
        let delay = ticks(self.config.mac.report_delay).max(1);
        self.wheel.add(now, delay, event);
    }
}

/// A standard normal number from a hash: the sum of four uniform ones.
fn normal(hash: u64) -> f32 {
    let sum: f32 = (0..4).map(|k| unit(key(hash, k))).sum();
    (sum - 2.0) * 1.732_050_8
}
