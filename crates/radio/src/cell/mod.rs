//! Model cell of GPRS and EGPRS ([`Cell`]): timeslots, scheduling of radio blocks in each tick, mobiles with bearers from
//! GGSN to terminal.
//!
//! [`Cell::tick`] executes each block period with activity. Between ticks packets only
//! join queues, whose departures are computed in logical time. Downlink: core, SGSN queue with BSSGP flow
//! control ([`crate::bssgp`]), Gb, PCU queue, TBF, blocks, terminal. Uplink: terminal buffer, TBF, blocks,
//! Gb, core.
//!
//! | file | subject |
//! |---|---|
//! | `config` | configuration as plain data |
//! | `user` | one mobile: queues, TBFs, reports, timers |
//! | `down`, `up` | radio blocks of a direction |
//! | `changes` | cell changes and voice calls |
//! | `frames`, `abm` | packets and their LLC frames; acknowledged LLC |
//! | `counts` | counters |
//! | `display` | serving cell of a mobile, as its engineering mode shows it |
//! | `load` | calls and other packet users of the cell |
//! | `abis` | capacity between BSC and base station |
//! | `restart` | restarts of network elements |
//! | `traffic` | traffic classes |
//! | `gateway` | core network, SGSN queue and Gb, terminal, cable |
//! | `content` | capture log of blocks and frames |
//! | `element` | the network element |

mod abis;
mod abm;
mod changes;
pub mod config;
pub mod content;
pub mod counts;
pub mod display;
mod down;
pub mod element;
mod frames;
mod gateway;
mod load;
mod restart;
mod setup;
mod tbf_direction;
mod traffic;
mod up;
mod user;

use crate::bssgp::CellBucket;
use crate::coding::Scheme;
use crate::llc::Segmentation;
use crate::mac::ring::Ring;
use crate::tdma::{self, Tick};
use abis::{Abis, AbisFrames};
use base::event::Event;
use base::packet::{DropReason, Packet};
use base::rng::Seed;
use base::{Span, Time};
use config::{CellConfig, PcuSite};
use content::Content;
use counts::{SlotCounts, UserCounts};
use load::Load;
use restart::RestartProcess;
use std::collections::VecDeque;
use user::User;

/// Direction of a TBF.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// Downlink, to the mobile.
    Down,
    /// Uplink, from the mobile.
    Up,
}

/// Round robin of one direction of a timeslot.
#[derive(Default)]
struct Slot {
    ring: Ring,
    /// Mobile in its turn, and its remaining blocks.
    holder: Option<(u8, u32)>,
    used: u64,
}

impl Slot {
    /// Mobile of the next block: the present one during its turn, otherwise the next mobile of highest priority.
    #[inline]
    fn next(&mut self, users: &[User], turn: u32, priority: impl Fn(&User) -> Option<u8>) -> Option<u8> {
        if turn <= 1 && users.len() == 1 {
            return priority(&users[0]).filter(|_| !self.ring.is_empty()).map(|_| 0);
        }
        if let Some((member, left)) = self.holder
            && left > 0
            && priority(&users[usize::from(member)]).is_some_and(|p| p >= 2)
        {
            self.holder = Some((member, left - 1));
            return Some(member);
        }
        let member = self.ring.next_by(|m| priority(&users[usize::from(m)]))?;
        self.holder = Some((member, (turn * users[usize::from(member)].weight).saturating_sub(1)));
        Some(member)
    }
}

/// A Packet Uplink Ack/Nack that waits for a downlink block, not before tick `ready`.
#[derive(Clone, Copy)]
struct PendingReport {
    user: u8,
    ready: Tick,
}

/// Timeslots of the cell: round robins, control blocks, reservations.
struct Air {
    /// Number of timeslots, 1 to 8; the rest of each table is unused.
    slots: usize,
    down: [Slot; 8],
    up: [Slot; 8],
    /// By timeslot: number of mobiles placed on the timeslot.
    load: Vec<u32>,
    /// By timeslot: queue of control blocks.
    control: [VecDeque<PendingReport>; 8],
    /// Uplink blocks reserved by polls, by tick modulo [`RESERVED`] and timeslot.
    reserved: [[Reservation; 8]; RESERVED],
    /// Bit sets of the timeslots with a downlink TBF and with an uplink TBF.
    in_use: [u8; 2],
    /// Bit set of the timeslots with a queued control block.
    controlled: u8,
    /// Bit sets of the timeslots with a reservation, by tick modulo [`RESERVED`].
    polled: [u8; RESERVED],
}

impl Air {
    /// `slots` timeslots, 1 to 8, without TBFs.
    fn new(slots: usize) -> Air {
        Air {
            slots,
            down: Default::default(),
            up: Default::default(),
            load: vec![0; slots],
            control: Default::default(),
            reserved: Default::default(),
            in_use: [0; 2],
            controlled: 0,
            polled: [0; RESERVED],
        }
    }

    /// Assigns these timeslots to the mobile's TBF of this direction, in place of its present ones.
    fn occupy(&mut self, direction: Direction, user: u8, slots: std::ops::Range<usize>) {
        let way = usize::from(direction == Direction::Up);
        let rings = if direction == Direction::Up { &mut self.up } else { &mut self.down };
        self.in_use[way] = 0;
        for (s, slot) in rings.iter_mut().take(self.slots).enumerate() {
            if slots.contains(&s) {
                slot.ring.join(user);
            } else {
                slot.ring.leave(user);
            }
            self.in_use[way] |= u8::from(!slot.ring.is_empty()) << s;
        }
    }

    /// Queues a control block on a timeslot.
    fn queue(&mut self, slot: usize, control: PendingReport) {
        self.control[slot].push_back(control);
        self.controlled |= 1 << slot;
    }

    /// Takes the first control block of a timeslot.
    fn dequeue(&mut self, slot: usize) -> Option<PendingReport> {
        let control = self.control[slot].pop_front();
        self.controlled &= !(u8::from(self.control[slot].is_empty()) << slot);
        control
    }

    /// Reserves the first free uplink block that a poll at tick `n` can address; returns its tick.
    fn reserve(&mut self, slot: usize, n: Tick, reservation: Reservation) -> Option<Tick> {
        let free = |t: &Tick| self.polled[*t as usize % RESERVED] >> slot & 1 == 0;
        let at = RRBP.map(|k| n + k).find(free)?;
        self.reserved[at as usize % RESERVED][slot] = reservation;
        self.polled[at as usize % RESERVED] |= 1 << slot;
        Some(at)
    }

    /// Takes and clears the reservation of an uplink block.
    fn take_reservation(&mut self, slot: usize, n: Tick) -> Reservation {
        let at = n as usize % RESERVED;
        self.polled[at] &= !(1 << slot);
        std::mem::take(&mut self.reserved[at][slot])
    }

    /// Removes the reservations of a released downlink TBF.
    fn forget_polls(&mut self, user: u8) {
        for (row, polled) in self.reserved.iter_mut().zip(&mut self.polled) {
            for (s, at) in row.iter_mut().enumerate().filter(|(_, at)| at.of == user + 1) {
                *at = Reservation::default();
                *polled &= !(1 << s);
            }
        }
    }
}

/// Timeslots of a bit set in ascending order from `from`, then from 0.
#[inline]
fn timeslots_from(set: u8, from: usize) -> impl Iterator<Item = usize> {
    let mut left = set.rotate_right(from as u32);
    std::iter::from_fn(move || {
        if left == 0 {
            return None;
        }
        let slot = (left.trailing_zeros() as usize + from) % 8;
        left &= left - 1;
        Some(slot)
    })
}

/// Charges a block to the capacity of Abis, if that is limited; `way`: 0 downlink, 1 uplink.
fn take(abis: &mut Option<[Abis; 2]>, scheme: Scheme, way: usize) {
    if let Some(abis) = abis {
        abis[way].take(scheme, way);
    }
}

/// An uplink block that a poll reserved for a report.
#[derive(Clone, Copy, Default)]
struct Reservation {
    /// Index of the mobile plus 1; 0: no reservation.
    of: u8,
    /// The mobile decoded the poll; otherwise the reserved block stays empty.
    heard: bool,
}

/// Length of the reservation tables, ticks.
const RESERVED: usize = 8;
/// Delay of the uplink block that a poll reserves, block periods (RRBP; 44.060 section 10.4.5).
const RRBP: std::ops::RangeInclusive<u32> = 3..=6;

/// State of the cell that its mobiles change: flow control, event list, capture log, dropped packets.
struct Side {
    /// BSSGP flow control of the cell.
    bucket: Option<CellBucket>,
    /// Abis beyond a PCU in the base station, if its rate is limited.
    abis: Option<AbisFrames>,
    log: bool,
    /// Capture log, if the run is captured.
    content: Option<Box<Content>>,
    events: Vec<(Time, Event)>,
    drops: Vec<(Packet, DropReason)>,
    /// Time at which the next packet leaves the bearer; [`Time::NEVER`] without such a packet.
    out_at: Time,
}

impl Side {
    #[inline]
    fn note(&mut self, t: Time, event: impl FnOnce() -> Event) {
        if self.log {
            self.events.push((t, event()));
        }
    }

    /// Writes to the capture log, if there is one.
    #[inline]
    fn content(&mut self, write: impl FnOnce(&mut Content)) {
        if let Some(content) = &mut self.content {
            write(content);
        }
    }

    /// Adds the frames of a packet to the capture log; returns the index of the first frame.
    fn describe(&mut self, user: u8, up: bool, packet: &Packet, segmentation: Segmentation) -> u32 {
        self.content.as_mut().map_or(0, |log| log.describe(user, up, packet, segmentation))
    }
}

/// Model cell of GPRS and EGPRS.
pub struct Cell {
    turn: u32,
    users: Vec<User>,
    air: Air,
    side: Side,
    load: Option<Load>,
    /// Capacity of Abis, downlink and uplink, if radio blocks cross it.
    abis: Option<[Abis; 2]>,
    pcu_at: PcuSite,
    restarts: Vec<RestartProcess>,
    /// Next tick with possible activity.
    next: Option<Tick>,
    /// First tick that has not been executed.
    done: Tick,
}

impl Cell {
    /// A cell in its initial state.
    pub fn new(config: &CellConfig, seed: Seed) -> Self {
        let slots = usize::from(config.slots.clamp(1, 8));
        let mut air = Air::new(slots);
        let bucket = config.bucket.map(CellBucket::new);
        let (events, drops) = (Vec::new(), Vec::new());
        let in_bts = config.pcu_at == PcuSite::Bts;
        let abis = config.abis.filter(|_| in_bts).map(AbisFrames::new);
        let mut side = Side { bucket, abis, log: false, content: None, events, drops, out_at: Time::NEVER };
        let mut users: Vec<User> = Vec::new();
        for (i, user) in config.users.iter().take(32).enumerate() {
            users.push(User::new(i as u8, &user.with_pcu_at(config.pcu_at), slots, seed));
        }
        let name = config.users.first().map_or("", |u| u.name.as_str());
        let load = config.load.map(|l| Load::new(&l, slots, name, seed));
        let safe = load.as_ref().map_or(slots, Load::reserved);
        for user in &mut users {
            user.begin(safe, &mut air, &mut side);
        }
        let abis = config.abis.filter(|_| !in_bts).map(|rate| [Abis::new(rate); 2]);
        let restarts = config.restarts.iter().map(|r| RestartProcess::new(r, seed)).collect();
        let (turn, pcu_at) = (config.turn.max(1), config.pcu_at);
        let mut cell = Cell { turn, users, air, side, load, abis, pcu_at, restarts, next: None, done: 0 };
        let next = cell.users.iter().map(|u| u.due).min().unwrap_or(Tick::MAX).min(cell.next_restart());
        cell.next = (next < Tick::MAX).then_some(next);
        cell
    }

    /// A packet enters the bearer of a mobile.
    fn take(&mut self, user: usize, direction: Direction, packet: Packet, now: Time) {
        let Some(u) = self.users.get_mut(user) else {
            self.side.drops.push((packet, DropReason::NoRoute));
            return;
        };
        let at = match direction {
            Direction::Down => u.enter_down(packet, now, &mut self.side),
            Direction::Up => u.enter_up(packet, now, &mut self.side),
        };
        let tick = tdma::next_tick(at).max(self.done);
        (u.due, u.calm) = (u.due.min(tick), 0);
        self.next = Some(self.next.map_or(tick, |n| n.min(tick)));
    }

    /// Executes one block period.
    fn tick(&mut self, n: Tick) {
        let t = tdma::start_of(n);
        self.done = n + 1;
        if !self.restarts.is_empty() {
            self.restart_elements(n, t);
        }
        let Cell { users, air, side, turn, load, abis, .. } = self;
        // With limited Abis, the timeslots take turns in being first.
        let from = if abis.is_some() { n as usize % air.slots } else { 0 };
        abis.iter_mut().flatten().for_each(|way| way.begin(n));
        if let Some(load) = load {
            load.advance(n);
        }
        for user in users.iter_mut().filter(|u| u.due <= n) {
            user.prepare(n, t, air, side);
        }
        // Calls and packet users use blocks of every timeslot.
        let all = if load.is_some() { u8::MAX >> (8 - air.slots) } else { 0 };
        for s in timeslots_from(all | air.in_use[0] | air.controlled, from) {
            if abis.as_ref().is_some_and(|abis| !abis[0].is_open()) {
                break;
            }
            let control =
                air.controlled >> s & 1 == 1 && air.control[s].front().is_some_and(|c| c.ready <= n);
            if let Some(load) = load
                && load.withholds(air, users, (s, false), n, control)
            {
                continue;
            }
            if control {
                down::control(users, air, side, s, n);
                take(abis, Scheme::Cs1, 0);
            } else if !air.down[s].ring.is_empty()
                && let Some(m) = air.down[s].next(users, *turn, |u| u.down_priority(n, s))
            {
                let scheme = down::block(&mut users[usize::from(m)], air, side, s, n);
                take(abis, scheme, 0);
            }
        }
        for s in timeslots_from(all | air.in_use[1] | air.polled[n as usize % RESERVED], from) {
            let polled = air.polled[n as usize % RESERVED] >> s & 1 == 1;
            let reserved = if polled { air.take_reservation(s, n) } else { Reservation::default() };
            if let Some(load) = load
                && load.withholds(air, users, (s, true), n, reserved.of > 0)
            {
                if reserved.of > 0 {
                    up::polled(&mut users[usize::from(reserved.of) - 1], side, s, n, false);
                }
                continue;
            }
            if reserved.of > 0 {
                air.up[s].used += 1;
                up::polled(&mut users[usize::from(reserved.of) - 1], side, s, n, reserved.heard);
                take(abis, Scheme::Cs1, 1);
            } else if abis.as_ref().is_some_and(|abis| !abis[1].is_open()) {
                // Without Abis capacity the network grants no uplink block.
            } else if !air.up[s].ring.is_empty()
                && let Some(m) = air.up[s].next(users, *turn, |u| u.up_priority(n))
            {
                up::block(&mut users[usize::from(m)], air, side, s, n);
                take(abis, users[usize::from(m)].up.scheme, 1);
            }
        }
        let mut next = Tick::MAX;
        for control in timeslots_from(air.controlled, 0).flat_map(|s| &air.control[s]) {
            next = next.min(control.ready.max(n + 1));
        }
        for user in users.iter_mut() {
            if user.due <= n {
                user.due = user.next_due(n);
            }
            next = next.min(user.due);
        }
        if air.polled != [0; RESERVED] {
            next = n + 1;
        }
        if !self.restarts.is_empty() {
            next = next.min(self.next_restart().max(n + 1));
        }
        self.next = (next < Tick::MAX).then_some(next);
    }

    /// Counters of a mobile; `None` for an unknown mobile.
    pub fn counts(&self, user: usize) -> Option<UserCounts> {
        self.users.get(user).map(|u| u.counts(self.done))
    }
    /// Number of blocks used on each timeslot.
    pub fn slots(&self) -> SlotCounts {
        let used = |slots: &[Slot]| slots.iter().map(|s| s.used).collect();
        SlotCounts { down: used(&self.air.down[..self.air.slots]), up: used(&self.air.up[..self.air.slots]) }
    }
    /// Capture log, if the run was captured.
    pub fn content(&self) -> Option<&Content> {
        self.side.content.as_deref()
    }
    /// Number of mobiles.
    pub fn users(&self) -> usize {
        self.users.len()
    }
}

/// Ticks from the start of a block to the reaction of its receiver, with an additional `delay`; at least 1.
fn reaction(delay: Span) -> u32 {
    tdma::ticks(tdma::AIR + delay).max(1)
}
