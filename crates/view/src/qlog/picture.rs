//! Time-sequence picture of a qlog trace: packet numbers over time with acknowledgements, losses and probe timers;
//! panels of congestion window, bytes in flight and RTT.

use super::{Space, Trace};
use crate::frame::Frame;
use report::{
    Ack, Drop, FastRetransmit, Ink, Panel, Picture, Received, SegmentKind, Sent, Series, Style, Timeout,
    Truth,
};

/// Picture of the packets of the application space (0-RTT and 1-RTT); Initial and Handshake packets have numbers of
/// their own.
pub fn picture(trace: &Trace, frame: Frame) -> Picture {
    let (from, until) = (frame.from.unwrap_or(0.0), frame.until.unwrap_or(trace.seconds));
    let until = if until > from { until } else { from + 1e-3 };
    let within = |t: f64| t >= from && t <= until;
    let packets = || trace.sent.iter().filter(|packet| packet.space == Space::Application);
    let sent = packets().map(|packet| Sent {
        t: packet.t,
        seq: packet.number,
        end: packet.number + 1,
        kind: SegmentKind::New,
    });
    let acks = trace.acks.iter().filter(|ack| ack.space == Space::Application).map(|ack| Ack {
        t: ack.t,
        ack: ack.largest.saturating_add(1),
        ..Ack::default()
    });
    // Drops are packets declared lost and never acknowledged.
    let drops = packets().filter(|packet| packet.acknowledged.is_none()).filter_map(|packet| {
        let t = packet.lost?;
        Some(Drop { t, seq: packet.number, end: packet.number + 1, place: String::new() })
    });
    let received = packets().filter_map(|packet| {
        let t = packet.acknowledged?;
        Some(Received { t, seq: packet.number, end: packet.number + 1, duplicate: false })
    });
    let spurious = packets().filter(|packet| packet.spurious()).filter_map(|packet| {
        Some(FastRetransmit { t: packet.lost?, seq: packet.number, truth: Truth::Spurious })
    });
    let probes = trace.probes.iter().map(|&t| {
        let next = packets().find(|packet| packet.t >= t).map_or(0, |packet| packet.number);
        let detected = Some("unknown".to_owned());
        Timeout { t, seq: next, truth: Truth::Unknown, cause: None, detected, detected_at: None }
    });
    let line = |name: &str, ink, style, of: &dyn Fn(&super::Metrics) -> Option<f64>| Series {
        name: name.to_owned(),
        ink,
        style,
        points: trace.metrics.iter().filter(|m| within(m.t)).filter_map(|m| Some([m.t, of(m)?])).collect(),
    };
    let bytes = |of: fn(&super::Metrics) -> Option<u64>| move |m: &super::Metrics| of(m).map(|x| x as f64);
    let panels = [
        Panel {
            unit: "bytes".to_owned(),
            series: vec![
                line("congestion window", Ink::Main, Style::Stairs, &bytes(|m| m.congestion_window)),
                line("bytes in flight", Ink::Other, Style::Stairs, &bytes(|m| m.bytes_in_flight)),
            ],
        },
        Panel {
            unit: "s".to_owned(),
            series: vec![
                line("latest round trip", Ink::Main, Style::Dots, &|m| m.latest_rtt),
                line("smoothed", Ink::Other, Style::Stairs, &|m| m.smoothed_rtt),
            ],
        },
    ];
    Picture {
        title: frame.title,
        subtitle: subtitle(trace),
        flow: if trace.vantage.is_empty() { "QUIC".to_owned() } else { format!("QUIC {}", trace.vantage) },
        segment_bytes: 1,
        // Packet numbers are never reused, so retransmissions cannot be recognised.
        datagrams: true,
        received: received.filter(|e| within(e.t)).collect(),
        sent: sent.filter(|e| within(e.t)).collect(),
        acks: acks.filter(|e| within(e.t)).collect(),
        drops: drops.filter(|e| within(e.t)).collect(),
        fast_retransmits: spurious.filter(|e| within(e.t)).collect(),
        timeouts: probes.filter(|e| within(e.t)).collect(),
        panels: panels
            .into_iter()
            .filter(|panel| panel.series.iter().any(|s| !s.points.is_empty()))
            .collect(),
        layers: frame.layers,
        from,
        until,
        ..Picture::default()
    }
}

/// Summary of the trace, one line.
pub(crate) fn subtitle(trace: &Trace) -> String {
    let vantage = if trace.vantage.is_empty() { String::new() } else { format!(", {}", trace.vantage) };
    format!(
        "qlog{vantage}: {} packets sent, {} received, {} called lost ({} spuriously), {} probe timers expired",
        trace.sent.len(),
        trace.received,
        trace.lost(),
        trace.spurious_losses(),
        trace.probes.len()
    )
}
