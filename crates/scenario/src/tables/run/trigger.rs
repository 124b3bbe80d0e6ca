//! Grammar of triggers (`[[trigger]]`).
//!
//! `[[trigger]]`: a state change at a time, or a file of state changes recorded during manual control.

use crate::diagnostic::Diagnostic;
use crate::diagnostic::source::Place;
use crate::grammar::cx::{BESIDE, Cx, seconds};
use crate::grammar::reader::Reader;
use crate::grammar::shape::{Kind, Need, Quantity, Shape, TableShape, field};
use crate::grammar::spelling::{alternatives, nearest};
use crate::model::channel::{Machine, Trigger, When};
use base::Time;

/// `[[trigger]]`.
pub(crate) static TRIGGER: TableShape = TableShape {
    name: "trigger",
    doc: "Puts a machine of states into a state, whatever it would have done: what follows is drawn from there on.",
    fields: &[
        field("name", Shape::One(Kind::Name), Need::Required("\"tunnel\""), "How grids call it."),
        field(
            "at",
            Shape::One(Kind::Dist(Quantity::Span)),
            Need::Optional,
            "When, once in every repetition.",
        ),
        field("state", Shape::One(Kind::Text), Need::Optional, "Into which state: \"MACHINE.STATE\"."),
        field(
            "file",
            Shape::One(Kind::File),
            Need::Optional,
            "As written down: a file of t_s,MACHINE.STATE, the same in every repetition.",
        ),
    ],
    one_of: &[&["at", "file"]],
    needs: &[("at", &["state"]), ("state", &["at"])],
};

/// Reads all triggers.
pub(crate) fn read(root: Reader<'_>, machines: &[Machine], cx: &Cx<'_>) -> Vec<Trigger> {
    let whole =
        root.get("state-machine").map_or(0, |t| t.list().map_or(usize::MAX, <[_]>::len)) == machines.len();
    root.tables("trigger", &TRIGGER).filter_map(|r| one(r, machines, whole, cx)).collect()
}

fn one(r: Reader<'_>, machines: &[Machine], whole: bool, cx: &Cx<'_>) -> Option<Trigger> {
    let name = r.name()?;
    if let Some(tree) = r.get("file") {
        let path = tree.text()?;
        let when = match cx.text(path) {
            Ok(source) => recorded(source, tree.place, machines, whole, cx)?,
            Err(message) => {
                cx.push(Diagnostic::error("no-file", tree.place, message).help(BESIDE));
                return None;
            }
        };
        return Some(Trigger { name, when: When::Recorded(when) });
    }
    let at = r.dist("at", cx);
    let state = r.get("state")?;
    let found = find(state.text()?, state.place, machines, whole, cx);
    let (machine, state) = found?;
    Some(Trigger { name, when: When::Once { at: at?, machine, state } })
}

/// Indexes of `MACHINE.STATE`. An unknown name is not reported if a state machine could not be read (`whole`
/// is false).
fn find(text: &str, place: Place, machines: &[Machine], whole: bool, cx: &Cx<'_>) -> Option<(usize, usize)> {
    let all = || machines.iter().flat_map(|m| m.states.iter().map(|s| format!("{}.{}", m.name, s.name)));
    let found = text.split_once('.').and_then(|(machine, state)| {
        let m = machines.iter().position(|m| m.name == machine)?;
        Some((m, machines[m].states.iter().position(|s| s.name == state)?))
    });
    if found.is_none() && whole {
        let shown: String = text.chars().take(60).collect();
        let known: Vec<String> = all().take(40).collect();
        let known = || known.iter().map(String::as_str);
        let d = Diagnostic::error("no-state", place, format!("there is no state `{shown}`"));
        cx.push(match nearest(text, known()) {
            Some(meant) => d.label(format!("did you mean `{meant}`?")),
            None if machines.is_empty() => d.help("this scenario has no [[state-machine]]"),
            None => d.help(format!("write MACHINE.STATE: {}", alternatives(known()))),
        });
    }
    found
}

fn recorded(
    source: u32,
    named_at: Place,
    machines: &[Machine],
    whole: bool,
    cx: &Cx<'_>,
) -> Option<Vec<(Time, usize, usize)>> {
    let before = cx.errors();
    let mut all: Vec<(Time, usize, usize)> = Vec::new();
    for (place, line) in cx.lines(source) {
        if line.is_empty() || line.starts_with('#') || line == "t_s,name" {
            continue;
        }
        let Some((at, name)) = line.split_once(',') else {
            cx.push(
                Diagnostic::error("bad-file", place, "this is not a trigger")
                    .also(named_at, "named here")
                    .help("a line is t_s,MACHINE.STATE, as 12.5,mobility.tunnel"),
            );
            continue;
        };
        match seconds(at.trim()) {
            Ok(at) => {
                if let Some((machine, state)) = find(name.trim(), place, machines, whole, cx) {
                    all.push((Time::ZERO + at, machine, state));
                }
            }
            Err(message) => cx.push(
                Diagnostic::error("bad-file", place, message)
                    .also(named_at, "named here")
                    .help("a line is t_s,MACHINE.STATE, as 12.5,mobility.tunnel"),
            ),
        }
    }
    all.sort_by_key(|t| t.0);
    (cx.errors() == before).then_some(all)
}
