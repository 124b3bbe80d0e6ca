//! Derived findings of a direction: timeouts with causes, fast retransmits, go-back-N runs, kinds of delay spikes,
//! loss bursts, first flight.

use super::fault::{Fault, FaultKind};
use super::flow::{
    Burst, FastRetransmit, FlowDirection, GoBackN, RecoveryVerdict, Retransmission, Spike, SpikeKind, Timeout,
};
use super::profile::ProfileFacts;
use crate::facts::copies::Evidence;
use crate::facts::reason::Reason;
use crate::verdict::Need;
use base::truth::SpuriousCause;
use base::{Span, Time};

/// Derives go-back-N runs, kinds of silences, loss bursts and buffer size from the present verdicts.
pub(crate) fn again(direction: &mut FlowDirection) {
    direction.go_back_n = go_back_n(direction);
    let (retransmissions, timeouts) = (&direction.retransmissions, &direction.timeouts);
    for spike in &mut direction.spikes {
        spike.kind = spike_kind(spike, retransmissions, timeouts);
    }
    direction.bursts = bursts(&direction.retransmissions);
    direction.buffer_bytes = direction
        .retransmissions
        .iter()
        .filter(|r| r.need == Need::Needed && r.original.is_some() && r.flight > 0)
        .min_by_key(|r| r.original)
        .map(|r| r.flight);
}

/// Checks the first flight against RFC 6928 section 2: ten segments, and at most 14600 bytes unless two
/// segments are longer.
pub(crate) fn first_flight(direction: &mut FlowDirection, seen: ProfileFacts) {
    // The sender's segment size is that of the handshake, also if its application sends shorter segments.
    let segment = u64::from(direction.options.longest.max(u32::from(direction.options.mss.unwrap_or(0))));
    let most = (10 * segment).min((2 * segment).max(14_600));
    if let (Some(flight), Some((t, _))) = (seen.first_flight, direction.data_span)
        && flight > most
    {
        direction.faults.insert(0, Fault { t, kind: FaultKind::InitialWindow, amount: flight });
    }
}

pub(crate) fn timeouts(direction: &mut FlowDirection, tick: Option<Span>) {
    direction.timeouts = direction
        .retransmissions
        .iter()
        .filter(|r| r.reason == Reason::Timeout)
        .map(|r| Timeout {
            t: r.t,
            seq: r.seq,
            kind: r.need.into(),
            evidence: r.evidence,
            cause: (r.need == Need::Unneeded).then(|| cause(r, direction, tick)).flatten(),
            waited: r.waited,
            until: r.answered,
        })
        .collect();
}

/// Cause of a spurious timeout. The ACK left before the timeout; or it was lost, and the retransmission triggered
/// another ACK; or the data were delayed.
fn cause(r: &Retransmission, direction: &FlowDirection, tick: Option<Span>) -> Option<SpuriousCause> {
    let (answered, left) = (r.answered?, r.answer_left);
    if r.evidence == Evidence::Jump {
        return Some(SpuriousCause::AckLost);
    }
    let left = left?;
    let slack = tick.unwrap_or_default();
    // In a capture next to the sender, the ACK left the receiver before the timeout.
    if left + slack < r.t {
        return Some(SpuriousCause::AckDelayed);
    }
    let least = Span::from_secs_f64(direction.rtt.map_or(0.0, |r| r.min_s));
    let own = answered.since(r.t) + slack >= least;
    let told =
        matches!(r.evidence, Evidence::Dsack | Evidence::Duplicate) && answered.since(r.t) <= least + least;
    // After a long wait, an ACK one RTT after the retransmission was triggered by it, and earlier ACKs were lost. A
    // receiver by RFC 1323 section 3.4 echoes the earlier copy's timestamp in it.
    let long = r.waited != Span::FOREVER && r.waited > least.times(LONG_WAIT);
    let just = answered.since(r.t).as_nanos() <= least.as_nanos() / 4 * 5;
    Some(if own && (told || long && just) { SpuriousCause::AckLost } else { SpuriousCause::Delayed })
}

/// Least wait in RTTs after which an ACK within a quarter RTT of its due time is no coincidence.
const LONG_WAIT: u64 = 20;

pub(crate) fn fast(all: &[Retransmission]) -> Vec<FastRetransmit> {
    all.iter()
        .filter(|r| r.reason == Reason::Fast)
        .map(|r| FastRetransmit {
            t: r.t,
            seq: r.seq,
            kind: RecoveryVerdict::from(r.need),
            evidence: r.evidence,
            duplicates: r.duplicates,
        })
        .collect()
}

fn go_back_n(direction: &FlowDirection) -> Vec<GoBackN> {
    let mut out: Vec<GoBackN> = Vec::new();
    let mut open: Option<GoBackN> = None;
    for r in &direction.retransmissions {
        match (r.reason, &mut open) {
            (Reason::Timeout, _) => {
                out.extend(open.take().filter(|g| g.segments > 1));
                let unneeded = u64::from(r.need == Need::Unneeded);
                open = Some(GoBackN { t: r.t, until: r.t, kind: r.need.into(), segments: 1, unneeded });
            }
            (Reason::GoBackN, Some(run)) => {
                run.segments += 1;
                run.until = r.t;
                run.unneeded += u64::from(r.need == Need::Unneeded);
            }
            _ => {}
        }
    }
    out.extend(open.filter(|g| g.segments > 1));
    out
}

/// Kind of a silence: delay if the awaited segment was resent without need, or not resent; otherwise outage or timer.
fn spike_kind(spike: &Spike, all: &[Retransmission], timeouts: &[Timeout]) -> SpikeKind {
    let from = all.partition_point(|r| r.t < spike.t);
    let within = |t: Time| t <= spike.until;
    let resent =
        all[from..].iter().take_while(|r| within(r.t)).find(|r| r.seq <= spike.seq && spike.seq < r.end);
    // Without transmissions in the silence, none can have been lost in it.
    let lost = if spike.spoken > spike.usual { SpikeKind::Outage } else { SpikeKind::Timer };
    let answer_lost = resent.is_some_and(|r| {
        let from = timeouts.partition_point(|t| t.t < r.t);
        let same = timeouts[from..].iter().take_while(|t| t.t == r.t).find(|t| t.seq == r.seq);
        same.is_some_and(|t| t.cause == Some(SpuriousCause::AckLost))
    });
    match resent.map(|r| (r.need, r.evidence)) {
        _ if answer_lost => lost,
        None => SpikeKind::Delay,
        Some((Need::Unneeded, Evidence::Jump)) | Some((Need::Needed, _)) => lost,
        Some((Need::Unneeded, _)) => SpikeKind::Delay,
        Some((Need::Unknown, _)) if lost == SpikeKind::Timer => lost,
        Some((Need::Unknown, _)) => SpikeKind::Unknown,
    }
}

/// Bursts of at least two lost segments that are adjacent in the sequence.
fn bursts(all: &[Retransmission]) -> Vec<Burst> {
    let mut lost: Vec<(u64, u64, Time)> = all
        .iter()
        .filter(|r| r.need == Need::Needed)
        .filter_map(|r| Some((r.seq, r.end, r.original?)))
        .collect();
    lost.sort_unstable();
    lost.dedup_by_key(|l| l.0);
    let mut out: Vec<Burst> = Vec::new();
    let mut top = 0;
    for (seq, end, t) in lost {
        match out.last_mut() {
            Some(burst) if seq <= top && t >= burst.until => {
                burst.until = t;
                burst.segments += 1;
                burst.bytes += end.saturating_sub(seq.max(top));
            }
            _ => out.push(Burst { t, until: t, segments: 1, bytes: end - seq }),
        }
        top = end.max(top);
    }
    out.retain(|b| b.segments > 1);
    out.sort_by_key(|b| b.t);
    out
}
