//! Ladder diagram of a failed dialogue as text: the peer on the left, the tested end on the right, one line
//! for each segment or event.

use crate::harness::{EventKind, LogEntry};
use crate::verdict::{Arrow, Failure, Rung};
use base::Time;
use base::event::Event;
use base::tcp::Segment;
use std::fmt::Write;

/// Size and colour of a ladder diagram.
#[derive(Clone, Copy, Debug)]
pub struct LadderOptions {
    /// Maximum line width, columns; clamped to 40 to 100.
    pub width: usize,
    /// Maximum number of lines; earlier lines are left out.
    pub lines: usize,
    /// Highlight the line of the failure.
    pub colour: bool,
}

/// Draws the log of a failure.
pub fn ladder(failure: &Failure, look: LadderOptions) -> String {
    let rungs = if failure.rungs.is_empty() { rungs(&failure.log, failure) } else { failure.rungs.clone() };
    let hidden = rungs.len().saturating_sub(look.lines);
    // Time and marker take 11 columns, the two vertical lines 2, the text to their right 12.
    let span = look.width.clamp(40, 100) - 25;
    let who = match (failure.rungs.is_empty(), failure.receiver) {
        (false, _) => "tested",
        (true, true) => "receiver",
        (true, false) => "sender",
    };
    let mut out = format!("{:>10} {:<w$}{who}\n", "t, s", "peer", w = span + 1);
    if hidden > 0 {
        let _ = writeln!(out, "{:>10} ... {hidden} lines before", "");
    }
    for rung in &rungs[hidden..] {
        let words: String = rung.words.chars().take(span.saturating_sub(4)).collect();
        let fill = span.saturating_sub(words.chars().count() + 2);
        let body = match rung.arrow {
            Arrow::Right => format!("|- {words} {}>|", "-".repeat(fill.saturating_sub(2))),
            Arrow::Left => format!("|<{} {words} -|", "-".repeat(fill.saturating_sub(2))),
            Arrow::None => {
                let beside: String = rung.words.chars().take(11).collect();
                format!("|{}| {beside}", " ".repeat(span))
            }
        };
        let mark = if rung.wrong { '!' } else { ' ' };
        let line = format!("{:>9}{mark} {body}", stamp(rung.t));
        let line = line.trim_end();
        if rung.wrong && look.colour {
            let _ = writeln!(out, "\x1b[1;31m{line}\x1b[0m");
        } else {
            let _ = writeln!(out, "{line}");
        }
    }
    out
}

/// Seconds in nine columns, with as many decimals as fit, at most four.
fn stamp(t: f64) -> String {
    let fits = (0..=4).rev().map(|n| format!("{t:.n$}")).find(|text| text.len() <= 9);
    fits.unwrap_or_else(|| format!("{t:.1e}"))
}

/// Lines of the diagram; contiguous segments of one time become one line.
fn rungs(log: &[LogEntry], failure: &Failure) -> Vec<Rung> {
    let seconds = |t: Time| t.as_secs_f64() - failure.origin.as_secs_f64();
    let number = |n: u64| n.saturating_sub(failure.first);
    let mut out: Vec<Rung> = Vec::new();
    let mut open: Option<(Segment, LogEntry, bool, u32)> = None;
    let rung_of = |s: &Segment, m: &LogEntry, again: bool, count: u32| Rung {
        t: seconds(m.t),
        wrong: m.wrong,
        arrow: Arrow::Left,
        words: describe_segment(s, again, count, &number, failure.receiver),
    };
    for moment in log {
        if let EventKind::Out { segment, again, .. } = moment.what {
            if let Some((s, m, a, count)) = &mut open
                && segment.len > 0
                && s.end() == segment.seq
                && (m.t, m.wrong, *a, s.cwr) == (moment.t, moment.wrong, again, segment.cwr)
            {
                s.len += segment.len;
                *count += 1;
                continue;
            }
            if let Some((s, m, a, count)) = open.take() {
                out.push(rung_of(&s, &m, a, count));
            }
            open = Some((segment, *moment, again, 1));
            continue;
        }
        if let Some((s, m, a, count)) = open.take() {
            out.push(rung_of(&s, &m, a, count));
        }
        let (arrow, words) = match moment.what {
            EventKind::Write(bytes) if bytes >= 100_000 => (Arrow::None, format!("write {}k", bytes / 1000)),
            EventKind::Write(bytes) => (Arrow::None, format!("write {bytes}")),
            EventKind::Close => (Arrow::None, "close".to_owned()),
            EventKind::In(s) => (Arrow::Right, describe_segment(&s, false, 1, &number, !failure.receiver)),
            EventKind::Inside(event) => (Arrow::None, describe_event(&event)),
            EventKind::Out { .. } => continue,
        };
        out.push(Rung { t: seconds(moment.t), wrong: moment.wrong, arrow, words });
    }
    if let Some((s, m, a, count)) = open {
        out.push(rung_of(&s, &m, a, count));
    }
    out
}

/// Short text of a segment.
fn describe_segment(s: &Segment, again: bool, count: u32, number: &dyn Fn(u64) -> u64, acks: bool) -> String {
    let mut out = String::new();
    let mut word = |text: &str| {
        if !out.is_empty() {
            out.push(' ');
        }
        out += text;
    };
    if s.syn {
        word("SYN");
    }
    if s.len > 0 {
        word(&format!("{}..{}", number(s.seq), number(s.seq + u64::from(s.len))));
    }
    if count > 1 {
        word(&format!("({count})"));
    }
    if again {
        word("again");
    }
    if s.fin {
        word("FIN");
    }
    if s.rst {
        word("RST");
    }
    if s.cwr {
        word("CWR");
    }
    if s.has_ack && (acks || s.len == 0) {
        word(&format!("ack {}", number(s.ack)));
        for b in s.sack.as_slice() {
            word(&format!("sack {}..{}", number(b.left), number(b.right)));
        }
        if s.ece {
            word("ECE");
        }
        if s.window == 0 {
            word("win 0");
        }
    }
    out
}

fn describe_event(event: &Event) -> String {
    match event {
        Event::RtoFired { expirations: 1, .. } => "timeout".to_owned(),
        Event::RtoFired { expirations, .. } => format!("timeout {expirations}"),
        Event::FastRetransmit { .. } => "fast rtx".to_owned(),
        Event::RecoveryEnded { .. } => "recovered".to_owned(),
        Event::Verdict { spurious, .. } | Event::FastRetransmitVerdict { spurious, .. } => {
            if *spurious {
                "spurious".to_owned()
            } else {
                "genuine".to_owned()
            }
        }
        other => other.name().to_owned(),
    }
}
