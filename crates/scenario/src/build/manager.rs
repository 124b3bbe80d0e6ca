//! Builder of receiver congestion managers: aggregate window over time from rate and delay of the access
//! link, priorities of flows, throttles of datagrams.

use super::{Builder, draw_time};
use crate::model::channel::{Change, TriggerSchedule};
use crate::model::{App, Datagrams, Delay, Flow, Link, LinkRate, Manager, PRIORITIES, Transport};
use base::{Rate, Span, Time};
use host::{Managed, ManagedFlow};
use path::states::StateMachine;
use path::throttle::{AccessCondition, Throttle};
use path::{ElementId, Port, Signal};
use transport::tcp::Role;
use transport::tcp::receiver::{Aggregate, WindowManager};

/// Size of a full packet, whose transmission time adds to the round trip, bytes.
const PACKET: u64 = 1500;

/// Receiver congestion manager of a node, under construction.
pub(super) struct Managing {
    pub(super) windows: WindowManager,
    /// Flows whose data arrive at the node, with their index in the model.
    pub(super) flows: Vec<(usize, ManagedFlow)>,
    /// Throttles of datagram flows, with the index of the flow in the model.
    throttles: Vec<(usize, ElementId)>,
}

impl Managing {
    /// Number of a flow in the window manager; `None` if its data do not arrive at this node.
    pub(super) fn number(&self, flow: usize) -> Option<usize> {
        let of = self.flows.iter().find(|(index, _)| *index == flow)?;
        if let Managed::Windows(number) = of.1.managed { Some(number) } else { None }
    }
}

impl Builder<'_> {
    /// Window manager of a node and the number of a flow in it; `None` if the flow has no managed window.
    pub(super) fn manager(&mut self, node: usize, flow: usize) -> Option<(WindowManager, usize)> {
        let managing = self.managing(node)?;
        managing.number(flow).map(|number| (managing.windows.clone(), number))
    }

    /// Congestion manager of a node, if it has one.
    fn managing(&mut self, node: usize) -> Option<&mut Managing> {
        let of = self.model.nodes[node].manager.as_ref()?;
        if !self.managers.contains_key(&node) {
            let aggregate = match of.estimate {
                Some(initial) => Aggregate::Estimated(initial),
                None => {
                    let window = |(at, hint): (Time, AccessHint)| (at, hint.window(of));
                    Aggregate::Known(self.hints(of).into_iter().map(window).collect())
                }
            };
            let windows = WindowManager::new(aggregate);
            let flows = self.managed_flows(node, of, &windows);
            let all: Vec<ManagedFlow> = flows.iter().map(|(_, flow)| flow.clone()).collect();
            windows.set_part(host::Manager::part_of_connections(&all));
            self.managers.insert(node, Managing { windows, flows, throttles: Vec::new() });
        }
        self.managers.get_mut(&node)
    }

    /// Flows whose data arrive at `node`: downloads, and replies to requests.
    fn managed_flows(&self, node: usize, of: &Manager, windows: &WindowManager) -> Vec<(usize, ManagedFlow)> {
        let reached =
            |flow: &&Flow| flow.to == node || (flow.from == node && matches!(flow.app, App::Requests(_)));
        let mut port = 0;
        let mut one = |flow: &Flow| {
            let role = if flow.to == node { Role::Passive } else { Role::Active };
            let managed = if !ignores_receive_window(flow, role) {
                Managed::Windows(windows.add_flow(flow.priority))
            } else if of.datagrams == Datagrams::Free {
                Managed::Free
            } else {
                port += 1;
                Managed::Throttle(port - 1)
            };
            ManagedFlow { name: flow.name.clone(), priority: flow.priority, managed }
        };
        let flows = self.model.flows.iter().enumerate().filter(|(_, flow)| reached(flow));
        flows.map(|(index, flow)| (index, one(flow))).collect()
    }

    /// Entry element of a datagram receiver under a congestion manager: its throttle, or `first` without
    /// throttling.
    pub(super) fn throttle(
        &mut self,
        first: ElementId,
        host: ElementId,
        index: usize,
        node: usize,
    ) -> ElementId {
        let Some(managing) = self.managing(node) else { return first };
        let Some((_, flow)) = managing.flows.iter().find(|(flow, _)| *flow == index) else { return first };
        if !matches!(flow.managed, Managed::Throttle(_)) {
            return first;
        }
        let all: Vec<ManagedFlow> = managing.flows.iter().map(|(_, flow)| flow.clone()).collect();
        let share = host::Manager::fraction(&all, |other| other.name == flow.name);
        let Some(of) = self.model.nodes[node].manager.clone() else { return first };
        let access = |(from, hint): (Time, AccessHint)| {
            Some(AccessCondition {
                from,
                rate: hint.rate.filter(|rate| rate.bps() > 0)?,
                window: hint.window(&of),
            })
        };
        let access = self.hints(&of).into_iter().filter_map(access).collect();
        let name = format!("{}.throttle", self.names[host.0 as usize]);
        let throttle = Throttle::new(access, share, 2 * PACKET, of.datagrams == Datagrams::Mark);
        let id = self.add(name, throttle);
        self.network.wire(id, Port(0), first, Port(0));
        if let Some(managing) = self.managers.get_mut(&node) {
            managing.throttles.push((index, id));
        }
        id
    }

    /// Controls of the congestion managers, with triggers for the priorities of their flows.
    pub(super) fn place_managers(&mut self) -> Vec<(usize, ElementId)> {
        let mut placed = Vec::new();
        for (node, Managing { windows, flows, throttles }) in std::mem::take(&mut self.managers) {
            let script = self.priorities(&flows);
            let names: Vec<String> = flows.iter().map(|(_, flow)| flow.name.clone()).collect();
            let wires: Vec<(u16, ElementId)> = flows
                .iter()
                .filter_map(|(index, flow)| {
                    let Managed::Throttle(port) = flow.managed else { return None };
                    Some((port, throttles.iter().find(|(of, _)| of == index)?.1))
                })
                .collect();
            let flows = flows.into_iter().map(|(_, flow)| flow).collect();
            let name = format!("{}.congestion-manager", self.model.nodes[node].name);
            let id = self.add(name, host::Manager::new(flows, windows, script));
            for (port, throttle) in wires {
                self.network.wire(id, Port(port), throttle, Port(1));
            }
            for (number, name) in names.iter().enumerate() {
                let signal = Signal::Set { number: number as u16, value: 0 };
                self.network.lend_value(&format!("{name}.priority"), PRIORITIES, id, signal);
            }
            placed.push((node, id));
        }
        placed
    }

    /// Changes of priorities that the scenario makes: time, position of the flow in `flows`, priority.
    fn priorities(&self, flows: &[(usize, ManagedFlow)]) -> Vec<(Time, usize, u32)> {
        let mut script = Vec::new();
        let mut note = |at: Time, change: Change| {
            if let Change::Priority { flow, priority } = change
                && let Some(position) = flows.iter().position(|(index, _)| *index == flow)
            {
                script.push((at, position, priority));
            }
        };
        for trigger in &self.model.triggers {
            match &trigger.when {
                TriggerSchedule::Once { at, change } => {
                    note(draw_time(at, self.seed, &trigger.name, "at"), *change)
                }
                TriggerSchedule::Recorded(all) => all.iter().for_each(|&(at, change)| note(at, change)),
            }
        }
        script
    }

    /// Hints of the link layer, each earlier than the change by the configured lead time.
    fn hints(&self, of: &Manager) -> Vec<(Time, AccessHint)> {
        let early = |(at, hint): (Time, AccessHint)| {
            (Time::from_nanos(at.as_nanos().saturating_sub(of.ahead.as_nanos())), hint)
        };
        self.conditions(of).into_iter().map(early).collect()
    }

    /// Rate and delay of the access link over time, from its schedule or its state machine.
    fn conditions(&self, of: &Manager) -> Vec<(Time, AccessHint)> {
        let link = &self.model.links[of.link];
        let (base_rate, base_delay) = (first_rate(link), mean_delay(link));
        let limit = Time::ZERO + self.model.run.limit;
        let follows = link.channel.as_ref().and_then(|channel| channel.machines.first().copied());
        if let Some(number) = follows {
            let machine = &self.model.machines[number];
            let of_state = |state: usize| {
                let settings = &machine.states[state].settings;
                let on = settings.iter().rev().find(|(l, _)| *l == of.link).map(|(_, setting)| setting);
                // The link layer reports the mean of a drawn rate.
                let rate =
                    on.and_then(|s| s.rate.as_ref()).map(|d| Rate::from_bps(d.mean() as u64)).or(base_rate);
                let delay = on.and_then(|s| s.delay.as_ref()).map(|d| Span::from_nanos(d.mean() as u64));
                AccessHint { rate, delay: delay.unwrap_or(base_delay) }
            };
            let run = StateMachine::new(self.plans[number].clone(), self.seed);
            let mut steps = vec![(Time::ZERO, of_state(run.state()))];
            steps.extend(run.changes_before(limit).iter().map(|change| (change.at, of_state(change.state))));
            return steps;
        }
        match &link.rate {
            LinkRate::Schedule(schedule) => {
                let one = |from: Time| {
                    schedule.steps.iter().map(move |(at, rate)| (from + at.since(Time::ZERO), *rate))
                };
                let mut from = Time::ZERO;
                let mut steps: Vec<(Time, AccessHint)> = Vec::new();
                loop {
                    steps.extend(
                        one(from).map(|(at, rate)| (at, AccessHint { rate: Some(rate), delay: base_delay })),
                    );
                    match schedule.repeat {
                        Some(period)
                            if !period.is_zero() && from + period < limit && steps.len() < MOST_STEPS =>
                        {
                            from += period;
                        }
                        _ => return steps,
                    }
                }
            }
            _ => vec![(Time::ZERO, AccessHint { rate: base_rate, delay: base_delay })],
        }
    }
}

/// State of the access link, as the link layer reports it.
#[derive(Clone, Copy)]
struct AccessHint {
    /// Rate of the access link; `None`: unlimited.
    rate: Option<Rate>,
    /// One-way delay of the access link.
    delay: Span,
}

impl AccessHint {
    /// Aggregate window, bytes: headroom x rate x round trip.
    fn window(&self, of: &Manager) -> u64 {
        let Some(rate) = self.rate.filter(|rate| rate.bps() > 0) else { return u64::MAX };
        let rtt = of.beyond + self.delay.times(2) + rate.span_of(PACKET);
        (of.headroom * rate.bps() as f64 / 8.0 * rtt.as_secs_f64()) as u64
    }
}

/// Whether the transport at this end is neither a TCP model nor a kernel, so that its peer obeys no receive window.
fn ignores_receive_window(flow: &Flow, role: Role) -> bool {
    !matches!(flow.transport.at(role), Transport::Tcp { .. } | Transport::Linux(_))
}

/// Maximum number of schedule steps that become hints.
const MOST_STEPS: usize = 100_000;

fn first_rate(link: &Link) -> Option<Rate> {
    match &link.rate {
        LinkRate::Unlimited => None,
        LinkRate::Constant(rate) => Some(*rate),
        LinkRate::Schedule(schedule) => schedule.steps.first().map(|(_, rate)| *rate),
    }
}

fn mean_delay(link: &Link) -> Span {
    match &link.delay {
        Delay::Constant(span) => *span,
        Delay::PerPacket { dist, .. } => Span::from_nanos(dist.mean() as u64),
        Delay::Schedule(schedule) => schedule.steps.first().map_or(Span::ZERO, |(_, delay)| *delay),
    }
}
