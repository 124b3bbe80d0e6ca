//! Intervals of state machines for a picture: each state with its start and end, without the initial state of
//! a machine.

use base::event::{Event, Record};
use report::Interval;
use scenario::Model;
use std::collections::BTreeSet;

/// Intervals of all machines up to `last`, seconds. A machine that several links follow appears once.
pub(crate) fn intervals(model: &Model, records: &[Record], last: f64) -> Vec<Interval> {
    let changes: BTreeSet<(u32, _, u32)> = records
        .iter()
        .filter_map(|r| match r.event {
            Event::StateEntered { machine, state, .. } => Some((machine, r.t, state)),
            _ => None,
        })
        .collect();
    let changes: Vec<_> = changes.into_iter().collect();
    let mut all = Vec::new();
    for (i, &(machine, from, state)) in changes.iter().enumerate() {
        let Some(of) = model.machines.get(machine as usize) else { continue };
        let next = changes.get(i + 1).filter(|c| c.0 == machine);
        let until = next.map_or(last, |c| c.1.as_secs_f64()).min(last);
        let Some(called) = of.states.get(state as usize).filter(|_| state as usize != of.first) else {
            continue;
        };
        let from = from.as_secs_f64();
        if from < until {
            all.push(Interval { from, until, name: format!("{}: {}", of.name, called.name) });
        }
    }
    all
}
