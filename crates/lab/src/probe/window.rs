//! Probes from a TCP sender's trace: slow start and cwnd overshoot, RTO and SRTT after an event, timeout
//! retransmissions, time of fast recovery.
//!
//! They serve claims about slow start, new data beyond the window, and the first segment.
//!
//! "The event" is defined in the parent module.

use super::Readings;
use base::event::{Event, Record};
use base::truth::{Cause, Retransmission};
use std::collections::BTreeSet;

/// Name and definition of each probe.
pub(super) const PROBES: &[(&str, &str)] = &[
    ("new_over_window", "new segments sent after the first timeout while more than the window was in flight"),
    (
        "slow_start_end_segments",
        "window when it first reached the threshold after the event; the largest if it never did",
    ),
    ("losses_in_slow_start", "data packets lost after the event before the window reached the threshold"),
    (
        "loss_repair_time_s",
        "from the first fast retransmit until all that had been sent by then was acknowledged",
    ),
    ("first_segment_timeouts", "timeouts that resent the first data segment"),
    ("first_segment_spurious", "timeouts that resent the first data segment without need"),
    ("later_timeouts", "timeouts that resent any other segment"),
    ("go_back_s", "when more than the oldest segment was first resent after a timeout"),
    ("least_rtt_s", "least smoothed round trip of the sender before the first timeout"),
    ("ack_after_timeout_s", "from the first timeout to the next acknowledgement of new data"),
    ("rto_after_1s_s", "timeout 1 s after the event"),
    ("rto_after_2s_s", "timeout 2 s after the event"),
    ("rto_after_3s_s", "timeout 3 s after the event"),
    ("rto_after_4s_s", "timeout 4 s after the event"),
    ("rto_after_6s_s", "timeout 6 s after the event"),
    ("rto_after_7s_s", "timeout 7 s after the event"),
    ("rto_after_8s_s", "timeout 8 s after the event"),
    ("rto_after_9s_s", "timeout 9 s after the event"),
    ("first_sample_s", "from the event until the first new sample of the round trip"),
];

/// Seconds after the event at which the RTO is read, in addition to the times in the parent module.
const SECONDS: [(&str, f64); 8] = [
    ("rto_after_1s_s", 1.0),
    ("rto_after_2s_s", 2.0),
    ("rto_after_3s_s", 3.0),
    ("rto_after_4s_s", 4.0),
    ("rto_after_6s_s", 6.0),
    ("rto_after_7s_s", 7.0),
    ("rto_after_8s_s", 8.0),
    ("rto_after_9s_s", 9.0),
];

/// Flow whose probes are measured.
pub(super) struct FlowTrace {
    /// Element of the data's sender.
    pub(super) from: u32,
    /// Number of the flow.
    pub(super) flow: u32,
    /// Segment size, bytes.
    pub(super) mss: f64,
    /// First gate closure: start and end, s.
    pub(super) gate: Option<(f64, f64)>,
}

/// Measures the probes in the records of one repetition.
pub(super) fn take(records: &[Record], sight: &FlowTrace, verdicts: &[Retransmission], out: &mut Readings) {
    let own: Vec<&Record> = records.iter().filter(|r| r.source.0 == sight.from).collect();
    timeouts(&own, verdicts, out);
    repair(&own, out);
    let timeout = own.iter().find(|r| matches!(r.event, Event::RtoFired { seq, .. } if seq > 0));
    let timeout = timeout.map(|r| r.t.as_secs_f64());
    let Some(event) = sight.gate.map(|gate| gate.1).or(timeout) else { return };
    slow_start(records, sight, event, out);
    timer(&own, event, out);
    if let Some(timeout) = timeout {
        round_trips(&own, timeout, out);
        out.insert("new_over_window", over_window(&own, timeout));
    }
}

/// Timeouts that retransmitted the first segment, those without need, other timeouts, and the start of go-back-N.
fn timeouts(own: &[&Record], verdicts: &[Retransmission], out: &mut Readings) {
    let mut verdicts = verdicts.iter();
    let (mut first, mut spurious, mut later) = (0.0, 0.0, 0.0);
    let mut of_first = false;
    for r in own {
        match r.event {
            // The SYN has sequence number 0, the first byte of data 1.
            Event::RtoFired { seq, .. } if seq > 0 => {
                of_first = seq == 1;
                *(if of_first { &mut first } else { &mut later }) += 1.0;
            }
            Event::DataSent { cause, .. } if !matches!(cause, Cause::New | Cause::WindowProbe) => {
                let Some(verdict) = verdicts.next() else { continue };
                if verdict.cause == Cause::Timeout && of_first && verdict.unneeded {
                    spurious += 1.0;
                }
                if verdict.cause == Cause::GoBackN {
                    out.entry("go_back_s").or_insert(r.t.as_secs_f64());
                }
            }
            _ => {}
        }
    }
    out.extend([
        ("first_segment_timeouts", first),
        ("first_segment_spurious", spurious),
        ("later_timeouts", later),
    ]);
}

/// Time in which the first fast retransmit repairs all data sent before it.
fn repair(own: &[&Record], out: &mut Readings) {
    let mut highest = 0;
    let mut began: Option<(f64, u64)> = None;
    for r in own {
        let t = r.t.as_secs_f64();
        match r.event {
            Event::DataSent { seq, len, .. } => highest = highest.max(seq + u64::from(len)),
            Event::FastRetransmit { .. } if began.is_none() => began = Some((t, highest)),
            Event::AckReceived { ack, .. } => {
                if let Some((from, _)) = began.filter(|(_, point)| ack >= *point) {
                    out.insert("loss_repair_time_s", t - from);
                    return;
                }
            }
            _ => {}
        }
    }
}

/// Largest cwnd in slow start after the event, and the data packets lost until slow start ends.
fn slow_start(records: &[Record], sight: &FlowTrace, event: f64, out: &mut Readings) {
    let (mut largest, mut lost) = (0.0f64, 0.0);
    let data: BTreeSet<u64> = records
        .iter()
        .filter(|r| r.source.0 == sight.from)
        .filter_map(|r| if let Event::DataSent { packet, .. } = r.event { Some(packet) } else { None })
        .collect();
    for r in records.iter().filter(|r| r.t.as_secs_f64() > event) {
        match r.event {
            Event::Window { cwnd, ssthresh, .. } if r.source.0 == sight.from => {
                largest = largest.max(f64::from(cwnd));
                if cwnd >= ssthresh {
                    break;
                }
            }
            Event::Dropped { packet, flow, .. } if flow == sight.flow && data.contains(&packet) => {
                lost += 1.0
            }
            _ => {}
        }
    }
    out.insert("slow_start_end_segments", largest / sight.mss);
    out.insert("losses_in_slow_start", lost);
}

/// RTO at whole seconds after the event, and the first RTT sample after it.
fn timer(own: &[&Record], event: f64, out: &mut Readings) {
    let samples = own.iter().filter_map(|r| match r.event {
        Event::Timer { rto, srtt, rttvar } => {
            Some((r.t.as_secs_f64(), rto.as_secs_f64(), (srtt.as_secs_f64(), rttvar.as_secs_f64())))
        }
        _ => None,
    });
    let samples: Vec<_> = samples.collect();
    for (name, later) in SECONDS {
        if let Some(sample) = samples.iter().rfind(|sample| sample.0 <= event + later) {
            out.insert(name, sample.1);
        }
    }
    // A new RTT sample shows as a change of SRTT or RTTVAR.
    let before = samples.iter().rfind(|sample| sample.0 < event).map(|sample| sample.2);
    if let Some(first) = samples.iter().find(|sample| sample.0 >= event && Some(sample.2) != before) {
        out.insert("first_sample_s", first.0 - event);
    }
}

/// Least SRTT before the first timeout, and the time from the timeout to the next ACK that advances.
fn round_trips(own: &[&Record], timeout: f64, out: &mut Readings) {
    let mut una = 0;
    for r in own {
        let t = r.t.as_secs_f64();
        match r.event {
            Event::AckReceived { ack, .. } if t <= timeout => una = una.max(ack),
            Event::AckReceived { ack, .. } if ack > una => {
                out.insert("ack_after_timeout_s", t - timeout);
                break;
            }
            _ => {}
        }
    }
    let smoothed = own.iter().filter_map(|r| match r.event {
        Event::Timer { srtt, .. } if r.t.as_secs_f64() < timeout => Some(srtt.as_secs_f64()),
        _ => None,
    });
    if let Some(least) = smoothed.filter(|srtt| *srtt > 0.0).min_by(f64::total_cmp) {
        out.insert("least_rtt_s", least);
    }
}

/// Number of new segments sent after the timeout with more in flight than cwnd allows. The window is the last
/// one traced before the segment.
fn over_window(own: &[&Record], timeout: f64) -> f64 {
    let mut over = false;
    let mut count = 0.0;
    for r in own.iter().filter(|r| r.t.as_secs_f64() > timeout) {
        match r.event {
            Event::Window { cwnd, flight, .. } => over = flight > cwnd,
            Event::DataSent { cause: Cause::New, .. } if over => count += 1.0,
            _ => {}
        }
    }
    count
}
