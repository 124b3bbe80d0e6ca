//! JSON document of `williwaw analyse --json`, serialised connection by connection. Times are seconds from
//! the first packet of the capture.

use super::lower_layers::{LowerLayers, episodes_document};
use super::source::Read;
use analyse::choice::Conditions;
use analyse::flow::{FlowDirection, SpikeKind};
use analyse::idle::IdleCause;
use analyse::story::Diagnosis;
use analyse::{Flow, Need, RecoveryVerdict};
use base::{Span, Time};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Value, json};
use std::path::Path;

/// The whole document. Each connection is converted while it is written, because a complete JSON value of a large
/// capture takes far more memory than its analysis.
pub(super) struct Document<'a> {
    pub(super) file: &'a Path,
    pub(super) read: &'a Read,
    pub(super) story: &'a Diagnosis,
    pub(super) below: Option<&'a LowerLayers>,
}

impl Serialize for Document<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (read, story) = (self.read, self.story);
        let mut all = serializer.serialize_map(None)?;
        all.serialize_entry("schema", "williwaw-analyse/1")?;
        all.serialize_entry("file", &self.file.display().to_string())?;
        all.serialize_entry("version", crate::output::VERSION)?;
        all.serialize_entry("start_unix_s", &read.start.as_secs_f64())?;
        all.serialize_entry("frames", &read.frames)?;
        all.serialize_entry("tcp_packets", &read.tcp)?;
        all.serialize_entry("sctp_packets", &read.sctp)?;
        all.serialize_entry("udp_packets", &read.udp)?;
        all.serialize_entry("notices", &read.notices)?;
        all.serialize_entry("story", &[&story.what, &story.sure, &story.advice])?;
        all.serialize_entry("jain_index", &story.jain_index)?;
        all.serialize_entry("flows", &Flows(self))?;
        all.serialize_entry("associations", &super::associations::documents(read))?;
        all.serialize_entry("datagram_flows", &super::datagrams::documents(read))?;
        all.end()
    }
}

/// Array of the connections in the document.
struct Flows<'a>(&'a Document<'a>);

impl Serialize for Flows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Document { read, below, .. } = self.0;
        let seconds = |t: Time| seconds(read.start, t);
        serializer.collect_seq(read.flows.iter().map(|(n, f)| {
            let mut document = flow(*n, f, &seconds);
            let silences = analyse::episode::silences(f, read.start);
            document["silences"] = episodes_document(&silences, DIRECTIONS);
            document["below"] = json!(below.map(|b| b.document(f, read, DIRECTIONS)));
            document
        }))
    }
}

fn seconds(start: Time, t: Time) -> f64 {
    if t >= start { t.since(start).as_secs_f64() } else { -start.since(t).as_secs_f64() }
}

fn flow(number: usize, f: &Flow, seconds: &dyn Fn(Time) -> f64) -> Value {
    let both = |of: fn(&FlowDirection) -> u64| f.directions.iter().map(of).sum::<u64>();
    let main = f.main();
    let list = |of: &dyn Fn(&FlowDirection) -> Vec<Value>| {
        let mut all: Vec<Value> = Vec::new();
        for (i, direction) in f.directions.iter().enumerate() {
            all.extend(of(direction).into_iter().map(|mut v| {
                v["direction"] = json!(DIRECTIONS[i]);
                v
            }));
        }
        all.sort_by(|a, b| at(a).total_cmp(&at(b)));
        all
    };
    json!({
        "number": number,
        "client": f.client.to_string(),
        "server": f.server.to_string(),
        "opened": f.opened,
        "reset": f.reset,
        "t": seconds(f.first),
        "until": seconds(f.last),
        "duration_s": f.last.since(f.first).as_secs_f64(),
        "packets": f.packets,
        "bytes": f.bytes,
        "captured_twice": f.captured_twice,
        "copies_apart_s": f.copies_apart.as_secs_f64(),
        "data_packets": both(|w| w.data_packets),
        "data_segments": both(|w| w.data_segments),
        "data_bytes": both(|w| w.data_bytes),
        "delivered_bytes": both(|w| w.delivered_bytes),
        "retransmissions": both(|w| w.retransmissions.len() as u64),
        "unneeded_retransmissions": both(|w| w.count(Need::Unneeded)),
        "unknown_retransmissions": both(|w| w.count(Need::Unknown)),
        "out_of_order": both(|w| w.out_of_order),
        "throughput_bps": f.directions[main].throughput_bps(),
        "goodput_bps": f.directions[main].goodput_bps(),
        "main_direction": DIRECTIONS[main],
        "rtt": rtt(&f.directions[main]),
        "timeouts": list(&|w| w.timeouts.iter().map(|x| json!({
            "t": seconds(x.t), "until": x.until.map(seconds), "kind": x.kind.name(), "evidence": x.evidence.name(),
            "cause": x.cause.map(|c| c.name()), "seq": x.seq, "waited_s": span(x.waited),
        })).collect()),
        "fast_retransmits": list(&|w| w.fast_retransmits.iter().map(|x| json!({
            "t": seconds(x.t), "kind": x.kind.name(), "evidence": x.evidence.name(), "seq": x.seq,
            "duplicates": x.duplicates,
        })).collect()),
        "go_back_n": list(&|w| w.go_back_n.iter().map(|x| json!({
            "t": seconds(x.t), "until": seconds(x.until), "kind": x.kind.name(),
            "evidence": format!("{} segments retransmitted in order after a timeout, {} of them unneeded", x.segments, x.unneeded),
            "segments": x.segments, "unneeded": x.unneeded,
        })).collect()),
        "delay_spikes": list(&|w| w.spikes.iter().map(|x| json!({
            "t": seconds(x.t), "until": seconds(x.until), "kind": x.kind.name(),
            "evidence": match x.kind {
                SpikeKind::Delay => "the awaited packets arrived late",
                SpikeKind::Outage => "packets sent meanwhile, or their acknowledgements, were lost",
                SpikeKind::Timer => "the awaited packets were lost, and the sender was silent until its timer expired",
                SpikeKind::Unknown => "the fate of the awaited packets is unknown",
            },
            "seq": x.seq, "usual_s": x.usual.as_secs_f64(),
        })).collect()),
        "choice": choice(&f.directions[main]),
        "pauses": list(&|w| w.idles.iter().map(|x| json!({
            "t": seconds(x.t), "until": seconds(x.until), "kind": x.cause.name(), "evidence": x.cause.evidence(),
        })).collect()),
        "loss_bursts": list(&|w| w.bursts.iter().map(|x| json!({
            "t": seconds(x.t), "until": seconds(x.until), "kind": "loss-burst",
            "evidence": "needed retransmissions of segments sent next to each other",
            "segments": x.segments, "bytes": x.bytes,
        })).collect()),
        "buffer_estimate_bytes": f.directions[main].buffer_bytes,
        "faults": list(&|w| w.faults.iter().map(|x| json!({
            "t": seconds(x.t), "kind": x.kind.name(), "evidence": x.kind.says(), "amount": x.amount,
        })).collect()),
        "directions": f.directions.iter().enumerate().map(|(i, w)| direction(i, w, seconds)).collect::<Vec<_>>(),
    })
}

/// Recommendation by the rule of the delay-spike study; null for a path without delay spikes.
fn choice(w: &FlowDirection) -> Value {
    if w.spikes.is_empty() {
        return Value::Null;
    }
    let conditions = Conditions::of(w);
    json!({
        "protocol": conditions.recommended().map(|protocol| protocol.name()),
        "lossy": conditions.lossy,
        "rate_bps": conditions.rate_bps,
        "window_segments": conditions.window_segments,
    })
}

const DIRECTIONS: [&str; 2] = ["to-server", "to-client"];

fn at(v: &Value) -> f64 {
    v["t"].as_f64().unwrap_or(0.0)
}

/// Duration in seconds; `None` for [`Span::FOREVER`], which stands for an unknown duration.
fn span(s: Span) -> Option<f64> {
    (s != Span::FOREVER).then(|| s.as_secs_f64())
}

fn rtt(w: &FlowDirection) -> Value {
    match w.rtt {
        None => Value::Null,
        Some(r) => json!({
            "samples": r.samples, "min_s": r.min_s, "mean_s": r.mean_s, "max_s": r.max_s, "queueing_s": r.queueing_s,
            "alternates": r.alternates.map(|a| json!({ "low_s": a.low, "high_s": a.high, "share": a.share })),
        }),
    }
}

fn direction(i: usize, w: &FlowDirection, seconds: &dyn Fn(Time) -> f64) -> Value {
    let mut all = counts(i, w);
    let lists = json!({
        "rtt": rtt(w),
        "buffer_estimate_bytes": w.buffer_bytes,
        "time_s": IdleCause::ALL.iter().map(|c| (c.name().to_owned(), json!(w.time.of(*c).as_secs_f64())))
            .collect::<serde_json::Map<_, _>>(),
        "retransmitted": w.retransmissions.iter().map(|r| json!({
            "t": seconds(r.t), "seq": r.seq, "end": r.end, "reason": r.reason.name(), "kind": r.need.name(),
            "evidence": r.evidence.name(), "waited_s": span(r.waited), "duplicates": r.duplicates,
            "original_t": r.original.map(seconds), "answered_t": r.answered.map(seconds),
        })).collect::<Vec<_>>(),
        "rfc3481": w.profile.iter().map(|a| json!({
            "point": a.point.name(), "section": a.point.section(), "followed": a.followed, "text": a.text,
        })).collect::<Vec<_>>(),
    });
    if let (Some(all), Value::Object(lists)) = (all.as_object_mut(), lists) {
        all.extend(lists);
    }
    all
}

fn counts(i: usize, w: &FlowDirection) -> Value {
    let of = |kind: RecoveryVerdict| w.timeouts_of(kind);
    json!({
        "direction": DIRECTIONS[i],
        "packets": w.packets,
        "bytes": w.bytes,
        "data_packets": w.data_packets,
        "data_segments": w.data_segments,
        "data_bytes": w.data_bytes,
        "delivered_bytes": w.delivered_bytes,
        "throughput_bps": w.throughput_bps(),
        "goodput_bps": w.goodput_bps(),
        "bottleneck_bps": w.bottleneck_bps,
        "retransmissions": w.retransmissions.len(),
        "needed_retransmissions": w.count(Need::Needed),
        "unneeded_retransmissions": w.count(Need::Unneeded),
        "unknown_retransmissions": w.count(Need::Unknown),
        "spurious_timeouts": of(RecoveryVerdict::Spurious),
        "genuine_timeouts": of(RecoveryVerdict::Genuine),
        "unknown_timeouts": of(RecoveryVerdict::Unknown),
        "control_retransmissions": w.control_again,
        "keep_alives": w.keep_alives,
        "window_probes": w.window_probes,
        "out_of_order": w.out_of_order,
        "before_capture": w.before_capture,
        "missing_bytes": w.missing_bytes,
        "acknowledged_unseen_bytes": w.acknowledged_unseen,
        "duplicate_acks": w.duplicate_acks,
        "dsacks": w.dsacks,
        "replies_lost": w.replies_lost,
        "capture_at": w.place.side().name(),
        "to_sender_s": w.place.to_sender.map(|s| s.as_secs_f64()),
        "to_receiver_s": w.place.to_receiver.map(|s| s.as_secs_f64()),
        "mss": w.options.mss,
        "longest_segment": w.options.longest,
        "window_scale": w.options.scale,
        "largest_window": w.options.window_known.then_some(w.options.window),
        "sack": w.options.sack,
        "timestamps": w.options.timestamps,
        "ecn": w.options.ecn,
    })
}
