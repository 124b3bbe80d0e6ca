//! Result tables of networks of cells: users, cells, timeslots, load by second, blocks by C/I and coding
//! scheme; table of links for any model.
//!
//! GPRS bearers fill the tables of users, cells and timeslots.

use super::{bearers, links, round_trip, transfers};
use base::Time;
use cells::curve::SCHEMES;
use cells::meter::{CI_FROM, CellCounts, Second};
use cells::system::Cells;
use radio::tdma::BLOCKS_PER_SECOND;
use results::Grid;
use results::row::{Column, Combine, Header, Row};
use scenario::build::World;
use scenario::model::radio::BearerKind;
use scenario::model::{Model, System};
use std::collections::BTreeMap;
use std::sync::Mutex;

/// Rows of a table: subject, and values in the order of its columns.
pub type Rows = Vec<(String, Vec<Option<f64>>)>;

/// A table in addition to the table of flows.
#[derive(Clone, Debug)]
pub struct Table {
    /// File name without ending.
    pub name: &'static str,
    /// Subject of a row.
    pub row: &'static str,
    /// Columns of the table.
    pub columns: Vec<Column>,
    /// Whether a run of a model fills the table.
    pub wanted: fn(&Model) -> bool,
}

/// A system with its element after a repetition.
struct Ran<'a> {
    system: &'a System,
    element: &'a Cells,
    /// Duration of the run, s.
    seconds: f64,
}

const USERS: &[(&str, &str, Combine)] = &[
    ("x_m", "m", Combine::Mean),
    ("y_m", "m", Combine::Mean),
    ("serving_cell", "", Combine::Max),
    ("transfers", "", Combine::Sum),
    ("transfer_rate_bps", "bit/s", Combine::Mean),
    ("round_trip_s", "s", Combine::Mean),
    ("octets_down", "B", Combine::Sum),
    ("octets_up", "B", Combine::Sum),
    ("radio_blocks_down", "", Combine::Sum),
    ("radio_blocks_up", "", Combine::Sum),
    ("block_error_rate_down", "", Combine::Mean),
    ("block_error_rate_up", "", Combine::Mean),
    ("ci_mean_down", "dB", Combine::Mean),
    ("ci_mean_up", "dB", Combine::Mean),
    ("tbfs_down", "", Combine::Sum),
    ("tbfs_up", "", Combine::Sum),
    ("reselections", "", Combine::Sum),
    ("dropped_at_sgsn", "", Combine::Sum),
    ("lost_in_reselections", "", Combine::Sum),
];
const CELLS: &[(&str, &str, Combine)] = &[
    ("x_m", "m", Combine::Mean),
    ("y_m", "m", Combine::Mean),
    ("erlang_down", "Erlang", Combine::Mean),
    ("erlang_up", "Erlang", Combine::Mean),
    ("octets_down", "B", Combine::Sum),
    ("octets_up", "B", Combine::Sum),
    ("throughput_down_bps", "bit/s", Combine::Mean),
    ("throughput_up_bps", "bit/s", Combine::Mean),
    ("block_error_rate_down", "", Combine::Mean),
    ("block_error_rate_up", "", Combine::Mean),
    ("entered", "", Combine::Sum),
    ("voice_calls_offered", "", Combine::Sum),
    ("voice_calls_carried", "", Combine::Sum),
    ("voice_blocking", "", Combine::Mean),
    ("voice_erlang", "Erlang", Combine::Mean),
    ("voice_preempted_down", "", Combine::Sum),
    ("voice_preempted_up", "", Combine::Sum),
    ("tbf_requests_down", "", Combine::Sum),
    ("tbf_requests_up", "", Combine::Sum),
    ("tbf_blocking_down", "", Combine::Mean),
    ("tbf_blocking_up", "", Combine::Mean),
];
const SLOTS: &[(&str, &str, Combine)] = &[
    ("use_down", "Erlang", Combine::Mean),
    ("use_up", "Erlang", Combine::Mean),
    ("rlc_octets_down", "B", Combine::Sum),
    ("rlc_octets_up", "B", Combine::Sum),
    ("throughput_down_bps", "bit/s", Combine::Mean),
    ("throughput_up_bps", "bit/s", Combine::Mean),
];
const SYSTEM: &[(&str, &str, Combine)] = &[
    ("t_s", "s", Combine::Max),
    ("erlang_down", "Erlang", Combine::Mean),
    ("erlang_up", "Erlang", Combine::Mean),
    ("throughput_down_bps", "bit/s", Combine::Mean),
    ("throughput_up_bps", "bit/s", Combine::Mean),
    ("block_error_rate_down", "", Combine::Mean),
    ("block_error_rate_up", "", Combine::Mean),
    ("sgsn_octets", "B", Combine::Mean),
    ("sgsn_octets_largest", "B", Combine::Max),
    ("mobiles_with_tbf", "", Combine::Mean),
];

/// Number of columns of the table of cells.
pub(super) const fn cell_columns() -> usize {
    CELLS.len()
}

/// All tables, in the order of [`rows`].
pub fn all() -> Vec<Table> {
    let fixed = |columns: &[(&str, &str, Combine)]| -> Vec<Column> {
        columns.iter().map(|(name, unit, combine)| Column::new(*name, *unit, *combine)).collect()
    };
    let mut radio = vec![
        Column::new("up", "", Combine::Max),
        Column::new("ci_db", "dB", Combine::Mean),
        Column::new("radio_blocks", "", Combine::Sum),
    ];
    for k in 1..=SCHEMES {
        radio.push(Column::new(format!("mcs_{k}_sent"), "", Combine::Sum));
        radio.push(Column::new(format!("mcs_{k}_lost"), "", Combine::Sum));
    }
    vec![
        Table { name: "users", row: "a mobile", columns: fixed(USERS), wanted: radio_network },
        Table { name: "cells", row: "a cell", columns: fixed(CELLS), wanted: radio_network },
        Table { name: "slots", row: "a timeslot of a cell", columns: fixed(SLOTS), wanted: radio_network },
        Table {
            name: "system",
            row: "a second in which a TBF lived",
            columns: fixed(SYSTEM),
            wanted: radio_network,
        },
        Table {
            name: "radio",
            row: "a direction and a decibel of C/I",
            columns: radio,
            wanted: radio_network,
        },
        links::table(),
    ]
}

/// Tables of a run in addition to the table of flows: headers, and rows of the small tables.
pub struct Tables {
    /// Headers in the order of [`all`].
    pub headers: Vec<Header>,
    /// Whether any cell of the grid fills the table; other tables are not written.
    pub wanted: Vec<bool>,
    /// Rows of the small tables: by second, and by decibel of C/I.
    pub(crate) kept: Mutex<BTreeMap<&'static str, Vec<Row>>>,
}

impl Tables {
    /// Tables whose rows stay in memory for documents and pages.
    pub(crate) const KEPT: [&'static str; 2] = ["system", "radio"];

    /// Rows of a small table in the table's order, so that sums over them do not depend on the order in which
    /// repetitions ended.
    pub fn rows(&self, name: &str) -> Vec<Row> {
        let mut rows =
            self.kept.lock().map(|kept| kept.get(name).cloned().unwrap_or_default()).unwrap_or_default();
        rows.sort_by(|a, b| a.key().cmp(&b.key()));
        rows
    }

    /// Adds rows to a small table; rows of large tables are ignored.
    pub fn keep(&self, name: &'static str, rows: &[Row]) {
        if Tables::KEPT.contains(&name)
            && let Ok(mut kept) = self.kept.lock()
        {
            kept.entry(name).or_default().extend_from_slice(rows);
        }
    }
}

/// Headers of all tables; arguments as for [`Header::new`].
///
/// # Errors
///
/// Errors of [`Header::new`].
pub fn headers(hash: &str, seed: u64, version: &str, cells: &Grid) -> results::Result<Vec<Header>> {
    all().into_iter().map(|table| Header::new(hash, seed, version, cells.clone(), table.columns)).collect()
}

/// Whether a run of the model fills any table.
pub fn wanted(model: &Model) -> bool {
    radio_network(model) || links::wanted(model)
}

/// Whether the model has a network of cells, or a GPRS bearer.
fn radio_network(model: &Model) -> bool {
    let gprs = |b: &scenario::model::Bearer| matches!(b.kind, BearerKind::Gprs(_));
    !model.systems.is_empty() || model.bearers.iter().any(gprs)
}

/// Rows of all tables after a repetition, in the order of [`all`].
pub fn rows(model: &Model, world: &World, limit: Time) -> Vec<Rows> {
    let mut tables = vec![Rows::new(); all().len()];
    let seconds = limit.min(world.network.now()).since(Time::ZERO).as_secs_f64().max(1e-9);
    for (system, id) in model.systems.iter().zip(&world.systems) {
        let Some(element) = world.network.element::<Cells>(*id) else { continue };
        let ran = Ran { system, element, seconds };
        let of = [ran.users(model, world), ran.cells(), ran.slots(), ran.series(), ran.radio()];
        tables.iter_mut().zip(of).for_each(|(table, rows)| table.extend(rows));
    }
    if !model.bearers.is_empty() {
        let of = bearers::rows(model, world, seconds);
        tables.iter_mut().zip(of).for_each(|(table, rows)| table.extend(rows));
    }
    if let Some(last) = tables.last_mut().filter(|_| links::wanted(model)) {
        *last = links::rows(model, world);
    }
    tables
}

fn ratio(a: u64, b: u64) -> Option<f64> {
    (b > 0).then(|| a as f64 / b as f64)
}

fn some(x: u64) -> Option<f64> {
    Some(x as f64)
}

impl Ran<'_> {
    fn users(&self, model: &Model, world: &World) -> Rows {
        let meter = self.element.meter();
        let row = |(m, user): (usize, &scenario::model::User)| {
            let counts = &meter.mobiles[m];
            let [down, up] = &counts.ways;
            let transfers = transfers(world, user.flow);
            let rates: f64 =
                transfers.iter().map(|t| 8.0 * t.bytes as f64 / t.took.as_secs_f64().max(1e-9)).sum();
            let n = transfers.len() as u64;
            let (cell, place) = self.element.mobile(m);
            let (x, y) = self.element.layout().cartesian(place);
            let values = vec![
                Some(f64::from(x)),
                Some(f64::from(y)),
                Some(f64::from(cell)),
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
        self.system.users.iter().enumerate().map(row).collect()
    }

    fn erlang(&self, blocks: u64) -> Option<f64> {
        Some(blocks as f64 / (BLOCKS_PER_SECOND as f64 * self.seconds))
    }

    fn rate(&self, octets: u64) -> Option<f64> {
        Some(8.0 * octets as f64 / self.seconds)
    }

    fn cells(&self) -> Rows {
        let layout = self.element.layout();
        let row = |(cell, c): (usize, &CellCounts)| {
            let (x, y) = layout.cartesian(layout.site(cell / 3));
            let (voice, [down, up]) = (self.element.voice(cell), self.element.admission(cell));
            let values = vec![
                Some(f64::from(x)),
                Some(f64::from(y)),
                self.erlang(c.blocks[0]),
                self.erlang(c.blocks[1]),
                some(c.octets[0]),
                some(c.octets[1]),
                self.rate(c.octets[0]),
                self.rate(c.octets[1]),
                ratio(c.rlc_lost[0], c.rlc_sent[0]),
                ratio(c.rlc_lost[1], c.rlc_sent[1]),
                some(c.entered),
                voice.map(|v| v.offered as f64),
                voice.map(|v| (v.offered - v.blocked) as f64),
                voice.and_then(|v| ratio(v.blocked, v.offered)),
                voice.and_then(|v| self.erlang(v.held)),
                voice.map(|v| v.preempted[0] as f64),
                voice.map(|v| v.preempted[1] as f64),
                some(down.requests),
                some(up.requests),
                ratio(down.queued, down.requests),
                ratio(up.queued, up.requests),
            ];
            (format!("{}-cell-{cell:03}", self.system.name), values)
        };
        self.element.meter().cells.iter().enumerate().map(row).collect()
    }

    fn slots(&self) -> Rows {
        let (meter, slots) = (self.element.meter(), self.element.config().mac.slots as usize);
        let row = |at: usize| {
            let octets = [0, 1].map(|way: usize| meter.slot_octets[way][at]);
            let values = vec![
                self.erlang(meter.slots[0][at]),
                self.erlang(meter.slots[1][at]),
                some(octets[0]),
                some(octets[1]),
                self.rate(octets[0]),
                self.rate(octets[1]),
            ];
            (format!("{}-cell-{:03}-slot-{}", self.system.name, at / slots, at % slots), values)
        };
        (0..meter.slots[0].len()).map(row).collect()
    }

    /// Differences of the counters between consecutive instants; load as a mean per cell.
    fn series(&self) -> Rows {
        let cells = self.element.layout().cells().max(1) as f64;
        let mut before = Second::default();
        let mut rows = Rows::new();
        for now in &self.element.meter().seconds {
            let lasted = now.t.since(before.t).as_secs_f64();
            if lasted <= 0.0 {
                continue;
            }
            let erlang = |way: usize| {
                let blocks = (now.blocks[way] - before.blocks[way]) as f64;
                Some(blocks / (BLOCKS_PER_SECOND as f64 * lasted * cells))
            };
            let rate = |way: usize| Some(8.0 * (now.octets[way] - before.octets[way]) as f64 / lasted);
            let errors = |way: usize| {
                ratio(now.rlc_lost[way] - before.rlc_lost[way], now.rlc_sent[way] - before.rlc_sent[way])
            };
            let t = now.t.as_secs_f64();
            let values = vec![
                Some(t),
                erlang(0),
                erlang(1),
                rate(0),
                rate(1),
                errors(0),
                errors(1),
                some(now.queued),
                some(now.queued_most),
                Some(f64::from(now.active)),
            ];
            rows.push((format!("{}@{t:06.0}", self.system.name), values));
            before = *now;
        }
        rows
    }

    fn radio(&self) -> Rows {
        let mut rows = Rows::new();
        for (way, word) in ["down", "up"].into_iter().enumerate() {
            let bins = self.element.meter().radio[way].iter().enumerate();
            for (bin, counts) in bins.filter(|(_, counts)| counts.blocks > 0) {
                let ci = CI_FROM + bin as i32;
                let mut values = vec![some(way as u64), Some(f64::from(ci)), some(counts.blocks)];
                values.extend(counts.schemes.iter().flatten().map(|n| some(*n)));
                rows.push((format!("{}-{word}@{ci:+03}", self.system.name), values));
            }
        }
        rows
    }
}
