//! Metrics of populations in networks of cells: one row for each population, from its members' flows, cell
//! changes and delays; result tables in [`tables`].

mod bearers;
pub(crate) mod definitions;
mod links;
pub mod summary;
pub mod tables;

use crate::measure::{FlowMeasures, columns};
use base::truth::{CONNECTION, Cause};
use base::{Span, Time};
use cells::meter::{MobileCounts, WayCounts};
use cells::system::Cells;
use scenario::build::World;
use scenario::metric::Metric;
use scenario::model::{Model, System};
use transport::app::stats::Transfer;

/// Rows of populations, from the rows of their members in `flows`.
pub fn populations(
    model: &Model,
    world: &World,
    flows: &[FlowMeasures],
    limit: Time,
) -> Vec<(String, FlowMeasures)> {
    let mut all = Vec::new();
    if model.systems.is_empty() {
        return all;
    }
    let columns = columns();
    for (system, id) in model.systems.iter().zip(&world.systems) {
        let Some(element) = world.network.element::<Cells>(*id) else { continue };
        let lasted = limit.min(world.network.now()).since(Time::ZERO);
        for group in groups(system) {
            let members: Vec<usize> =
                (0..system.users.len()).filter(|m| system.users[*m].group == group).collect();
            let values = columns.iter().enumerate().map(|(i, column)| {
                let own =
                    members.iter().filter_map(|m| flows.get(system.users[*m].flow)?.values.get(i).copied());
                column.combine.over(own)
            });
            let mut row = FlowMeasures { values: values.collect() };
            extras(world, system, element, &members, lasted, &mut row);
            all.push((group.to_owned(), row));
        }
    }
    all
}

/// Names of the populations, each once.
pub fn groups(system: &System) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for user in &system.users {
        if names.last() != Some(&user.group.as_str()) {
            names.push(&user.group);
        }
    }
    names
}

/// Transfers of a user, as the requesting end measured them.
fn transfers(world: &World, flow: usize) -> Vec<Transfer> {
    let ends = world.flows[flow];
    let seen = |id| host::report(&world.network, id).and_then(|report| report.stats);
    seen(ends.from).map(|stats| stats.transfers).unwrap_or_default()
}

/// Spurious timeouts by cell change: number of first changes in a transfer and of later ones, and of spurious
/// timeouts after each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct AfterChanges {
    changes: [u64; 2],
    timeouts: [u64; 2],
}

impl AfterChanges {
    /// Adds a transfer; `changes` and `timeouts` are instants within it, ascending.
    fn add(&mut self, changes: &[Time], timeouts: &[Time]) {
        for (i, _) in changes.iter().enumerate() {
            self.changes[usize::from(i > 0)] += 1;
        }
        for t in timeouts {
            let before = changes.partition_point(|c| c <= t);
            if before > 0 {
                self.timeouts[usize::from(before > 1)] += 1;
            }
        }
    }

    fn ratio(&self, later: usize) -> Option<f64> {
        (self.changes[later] > 0).then(|| self.timeouts[later] as f64 / self.changes[later] as f64)
    }
}

/// Times of spurious timeouts of a flow, both directions; consecutive timeouts of one segment count once.
fn spurious_timeouts(world: &World, flow: usize) -> Vec<Time> {
    let mut all = Vec::new();
    for ledger in world.network.ledgers().iter().skip(2 * flow).take(2) {
        let mut last = None;
        for v in ledger.verdicts() {
            let again = last.replace((v.seq / CONNECTION, v.seq)) == Some((v.seq / CONNECTION, v.seq));
            if v.cause == Cause::Timeout && v.unneeded && !again {
                all.push(v.t);
            }
        }
    }
    all.sort_unstable();
    all
}

fn extras(
    world: &World,
    system: &System,
    element: &Cells,
    members: &[usize],
    lasted: Span,
    row: &mut FlowMeasures,
) {
    let meter = element.meter();
    let (mut rates, mut done, mut within) = (0.0, 0u64, 0u64);
    let mut after = AfterChanges::default();
    for &m in members {
        let flow = system.users[m].flow;
        let timeouts = spurious_timeouts(world, flow);
        for t in transfers(world, flow).iter().filter(|t| !t.took.is_zero()) {
            rates += 8.0 * t.bytes as f64 / t.took.as_secs_f64();
            done += 1;
            let end = t.began + t.took;
            let inside = |all: &mut dyn Iterator<Item = Time>| -> Vec<Time> {
                all.filter(|x| (t.began..=end).contains(x)).collect()
            };
            let changes = inside(&mut meter.mobiles[m].changes.iter().map(|c| c.0));
            within += changes.len() as u64;
            after.add(&changes, &inside(&mut timeouts.iter().copied()));
        }
    }
    let mut set = |metric: Metric, value: Option<f64>| row.set(metric, value.filter(|v| v.is_finite()));
    set(Metric::TransferRate, (done > 0).then(|| rates / done as f64));
    set(Metric::ReselectionsPerTransfer, (done > 0).then(|| within as f64 / done as f64));
    set(Metric::TimeoutsAfterFirst, after.ratio(0));
    set(Metric::TimeoutsAfterLater, after.ratio(1));
    set(Metric::RoundTrip, round_trip(members.iter().map(|m| &meter.mobiles[*m])));
    set(Metric::Erlang, Some(meter.erlang(lasted)));
    set(Metric::BlockErrorRate, meter.block_error_rate(0));
    set(Metric::CiP10, meter.ci_percentile(0, 0.1));
    set(Metric::CiMedian, meter.ci_percentile(0, 0.5));
}

/// Mean downlink packet delay of these mobiles plus their mean uplink packet delay, s.
fn round_trip<'a>(mobiles: impl Iterator<Item = &'a MobileCounts> + Clone) -> Option<f64> {
    let mean = |way: usize| {
        let (n, sum) = mobiles
            .clone()
            .map(|m| &m.ways[way])
            .fold((0, 0.0), |(n, s), w: &WayCounts| (n + w.packets, s + w.delay.as_secs_f64()));
        (n > 0).then(|| sum / n as f64)
    };
    Some(mean(0)? + mean(1)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// C156: a timeout counts for the cell change that precedes it.
    #[test]
    fn timeouts_belong_to_the_change_before_them() {
        let t = |s: u64| Time::ZERO + Span::from_secs(s);
        let mut after = AfterChanges::default();
        after.add(&[t(10), t(20), t(30)], &[t(5), t(12), t(21), t(33)]);
        after.add(&[t(100)], &[]);
        assert_eq!(after, AfterChanges { changes: [2, 2], timeouts: [1, 2] });
        assert_eq!((after.ratio(0), after.ratio(1)), (Some(0.5), Some(1.0)));
    }
}
