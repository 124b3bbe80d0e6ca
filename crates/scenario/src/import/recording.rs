//! Import of recordings: columns of rate, delay and loss over time, as schedules of a link in a scenario.
//!
//! The first line names the columns: `t_s`, `rate_bps` (or `_kbps`, `_mbps`), `delay_ms` (or `_s`), `loss` (a
//! share) or `loss_percent`. The suffix `_down` or `_up` restricts a column to one direction. Drives recorded
//! by a phone (`Timestamp`, `DL_bitrate`, `UL_bitrate` in kbit/s) are accepted too.

use super::ImportError;
use super::draft::{DIRECTIONS, Draft, Hop};
use super::words::shown;
use std::fmt::Write;

/// Content of a column, with the factor to the internal unit.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Column {
    /// Seconds.
    Time(f64),
    /// A date and a time of day.
    Clock,
    /// Rate in bit/s, and its directions.
    Rate(f64, [bool; 2]),
    /// One-way delay in seconds.
    Delay(f64, [bool; 2]),
    /// Loss as a share from 0 to 1.
    Loss(f64, [bool; 2]),
    /// Ignored column.
    Other,
}

impl Column {
    fn of(title: &str) -> Column {
        let title = title.trim().to_ascii_lowercase();
        let (name, which) = match (title.strip_suffix("_down"), title.strip_suffix("_up")) {
            (Some(name), _) => (name, [true, false]),
            (_, Some(name)) => (name, [false, true]),
            _ => (title.as_str(), [true, true]),
        };
        match name {
            "t_s" | "time_s" | "t" => Column::Time(1.0),
            "t_ms" | "time_ms" => Column::Time(1e-3),
            "timestamp" => Column::Clock,
            "rate_bps" | "rate_bit_per_s" | "bit_per_s" => Column::Rate(1.0, which),
            "rate_kbps" | "rate_kbit_per_s" => Column::Rate(1e3, which),
            "rate_mbps" | "rate_mbit_per_s" => Column::Rate(1e6, which),
            "dl_bitrate" => Column::Rate(1e3, [true, false]),
            "ul_bitrate" => Column::Rate(1e3, [false, true]),
            "delay_s" => Column::Delay(1.0, which),
            "delay_ms" => Column::Delay(1e-3, which),
            "loss" => Column::Loss(1.0, which),
            "loss_percent" => Column::Loss(0.01, which),
            _ => Column::Other,
        }
    }
}

/// Time and value of each change.
#[derive(Default, Debug)]
struct Steps(Vec<(f64, f64)>);

impl Steps {
    fn put(&mut self, t: f64, value: f64) {
        if self.0.last().is_none_or(|(_, last)| *last != value) {
            self.0.push((t, value));
        }
    }
}

/// Reads a recording.
pub(super) fn read(text: &str) -> Result<Draft, ImportError> {
    let mut lines =
        text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
    let (_, titles) = lines.next().ok_or_else(|| ImportError::new("the recording is empty", HELP))?;
    let columns: Vec<Column> = titles.split(',').map(Column::of).collect();
    let time = columns.iter().position(|c| matches!(c, Column::Time(_) | Column::Clock));
    let Some(time) = time else {
        return Err(ImportError::new("the recording has no column of times", HELP));
    };
    if columns.iter().all(|c| matches!(c, Column::Time(_) | Column::Clock | Column::Other)) {
        return Err(ImportError::new("the recording has no column of rates, delays or losses", HELP));
    }
    let mut draft = Draft::default();
    let mut values: [[Steps; 2]; 3] = Default::default();
    let (mut first, mut last): (Option<f64>, Option<f64>) = (None, None);
    for (number, line) in lines {
        let cells: Vec<&str> = line.split(',').map(str::trim).collect();
        let wrong = |what: &str, cell: &str| {
            ImportError::new(format!("line {}: `{}` is not {what}", number + 1, shown(cell)), HELP)
        };
        let cell = |at: usize| cells.get(at).copied().unwrap_or_default();
        let t = match columns[time] {
            Column::Time(factor) => {
                plain(cell(time)).map(|t| t * factor).ok_or_else(|| wrong("a time", cell(time)))?
            }
            _ => clock(cell(time))
                .ok_or_else(|| wrong("a date and time such as 2020.02.13_13.57.29", cell(time)))?,
        };
        let t = t - *first.get_or_insert(t);
        if last.is_some_and(|last| t < last) {
            return Err(wrong("later than the line before", cell(time)));
        }
        if last == Some(t) {
            continue; // Only the first line of an instant counts.
        }
        last = Some(t);
        for (at, column) in columns.iter().enumerate() {
            let (kind, factor, which) = match *column {
                Column::Rate(factor, which) => (0, factor, which),
                Column::Delay(factor, which) => (1, factor, which),
                Column::Loss(factor, which) => (2, factor, which),
                _ => continue,
            };
            // Recorders write a dash for an unknown value: the previous value continues.
            if matches!(cell(at), "" | "-") {
                continue;
            }
            let value = plain(cell(at)).map(|x| x * factor).ok_or_else(|| wrong("a number", cell(at)))?;
            if kind == 2 && value > 1.0 {
                return Err(wrong("a share", cell(at)));
            }
            for (steps, on) in values[kind].iter_mut().zip(which) {
                if on {
                    steps.put(if steps.0.is_empty() { 0.0 } else { t }, value);
                }
            }
        }
    }
    let Some(end) = last else { return Err(ImportError::new("the recording has no line of values", HELP)) };
    let mut hop = Hop { name: "recorded".into(), ..Hop::default() };
    for direction in 0..2 {
        put(&values, direction, end, &mut hop, &mut draft)?;
    }
    if columns.contains(&Column::Clock) {
        draft
            .roughly
            .push("the bytes that a phone received in each second count as the capacity of the link".into());
    }
    draft.hops.push(hop);
    Ok(draft)
}

const HELP: &str = "the first line names the columns: t_s,rate_bps,delay_ms,loss; with the suffix _down or _up for \
                    one direction";

fn plain(text: &str) -> Option<f64> {
    text.parse::<f64>().ok().filter(|x| x.is_finite() && (0.0..1e15).contains(x))
}

/// Seconds since midnight of the month's day 0: `2020.02.13_13.57.29`. Recordings across the end of a month
/// are not supported.
fn clock(text: &str) -> Option<f64> {
    let parts: Vec<u32> =
        text.split(['.', '_', '-', ':', ' ']).map(|part| part.parse().ok()).collect::<Option<_>>()?;
    let [_, _, day, hour, minute, second] = parts.as_slice() else { return None };
    (*day <= 31 && *hour < 24 && *minute < 60 && *second < 61)
        .then(|| f64::from(day * 86_400 + hour * 3600 + minute * 60 + second))
}

/// A schedule, one line per change.
fn schedule(steps: &Steps, value: impl Fn(f64) -> String) -> String {
    if let [(_, only)] = steps.0.as_slice() {
        return value(*only);
    }
    let mut out = String::from("{ schedule = [\n");
    for (t, x) in &steps.0 {
        let _ = writeln!(out, "  [\"{t} s\", {}],", value(*x));
    }
    out.push_str("] }");
    out
}

fn put(
    [rates, delays, losses]: &[[Steps; 2]; 3],
    direction: usize,
    end: f64,
    hop: &mut Hop,
    draft: &mut Draft,
) -> Result<(), ImportError> {
    let way = DIRECTIONS[direction];
    let rates = &rates[direction];
    if !rates.0.is_empty() {
        if rates.0.iter().all(|(_, bps)| *bps < 1.0) {
            return Err(ImportError::new(format!("the rate {way} is 0 all the time"), HELP));
        }
        hop.rate[direction] = Some(schedule(rates, |bps| format!("\"{} bit/s\"", bps.round())));
        draft.exactly.push(format!("{way}: the rate, in {} steps; the last one stays", rates.0.len()));
    }
    let delays = &delays[direction];
    if !delays.0.is_empty() {
        hop.delay[direction] = Some(schedule(delays, |s| format!("\"{} ms\"", (s * 1e9).round() / 1e6)));
        draft.exactly.push(format!("{way}: the delay, in {} steps; the last one stays", delays.0.len()));
    }
    // An interval of total loss is a gate; partial loss cannot vary over time in a scenario.
    let losses = &losses[direction].0;
    let until = |i: usize| losses.get(i + 1).map_or(end, |(t, _)| *t);
    let stretches = || losses.iter().enumerate().map(|(i, (t, share))| (*t, until(i) - *t, *share));
    let dead: Vec<String> = stretches()
        .filter(|(_, lasts, share)| *share >= 1.0 && *lasts > 0.0)
        .map(|(t, lasts, _)| format!("[\"{t} s\", \"{} s\"]", (lasts * 1e9).round() / 1e9))
        .collect();
    if !dead.is_empty() {
        hop.faults.push(format!(
            "[[hop.gate]]\nname = \"lost-{way}\"\ndirections = \"{way}\"\nat = \"before-queue\"\nmode = \"drop\"\nspikes = [{}]\n",
            dead.join(", ")
        ));
        let word = if dead.len() == 1 { "stretch" } else { "stretches" };
        draft.exactly.push(format!("{way}: {} {word} in which everything is lost", dead.len()));
    }
    let alive = || stretches().filter(|(_, _, share)| *share < 1.0);
    let time: f64 = alive().map(|(_, lasts, _)| lasts).sum();
    let mean =
        if time > 0.0 { alive().map(|(_, lasts, share)| lasts * share).sum::<f64>() / time } else { 0.0 };
    if mean > 0.0 {
        let mean = (mean * 1e9).round() / 1e9;
        hop.faults.push(format!(
            "[[hop.loss]]\nname = \"mean-loss-{way}\"\ndirections = \"{way}\"\nprobability = {mean}\n"
        ));
        let note = if alive().count() > 1 {
            (
                &mut draft.roughly,
                format!("{way}: losses that change over time are their mean {mean} all the time"),
            )
        } else {
            (&mut draft.exactly, format!("{way}: a loss of {mean}"))
        };
        note.0.push(note.1);
    }
    Ok(())
}
