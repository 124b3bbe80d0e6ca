//! One direction of a mobile: LLC queue, RLC sender and receiver, soft memory, quality reports, TBF state.

use crate::adaptation::{Chooser, Quality};
use crate::config::Config;
use crate::link::Soft;
use base::packet::Packet;
use radio::coding::Scheme;
use radio::rlc::poll::{Policy, Poller};
use radio::rlc::receive::{Receiver, Report};
use radio::rlc::send::{Rules, Sender};
use radio::rlc::{Mode, Numbering};
use radio::tdma::ticks;

/// Toward the mobile.
pub(crate) const DOWN: usize = 0;
/// Toward the network.
pub(crate) const UP: usize = 1;

/// State of the TBF of a direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Tbf {
    /// None.
    Idle,
    /// Being set up.
    Starting,
    /// Set up, and no slot is free.
    Queued,
    /// On its slots.
    Active,
}

/// One direction. Counters and small states first, so that a block finds them in few lines of a cache; bit fields of
/// the windows last.
#[repr(C, align(64))]
pub(crate) struct Way {
    /// Soft bits by ring place of the block.
    pub(crate) soft: Vec<Soft>,
    pub(crate) scheme: Scheme,
    pub(crate) tbf: Tbf,
    preemptive: bool,
    /// Reports under way.
    pub(crate) reports: u32,
    /// Transmitted power below the largest, dB, and as a factor.
    pub(crate) power_db: f32,
    pub(crate) power: f32,
    /// Its slots: the first and how many.
    pub(crate) first: u32,
    pub(crate) slots: u32,
    /// Counts TBFs, so that events of an earlier one are recognised.
    pub(crate) generation: u32,
    numbering: Numbering,
    pub(crate) sender: Sender<Packet>,
    pub(crate) quality: Quality,
    pub(crate) poller: Poller,
    pub(crate) receiver: Receiver,
}

impl Way {
    pub(crate) fn new(config: &Config, way: usize, chooser: &Chooser) -> Way {
        let slots = config.mac.mobile_slots[way];
        // 44.060 table 9.1.9.2.1 bounds the window by the number of slots.
        let window = config.mac.window.min(Numbering::largest(slots));
        let numbering = Numbering::egprs(window);
        // A report says nothing about what was sent after its poll.
        let hold_off = ticks(config.mac.report_delay) + 1;
        let rules = Rules { preemptive: true, hold_off, resegment: config.mac.resegment };
        Way {
            sender: Sender::new(numbering, Mode::Acknowledged, rules),
            receiver: Receiver::new(numbering, Mode::Acknowledged, config.mac.resegment),
            poller: Poller::new(Policy::Every { n: config.mac.poll }),
            soft: vec![Soft::default(); numbering.window.next_power_of_two() as usize],
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

    /// Whether it has a radio block to send: a missing or a new RLC block; or, when no report is under way, the
    /// oldest one that is not acknowledged, to poll again.
    #[inline]
    pub(crate) fn ready(&self) -> bool {
        self.sender.has_work() || self.sender.is_pending() && (self.reports == 0 || self.preemptive)
    }

    /// Pre-emptive repeats are allowed now.
    #[inline]
    pub(crate) fn preempts(&self) -> bool {
        self.reports == 0 || self.preemptive
    }

    /// A new TBF begins: numbers start at 0, both sides are made anew. What was delivered is not delivered again.
    pub(crate) fn restart(&mut self, resegment: bool, poll: u32) {
        self.sender.restart(self.numbering, |_| ());
        self.receiver = Receiver::new(self.numbering, Mode::Acknowledged, resegment);
        self.poller = Poller::new(Policy::Every { n: poll });
        self.reports = 0;
        self.generation = self.generation.wrapping_add(1);
    }

    /// Sets the power.
    #[inline]
    pub(crate) fn set_power(&mut self, db: f32) {
        self.power_db = db;
        self.power = crate::numeric::from_db(db);
    }
}

/// What happens to a mobile later.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event {
    /// The set-up of a TBF ends.
    Started { mobile: u32, way: u8, generation: u32 },
    /// A report reaches the sender.
    Report { mobile: u32, way: u8, generation: u32, report: Report, quality: Option<[f32; 3]> },
    /// An idle TBF has been held long enough.
    Held { mobile: u32, way: u8, generation: u32 },
    /// The mobile is in its new cell.
    Arrived { mobile: u32 },
}

/// Events by the tick at which they happen: a ring of lists.
pub(crate) struct Wheel {
    slots: Vec<Vec<Event>>,
    pending: usize,
}

impl Wheel {
    /// For events at most `longest` ticks ahead.
    pub(crate) fn new(longest: u32) -> Wheel {
        let slots = (longest + 2).next_power_of_two() as usize;
        Wheel { slots: (0..slots).map(|_| Vec::new()).collect(), pending: 0 }
    }

    /// Adds an event `ahead` ticks (at least 1) after `now`.
    pub(crate) fn add(&mut self, now: u32, ahead: u32, event: Event) {
        let at = (now as usize + ahead.max(1) as usize) & (self.slots.len() - 1);
        self.slots[at].push(event);
        self.pending += 1;
    }

    /// Takes out the events of a tick; `give_back` the list afterwards.
    pub(crate) fn take(&mut self, now: u32) -> Vec<Event> {
        let at = now as usize & (self.slots.len() - 1);
        let events = std::mem::take(&mut self.slots[at]);
        self.pending -= events.len();
        events
    }

    /// Returns an emptied list for its capacity.
    pub(crate) fn give_back(&mut self, now: u32, mut list: Vec<Event>) {
        list.clear();
        let at = now as usize & (self.slots.len() - 1);
        if self.slots[at].is_empty() {
            self.slots[at] = list;
        }
    }

    /// Whether nothing is to come.
    pub(crate) fn is_empty(&self) -> bool {
        self.pending == 0
    }
}
