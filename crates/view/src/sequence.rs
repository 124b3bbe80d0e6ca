//! Time-sequence picture of one direction of a captured TCP connection: segments, ACKs, arrivals at the opposite end,
//! timeouts, fast retransmits, delay spikes, panels.

use crate::frame::{Frame, ends, spikes, subtitle, timeouts, truth, window};
use crate::ranges::Ranges;
use crate::{View, clocks, lines, stream};
use analyse::Need;
use analyse::flow::FlowDirection;
use report::{Ack, FastRetransmit, Panel, Picture, Received, SegmentKind, Sent};

/// Payload of a full segment, bytes: the longest seen, or less by the peer's MSS, if offload captured several segments
/// as one packet (TSO, GRO).
fn segment(direction: &FlowDirection) -> u32 {
    const TIMESTAMPS: u32 = 12;
    let longest = direction.options.longest.max(1);
    match direction.options.mss.map(u32::from) {
        Some(mss) if longest > mss && mss > TIMESTAMPS => {
            mss - if direction.options.timestamps { TIMESTAMPS } else { 0 }
        }
        _ => longest,
    }
}

/// Picture of the direction, with panels of outstanding data and RTT.
pub fn picture(view: &View<'_>, frame: Frame) -> Picture {
    let direction = view.data();
    let (from, until) = window(view, &frame);
    let within = |t: f64| t >= from && t <= until;
    let clocks = clocks::clocks(view);
    let mut picture = Picture {
        title: frame.title,
        subtitle: subtitle(view, clocks.as_ref()),
        flow: format!("{} → {}", ends(view).0, ends(view).1),
        segment_bytes: segment(direction),
        panels: panels(view),
        layers: frame.layers,
        from,
        until,
        ..Picture::default()
    };
    for s in &direction.transmissions {
        let kind = match s.again.and_then(|at| direction.retransmissions.get(at as usize)).map(|r| r.need) {
            None if s.again.is_some() => SegmentKind::Unknown, // more than the analyser keeps
            None => SegmentKind::New,
            Some(Need::Needed) => SegmentKind::Retransmission,
            Some(Need::Unneeded) => SegmentKind::Unneeded,
            Some(Need::Unknown) => SegmentKind::Unknown,
        };
        picture.sent.push(Sent { t: view.at(s.t), seq: stream(s.seq), end: stream(s.end), kind });
    }
    for a in &direction.acks {
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
    picture.fast_retransmits = direction
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

/// Arrivals in the capture of the opposite end, on the clock of the first capture.
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
