//! Probes of the queue of a flow's slowest link: losses during start-up, queue length, stale packets after an
//! abort, bursts after a handover.
//!
//! Start-up lasts until the flow's first recovery ends or its first timeout. A packet is stale if the link delivers
//! it after the flow's receiver has received its last data.

use super::Readings;
use crate::once::RunOutcome;
use base::event::{Event, Record};
use scenario::Model;
use scenario::model::App;
use std::collections::BTreeMap;

/// Name and definition of each probe.
pub(super) const PROBES: &[(&str, &str)] = &[
    ("startup_lost", "packets dropped at the slowest link of the flow's way until its first recovery ended"),
    ("startup_peak_packets", "maximum number of packets that waited there until then"),
    ("mean_queue_packets", "mean number of packets that waited there, over the time with arrivals"),
    ("stale_packets", "packets delivered by that link after the flow's receiver had its last data"),
    ("stale_bytes", "bytes of the stale packets"),
    ("stale_s", "time from the first to the last stale packet"),
    ("queued_at_stop_bytes", "bytes that waited there when the flow's receiver had its last data"),
    (
        "burst_after_change",
        "segments beyond two sent at one instant in the 5 s after the first change of state",
    ),
];

/// Packets in the link's queue, and the time integral of their number.
#[derive(Default)]
struct Waiting {
    /// Size of each queued packet, bytes, by packet number.
    sizes: BTreeMap<u64, u32>,
    /// Time up to which `area` is computed, s.
    since: f64,
    /// Integral of the number of packets over time, packet seconds.
    area: f64,
}

impl Waiting {
    /// Advances the integral to time `t`.
    fn pass(&mut self, t: f64) {
        self.area += self.sizes.len() as f64 * (t - self.since);
        self.since = t;
    }

    fn bytes(&self) -> f64 {
        self.sizes.values().map(|size| f64::from(*size)).sum()
    }
}

/// Measures the probes in the trace of one repetition.
pub(super) fn take(
    model: &Model,
    outcome: &RunOutcome,
    flow: usize,
    records: &[Record],
    out: &mut Readings,
) -> Option<()> {
    let ends = outcome.world.flows[flow];
    let of = &model.flows[flow];
    let replies = matches!(of.app, App::Requests(_));
    let (route, sender, reader) =
        if replies { (&of.way_back, ends.to, ends.from) } else { (&of.route, ends.from, ends.to) };
    let rate = |link: &usize| model.links[*link].rate.mean_bps().unwrap_or(f64::INFINITY);
    let slowest = route.iter().min_by(|a, b| rate(a).total_cmp(&rate(b)))?;
    let name = &model.links[*slowest].name;
    let link = outcome.world.names.iter().position(|known| known == name)? as u32;
    // A link records past events when it is next polled, so that records are not in time order.
    let mut ordered: Vec<&Record> = records.iter().collect();
    ordered.sort_by_key(|r| r.t);
    let t = |r: &Record| r.t.as_secs_f64();
    let ended = ordered.iter().find(|r| {
        r.source.0 == sender.0 && matches!(r.event, Event::RecoveryEnded { .. } | Event::RtoFired { .. })
    });
    let ended = ended.map_or(f64::INFINITY, |r| t(r));
    let takes = |r: &&&Record| r.source.0 == reader.0 && matches!(r.event, Event::DataReceived { .. });
    let stopped = ordered.iter().rfind(takes).map(|r| t(r));
    let change = ordered.iter().find(|r| matches!(r.event, Event::StateEntered { .. })).map(|r| t(r));
    let (mut lost, mut peak) = (0u32, 0usize);
    // A single ACK releases up to two segments at one instant, so that a burst counts the segments beyond two.
    let (mut burst, mut at_once, mut instant) = (0i32, 0i32, f64::NEG_INFINITY);
    let (mut stale, mut last, mut queued) = ((0u32, 0.0), 0.0, None);
    let (mut waiting, mut sizes) = (Waiting::default(), BTreeMap::new());
    for r in ordered {
        let now = t(r);
        if queued.is_none() && stopped.is_some_and(|stopped| now > stopped) {
            queued = Some(waiting.bytes());
        }
        let here = r.source.0 == link;
        match r.event {
            Event::Enqueued { packet, size, .. } if here => {
                waiting.pass(now);
                waiting.sizes.insert(packet, size);
                sizes.insert(packet, size);
                if now <= ended {
                    peak = peak.max(waiting.sizes.len());
                }
            }
            Event::ServiceStarted { packet } if here => {
                waiting.pass(now);
                waiting.sizes.remove(&packet);
            }
            Event::Dropped { packet, .. } if here => {
                waiting.pass(now);
                waiting.sizes.remove(&packet);
                lost += u32::from(now <= ended);
            }
            Event::Delivered { packet } if here && stopped.is_some_and(|stopped| now > stopped) => {
                let size = sizes.get(&packet).copied().unwrap_or(0);
                stale = (stale.0 + 1, stale.1 + f64::from(size));
                last = now;
            }
            Event::DataSent { .. } if r.source.0 == sender.0 => {
                at_once = if now == instant { at_once + 1 } else { 1 };
                instant = now;
                if change.is_some_and(|change| now >= change && now < change + 5.0) {
                    burst = burst.max(at_once - 2);
                }
            }
            _ => {}
        }
    }
    out.extend([
        ("startup_lost", f64::from(lost)),
        ("startup_peak_packets", peak as f64),
        ("mean_queue_packets", if waiting.since > 0.0 { waiting.area / waiting.since } else { 0.0 }),
        ("stale_packets", f64::from(stale.0)),
        ("stale_bytes", stale.1),
        ("stale_s", stopped.filter(|_| stale.0 > 0).map_or(0.0, |stopped| last - stopped)),
        ("queued_at_stop_bytes", queued.unwrap_or(0.0)),
    ]);
    out.extend(change.map(|_| ("burst_after_change", f64::from(burst))));
    Some(())
}
