//! Link parameters by state: rate, delay, errors, service and flush at a state change.
//!
//! A rate, a delay, errors, whether it serves, and what becomes of the packets in it at the moment of the change: a
//! handover changes them all at once (catalogue SW-41, SW-42).

use super::error::Errors;
use crate::states::{Change, Machine};
use base::dist::Sampler;
use base::{Rate, Span, Time};

/// Whether a link serves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Service {
    /// It does.
    #[default]
    Go,
    /// No new frame starts; packets wait. The frame in service finishes.
    Hold,
    /// No new frame starts; packets whose turn it is are dropped.
    Drop,
}

/// What becomes of packets inside at a change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Flush {
    /// They stay.
    #[default]
    None,
    /// Those not yet begun are dropped.
    Waiting,
    /// All are dropped, those under way too.
    All,
}

/// What one state means for one link.
#[derive(Clone, Debug, Default)]
pub struct Setting {
    /// The rate, bit/s, drawn when the state is entered; none: as it would be. 0 freezes service in the middle of a frame.
    pub rate: Option<Sampler>,
    /// Propagation, nanoseconds, drawn for each packet; none: as it would be.
    pub delay: Option<Sampler>,
    /// Errors beside the link's own.
    pub errors: Option<Errors>,
    /// Whether it serves.
    pub service: Service,
    /// What happens when the state is entered.
    pub flush: Flush,
}

/// A machine that a link follows.
#[derive(Clone, Debug)]
pub struct Follower {
    number: u16,
    machine: Machine,
    settings: Vec<Setting>,
    /// The rate that was drawn when the present state was entered.
    rate: Option<Rate>,
}

impl Follower {
    /// A link's copy of the machine with this number in the network, and what each of its states means here.
    pub fn new(number: u16, machine: Machine, settings: Vec<Setting>) -> Self {
        let mut follower = Follower { number, machine, settings, rate: None };
        follower.enter();
        follower
    }

    /// Draws what the present state draws once.
    fn enter(&mut self) {
        let Some(setting) = self.settings.get_mut(self.machine.state()) else { return };
        let rate = setting.rate.as_mut().map(|rate| Rate::from_bps(rate.draw() as u64));
        if let Some(errors) = &mut setting.errors {
            errors.enter();
        }
        self.rate = rate;
    }

    /// The least delay that its states say, as far as it is known before it is drawn; none if they say none.
    pub(crate) fn least_delay(&self) -> Option<Span> {
        let said = self.settings.iter().filter_map(|setting| setting.delay.as_ref());
        said.map(|delay| Span::from_nanos(delay.constant().unwrap_or(0.0) as u64)).min()
    }

    fn setting(&mut self) -> Option<&mut Setting> {
        self.settings.get_mut(self.machine.state())
    }
}

/// All machines that a link follows; of two that set the same, the later one wins, and the stricter service.
#[derive(Clone, Debug, Default)]
pub(crate) struct Followers {
    list: Vec<Follower>,
    /// Until when nothing is sent after a change.
    paused: Time,
}

impl Followers {
    pub(crate) fn new(list: Vec<Follower>) -> Self {
        Followers { list, paused: Time::ZERO }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// When the next change is due.
    pub(crate) fn next_change(&self) -> Time {
        self.list.iter().map(|f| f.machine.next_change()).min().unwrap_or(Time::NEVER)
    }

    /// The next change up to `now`, and whose it is.
    pub(crate) fn step(&mut self, now: Time) -> Option<(u16, Change)> {
        let next = self.next_change();
        let follower = self.list.iter_mut().find(|f| f.machine.next_change() == next)?;
        let change = follower.machine.step(now)?;
        follower.enter();
        let number = follower.number;
        self.paused = self.paused.max(change.at + change.pause);
        Some((number, change))
    }

    /// A trigger: the changes that it makes here.
    pub(crate) fn trigger(&mut self, now: Time, number: u16, state: u16) -> Option<Change> {
        let follower = self.list.iter_mut().find(|f| f.number == number)?;
        let state = usize::from(state).min(follower.settings.len().saturating_sub(1));
        let change = follower.machine.trigger(now, state);
        follower.enter();
        self.paused = self.paused.max(change.at + change.pause);
        Some(change)
    }

    /// What happens to the packets inside when machine `number` has changed.
    pub(crate) fn flush(&mut self, number: u16) -> Flush {
        let follower = self.list.iter_mut().find(|f| f.number == number);
        follower.and_then(Follower::setting).map_or(Flush::None, |s| s.flush)
    }

    pub(crate) fn rate(&self) -> Option<Rate> {
        self.list.iter().filter_map(|f| f.rate).next_back()
    }

    pub(crate) fn service(&mut self) -> Service {
        self.list.iter_mut().filter_map(|f| Some(f.setting()?.service)).max().unwrap_or_default()
    }

    /// Until when nothing is sent.
    pub(crate) fn paused(&self) -> Time {
        self.paused
    }

    /// The propagation of a packet, where a state says it.
    pub(crate) fn delay(&mut self) -> Option<Span> {
        let drawn = self.list.iter_mut().rev().find_map(|f| f.setting()?.delay.as_mut());
        drawn.map(|sampler| Span::from_nanos(sampler.draw() as u64))
    }

    /// The errors in force beside the link's own.
    pub(crate) fn errors(&mut self) -> impl Iterator<Item = &mut Errors> {
        self.list.iter_mut().filter_map(|f| f.setting()?.errors.as_mut())
    }
}
