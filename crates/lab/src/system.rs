//! Measures of networks of cells: one row for each population, tables for users, cells, timeslots and the whole.

use crate::measure::{FlowMeasures, columns};
use base::truth::{CONNECTION, Cause};
use base::{Span, Time};
use cells::meter::{MobileCounts, WayCounts};
use cells::system::Cells;
use scenario::build::World;
use scenario::metric::Metric;
use scenario::model::{Model, System};
use transport::app::seen::Transfer;

/// What one table of a system says: its subjects and their numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// File name without ending: `users`, `cells`, `slots`, `system`.
    pub name: &'static str,
    /// Names and units of the columns.
    pub columns: &'static [(&'static str, &'static str)],
    /// Subject and values.
    pub rows: Vec<(String, Vec<Option<f64>>)>,
}

/// The rows of populations, from those of their members, which stand in `flows`.
pub fn populations(
    model: &Model,
    world: &World,
    flows: &[FlowMeasures],
    limit: Time,
) -> Vec<(String, FlowMeasures)> {
    let (mut all, columns) = (Vec::new(), columns());
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

/// The transfers of a user, as the end that asked saw them.
fn transfers(world: &World, flow: usize) -> Vec<Transfer> {
    let ends = world.flows[flow];
    let seen = |id| host::report(&world.network, id).and_then(|report| report.stats);
    seen(ends.from).map(|stats| stats.transfers).unwrap_or_default()
}

/// Spurious timeouts after the first and after later cell changes of a transfer, and how many changes there were.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct AfterChanges {
    changes: [u64; 2],
    timeouts: [u64; 2],
}

impl AfterChanges {
    /// Adds a transfer: `changes` and `timeouts` are instants within it, ascending.
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

/// Instants of spurious timeouts of a flow, both directions; expirations in a row for one segment count once.
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
    let mut set = |metric: Metric, value: Option<f64>| {
        if let Some(i) = Metric::ALL.iter().position(|m| *m == metric) {
            row.values[i] = value.filter(|v| v.is_finite());
        }
    };
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

/// Mean of the way of a packet to these mobiles and of one back, s.
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

const USERS: &[(&str, &str)] = &[
    ("transfers", ""),
    ("transfer_rate_bps", "bit/s"),
    ("round_trip_s", "s"),
    ("octets_down", ""),
    ("octets_up", ""),
    ("radio_blocks_down", ""),
    ("radio_blocks_up", ""),
    ("block_error_rate_down", ""),
    ("block_error_rate_up", ""),
    ("ci_mean_down", "dB"),
    ("ci_mean_up", "dB"),
    ("tbfs_down", ""),
    ("tbfs_up", ""),
    ("reselections", ""),
    ("dropped_at_sgsn", ""),
    ("lost_in_reselections", ""),
];
const CELLS: &[(&str, &str)] = &[
    ("erlang_down", ""),
    ("erlang_up", ""),
    ("octets_down", ""),
    ("octets_up", ""),
    ("throughput_down_bps", "bit/s"),
    ("block_error_rate_down", ""),
    ("block_error_rate_up", ""),
    ("entered", ""),
];
const SLOTS: &[(&str, &str)] = &[
    ("use_down", ""),
    ("use_up", ""),
    ("rlc_octets_down", ""),
    ("rlc_octets_up", ""),
    ("throughput_down_bps", "bit/s"),
];
const SYSTEM: &[(&str, &str)] = &[("value", "")];

/// The tables of all systems of a run.
pub fn tables(model: &Model, world: &World, limit: Time) -> Vec<Table> {
    let mut tables: Vec<Table> = [("users", USERS), ("cells", CELLS), ("slots", SLOTS), ("system", SYSTEM)]
        .map(|(name, columns)| Table { name, columns, rows: Vec::new() })
        .into();
    let lasted = limit.min(world.network.now()).since(Time::ZERO);
    for (system, id) in model.systems.iter().zip(&world.systems) {
        let Some(element) = world.network.element::<Cells>(*id) else { continue };
        tables[0].rows.extend(users(model, world, system, element));
        tables[1].rows.extend(cells_of(system, element, lasted));
        tables[2].rows.extend(slots_of(system, element, lasted));
        tables[3].rows.extend(whole(system, element, lasted));
    }
    tables
}

fn ratio(a: u64, b: u64) -> Option<f64> {
    (b > 0).then(|| a as f64 / b as f64)
}

fn users(model: &Model, world: &World, system: &System, element: &Cells) -> Vec<(String, Vec<Option<f64>>)> {
    let meter = element.meter();
    let row = |(m, user): (usize, &scenario::model::User)| {
        let counts = &meter.mobiles[m];
        let [down, up] = &counts.ways;
        let transfers = transfers(world, user.flow);
        let rates: f64 =
            transfers.iter().map(|t| 8.0 * t.bytes as f64 / t.took.as_secs_f64().max(1e-9)).sum();
        let n = transfers.len() as u64;
        let some = |x: u64| Some(x as f64);
        let values = vec![
            some(n),
            (n > 0).then(|| rates / n as f64),
            round_trip(std::iter::once(counts)),
            some(down.octets),
            some(up.octets),
            some(down.blocks),
            some(up.blocks),
            ratio(down.rlc_lost, down.rlc_sent),
            ratio(up.rlc_lost, up.rlc_sent),
            (down.blocks > 0).then(|| down.ci_db / down.blocks as f64),
            (up.blocks > 0).then(|| up.ci_db / up.blocks as f64),
            some(down.tbfs),
            some(up.tbfs),
            some(counts.changes.len() as u64),
            some(counts.dropped),
            some(counts.flushed),
        ];
        (model.flows[user.flow].name.clone(), values)
    };
    system.users.iter().enumerate().map(row).collect()
}

fn cells_of(system: &System, element: &Cells, lasted: Span) -> Vec<(String, Vec<Option<f64>>)> {
    let (meter, slots) = (element.meter(), element.config().mac.slots as usize);
    let seconds = lasted.as_secs_f64().max(1e-9);
    let erlang = |way: usize, cell: usize| {
        let used: u64 = meter.slots[way][cell * slots..(cell + 1) * slots].iter().sum();
        Some(used as f64 / (50.0 * seconds))
    };
    let row = |(cell, c): (usize, &cells::meter::CellCounts)| {
        let values = vec![
            erlang(0, cell),
            erlang(1, cell),
            Some(c.octets[0] as f64),
            Some(c.octets[1] as f64),
            Some(8.0 * c.octets[0] as f64 / seconds),
            ratio(c.rlc_lost[0], c.rlc_sent[0]),
            ratio(c.rlc_lost[1], c.rlc_sent[1]),
            Some(c.entered as f64),
        ];
        (format!("{}-cell-{cell:03}", system.name), values)
    };
    meter.cells.iter().enumerate().map(row).collect()
}

fn slots_of(system: &System, element: &Cells, lasted: Span) -> Vec<(String, Vec<Option<f64>>)> {
    let (meter, slots) = (element.meter(), element.config().mac.slots as usize);
    let seconds = lasted.as_secs_f64().max(1e-9);
    let row = |at: usize| {
        let octets = [0, 1].map(|way: usize| meter.slot_octets[way][at] as f64);
        let values = vec![
            Some(meter.slots[0][at] as f64 / (50.0 * seconds)),
            Some(meter.slots[1][at] as f64 / (50.0 * seconds)),
            Some(octets[0]),
            Some(octets[1]),
            Some(8.0 * octets[0] / seconds),
        ];
        (format!("{}-cell-{:03}-slot-{}", system.name, at / slots, at % slots), values)
    };
    (0..meter.slots[0].len()).map(row).collect()
}

/// Numbers of a whole system, one a row: load, errors, schemes, C/I, the queue at the SGSN.
fn whole(system: &System, element: &Cells, lasted: Span) -> Vec<(String, Vec<Option<f64>>)> {
    let meter = element.meter();
    let mut rows = vec![
        ("erlang".to_owned(), Some(meter.erlang(lasted))),
        ("round-trip-s".to_owned(), meter.round_trip_s()),
        (
            "reselections".to_owned(),
            Some(meter.mobiles.iter().map(|m| m.changes.len()).sum::<usize>() as f64),
        ),
        ("dropped-at-sgsn".to_owned(), Some(meter.mobiles.iter().map(|m| m.dropped).sum::<u64>() as f64)),
    ];
    for (way, word) in ["down", "up"].into_iter().enumerate() {
        rows.push((format!("block-error-rate-{word}"), meter.block_error_rate(way)));
        for (k, [sent, lost]) in meter.schemes[way].iter().enumerate() {
            rows.push((format!("mcs-{}-blocks-{word}", k + 1), Some(*sent as f64)));
            rows.push((format!("mcs-{}-error-rate-{word}", k + 1), ratio(*lost, *sent)));
        }
        for p in [5, 10, 50, 90, 95] {
            rows.push((format!("ci-p{p:02}-{word}-db"), meter.ci_percentile(way, f64::from(p) / 100.0)));
        }
        for (bin, n) in meter.ci[way].iter().enumerate().filter(|(_, n)| **n > 0) {
            let from = cells::meter::CI_FROM + bin as i32;
            rows.push((format!("ci-blocks-{word}-from-{from}-db"), Some(*n as f64)));
        }
    }
    for (t, octets, _) in &meter.queue {
        rows.push((format!("sgsn-octets-at-{:06.0}-s", t.as_secs_f64()), Some(*octets as f64)));
    }
    rows.into_iter().map(|(name, value)| (format!("{}-{name}", system.name), vec![value])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// C156: timeouts are counted for the change of cell that they follow.
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
