//! Receiver congestion manager of a node: aggregate window over time from rate and delay of the access link,
//! and throttles of datagrams.

use super::Builder;
use crate::model::{Datagrams, Delay, Flow, Link, LinkRate, Manager, Transport};
use base::{Rate, Span, Time};
use path::states::Machine;
use path::throttle::{Share, Throttle};
use path::{ElementId, Port};
use transport::tcp::Role;
use transport::tcp::receiver::{Aggregate, WindowManager};

/// Size of a full packet, whose transmission time adds to the round trip, bytes.
const PACKET: u64 = 1500;

impl Builder<'_> {
    /// Congestion manager of a node, if it has one.
    pub(super) fn manager(&mut self, node: usize) -> Option<WindowManager> {
        let of = self.model.nodes[node].manager.as_ref()?;
        if !self.managers.contains_key(&node) {
            let aggregate = match of.estimate {
                Some(initial) => Aggregate::Estimated(initial),
                None => {
                    let share = self.share_of_connections(node, of);
                    let window = |(at, hint): (Time, Hint)| (at, (hint.window(of) as f64 * share) as u64);
                    Aggregate::Known(self.hints(of).into_iter().map(window).collect())
                }
            };
            self.managers.insert(node, WindowManager::new(aggregate));
        }
        self.managers.get(&node).cloned()
    }

    /// Share of the aggregate window for connections: 1, unless datagrams are throttled to their share.
    fn share_of_connections(&self, node: usize, of: &Manager) -> f64 {
        if of.datagrams == Datagrams::Free {
            return 1.0;
        }
        let sum = |which: &dyn Fn(&&Flow) -> bool| -> u32 {
            self.model
                .flows
                .iter()
                .filter(|flow| flow.to == node)
                .filter(which)
                .map(|flow| flow.priority)
                .sum()
        };
        f64::from(sum(&|flow| !is_of_datagrams(flow))) / f64::from(sum(&|_| true).max(1))
    }

    /// Entry element of a datagram receiver under a congestion manager: its throttle, or `first` without
    /// throttling.
    pub(super) fn throttle(&mut self, first: ElementId, host: ElementId, flow: &Flow) -> ElementId {
        let Some(of) = self.model.nodes[flow.to].manager.clone() else { return first };
        if of.datagrams == Datagrams::Free || !is_of_datagrams(flow) {
            return first;
        }
        let all: u32 = self.model.flows.iter().filter(|f| f.to == flow.to).map(|f| f.priority).sum();
        let part = f64::from(flow.priority) / f64::from(all.max(1));
        let share = |(from, hint): (Time, Hint)| {
            let rate = Rate::from_bps((hint.rate?.bps() as f64 * part) as u64);
            let burst = ((hint.window(&of) as f64 * part) as u64).max(2 * PACKET);
            Some(Share { from, rate, burst })
        };
        let shares = self.hints(&of).into_iter().filter_map(share).filter(|s| s.rate.bps() > 0).collect();
        let name = format!("{}.throttle", self.names[host.0 as usize]);
        let id = self.add(name, Throttle::new(shares, of.datagrams == Datagrams::Mark));
        self.network.wire(id, Port(0), first, Port(0));
        id
    }

    /// Hints of the link layer, each earlier than the change by the configured lead time.
    fn hints(&self, of: &Manager) -> Vec<(Time, Hint)> {
        let early = |(at, hint): (Time, Hint)| {
            (Time::from_nanos(at.as_nanos().saturating_sub(of.ahead.as_nanos())), hint)
        };
        self.conditions(of).into_iter().map(early).collect()
    }

    /// Rate and delay of the access link over time, from its schedule or its state machine.
    fn conditions(&self, of: &Manager) -> Vec<(Time, Hint)> {
        let link = &self.model.links[of.link];
        let (base_rate, base_delay) = (first_rate(link), mean_delay(link));
        let limit = Time::ZERO + self.model.run.limit;
        let follows = link.channel.as_ref().and_then(|channel| channel.machines.first().copied());
        if let Some(number) = follows {
            let machine = &self.model.machines[number];
            let of_state = |state: usize| {
                let settings = &machine.states[state].settings;
                let on = settings.iter().rev().find(|(l, _)| *l == of.link).map(|(_, setting)| setting);
                // A drawn rate counts with its mean.
                let rate =
                    on.and_then(|s| s.rate.as_ref()).map(|d| Rate::from_bps(d.mean() as u64)).or(base_rate);
                let delay = on.and_then(|s| s.delay.as_ref()).map(|d| Span::from_nanos(d.mean() as u64));
                Hint { rate, delay: delay.unwrap_or(base_delay) }
            };
            let run = Machine::new(self.plans[number].clone(), self.seed);
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
                let mut steps: Vec<(Time, Hint)> = Vec::new();
                loop {
                    steps.extend(
                        one(from).map(|(at, rate)| (at, Hint { rate: Some(rate), delay: base_delay })),
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
            _ => vec![(Time::ZERO, Hint { rate: base_rate, delay: base_delay })],
        }
    }
}

/// State of the access link, as the link layer reports it.
#[derive(Clone, Copy)]
struct Hint {
    /// `None`: unlimited.
    rate: Option<Rate>,
    /// One-way delay.
    delay: Span,
}

impl Hint {
    /// Window in bytes: headroom x rate x round trip.
    fn window(&self, of: &Manager) -> u64 {
        let Some(rate) = self.rate.filter(|rate| rate.bps() > 0) else { return u64::MAX };
        let rtt = of.beyond + self.delay.times(2) + rate.span_of(PACKET);
        (of.headroom * rate.bps() as f64 / 8.0 * rtt.as_secs_f64()) as u64
    }
}

/// Whether the flow's sender obeys no receive window.
fn is_of_datagrams(flow: &Flow) -> bool {
    !matches!(flow.transport.at(Role::Passive), Transport::Tcp { .. } | Transport::Linux(_))
}

/// Upper bound of schedule steps that hints look ahead.
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
