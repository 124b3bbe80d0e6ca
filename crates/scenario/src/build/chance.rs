//! Builder of a link's delay jitter and packet losses.

use crate::model::{Delay, Link, LossKind, share};
use base::dist::Sampler;
use base::rng::Seed;
use path::gate::{self, Closures, Gate};
use path::jitter::{Delays, Jitter};
use path::loss::Rule;

pub(super) fn jitter(link: &Link, seed: Seed) -> Option<Jitter> {
    match &link.delay {
        Delay::Constant(_) => None,
        Delay::PerPacket { dist, reorder } => {
            let sampler = Sampler::new(dist.clone(), seed.stream(&link.name, "delay"));
            Some(Jitter::new(Delays::Drawn(sampler), *reorder))
        }
        Delay::Schedule(s) => {
            Some(Jitter::new(Delays::Steps { steps: s.steps.clone(), period: s.repeat }, false))
        }
    }
}

pub(super) fn rule(kind: &LossKind, name: &str, seed: Seed) -> Rule {
    match kind {
        LossKind::Packets(ranges) => Rule::Scripted(
            ranges.iter().map(|r| (*r.start() as u32, (*r.end()).min(u64::from(u32::MAX)) as u32)).collect(),
        ),
        LossKind::Probability(p) => Rule::Random(*p),
        LossKind::Drawn(mean, parts) => rule(&share::drawn(&**mean, parts, name, seed), name, seed),
        LossKind::PerPacketStates { to_bad, to_good, loss_good, loss_bad } => Rule::GilbertElliott {
            leave_good: *to_bad,
            leave_bad: *to_good,
            loss_good: *loss_good,
            loss_bad: *loss_bad,
        },
        LossKind::OverTimeStates { good, bad, loss_good, loss_bad } => {
            let bad = gate_of_closures(good, bad, name, seed);
            Rule::Weather { bad, loss_good: *loss_good, loss_bad: *loss_bad }
        }
    }
}

/// Gate of a two-state loss process over time: sojourn times of the good and of the bad state.
pub(super) fn gate_of_closures(
    good: &base::dist::Dist,
    bad: &base::dist::Dist,
    name: &str,
    seed: Seed,
) -> Gate {
    let closures = Closures::Process {
        every: good.clone(),
        from: gate::IntervalReference::End,
        first: gate::FirstInterval::Drawn(good.clone()),
        lasts: bad.clone(),
    };
    Gate::new(closures, name, seed)
}
