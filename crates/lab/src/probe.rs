//! Probes: values measured in the trace of one repetition, for claims about single events: duration of a
//! recovery, segments sent on each ACK, RTO over time.
//!
//! "The event" is the first gate closure, which ends when the gate opens; without a gate, the first timeout. "The
//! train" is the ACKs of segments sent before the first timeout that arrive after the event, up to the recovery
//! point (`snd_max` at that timeout).

mod change;
mod lifetime;
mod queue;
mod window;

use crate::once::{Options, run_once};
use base::event::{Event, Record};
use base::packet::DropReason;
use base::rng::Seed;
use base::truth::{Cause, Retransmission};
use base::{Span, Time};
use scenario::Model;
use scenario::build::closures;
use scenario::model::{LinkRate, Transport};
use std::collections::BTreeMap;

/// Name and definition of every probe of this file.
pub const PROBES: &[(&str, &str)] = &[
    ("go_back_n", "timeouts after which more than the oldest segment was resent"),
    ("extra_on_partial", "unneeded retransmissions sent on partial acknowledgements or into reported holes"),
    ("timeouts", "expirations of the retransmission timer on data"),
    ("first_timeout_s", "time of the first expiration"),
    ("first_timeout_seq", "first byte of the segment that it retransmitted"),
    ("timeouts_after_event", "expirations after the event was over"),
    ("fast_retransmits", "fast retransmits"),
    ("judged_spurious", "timeouts that the sender's detector called spurious"),
    ("judged_genuine", "timeouts that the detector called genuine"),
    ("verdict_s", "time of the detector's first verdict"),
    ("lost", "data packets dropped anywhere"),
    ("discarded", "data packets discarded after a loss because headers were sent as differences"),
    ("behind_loss", "data packets sent after the first lost packet and before the first retransmission"),
    ("copies_received", "duplicate data segments at the receiver"),
    ("retransmissions", "data segments retransmitted"),
    ("repair_time_s", "from the end of the event until the recovery point was acknowledged"),
    ("silence_s", "longest time after the event without sending"),
    ("burst", "most segments sent at one instant within 10 s of the event's end"),
    ("train_wait_share", "share of the train that had passed when the first new segment was sent"),
    (
        "train_first_new_ack",
        "number of the acknowledgement of the train on which the first new segment was sent, from 1; one more than \
         their number if there is none",
    ),
    ("train_segments", "new segments sent while the train passed"),
    (
        "train_rate_ratio",
        "rate of sending in the first unqueued round trip of the train, in rates of the link",
    ),
    ("ssthresh_after_segments", "slow-start threshold one second after the event"),
    ("rto_before_s", "timeout before the event"),
    ("rto_after_s", "timeout at the first new sample after the event"),
    ("rto_after_5s_s", "timeout 5 s after the event"),
    ("rto_after_10s_s", "timeout 10 s after the event"),
    ("rto_gap_s", "longest time without a new sample in the 15 s after the event"),
    ("initial_window_bytes", "data sent at the instant of the first"),
    ("packet_bytes", "size of the largest data packet on the wire"),
    ("flight_at_loss_bytes", "data outstanding when the first lost packet was sent"),
    ("longest_ack_gap_s", "longest time between two acknowledgements of new data"),
    ("last_ack_s", "time of the last acknowledgement of new data"),
];

/// True if there is a probe of that name.
pub fn is_probe(name: &str) -> bool {
    let more = [change::PROBES, lifetime::PROBES, queue::PROBES, window::PROBES];
    PROBES.iter().chain(more.into_iter().flatten()).any(|(n, _)| *n == name)
}

/// Value by probe name, from one trace; a probe without a value is absent.
pub type Readings = BTreeMap<&'static str, f64>;

/// A data segment sent.
struct Sent {
    /// Time, s.
    t: f64,
    /// Length, bytes.
    len: u32,
    /// Sequence number after the last byte.
    end: u64,
    /// False for a retransmission.
    new: bool,
}

/// Facts about one flow, from the trace of a repetition.
#[derive(Default)]
struct TraceFacts {
    sent: Vec<Sent>,
    /// Time, s, and number of each cumulative ACK that advances.
    acks: Vec<(f64, u64)>,
    /// Time, s, and first retransmitted sequence number of each timeout.
    timeouts: Vec<(f64, u64)>,
    /// Number of fast retransmits.
    fast: usize,
    /// Time, s, and result (true: spurious) of each verdict of the sender's detector.
    verdicts: Vec<(f64, bool)>,
    /// Time, RTO, SRTT, RTTVAR; s.
    timer: Vec<(f64, f64, f64, f64)>,
    /// Time, s, and slow-start threshold, bytes.
    thresholds: Vec<(f64, u32)>,
    /// Number of timeouts followed by go-back-N.
    go_back_n: usize,
    /// Unneeded retransmissions of loss recovery.
    extra: usize,
    retransmissions: usize,
    /// Data packets dropped.
    lost: usize,
    /// Data packets discarded because header decompression was out of synchronisation.
    discarded: usize,
    /// Index of the first lost packet in the order of sending.
    first_lost: Option<usize>,
    /// Data segments that the receiver already had.
    duplicates: usize,
    /// Size of the largest data packet, bytes.
    packet: u32,
}

/// Runs a repetition with its trace and measures every probe of one flow.
pub fn measure(model: &Model, repetition: u64, flow: usize) -> Readings {
    let mut outcome = run_once(model, repetition, Options { trace: true, shuffle_ties: None });
    let records = outcome.world.network.tracer().take();
    let ends = outcome.world.flows[flow];
    let verdicts = outcome.world.network.ledgers()[2 * flow].verdicts();
    let seen = see(&records, ends.from.0, ends.to.0, flow as u32, &verdicts);
    let seed = Seed { seed: model.run.seed, repetition };
    let last = Time::from_secs_f64(seen.sent.last().map_or(0.0, |s| s.t) + 1.0);
    let gate = closures(model, seed, last).into_iter().map(|(_, from, until)| (from, until)).min();
    let gate = gate.map(|(from, until)| (from.as_secs_f64(), until.as_secs_f64()));
    let rate = model.flows[flow].route.iter().find_map(|&l| match &model.links[l].rate {
        LinkRate::Constant(rate) => Some(rate.bps() as f64),
        LinkRate::Schedule(s) => s.steps.last().map(|(_, rate)| rate.bps() as f64),
        LinkRate::Unlimited => None,
    });
    let mut any = Readings::new();
    let back_s: f64 = model.flows[flow].way_back.iter().map(|&l| model.links[l].delay.mean_s()).sum();
    lifetime::take(&records, ends.from.0, gate, back_s, &mut any);
    // A real kernel does not run in virtual time and has no trace.
    let segment = match model.flows[flow].transport.at(transport::tcp::Role::Active) {
        Transport::Tcp { config, .. } => f64::from(config.mss),
        // Sequence numbers of these protocols count chunks or packets, not bytes.
        Transport::Model(_) => 1.0,
        _ => return any,
    };
    let mut readings = numbers(&seen, gate, rate, segment);
    change::take(&records, ends.from.0, &mut readings);
    let sight = window::FlowTrace { from: ends.from.0, flow: flow as u32, mss: segment, gate };
    window::take(&records, &sight, &verdicts, &mut readings);
    let _ = queue::take(model, &outcome, flow, &records, &mut readings);
    readings.extend(any);
    readings
}

/// Collects the facts of the flow with sender `from` and receiver `to`.
fn see(records: &[Record], from: u32, to: u32, flow: u32, verdicts: &[Retransmission]) -> TraceFacts {
    let mut s = TraceFacts::default();
    let mut verdicts = verdicts.iter();
    let mut ours: BTreeMap<u64, usize> = BTreeMap::new();
    let mut una = 0;
    let mut went_back = true;
    for r in records {
        let (t, by_sender) = (r.t.as_secs_f64(), r.source.0 == from);
        match r.event {
            Event::DataSent { packet, seq, len, cause } if by_sender => {
                ours.insert(packet, s.sent.len());
                let new = matches!(cause, Cause::New | Cause::WindowProbe);
                if let Some(v) = (!new).then(|| verdicts.next()).flatten() {
                    s.retransmissions += 1;
                    s.extra += usize::from(v.unneeded && v.cause == Cause::Recovery);
                    if v.cause == Cause::GoBackN && !went_back {
                        (s.go_back_n, went_back) = (s.go_back_n + 1, true);
                    }
                }
                s.sent.push(Sent { t, len, end: seq + u64::from(len), new });
            }
            Event::Enqueued { packet, size, .. } if ours.contains_key(&packet) => {
                s.packet = s.packet.max(size);
            }
            Event::DataReceived { duplicate: true, .. } if r.source.0 == to => s.duplicates += 1,
            Event::AckReceived { ack, .. } if by_sender && ack > una => {
                una = ack;
                s.acks.push((t, ack));
            }
            Event::RtoFired { seq, .. } if by_sender && seq > 0 => {
                s.timeouts.push((t, seq));
                went_back = false;
            }
            Event::FastRetransmit { .. } if by_sender => s.fast += 1,
            Event::Verdict { spurious, .. } if by_sender => s.verdicts.push((t, spurious)),
            Event::Timer { rto, srtt, rttvar } if by_sender => {
                let f = |x: Span| x.as_secs_f64();
                s.timer.push((t, f(rto), f(srtt), f(rttvar)));
            }
            Event::Window { ssthresh, .. } if by_sender => s.thresholds.push((t, ssthresh)),
            Event::Dropped { packet, flow: whose, reason } if whose == flow && ours.contains_key(&packet) => {
                s.lost += 1;
                s.discarded += usize::from(reason == DropReason::Desynchronised);
                s.first_lost = s.first_lost.or(ours.get(&packet).copied());
            }
            _ => {}
        }
    }
    s
}

/// Probes of this file from the facts; `gate` is the event in s, `rate` the rate of the link in bit/s.
fn numbers(s: &TraceFacts, gate: Option<(f64, f64)>, rate: Option<f64>, mss: f64) -> Readings {
    let mut out = Readings::new();
    let count = |n: usize| n as f64;
    let judged = |what: bool| count(s.verdicts.iter().filter(|v| v.1 == what).count());
    out.extend([
        ("go_back_n", count(s.go_back_n)),
        ("extra_on_partial", count(s.extra)),
        ("timeouts", count(s.timeouts.len())),
        ("fast_retransmits", count(s.fast)),
        ("judged_spurious", judged(true)),
        ("judged_genuine", judged(false)),
        ("lost", count(s.lost)),
        ("discarded", count(s.discarded)),
        ("copies_received", count(s.duplicates)),
        ("retransmissions", count(s.retransmissions)),
        ("packet_bytes", f64::from(s.packet)),
    ]);
    if let Some(lost) = s.first_lost {
        let behind = s.sent[lost + 1..].iter().take_while(|x| x.new).count();
        out.insert("behind_loss", count(behind));
        let sent = &s.sent[lost];
        let una = s.acks.iter().take_while(|a| a.0 <= sent.t).last().map_or(0, |a| a.1);
        out.insert("flight_at_loss_bytes", sent.end.saturating_sub(una) as f64);
    }
    let first_sent = s.sent.first().map_or(0.0, |x| x.t);
    let initial: u32 = s.sent.iter().take_while(|x| x.t == first_sent).map(|x| x.len).sum();
    out.insert("initial_window_bytes", f64::from(initial));
    let gap = s.acks.windows(2).map(|w| w[1].0 - w[0].0).fold(0.0, f64::max);
    out.insert("longest_ack_gap_s", gap);
    if let Some((t, seq)) = s.timeouts.first() {
        // The SYN is not counted.
        out.extend([("first_timeout_s", *t), ("first_timeout_seq", seq.saturating_sub(1) as f64)]);
    }
    if let Some((t, _)) = s.verdicts.first() {
        out.insert("verdict_s", *t);
    }
    if let Some((t, _)) = s.acks.last() {
        out.insert("last_ack_s", *t);
    }
    let first = s.timeouts.first().map(|t| t.0);
    let Some((began, over)) = gate.or(first.map(|t| (t, t))) else { return out };
    after(s, over, &mut out);
    timer(s, began, over, &mut out);
    if let Some((_, threshold)) = s.thresholds.iter().rfind(|x| x.0 <= over + 1.0) {
        out.insert("ssthresh_after_segments", f64::from(*threshold) / mss);
    }
    if let Some(timeout) = first {
        train(s, timeout, over, rate, &mut out);
    }
    out
}

/// Segments sent after the event.
fn after(s: &TraceFacts, over: f64, out: &mut Readings) {
    out.insert("timeouts_after_event", s.timeouts.iter().filter(|t| t.0 > over).count() as f64);
    let later: Vec<f64> =
        std::iter::once(over).chain(s.sent.iter().map(|x| x.t).filter(|t| *t >= over)).collect();
    let longest = later.windows(2).map(|w| w[1] - w[0]).fold(0.0, f64::max);
    out.insert("silence_s", longest);
    let soon: Vec<f64> = later[1..].iter().copied().filter(|t| *t <= over + 10.0).collect();
    let burst = soon.chunk_by(|a, b| a == b).map(<[f64]>::len).max().unwrap_or(0);
    out.insert("burst", burst as f64);
}

/// RTO before and after the event.
fn timer(s: &TraceFacts, began: f64, over: f64, out: &mut Readings) {
    let Some(before) = s.timer.iter().rfind(|x| x.0 < began) else { return };
    out.insert("rto_before_s", before.1);
    // A new RTT sample shows as a change of SRTT or RTTVAR.
    let mut last = (before.2, before.3);
    let mut samples = Vec::new();
    for x in s.timer.iter().filter(|x| x.0 >= over) {
        if (x.2, x.3) != last {
            last = (x.2, x.3);
            samples.push(*x);
        }
    }
    if let Some(first) = samples.first() {
        out.insert("rto_after_s", first.1);
    }
    for (name, later) in [("rto_after_5s_s", 5.0), ("rto_after_10s_s", 10.0)] {
        if let Some(x) = s.timer.iter().rfind(|x| x.0 <= over + later) {
            out.insert(name, x.1);
        }
    }
    let times: Vec<f64> = samples.iter().map(|x| x.0).filter(|t| *t <= over + 15.0).collect();
    let gap = times.windows(2).map(|w| w[1] - w[0]).fold(0.0, f64::max);
    out.insert("rto_gap_s", gap);
}

/// Segments sent while the ACKs of the train arrive.
fn train(s: &TraceFacts, timeout: f64, over: f64, rate: Option<f64>, out: &mut Readings) {
    let point = s.sent.iter().filter(|x| x.t < timeout).map(|x| x.end).max().unwrap_or(0);
    let start = over.max(timeout);
    let acks: Vec<(f64, u64)> = s.acks.iter().copied().filter(|a| a.0 >= start).collect();
    if let Some((t, _)) = acks.iter().find(|a| a.1 >= point) {
        out.insert("repair_time_s", t - over);
    }
    let train: Vec<f64> = acks.iter().take_while(|a| a.1 <= point).map(|a| a.0).collect();
    let (Some(&begins), Some(&ends)) = (train.first(), train.last()) else { return };
    let new = s.sent.iter().filter(|x| x.new && x.t >= begins);
    let passed = |t: f64| train.iter().filter(|a| **a <= t).count() as f64 / train.len() as f64;
    out.insert("train_wait_share", new.clone().next().map_or(1.0, |x| passed(x.t)));
    let first_new = new.clone().next().map_or(f64::INFINITY, |x| x.t);
    out.insert("train_first_new_ack", train.iter().filter(|t| **t < first_new).count() as f64 + 1.0);
    out.insert("train_segments", new.filter(|x| x.t <= ends).count() as f64);
    let unqueued = s.timer.iter().map(|x| x.2).filter(|srtt| *srtt > 0.0).fold(f64::INFINITY, f64::min);
    if let Some(rate) = rate
        && unqueued.is_finite()
    {
        // From one ACK to another ACK, so that the interval is a whole number of ACK spacings.
        let until = train.iter().copied().find(|t| *t >= begins + unqueued).unwrap_or(ends);
        let sent = s.sent.iter().filter(|x| x.t >= begins && x.t < until).count() as f64;
        out.insert("train_rate_ratio", sent * f64::from(s.packet) * 8.0 / (until - begins).max(1e-9) / rate);
    }
}
