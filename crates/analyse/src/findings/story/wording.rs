//! Wording of the diagnosis: sentences with the dominant cost of time, and with its remedy.
//!
//! A remedy already in use in the capture is not recommended.

use super::cost::Cost;
use super::{bytes, count, seconds, short};
use crate::facts::reason::Reason;
use crate::findings::flow::{FlowDirection, RecoveryVerdict};
use crate::intake::capture_point::Side;
use crate::verdict::Need;
use base::Span;

fn were(n: u64) -> String {
    format!("{} {}", count(n, "segment"), if n == 1 { "was" } else { "were" })
}

/// Second half of the first sentence: the cost, its duration and share of the whole time.
pub(super) fn what(cost: Cost, span: Span, whole: Span, direction: &FlowDirection) -> String {
    let share = if whole.is_zero() { 0.0 } else { 100.0 * span.as_secs_f64() / whole.as_secs_f64() };
    let took = format!("{} ({:.0} %)", seconds(span.min(whole)), share.min(100.0));
    let timeouts = |kind| count(direction.timeouts_of(kind), "timeout");
    let words = match cost {
        Cost::Spurious => format!(
            "beyond what the path itself takes, most time, {took}, went with {}: the timer expired though nothing was lost, and \
             {} sent again for nothing",
            timeouts(RecoveryVerdict::Spurious),
            were(direction.count(Need::Unneeded)),
        ),
        Cost::Genuine => format!(
            "beyond what the path itself takes, most time, {took}, went with {} after losses that no faster recovery repaired",
            timeouts(RecoveryVerdict::Genuine)
        ),
        Cost::Timer => format!(
            "beyond what the path itself takes, most time, {took}, went with {} of which the capture does not tell whether they were needed",
            timeouts(RecoveryVerdict::Unknown)
        ),
        Cost::Silence if direction.timeouts_of(RecoveryVerdict::Spurious) > 0 => format!(
            "the most time, {took}, the path was silent and then went on: a delay spike, not a loss; {} expired though nothing \
             was lost, and {} sent again for nothing",
            timeouts(RecoveryVerdict::Spurious),
            were(direction.count(Need::Unneeded)),
        ),
        Cost::Silence => {
            format!("the most time, {took}, the path was silent and then went on: a delay spike, not a loss")
        }
        Cost::Outage => format!(
            "the most time, {took}, the path was down: packets sent meanwhile, or their acknowledgements, were lost"
        ),
        Cost::Waiting => {
            format!("the most time, {took}, the sender was silent until a tail loss probe let it go on")
        }
        Cost::Closed => format!(
            "the most time, {took}, the receiver took nothing: its window was closed, since its application did not read"
        ),
        Cost::Receiver => {
            format!("the most time, {took}, the sender waited because the receiver's window was full")
        }
        Cost::Application => {
            format!("the most time, {took}, nothing was outstanding: the application had nothing to send")
        }
        Cost::Lost => format!(
            "the most time, {took}, nothing came here, and packets that the sender had sent were lost before they came here"
        ),
        Cost::Unseen if direction.place.side() == Side::Sender => format!(
            "the largest share of time, {took}, has no known cause: the capture misses packets of that time, or the reason of a retransmission"
        ),
        Cost::Unseen => format!(
            "the most time, {took}, nothing came here; whether the sender had nothing to send, or the path held up or lost what it \
             sent, is not seen at this place"
        ),
        Cost::Queue => format!(
            "the most time, {took}, data waited their turn: a round trip took {} on average and {} at best, the rest is a \
             queue",
            short(direction.rtt.map_or(0.0, |r| r.mean_s)),
            short(direction.rtt.map_or(0.0, |r| r.min_s))
        ),
        Cost::Path if span.is_zero() => "nothing held it up for long".to_owned(),
        Cost::Path => format!("the most time, {took}, went with plain round trips of the path"),
    };
    words + "."
}

/// Recommendation to enable options that are known to be off.
fn switch_on(direction: &FlowDirection) -> String {
    let off =
        [(direction.options.sack == Some(false), "SACK"), (!direction.options.timestamps, "timestamps")];
    let missing: Vec<&str> = off.into_iter().filter(|m| m.0).map(|m| m.1).collect();
    match missing[..] {
        [] => String::new(),
        _ => format!("switch on {} at both ends; ", missing.join(" and ")),
    }
}

/// Whether the sender ran go-back-N after a spurious timeout, so it neither detected nor undid the timeout.
fn goes_back(direction: &FlowDirection) -> bool {
    direction.go_back_n.iter().any(|run| run.kind == RecoveryVerdict::Spurious && run.unneeded > 1)
}

fn harmless(direction: &FlowDirection) -> String {
    let early = |t: &crate::findings::flow::Timeout| {
        t.kind == RecoveryVerdict::Spurious && t.waited < Span::from_millis(950)
    };
    let timer =
        if direction.timeouts.iter().any(early) { ", and a least timeout of 1 s on such a path" } else { "" };
    let switch = switch_on(direction);
    if goes_back(direction) {
        format!("{switch}use a sender with F-RTO (RFC 5682) or Eifel (RFC 3522, 4015){timer}.")
    } else if timer.is_empty() {
        "the sender recovers from them already, as F-RTO (RFC 5682) and Eifel (RFC 4015) do.".to_owned()
    } else {
        "a least timeout of 1 s keeps timers from expiring on such a path; the sender recovers from it already, as F-RTO \
         (RFC 5682) and Eifel (RFC 4015) do."
            .to_owned()
    }
}

/// Third sentence: the remedy.
pub(super) fn advice(cost: Cost, span: Span, direction: &FlowDirection) -> String {
    let spurious = direction.timeouts_of(RecoveryVerdict::Spurious) > 0;
    let path = "Look below TCP for what holds the link up (handover, reselection, link-layer retransmission)";
    match cost {
        Cost::Spurious => format!("Make spurious timeouts harmless: {}", harmless(direction)),
        Cost::Genuine => after_losses(direction),
        Cost::Timer => {
            "Capture at the receiver too and give that file with --receiver: then each verdict is certain.".to_owned()
        }
        Cost::Silence if spurious => format!("{path}; of spurious timeouts: {}", harmless(direction)),
        Cost::Silence => format!("{path}: the sender did nothing wrong."),
        Cost::Outage => {
            "Look below TCP for what takes the link away (coverage, handover, reselection): no sender delivers meanwhile.".to_owned()
        }
        Cost::Waiting => {
            "Look for what loses the last segments of a flight, or their acknowledgements: probes repair that already.".to_owned()
        }
        Cost::Closed => {
            "Look at the application that receives: it did not read what had come. The network is not to blame.".to_owned()
        }
        Cost::Receiver => format!(
            "Raise the receive buffer (the greatest window was {}), and see that the receiving application reads in time.",
            bytes(direction.options.window)
        ),
        Cost::Application => "Look at the application or the server behind it, not at the network.".to_owned(),
        Cost::Lost => {
            "Capture at the sender, which shows how long it waited and for what; look for what loses packets on the way here.".to_owned()
        }
        Cost::Unseen if direction.place.side() == Side::Sender => {
            "Capture again so that no packet is left out: shorter frames (snap length), a larger buffer, both directions.".to_owned()
        }
        Cost::Unseen => "Capture at the sender: only there an idle application, a timer and the path look different.".to_owned(),
        Cost::Queue => format!(
            "Make the bottleneck's buffer smaller or manage it actively{}, or limit the window.",
            direction.buffer_bytes.map_or(String::new(), |b| format!(" (it held some {} when the first segment was lost)", bytes(b)))
        ),
        Cost::Path if span.is_zero() && direction.retransmissions.is_empty() => {
            "Nothing needs to be mended here.".to_owned()
        }
        Cost::Path if direction.retransmissions.iter().any(|r| r.reason == Reason::Fast) => {
            "Losses kept the window small: look for what loses packets.".to_owned()
        }
        Cost::Path => {
            "The transfer is as fast as its window lets it be; for more, shorten the path or open the window sooner."
                .to_owned()
        }
    }
}

fn after_losses(direction: &FlowDirection) -> String {
    let loses = match direction.bursts.len() {
        0 => "single packets".to_owned(),
        n => format!("packets in {}", count(n as u64, "burst")),
    };
    let probes = direction.retransmissions.iter().any(|r| r.reason == Reason::Probe);
    if probes && direction.options.sack != Some(false) {
        return format!(
            "Look for what loses {loses}: the sender uses SACK and tail loss probes (RFC 8985) already."
        );
    }
    format!(
        "Repair losses without the timer: {}use a sender with SACK recovery and tail loss probes (RFC 8985), and look for what \
         loses {loses}.",
        switch_on(direction)
    )
}
