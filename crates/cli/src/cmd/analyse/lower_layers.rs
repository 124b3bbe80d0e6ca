//! Lower-layer events in the output of `williwaw analyse --layers`: overlap with timeouts and idle periods,
//! episodes of interruption, as text and JSON.

use super::source::Read;
use crate::console::streams::Console;
use crate::output::table::TextTable;
use crate::output::terminal;
use analyse::Flow;
use analyse::episode::{self, Episodes, Spread};
use analyse::lower_layers::{self, Correlation, Disturbance, Event, MatchStrength};
use report::Layer;
use serde_json::{Value, json};

/// Lower-layer events, on the time axis of the capture.
pub(super) struct LowerLayers {
    events: Vec<Event>,
    details: Vec<String>,
}

/// Disturbances of one connection (timeouts, idle periods), their correlation with lower-layer events, and episodes.
struct ConnectionLayers {
    troubles: Vec<Disturbance>,
    together: Vec<Correlation>,
    episodes: Vec<Episodes>,
}

impl LowerLayers {
    pub(super) fn of(layers: &[Layer]) -> LowerLayers {
        let all = || layers.iter().flat_map(|layer| layer.events.iter().map(move |e| (layer, e)));
        let event = |(layer, e): (&Layer, &report::LayerEvent)| Event {
            layer: layer.name.clone(),
            name: e.event.clone(),
            t: e.t,
            until: e.end(),
        };
        LowerLayers {
            events: all().map(event).collect(),
            details: all().map(|(_, e)| e.detail.clone()).collect(),
        }
    }

    fn correlate(&self, flow: &Flow, read: &Read) -> ConnectionLayers {
        let troubles = lower_layers::troubles(flow, read.start, &self.events);
        let together = lower_layers::together(flow, read.start, &self.events, &troubles);
        ConnectionLayers { troubles, together, episodes: episode::told(flow, read.start, &self.events) }
    }

    /// JSON of a connection: disturbances with the events that overlap them, correlations, episodes.
    pub(super) fn document(&self, flow: &Flow, read: &Read, directions: [&str; 2]) -> Value {
        let ConnectionLayers { troubles, together, episodes } = self.correlate(flow, read);
        let under = |m: &lower_layers::Match| {
            let e = &self.events[m.event];
            json!({
                "layer": e.layer, "event": e.name, "t": e.t, "until": e.until, "detail": self.details[m.event],
                "fills": m.fills, "chance": m.chance, "sureness": m.sureness.name(),
            })
        };
        let trouble = |x: &Disturbance| {
            json!({
                "t": x.t, "until": x.until, "kind": x.kind.name(), "direction": directions[x.direction],
                "verdict": x.verdict.map(|v| v.name()), "under": x.under.iter().map(under).collect::<Vec<_>>(),
            })
        };
        let pair = |x: &Correlation| {
            json!({
                "layer": x.layer, "event": x.name, "events": x.events, "harmless": x.harmless,
                "troubles": x.troubles, "touched": x.touched, "expected_by_chance": x.expected,
                "accident": x.accident,
            })
        };
        json!({
            "troubles": troubles.iter().map(trouble).collect::<Vec<_>>(),
            "together": together.iter().map(pair).collect::<Vec<_>>(),
            "episodes": episodes.iter().map(|e| episodes_document(e, directions)).collect::<Vec<_>>(),
        })
    }

    /// Terminal text of a connection: correlations, then at most `most` disturbances and episodes.
    pub(super) fn text(
        &self,
        number: usize,
        flow: &Flow,
        read: &Read,
        most: usize,
        console: &Console,
    ) -> String {
        let width = console.width.unwrap_or(100);
        let ConnectionLayers { troubles, together, episodes } = self.correlate(flow, read);
        let mut out = format!("\nbelow connection {number}\n");
        let mut say = |indent: &str, line: &str| {
            for (i, part) in
                terminal::wrap(line, width.saturating_sub(indent.len() + 2).max(30)).iter().enumerate()
            {
                out += &format!("{indent}{}{part}\n", if i == 0 { "" } else { "  " });
            }
        };
        if together.is_empty() {
            say("", "none of the events is within the time of this connection");
            return out;
        }
        for line in together.iter().take(3).filter_map(sentence) {
            say("", &line);
        }
        if troubles.is_empty() {
            say("", "no timeout and no silence of this connection");
        }
        for x in troubles.iter().take(most) {
            let verdict = x.verdict.map_or(String::new(), |v| format!(", {v}"));
            say("", &format!("{:>10.3} to {:.3}  {}{verdict}, {:.3} s", x.t, x.until, x.kind, x.until - x.t));
            // Matches by certainty; uninformative matches only if there are no others.
            let mut under: Vec<_> = x.under.iter().collect();
            under.sort_by_key(|m| m.sureness as u8);
            if under.first().is_some_and(|m| m.sureness != MatchStrength::Accident) {
                under.retain(|m| m.sureness != MatchStrength::Accident);
            }
            for m in under.iter().take(4) {
                let e = &self.events[m.event];
                let until = if e.until > e.t { format!(" to {:.3}", e.until) } else { String::new() };
                let detail = &self.details[m.event];
                let detail = if detail.is_empty() { String::new() } else { format!(" ({detail})") };
                let sure = m.sureness.name().replace('-', " ");
                say(
                    "            ",
                    &format!(
                        "{}: {}{detail}, {:.3}{until} s: {sure} ({} by chance)",
                        e.layer,
                        e.name,
                        e.t,
                        percent(m.chance)
                    ),
                );
            }
            match under.len() {
                0 => say("            ", "no event of a lower layer"),
                n if n > 4 => say("            ", &format!("({} more events)", n - 4)),
                _ => {}
            }
        }
        if troubles.len() > most {
            say("", &format!("({} more; --most shows them)", troubles.len() - most));
        }
        out.push('\n');
        out += &terminal::text(&table(&together), console.width, console.colour);
        if !episodes.is_empty() {
            out.push('\n');
            out += &terminal::text(&episodes_table(&episodes), console.width, console.colour);
        }
        out
    }
}

/// Sentence on the correlation of events and disturbances; `None` if it may be coincidence.
fn sentence(x: &Correlation) -> Option<String> {
    (x.touched > 0 && x.accident < 0.05).then(|| {
        let harmless = match x.harmless {
            0 => String::new(),
            n => format!(" {n} of the {} events caused no timeout and no silence.", x.events),
        };
        format!(
            "{} of {} timeouts and silences coincide with `{}` ({}); {:.1} would by chance.{harmless}",
            x.touched, x.troubles, x.name, x.layer, x.expected
        )
    })
}

fn percent(chance: f64) -> String {
    match chance * 100.0 {
        p if p < 1.0 => format!("{p:.1} %"),
        p => format!("{p:.0} %"),
    }
}

fn table(together: &[Correlation]) -> TextTable {
    let heads = ["layer", "event", "events", "troubles touched", "by chance", "accident", "harmless"];
    let row = |x: &Correlation| {
        vec![
            x.layer.clone(),
            x.name.clone(),
            x.events.to_string(),
            format!("{} of {}", x.touched, x.troubles),
            format!("{:.1}", x.expected),
            percent(x.accident),
            x.harmless.to_string(),
        ]
    };
    TextTable {
        heads: heads.map(str::to_owned).to_vec(),
        labels: 2,
        rows: together.iter().map(row).collect(),
        ..TextTable::default()
    }
}

fn episodes_table(episodes: &[Episodes]) -> TextTable {
    let heads = [
        "layer",
        "event",
        "n",
        "every [s]",
        "lasts [s]",
        "silence [s]",
        "longer by [s]",
        "lost up",
        "lost down",
    ];
    let row = |e: &Episodes| {
        let [up, down] = e.lost();
        vec![
            e.layer.clone(),
            e.name.clone(),
            e.all.len().to_string(),
            spread(e.interval_s()),
            spread(e.length_s()),
            spread(e.silence_s()),
            spread(e.repair_s()),
            spread(up),
            spread(down),
        ]
    };
    TextTable {
        heads: heads.map(str::to_owned).to_vec(),
        labels: 2,
        rows: episodes.iter().map(row).collect(),
        notes: vec![
            "Mean (least to most). Silence: no acknowledgements; lost: segments of the direction, up from the client, \
             down to it."
                .to_owned(),
        ],
    }
}

fn spread(s: Option<Spread>) -> String {
    match s {
        None => "-".to_owned(),
        Some(s) if s.min == s.max => format!("{:.1}", s.mean),
        Some(s) => format!("{:.1} ({:.1} to {:.1})", s.mean, s.min, s.max),
    }
}

/// JSON of the interruption episodes of one kind.
pub(super) fn episodes_document(e: &Episodes, directions: [&str; 2]) -> Value {
    let spread = |s: Option<Spread>| s.map(|s| json!({ "min": s.min, "mean": s.mean, "max": s.max }));
    let both = |n: [u64; 2]| json!({ directions[0]: n[0], directions[1]: n[1] });
    json!({
        "layer": e.layer, "event": e.name, "n": e.all.len(),
        "interval_s": spread(e.interval_s()), "length_s": spread(e.length_s()),
        "silence_s": spread(e.silence_s()), "longer_by_s": spread(e.repair_s()),
        "lost": { directions[0]: spread(e.lost()[0]), directions[1]: spread(e.lost()[1]) },
        "all": e.all.iter().map(|x| json!({
            "t": x.t, "until": x.until, "silence_s": x.silence_s, "timeouts": x.timeouts,
            "lost": both(x.lost), "unneeded": both(x.unneeded),
        })).collect::<Vec<_>>(),
    })
}

/// Sentence on the silences of the path that the capture shows; `None` with fewer than two silences.
pub(super) fn silences(flow: &Flow, read: &Read) -> Option<String> {
    let e = episode::silences(flow, read.start);
    let (interval, length) = (e.interval_s()?, e.length_s()?);
    let lost: u64 = e.all.iter().flat_map(|x| x.lost).sum();
    Some(format!(
        "{} silences of the path, {:.1} s long ({:.1} to {:.1}), every {:.1} s ({:.1} to {:.1}); {lost} segments \
         were lost in them",
        e.all.len(),
        length.mean,
        length.min,
        length.max,
        interval.mean,
        interval.min,
        interval.max
    ))
}
