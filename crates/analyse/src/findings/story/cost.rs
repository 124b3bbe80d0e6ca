//! Costs of time of a transfer: time lost by cause (timeouts, silences, window, application, queue), and the dominant
//! cost.
//!
//! Time without delivery is attributed to the path, even if timers expired in it. A timeout costs the wait after the
//! path's last loss event, and a spurious one also its go-back-N.

use crate::facts::reason::Reason;
use crate::findings::flow::{FlowDirection, RecoveryVerdict, SpikeKind};
use crate::findings::idle::IdleCause;
use crate::findings::profile;
use crate::intake::capture_point::Side;
use base::{Span, Time};

/// Cause of lost time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cost {
    /// Spurious timeouts and the following go-back-N.
    Spurious,
    /// Timeouts after losses.
    Genuine,
    /// Timeouts without a verdict.
    Timer,
    /// Waits before tail loss probes.
    Waiting,
    /// Delay spikes: the path delivered data late.
    Silence,
    /// Outages: the path lost data.
    Outage,
    /// Zero window of the receiver.
    Closed,
    /// Full window of the receiver.
    Receiver,
    /// The application had no data to send.
    Application,
    /// Packets lost before the capture point.
    Lost,
    /// Pauses whose cause is not visible at the capture point.
    Unseen,
    /// Queueing delay.
    Queue,
    /// Round trips of the path itself.
    Path,
}

/// Half-open time intervals, ascending and disjoint.
struct Intervals(Vec<(Time, Time)>);

impl Intervals {
    fn of(mut all: Vec<(Time, Time)>) -> Intervals {
        all.retain(|i| i.0 < i.1);
        all.sort_unstable();
        let mut out: Vec<(Time, Time)> = Vec::with_capacity(all.len());
        for (from, until) in all {
            match out.last_mut() {
                Some(last) if from <= last.1 => last.1 = last.1.max(until),
                _ => out.push((from, until)),
            }
        }
        Intervals(out)
    }

    fn length(&self) -> Span {
        self.0.iter().fold(Span::ZERO, |sum, (from, until)| sum + until.since(*from))
    }

    /// Part of `[from, until)` outside of all intervals.
    fn outside(&self, from: Time, until: Time) -> Span {
        let first = self.0.partition_point(|i| i.1 <= from);
        let inside = self.0[first..]
            .iter()
            .take_while(|i| i.0 < until)
            .fold(Span::ZERO, |sum, (a, b)| sum + (*b).min(until).since((*a).max(from)));
        until.since(from) - inside
    }
}

/// Delay spikes and outages between the first and the last data segment. An outage lasts until the last segment known
/// to be lost in it.
fn silences(direction: &FlowDirection) -> [Intervals; 2] {
    // A silence before the first or after the last data segment delays nothing.
    let (first, last) = direction.data_span.unwrap_or_default();
    let of = |kind: SpikeKind, end: fn(&crate::findings::flow::Spike) -> Time| {
        let all = direction.spikes.iter().filter(|s| s.kind == kind);
        Intervals::of(all.map(|s| (s.t.max(first), end(s).min(last))).collect())
    };
    [of(SpikeKind::Delay, |s| s.until), of(SpikeKind::Outage, |s| (s.t + s.spoken).min(s.until))]
}

/// Time lost to timeouts of a kind, less silences of the path. A timeout counts from the timer's start to the ACK that
/// ended the wait; a spurious one also counts the go-back-N.
fn lost_to(direction: &FlowDirection, kind: RecoveryVerdict, path: &Intervals) -> Span {
    let mut upto = Time::ZERO;
    let mut sum = Span::ZERO;
    let mut runs = direction
        .go_back_n
        .iter()
        .filter(|g| g.kind == RecoveryVerdict::Spurious && g.unneeded > 1)
        .peekable();
    for t in &direction.timeouts {
        let waited = if t.waited == Span::FOREVER { Span::ZERO } else { t.waited };
        let from = (t.t - waited).max(upto);
        while runs.next_if(|run| run.t < t.t).is_some() {}
        let repaired = runs.peek().filter(|run| run.t == t.t).map_or(t.t, |run| run.until);
        let until = t.until.unwrap_or(t.t).max(repaired);
        if t.kind == kind && until > from {
            sum += path.outside(from, until);
        }
        upto = upto.max(until);
    }
    sum
}

/// Dominant cost and its duration.
pub(super) fn costliest(direction: &FlowDirection, whole: Span) -> (Cost, Span) {
    let [late, lost] = silences(direction);
    let (silence, outage) = (late.length(), lost.length());
    let path = Intervals::of(late.0.iter().chain(&lost.0).copied().collect());
    let to = |kind| lost_to(direction, kind, &path);
    let (spurious, genuine, unknown) =
        (to(RecoveryVerdict::Spurious), to(RecoveryVerdict::Genuine), to(RecoveryVerdict::Unknown));
    let probes = direction
        .retransmissions
        .iter()
        .filter(|r| r.reason == Reason::Probe && r.waited != Span::FOREVER)
        .fold(Span::ZERO, |sum, r| sum + path.outside(r.t - r.waited, r.t));
    // A full window costs nothing if it is at least the bandwidth-delay product.
    let receiver = direction.time.of(IdleCause::Receiver);
    let fills =
        profile::bandwidth_delay(direction).is_some_and(|product| direction.options.window >= product);
    let avoidable = [
        (Cost::Spurious, spurious),
        (Cost::Genuine, genuine),
        (Cost::Timer, unknown),
        (Cost::Waiting, probes),
        (Cost::Silence, silence),
        (Cost::Outage, outage),
        (Cost::Closed, direction.time.of(IdleCause::Closed)),
        (Cost::Receiver, if fills { Span::ZERO } else { receiver }),
        (Cost::Application, direction.time.of(IdleCause::Application)),
        (Cost::Lost, direction.time.of(IdleCause::Lost)),
        (Cost::Unseen, direction.time.of(IdleCause::Unknown)),
    ];
    let mut best = (Cost::Path, Span::ZERO);
    for (cost, span) in avoidable {
        if span > best.1 {
            best = (cost, span);
        }
    }
    if best.1.as_nanos() >= whole.as_nanos() / 10 && !best.1.is_zero() {
        return best;
    }
    // Next to the receiver, RTT samples measure its response time, not the path.
    let seen = direction.place.side() != Side::Receiver;
    let queueing = seen && direction.rtt.is_some_and(|r| r.queueing_s > r.min_s);
    let rest = direction.time.of(IdleCause::Congestion) + if fills { receiver } else { Span::ZERO };
    (if queueing { Cost::Queue } else { Cost::Path }, rest - spurious - genuine - silence - outage)
}
