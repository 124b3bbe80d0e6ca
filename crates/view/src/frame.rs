//! Common parts of the pictures of a captured connection (`Frame`): title, time range, timeouts, delay spikes,
//! endpoints, subtitle.

use crate::{View, clocks, stream};
use analyse::RecoveryVerdict;
use analyse::capture_point::Side;
use analyse::flow::SpikeKind;
use report::{Interval, Layer, Timeout, Truth};

/// Title, time range and lower-layer events of a picture.
#[derive(Clone, Debug, Default)]
pub struct Frame {
    /// Title; may be empty.
    pub title: String,
    /// Tracks of lower-layer events.
    pub layers: Vec<Layer>,
    /// Left end of the time axis, s from the first packet; None: start of the connection.
    pub from: Option<f64>,
    /// Right end of the time axis, s from the first packet; None: end of the connection.
    pub until: Option<f64>,
}

/// Time range of a picture, s: as requested, or the connection's.
pub fn window(view: &View<'_>, frame: &Frame) -> (f64, f64) {
    let (first, last) = (view.at(view.flow.first), view.at(view.flow.last));
    // A connection that begins with the capture is drawn from 0.
    let first = if first < 0.05 * last { 0.0 } else { first };
    let from = frame.from.unwrap_or(first);
    let until = frame.until.unwrap_or(last);
    (from, if until > from { until } else { from + 1e-3 })
}

/// Timeouts of the direction shown.
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

/// Silences of the path: intervals without ACKs although data were outstanding.
pub fn spikes(view: &View<'_>) -> Vec<Interval> {
    let name = |kind| match kind {
        SpikeKind::Delay => "delay spike",
        SpikeKind::Outage => "outage",
        SpikeKind::Unknown => "no acknowledgements",
        SpikeKind::Timer => "the sender waits",
    };
    let of = |s: &analyse::flow::Spike| Interval {
        from: view.at(s.t),
        until: view.at(s.until),
        name: name(s.kind).to_owned(),
    };
    // A silence because of the sender's own timer is no evidence of a disturbed path.
    view.data().spikes.iter().filter(|s| s.kind != SpikeKind::Timer).map(of).collect()
}

pub(crate) fn truth(kind: RecoveryVerdict) -> Truth {
    match kind {
        RecoveryVerdict::Spurious => Truth::Spurious,
        RecoveryVerdict::Genuine => Truth::Genuine,
        RecoveryVerdict::Unknown => Truth::Unknown,
    }
}

/// Sender and receiver of the direction shown.
pub fn ends(view: &View<'_>) -> (String, String) {
    let (client, server) = (view.flow.client.to_string(), view.flow.server.to_string());
    if view.direction == 0 { (client, server) } else { (server, client) }
}

/// Subtitle: endpoints, delivered bytes, duration, capture point, clock offset.
pub fn subtitle(view: &View<'_>, clocks: Option<&clocks::Clocks>) -> String {
    let direction = view.data();
    let (from, to) = ends(view);
    let seconds = view.flow.last.since(view.flow.first).as_secs_f64();
    let bytes = analyse::story::bytes(direction.delivered_bytes);
    let place = match (view.other.is_some(), direction.place.side()) {
        (true, _) => "captured at both ends",
        (false, Side::Sender) => "captured next to the sender",
        (false, Side::Receiver) => "captured next to the receiver",
        (false, Side::Middle) => "captured between the ends",
        (false, Side::Unknown) => "the capture point is unknown",
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
