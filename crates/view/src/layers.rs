//! Table of lower-layer events (CSV): reader and writer, and panels of numbered events.
//!
//! Each line has one event: `time_s,event`, and optionally `until_s`, `detail`, `layer`, `number`. The first line
//! names the columns, in any order.

use report::{Ink, Layer, LayerEvent, Panel, Series, Style};
use std::collections::BTreeMap;

/// Error in a table, with its line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableError {
    /// Line number, from 1.
    pub line: usize,
    /// Description of the error.
    pub why: String,
}

/// Known columns.
const COLUMNS: [&str; 6] = ["time_s", "event", "until_s", "detail", "layer", "number"];
/// Upper limit of events in a table.
const MOST: usize = 100_000;

/// Reads a table. Events without a layer are assigned to the layer `name`; `shift` (s) is added to all times.
///
/// # Errors
/// [`TableError`] for the first invalid line.
pub fn read(text: &str, name: &str, shift: f64) -> Result<Vec<Layer>, TableError> {
    let mut lines = text.lines().enumerate().filter(|(_, l)| !l.trim().is_empty() && !l.starts_with('#'));
    let (at, head) = lines.next().ok_or(TableError { line: 1, why: "the table is empty".to_owned() })?;
    let wrong = |at: usize, why: String| TableError { line: at + 1, why };
    let head: Vec<String> = fields(head).into_iter().map(|f| f.trim().to_owned()).collect();
    if let Some(strange) = head.iter().find(|h| !COLUMNS.contains(&h.as_str())) {
        return Err(wrong(at, format!("there is no column `{strange}`: there are {}", COLUMNS.join(", "))));
    }
    let column = |name: &str| head.iter().position(|h| h == name);
    let need = |name: &str| column(name).ok_or_else(|| wrong(at, format!("the column `{name}` is missing")));
    let (time, event) = (need("time_s")?, need("event")?);
    let (until, detail, layer) = (column("until_s"), column("detail"), column("layer"));
    let counted = column("number");
    let (mut out, mut places) = (Vec::<Layer>::new(), BTreeMap::<String, usize>::new());
    for (n, (at, line)) in lines.enumerate() {
        if n >= MOST {
            return Err(wrong(at, format!("more than {MOST} events")));
        }
        let row = fields(line);
        let text = |at: Option<usize>| at.and_then(|at| row.get(at)).map_or("", |f| f.trim());
        let finite = |text: &str| text.parse::<f64>().ok().filter(|x| x.is_finite());
        let number = |name: &str, text: &str| match finite(text) {
            Some(x) => Ok(x + shift),
            None => Err(wrong(at, format!("`{text}` is no number of seconds ({name})"))),
        };
        if row.len() > head.len() {
            return Err(wrong(at, format!("{} fields under {} columns", row.len(), head.len())));
        }
        let t = number("time_s", text(Some(time)))?;
        let until = match text(until) {
            "" => None,
            given => Some(number("until_s", given)?),
        };
        if until.is_some_and(|until| until < t) {
            return Err(wrong(at, "it ends before it begins".to_owned()));
        }
        let number = match text(counted) {
            "" => None,
            given => {
                let wrong = || wrong(at, format!("`{given}` is no number"));
                Some(finite(given).ok_or_else(wrong)?)
            }
        };
        let (event, detail) = (text(Some(event)).to_owned(), text(detail).to_owned());
        let happened = LayerEvent { t, until, event, detail, number };
        if happened.event.is_empty() {
            return Err(wrong(at, "the event has no name".to_owned()));
        }
        let own = match text(layer) {
            "" => name,
            own => own,
        };
        let layer = *places.entry(own.to_owned()).or_insert(out.len());
        match out.get_mut(layer) {
            Some(layer) => layer.events.push(happened),
            None => out.push(Layer { name: own.to_owned(), events: vec![happened] }),
        }
    }
    Ok(out)
}

/// Fields of a line; a field may be quoted, with doubled quotation marks inside (RFC 4180).
fn fields(line: &str) -> Vec<String> {
    let mut out = vec![String::new()];
    let mut quoted = false;
    let mut chars = line.trim_end_matches('\r').chars().peekable();
    while let Some(c) = chars.next() {
        let last = out.len() - 1;
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => {
                chars.next();
                out[last].push('"');
            }
            '"' if quoted || out[last].trim().is_empty() => {
                quoted = !quoted;
                out[last] = if quoted { String::new() } else { std::mem::take(&mut out[last]) };
            }
            ',' if !quoted => out.push(String::new()),
            c => out[last].push(c),
        }
    }
    out
}

/// Moves events with a number from their layers to one panel per layer; empty layers are removed. The first kind of
/// event has one colour, the second another, further kinds are grey.
pub fn panels(layers: &mut Vec<Layer>) -> Vec<Panel> {
    let mut out = Vec::new();
    for layer in layers.iter_mut() {
        let mut series: Vec<Series> = Vec::new();
        layer.events.retain(|e| {
            let Some(number) = e.number else { return true };
            let place = series.iter().position(|s| s.name == e.event).unwrap_or_else(|| {
                let ink = [Ink::Main, Ink::Other].get(series.len()).copied().unwrap_or(Ink::Limit);
                series.push(Series { name: e.event.clone(), ink, style: Style::Dots, points: Vec::new() });
                series.len() - 1
            });
            series[place].points.push([e.t, number]);
            false
        });
        for one in &mut series {
            one.points.sort_by(|a, b| a[0].total_cmp(&b[0]));
        }
        if !series.is_empty() {
            out.push(Panel { unit: layer.name.clone(), series });
        }
    }
    layers.retain(|layer| !layer.events.is_empty());
    out
}

/// Writes layers as a table for [`read`].
pub fn write(layers: &[Layer]) -> String {
    let quote = |text: &str| {
        if text.contains([',', '"']) || text.trim() != text {
            format!("\"{}\"", text.replace('"', "\"\""))
        } else {
            text.to_owned()
        }
    };
    let counted = layers.iter().flat_map(|l| &l.events).any(|e| e.number.is_some());
    let mut out = String::from("time_s,event,until_s,detail,layer");
    out += if counted { ",number\n" } else { "\n" };
    for layer in layers {
        for e in &layer.events {
            let until = e.until.map_or(String::new(), |until| until.to_string());
            let (event, detail, name) = (quote(&e.event), quote(&e.detail), quote(&layer.name));
            out += &format!("{},{event},{until},{detail},{name}", e.t);
            if counted {
                out += &e.number.map_or(",".to_owned(), |number| format!(",{number}"));
            }
            out.push('\n');
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn columns_may_stand_in_any_order_and_be_missing() {
        let text = "# from the modem\nevent,time_s\nhandover,3.5\n\nrlc reset,4\n";
        let layers = read(text, "modem", 1.0).unwrap();
        assert_eq!(layers.len(), 1);
        assert_eq!(layers[0].name, "modem");
        let told: Vec<(f64, &str)> = layers[0].events.iter().map(|e| (e.t, e.event.as_str())).collect();
        assert_eq!(told, [(4.5, "handover"), (5.0, "rlc reset")]);
        let text =
            "layer,time_s,until_s,event,detail\nrrc,1,2.5,\"cell, again\",\"a \"\"b\"\"\"\nrlc,1,,nack,\n";
        let layers = read(text, "x", 0.0).unwrap();
        assert_eq!((layers[0].name.as_str(), layers[1].name.as_str()), ("rrc", "rlc"));
        let e = &layers[0].events[0];
        assert_eq!((e.until, e.event.as_str(), e.detail.as_str()), (Some(2.5), "cell, again", "a \"b\""));
    }

    #[test]
    fn what_is_wrong_has_its_line() {
        for (text, line, word) in [
            ("", 1, "empty"),
            ("time_s,what\n", 1, "`what`"),
            ("event\n", 1, "`time_s` is missing"),
            ("time_s,event\n1,a\nx,b\n", 3, "`x` is no number"),
            ("time_s,event\n1,\n", 2, "no name"),
            ("time_s,event,until_s\n3,a,2\n", 2, "ends before"),
            ("time_s,event\n1,a,b\n", 2, "3 fields"),
            ("time_s,event,number\n1,a,b\n", 2, "`b` is no number"),
        ] {
            let wrong = read(text, "x", 0.0).unwrap_err();
            assert_eq!(wrong.line, line, "{text:?}");
            assert!(wrong.why.contains(word), "{text:?}: {}", wrong.why);
        }
    }

    /// TA-06: numbered radio blocks form a panel, blocks without a number a track.
    #[test]
    fn what_is_counted_is_a_panel() {
        let text = "time_s,event,until_s,detail,layer,number\n0.1,TBF \
                    set-up,0.2,,rlc,\n0.2,block,,,rlc,0\n0.22,block,,,rlc,1\n0.3,acknowledged,,bitmap,rlc,1\n0.4,retransmitted,,,rlc,0\n0.5,poll,,,llc,3\n";
        let mut layers = read(text, "x", 0.0).unwrap();
        let panels = panels(&mut layers);
        let kinds: Vec<(&str, Ink)> = panels[0].series.iter().map(|s| (s.name.as_str(), s.ink)).collect();
        assert_eq!(
            kinds,
            [("block", Ink::Main), ("acknowledged", Ink::Other), ("retransmitted", Ink::Limit)]
        );
        assert_eq!(panels[0].series[0].points, [[0.2, 0.0], [0.22, 1.0]]);
        assert_eq!((panels.len(), panels[1].unit.as_str()), (2, "llc"));
        let left: Vec<&str> = layers.iter().flat_map(|l| &l.events).map(|e| e.event.as_str()).collect();
        assert_eq!((layers.len(), left), (1, vec!["TBF set-up"]));
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "[ -~\n]{0,200}") {
            let _ = read(&text, "x", 0.0);
        }

        #[test]
        fn what_is_written_is_read(
            events in prop::collection::vec((0.0f64..1e6, prop::option::of(0.0f64..100.0), "[a-z,\" ]{0,8}x", "[a-z,\" ]{0,8}"), 1..10)
        ) {
            let events = events.into_iter().map(|(t, lasts, event, detail)| LayerEvent {
                t,
                until: lasts.map(|lasts| t + lasts),
                event: event.trim().to_owned(),
                detail: detail.trim().to_owned(),
                number: lasts.map(f64::floor),
            });
            let layers = vec![Layer { name: "a b".to_owned(), events: events.collect() }];
            prop_assert_eq!(read(&write(&layers), "x", 0.0).unwrap(), layers);
        }
    }
}
