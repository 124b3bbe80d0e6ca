//! Summary of a network of cells over repetitions, as JSON and charts: C/I distribution, coding schemes,
//! block errors, timeslot use, SGSN queue.

use super::tables::{self, Table, Tables};
use cells::curve::SCHEMES;
use report::{Bar, BarGroup, Bars, Chart, Ink, Panel, Series, Style};
use results::row::Row;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Radio blocks, and RLC blocks sent and lost by scheme.
type Blocks = (f64, [[f64; 2]; SCHEMES]);

/// Sums over the repetitions of one system in one cell of the grid.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// Name of the system.
    pub system: String,
    /// By direction and C/I in dB: radio blocks, and RLC blocks sent and lost by scheme.
    radio: [BTreeMap<i64, Blocks>; 2],
    /// By second: sums of the columns of the table `system`, and the number of rows with a value.
    seconds: BTreeMap<i64, Vec<(f64, f64)>>,
    /// Largest SGSN queue of any mobile.
    largest: f64,
}

/// Summaries of the systems in one cell of the grid, ordered by name.
pub fn of(tables: &Tables, repetitions: u32, cell: u32) -> Vec<Summary> {
    let mut all: BTreeMap<String, Summary> = BTreeMap::new();
    let known = tables::all();
    let column = |table: &str, name: &str| {
        let table: Option<&Table> = known.iter().find(|t| t.name == table);
        table.and_then(|t| t.columns.iter().position(|c| c.name == name)).unwrap_or(0)
    };
    let wanted = |row: &Row| row.cell == cell && row.repetition < u64::from(repetitions);
    let name = |row: &Row| row.flow.rsplit_once('@').map_or("", |(name, _)| name).to_owned();
    let (t, largest) = (column("system", "t_s"), column("system", "sgsn_octets_largest"));
    for row in tables.rows("system").iter().filter(|row| wanted(row)) {
        let summary = all.entry(name(row)).or_default();
        let second = row.values[t].unwrap_or(0.0) as i64;
        let sums = summary.seconds.entry(second).or_insert_with(|| vec![(0.0, 0.0); row.values.len()]);
        for (sum, value) in sums.iter_mut().zip(&row.values) {
            *sum = value.map_or(*sum, |v| (sum.0 + v, sum.1 + 1.0));
        }
        summary.largest = summary.largest.max(row.values[largest].unwrap_or(0.0));
    }
    let (ci, blocks, first) =
        (column("radio", "ci_db"), column("radio", "radio_blocks"), column("radio", "mcs_1_sent"));
    for row in tables.rows("radio").iter().filter(|row| wanted(row)) {
        let name = name(row);
        let (name, way) = match name.strip_suffix("-up") {
            Some(name) => (name, 1),
            None => (name.strip_suffix("-down").unwrap_or(&name), 0),
        };
        let summary = all.entry(name.to_owned()).or_default();
        let get = |i: usize| row.values.get(i).copied().flatten().unwrap_or(0.0);
        let (sum, schemes) = summary.radio[way].entry(get(ci) as i64).or_default();
        *sum += get(blocks);
        for (k, [sent, lost]) in schemes.iter_mut().enumerate() {
            (*sent, *lost) = (*sent + get(first + 2 * k), *lost + get(first + 2 * k + 1));
        }
    }
    all.into_iter().map(|(system, summary)| Summary { system, ..summary }).collect()
}

impl Summary {
    fn schemes(&self, way: usize) -> [[f64; 2]; SCHEMES] {
        let mut all = [[0.0; 2]; SCHEMES];
        for (_, schemes) in self.radio[way].values() {
            for (sum, one) in all.iter_mut().zip(schemes) {
                *sum = [sum[0] + one[0], sum[1] + one[1]];
            }
        }
        all
    }

    /// Block error rate of RLC.
    pub fn block_error_rate(&self, way: usize) -> Option<f64> {
        let (sent, lost) = self.schemes(way).iter().fold((0.0, 0.0), |(s, l), [a, b]| (s + a, l + b));
        (sent > 0.0).then(|| lost / sent)
    }

    /// Time series of a column of the table `system`: mean over repetitions.
    fn over_time(&self, column: &str) -> Vec<[f64; 2]> {
        let known = tables::all();
        let table = known.iter().find(|t| t.name == "system");
        let Some(at) = table.and_then(|t| t.columns.iter().position(|c| c.name == column)) else {
            return Vec::new();
        };
        let mean = |(second, sums): (&i64, &Vec<(f64, f64)>)| {
            let (sum, n) = sums[at];
            (n > 0.0).then(|| [*second as f64, sum / n])
        };
        self.seconds.iter().filter_map(mean).collect()
    }

    /// The summary as JSON.
    pub fn document(&self) -> Value {
        let way = |way: usize| {
            let ci: Vec<Value> = self.radio[way].iter().map(|(db, (n, _))| json!([db, n])).collect();
            let schemes = self.schemes(way).into_iter().enumerate().map(|(k, [sent, lost])| {
                (format!("mcs-{}", k + 1), json!({"rlc_blocks": sent, "lost": lost}))
            });
            json!({
                "ci_db_radio_blocks": ci,
                "schemes": schemes.collect::<serde_json::Map<_, _>>(),
                "block_error_rate": self.block_error_rate(way),
            })
        };
        json!({
            "system": self.system,
            "down": way(0),
            "up": way(1),
            "erlang_down": self.over_time("erlang_down"),
            "sgsn_octets": self.over_time("sgsn_octets"),
            "sgsn_octets_largest": self.largest,
        })
    }

    /// Bar charts of C/I distribution and coding schemes, in percent of downlink blocks.
    pub fn bars(&self) -> Vec<Bars> {
        let radio = &self.radio[0];
        let total: f64 = radio.values().map(|(n, _)| n).sum();
        let group = |name: String, value: f64| BarGroup {
            name,
            bars: vec![Bar { name: "share".to_owned(), value, low: value, high: value, published: None }],
        };
        let pairs = |from: i64| (radio.range(from..from + 3)).map(|(_, (n, _))| n).sum::<f64>();
        let bins = (-6..=39).step_by(3).map(|db| {
            let n = match db {
                -6 => radio.range(..-3).map(|(_, (n, _))| n).sum(),
                39 => radio.range(39..).map(|(_, (n, _))| n).sum(),
                db => pairs(db),
            };
            group(format!("{db}"), 100.0 * n / total.max(1.0))
        });
        let schemes = self.schemes(0);
        let sent: f64 = schemes.iter().map(|[sent, _]| sent).sum();
        let share = schemes
            .iter()
            .enumerate()
            .map(|(k, [n, _])| group(format!("MCS-{}", k + 1), 100.0 * n / sent.max(1.0)));
        let lost = schemes.iter().enumerate().filter(|(_, [n, _])| *n > 0.0);
        let lost = lost.map(|(k, [n, l])| group(format!("MCS-{}", k + 1), 100.0 * l / n));
        let chart = |title: String, groups: Vec<BarGroup>| Bars { title, unit: "%".to_owned(), groups };
        vec![
            chart(
                format!("Network {}: C/I of downlink blocks (dB, lower end of 3 dB)", self.system),
                bins.collect(),
            ),
            chart(format!("Network {}: coding schemes of downlink RLC blocks", self.system), share.collect()),
            chart(format!("Network {}: downlink RLC blocks lost, by scheme", self.system), lost.collect()),
        ]
    }

    /// Charts of slot use and SGSN queue over time.
    pub fn charts(&self) -> Vec<Chart> {
        let until = self.seconds.keys().next_back().map_or(1.0, |t| *t as f64);
        let line =
            |name: &str, ink, points| Series { name: name.to_owned(), ink, style: Style::Stairs, points };
        let chart = |title: String, caption: &str, unit: &str, series| Chart {
            title,
            caption: caption.to_owned(),
            panel: Panel { unit: unit.to_owned(), series },
            until,
            ..Chart::default()
        };
        let erlang = vec![
            line("down", Ink::Main, self.over_time("erlang_down")),
            line("up", Ink::Other, self.over_time("erlang_up")),
        ];
        let queue = vec![line("all mobiles", Ink::Main, self.over_time("sgsn_octets"))];
        vec![
            chart(
                format!("Network {}: timeslots in use", self.system),
                "Slots of a cell that carry packet data, second by second: Erlang of packet traffic; mean over repetitions.",
                "Erlang a cell",
                erlang,
            ),
            chart(
                format!("Network {}: queue at the SGSN", self.system),
                "Octets of all mobiles that wait between core network and cells; mean over repetitions.",
                "bytes",
                queue,
            ),
        ]
    }
}
