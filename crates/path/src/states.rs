//! State machine of the path, for link parameters that change together: named states with drawn durations, random
//! next states, triggers (catalogue SW-42).
//!
//! A state lasts for a drawn time or until a trigger, and lists its possible next states. The changes depend on seed,
//! repetition and time, never on traffic. Each element that uses a machine has its own copy, which draws from random
//! streams of the same names, so that all copies change at the same times.
//!
//! A trigger (SW-43) moves the machine into a state from outside, at a time given in the scenario or during
//! the run. Changes before the trigger do not depend on it; later changes are drawn from the new state.

use base::dist::{Dist, Sampler};
use base::rng::{Seed, Stream};
use base::{Span, Time};
use std::collections::VecDeque;
use std::sync::Arc;

/// One state of a machine.
#[derive(Clone, Debug, PartialEq)]
pub struct MachineState {
    /// Name of the state, which is also the key of its random streams.
    pub name: String,
    /// Duration, nanoseconds; none: the state lasts until a trigger.
    pub lasts: Option<Dist>,
    /// Possible next states by number, each with its weight. If all weights are 0, the last one follows.
    pub next: Vec<(usize, f64)>,
    /// Pause in transmission after entry, nanoseconds.
    pub pause: Option<Dist>,
}

/// Definition of a machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Name of the machine, which is also the key of its random streams.
    pub name: String,
    /// States, by number.
    pub states: Vec<MachineState>,
    /// Number of the initial state.
    pub first: usize,
    /// Triggers of the scenario: time and number of the new state, in ascending order of time.
    pub script: Vec<(Time, usize)>,
}

/// A change of state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// Time of the change.
    pub at: Time,
    /// Number of the new state.
    pub state: usize,
    /// Pause in transmission after the change.
    pub pause: Span,
    /// Whether a trigger caused it.
    pub triggered: bool,
}

/// Minimum duration of a state, so that a cycle of states with duration 0 advances in time.
const LEAST: Span = Span::from_nanos(1_000);

/// State machine in one repetition.
#[derive(Clone, Debug)]
pub struct StateMachine {
    plan: Arc<Plan>,
    lasts: Vec<Option<Sampler>>,
    pauses: Vec<Option<Sampler>>,
    /// Random stream of the next states.
    choice: Stream,
    state: usize,
    /// Time at which the present state ends without a trigger.
    leaves: Time,
    /// Triggers of the scenario that have not been applied.
    script: VecDeque<(Time, usize)>,
}

impl StateMachine {
    /// The machine at time 0, in its initial state.
    pub fn new(plan: Arc<Plan>, seed: Seed) -> Self {
        let sampler = |dist: &Option<Dist>, state: &MachineState, what: &str| {
            let stream = seed.stream(&format!("{}.{}", plan.name, state.name), what);
            dist.clone().map(|dist| Sampler::new(dist, stream))
        };
        let lasts = plan.states.iter().map(|s| sampler(&s.lasts, s, "lasts")).collect();
        let pauses = plan.states.iter().map(|s| sampler(&s.pause, s, "pause")).collect();
        let mut machine = StateMachine {
            lasts,
            pauses,
            choice: seed.stream(&plan.name, "next"),
            state: plan.first,
            leaves: Time::NEVER,
            script: plan.script.iter().copied().collect(),
            plan,
        };
        machine.leaves = machine.leaving(Time::ZERO);
        machine
    }

    /// Number of the present state.
    pub fn state(&self) -> usize {
        self.state
    }

    /// Time of the next change; [`Time::NEVER`] if none is pending.
    pub fn next_change(&self) -> Time {
        self.script.front().map_or(self.leaves, |(at, _)| (*at).min(self.leaves))
    }

    /// Performs the next change, if it is not after `until`.
    pub fn step(&mut self, until: Time) -> Option<Change> {
        let at = self.next_change();
        if at > until || at.is_never() {
            return None;
        }
        if let Some(&(_, state)) = self.script.front().filter(|(t, _)| *t == at) {
            self.script.pop_front();
            return Some(self.enter(at, state, true));
        }
        let state = self.follower();
        Some(self.enter(at, state, false))
    }

    /// Moves the machine into `state` at `at`. The caller has performed all earlier changes.
    pub fn trigger(&mut self, at: Time, state: usize) -> Change {
        self.enter(at, state, true)
    }

    fn enter(&mut self, at: Time, state: usize, triggered: bool) -> Change {
        self.state = state;
        self.leaves = self.leaving(at);
        let pause = self.pauses.get_mut(state).and_then(Option::as_mut);
        let pause = pause.map_or(Span::ZERO, |p| Span::from_nanos(p.draw() as u64));
        Change { at, state, pause, triggered }
    }

    fn leaving(&mut self, at: Time) -> Time {
        match self.lasts.get_mut(self.state).and_then(Option::as_mut) {
            Some(lasts) => at + Span::from_nanos(lasts.draw() as u64).max(LEAST),
            None => Time::NEVER,
        }
    }

    /// Next state by weight: one draw if there are several candidates, otherwise none.
    fn follower(&mut self) -> usize {
        let next = &self.plan.states[self.state].next;
        let Some(&(last, _)) = next.last() else { return self.state };
        if next.len() == 1 {
            return last;
        }
        let sum: f64 = next.iter().map(|(_, weight)| weight).sum();
        let mut left = self.choice.uniform() * sum;
        for &(state, weight) in next {
            left -= weight;
            if left < 0.0 {
                return state;
            }
        }
        last
    }

    /// All further changes up to and including `until`, for diagrams.
    pub fn changes_before(mut self, until: Time) -> Vec<Change> {
        let mut changes = Vec::new();
        while let Some(change) = self.step(until) {
            changes.push(change);
        }
        changes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEED: Seed = Seed { seed: 1, repetition: 0 };

    fn s(x: f64) -> Time {
        Time::from_secs_f64(x)
    }

    fn state(name: &str, lasts: Option<Dist>, next: &[(usize, f64)]) -> MachineState {
        MachineState { name: name.into(), lasts, next: next.to_vec(), pause: None }
    }

    fn plan(states: Vec<MachineState>, script: Vec<(Time, usize)>) -> Arc<Plan> {
        Arc::new(Plan { name: "mobility".into(), states, first: 0, script })
    }

    /// SW-42: the fraction of time in each state follows from mean durations and weights.
    #[test]
    fn sw_42_time_is_shared_as_the_chain_says() {
        // State a is followed by b with probability 3/4, by c with 1/4; b and c by a. Mean durations 10, 4 and 20 s.
        let e = |s: f64| Some(Dist::Exponential(s * 1e9));
        let states = vec![
            state("a", e(10.0), &[(1, 3.0), (2, 1.0)]),
            state("b", e(4.0), &[(0, 1.0)]),
            state("c", e(20.0), &[(0, 1.0)]),
        ];
        let until = s(2e6);
        let changes = StateMachine::new(plan(states, vec![]), SEED).changes_before(until);
        let mut spent = [0.0; 3];
        let (mut from, mut now) = (Time::ZERO, 0);
        for change in &changes {
            spent[now] += change.at.since(from).as_secs_f64();
            (from, now) = (change.at, change.state);
        }
        let total: f64 = spent.iter().sum();
        for (spent, mean) in spent.iter().zip([10.0, 3.0, 5.0]) {
            assert!((spent / total - mean / 18.0).abs() < 0.005, "{spent} of {total}");
        }
    }

    /// SW-42: copies agree for any number of queries, and changes are at ascending times.
    #[test]
    fn sw_42_copies_change_at_the_same_instants() {
        let u = Some(Dist::Uniform(1e9, 5e9));
        let states = vec![state("a", u.clone(), &[(1, 1.0)]), state("b", u, &[(0, 1.0), (1, 1.0)])];
        let whole = StateMachine::new(plan(states.clone(), vec![]), SEED).changes_before(s(1e4));
        let mut step_by_step = StateMachine::new(plan(states, vec![]), SEED);
        let mut seen = Vec::new();
        for ms in 0..=10_000_000u64 {
            while let Some(change) = step_by_step.step(Time::from_nanos(ms * 1_000_000)) {
                seen.push(change);
            }
        }
        assert_eq!(whole, seen);
        assert!(whole.windows(2).all(|w| w[0].at < w[1].at) && whole.len() > 3000);
    }

    /// SW-43: a trigger of the scenario and one during the run, at the same time, have the same effect.
    #[test]
    fn sw_43_a_script_replays_what_a_hand_did() {
        let u = Some(Dist::Uniform(1e9, 5e9));
        let states = vec![
            state("a", u.clone(), &[(1, 1.0)]),
            state("b", u, &[(0, 1.0)]),
            state("gone", None, &[(0, 1.0)]),
        ];
        let mut hand = StateMachine::new(plan(states.clone(), vec![]), SEED);
        let mut seen = Vec::new();
        for (at, to) in [(s(7.3), 2), (s(20.0), 1)] {
            while let Some(change) = hand.step(at) {
                seen.push(change);
            }
            seen.push(hand.trigger(at, to));
        }
        while let Some(change) = hand.step(s(60.0)) {
            seen.push(change);
        }
        let scripted = StateMachine::new(plan(states, vec![(s(7.3), 2), (s(20.0), 1)]), SEED);
        assert_eq!(scripted.changes_before(s(60.0)), seen);
        let gone = seen.iter().position(|c| c.state == 2).unwrap();
        assert_eq!((seen[gone].at, seen[gone + 1].at), (s(7.3), s(20.0)), "it stays until a trigger");
    }

    #[test]
    fn a_circle_without_length_ends() {
        let states = vec![state("a", Some(Dist::Constant(0.0)), &[(0, 1.0)])];
        assert!(StateMachine::new(plan(states, vec![]), SEED).changes_before(s(0.01)).len() <= 10_000);
    }
}
