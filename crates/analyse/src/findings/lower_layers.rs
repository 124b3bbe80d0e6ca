//! Correlation of lower-layer events (radio, link) with timeouts and silences of a connection, with the probability of
//! coincidence.
//!
//! An event matches a disturbance (timeout or silence) if both overlap in time. The weight of a match depends on how
//! frequent such events are. Each match therefore has a `chance`: the share of start times during the connection at
//! which an interval of equal length would overlap an event of that name for at least as long.

use super::flow::{Flow, RecoveryVerdict, SpikeKind};
use base::{Span, Time};

/// Event of a lower layer. Times are seconds from the first packet of the capture.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Layer, for example `radio`.
    pub layer: String,
    /// Name, for example `cell reselection`.
    pub name: String,
    /// Start time, s.
    pub t: f64,
    /// End time, s; equals `t` for an instant.
    pub until: f64,
}

base::named! {
    /// Kind of disturbance of the transport.
    pub enum DisturbanceKind {
        /// Retransmission timeout; its duration is the time that the timer ran.
        Timeout = "timeout",
        /// Delay spike: the awaited data arrived late.
        Delay = "delay-spike",
        /// Outage: the awaited data, and data sent meanwhile, were lost.
        Outage = "outage",
        /// The awaited data were lost, and the sender was silent until its timer expired.
        Timer = "waiting-for-timer",
        /// No ACKs arrived, for an unknown reason.
        Silence = "silence",
    }
}

base::named! {
    /// Strength of the match between an event and a disturbance.
    pub enum MatchStrength {
        /// Chance below 1 in 20, and the event covers at least half of the disturbance.
        Sure = "sure",
        /// Chance below 1 in 20.
        Likely = "likely",
        /// Chance below 1 in 3.
        Possible = "possible",
        /// Such events are too frequent for a conclusion.
        Accident = "may-be-chance",
    }
}

/// A timeout or silence, with the lower-layer events that overlap it.
#[derive(Clone, Debug, PartialEq)]
pub struct Disturbance {
    /// Direction of the data, an index of [`Flow::directions`].
    pub direction: usize,
    /// Kind of disturbance.
    pub kind: DisturbanceKind,
    /// Verdict, for a timeout.
    pub verdict: Option<RecoveryVerdict>,
    /// Start, s from the first packet of the capture.
    pub t: f64,
    /// End, s from the first packet of the capture.
    pub until: f64,
    /// Overlapping events, ascending in time.
    pub under: Vec<Match>,
}

/// Lower-layer event that overlaps a disturbance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Match {
    /// Index in the list of events.
    pub event: usize,
    /// Share of the disturbance that the event covers, 0 to 1.
    pub fills: f64,
    /// Probability that an interval of the disturbance's length at a random time overlaps an event of that name for at
    /// least as long, 0 to 1.
    pub chance: f64,
    /// Strength of the match.
    pub sureness: MatchStrength,
}

/// Correlation of all disturbances with the events of one name.
#[derive(Clone, Debug, PartialEq)]
pub struct Correlation {
    /// Layer of the events.
    pub layer: String,
    /// Name of the events.
    pub name: String,
    /// Events of that name during the connection.
    pub events: usize,
    /// Events that overlap no disturbance.
    pub harmless: usize,
    /// Number of disturbances.
    pub troubles: usize,
    /// Disturbances that overlap such an event.
    pub touched: usize,
    /// Expected number of overlapping disturbances at random times: the sum of the chances.
    pub expected: f64,
    /// Probability of at least `touched` overlaps at random times, 0 to 1.
    pub accident: f64,
}

/// Disturbances of a connection, ascending in time, each with the overlapping events.
pub fn troubles(flow: &Flow, start: Time, events: &[Event]) -> Vec<Disturbance> {
    let life = (seconds(start, flow.first), seconds(start, flow.last));
    let mut out: Vec<Disturbance> = Vec::new();
    for (direction, w) in flow.directions.iter().enumerate() {
        let timeouts = w.timeouts.iter().map(|x| {
            let t = seconds(start, x.t);
            let waited = if x.waited == Span::FOREVER { 0.0 } else { x.waited.as_secs_f64() };
            (DisturbanceKind::Timeout, Some(x.kind), t - waited, t)
        });
        let spikes = w.spikes.iter().map(|x| {
            let kind = match x.kind {
                SpikeKind::Delay => DisturbanceKind::Delay,
                SpikeKind::Outage => DisturbanceKind::Outage,
                SpikeKind::Timer => DisturbanceKind::Timer,
                SpikeKind::Unknown => DisturbanceKind::Silence,
            };
            (kind, None, seconds(start, x.t), seconds(start, x.until))
        });
        out.extend(timeouts.chain(spikes).map(|(kind, verdict, t, until)| {
            let under = under((t, until), life, events);
            Disturbance { direction, kind, verdict, t, until, under }
        }));
    }
    out.sort_by(|a, b| a.t.total_cmp(&b.t));
    out
}

fn under((t, until): (f64, f64), life: (f64, f64), events: &[Event]) -> Vec<Match> {
    let mut out: Vec<Match> = Vec::new();
    for (event, e) in events.iter().enumerate().filter(|(_, e)| touches(e, t, until)) {
        let shared = e.until.min(until) - e.t.max(t);
        let fills = if until > t { shared / (until - t) } else { 1.0 };
        // Many instants may have the same chance: compute it once.
        let same = |m: &&Match| m.fills == fills && alike(&events[m.event], e);
        let known = out.iter().rev().find(same).map(|m| m.chance);
        let chance = known
            .unwrap_or_else(|| chance_of((until - t, shared), life, events.iter().filter(|o| alike(o, e))));
        let sureness = match (chance, fills) {
            (c, f) if c < 0.05 && f >= 0.5 => MatchStrength::Sure,
            (c, _) if c < 0.05 => MatchStrength::Likely,
            (c, _) if c < 1.0 / 3.0 => MatchStrength::Possible,
            _ => MatchStrength::Accident,
        };
        out.push(Match { event, fills, chance, sureness });
    }
    out.sort_by(|a, b| events[a.event].t.total_cmp(&events[b.event].t));
    out
}

pub(crate) fn touches(e: &Event, t: f64, until: f64) -> bool {
    e.t <= until && e.until >= t
}

fn alike(a: &Event, b: &Event) -> bool {
    a.layer == b.layer && a.name == b.name
}

/// Share of start times in `life` at which an interval of `length` overlaps one of the events for at least `shared`.
fn chance_of<'a>(
    (length, shared): (f64, f64),
    life: (f64, f64),
    events: impl Iterator<Item = &'a Event>,
) -> f64 {
    let (first, last) = (life.0, life.1 - length);
    if last <= first {
        return 1.0;
    }
    let mut starts: Vec<(f64, f64)> = events
        .filter(|e| e.until - e.t >= shared - 1e-9)
        .map(|e| ((e.t + shared - length).max(first), (e.until - shared).min(last)))
        .filter(|(from, to)| to > from)
        .collect();
    starts.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut covered, mut end) = (0.0, first);
    for (from, to) in starts {
        covered += (to - from.max(end)).max(0.0);
        end = end.max(to);
    }
    covered / (last - first)
}

/// Correlation with all disturbances for each event name, the least probable coincidences first.
pub fn together(flow: &Flow, start: Time, events: &[Event], troubles: &[Disturbance]) -> Vec<Correlation> {
    let life = (seconds(start, flow.first), seconds(start, flow.last));
    let mut kinds: Vec<&Event> = Vec::new();
    for e in events.iter().filter(|e| touches(e, life.0, life.1)) {
        if !kinds.iter().any(|k| alike(k, e)) {
            kinds.push(e);
        }
    }
    let mut out: Vec<Correlation> =
        kinds.into_iter().map(|kind| of_kind(kind, life, events, troubles)).collect();
    out.sort_by(|a, b| a.accident.total_cmp(&b.accident));
    out
}

fn of_kind(kind: &Event, life: (f64, f64), events: &[Event], troubles: &[Disturbance]) -> Correlation {
    let own = |e: &&Event| alike(e, kind) && touches(e, life.0, life.1);
    let harmless = |e: &&Event| own(e) && !troubles.iter().any(|x| touches(e, x.t, x.until));
    let chances: Vec<f64> = troubles
        .iter()
        .map(|x| chance_of((x.until - x.t, 0.0), life, events.iter().filter(|e| alike(e, kind))))
        .collect();
    let touched = troubles.iter().filter(|x| x.under.iter().any(|m| alike(&events[m.event], kind))).count();
    Correlation {
        layer: kind.layer.clone(),
        name: kind.name.clone(),
        events: events.iter().filter(own).count(),
        harmless: events.iter().filter(harmless).count(),
        troubles: troubles.len(),
        touched,
        expected: chances.iter().sum(),
        accident: at_least(touched, &chances),
    }
}

/// Probability that at least `k` of independent events with these probabilities occur.
fn at_least(k: usize, chances: &[f64]) -> f64 {
    if k == 0 {
        return 1.0;
    }
    // `fewer[i]`: probability that exactly i events occurred so far, for i < k.
    let mut fewer = vec![0.0; k];
    fewer[0] = 1.0;
    for p in chances {
        for i in (0..k).rev() {
            let from_below = if i > 0 { fewer[i - 1] * p } else { 0.0 };
            fewer[i] = fewer[i] * (1.0 - p) + from_below;
        }
    }
    (1.0 - fewer.iter().sum::<f64>()).clamp(0.0, 1.0)
}

pub(crate) fn seconds(start: Time, t: Time) -> f64 {
    if t >= start { t.since(start).as_secs_f64() } else { -start.since(t).as_secs_f64() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(name: &str, t: f64, until: f64) -> Event {
        Event { layer: "radio".into(), name: name.into(), t, until }
    }

    #[test]
    fn chance_is_the_share_of_places() {
        let events = [event("a", 10.0, 12.0), event("a", 50.0, 50.0)];
        // An interval of 4 s in 104 s overlaps if it starts from 6 to 12 or from 46 to 50.
        assert!((chance_of((4.0, 0.0), (0.0, 104.0), events.iter()) - 0.1).abs() < 1e-12);
        // It overlaps the first event for 1 s if it starts from 7 to 11.
        assert!((chance_of((4.0, 1.0), (0.0, 104.0), events.iter()) - 0.04).abs() < 1e-12);
        // Overlapping events count once; events outside of the connection's life do not count.
        let events = [event("a", 10.0, 20.0), event("a", 15.0, 30.0), event("a", 400.0, 500.0)];
        assert!((chance_of((0.0, 0.0), (0.0, 100.0), events.iter()) - 0.2).abs() < 1e-12);
        assert_eq!(chance_of((200.0, 0.0), (0.0, 100.0), events.iter()), 1.0);
    }

    #[test]
    fn matches_say_how_much_they_mean() {
        let often: Vec<Event> = (0..100).map(|i| event("paging", f64::from(i), f64::from(i))).collect();
        let mut events = vec![event("reselection", 40.0, 45.0), event("beacon", 43.0, 43.0)];
        events.extend(often);
        let matches = under((41.0, 44.0), (0.0, 200.0), &events);
        let of = |name: &str| matches.iter().find(|m| events[m.event].name == name).copied();
        assert_eq!(of("reselection").map(|m| (m.fills, m.sureness)), Some((1.0, MatchStrength::Sure)));
        assert_eq!(of("beacon").map(|m| (m.fills, m.sureness)), Some((0.0, MatchStrength::Likely)));
        assert_eq!(of("paging").map(|m| m.sureness), Some(MatchStrength::Accident));
    }

    #[test]
    fn at_least_so_many_of_several_chances() {
        assert_eq!(at_least(0, &[0.5]), 1.0);
        assert!((at_least(1, &[0.5, 0.5]) - 0.75).abs() < 1e-12);
        assert!((at_least(2, &[0.5, 0.1]) - 0.05).abs() < 1e-12);
        assert!((at_least(3, &[1.0, 1.0, 0.2]) - 0.2).abs() < 1e-12);
    }
}
