//! State of one direction of a mobile: LLC queue, RLC sender and receiver, soft bits, quality reports, TBF.

use crate::adaptation::{Chooser, Quality};
use crate::config::Config;
use crate::link::Soft;
use base::packet::Packet;
use radio::coding::Scheme;
use radio::rlc::packed::PackedReport;
use radio::rlc::poll::{Policy, Poller};
use radio::rlc::receive::Receiver;
use radio::rlc::send::{SendOptions, Sender};
use radio::rlc::{Mode, Numbering};
use radio::tdma::ticks;

/// Index of the downlink.
pub(crate) const DOWN: usize = 0;
/// Index of the uplink.
pub(crate) const UP: usize = 1;

/// TBF state of a direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Tbf {
    /// No TBF.
    Idle,
    /// Set-up in progress.
    Starting,
    /// Set up, waiting for timeslots.
    Queued,
    /// Active on its timeslots.
    Active,
}

/// One direction of a mobile. The fields that each radio block uses fill four cache lines: the first line of the
/// struct, two lines of the sender, and one line with quality and the receiver's sequence numbers.
#[repr(C, align(64))]
pub(crate) struct DirectionState {
    /// Soft bits of each RLC block, by block sequence number modulo the length (a power of two).
    pub(crate) soft: Box<[Soft]>,
    pub(crate) scheme: Scheme,
    pub(crate) tbf: Tbf,
    preemptive: bool,
    /// Number of reports in flight.
    pub(crate) reports: u32,
    /// Transmitted power as a ratio to the maximum.
    pub(crate) power: f32,
    /// Transmitted power relative to the maximum, dB (0 or negative).
    pub(crate) power_db: f32,
    pub(crate) poller: Poller,
    /// First timeslot of the TBF.
    pub(crate) first: u32,
    /// Number of timeslots of the TBF.
    pub(crate) slots: u32,
    /// Number of the TBF. Events with another number belong to an ended TBF and are ignored.
    pub(crate) generation: u32,
    numbering: Numbering,
    pub(crate) sender: Sender<Packet>,
    pub(crate) quality: Quality,
    pub(crate) receiver: Receiver,
}

impl DirectionState {
    /// State without a TBF; `way` is [`DOWN`] or [`UP`].
    pub(crate) fn new(config: &Config, way: usize, chooser: &Chooser) -> DirectionState {
        let slots = config.mac.mobile_slots[way];
        // 3GPP TS 44.060 table 9.1.9.2.1 bounds the window by the number of slots.
        let window = config.mac.window.min(Numbering::largest(slots));
        let numbering = Numbering::egprs(window);
        // Blocks sent after a poll are not in its report: until it arrives, they do not count as missing.
        let hold_off = ticks(config.mac.report_delay) + 1;
        let rules = SendOptions { preemptive: true, hold_off, resegment: config.mac.resegment };
        DirectionState {
            sender: Sender::new(numbering, Mode::Acknowledged, rules),
            receiver: Receiver::new(numbering, Mode::Acknowledged, config.mac.resegment),
            poller: Poller::new(Policy::Every { n: config.mac.poll }),
            soft: vec![Soft::default(); numbering.window.next_power_of_two() as usize].into(),
            quality: Quality::NEW,
            scheme: chooser.initial(),
            power_db: 0.0,
            power: 1.0,
            tbf: Tbf::Idle,
            first: 0,
            slots,
            reports: 0,
            generation: 0,
            numbering,
            preemptive: config.mac.preemptive,
        }
    }

    /// Whether the direction has a radio block to send: a missing or new RLC block, or an unacknowledged one if
    /// [`DirectionState::preempts`].
    #[inline]
    pub(crate) fn ready(&self) -> bool {
        self.sender.has_work() || self.sender.is_pending() && (self.reports == 0 || self.preemptive)
    }

    /// Whether unacknowledged blocks may be retransmitted: always with pre-emptive retransmission, otherwise only
    /// without a report in flight.
    #[inline]
    pub(crate) fn preempts(&self) -> bool {
        self.reports == 0 || self.preemptive
    }

    /// Prepares the next TBF: sequence numbers start at 0, and the receiver has no blocks. Unacknowledged frames are
    /// segmented again; packets already delivered are not delivered twice.
    pub(crate) fn restart(&mut self, resegment: bool, poll: u32) {
        self.sender.restart(self.numbering, |_| ());
        self.receiver = Receiver::new(self.numbering, Mode::Acknowledged, resegment);
        self.poller = Poller::new(Policy::Every { n: poll });
        self.reports = 0;
        self.generation = self.generation.wrapping_add(1);
    }

    /// Sets the power; `db` is relative to the maximum.
    #[inline]
    pub(crate) fn set_power(&mut self, db: f32) {
        self.power_db = db;
        self.power = crate::numeric::from_db(db);
    }
}

/// A scheduled event of a mobile.
#[derive(Clone, Debug)]
pub(crate) enum Event {
    /// The set-up of a TBF ends.
    Started { mobile: u32, way: u8, generation: u32 },
    /// An acknowledgement report reaches the sender, with mean and deviation of quality and C/I, dB.
    Report { mobile: u32, way: u8, generation: u32, report: PackedReport, quality: Option<[f32; 3]> },
    /// The hold time of an idle TBF ends; [`crate::config::Mac::hold`].
    Held { mobile: u32, way: u8, generation: u32 },
    /// The outage of a cell change ends: the mobile has access to its new cell.
    Arrived { mobile: u32 },
}

/// Timer wheel: a ring of event lists by tick.
pub(crate) struct Wheel {
    /// Events by tick modulo the length (a power of two).
    slots: Vec<Vec<Event>>,
    /// Cleared lists, the last one used at the end: new events are written to memory that the cache has.
    spare: Vec<Vec<Event>>,
    /// Number of scheduled events.
    pending: usize,
}

impl Wheel {
    /// A wheel for events at most `longest` ticks ahead.
    pub(crate) fn new(longest: u32) -> Wheel {
        let slots = (longest + 2).next_power_of_two() as usize;
        Wheel { slots: (0..slots).map(|_| Vec::new()).collect(), spare: Vec::new(), pending: 0 }
    }

    /// Adds an event `ahead` ticks (at least 1) after `now`.
    pub(crate) fn add(&mut self, now: u32, ahead: u32, event: Event) {
        let at = (now as usize + ahead.max(1) as usize) & (self.slots.len() - 1);
        let list = &mut self.slots[at];
        if list.capacity() == 0
            && let Some(spare) = self.spare.pop()
        {
            *list = spare;
        }
        list.push(event);
        self.pending += 1;
    }

    /// Removes and returns the events of a tick. [`Wheel::give_back`] accepts the list for reuse.
    pub(crate) fn take(&mut self, now: u32) -> Vec<Event> {
        let at = now as usize & (self.slots.len() - 1);
        let events = std::mem::take(&mut self.slots[at]);
        self.pending -= events.len();
        events
    }

    /// Clears a list from [`Wheel::take`] and keeps it, to reuse its capacity.
    pub(crate) fn give_back(&mut self, mut list: Vec<Event>) {
        list.clear();
        if list.capacity() > 0 {
            self.spare.push(list);
        }
    }

    /// Whether no events are scheduled.
    pub(crate) fn is_empty(&self) -> bool {
        self.pending == 0
    }
}
