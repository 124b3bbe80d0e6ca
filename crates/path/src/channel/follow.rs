//! Link parameters by state of a state machine: rate, delay, errors, service, flush at the entry of a state.
//!
//! One state change, such as a handover, may change all parameters at once (catalogue SW-41, SW-42).

use super::error::Errors;
use crate::states::{Change, StateMachine};
use base::dist::Sampler;
use base::{Rate, Span, Time};

/// Service of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Service {
    /// Normal service.
    #[default]
    Go,
    /// No new frame starts; packets wait. The frame in service finishes.
    Hold,
    /// No new frame starts; packets at the head of the queue are dropped.
    Drop,
}

/// Flush of the packets on a link at a state change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Flush {
    /// No flush.
    #[default]
    None,
    /// Drops packets that have not begun transmission.
    Waiting,
    /// Drops all packets, including those in propagation.
    All,
}

/// Link parameters in one state.
#[derive(Clone, Debug, Default)]
pub struct StateParameters {
    /// Rate in bit/s, drawn at each entry of the state; none: the rate of the link. Rate 0 suspends the frame in
    /// service.
    pub rate: Option<Sampler>,
    /// Propagation delay in nanoseconds, drawn per packet; none: the delay of the link.
    pub delay: Option<Sampler>,
    /// Error source in addition to those of the link.
    pub errors: Option<Errors>,
    /// Service in this state.
    pub service: Service,
    /// Flush at the entry of this state.
    pub flush: Flush,
}

/// State machine that changes a link's parameters, with the parameters of each state.
#[derive(Clone, Debug)]
pub struct Follower {
    number: u16,
    machine: StateMachine,
    settings: Vec<StateParameters>,
    /// Rate drawn at the entry of the present state.
    rate: Option<Rate>,
}

impl Follower {
    /// `machine`: the link's copy of the network's state machine `number`; `settings`: the parameters of each
    /// state.
    pub fn new(number: u16, machine: StateMachine, settings: Vec<StateParameters>) -> Self {
        let mut follower = Follower { number, machine, settings, rate: None };
        follower.enter();
        follower
    }

    /// Parameters of each state.
    pub(super) fn settings(&self) -> &[StateParameters] {
        &self.settings
    }

    /// Draws rate and error probability of the present state at its entry.
    fn enter(&mut self) {
        let Some(setting) = self.settings.get_mut(self.machine.state()) else { return };
        let rate = setting.rate.as_mut().map(|rate| Rate::from_bps(rate.draw() as u64));
        if let Some(errors) = &mut setting.errors {
            errors.enter();
        }
        self.rate = rate;
    }

    /// Lower bound of the delays that states set, 0 if a delay is drawn; none if no state sets a delay.
    pub(crate) fn least_delay(&self) -> Option<Span> {
        let said = self.settings.iter().filter_map(|setting| setting.delay.as_ref());
        said.map(|delay| Span::from_nanos(delay.constant().unwrap_or(0.0) as u64)).min()
    }

    fn setting(&mut self) -> Option<&mut StateParameters> {
        self.settings.get_mut(self.machine.state())
    }
}

/// All state machines of a link. If several set a rate or delay, the last one in the list applies; of their
/// services the strictest applies.
#[derive(Clone, Debug, Default)]
pub(crate) struct Followers {
    list: Vec<Follower>,
    /// Time of the next state change of any machine.
    next: Time,
    /// End of the pause in transmission after a change.
    paused: Time,
    /// Rate of the present states, if one sets it.
    rate: Option<Rate>,
    /// Propagation delay of the present states, if one sets it and it is constant.
    constant_delay: Option<Span>,
    /// Whether a present state draws the propagation delay per packet.
    draws_delay: bool,
}

impl Followers {
    pub(crate) fn new(list: Vec<Follower>) -> Self {
        let mut followers = Followers { list, ..Followers::default() };
        followers.look_ahead();
        followers
    }

    /// Updates what depends on the present states.
    fn look_ahead(&mut self) {
        self.next = self.list.iter().map(|f| f.machine.next_change()).min().unwrap_or(Time::NEVER);
        self.rate = self.list.iter().filter_map(|f| f.rate).next_back();
        let delay = self.list.iter_mut().rev().find_map(|f| f.setting()?.delay.as_mut());
        self.draws_delay = delay.as_ref().is_some_and(|sampler| sampler.constant().is_none());
        // A constant is no draw.
        self.constant_delay =
            delay.filter(|_| !self.draws_delay).map(|sampler| Span::from_nanos(sampler.draw() as u64));
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Time of the next state change of any machine.
    #[inline]
    pub(crate) fn next_change(&self) -> Time {
        self.next
    }

    /// Performs the next state change due by `now`; returns the number of its machine, and the change.
    pub(crate) fn step(&mut self, now: Time) -> Option<(u16, Change)> {
        let next = self.next_change();
        let follower = self.list.iter_mut().find(|f| f.machine.next_change() == next)?;
        let change = follower.machine.step(now)?;
        follower.enter();
        let number = follower.number;
        self.paused = self.paused.max(change.at + change.pause);
        self.look_ahead();
        Some((number, change))
    }

    /// Moves machine `number` into `state` by a trigger; returns the change. `None`: the link has no such machine.
    pub(crate) fn trigger(&mut self, now: Time, number: u16, state: u16) -> Option<Change> {
        let follower = self.list.iter_mut().find(|f| f.number == number)?;
        let state = usize::from(state).min(follower.settings.len().saturating_sub(1));
        let change = follower.machine.trigger(now, state);
        follower.enter();
        self.paused = self.paused.max(change.at + change.pause);
        self.look_ahead();
        Some(change)
    }

    /// Flush at the entry of the present state of machine `number`.
    pub(crate) fn flush(&mut self, number: u16) -> Flush {
        let follower = self.list.iter_mut().find(|f| f.number == number);
        follower.and_then(Follower::setting).map_or(Flush::None, |s| s.flush)
    }

    #[inline]
    pub(crate) fn rate(&self) -> Option<Rate> {
        self.rate
    }

    pub(crate) fn service(&mut self) -> Service {
        self.list.iter_mut().filter_map(|f| Some(f.setting()?.service)).max().unwrap_or_default()
    }

    /// End of the pause in transmission.
    #[inline]
    pub(crate) fn paused(&self) -> Time {
        self.paused
    }

    /// Propagation delay for one packet, if a state sets it; drawn from its distribution.
    #[inline]
    pub(crate) fn delay(&mut self) -> Option<Span> {
        if self.draws_delay { self.draw_delay() } else { self.constant_delay }
    }

    fn draw_delay(&mut self) -> Option<Span> {
        let drawn = self.list.iter_mut().rev().find_map(|f| f.setting()?.delay.as_mut());
        drawn.map(|sampler| Span::from_nanos(sampler.draw() as u64))
    }

    /// Error sources of the present states.
    pub(crate) fn errors(&mut self) -> impl Iterator<Item = &mut Errors> {
        self.list.iter_mut().filter_map(|f| f.setting()?.errors.as_mut())
    }
}
