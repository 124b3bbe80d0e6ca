//! Non-inferiority gate of `compare --no-worse=SHARE`, with JUnit and Markdown summaries for builds.
//!
//! The loss is the paired difference in the direction in which the metric gets worse. A cell passes if its
//! interval lies within `SHARE` of the first side's mean, fails if the interval lies beyond it, and is
//! undecided otherwise. Undecided cells get more repetitions, twice as many at each look. Every look of the
//! plan takes an equal part of the error of 5 % (Bonferroni), so that repeated looks do not make a wrong
//! verdict likelier.

use super::text::{CellPair, Comparison, better};
use crate::output::labels;
use std::cmp::Ordering;
use std::fmt::Write as _;

/// Largest accepted loss of the second side, as a share of the first side's mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Margin(pub(crate) f64);

/// Parses `10%` or `0.1`.
pub(crate) fn margin(text: &str) -> Result<Margin, String> {
    let (number, scale) = match text.trim().strip_suffix('%') {
        Some(number) => (number, 0.01),
        None => (text.trim(), 1.0),
    };
    let share = number.trim().parse::<f64>().ok().map(|x| x * scale).filter(|x| (0.0..10.0).contains(x));
    share.map(Margin).ok_or_else(|| format!("`{text}` is no share such as 10% or 0.1"))
}

/// Verdict of the gate on a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GateVerdict {
    /// The whole interval of the loss lies within the margin.
    Passed,
    /// The whole interval of the loss lies beyond the margin, or the second side has fewer values.
    Failed,
    /// The interval contains the margin, or there are too few pairs.
    Undecided,
}

impl GateVerdict {
    /// Name in JSON documents.
    pub(crate) fn name(self) -> &'static str {
        match self {
            GateVerdict::Passed => "passed",
            GateVerdict::Failed => "failed",
            GateVerdict::Undecided => "undecided",
        }
    }
}

/// A cell with its verdict.
#[derive(Clone, Debug)]
pub(crate) struct Judged {
    /// Grid values of the cell; for a single cell the metric.
    pub(crate) name: String,
    pub(crate) verdict: GateVerdict,
    /// Sentence of the comparison, with the verdict.
    pub(crate) text: String,
}

/// Number of looks, at 1, 2, 4, ... times `repetitions` up to `most` repetitions.
pub(crate) fn looks(repetitions: u32, most: u32) -> u32 {
    let mut looks = 1;
    let mut next = repetitions.max(1);
    while next < most {
        next = next.saturating_mul(2).min(most);
        looks += 1;
    }
    looks
}

/// Judges every cell. `looks` is the number of looks planned.
pub(crate) fn judge(compared: &Comparison<'_>, margin: Margin, looks: u32) -> Vec<Judged> {
    let Some(&at) = compared.shown.first() else { return Vec::new() };
    let column = &compared.columns[at];
    let one = |cell: &CellPair| {
        let (verdict, why) = verdict(compared, cell, at, margin, looks);
        let place = labels::cell(&cell.params);
        let name = if place.is_empty() { column.name.clone() } else { format!("{}: {place}", column.name) };
        Judged { name, verdict, text: format!("{} {why}", compared.of_cell(cell, at)) }
    };
    compared.cells.iter().map(one).collect()
}

fn verdict(
    compared: &Comparison<'_>,
    cell: &CellPair,
    at: usize,
    Margin(share): Margin,
    looks: u32,
) -> (GateVerdict, String) {
    let contrast = &cell.contrast.metrics[at];
    if contrast.only_a > contrast.only_b {
        let n = contrast.only_a - contrast.only_b;
        return (GateVerdict::Failed, format!("The second side gave no value in {n} more repetitions."));
    }
    let (Some(before), Some(difference)) = (contrast.a, contrast.difference) else {
        return (GateVerdict::Undecided, "There is no pair.".to_owned());
    };
    let allowed = share * before.mean.abs();
    let Some([low, high]) = difference.interval(0.05 / f64::from(looks.max(1))) else {
        return (GateVerdict::Undecided, "One pair is too few.".to_owned());
    };
    // The loss is an increase where less is better, and a decrease where more is better.
    let (least, most) = match better(&compared.columns[at].name) {
        Some(Ordering::Greater) => (-high, -low),
        _ => (low, high),
    };
    let percent = |x: f64| 100.0 * x / before.mean.abs().max(f64::MIN_POSITIVE);
    let interval = format!("a loss between {:.1} % and {:.1} %", percent(least), percent(most));
    let bound = format!("{:.1} %", 100.0 * share);
    if most <= allowed {
        (GateVerdict::Passed, format!("No worse than {bound}: {interval}."))
    } else if least > allowed {
        (GateVerdict::Failed, format!("Worse than {bound}: {interval}."))
    } else {
        (GateVerdict::Undecided, format!("Undecided about {bound}: {interval}; more repetitions narrow it."))
    }
}

/// Verdict on all cells: failed if any cell failed, else undecided if any cell is undecided.
pub(crate) fn overall(all: &[Judged]) -> GateVerdict {
    let any = |verdict| all.iter().any(|judged| judged.verdict == verdict);
    if any(GateVerdict::Failed) {
        GateVerdict::Failed
    } else if all.is_empty() || any(GateVerdict::Undecided) {
        GateVerdict::Undecided
    } else {
        GateVerdict::Passed
    }
}

fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' => out.push(c),
            // XML 1.0 permits no other control characters, even escaped.
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// JUnit file with one test case per cell; failed cells are failures, undecided cells are errors.
pub(crate) fn junit(all: &[Judged], labels: [&str; 2], seconds: f64) -> String {
    let count = |verdict| all.iter().filter(|judged| judged.verdict == verdict).count();
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let name = escaped(&format!("{} against {}", labels[1], labels[0]));
    let (n, failed, undecided) = (all.len(), count(GateVerdict::Failed), count(GateVerdict::Undecided));
    let _ = writeln!(
        out,
        "<testsuites tests=\"{n}\" failures=\"{failed}\" errors=\"{undecided}\" time=\"{seconds:.3}\">\n  \
         <testsuite name=\"{name}\" tests=\"{n}\" failures=\"{failed}\" errors=\"{undecided}\" skipped=\"0\" time=\"{seconds:.3}\">"
    );
    for judged in all {
        let each = seconds / n.max(1) as f64;
        let head =
            format!("name=\"{}\" classname=\"williwaw.compare\" time=\"{each:.3}\"", escaped(&judged.name));
        let text = escaped(&judged.text);
        let _ = match judged.verdict {
            GateVerdict::Passed => {
                writeln!(out, "    <testcase {head}>\n      <system-out>{text}</system-out>\n    </testcase>")
            }
            GateVerdict::Failed => writeln!(
                out,
                "    <testcase {head}>\n      <failure message=\"worse\">{text}</failure>\n    </testcase>"
            ),
            GateVerdict::Undecided => writeln!(
                out,
                "    <testcase {head}>\n      <error message=\"undecided\">{text}</error>\n    </testcase>"
            ),
        };
    }
    out.push_str("  </testsuite>\n</testsuites>\n");
    out
}

/// Markdown summary for the page of a CI build.
pub(crate) fn summary(all: &[Judged], labels: [&str; 2]) -> String {
    let plain = |text: &str| text.replace('|', "\\|").replace('\n', " ").replace('<', "&lt;");
    let head = match overall(all) {
        GateVerdict::Passed => "passed",
        GateVerdict::Failed => "failed",
        GateVerdict::Undecided => "undecided",
    };
    let mut out = format!("### williwaw: {head}\n\n{} against {}\n\n", plain(labels[1]), plain(labels[0]));
    out.push_str("| cell | verdict | |\n|---|---|---|\n");
    for judged in all {
        let verdict = match judged.verdict {
            GateVerdict::Passed => "passed",
            GateVerdict::Failed => "**failed**",
            GateVerdict::Undecided => "undecided",
        };
        let _ = writeln!(out, "| {} | {verdict} | {} |", plain(&judged.name), plain(&judged.text));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn margins_are_shares() {
        assert_eq!(margin("10%"), Ok(Margin(0.1)));
        assert_eq!(margin(" 2.5 % "), Ok(Margin(0.025)));
        assert_eq!(margin("0.1"), Ok(Margin(0.1)));
        for wrong in ["", "ten", "-5%", "5000%", "NaN"] {
            assert!(margin(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn looks_double_up_to_the_bound() {
        assert_eq!(
            [looks(10, 10), looks(10, 20), looks(10, 80), looks(10, 81), looks(50, 10)],
            [1, 2, 4, 5, 1]
        );
    }

    #[test]
    fn reports_escape_what_names_hold() {
        let all = [
            Judged { name: "a<b> & \"c\"\u{1b}".into(), verdict: GateVerdict::Failed, text: "x | y".into() },
            Judged { name: "d".into(), verdict: GateVerdict::Undecided, text: String::new() },
        ];
        let text = junit(&all, ["A", "B<"], 2.0);
        assert!(
            text.contains("a&lt;b&gt; &amp; &quot;c&quot;\u{fffd}") && !text.contains('\u{1b}'),
            "{text}"
        );
        assert!(text.contains("tests=\"2\" failures=\"1\" errors=\"1\""), "{text}");
        assert!(summary(&all, ["A", "B"]).contains("x \\| y"));
        assert_eq!(overall(&all), GateVerdict::Failed);
        assert_eq!(overall(&[]), GateVerdict::Undecided);
    }
}
