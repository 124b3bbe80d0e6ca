//! Events of a qlog trace (draft-ietf-quic-qlog-main-schema, draft-ietf-quic-qlog-quic-events): packets,
//! acknowledgements, losses, timers, recovery metrics, in three time formats.

use super::{Ack, Metrics, Open, Sent, Space, Trace, text};
use serde_json::Value;

/// Time format of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Clock {
    /// Time since a common origin: the epoch, or a reference.
    Since,
    /// Time since the previous event.
    Delta,
}

/// Reader of the events of one trace.
pub(super) struct Reader {
    clock: Clock,
    /// Time of the first event, ms.
    first: Option<f64>,
    /// Time of the last event, ms.
    now: f64,
    trace: Trace,
    open: Open,
    /// Number of events dated earlier than the event before.
    strange_times: u64,
}

impl Reader {
    /// Reader for a trace object with title, vantage point and common fields; the title of the file replaces a missing
    /// one.
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

    /// Seconds from the first event. A time earlier than the last event is counted.
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

    /// Processes one event.
    pub(super) fn push(&mut self, event: &Value) {
        let (Some(told), Some(name)) = (event["time"].as_f64(), event["name"].as_str()) else {
            self.trace.unread += 1;
            return;
        };
        // Times since the epoch are large; the first time is not compared with an earlier one.
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
            // Version negotiation and Retry packets have no number.
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

    /// Processes acknowledged ranges `[[first, last], [number], ...]`.
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
            // Each packet leaves `open` once, so a long range costs no more than its packets.
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
            // aioquic names the congestion window `cwnd`.
            congestion_window: amount("congestion_window", None).or(amount("cwnd", before.congestion_window)),
            bytes_in_flight: amount("bytes_in_flight", before.bytes_in_flight),
            ssthresh: amount("ssthresh", before.ssthresh),
        });
    }

    /// Trace; anomalies are added to `notices`.
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

/// Whole number; some stacks write it as text or with a decimal point.
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

/// Packet number space and number of a packet; aioquic logs lost packets without a header.
fn numbered(data: &Value) -> Option<(Space, u64)> {
    let header = if data["header"].is_object() { &data["header"] } else { data };
    Some((space(header)?, number(&header["packet_number"])?))
}

/// Length of a packet, bytes; 0 if it is not logged.
fn length(data: &Value) -> u64 {
    let told = [&data["raw"]["length"], &data["header"]["packet_size"], &data["packet_size"]];
    told.into_iter().find_map(number).unwrap_or(0)
}
