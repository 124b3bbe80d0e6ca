//! Trace-event timeline (JSON) of one flow of a repetition: progress, window, timer, queues, radio states and
//! losses on one time axis.
//!
//! JSON array format of trace events, which Perfetto (ui.perfetto.dev) and `chrome://tracing` open. One track
//! per layer: progress of the application, window and timer of the sender, each queue, gates and states,
//! losses.

use crate::packet_positions::PacketPositions;
use report::{Picture, Truth};
use serde_json::{Value, json};

/// Process id in the document; each track is a thread of this process.
const PROCESS: u32 = 1;

/// Trace-event document for one flow of a repetition.
pub fn timeline(picture: &Picture, positions: &PacketPositions) -> Value {
    let mut events = vec![named("process_name", 0, &format!("williwaw: {}", picture.flow))];
    counter(&mut events, "application: acknowledged bytes", picture.acks.iter().map(|a| (a.t, a.ack as f64)));
    counter(&mut events, "window: cwnd (bytes)", picture.window.iter().map(|w| (w.t, w.cwnd as f64)));
    counter(&mut events, "window: in flight (bytes)", picture.window.iter().map(|w| (w.t, w.flight as f64)));
    let threshold = picture.window.iter().filter_map(|w| Some((w.t, w.ssthresh? as f64)));
    counter(&mut events, "window: ssthresh (bytes)", threshold);
    counter(&mut events, "timer: timeout (ms)", picture.timer.iter().map(|s| (s.t, s.rto * 1e3)));
    counter(
        &mut events,
        "timer: smoothed round trip (ms)",
        picture.timer.iter().map(|s| (s.t, s.srtt * 1e3)),
    );
    for (link, name) in positions.links.iter().enumerate() {
        counter(
            &mut events,
            &format!("queue: {name} (packets)"),
            waiting(positions, link as u32).into_iter(),
        );
    }
    events.push(named("thread_name", 1, "radio and link"));
    for (name, from, until) in &positions.weather {
        events.push(json!({
            "name": name, "cat": "radio", "ph": "X", "ts": micros(*from), "dur": micros(until - from), "pid": PROCESS, "tid": 1,
        }));
    }
    events.push(named("thread_name", 2, "sender"));
    for timeout in &picture.timeouts {
        let truth = match timeout.truth {
            Truth::Spurious => "spurious timeout",
            Truth::Genuine => "genuine timeout",
            Truth::Unknown => "timeout",
        };
        let more = json!({ "byte": timeout.seq, "cause": timeout.cause, "detected": timeout.detected });
        events.push(instant(truth, 2, timeout.t, more));
    }
    for fast in &picture.fast_retransmits {
        events.push(instant("fast retransmit", 2, fast.t, json!({ "byte": fast.seq })));
    }
    events.push(named("thread_name", 3, "losses"));
    for drop in &picture.drops {
        events.push(instant(&format!("lost at {}", drop.place), 3, drop.t, json!({ "byte": drop.seq })));
    }
    json!({ "displayTimeUnit": "ms", "traceEvents": events, "otherData": { "title": picture.title, "flow": picture.flow } })
}

fn micros(seconds: f64) -> f64 {
    seconds * 1e6
}

fn named(what: &str, thread: u32, name: &str) -> Value {
    json!({ "name": what, "ph": "M", "pid": PROCESS, "tid": thread, "args": { "name": name } })
}

fn instant(name: &str, thread: u32, t: f64, more: Value) -> Value {
    json!({ "name": name, "ph": "i", "s": "p", "ts": micros(t), "pid": PROCESS, "tid": thread, "args": more })
}

fn counter(events: &mut Vec<Value>, name: &str, samples: impl Iterator<Item = (f64, f64)>) {
    events.extend(samples.map(|(t, value)| {
        json!({ "name": name, "ph": "C", "ts": micros(t), "pid": PROCESS, "tid": 0, "args": { "value": value } })
    }));
}

/// Queue length of a link in packets, at each change.
fn waiting(positions: &PacketPositions, link: u32) -> Vec<(f64, f64)> {
    let hops = &positions.hops;
    let mut changes: Vec<(f64, i32)> = Vec::new();
    for i in (0..hops.link.len()).filter(|&i| hops.link[i] == link) {
        changes.push((hops.enqueued[i], 1));
        if let Some(left) = hops.started[i].or(hops.ended[i]) {
            changes.push((left, -1));
        }
    }
    changes.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut now = 0;
    let mut samples: Vec<(f64, f64)> = Vec::new();
    for (t, change) in changes {
        now += change;
        match samples.last_mut() {
            Some(last) if last.0 == t => last.1 = f64::from(now),
            _ => samples.push((t, f64::from(now))),
        }
    }
    samples
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{packet_positions::packet_positions, picture::picture};

    #[test]
    fn tracks_contain_the_picture_and_packet_positions() {
        let text = include_str!("../../../experiments/seawind/case-study.scenario.toml");
        let scenario = scenario::read("study", text.as_bytes(), &scenario::NoFiles).unwrap();
        let model = scenario.first();
        let has = |number: &u64| {
            let picture = picture(model, *number, 0);
            picture.timeouts.iter().any(|t| t.truth == Truth::Spurious)
        };
        let number = (0..20).find(has).expect("a repetition with a spurious timeout");
        let (picture, positions) = (picture(model, number, 0), packet_positions(model, number));
        let document = timeline(&picture, &positions);
        let events = document["traceEvents"].as_array().unwrap();
        let of = |phase: &str, name: &str| -> Vec<&Value> {
            let fits = |e: &&Value| e["ph"] == phase && e["name"].as_str().unwrap().starts_with(name);
            events.iter().filter(fits).collect()
        };
        let spurious = picture.timeouts.iter().filter(|t| t.truth == Truth::Spurious).count();
        assert_eq!(of("i", "spurious timeout").len(), spurious);
        assert_eq!(of("i", "lost at gsm.down").len(), picture.drops.len());
        assert_eq!(of("C", "window: cwnd").len(), picture.window.len());
        let bad = &of("X", "radio: bad")[0];
        assert_eq!(bad["ts"], 40e6);
        // The queue never exceeds its limit of 7 packets plus the 4 of the send buffer, and ends empty.
        let queue: Vec<f64> =
            of("C", "queue: gsm.down").iter().map(|e| e["args"]["value"].as_f64().unwrap()).collect();
        assert!(queue.iter().all(|n| (0.0..=11.0).contains(n)) && queue.contains(&7.0));
        assert_eq!(queue.last(), Some(&0.0));
    }
}
