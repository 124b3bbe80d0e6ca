//! Diagnosis of a capture in three sentences (`Diagnosis`): dominant cost of time, certainty, remedy; formats of bytes
//! and times.
//!
//! `cost` computes the costs, `wording` has the sentences. Retransmissions without a verdict are not used.

mod cost;
mod wording;

use super::fairness::jain_index;
use super::flow::{Flow, FlowDirection};
use super::idle::IdleCause;
use crate::intake::capture_point::Side;
use crate::verdict::Need;
use base::Span;
use cost::{Cost, costliest};
use wording::{advice, what};

/// Diagnosis of a set of connections: three sentences.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnosis {
    /// Sentence with the dominant cost of time.
    pub what: String,
    /// Sentence with the certainty of the diagnosis.
    pub sure: String,
    /// Sentence with the remedy.
    pub advice: String,
    /// Jain's fairness index over the connections with data, if there are several.
    pub jain_index: Option<f64>,
}

impl Flow {
    /// Index of the direction with most payload bytes.
    pub fn main(&self) -> usize {
        usize::from(self.directions[1].data_bytes > self.directions[0].data_bytes)
    }
}

/// Diagnosis of these connections: of the connection with most data.
pub fn tell(flows: &[&Flow]) -> Diagnosis {
    let busy = |f: &&&Flow| f.directions[f.main()].data_packets > 0;
    let rates: Vec<f64> =
        flows.iter().filter(busy).filter_map(|f| f.directions[f.main()].goodput_bps()).collect();
    let jain = (rates.len() > 1).then(|| jain_index(&rates)).flatten();
    let Some(flow) = flows.iter().filter(busy).max_by_key(|f| f.directions[f.main()].data_bytes) else {
        return Diagnosis {
            what: "No connection in this capture carried data.".into(),
            sure: "Nothing can be judged.".into(),
            advice: "Capture again while the transfer runs, at the end that sends.".into(),
            jain_index: jain,
        };
    };
    let direction = &flow.directions[flow.main()];
    let whole = direction.data_span.map_or(Span::ZERO, |(from, until)| until.since(from));
    let (cost, span) = costliest(direction, whole);
    let of = if flows.len() > 1 {
        format!("Of {} connections the largest, {} to {}, sent", flows.len(), sender(flow), receiver(flow))
    } else {
        format!("{} sent {}", sender(flow), receiver(flow))
    };
    let much = match direction.delivered_bytes {
        0 => format!("{} without any acknowledgement", bytes(direction.data_bytes)),
        n => bytes(n),
    };
    let head = format!("{of} {much} in {}", seconds(whole));
    Diagnosis {
        what: format!("{head}; {}", what(cost, span, whole, direction)),
        sure: sure(flow, direction, cost, span),
        advice: advice(cost, span, direction),
        jain_index: jain,
    }
}

fn sender(flow: &Flow) -> String {
    [flow.client, flow.server][flow.main()].to_string()
}

fn receiver(flow: &Flow) -> String {
    [flow.server, flow.client][flow.main()].to_string()
}

/// Whether the receiver's window, of unknown scale, may have delayed the sender by more than the reported cost.
fn may_be_the_window(direction: &FlowDirection, cost: Cost, span: Span) -> bool {
    let elsewhere =
        matches!(cost, Cost::Path | Cost::Queue) || direction.time.of(IdleCause::Congestion) > span;
    !direction.options.window_known && elsewhere && cost != Cost::Closed
}

fn sure(flow: &Flow, direction: &FlowDirection, cost: Cost, span: Span) -> String {
    let side = direction.place.side();
    let place = match side {
        Side::Sender => "the capture point is next to the sender",
        Side::Receiver => {
            "the capture point is next to the receiver: it shows arrivals, but neither the sender's packets before the path nor its timers"
        }
        Side::Middle => {
            "the capture point is in the middle of the path: arrivals and timer expiries at the sender are seen in part"
        }
        Side::Unknown => "the capture point is unknown, and so are most causes at the sender",
    };
    let all = direction.retransmissions.len() as u64;
    let judged = all - direction.count(Need::Unknown);
    let verdicts = match (all, judged) {
        (0, _) => "nothing was retransmitted".to_owned(),
        (1, 1) => "the one retransmission is judged with evidence".to_owned(),
        (n, j) if n == j => format!("each of {} is judged with evidence", count(n, "retransmission")),
        (n, j) => format!(
            "{j} of {} are judged with evidence, the others are called unknown",
            count(n, "retransmission")
        ),
    };
    // No certainty if more than half of the data are missing from the capture.
    let missed = direction.missing_bytes.max(direction.acknowledged_unseen);
    let torn = missed > direction.data_bytes;
    let how = match (cost, judged == all, side) {
        _ if torn => "This is unsure",
        (Cost::Timer | Cost::Unseen, _, _) => "This is unsure",
        (Cost::Receiver, _, _) if !direction.options.window_known => "This is unsure",
        _ if may_be_the_window(direction, cost, span) => "This is unsure",
        (_, true, Side::Sender) => "This is quite sure",
        (_, _, Side::Unknown) => "This is unsure",
        _ => "This is likely",
    };
    let gaps = if missed > 0 {
        format!("; the capture misses {} that were sent", bytes(missed))
    } else {
        String::new()
    };
    let opened = if flow.opened { "" } else { "; its beginning was not seen" };
    format!("{how}: {place}, and {verdicts}{gaps}{opened}.")
}

/// Number and noun, in the plural unless `n` is 1.
pub fn count(n: u64, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// Bytes with a suitable unit.
pub fn bytes(n: u64) -> String {
    match n {
        0..10_000 => format!("{n} bytes"),
        10_000..10_000_000 => format!("{:.1} kB", n as f64 / 1e3),
        _ => format!("{:.1} MB", n as f64 / 1e6),
    }
}

fn seconds(s: Span) -> String {
    let s = s.as_secs_f64();
    if s < 1.0 { short(s) } else { format!("{s:.1} s") }
}

/// Time in s, or in ms if it is below 10 ms.
fn short(s: f64) -> String {
    if s >= 0.01 || s <= 0.0 { format!("{s:.3} s") } else { format!("{:.3} ms", s * 1e3) }
}
