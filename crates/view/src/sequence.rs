//! The time-sequence picture of one direction of a captured connection.

use crate::ranges::Ranges;
use crate::{View, clocks, lines, stream};
use analyse::flow::{SpikeKind, Way};
use analyse::place::Side;
use analyse::{Kind as Verdict, Need};
use report::{Ack, FastRetransmit, Interval, Kind, Layer, Panel, Picture, Received, Sent, Timeout, Truth};

/// What to draw besides what was captured.
#[derive(Clone, Debug, Default)]
pub struct Frame {
    /// Heading.
    pub title: String,
    /// What happened below the transport.
    pub layers: Vec<Layer>,
    /// Left end of the time axis, s from the first packet; none: the connection's beginning.
    pub from: Option<f64>,
    /// Right end; none: its end.
    pub until: Option<f64>,
}

/// Bytes of data in a full segment: the longest seen, unless the peer had asked for less. Then the sender's network card cuts
/// what is captured as one packet (TSO), and what arrives is put together again (GRO).
fn segment(way: &Way) -> u32 {
    const TIMESTAMPS: u32 = 12;
    let longest = way.options.longest.max(1);
    match way.options.mss.map(u32::from) {
        Some(mss) if longest > mss && mss > TIMESTAMPS => {
            mss - if way.options.timestamps { TIMESTAMPS } else { 0 }
        }
        _ => longest,
    }
}

/// Draws it, with data outstanding and round trips below the sequence.
pub fn picture(view: &View<'_>, frame: Frame) -> Picture {
    let way = view.data();
    let (from, until) = window(view, &frame);
    let within = |t: f64| t >= from && t <= until;
    let clocks = clocks::clocks(view);
    let mut picture = Picture {
        title: frame.title,
        subtitle: subtitle(view, clocks.as_ref()),
        flow: format!("{} → {}", ends(view).0, ends(view).1),
        segment_bytes: segment(way),
        panels: panels(view),
        layers: frame.layers,
        from,
        until,
        ..Picture::default()
    };
    for s in &way.transmissions {
        let kind = match s.again.and_then(|at| way.retransmissions.get(at as usize)).map(|r| r.need) {
            None if s.again.is_some() => Kind::Unknown, // more than the analyser keeps
            None => Kind::New,
            Some(Need::Needed) => Kind::Retransmission,
            Some(Need::Unneeded) => Kind::Unneeded,
            Some(Need::Unknown) => Kind::Unknown,
        };
        picture.sent.push(Sent { t: view.at(s.t), seq: stream(s.seq), end: stream(s.end), kind });
    }
    for a in &way.acks {
        let sacks = a.sack.iter().take(usize::from(a.sacks)).map(|&(l, r)| [stream(l), stream(r)]);
        picture.acks.push(Ack {
            t: view.at(a.t),
            ack: stream(a.ack),
            window_end: a.window_end.map_or(0, stream),
            sacks: sacks.collect(),
            duplicate: a.duplicate,
        });
    }
    picture.received = arrivals(view, clocks.as_ref());
    picture.timeouts = timeouts(view);
    picture.fast_retransmits = way
        .fast_retransmits
        .iter()
        .map(|f| FastRetransmit { t: view.at(f.t), seq: stream(f.seq), truth: truth(f.kind) })
        .collect();
    picture.spikes = spikes(view);
    picture.sent.retain(|e| within(e.t));
    picture.acks.retain(|e| within(e.t));
    picture.received.retain(|e| within(e.t));
    picture.timeouts.retain(|e| within(e.t));
    picture.fast_retransmits.retain(|e| within(e.t));
    picture.spikes.retain(|e| e.until >= from && e.from <= until);
    for spike in &mut picture.spikes {
        (spike.from, spike.until) = (spike.from.max(from), spike.until.min(until));
    }
    for layer in &mut picture.layers {
        layer.events.retain(|e| e.end() >= from && e.t <= until);
    }
    picture
}

/// The stretch of time shown: what was asked for, else the connection's.
pub fn window(view: &View<'_>, frame: &Frame) -> (f64, f64) {
    let (first, last) = (view.at(view.flow.first), view.at(view.flow.last));
    // A connection that begins with the capture begins at 0.
    let first = if first < 0.05 * last { 0.0 } else { first };
    let from = frame.from.unwrap_or(first);
    let until = frame.until.unwrap_or(last);
    (from, if until > from { until } else { from + 1e-3 })
}

/// The timeouts of this direction.
pub fn timeouts(view: &View<'_>) -> Vec<Timeout> {
    view.data()
        .timeouts
        .iter()
        .map(|timeout| Timeout {
            t: view.at(timeout.t),
            seq: stream(timeout.seq),
            truth: truth(timeout.kind),
            cause: timeout.cause.map(|cause| cause.name().to_owned()),
            detected: Some("unknown".to_owned()),
            detected_at: None,
        })
        .collect()
}

/// When nothing came back for long.
pub fn spikes(view: &View<'_>) -> Vec<Interval> {
    let name = |kind| match kind {
        SpikeKind::Delay => "delay spike",
        SpikeKind::Outage => "outage",
        SpikeKind::Unknown => "nothing comes back",
        SpikeKind::Timer => "the sender waits",
    };
    let of = |s: &analyse::flow::Spike| Interval {
        from: view.at(s.t),
        until: view.at(s.until),
        name: name(s.kind).to_owned(),
    };
    // Where the sender itself was silent, nothing says that the path was disturbed.
    view.data().spikes.iter().filter(|s| s.kind != SpikeKind::Timer).map(of).collect()
}

fn truth(kind: Verdict) -> Truth {
    match kind {
        Verdict::Spurious => Truth::Spurious,
        Verdict::Genuine => Truth::Genuine,
        Verdict::Unknown => Truth::Unknown,
    }
}

/// What the capture of the other end saw arrive, on this one's clock.
fn arrivals(view: &View<'_>, clocks: Option<&clocks::Clocks>) -> Vec<Received> {
    let (Some((there, _)), Some(clocks)) = (view.there(), clocks) else { return Vec::new() };
    let shift = i64::from(there.origin.wrapping_sub(view.data().origin) as i32);
    let moved = |seq: u64| stream(seq.saturating_add_signed(shift));
    let mut known = Ranges::default();
    there
        .sightings
        .iter()
        .filter(|s| s.end > s.seq)
        .map(|s| {
            let (seq, end) = (moved(s.seq), moved(s.end));
            let duplicate = known.add(seq, end);
            Received { t: view.at(clocks.here(s.t)), seq, end, duplicate }
        })
        .collect()
}

fn panels(view: &View<'_>) -> Vec<Panel> {
    let mut out = vec![lines::outstanding(view)];
    let rtt = lines::rtt(view);
    if rtt.series.iter().any(|s| !s.points.is_empty()) {
        out.push(rtt);
    }
    out
}

/// From whom to whom.
pub fn ends(view: &View<'_>) -> (String, String) {
    let (client, server) = (view.flow.client.to_string(), view.flow.server.to_string());
    if view.way == 0 { (client, server) } else { (server, client) }
}

/// One line: the ends, how much, how long, where it was captured, how the clocks stand.
pub fn subtitle(view: &View<'_>, clocks: Option<&clocks::Clocks>) -> String {
    let way = view.data();
    let (from, to) = ends(view);
    let seconds = view.flow.last.since(view.flow.first).as_secs_f64();
    let bytes = analyse::story::bytes(way.delivered_bytes);
    let place = match (view.other.is_some(), way.place.side()) {
        (true, _) => "captured at both ends",
        (false, Side::Sender) => "captured next to the sender",
        (false, Side::Receiver) => "captured next to the receiver",
        (false, Side::Middle) => "captured between the ends",
        (false, Side::Unknown) => "where it was captured cannot be told",
    };
    let mut out = format!("{from} → {to}: {bytes} in {seconds:.1} s, {place}");
    if let Some(clocks) = clocks {
        let side = if clocks.ahead_s < 0.0 { "behind" } else { "ahead" };
        out += &format!(
            "; the receiver's clock is {} {side} (± {})",
            time(clocks.ahead_s.abs()),
            time(clocks.within_s)
        );
        if let Some(ppm) = clocks.drift_ppm {
            out +=
                &format!(" and {} {:.0} µs a second", if ppm < 0.0 { "loses" } else { "gains" }, ppm.abs());
        }
    }
    out
}

fn time(seconds: f64) -> String {
    if seconds >= 1.0 { format!("{seconds:.3} s") } else { format!("{:.2} ms", seconds * 1e3) }
}
