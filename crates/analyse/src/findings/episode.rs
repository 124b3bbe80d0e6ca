//! Path interruptions (reselections, handovers, outages) and their cost: count, duration, silence, timeouts, lost and
//! unneeded segments of each.

use super::flow::{Flow, SpikeKind};
use super::lower_layers::{Event, seconds, touches};
use crate::verdict::Need;
use base::Time;
use std::collections::BTreeSet;

/// One interruption of the path with its cost.
#[derive(Clone, Debug, PartialEq)]
pub struct Episode {
    /// Start, s from the first packet of the capture.
    pub t: f64,
    /// End, s from the first packet of the capture.
    pub until: f64,
    /// Lost segments that were in flight during the interruption: sent by the client, sent by the server.
    pub lost: [u64; 2],
    /// Unneeded retransmissions of segments in flight during the interruption: sent by the client, sent by the server.
    pub unneeded: [u64; 2],
    /// Timeouts during the interruption and during the following silence.
    pub timeouts: u64,
    /// Longest overlapping silence, s; None: the transport was not affected.
    pub silence_s: Option<f64>,
}

/// Interruptions of one kind.
#[derive(Clone, Debug, PartialEq)]
pub struct Episodes {
    /// Layer that reported the interruptions; `path`: silences of the capture, reported by no layer.
    pub layer: String,
    /// Name of the event at that layer.
    pub name: String,
    /// Interruptions, ascending in time.
    pub all: Vec<Episode>,
}

/// Minimum, mean and maximum of a quantity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// Minimum.
    pub min: f64,
    /// Mean.
    pub mean: f64,
    /// Maximum.
    pub max: f64,
}

impl Spread {
    fn of(values: impl Iterator<Item = f64>) -> Option<Spread> {
        let (mut n, mut sum) = (0u32, 0.0);
        let (mut min, mut max) = (f64::INFINITY, f64::NEG_INFINITY);
        for x in values {
            (n, sum, min, max) = (n + 1, sum + x, min.min(x), max.max(x));
        }
        (n > 0).then(|| Spread { min, mean: sum / f64::from(n), max })
    }
}

impl Episodes {
    /// Time from the start of one interruption to the start of the next, s; None with fewer than two.
    pub fn interval_s(&self) -> Option<Spread> {
        Spread::of(self.all.windows(2).map(|w| w[1].t - w[0].t))
    }
    /// Duration of the interruptions, s.
    pub fn length_s(&self) -> Option<Spread> {
        Spread::of(self.all.iter().map(|e| e.until - e.t))
    }
    /// Duration of the silences, s, over interruptions with a silence.
    pub fn silence_s(&self) -> Option<Spread> {
        Spread::of(self.all.iter().filter_map(|e| e.silence_s))
    }
    /// Silence less the duration of its interruption, s: the recovery time.
    pub fn repair_s(&self) -> Option<Spread> {
        Spread::of(self.all.iter().filter_map(|e| Some(e.silence_s? - (e.until - e.t))))
    }
    /// Segments lost per interruption: sent by the client, sent by the server.
    pub fn lost(&self) -> [Option<Spread>; 2] {
        [0, 1].map(|direction| Spread::of(self.all.iter().map(|e| e.lost[direction] as f64)))
    }
}

/// Interruptions reported by lower layers, grouped by name: events with a duration that overlap the connection.
pub fn told(flow: &Flow, start: Time, events: &[Event]) -> Vec<Episodes> {
    let life = (seconds(start, flow.first), seconds(start, flow.last));
    let seen = BothDirections::of(flow, start);
    let mut out: Vec<Episodes> = Vec::new();
    for e in events.iter().filter(|e| e.until > e.t && touches(e, life.0, life.1)) {
        let episode = seen.episode(e.t, e.until);
        match out.iter_mut().find(|k| k.layer == e.layer && k.name == e.name) {
            Some(kind) => kind.all.push(episode),
            None => out.push(Episodes { layer: e.layer.clone(), name: e.name.clone(), all: vec![episode] }),
        }
    }
    for kind in &mut out {
        kind.all.sort_by(|a, b| a.t.total_cmp(&b.t));
    }
    out
}

/// Silences of the path in the capture, delay spikes and outages, as one group of interruptions.
pub fn silences(flow: &Flow, start: Time) -> Episodes {
    let path = |kind| matches!(kind, SpikeKind::Delay | SpikeKind::Outage);
    let mut spans: Vec<(f64, f64)> = flow
        .directions
        .iter()
        .flat_map(|w| w.spikes.iter().filter(|s| path(s.kind)))
        .map(|s| (seconds(start, s.t), seconds(start, s.until)))
        .collect();
    spans.sort_by(|a, b| a.0.total_cmp(&b.0));
    // Both directions may show the same silence.
    spans.dedup_by(|next, kept| {
        let same = next.0 <= kept.1;
        kept.1 = if same { kept.1.max(next.1) } else { kept.1 };
        same
    });
    let seen = BothDirections::of(flow, start);
    let all = spans.into_iter().map(|(t, until)| seen.episode(t, until)).collect();
    Episodes { layer: "path".to_owned(), name: "silence".to_owned(), all }
}

/// Findings of one direction: intervals and times in seconds, ascending.
struct DirectionFindings {
    silences: Vec<(f64, f64)>,
    timeouts: Vec<f64>,
    /// Retransmissions: send time of the original, first byte, verdict.
    resent: Vec<(f64, u64, Need)>,
    /// Mean RTT, s.
    trip: f64,
}

/// Findings of both directions.
struct BothDirections([DirectionFindings; 2]);

impl BothDirections {
    fn of(flow: &Flow, start: Time) -> BothDirections {
        BothDirections([0, 1].map(|i| {
            let direction = &flow.directions[i];
            let at = |t: Time| seconds(start, t);
            let resent = direction.retransmissions.iter();
            let mut resent: Vec<(f64, u64, Need)> =
                resent.filter_map(|r| Some((at(r.original?), r.seq, r.need))).collect();
            resent.sort_by(|a, b| a.0.total_cmp(&b.0));
            DirectionFindings {
                silences: direction.spikes.iter().map(|s| (at(s.t), at(s.until))).collect(),
                timeouts: direction.timeouts.iter().map(|x| at(x.t)).collect(),
                resent,
                trip: direction.rtt.map_or(0.0, |r| r.mean_s),
            }
        }))
    }

    fn episode(&self, t: f64, until: f64) -> Episode {
        let mut e = Episode { t, until, lost: [0; 2], unneeded: [0; 2], timeouts: 0, silence_s: None };
        for (i, direction) in self.0.iter().enumerate() {
            // Silences are disjoint and ascending.
            let first = direction.silences.partition_point(|s| s.1 < t);
            let longest = direction.silences[first..]
                .iter()
                .take_while(|s| s.0 <= until)
                .max_by(|a, b| (a.1 - a.0).total_cmp(&(b.1 - b.0)));
            if let Some((from, to)) = longest {
                e.silence_s = Some(e.silence_s.map_or(to - from, |s| s.max(to - from)));
            }
            let end = longest.map_or(until, |s| s.1.max(until));
            let upto = |x: f64| direction.timeouts.partition_point(|at| *at <= x);
            let before = direction.timeouts.partition_point(|at| *at < t);
            e.timeouts += upto(end).saturating_sub(before) as u64;
            // Segments sent up to one RTT before the interruption may have been in flight.
            let from = direction.resent.partition_point(|r| r.0 < t - direction.trip);
            let (mut lost, mut unneeded) = (BTreeSet::new(), BTreeSet::new());
            for (_, seq, need) in direction.resent[from..].iter().take_while(|r| r.0 <= until) {
                match need {
                    Need::Needed => _ = lost.insert(*seq),
                    Need::Unneeded => _ = unneeded.insert(*seq),
                    Need::Unknown => {}
                }
            }
            e.lost[i] = lost.len() as u64;
            e.unneeded[i] = unneeded.difference(&lost).count() as u64;
        }
        e
    }
}
