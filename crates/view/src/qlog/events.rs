//! Events of a qlog trace: times in three formats, packets, acknowledgements, losses, timers, metrics
//! (draft-ietf-quic-qlog-main-schema, draft-ietf-quic-qlog-quic-events).

use super::{Ack, Metrics, Open, Sent, Space, Trace, text};
use serde_json::Value;

/// Time format of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Clock {
    /// From a moment that all share: zero of the epoch, or a reference.
    Since,
    /// From the event before.
    Delta,
}

/// Reads the events of one trace.
pub(super) struct Reader {
    clock: Clock,
    /// The first event, and the last one, milliseconds.
    first: Option<f64>,
    now: f64,
    trace: Trace,
    open: Open,
    /// Spaces whose packets were thrown away take no part any more.
    strange_times: u64,
}

impl Reader {
    /// `trace` holds title, vantage point and common fields; a file's own title stands in for a missing one.
    pub(super) fn new(trace: &Value, file: &Value) -> Reader {
        let format = trace["common_fields"]["time_format"].as_str().unwrap_or_default();
        let delta = matches!(format, "delta" | "relative_to_previous_event");
        let vantage = &trace["vantage_point"];
        let title = [&trace["title"], &file["title"]].into_iter().map(text).find(|title| !title.is_empty());
        let trace = Trace {
            title: title.unwrap_or_default(),
            vantage: text(if vantage["type"].is_string() { &vantage["type"] } else { vantage }),
            ..Trace::default()
        };
        let clock = if delta { Clock::Delta } else { Clock::Since };
        Reader { clock, first: None, now: 0.0, trace, open: Open::new(), strange_times: 0 }
    }

    /// Seconds from the first event; times that go back count as the latest one.
    fn time(&mut self, told: f64) -> f64 {
        let next = match self.clock {
            Clock::Since => told,
            Clock::Delta => self.now + told,
        };
        if next < self.now || !next.is_finite() {
            self.strange_times += u64::from(self.first.is_some());
        } else {
            self.now = next;
        }
        let first = *self.first.get_or_insert(self.now);
        (self.now - first) / 1e3
    }

    /// Takes one event.
    pub(super) fn push(&mut self, event: &Value) {
        let (Some(told), Some(name)) = (event["time"].as_f64(), event["name"].as_str()) else {
            self.trace.unread += 1;
            return;
        };
        // Of the epoch the first time is large, and no time went back.
        if self.first.is_none() {
            self.now = if self.clock == Clock::Since { told } else { 0.0 };
        }
        let t = self.time(told);
        self.trace.events += 1;
        self.trace.seconds = self.trace.seconds.max(t);
        let data = &event["data"];
        let (_, kind) = name.split_once(':').unwrap_or(("", name));
        match kind {
            "packet_sent" => self.sent(t, data),
            "packet_received" => self.received(t, data),
            "packet_lost" => self.lost(t, data),
            "metrics_updated" | "recovery_metrics_updated" => self.metrics(t, data),
            "loss_timer_updated" | "timer_updated"
                if data["event_type"] == "expired" && data["timer_type"] != "ack" =>
            {
                self.trace.probes.push(t);
            }
            "congestion_state_updated" => self.trace.states.push((t, text(&data["new"]))),
            _ => {}
        }
    }

    fn sent(&mut self, t: f64, data: &Value) {
        let Some((space, number)) = numbered(data) else {
            // Version negotiation and Retry have no number.
            self.trace.unread += u64::from(data["header"].is_null());
            return;
        };
        self.open.insert((space, number), self.trace.sent.len());
        let bytes = length(data);
        self.trace.sent.push(Sent { t, space, number, bytes, lost: None, acknowledged: None });
    }

    fn received(&mut self, t: f64, data: &Value) {
        self.trace.received += 1;
        self.trace.received_bytes = self.trace.received_bytes.saturating_add(length(data));
        let Some(space) = space(&data["header"]) else { return };
        for frame in data["frames"].as_array().into_iter().flatten() {
            if frame["frame_type"] == "ack" {
                self.acknowledged(t, space, &frame["acked_ranges"]);
            }
        }
    }

    /// Ranges `[[first, last], [number], ...]`.
    fn acknowledged(&mut self, t: f64, space: Space, ranges: &Value) {
        let mut largest = None;
        for range in ranges.as_array().into_iter().flatten() {
            let ends = range.as_array().map_or(&[][..], Vec::as_slice);
            let (Some(from), Some(to)) = (ends.first().and_then(number), ends.last().and_then(number)) else {
                continue;
            };
            if to < from {
                continue;
            }
            largest = largest.max(Some(to));
            // Each packet leaves the list once, however long a range is.
            let newly: Vec<(Space, u64)> =
                self.open.range((space, from)..=(space, to)).map(|(key, _)| *key).collect();
            for key in newly {
                if let Some(place) = self.open.remove(&key) {
                    self.trace.sent[place].acknowledged = Some(t);
                }
            }
        }
        self.trace.acks.extend(largest.map(|largest| Ack { t, space, largest }));
    }

    fn lost(&mut self, t: f64, data: &Value) {
        let place = numbered(data).and_then(|key| self.open.get(&key));
        match place {
            Some(place) => {
                self.trace.sent[*place].lost.get_or_insert(t);
            }
            None => self.trace.strange_losses += 1,
        }
    }

    fn metrics(&mut self, t: f64, data: &Value) {
        let before = self.trace.metrics.last().copied().unwrap_or_default();
        let seconds = |key: &str, before: Option<f64>| {
            data[key].as_f64().filter(|x| x.is_finite() && *x >= 0.0).map(|ms| ms / 1e3).or(before)
        };
        let amount = |key: &str, before: Option<u64>| number(&data[key]).or(before);
        self.trace.metrics.push(Metrics {
            t,
            smoothed_rtt: seconds("smoothed_rtt", before.smoothed_rtt),
            latest_rtt: seconds("latest_rtt", None),
            min_rtt: seconds("min_rtt", before.min_rtt),
            rtt_variance: seconds("rtt_variance", before.rtt_variance),
            // aioquic calls it cwnd.
            congestion_window: amount("congestion_window", None).or(amount("cwnd", before.congestion_window)),
            bytes_in_flight: amount("bytes_in_flight", before.bytes_in_flight),
            ssthresh: amount("ssthresh", before.ssthresh),
        });
    }

    /// The trace; anomalies are added to `notices`.
    pub(super) fn finish(self, notices: &mut Vec<String>) -> Trace {
        if self.strange_times > 0 {
            notices.push(format!("{} events are dated earlier than those before them", self.strange_times));
        }
        if self.trace.unread > 0 {
            notices.push(format!("{} events have no time, name or header", self.trace.unread));
        }
        self.trace
    }
}

/// A whole number; some stacks write it as a text or with a point.
fn number(value: &Value) -> Option<u64> {
    let whole = |x: f64| ((0.0..9.0e15).contains(&x) && x.fract() == 0.0).then_some(x as u64);
    value.as_u64().or_else(|| value.as_f64().and_then(whole)).or_else(|| value.as_str()?.parse().ok())
}

fn space(header: &Value) -> Option<Space> {
    let kind = [&header["packet_type"], &header["type"]].into_iter().find_map(Value::as_str)?;
    match kind {
        "initial" => Some(Space::Initial),
        "handshake" => Some(Space::Handshake),
        "1RTT" | "0RTT" => Some(Space::Application),
        _ => None,
    }
}

/// Packet number space and number; aioquic logs them without a header for lost packets.
fn numbered(data: &Value) -> Option<(Space, u64)> {
    let header = if data["header"].is_object() { &data["header"] } else { data };
    Some((space(header)?, number(&header["packet_number"])?))
}

/// Bytes of a packet.
fn length(data: &Value) -> u64 {
    let told = [&data["raw"]["length"], &data["header"]["packet_size"], &data["packet_size"]];
    told.into_iter().find_map(number).unwrap_or(0)
}
