//! Builder of channel elements: traffic classes, shapers, error processes, state-machine plans and followers,
//! wiring of flow-control credit and RST flushes.

use super::{Builder, draw_time, gate_of_closures};
use crate::model::channel::{self, Change, ErrorKind, ErrorMode, TriggerSchedule};
use crate::model::share;
use crate::model::{Link, Model};
use base::Span;
use base::dist::{Dist, Sampler};
use base::rng::Seed;
use path::ElementId;
use path::Port;
use path::Signal;
use path::channel::allocation::Allocation;
use path::channel::arq::ArqConfig;
use path::channel::class::{ClassConfig, ClassRule};
use path::channel::credit::{CREDIT, Credit};
use path::channel::error::{ErrorProcess, Errors, Mode};
use path::channel::follow::{Follower, StateParameters};
use path::channel::policer::Policer;
use path::channel::{Channel, ChannelConfig};
use path::qdisc::{QueueSite, Room};
use path::rst_flush::FLUSH;
use path::shaper::{Shaper, ShaperClass};
use path::states::{MachineState, Plan, StateMachine};
use std::sync::Arc;

/// Plan of every state machine for one repetition, triggers included.
pub(super) fn plans(model: &Model, seed: Seed) -> Vec<Arc<Plan>> {
    let mut scripts = vec![Vec::new(); model.machines.len()];
    for trigger in &model.triggers {
        match &trigger.when {
            TriggerSchedule::Once { at, change: Change::State { machine, state } } => {
                scripts[*machine].push((draw_time(at, seed, &trigger.name, "at"), *state));
            }
            TriggerSchedule::Once { change: Change::Priority { .. }, .. } => {}
            TriggerSchedule::Recorded(all) => {
                for &(t, change) in all {
                    if let Change::State { machine, state } = change {
                        scripts[machine].push((t, state));
                    }
                }
            }
        }
    }
    let plan = |(machine, mut script): (&channel::StateMachine, Vec<_>)| {
        script.sort_by_key(|(t, _)| *t);
        let state = |s: &channel::MachineState| MachineState {
            name: s.name.clone(),
            lasts: s.lasts.clone(),
            next: s.next.clone(),
            pause: s.pause.clone(),
        };
        Arc::new(Plan {
            name: machine.name.clone(),
            states: machine.states.iter().map(state).collect(),
            first: machine.first,
            script,
        })
    };
    model.machines.iter().zip(scripts).map(plan).collect()
}

impl Builder<'_> {
    /// Element of a channel link; followers of its state machines are registered.
    pub(super) fn channel(&mut self, index: usize) -> ElementId {
        let link = &self.model.links[index];
        let none = channel::Channel::default();
        let of = link.channel.as_deref().unwrap_or(&none);
        let plain = self.config(link);
        let config = ChannelConfig {
            capacity: plain.capacity,
            delay: plain.delay,
            classes: self.classes(link, of),
            gates: self.gates(link),
            framing: of.framing,
            send_buffer: of.send_buffer,
            allocation: of.allocation.as_ref().map(|a| {
                Allocation::new(
                    self.sampler(&a.delay, &link.name, "allocation"),
                    self.sampler(&a.release, &link.name, "release"),
                )
            }),
            errors: of.errors.iter().map(|&e| self.errors_of(link, e)).collect(),
            arq: of.arq.as_ref().map(|a| ArqConfig {
                attempts: a.attempts,
                time: a.time,
                feedback: self.sampler(&a.feedback, &link.name, "feedback"),
                window: a.window,
            }),
            in_order: !of.order_free,
            receive_buffer: of.receive_buffer,
            credit: of.credit.map(|c| Credit::new(c.window, c.delay)),
            grants: of.grants,
            followers: of.machines.iter().map(|&m| self.follower(index, m)).collect(),
        };
        let machines = of.machines.clone();
        let id = self.add(link.name.clone(), Channel::new(config));
        for m in machines {
            let machine = &self.model.machines[m];
            for (s, state) in machine.states.iter().enumerate() {
                let signal = Signal::State { machine: m as u16, state: s as u16 };
                self.network.lend(&format!("{}.{}", machine.name, state.name), id, signal);
            }
        }
        self.channels[index] = Some(id);
        id
    }

    fn sampler(&self, dist: &Dist, element: &str, purpose: &str) -> Sampler {
        Sampler::new(dist.clone(), self.seed.stream(element, purpose))
    }

    fn classes(&self, link: &Link, of: &channel::Channel) -> Vec<ClassConfig> {
        let mut classes: Vec<ClassConfig> = of
            .classes
            .iter()
            .map(|class| {
                let name = format!("{}.{}", link.name, class.name);
                ClassConfig {
                    rule: self.rule(class),
                    priority: class.priority,
                    weight: class.weight,
                    queue: class.queue.queue(&self.site(link, of, &name, class.stay)),
                    police: class.police.map(|(rate, burst)| Policer::new(rate, burst)),
                    turn_within: class.turn_within,
                }
            })
            .collect();
        classes.push(ClassConfig {
            rule: ClassRule::default(),
            priority: u32::MAX,
            weight: 1,
            queue: link.queue.queue(&self.site(link, of, &link.name, of.stay)),
            police: None,
            turn_within: None,
        });
        classes
    }

    /// Match rule of a traffic class.
    fn rule(&self, class: &channel::Class) -> ClassRule {
        let belongs = |names: &Vec<String>| {
            let flows = self.model.flows.iter().map(|f| names.contains(&f.name));
            flows.flat_map(|belongs| [belongs, belongs]).collect()
        };
        ClassRule {
            ledgers: class.flows.as_ref().map(belongs),
            service: class.dscp.map(|d| (d, d)),
            size: class.size,
            kind: class.kind,
        }
    }

    /// Shaper of the link's classes, placed before its queue; `None` if no class is shaped.
    pub(super) fn shaper(&mut self, index: usize) -> Option<ElementId> {
        let link = &self.model.links[index];
        let shape = |class: &channel::Class| {
            let shape = class.shape?;
            let room = Room { packets: None, bytes: shape.limit };
            Some(ShaperClass { rule: self.rule(class), rate: shape.rate, burst: shape.burst, room })
        };
        let shapes: Vec<ShaperClass> =
            link.channel.iter().flat_map(|c| &c.classes).filter_map(shape).collect();
        if shapes.is_empty() {
            return None;
        }
        Some(self.add(format!("{}.shaper", link.name), Shaper::new(shapes)))
    }

    /// Parameters of a queue in a channel: of the link, or of a traffic class.
    fn site<'n>(
        &self,
        link: &Link,
        of: &channel::Channel,
        name: &'n str,
        stay: Option<Span>,
    ) -> QueueSite<'n> {
        QueueSite { seed: self.seed, name, rate_bps: link.rate.mean_bps(), stay, unique: of.unique }
    }

    fn errors_of(&self, link: &Link, error: usize) -> Errors {
        let error = &self.model.errors[error];
        // Links share an error process over time; each link has its own random stream per frame.
        self.errors(&error.kind, &error.mode, &error.name, &format!("{}@{}", error.name, link.name))
    }

    fn errors(&self, kind: &ErrorKind, mode: &ErrorMode, weather: &str, chance: &str) -> Errors {
        let process = match kind {
            ErrorKind::Shares(mean, parts) => {
                let kind = share::drawn(&**mean, parts, weather, self.seed);
                return self.errors(&kind, mode, weather, chance);
            }
            ErrorKind::Steady(chance) => ErrorProcess::Steady(*chance),
            ErrorKind::Drawn(share) => ErrorProcess::Drawn(self.sampler(share, chance, "probability"), 0.0),
            ErrorKind::PerFrame { to_bad, to_good, good, bad } => {
                ErrorProcess::PerFrame { leave_good: *to_bad, leave_bad: *to_good, good: *good, bad: *bad }
            }
            ErrorKind::OverTime { good_lasts, bad_lasts, good, bad } => {
                let gate = gate_of_closures(good_lasts, bad_lasts, weather, self.seed);
                ErrorProcess::OverTime { gate, good: *good, bad: *bad }
            }
        };
        let mode = match mode {
            ErrorMode::Drop => Mode::Drop,
            ErrorMode::Corrupt => Mode::Corrupt,
            ErrorMode::Delay(by) => Mode::Delay(self.sampler(by, chance, "late")),
        };
        Errors::new(process, mode, self.seed.stream(chance, "error"))
    }

    fn follower(&self, link: usize, machine: usize) -> Follower {
        let of = &self.model.machines[machine];
        let name = &self.model.links[link].name;
        let setting = |state: &channel::MachineState| {
            // If several tables of a state set one link, the last one applies.
            let on = state.settings.iter().rev().find(|(l, _)| *l == link).map(|(_, s)| s);
            let weather = format!("{}.{}", of.name, state.name);
            let chance = format!("{weather}@{name}");
            StateParameters {
                rate: on.and_then(|s| s.rate.as_ref()).map(|d| self.sampler(d, &chance, "rate")),
                delay: on.and_then(|s| s.delay.as_ref()).map(|d| self.sampler(d, &chance, "delay")),
                errors: on
                    .and_then(|s| s.error.as_ref())
                    .map(|(kind, mode)| self.errors(kind, mode, &weather, &chance)),
                service: on.map(|s| s.service).unwrap_or_default(),
                flush: state.flush,
            }
        };
        let plan = StateMachine::new(self.plans[machine].clone(), self.seed);
        Follower::new(machine as u16, plan, of.states.iter().map(setting).collect())
    }

    /// Wires the flush requests of each reset watch to the link whose queue they empty.
    pub(super) fn wire_flush(&mut self) {
        for (watch, link) in std::mem::take(&mut self.watches) {
            if let Some(channel) = self.channels[link] {
                self.network.wire(watch, FLUSH, channel, FLUSH);
            }
        }
    }

    /// Wires credit from each link that grants it to the previous link.
    pub(super) fn wire_credit(&mut self) {
        for (from, link) in self.model.links.iter().enumerate() {
            if link.channel.as_ref().is_none_or(|c| c.credit.is_none()) {
                continue;
            }
            let ways = self.model.flows.iter().flat_map(|f| [&f.route, &f.way_back]);
            let next = |way: &Vec<usize>| way.iter().skip_while(|l| **l != from).nth(1).copied();
            if let Some(to) = ways.filter_map(next).next()
                && let (Some(to), Some(from)) = (self.channels[to], self.channels[from])
            {
                self.network.wire(to, CREDIT, from, Port(CREDIT.0));
            }
        }
    }

    /// Whether packets on these links can arrive with bit errors.
    pub(super) fn may_be_corrupt(&self, route: &[usize]) -> bool {
        let corrupts = |mode: &ErrorMode| *mode == ErrorMode::Corrupt;
        route.iter().any(|&l| {
            let of = self.model.links[l].channel.as_ref();
            let errors = of.map_or(&[][..], |c| &c.errors);
            errors.iter().any(|&e| corrupts(&self.model.errors[e].mode))
                || crate::tables::path::machine::corrupts(&self.model.machines, l)
        })
    }
}
