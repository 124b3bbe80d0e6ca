//! Event log of an emulation (`emulate --events`, one JSON object a line) as lower-layer tracks of a picture: one per
//! element, with drops, marks, states, repeated frames, stalls; the layers of each GPRS bearer; a firewall's refusals.

mod bearers;

use crate::layers::TableError;
use base::event::FirewallStep;
use bearers::Bearers;
use report::{Layer, LayerEvent};
use serde_json::Value;
use std::collections::BTreeMap;

/// Upper limit of events of one element.
const MOST: usize = 100_000;

/// State of an element while its log is read.
#[derive(Default)]
struct Place {
    events: Vec<LayerEvent>,
    /// Packets in the element with the start of their service; None: waiting.
    inside: BTreeMap<u64, Option<f64>>,
    /// Times from the start of service to delivery, s.
    crossings: Vec<f64>,
    /// Intervals between two movements of packets while packets were inside.
    gaps: Vec<(f64, f64)>,
    progress: f64,
    /// Index in `events` of the current state of each state machine.
    states: BTreeMap<u64, usize>,
}

impl Place {
    /// Records that a packet moved at `t`.
    fn moved(&mut self, t: f64) {
        if !self.inside.is_empty() {
            self.gaps.push((self.progress, t));
        }
        self.progress = t;
    }

    fn take(&mut self, t: f64, name: &str, line: &Value) {
        let number = |field: &str| line[field].as_u64();
        let event = |event: &str, detail: &str| LayerEvent {
            t,
            until: None,
            event: event.to_owned(),
            detail: detail.to_owned(),
            number: None,
        };
        match name {
            "path:enqueued" => {
                if self.inside.is_empty() {
                    self.progress = t;
                }
                self.inside.extend(number("packet").map(|packet| (packet, None)));
            }
            "path:service_started" => {
                self.moved(t);
                self.inside.extend(number("packet").map(|packet| (packet, Some(t))));
            }
            "path:delivered" => {
                self.moved(t);
                let begun = number("packet").and_then(|packet| self.inside.remove(&packet)).flatten();
                self.crossings.extend(begun.map(|begun| t - begun));
            }
            "path:dropped" => {
                number("packet").and_then(|packet| self.inside.remove(&packet));
                self.events.push(event("lost", line["reason"].as_str().unwrap_or_default()));
            }
            "path:frame_repeated" => self.events.push(event("frame retransmitted", "")),
            "path:marked" => self.events.push(event("marked", "congestion experienced")),
            "path:state_entered" => {
                let (machine, state) = (number("machine").unwrap_or(0), number("state").unwrap_or(0));
                let new = self.events.len();
                if let Some(old) = self.states.insert(machine, new) {
                    self.events[old].until = Some(t);
                }
                self.events.push(event(&format!("state {state}"), &format!("machine {machine}")));
            }
            // An entry that is opened hinders nothing.
            "path:firewall" => match line["step"].as_str().and_then(FirewallStep::from_name) {
                Some(FirewallStep::Expired) => self.events.push(event("firewall entry expired", "")),
                Some(FirewallStep::Replaced) => self.events.push(event("firewall entry replaced", "")),
                Some(FirewallStep::Refused) => self.events.push(event("refused by the firewall", "")),
                Some(FirewallStep::Reset) => self.events.push(event("reset by the firewall", "")),
                Some(FirewallStep::Opened) | None => {}
            },
            _ => {}
        }
    }

    /// Adds intervals without movement as stalls: those longer than twice the 90th percentile of the crossing times.
    fn stalls(&mut self) {
        self.crossings.sort_by(f64::total_cmp);
        let Some(&usual) = self.crossings.get(self.crossings.len().saturating_sub(1) * 9 / 10) else {
            return;
        };
        let long = |(from, until): &&(f64, f64)| until - from > 2.0 * usual;
        let stall = |&(t, until): &(f64, f64)| LayerEvent {
            t,
            until: Some(until),
            event: "stall".to_owned(),
            detail: "nothing moved although packets were inside".to_owned(),
            number: None,
        };
        self.events.extend(self.gaps.iter().filter(long).map(stall));
        self.events.sort_by(|a, b| a.t.total_cmp(&b.t));
    }
}

/// Reads a log; `shift` (s) is added to all times. Events of the transport are ignored.
///
/// # Errors
/// [`TableError`] for the first invalid line. An incomplete last line is ignored, since its writer may have been
/// killed.
pub fn read(text: &str, shift: f64) -> Result<Vec<Layer>, TableError> {
    let mut places: Vec<(String, Place)> = Vec::new();
    let mut bearers = Bearers::default();
    let mut last = 0.0;
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let wrong = |why: String| TableError { line: at + 1, why };
        let value: Value = match serde_json::from_str(line) {
            Ok(value) => value,
            Err(_) if !text.ends_with('\n') && text.lines().count() == at + 1 => break,
            Err(error) => return Err(wrong(format!("this is no JSON: {error}"))),
        };
        let t = value["t"].as_f64().ok_or_else(|| wrong("there is no time `t`".to_owned()))?;
        let name = value["event"].as_str().ok_or_else(|| wrong("there is no `event`".to_owned()))?;
        last = t;
        let place = value["at"].as_str().unwrap_or("path");
        if !name.starts_with("path:") {
            bearers.take(t, place, name, &value);
            continue;
        }
        let known = places.iter().position(|(name, _)| name == place);
        let i = known.unwrap_or_else(|| {
            places.push((place.to_owned(), Place::default()));
            places.len() - 1
        });
        places[i].1.take(t, name, &value);
    }
    let mut out = Vec::new();
    for (name, mut place) in places {
        for state in place.states.values() {
            place.events[*state].until.get_or_insert(last);
        }
        place.stalls();
        out.push(Layer { name, events: place.events });
    }
    out.extend(bearers.finish(last));
    for layer in &mut out {
        if layer.events.len() > MOST {
            return Err(TableError { line: 1, why: format!("more than {MOST} events at `{}`", layer.name) });
        }
        for event in &mut layer.events {
            event.t += shift;
            event.until = event.until.map(|until| until + shift);
        }
    }
    out.retain(|layer| !layer.events.is_empty());
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn losses_states_and_stalls_are_rows() {
        let mut text = String::new();
        let mut say = |t: f64, event: &str, more: &str| {
            text += &format!("{{\"t\":{t},\"at\":\"radio.down\",\"event\":\"path:{event}\"{more}}}\n");
        };
        say(0.0, "state_entered", ",\"machine\":0,\"state\":1,\"triggered\":false");
        for packet in 0..10 {
            let t = f64::from(packet);
            say(t, "enqueued", &format!(",\"packet\":{packet},\"size\":100,\"waiting\":0"));
            say(t, "service_started", &format!(",\"packet\":{packet}"));
            let crossed = if packet == 9 { 5.0 } else { 0.5 };
            say(t + crossed, "delivered", &format!(",\"packet\":{packet}"));
        }
        say(14.5, "dropped", ",\"packet\":3,\"flow\":0,\"reason\":\"queue-full\"");
        say(15.0, "state_entered", ",\"machine\":0,\"state\":2,\"triggered\":false");
        text += "{\"t\":16,\"at\":\"x\",\"event\":\"transport:rto_fired\"}\n";
        let layers = read(&text, -1.0).unwrap();
        assert_eq!(layers.len(), 1);
        let told: Vec<(f64, Option<f64>, &str)> =
            layers[0].events.iter().map(|e| (e.t, e.until, e.event.as_str())).collect();
        let expected = [
            (-1.0, Some(14.0), "state 1"),
            (8.0, Some(13.0), "stall"),
            (13.5, None, "lost"),
            (14.0, Some(15.0), "state 2"),
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn what_is_wrong_has_its_line_and_a_torn_end_none() {
        for (text, line, word) in [
            ("{\"t\":1,\"event\":\"path:marked\"}\nx\n", 2, "no JSON"),
            ("{\"event\":\"path:marked\"}\n", 1, "no time"),
            ("{\"t\":1}\n", 1, "no `event`"),
        ] {
            let wrong = read(text, 0.0).unwrap_err();
            assert_eq!(wrong.line, line, "{text:?}");
            assert!(wrong.why.contains(word), "{text:?}: {}", wrong.why);
        }
        assert_eq!(read("{\"t\":1,\"event\":\"path:marked\"}\n{\"t\":", 0.0).unwrap().len(), 1);
    }

    proptest! {
        #[test]
        fn any_log_is_read_or_refused(
            lines in prop::collection::vec((0.0f64..100.0, 0usize..6, 0u64..4), 0..40), torn in 0usize..30
        ) {
            let names = ["enqueued", "service_started", "delivered", "dropped", "state_entered", "marked"];
            let mut text: String = lines.iter().map(|(t, name, packet)| {
                format!("{{\"t\":{t},\"at\":\"a\",\"event\":\"path:{}\",\"packet\":{packet}}}\n", names[*name])
            }).collect();
            text.truncate(text.len().saturating_sub(torn));
            let _ = read(&text, 0.0);
        }
    }
}
