//! Time-sequence picture of one direction of a captured SCTP association: DATA chunks by TSN, SACKs, timeouts, fast
//! retransmits.

use crate::frame::Frame;
use analyse::association::{Association, ResendReason, TimeoutVerdict};
use base::Time;
use report::{Ack, FastRetransmit, Picture, SegmentKind, Sent, Timeout, Truth};

/// Picture of the direction with more user data; t = 0 is `start`.
pub fn picture(association: &Association, start: Time, frame: Frame) -> Picture {
    let at = |t: Time| t.as_secs_f64() - start.as_secs_f64();
    let main = association.main();
    let direction = &association.directions[main];
    let (from, to) = (association.ends[main], association.ends[1 - main]);
    let first = if at(association.first) < 0.05 * at(association.last) { 0.0 } else { at(association.first) };
    let (left, right) = (frame.from.unwrap_or(first), frame.until.unwrap_or(at(association.last)));
    let right = if right > left { right } else { left + 1e-3 };
    let within = |t: f64| t >= left && t <= right;
    let duplicates =
        |tsn: u64| direction.timeouts.iter().find(|timeout| timeout.tsn == tsn).map(|t| t.judged);
    let sent = direction.points.iter().map(|point| Sent {
        t: at(point.t),
        seq: point.tsn,
        end: point.tsn + 1,
        kind: match (point.again, duplicates(point.tsn)) {
            (None, _) => SegmentKind::New,
            (Some(ResendReason::Timeout), Some(TimeoutVerdict::Spurious)) => SegmentKind::Unneeded,
            (Some(ResendReason::Fast), _) | (Some(ResendReason::Timeout), Some(TimeoutVerdict::Genuine)) => {
                SegmentKind::Retransmission
            }
            _ => SegmentKind::Unknown,
        },
    });
    let acks = direction.acks.iter().map(|ack| Ack {
        t: at(ack.t),
        ack: ack.below,
        window_end: 0,
        sacks: ack.gaps.iter().map(|&(a, b)| [a, b]).collect(),
        duplicate: ack.duplicates,
    });
    let timeouts = direction.timeouts.iter().map(|timeout| Timeout {
        t: at(timeout.t),
        seq: timeout.tsn,
        truth: match timeout.judged {
            TimeoutVerdict::Spurious => Truth::Spurious,
            TimeoutVerdict::Genuine => Truth::Genuine,
            TimeoutVerdict::Unknown => Truth::Unknown,
        },
        cause: None,
        detected: Some("unknown".to_owned()),
        detected_at: None,
    });
    let fast = direction.points.iter().filter(|point| point.again == Some(ResendReason::Fast));
    let fast = fast.map(|point| FastRetransmit { t: at(point.t), seq: point.tsn, truth: Truth::Unknown });
    let mut picture = Picture {
        title: frame.title,
        subtitle: format!(
            "SCTP, {} chunks, {} retransmitted, {} timeouts",
            direction.chunks,
            direction.resent,
            direction.timeouts.len()
        ),
        flow: format!("{from} → {to}"),
        segment_bytes: 1,
        sent: sent.filter(|e| within(e.t)).collect(),
        acks: acks.filter(|e| within(e.t)).collect(),
        timeouts: timeouts.filter(|e| within(e.t)).collect(),
        fast_retransmits: fast.filter(|e| within(e.t)).collect(),
        layers: frame.layers,
        from: left,
        until: right,
        ..Picture::default()
    };
    for layer in &mut picture.layers {
        layer.events.retain(|e| e.end() >= left && e.t <= right);
    }
    picture
}
