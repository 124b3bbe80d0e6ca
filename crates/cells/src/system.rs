//! Network of GERAN cells as one network element: SGSN queues, core network, set-up, timeslots and release of TBFs,
//! cell changes, and the schedule of 20 ms ticks.
//!
//! A mobile `m` has the ports `2 m` (its host) and `2 m + 1` (toward the server). A packet from the server crosses
//! the core network, is queued at the SGSN, is segmented into RLC blocks by byte offset, and leaves by port `2 m`
//! when complete. A packet from the mobile is queued in its uplink LLC queue, crosses the air interface and the
//! core network, and leaves by port `2 m + 1`. With a TBF, a scheduled event or voice load there is a tick every 20
//! ms; otherwise ticks are only at measurements of moving mobiles.

use crate::adaptation::Chooser;
use crate::air::Medium;
use crate::config::{CellChange, Config, SizeCounting};
use crate::curve::Curves;
use crate::direction::{DOWN, DirectionState, Event, Tbf, UP, Wheel};
use crate::geometry::{Layout, Place};
use crate::link::Link;
use crate::meter::{AdmissionCounts, Meter, VoiceCounts};
use crate::motion::Motion;
use crate::numeric::key;
use crate::observe::{Observe, RadioEvent, Records};
use crate::shadow::Shadow;
use crate::slots::CellSlots;
use crate::tick::{BlockOnAir, Bursts, Reception, Rules};
use crate::voice::Voice;
use base::packet::{DropReason, Packet};
use base::rng::Seed;
use base::{Span, Time};
use path::{Cx, Element, Port, Signal};
use radio::tdma::{self, Tick, ticks};
use std::collections::VecDeque;
use std::sync::Arc;

/// Parameters of a network of cells, shared by all repetitions.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Configuration of the network and its mobiles.
    pub config: Config,
    /// Link-level curves.
    pub curves: Curves,
    /// Trace records to keep in addition to the counters.
    pub observe: Observe,
}

/// SGSN queue of a mobile.
#[derive(Default)]
pub(crate) struct Sgsn {
    pub(crate) queue: VecDeque<Packet>,
    /// Octets in the queue, in the counted sizes of [`SizeCounting`].
    pub(crate) octets: u32,
}

/// A network of cells with its mobiles.
pub struct Cells {
    pub(crate) config: Config,
    pub(crate) layout: Layout,
    pub(crate) shadow: Arc<Shadow>,
    pub(crate) link: Link,
    pub(crate) chooser: Chooser,
    pub(crate) motion: Motion,
    pub(crate) medium: Medium,
    pub(crate) slots: Vec<CellSlots>,
    pub(crate) ways: Vec<[DirectionState; 2]>,
    pub(crate) sgsn: Vec<Sgsn>,
    /// For each mobile: true during a cell change.
    pub(crate) outage: Vec<bool>,
    pub(crate) wheel: Wheel,
    /// Packets completed in this block period, to deliver at the next tick: mobile, direction, packet.
    pub(crate) delivered: Vec<(u32, usize, Packet)>,
    /// Packets in the core network by direction: time of exit, mobile, packet.
    core: [VecDeque<(Time, u32, Packet)>; 2],
    /// By direction: time until which the core network's link transmits.
    core_busy: [Time; 2],
    /// Number of executed ticks including skipped ones: the last executed tick plus one.
    pub(crate) done: Tick,
    /// Time of the next tick; never while the network is idle.
    next_tick: Time,
    /// After [`Signal::Cease`], until [`Signal::Open`]: no ticks for motion and voice alone.
    closed: bool,
    /// Number of directions of mobiles with a TBF in any state.
    pub(crate) live: usize,
    /// Measurement period, ticks.
    pub(crate) period: Tick,
    pub(crate) voice: Option<Voice>,
    pub(crate) meter: Meter,
    /// Key of the draws of transmissions and timeslots.
    pub(crate) seed: u64,
    pub(crate) observe: Observe,
    pub(crate) records: Records,
    /// Places for the blocks on the air, one for each timeslot of each cell.
    pub(crate) on_air: [Vec<BlockOnAir>; 2],
    /// Buffer: reception of each radio block of a direction.
    pub(crate) met: Vec<Reception>,
    /// Buffer: reception of the bursts of each radio block; empty with average curves.
    pub(crate) bursts: Vec<Bursts>,
    pub(crate) rules: Rules,
}

impl Cells {
    /// A network of cells for one repetition. `name` keys the random streams.
    pub fn new(plan: &Plan, name: &str, seed: Seed) -> Cells {
        let config = plan.config.clone();
        let layout = Layout::new(config.side, &config.radio, config.reuse);
        let shadow = crate::weather::shadow(&config, &layout, name, seed);
        let link = Link::new(&config, &plan.curves);
        let chooser = Chooser::new(&config, &link);
        let motion = Motion::new(&config, &layout, &shadow, name, seed);
        let bits = seed.stream(name, "air").bits();
        let mobiles = config.mobiles.len();
        let mac = &config.mac;
        let longest = [
            mac.report_delay,
            mac.setup[0],
            mac.setup[1],
            mac.hold[0],
            mac.hold[1],
            config.reselection.outage,
        ];
        let longest = longest.into_iter().map(ticks).max().unwrap_or(0);
        let ways =
            (0..mobiles).map(|_| [DOWN, UP].map(|way| DirectionState::new(&config, way, &chooser))).collect();
        let mut cells = Cells {
            medium: Medium::new(&config, &layout, bits),
            slots: vec![CellSlots::new(mac.slots, mac.most); layout.cells()],
            ways,
            sgsn: (0..mobiles).map(|_| Sgsn::default()).collect(),
            outage: vec![false; mobiles],
            wheel: Wheel::new(longest.min(1 << 16)),
            delivered: Vec::new(),
            core: Default::default(),
            core_busy: [Time::ZERO; 2],
            done: 0,
            next_tick: Time::NEVER,
            closed: false,
            live: 0,
            period: ticks(config.reselection.period).max(1),
            voice: Voice::new(&config, layout.cells(), name, seed),
            meter: Meter::new(mobiles, layout.cells(), mac.slots as usize),
            seed: bits,
            observe: plan.observe,
            records: Records::default(),
            on_air: [DOWN, UP].map(|_| vec![BlockOnAir::EMPTY; layout.cells() * mac.slots as usize]),
            met: Vec::new(),
            bursts: Vec::new(),
            rules: Rules::new(&config),
            config,
            layout,
            shadow,
            link,
            chooser,
            motion,
        };
        (0..mobiles).for_each(|m| cells.set_uplink_power(m));
        cells.plan_tick(Time::ZERO);
        cells
    }

    /// Counters by mobile, cell, timeslot and scheme.
    pub fn meter(&self) -> &Meter {
        &self.meter
    }
    /// Counters of the voice calls of a cell; `None` without voice load.
    pub fn voice(&self, cell: usize) -> Option<VoiceCounts> {
        Some(self.voice.as_ref()?.counts(cell, self.done))
    }
    /// Counters of the admission of TBFs in a cell, downlink and uplink.
    pub fn admission(&self, cell: usize) -> [AdmissionCounts; 2] {
        self.slots[cell].admission
    }
    /// Layout of sites, cells and frequency groups.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }
    /// Configuration of the network.
    pub fn config(&self) -> &Config {
        &self.config
    }
    /// Serving cell and position of a mobile.
    pub fn mobile(&self, mobile: usize) -> (u32, Place) {
        (self.motion.serving[mobile], self.motion.places[mobile])
    }
    /// Trace records, for pictures.
    pub fn records(&self) -> &Records {
        &self.records
    }

    /// Strongest cell at a position, and the C/I there in dB while all cells of its frequency group transmit at
    /// maximum power.
    pub fn static_ci(&self, place: Place) -> (u32, f32) {
        let mut shadows = vec![0.0; self.layout.sites()];
        self.shadow.at(place, &mut shadows);
        let mut gains = vec![0.0; self.layout.stride()];
        self.layout.gains(place, &shadows, &mut gains);
        let gain = |cell: usize| gains[self.layout.index(cell)];
        let best = (0..self.layout.cells()).max_by(|a, b| gain(*a).total_cmp(&gain(*b))).unwrap_or(0);
        let group = &self.layout.groups[self.layout.lane[best].0 as usize];
        let total: f32 = group.iter().map(|c| gain(*c as usize)).sum();
        let noise = self.medium.noise_down();
        (best as u32, crate::numeric::to_db(gain(best) / (total - gain(best) + noise)))
    }

    /// Records a radio event at the start of tick `now`, if `m` is the observed mobile.
    #[inline]
    pub(crate) fn note(&mut self, m: usize, now: Tick, what: RadioEvent) {
        if self.observe.mobile == Some(m as u32) {
            self.records.events.push((tdma::start_of(now), what));
        }
    }

    /// Sets a mobile's uplink power by open-loop power control, from the level of the serving cell.
    pub(crate) fn set_uplink_power(&mut self, m: usize) {
        let at = self.layout.index(self.motion.serving[m] as usize);
        let level = Medium::received_dbm(&self.config, self.motion.gains.at(m, at));
        let db = self.config.power[UP].open_loop(level, self.config.radio.mobile_dbm as f32);
        self.ways[m][UP].set_power(db);
    }

    /// Counted size of a packet in the SGSN buffer, octets.
    fn counted(&self, packet: &Packet) -> u32 {
        match self.config.core.counting {
            SizeCounting::Ip => packet.size,
            SizeCounting::Bssgp => packet.size + self.config.core.llc_octets + self.config.core.bssgp_octets,
        }
    }

    /// Sends a packet into the core network: transmission time at `rate_bps`, then the one-way delay.
    pub(crate) fn cross_core(&mut self, way: usize, now: Time, mobile: u32, packet: Packet) {
        let core = &self.config.core;
        let start = self.core_busy[way].max(now);
        let bits = 8_000_000_000 * u64::from(packet.size);
        let ends = core.rate_bps.map_or(now, |bps| start + Span::from_nanos(bits / bps.max(1)));
        self.core_busy[way] = ends;
        self.core[way].push_back((ends + core.delay, mobile, packet));
    }

    /// Forwards all packets whose core network delay has passed: uplink to the output port, downlink to the SGSN.
    fn leave_core(&mut self, cx: &mut Cx<'_>) {
        let now = cx.now();
        while let Some(&(_, mobile, packet)) = self.core[UP].front().filter(|c| c.0 <= now) {
            self.core[UP].pop_front();
            self.hand_over(cx, UP, mobile, packet);
        }
        while let Some(&(_, mobile, packet)) = self.core[DOWN].front().filter(|c| c.0 <= now) {
            self.core[DOWN].pop_front();
            self.at_sgsn(cx, mobile as usize, packet);
        }
    }

    /// Counts a packet and forwards it to the output port of its direction.
    pub(crate) fn hand_over(&mut self, cx: &mut Cx<'_>, way: usize, mobile: u32, packet: Packet) {
        let counts = &mut self.meter.mobiles[mobile as usize].ways[way];
        counts.packets += 1;
        counts.octets += u64::from(packet.size);
        counts.delay += cx.now().since(packet.born);
        let cell = self.motion.serving[mobile as usize] as usize;
        self.meter.cells[cell].octets[way] += u64::from(packet.size);
        cx.count_hop();
        cx.forward(Port((2 * mobile) as u16 + way as u16), packet);
    }

    /// Enqueues a downlink packet at the SGSN, or drops it if the buffer is full; starts a TBF.
    fn at_sgsn(&mut self, cx: &mut Cx<'_>, m: usize, packet: Packet) {
        let counted = self.counted(&packet);
        if self.sgsn[m].octets + counted > self.config.core.buffer {
            self.meter.mobiles[m].dropped += 1;
            self.note(m, tdma::tick_of(cx.now()), RadioEvent::Dropped { octets: packet.size });
            return cx.drop(packet, DropReason::QueueFull);
        }
        self.sgsn[m].octets += counted;
        self.sgsn[m].queue.push_back(packet);
        if !self.outage[m] {
            self.refill(m);
            self.start_tbf(m, DOWN, tdma::tick_of(cx.now()));
        }
    }

    /// Moves packets from the SGSN queue into the downlink LLC queue until the LLC queue has `bsc_octets`.
    pub(crate) fn refill(&mut self, m: usize) {
        let feed = &mut self.ways[m][DOWN].sender.feed;
        while feed.waiting() < u64::from(self.config.core.bsc_octets) {
            let Some(packet) = self.sgsn[m].queue.pop_front() else { return };
            feed.push(packet.size + self.config.core.llc_octets, packet);
            let core = &self.config.core;
            self.sgsn[m].octets -= match core.counting {
                SizeCounting::Ip => packet.size,
                SizeCounting::Bssgp => packet.size + core.llc_octets + core.bssgp_octets,
            };
        }
    }

    /// Starts the set-up of a TBF if the direction has data, no TBF, and its mobile is in no cell change.
    pub(crate) fn start_tbf(&mut self, m: usize, way: usize, now: Tick) {
        let w = &mut self.ways[m][way];
        if w.tbf != Tbf::Idle || self.outage[m] || w.sender.is_done() {
            return;
        }
        w.tbf = Tbf::Starting;
        self.live += 1;
        let setup = ticks(self.config.mac.setup[way]).max(1);
        // `done` counts if the tick of `now` has already been executed.
        let event = Event::Started { mobile: m as u32, way: way as u8, generation: w.generation };
        self.wheel.add(now.max(self.done), setup, event);
    }

    /// Admits a TBF after its set-up: allocates timeslots, or queues it until another TBF of the cell ends.
    pub(crate) fn admit(&mut self, m: usize, way: usize, now: Tick) {
        let cell = self.motion.serving[m] as usize;
        self.slots[cell].admission[way].requests += 1;
        if !self.give_slots(m, way, now) {
            self.slots[cell].admission[way].queued += 1;
            self.ways[m][way].tbf = Tbf::Queued;
            self.slots[cell].waiting[way].push_back(m as u32);
        }
    }

    /// Allocates timeslots to a TBF, for the uplink within the downlink timeslots if possible; false if every
    /// position has a full timeslot.
    fn give_slots(&mut self, m: usize, way: usize, now: Tick) -> bool {
        let cell = self.motion.serving[m] as usize;
        let other = &self.ways[m][1 - way];
        let near = (way == UP && other.tbf == Tbf::Active).then_some((other.first, other.slots));
        let hash = key(self.seed ^ u64::from(now), m as u64);
        let slots = self.ways[m][way].slots;
        let first = self.slots[cell].allocate(way, m as u32, slots, near, hash);
        let first = first.or_else(|| self.slots[cell].allocate(way, m as u32, slots, None, hash));
        let Some(first) = first else { return false };
        let w = &mut self.ways[m][way];
        (w.first, w.tbf) = (first, Tbf::Active);
        self.meter.mobiles[m].ways[way].tbfs += 1;
        self.note(m, now, RadioEvent::TbfBegins { way, first });
        true
    }

    /// Ends a TBF in any state and admits the waiting TBFs of `cell`.
    pub(crate) fn end_tbf(&mut self, m: usize, way: usize, cell: usize, now: Tick) {
        let w = &mut self.ways[m][way];
        match w.tbf {
            Tbf::Idle => return,
            Tbf::Active => {
                self.slots[cell].release(way, m as u32, w.first, w.slots);
                self.note(m, now, RadioEvent::TbfEnds { way });
            }
            Tbf::Queued => self.slots[cell].waiting[way].retain(|other| *other != m as u32),
            Tbf::Starting => {}
        }
        let w = &mut self.ways[m][way];
        w.tbf = Tbf::Idle;
        w.restart(self.config.mac.resegment, self.config.mac.poll);
        self.live -= 1;
        // All mobiles need the same number of timeslots: if the first waiting one gets none, neither do the others.
        while let Some(&first) = self.slots[cell].waiting[way].front() {
            if !self.give_slots(first as usize, way, now) {
                break;
            }
            self.slots[cell].waiting[way].pop_front();
        }
    }

    /// Begins a cell change: discards frames as configured, ends TBFs, resets quality and power, starts the outage.
    pub(crate) fn change_cell(&mut self, cx: &mut Cx<'_>, m: usize, from: u32, to: u32, now: Tick) {
        self.meter.mobiles[m].changes.push((cx.now(), to));
        self.meter.cells[to as usize].entered += 1;
        self.note(m, now, RadioEvent::Leaves { from, to });
        let data = self.config.reselection.data;
        let llc = self.config.core.llc_octets;
        let mut lost = Vec::new();
        if data != CellChange::Kept {
            let feed = &mut self.ways[m][DOWN].sender.feed;
            let mut untouched = Vec::new();
            if data == CellChange::RlcLost {
                feed.take_untouched(|p| untouched.push(p));
            }
            feed.clear(|p, delivered| lost.extend((!delivered).then_some(p)));
            untouched.into_iter().for_each(|p| feed.push(p.size + llc, p));
            if data == CellChange::Lost {
                lost.extend(self.sgsn[m].queue.drain(..));
                self.sgsn[m].octets = 0;
            }
        }
        // TBFs end after lost frames are removed, because the end of a TBF makes all queued frames wait for
        // segmentation again.
        [DOWN, UP].into_iter().for_each(|way| self.end_tbf(m, way, from as usize, now));
        self.meter.mobiles[m].flushed += lost.len() as u64;
        lost.into_iter().for_each(|p| cx.drop(p, DropReason::Flushed));
        for way in &mut self.ways[m] {
            way.quality = crate::adaptation::Quality::NEW;
            way.scheme = self.chooser.initial();
            way.set_power(0.0);
        }
        self.set_uplink_power(m);
        self.outage[m] = true;
        let outage = ticks(self.config.reselection.outage);
        self.wheel.add(now, outage.max(1), Event::Arrived { mobile: m as u32 });
    }

    /// Computes the time of the next tick after `now`.
    pub(crate) fn plan_tick(&mut self, now: Time) {
        let busy = self.live > 0 || !self.wheel.is_empty() || !self.delivered.is_empty();
        let busy = busy || (self.voice.is_some() && !self.closed);
        let next = tdma::next_tick(now).max(self.done);
        self.next_tick = if busy {
            tdma::start_of(next)
        } else if self.motion.moves() && !self.closed {
            tdma::start_of(next.div_ceil(self.period) * self.period)
        } else {
            Time::NEVER
        };
    }
}

impl Element for Cells {
    fn on_packet(&mut self, cx: &mut Cx<'_>, port: Port, packet: Packet) {
        let (mobile, now) = (u32::from(port.0) / 2, cx.now());
        if port.0 % 2 == 1 {
            self.cross_core(DOWN, now, mobile, packet);
            return;
        }
        let m = mobile as usize;
        self.ways[m][UP].sender.feed.push(packet.size + self.config.core.llc_octets, packet);
        self.start_tbf(m, UP, tdma::tick_of(now));
        self.plan_tick(now);
    }

    fn on_wake(&mut self, cx: &mut Cx<'_>) {
        let now = cx.now();
        self.leave_core(cx);
        if self.next_tick <= now {
            let tick = tdma::tick_of(now);
            self.done = tick + 1;
            self.tick(cx, tick);
        }
        self.plan_tick(now);
    }

    fn next_wake(&self) -> Time {
        let core = |way: usize| self.core[way].front().map_or(Time::NEVER, |c| c.0);
        self.next_tick.min(core(DOWN)).min(core(UP))
    }

    fn on_signal(&mut self, cx: &mut Cx<'_>, signal: Signal) {
        match signal {
            Signal::Cease => self.closed = true,
            Signal::Open => self.closed = false,
            _ => return,
        }
        self.plan_tick(cx.now());
    }

    fn holds(&self) -> usize {
        let undelivered = |w: &DirectionState| w.sender.feed.pdus().filter(|p| !p.delivered).count();
        let ways: usize = self.ways.iter().flatten().map(undelivered).sum();
        let sgsn: usize = self.sgsn.iter().map(|s| s.queue.len()).sum();
        ways + sgsn + self.delivered.len() + self.core[DOWN].len() + self.core[UP].len()
    }
}
