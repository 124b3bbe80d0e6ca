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
            "beyond the time that the path itself takes, most time, {took}, was lost to {}: the timer expired \
             although nothing was lost, and {} retransmitted without need",
            timeouts(RecoveryVerdict::Spurious),
            were(direction.count(Need::Unneeded)),
        ),
        Cost::Genuine => format!(
            "beyond the time that the path itself takes, most time, {took}, was lost to {} after losses that no \
             faster recovery repaired",
            timeouts(RecoveryVerdict::Genuine)
        ),
        Cost::Timer => format!(
            "beyond the time that the path itself takes, most time, {took}, was lost to {} of which the capture does \
             not show whether they were needed",
            timeouts(RecoveryVerdict::Unknown)
        ),
        Cost::Silence if direction.timeouts_of(RecoveryVerdict::Spurious) > 0 => format!(
            "the most time, {took}, the path was silent and then delivered again: a delay spike, not a loss; {} \
             expired although nothing was lost, and {} retransmitted without need",
            timeouts(RecoveryVerdict::Spurious),
            were(direction.count(Need::Unneeded)),
        ),
        Cost::Silence => {
            format!(
                "the most time, {took}, the path was silent and then delivered again: a delay spike, not a loss"
            )
        }
        Cost::Outage => format!(
            "the most time, {took}, the path was down: packets sent meanwhile, or their acknowledgements, were lost"
        ),
        Cost::Waiting => {
            format!("the most time, {took}, the sender was silent until a tail loss probe restarted it")
        }
        Cost::Closed => {
            format!("the most time, {took}, the receiver's window was closed: its application did not read")
        }
        Cost::Receiver => {
            format!("the most time, {took}, the sender waited because the receiver's window was full")
        }
        Cost::Application => {
            format!("the most time, {took}, nothing was outstanding: the application had nothing to send")
        }
        Cost::Lost => format!(
            "the most time, {took}, nothing arrived at the capture point, and packets that the sender had sent were \
             lost before it"
        ),
        Cost::Unseen if direction.place.side() == Side::Sender => format!(
            "the largest share of time, {took}, has no known cause: the capture lacks packets of that time, or the \
             reason of a retransmission"
        ),
        Cost::Unseen => format!(
            "the most time, {took}, nothing arrived at the capture point; whether the sender had nothing to send, or \
             the path delayed or lost its packets, is not visible there"
        ),
        Cost::Queue => format!(
            "the most time, {took}, data waited in a queue: a round trip took {} on average and {} at best",
            short(direction.rtt.map_or(0.0, |r| r.mean_s)),
            short(direction.rtt.map_or(0.0, |r| r.min_s))
        ),
        Cost::Path if span.is_zero() => "no single cause delayed it for long".to_owned(),
        Cost::Path => format!("the most time, {took}, was spent on round trips of the path"),
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
    let timer = if direction.timeouts.iter().any(early) {
        ", and a minimum timeout of 1 s on such a path"
    } else {
        ""
    };
    let switch = switch_on(direction);
    if goes_back(direction) {
        format!("{switch}use a sender with F-RTO (RFC 5682) or Eifel (RFC 3522, 4015){timer}.")
    } else if timer.is_empty() {
        "the sender already recovers from them, as F-RTO (RFC 5682) and Eifel (RFC 4015) do.".to_owned()
    } else {
        "a minimum timeout of 1 s keeps timers from expiring on such a path; the sender already recovers from them, \
         as F-RTO (RFC 5682) and Eifel (RFC 4015) do."
            .to_owned()
    }
}

/// Third sentence: the remedy.
pub(super) fn advice(cost: Cost, span: Span, direction: &FlowDirection) -> String {
    let spurious = direction.timeouts_of(RecoveryVerdict::Spurious) > 0;
    let path = "Look below TCP for the cause of the delay (handover, reselection, link-layer retransmission)";
    match cost {
        Cost::Spurious => format!("Make spurious timeouts harmless: {}", harmless(direction)),
        Cost::Genuine => after_losses(direction),
        Cost::Timer => {
            "Capture at the receiver too and give that file with --receiver: then each verdict is certain.".to_owned()
        }
        Cost::Silence if spurious => format!("{path}; of spurious timeouts: {}", harmless(direction)),
        Cost::Silence => format!("{path}: the sender is not at fault."),
        Cost::Outage => {
            "Look below TCP for the cause of the outage (coverage, handover, reselection): no sender can deliver \
             during it.".to_owned()
        }
        Cost::Waiting => {
            "Find the cause of losses of the last segments of a flight, or of their acknowledgements: probes already \
             repair these losses.".to_owned()
        }
        Cost::Closed => {
            "Look at the receiving application: it did not read the data that had arrived. The network is not at \
             fault.".to_owned()
        }
        Cost::Receiver => format!(
            "Raise the receive buffer (the greatest window was {}), and see that the receiving application reads in time.",
            bytes(direction.options.window)
        ),
        Cost::Application => "Look at the application or the server behind it, not at the network.".to_owned(),
        Cost::Lost => {
            "Capture at the sender to see how long it waited and why; find the cause of losses before the capture \
             point.".to_owned()
        }
        Cost::Unseen if direction.place.side() == Side::Sender => {
            "Capture again so that no packet is left out: shorter frames (snap length), a larger buffer, both directions.".to_owned()
        }
        Cost::Unseen => "Capture at the sender: only there can an idle application, a timer and the path be \
                         distinguished.".to_owned(),
        Cost::Queue => format!(
            "Make the bottleneck's buffer smaller or manage it actively{}, or limit the window.",
            direction.buffer_bytes.map_or(String::new(), |b| format!(" (it held some {} when the first segment was lost)", bytes(b)))
        ),
        Cost::Path if span.is_zero() && direction.retransmissions.is_empty() => {
            "Nothing needs to be changed.".to_owned()
        }
        Cost::Path if direction.retransmissions.iter().any(|r| r.reason == Reason::Fast) => {
            "Losses kept the window small: find their cause.".to_owned()
        }
        Cost::Path => {
            "The window limits the transfer; for a higher rate, shorten the path or open the window sooner."
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
            "Find the cause of the losses of {loses}: the sender already uses SACK and tail loss probes (RFC 8985)."
        );
    }
    format!(
        "Repair losses without the timer: {}use a sender with SACK recovery and tail loss probes (RFC 8985), and find \
         the cause of the losses of {loses}.",
        switch_on(direction)
    )
}
