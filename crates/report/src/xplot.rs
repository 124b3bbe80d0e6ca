//! Export of a time-sequence picture to xplot, with the glyphs and colours of tcptrace.
//!
//! Data are white between arrows, retransmissions red under an R, acknowledgements green with a tick for each
//! duplicate, the window's edge yellow, SACK blocks purple. Added are timeouts in magenta, losses as orange
//! crosses, arrivals at the receiver as blue dots.

use crate::model::{Ack, Picture, Received, SegmentKind, Sent, Truth};
use std::fmt::Write as _;

/// Element of a picture with its time, for sorting.
enum Mark<'a> {
    Sent(&'a Sent),
    Ack(&'a Ack),
}

impl Picture {
    /// The picture as an xplot file: time in seconds from t = 0, sequence numbers as stream offsets.
    pub fn xplot(&self) -> String {
        let mut out = String::new();
        let title = if self.title.is_empty() { &self.flow } else { &self.title };
        let title: String = title.chars().filter(|c| !c.is_control()).collect();
        line(&mut out, format_args!("timeval double\ntitle\n{title} (time sequence graph)"));
        line(&mut out, format_args!("xlabel\ntime\nylabel\nsequence number"));
        let sent = self.sent.iter().map(|s| (s.t, Mark::Sent(s)));
        let mut marks: Vec<(f64, Mark<'_>)> =
            sent.chain(self.acks.iter().map(|a| (a.t, Mark::Ack(a)))).collect();
        marks.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut last: Option<&Ack> = None;
        for (_, mark) in marks {
            match mark {
                Mark::Sent(s) => segment(&mut out, s),
                Mark::Ack(a) => acknowledgement(&mut out, a, last.replace(a)),
            }
        }
        for timeout in &self.timeouts {
            let truth = match timeout.truth {
                Truth::Spurious => "spurious timeout",
                Truth::Genuine => "genuine timeout",
                Truth::Unknown => "timeout",
            };
            line(&mut out, format_args!("magenta\nrtext {:.9} {}\n{truth}", timeout.t, timeout.seq));
        }
        for Received { t, end, .. } in &self.received {
            line(&mut out, format_args!("blue\ndot {t:.9} {end}"));
        }
        for drop in &self.drops {
            line(&mut out, format_args!("orange\nx {:.9} {}", drop.t, drop.seq));
        }
        line(&mut out, format_args!("go"));
        out
    }
}

fn line(out: &mut String, what: std::fmt::Arguments<'_>) {
    // Writing into a string cannot fail.
    let _ = writeln!(out, "{what}");
}

fn segment(out: &mut String, s: &Sent) {
    let Sent { t, seq, end, kind } = s;
    if *kind == SegmentKind::New {
        line(out, format_args!("white"));
    } else {
        line(out, format_args!("red\natext {t:.9} {end}\nR"));
    }
    line(out, format_args!("darrow {t:.9} {seq}\nuarrow {t:.9} {end}\nline {t:.9} {seq} {t:.9} {end}"));
}

fn acknowledgement(out: &mut String, a: &Ack, last: Option<&Ack>) {
    let t = a.t;
    if let Some(Ack { t: from, ack, window_end, .. }) = last {
        line(out, format_args!("green\nline {from:.9} {ack} {t:.9} {ack}"));
        match a.ack == *ack {
            true => line(out, format_args!("dtick {t:.9} {ack}")),
            false => line(out, format_args!("line {t:.9} {ack} {t:.9} {}", a.ack)),
        }
        if *window_end == 0 || a.window_end == 0 {
            return sacks(out, a); // The window's edge is unknown: the capture shows no SYN.
        }
        line(out, format_args!("yellow\nline {from:.9} {window_end} {t:.9} {window_end}"));
        match a.window_end == *window_end {
            true => line(out, format_args!("utick {t:.9} {window_end}")),
            false => line(out, format_args!("line {t:.9} {window_end} {t:.9} {}", a.window_end)),
        }
    }
    sacks(out, a);
}

fn sacks(out: &mut String, a: &Ack) {
    let t = a.t;
    for [low, high] in &a.sacks {
        line(out, format_args!("purple\nline {t:.9} {low} {t:.9} {high}"));
        line(out, format_args!("htick {t:.9} {low}\nhtick {t:.9} {high}\natext {t:.9} {high}\nS"));
    }
}
