//! Result table of a measurement: one row for each metric of each test, and notes with the recommended
//! transport (SC-08).

use crate::output::table::TextTable;
use analyse::choice::Conditions;
use measure::summary::{Measured, Paused, TestOutcome, TestResults};

/// Result table of a measurement.
pub(crate) fn board(outcome: &TestOutcome<'_>) -> TextTable {
    let heads = ["test", "metric", "n", "mean", "median", "least", "most"].map(str::to_owned).to_vec();
    let rows = outcome.tests.iter().flat_map(rows).collect();
    TextTable { heads, labels: 2, rows, notes: notes(outcome) }
}

fn rows(tested: &TestResults) -> Vec<Vec<String>> {
    if tested.metrics.is_empty() {
        let mut row = vec![tested.name.clone(), "nothing measured".to_owned()];
        row.resize(7, String::new());
        return vec![row];
    }
    let line = |(i, m): (usize, &Measured)| {
        let name = if i == 0 { tested.name.clone() } else { String::new() };
        let (unit, scale) = unit(m);
        let words = m.name.trim_end_matches("_bps").trim_end_matches("_s").trim_end_matches("_bytes");
        let head = if unit.is_empty() { words.to_owned() } else { format!("{words} [{unit}]") };
        let bound = if m.at_least { ">= " } else { "" };
        let number = |x: f64| format!("{bound}{}", digits(x * scale));
        let mean = match m.summary.ci95.filter(|[low, high]| low < high) {
            Some([low, high]) => {
                format!("{} ± {}", number(m.summary.mean), digits((high - low) / 2.0 * scale))
            }
            None => number(m.summary.mean),
        };
        let head = head.replace('_', " ");
        vec![
            name,
            head,
            m.summary.n.to_string(),
            mean,
            number(m.summary.median),
            number(m.min),
            number(m.max),
        ]
    };
    tested.metrics.iter().enumerate().map(line).collect()
}

fn unit(m: &Measured) -> (&'static str, f64) {
    let largest = m.max.abs();
    match m.name {
        name if name.ends_with("_bps") => match largest {
            x if x >= 1e9 => ("Gbit/s", 1e-9),
            x if x >= 1e6 => ("Mbit/s", 1e-6),
            x if x >= 1e3 => ("kbit/s", 1e-3),
            _ => ("bit/s", 1.0),
        },
        name if name.ends_with("_bytes") => ("kB", 1e-3),
        name if name.ends_with("_s") && largest < 1.0 => ("ms", 1e3),
        name if name.ends_with("_s") => ("s", 1.0),
        name if name.ends_with("_share") => ("%", 100.0),
        _ => ("", 1.0),
    }
}

/// Number with four significant digits; whole numbers unchanged.
fn digits(x: f64) -> String {
    let decimals = match x.abs() {
        a if a == a.trunc() => 0,
        a if a >= 1000.0 => 0,
        a if a >= 100.0 => 1,
        a if a >= 10.0 => 2,
        a if a >= 0.001 => 3,
        _ => 6,
    };
    format!("{x:.decimals$}")
}

fn notes(outcome: &TestOutcome<'_>) -> Vec<String> {
    let mut notes = Vec::new();
    for tested in &outcome.tests {
        if tested.heavy.is_some_and(|share| share > 0.0) {
            let share = tested.heavy.unwrap_or(0.0) * 100.0;
            notes.push(format!(
                "{}: in {} % of the repetitions more than a third of the segments was retransmitted.",
                tested.name,
                digits(share)
            ));
        }
        notes.extend(tested.paused.map(|paused| format!("{}: {}", tested.name, choice(&paused))));
        if let Some(a) = tested.alternates {
            notes.push(format!(
                "{}: round trips alternate between {} and {} ms, as if a radio channel is set up again for every \
                 second packet.",
                tested.name,
                digits(a.low * 1e3),
                digits(a.high * 1e3)
            ));
        }
        if tested.broken > 0 || tested.done < tested.planned as usize {
            let TestResults { name, planned, done, broken, .. } = tested;
            notes.push(format!(
                "{name}: {done} of {planned} repetitions were completed, {broken} were interrupted."
            ));
        }
    }
    let causes = outcome.pauses_by_cause();
    if !causes.is_empty() {
        let counts: Vec<String> = causes.iter().map(|(cause, n)| format!("{n} {}", cause.name())).collect();
        notes.push(format!("pauses by cause, as the modem shows it: {}.", counts.join(", ")));
    }
    for lost in &outcome.disconnections {
        let until = match lost.until {
            Some(until) => format!("connected again after {:.1} s", until - lost.t),
            None => "never connected again".to_owned(),
        };
        let account =
            lost.account.as_ref().map_or_else(String::new, |account| format!("; the equipment: {account}"));
        let why = format!("{}: {}{account}", lost.cause.words(), lost.evidence);
        notes.push(format!("disconnected at {:.1} s ({why}): {until}.", lost.t));
    }
    notes
}

/// Note on the pauses of transfers, with the transport that the delay-spike study recommends for such a path (SC-08).
fn choice(paused: &Paused) -> String {
    let Paused { pauses, lossy, rate_bps, window_segments } = *paused;
    let found = match pauses {
        1 => "a pause in the transfers".to_owned(),
        n => format!("{n} pauses in the transfers"),
    };
    match (Conditions { lossy, rate_bps, window_segments }).recommended() {
        Some(protocol) => {
            format!(
                "{found}; for a path with such delay spikes the study of 2003 recommends {}.",
                protocol.because()
            )
        }
        None if lossy.is_none() => {
            format!(
                "{found}; the counters of the kernels leave open whether data were lost, so no transport is recommended."
            )
        }
        None => {
            format!("{found}; the study of 2003 looked at no path like this, so no transport is recommended.")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{choice, digits, rows};
    use measure::summary::{Measured, Paused, TestResults};
    use results::Summary;

    /// SC-08: recommendation for a measured path with delay spikes.
    #[test]
    fn sc_08_a_measured_path_gets_its_recommendation() {
        let paused = |lossy, rate, window| {
            choice(&Paused { pauses: 1, lossy, rate_bps: Some(rate), window_segments: Some(window) })
        };
        assert!(paused(Some(false), 30e3, 40.0).contains("recommends Eifel"));
        assert!(paused(Some(true), 30e3, 60.0).contains("recommends SCTP"));
        assert!(paused(Some(true), 384e3, 60.0).contains("recommends Reno"));
        assert!(paused(Some(true), 30e3, 40.0).contains("looked at no path like this"));
        assert!(paused(None, 30e3, 60.0).contains("leave open whether data were lost"));
    }

    /// A buffer that was not full is larger than its estimate.
    #[test]
    fn a_lower_bound_is_shown_as_one() {
        let buffer = |at_least| {
            let values = [15_090.0, 15_090.0];
            let metric = Measured {
                name: "buffer_bytes",
                summary: Summary::of(&values).unwrap(),
                min: values[0],
                max: values[1],
                at_least,
            };
            rows(&TestResults {
                name: "buffer down".to_owned(),
                planned: 2,
                done: 2,
                broken: 0,
                metrics: vec![metric],
                heavy: None,
                paused: None,
                alternates: None,
            })
        };
        assert_eq!(buffer(true)[0][3..], [">= 15.09", ">= 15.09", ">= 15.09", ">= 15.09"]);
        assert_eq!(buffer(false)[0][3], "15.09");
    }

    #[test]
    fn numbers_have_the_digits_they_need() {
        for (x, text) in [(0.0, "0"), (150_000.0, "150000"), (1.0 / 3.0, "0.333"), (12.345, "12.35")] {
            assert_eq!(digits(x), text);
        }
    }
}
