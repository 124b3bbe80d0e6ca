//! The receiver congestion manager of a node: its aggregate window over time, from rate and delay of its access link.

use super::Builder;
use crate::model::{Delay, Link, LinkRate, Manager};
use base::{Rate, Span, Time};
use path::states::Machine;
use transport::tcp::receiver::{Aggregate, WindowManager};

/// A full packet, which takes its time on the link beside the propagation, bytes.
const PACKET: u64 = 1500;

impl Builder<'_> {
    /// The congestion manager of a node, if it has one.
    pub(super) fn manager(&mut self, node: usize) -> Option<WindowManager> {
        let of = self.model.nodes[node].manager.as_ref()?;
        if !self.managers.contains_key(&node) {
            let aggregate = match of.estimate {
                Some(initial) => Aggregate::Estimated(initial),
                None => Aggregate::Known(self.windows(of)),
            };
            self.managers.insert(node, WindowManager::new(aggregate));
        }
        self.managers.get(&node).cloned()
    }

    /// The aggregate window over time: headroom times rate times round trip, as the schedule of the link or the states of
    /// the world have them (the hints of the link layer).
    fn windows(&self, of: &Manager) -> Vec<(Time, u64)> {
        let link = &self.model.links[of.link];
        let window = |rate: Option<Rate>, delay: Span| {
            let Some(rate) = rate.filter(|rate| rate.bps() > 0) else { return u64::MAX };
            let rtt = of.beyond + delay.times(2) + rate.span_of(PACKET);
            (of.headroom * rate.bps() as f64 / 8.0 * rtt.as_secs_f64()) as u64
        };
        let (base_rate, base_delay) = (first_rate(link), mean_delay(link));
        let limit = Time::ZERO + self.model.run.limit;
        let follows = link.channel.as_ref().and_then(|channel| channel.machines.first().copied());
        if let Some(number) = follows {
            let machine = &self.model.machines[number];
            let of_state = |state: usize| {
                let settings = &machine.states[state].settings;
                let on = settings.iter().rev().find(|(l, _)| *l == of.link).map(|(_, setting)| setting);
                // Of a rate that is drawn the mean is known beforehand.
                let rate =
                    on.and_then(|s| s.rate.as_ref()).map(|d| Rate::from_bps(d.mean() as u64)).or(base_rate);
                let delay = on.and_then(|s| s.delay.as_ref()).map(|d| Span::from_nanos(d.mean() as u64));
                window(rate, delay.unwrap_or(base_delay))
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
                let mut steps: Vec<(Time, u64)> = Vec::new();
                loop {
                    steps.extend(one(from).map(|(at, rate)| (at, window(Some(rate), base_delay))));
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
            _ => vec![(Time::ZERO, window(base_rate, base_delay))],
        }
    }
}

/// Hints that are looked ahead at most.
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
