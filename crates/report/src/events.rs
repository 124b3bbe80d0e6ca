//! HTML table of a picture's events in time order: timeouts, fast retransmits, losses, outages,
//! retransmissions; for screen readers, search and copying.

use std::fmt::Write as _;

use crate::model::sorted;
use crate::model::{Picture, SegmentKind};
use crate::text::{count, escape, grouped};

/// Maximum number of rows; further events are counted only.
const ROWS: usize = 400;

/// Appends the table. Segments sent once are only counted.
pub(crate) fn html(picture: &Picture, out: &mut String) {
    let mut events: Vec<(f64, &'static str, Option<u64>, String)> = Vec::new();
    for e in sorted(&picture.spikes, |e| e.from) {
        events.push((e.from, "link disturbed", None, format!("until {:.3} s: {}", e.until, e.name)));
    }
    for e in sorted(&picture.sent, |e| e.t) {
        match e.kind {
            SegmentKind::New => {}
            SegmentKind::Unknown => {
                let why = "it is unknown whether that was needed".to_owned();
                events.push((e.t, "retransmission", Some(e.seq), why));
            }
            SegmentKind::Retransmission => {
                events.push((e.t, "retransmission", Some(e.seq), "needed".to_owned()))
            }
            SegmentKind::Unneeded => {
                let why = "unneeded: an earlier copy reaches the receiver".to_owned();
                events.push((e.t, "retransmission", Some(e.seq), why));
            }
        }
    }
    for e in sorted(&picture.drops, |e| e.t) {
        events.push((e.t, "lost", Some(e.seq), e.place.clone()));
    }
    for e in sorted(&picture.timeouts, |e| e.t) {
        events.push((e.t, "timer expired", Some(e.seq), e.label(1.0)));
    }
    for e in sorted(&picture.fast_retransmits, |e| e.t) {
        let word = match e.truth {
            crate::model::Truth::Spurious => "spurious",
            crate::model::Truth::Genuine => "genuine",
            crate::model::Truth::Unknown => "unknown",
        };
        events.push((e.t, "fast retransmit", Some(e.seq), word.to_owned()));
    }
    for layer in &picture.layers {
        for e in sorted(&layer.events, |e| e.t) {
            let until = e.until.map_or(String::new(), |until| format!("until {until:.3} s: "));
            let detail = if e.detail.is_empty() { String::new() } else { format!(", {}", e.detail) };
            events.push((e.t, "lower layer", None, format!("{until}{}: {}{detail}", layer.name, e.event)));
        }
    }
    events.sort_by(|a, b| a.0.total_cmp(&b.0));
    let _ = write!(
        out,
        "<details class=\"events\"><summary>Events as a table: {}</summary><p>{} sent, {} reached the receiver, {} \
         reached the sender.</p>",
        count(events.len(), "event"),
        count(picture.sent.len(), "segment"),
        grouped(picture.received.len() as u64),
        count(picture.acks.len(), "acknowledgement"),
    );
    out.push_str("<div class=\"table\" tabindex=\"0\"><table><thead><tr><th scope=\"col\" class=\"number\">time (s)</th><th scope=\"col\">event</th><th scope=\"col\" class=\"number\">segment</th><th scope=\"col\">more</th></tr></thead><tbody>");
    for (t, what, seq, more) in events.iter().take(ROWS) {
        let segment = seq.map_or(String::new(), |seq| picture.ordinal(seq).to_string());
        let _ = write!(
            out,
            "<tr><td class=\"number\">{t:.3}</td><td>{what}</td><td class=\"number\">{segment}</td><td>{}</td></tr>",
            escape(more)
        );
    }
    out.push_str("</tbody></table></div>");
    if events.len() > ROWS {
        let _ = write!(out, "<p>{} more are not listed.</p>", grouped((events.len() - ROWS) as u64));
    }
    out.push_str("</details>");
}
