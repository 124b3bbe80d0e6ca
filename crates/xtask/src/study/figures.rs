//! Section of the SCTP study's page on figures 2 to 4 and 7 to 9: published events of their packet traces
//! beside measured ones.

use super::Cells;
use super::course::{Step, Timeline, ranges};
use std::fmt::Write as _;

/// Time at which the gate of the path opens, seconds.
const OPENS: f64 = 40.0;

/// Figure, published event, published value, measured value.
type Row = (&'static str, &'static str, &'static str, String);

/// A trace of a figure: figure, case, title, function that reads the events.
type Trace = (&'static str, &'static str, &'static str, fn(&Timeline) -> Vec<Row>);

/// The section of the generated page.
pub(super) fn section(cells: &mut Cells) -> Result<String, String> {
    let mut rows: Vec<Row> = Vec::new();
    let mut traces = String::new();
    let parts: [Trace; 8] = [
        ("fig2", "reno", "Figure 2: Reno", figure2),
        ("fig2", "bug-fix", "Figure 2: Reno with the bug fix", with_fix),
        ("fig3", "eifel", "Figure 3: Eifel", figure3),
        ("fig4", "sctp", "Figure 4: SCTP, `ns2-2002`", figure4),
        ("fig4", "rfc9260", "Figure 4: SCTP, `rfc9260`", figure4),
        ("fig7", "reno", "Figure 7: Reno with the bug fix", figure7),
        ("fig8", "eifel", "Figure 8: Eifel", figure8),
        ("fig9", "sctp", "Figure 9: SCTP, `ns2-2002`", figure9),
    ];
    for (figure, case, title, events) in parts {
        let course = &cells.get(figure, case, "")?.course;
        rows.extend(
            events(course)
                .into_iter()
                .map(|(_, event, published, measured)| (title, event, published, measured)),
        );
        let _ = write!(traces, "\n### {title}\n\n```\n");
        course.lines().iter().for_each(|line| _ = writeln!(traces, "{line}"));
        traces += "```\n";
    }
    let mut out = String::from(
        "\n## Events of figures 2 to 4 and 7 to 9\n\n| figure | event | published | measured |\n|---|---|---|---|\n",
    );
    for (figure, event, published, measured) in rows {
        let _ = writeln!(out, "| {figure} | {event} | {published} | {measured} |");
    }
    Ok(out + DIFFERENCES + &traces)
}

const DIFFERENCES: &str = "
Why they differ:

- Figure 3: two ACKs of 150 arrive twice, those of the two retransmissions of 131 that arrive after the window. The study draws none.
- Figure 4: SCTP has sent 130 chunks before the pause, the study's 134. The study names neither the start of its association nor its window.
  With RFC 9260 the first timeout of 1 s is spurious, and the window is still small when the pause begins.
- Figure 8: the study does not name the rate of figures 7 to 9; at 78 kbit/s segment 257 is the oldest of the 60 that wait, as in its
  trace. Here its original arrives, the copy that the timer sent is among the ten dropped, and the fast retransmit repairs 308, the first lost
  original. The timeout at that time is 25.5 s, doubled once, where the study prints 30.2 s; so the stall is longer than its 30 s.
";

fn timeouts(course: &Timeline) -> Vec<(f64, (u64, f64))> {
    course.pick(|step| if let Step::Timeout(n, rto) = step { Some((*n, *rto)) } else { None })
}

/// Time of the first acknowledgement after the outage, seconds.
fn resumed(course: &Timeline) -> f64 {
    let acked = course.pick(|step| matches!(step, Step::Acked(_)).then_some(()));
    acked.iter().find(|(t, ())| *t > OPENS).map_or(f64::INFINITY, |(t, ())| *t)
}

fn while_silent(course: &Timeline) -> String {
    let before = resumed(course);
    let times: Vec<String> = timeouts(course)
        .iter()
        .filter(|(t, _)| (28.0..before).contains(t))
        .map(|(t, _)| format!("{t:.1} s"))
        .collect();
    format!("{}: {}", times.len(), times.join(", "))
}

/// Retransmissions from the first ACK after the outage up to a fast retransmit.
fn gone_back(course: &Timeline) -> String {
    let from = resumed(course);
    let until = fasts(course).first().map_or(f64::INFINITY, |(t, _)| *t);
    let again = course.pick(|step| if let Step::Again(n) = step { Some(*n) } else { None });
    let list: Vec<u64> = again.iter().filter(|(t, _)| (from..until).contains(t)).map(|(_, n)| *n).collect();
    if list.is_empty() { "none".to_owned() } else { format!("{} ({} segments)", ranges(&list), list.len()) }
}

fn fasts(course: &Timeline) -> Vec<(f64, u64)> {
    course.pick(|step| if let Step::Fast(n) = step { Some(*n) } else { None })
}

fn fast(course: &Timeline) -> String {
    let words: Vec<String> = fasts(course).iter().map(|(t, n)| format!("{n} at {t:.1} s")).collect();
    if words.is_empty() { "none".to_owned() } else { words.join(", ") }
}

fn figure2(course: &Timeline) -> Vec<Row> {
    vec![
        ("", "timeouts before an ACK arrives", "2", while_silent(course)),
        ("", "go-back-N", "132-150 (19 segments)", gone_back(course)),
        ("", "spurious fast retransmit", "151", fast(course)),
    ]
}

fn with_fix(course: &Timeline) -> Vec<Row> {
    vec![("", "spurious fast retransmit", "none", fast(course))]
}

fn figure3(course: &Timeline) -> Vec<Row> {
    let revealed = course.pick(|step| matches!(step, Step::Verdict(true)).then_some(()));
    let revealed = revealed.first().map_or(f64::NAN, |(t, ())| *t);
    let acked = course.pick(|step| if let Step::Acked(n) = step { Some(*n) } else { None });
    let which = acked.iter().find(|(t, _)| (*t - revealed).abs() < 1e-9).map_or(0, |(_, n)| *n);
    let duplicates = course.pick(|step| matches!(step, Step::Duplicate(_)).then_some(()));
    let after = duplicates.iter().filter(|(t, ())| *t > OPENS).count();
    vec![
        (
            "",
            "an ACK reveals the spurious timeout",
            "of 131, at 42.9 s",
            format!("of {which}, at {revealed:.1} s"),
        ),
        ("", "segments retransmitted afterwards", "none", gone_back(course)),
        ("", "duplicate ACKs afterwards", "none", after.to_string()),
    ]
}

fn figure4(course: &Timeline) -> Vec<Row> {
    let duplicates = course.pick(|step| if let Step::Duplicate(n) = step { Some(*n) } else { None });
    let list: Vec<u64> = duplicates.iter().filter(|(t, _)| *t > OPENS).map(|(_, n)| *n).collect();
    let named = if list.is_empty() { "none".to_owned() } else { ranges(&list) };
    vec![
        ("", "go-back-N", "yes", gone_back(course)),
        ("", "duplicate SACKs of", "134", named),
        ("", "fast retransmit", "none (of 135)", fast(course)),
    ]
}

fn dropped(course: &Timeline) -> String {
    let list: Vec<u64> = course
        .pick(|step| if let Step::Dropped(n) = step { Some(*n) } else { None })
        .iter()
        .map(|(_, n)| *n)
        .collect();
    format!("{} ({})", list.len(), ranges(&list))
}

/// Segments sent during the outage that reached the queue when the gate opened.
fn released(course: &Timeline) -> String {
    let held = |t: f64| (28.0..=OPENS).contains(&t);
    let new = course.pick(|step| matches!(step, Step::New(_)).then_some(()));
    let again = course.pick(|step| matches!(step, Step::Again(_)).then_some(()));
    let [new, again] = [new, again].map(|list| list.iter().filter(|(t, ())| held(*t)).count());
    format!("{new}, and {again} retransmitted")
}

fn figure7(course: &Timeline) -> Vec<Row> {
    vec![
        ("", "segments released after the pause", "60", released(course)),
        ("", "segments dropped then", "10", dropped(course)),
        ("", "repair", "go-back-N", gone_back(course)),
    ]
}

fn figure8(course: &Timeline) -> Vec<Row> {
    let timers = course.pick(|step| if let Step::Timer(rto) = step { Some(*rto) } else { None });
    let (at, rto) = timers
        .iter()
        .filter(|(t, _)| *t > OPENS)
        .fold((0.0, 0.0), |most, (t, rto)| if *rto > most.1 { (*t, *rto) } else { most });
    let (from, stall) = course.silence();
    vec![
        ("", "segments dropped", "10", dropped(course)),
        ("", "fast retransmit", "257", fast(course)),
        ("", "largest timeout", "30.2 s, at 47.8 s", format!("{rto:.1} s, at {at:.1} s")),
        ("", "stall", "about 30 s", format!("{stall:.1} s, from {from:.1} s")),
    ]
}

fn figure9(course: &Timeline) -> Vec<Row> {
    let (from, stall) = course.silence();
    vec![
        ("", "segments dropped", "10", dropped(course)),
        ("", "repair", "go-back-N", gone_back(course)),
        ("", "longest silence", "no stall", format!("{stall:.1} s, from {from:.1} s")),
    ]
}
