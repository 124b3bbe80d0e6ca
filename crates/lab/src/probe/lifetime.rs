//! Probes of the packet-lifetime study, for any transport: sending rate around an outage, queueing delay of
//! ACKs.

use super::Readings;
use base::event::{Event, Record};
use std::collections::{BTreeMap, BTreeSet};

/// Name and definition of each probe.
pub(super) const PROBES: &[(&str, &str)] = &[
    (
        "rate_recovery_s",
        "from the end of the event until the first 4 s in which the sender sends at 90 % of its rate in the 10 s before the event",
    ),
    ("sent_in_event", "data packets sent during the event"),
    ("ack_queue_s", "mean time that packets without data wait in queues"),
    ("acks_at_end", "packets without data that left within 100 ms after the end of the event and arrived"),
];

/// Interval of rate measurement before the event, s.
const BEFORE: f64 = 10.0;
/// Interval of rate measurement after the event, s.
const AFTER: f64 = 4.0;

/// Measures the probes of the flow whose sender is element `from`. `gate` is the event; `back_s` is the
/// propagation delay of the reverse path, seconds.
pub(super) fn take(records: &[Record], from: u32, gate: Option<(f64, f64)>, back_s: f64, out: &mut Readings) {
    let mut sent: Vec<f64> = Vec::new();
    let mut data: BTreeSet<u64> = BTreeSet::new();
    let mut joined: BTreeMap<u64, f64> = BTreeMap::new();
    let (mut waits, mut waited) = (0_u32, 0.0);
    let mut arrivals: Vec<f64> = Vec::new();
    for r in records {
        let t = r.t.as_secs_f64();
        match r.event {
            Event::DataSent { packet, .. } => {
                data.insert(packet);
                if r.source.0 == from {
                    sent.push(t);
                }
            }
            Event::Enqueued { packet, .. } => {
                joined.insert(packet, t);
            }
            Event::ServiceStarted { packet } if !data.contains(&packet) => {
                if let Some(since) = joined.remove(&packet) {
                    waits += 1;
                    waited += t - since;
                }
            }
            Event::Delivered { packet } if !data.contains(&packet) => arrivals.push(t),
            _ => {}
        }
    }
    if waits > 0 {
        out.insert("ack_queue_s", waited / f64::from(waits));
    }
    let Some((began, over)) = gate else { return };
    let within = |from: f64, to: f64| sent.iter().filter(|t| **t >= from && **t < to).count() as f64;
    out.insert("sent_in_event", within(began, over));
    let soon = over..over + back_s + 0.1;
    out.insert("acks_at_end", arrivals.iter().filter(|t| soon.contains(t)).count() as f64);
    let before = within(began - BEFORE, began) / BEFORE;
    let back = sent.iter().filter(|t| **t >= over).find(|t| within(**t, **t + AFTER) / AFTER >= 0.9 * before);
    if let Some(back) = back {
        out.insert("rate_recovery_s", back - over);
    }
}
