//! Grammar of triggers (`[[trigger]]`): a change of a state or a priority at a time, or a file of recorded
//! changes.

use crate::diagnostic::Diagnostic;
use crate::diagnostic::source::SourceSpan;
use crate::grammar::cx::{BESIDE, Cx, seconds};
use crate::grammar::reader::Reader;
use crate::grammar::shape::{Need, Quantity, Shape, TableShape, ValueKind, field};
use crate::grammar::spelling::{alternatives, nearest};
use crate::model::channel::{Change, StateMachine, Trigger, TriggerSchedule};
use crate::model::{App, Flow, MOST_PRIORITY, Node, PRIORITIES};
use base::Time;

/// `[[trigger]]`.
pub(crate) static TRIGGER: TableShape = TableShape {
    name: "trigger",
    doc: "Sets the state of a state machine, or the priority of a flow in a congestion manager. The later states of the machine are drawn from there.",
    fields: &[
        field("name", Shape::One(ValueKind::Name), Need::Required("\"tunnel\""), "How grids call it."),
        field(
            "at",
            Shape::One(ValueKind::Dist(Quantity::Span)),
            Need::Optional,
            "When, once in every repetition.",
        ),
        field("state", Shape::One(ValueKind::Text), Need::Optional, "Into which state: \"MACHINE.STATE\"."),
        field(
            "flow",
            Shape::One(ValueKind::Name),
            Need::Optional,
            "Flow whose priority it sets. The receiving node of its data needs a congestion manager.",
        ),
        field(
            "priority",
            Shape::One(ValueKind::Count(1, MOST_PRIORITY as i64)),
            Need::Optional,
            "The flow's weight in the congestion manager from then on.",
        ),
        field(
            "file",
            Shape::One(ValueKind::File),
            Need::Optional,
            "A file with lines t_s,MACHINE.STATE or t_s,FLOW.priority=WEIGHT, used in every repetition.",
        ),
    ],
    one_of: &[&["at", "file"], &["state", "flow", "file"]],
    needs: &[("state", &["at"]), ("flow", &["at", "priority"]), ("priority", &["flow"])],
};

/// What triggers can change.
#[derive(Clone, Copy)]
pub(crate) struct Targets<'a> {
    /// State machines, in the order of the file.
    pub(crate) machines: &'a [StateMachine],
    /// Flows.
    pub(crate) flows: &'a [Flow],
    /// Nodes.
    pub(crate) nodes: &'a [Node],
    /// True if all state machines could be read; otherwise unknown names are not reported.
    whole: bool,
    /// True if all flows could be read; otherwise unknown names are not reported.
    all_flows: bool,
}

/// Reads all triggers.
pub(crate) fn read(
    root: Reader<'_>,
    machines: &[StateMachine],
    flows: &[Flow],
    nodes: &[Node],
    cx: &Cx<'_>,
) -> Vec<Trigger> {
    let count = |key| root.get(key).map_or(0, |t| t.list().map_or(usize::MAX, <[_]>::len));
    let whole = count("state-machine") == machines.len();
    let all_flows = count("flow") <= flows.len();
    let targets = Targets { machines, flows, nodes, whole, all_flows };
    root.tables("trigger", &TRIGGER).filter_map(|r| one(r, targets, cx)).collect()
}

fn one(r: Reader<'_>, targets: Targets<'_>, cx: &Cx<'_>) -> Option<Trigger> {
    let name = r.name()?;
    if let Some(tree) = r.get("file") {
        let path = tree.text()?;
        let when = match cx.text(path) {
            Ok(source) => recorded(source, tree.place, targets, cx)?,
            Err(message) => {
                cx.push(Diagnostic::error("no-file", tree.place, message).help(BESIDE));
                return None;
            }
        };
        return Some(Trigger { name, when: TriggerSchedule::Recorded(when) });
    }
    let at = r.dist("at", cx);
    let change = if let Some(flow) = r.get("flow") {
        let index = managed(flow.text()?, flow.place, targets, cx)?;
        Change::Priority { flow: index, priority: u32::try_from(r.count("priority")?).ok()? }
    } else {
        let state = r.get("state")?;
        let (machine, state) = find(state.text()?, state.place, targets.machines, targets.whole, cx)?;
        Change::State { machine, state }
    };
    Some(Trigger { name, when: TriggerSchedule::Once { at: at?, change } })
}

/// Index of a flow that a congestion manager manages.
fn managed(name: &str, place: SourceSpan, targets: Targets<'_>, cx: &Cx<'_>) -> Option<usize> {
    let Targets { flows, nodes, all_flows, .. } = targets;
    let Some(index) = flows.iter().position(|flow| flow.name == name) else {
        if all_flows {
            let shown: String = name.chars().take(60).collect();
            let d = Diagnostic::error("no-flow", place, format!("there is no flow `{shown}`"));
            let known = || flows.iter().map(|flow| flow.name.as_str());
            cx.push(match nearest(name, known()) {
                Some(meant) => d.label(format!("did you mean `{meant}`?")),
                None => d.help(format!(
                    "the flows are {}",
                    alternatives(known().take(40)).replace(" or ", " and ")
                )),
            });
        }
        return None;
    };
    let flow = &flows[index];
    let reached =
        |node: usize| node == flow.to || (node == flow.from && matches!(flow.app, App::Requests(_)));
    let manages = |node: usize| reached(node) && nodes.get(node).is_some_and(|node| node.manager.is_some());
    if !manages(flow.from) && !manages(flow.to) {
        let message = format!("no congestion manager knows the flow `{}`", flow.name);
        cx.push(
            Diagnostic::error("no-manager", place, message)
                .help("add `congestion-manager = { hop = \"HOP\" }` to the [[node]] that its data reach"),
        );
        return None;
    }
    Some(index)
}

/// Indexes of `MACHINE.STATE`. An unknown name is not reported if a state machine could not be read (`whole`
/// is false).
fn find(
    text: &str,
    place: SourceSpan,
    machines: &[StateMachine],
    whole: bool,
    cx: &Cx<'_>,
) -> Option<(usize, usize)> {
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

/// Change of a line: `MACHINE.STATE` or `FLOW.priority=WEIGHT`.
fn change(text: &str, place: SourceSpan, targets: Targets<'_>, cx: &Cx<'_>) -> Option<Change> {
    let Some((name, value)) = text.split_once('=') else {
        let (machine, state) = find(text, place, targets.machines, targets.whole, cx)?;
        return Some(Change::State { machine, state });
    };
    let priority = value.parse().ok().filter(|priority| PRIORITIES.contains(priority));
    let (Some(flow), Some(priority)) = (name.strip_suffix(".priority"), priority) else {
        cx.push(Diagnostic::error("bad-file", place, "this is not a priority").help(
            "a line is t_s,FLOW.priority=WEIGHT with a weight from 1 to 1000, as 12.5,video.priority=4",
        ));
        return None;
    };
    Some(Change::Priority { flow: managed(flow, place, targets, cx)?, priority })
}

fn recorded(
    source: u32,
    named_at: SourceSpan,
    targets: Targets<'_>,
    cx: &Cx<'_>,
) -> Option<Vec<(Time, Change)>> {
    const FORM: &str = "a line is t_s,MACHINE.STATE, as 12.5,mobility.tunnel, or t_s,FLOW.priority=WEIGHT";
    let before = cx.errors();
    let mut all: Vec<(Time, Change)> = Vec::new();
    for (place, line) in cx.lines(source) {
        if line.is_empty() || line.starts_with('#') || line == "t_s,name" {
            continue;
        }
        let wrong = |message: &str| {
            cx.push(Diagnostic::error("bad-file", place, message).also(named_at, "named here").help(FORM));
        };
        let Some((at, name)) = line.split_once(',') else {
            wrong("this is not a trigger");
            continue;
        };
        match seconds(at.trim()) {
            Ok(at) => {
                if let Some(change) = change(name.trim(), place, targets, cx) {
                    all.push((Time::ZERO + at, change));
                }
            }
            Err(message) => wrong(&message),
        }
    }
    all.sort_by_key(|t| t.0);
    (cx.errors() == before).then_some(all)
}
