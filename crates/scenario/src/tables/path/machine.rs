//! Grammar of state machines (`[[state-machine]]`): named states with durations, successors, and settings of
//! hops or links.
//!
//! All links of a state machine change at one instant.

use super::error;
use super::fault::most;
use super::hop::{complete, of};
use crate::diagnostic::Diagnostic;
use crate::diagnostic::source::SourceSpan;
use crate::grammar::cx::Cx;
use crate::grammar::leaf;
use crate::grammar::reader::Reader;
use crate::grammar::shape::{Need, Quantity, Shape, TableShape, ValueKind, field, table};
use crate::grammar::spelling::{alternatives, nearest};
use crate::grammar::tree::Tree;
use crate::model::channel::{ErrorMode, Flush, MachineState, Service, StateMachine, StateParameters};
use crate::model::{Delay, Direction};
use crate::topology::Graph;

static RATE: Shape = Shape::One(ValueKind::Dist(Quantity::Rate));
static DELAY: Shape = Shape::One(ValueKind::Dist(Quantity::Span));
static ERROR: Shape = Shape::Table(&error::OF_STATE);
static SERVICE: Shape = Shape::One(ValueKind::Word(&["go", "hold", "drop"]));

static ON: TableShape = table(
    "on",
    "Values that a state sets on a hop or link; all others stay unchanged.",
    &[
        field("name", Shape::One(ValueKind::Name), Need::Required("\"radio\""), "The hop or link."),
        field(
            "rate",
            Shape::PerDirection(&RATE),
            Need::Optional,
            "Service rate; 0 freezes service in the middle of a frame. A distribution is drawn each time the state is \
             entered.",
        ),
        field(
            "delay",
            Shape::PerDirection(&DELAY),
            Need::Optional,
            "One-way propagation; a distribution is drawn for each packet.",
        ),
        field(
            "error",
            Shape::PerDirection(&ERROR),
            Need::Optional,
            "Frame errors, in addition to the others.",
        ),
        field(
            "service",
            Shape::PerDirection(&SERVICE),
            Need::Optional,
            "go: normal service; hold: packets wait; drop: packets are dropped at the head of the queue. The frame in \
             service finishes.",
        ),
    ],
);
const WEIGHTED: Shape = Shape::Pair(ValueKind::Name, ValueKind::Number(0.0, 1e9));
static STATE: TableShape = table(
    "state",
    "A state of the world.",
    &[
        field(
            "name",
            Shape::One(ValueKind::Name),
            Need::Required("\"near\""),
            "How grids and triggers call it.",
        ),
        field(
            "lasts",
            Shape::One(ValueKind::Dist(Quantity::Span)),
            Need::Optional,
            "Duration. Without it, until a trigger.",
        ),
        field(
            "next",
            Shape::Either(&[Shape::One(ValueKind::Name), Shape::List(&WEIGHTED)]),
            Need::Optional,
            "Which state follows: a name, or names with weights, [[\"near\", 3], [\"gone\", 1]]. Without it, the next one \
             in the file, and after the last the first.",
        ),
        field(
            "pause",
            Shape::One(ValueKind::Dist(Quantity::Span)),
            Need::Optional,
            "Interruption of its links on entry: the silence of a handover.",
        ),
        field(
            "flush",
            Shape::One(ValueKind::Word(&["nothing", "waiting", "all"])),
            Need::Default("\"nothing\""),
            "Which packets on its links are lost when it is entered: none, those not yet begun, or those on their way too.",
        ),
        field(
            "contexts",
            Shape::One(ValueKind::Word(&["transferred", "lost"])),
            Need::Default("\"transferred\""),
            "Contexts of header compression (rfc2507, rohc) on its links when it is entered: transferred to the new router, or \
             lost, so that each flow's next packet has its full header.",
        ),
        field("on", Shape::Tables(&ON), Need::Optional, "Values that it sets, by hop or link."),
    ],
);

/// `[[state-machine]]`.
pub(crate) static MACHINE: TableShape = table(
    "state-machine",
    "States of the world that change several links at once, as weather: when depends on seed, repetition and time only, \
     and on triggers.",
    &[
        field(
            "name",
            Shape::One(ValueKind::Name),
            Need::Required("\"mobility\""),
            "How grids and triggers call it.",
        ),
        field(
            "first",
            Shape::One(ValueKind::Name),
            Need::Optional,
            "The state it starts in. Without it, the first one.",
        ),
        field("state", Shape::Tables(&STATE), Need::Required("..."), "Its states."),
    ],
);

/// Index of a state by name; reports an unknown name.
fn find(names: &[String], name: &str, place: SourceSpan, cx: &Cx<'_>) -> Option<usize> {
    let found = names.iter().position(|n| n == name);
    if found.is_none() {
        let d = Diagnostic::error("no-state", place, format!("this machine has no state `{name}`"));
        let known = || names.iter().map(String::as_str);
        cx.push(match nearest(name, known()) {
            Some(meant) => d.label(format!("did you mean `{meant}`?")),
            None => d.help(format!("there is {}", alternatives(known().take(12)))),
        });
    }
    found
}

/// Reads all state machines and registers them at their links.
pub(crate) fn read(root: Reader<'_>, graph: &mut Graph, cx: &Cx<'_>) -> Vec<StateMachine> {
    let readers: Vec<Reader<'_>> = root.tables("state-machine", &MACHINE).collect();
    let mut machines = Vec::new();
    for reader in readers {
        let Some(machine) = one(reader, graph, cx) else { continue };
        let number = machines.len();
        let mut links: Vec<usize> =
            machine.states.iter().flat_map(|s| s.settings.iter().map(|(link, _)| *link)).collect();
        links.sort_unstable();
        links.dedup();
        for link in links {
            graph.links[link].channel_mut().machines.push(number);
        }
        machines.push(machine);
    }
    machines
}

fn one(reader: Reader<'_>, graph: &Graph, cx: &Cx<'_>) -> Option<StateMachine> {
    let name = reader.name()?;
    let states: Vec<Reader<'_>> = reader.tables("state", &STATE).collect();
    let names: Vec<String> = states.iter().map(|s| s.name()).collect::<Option<_>>()?;
    if names.is_empty() {
        cx.push(
            Diagnostic::error("bad-value", reader.place("state"), format!("machine `{name}` has no state"))
                .help("add [[state-machine.state]] with a name"),
        );
        return None;
    }
    let first = match reader.get("first") {
        Some(tree) => tree.text().and_then(|name| find(&names, name, tree.place, cx)),
        None => Some(0),
    };
    let mut read = Vec::new();
    for (i, r) in states.iter().enumerate() {
        let state = state(*r, i, &names, graph, cx);
        read.push(state);
    }
    let states = read.into_iter().collect::<Option<Vec<MachineState>>>()?;
    if states.iter().all(|s| s.settings.is_empty()) {
        cx.push(
            Diagnostic::error("no-effect", reader.tree.place, format!("no state of `{name}` sets anything"))
                .help("add [[state-machine.state.on]] with the name of a hop or link"),
        );
        return None;
    }
    Some(StateMachine { name, states, first: first? })
}

fn state(r: Reader<'_>, number: usize, names: &[String], graph: &Graph, cx: &Cx<'_>) -> Option<MachineState> {
    let dist = |key: &str| match r.get(key) {
        Some(_) => r.dist(key, cx).map(Some),
        None => Some(None),
    };
    let lasts = dist("lasts");
    if let Some(Some(lasts)) = &lasts
        && most(lasts) == Some(0.0)
    {
        cx.push(
            Diagnostic::error("bad-value", r.place("lasts"), "a state that lasts no time is not a state")
                .help("for the silence of a handover write `pause` in the state that follows"),
        );
    }
    let next = next(r, number, names, cx);
    let flush = match r.word("flush")? {
        "waiting" => Flush::Waiting,
        "all" => Flush::All,
        _ => Flush::None,
    };
    let loses_contexts = r.word("contexts")? == "lost";
    let mut settings = Vec::new();
    let mut good = true;
    for on in r.tables("on", &ON) {
        match setting(on, graph, cx) {
            Some(read) => settings.extend(read),
            None => good = false,
        }
    }
    let (lasts, next, pause) = (lasts?, next?, dist("pause")?);
    good.then_some(MachineState {
        name: names[number].clone(),
        lasts,
        next,
        pause,
        flush,
        loses_contexts,
        settings,
    })
}

fn next(r: Reader<'_>, number: usize, names: &[String], cx: &Cx<'_>) -> Option<Vec<(usize, f64)>> {
    let Some(tree) = r.get("next") else { return Some(vec![((number + 1) % names.len(), 1.0)]) };
    if let Some(name) = tree.text() {
        return Some(vec![(find(names, name, tree.place, cx)?, 1.0)]);
    }
    let mut next = Vec::new();
    for pair in tree.list()? {
        let [name, weight] = pair.list()? else { return None };
        next.push((find(names, name.text()?, name.place, cx)?, leaf::number(weight, 0.0, 1e9).ok()?));
    }
    if next.iter().all(|(_, weight)| *weight == 0.0) {
        cx.push(
            Diagnostic::error("bad-value", tree.place, "no state can follow: all weights are 0")
                .help("give one of them a weight, [[\"near\", 1]]"),
        );
        return None;
    }
    Some(next)
}

/// Reads the settings of the links of one hop or link.
fn setting(on: Reader<'_>, graph: &Graph, cx: &Cx<'_>) -> Option<Vec<(usize, StateParameters)>> {
    let name = on.name()?;
    let Some(links) = graph.owners.get(&name) else {
        if graph.complete {
            let known = || graph.owners.keys().map(String::as_str);
            let d =
                Diagnostic::error("no-link", on.place("name"), format!("there is no hop or link `{name}`"));
            cx.push(match nearest(&name, known()) {
                Some(meant) => d.label(format!("did you mean `{meant}`?")),
                None => d.help(format!("there is {}", alternatives(known().take(12)))),
            });
        }
        return None;
    };
    if !["rate", "delay", "error", "service"]
        .iter()
        .all(|key| [Direction::Down, Direction::Up].iter().all(|direction| complete(on.get(key), *direction)))
    {
        return None; // return None; // reported already
    }
    let mut all = Vec::new();
    for &index in links {
        let link = &graph.links[index];
        let pick = |key: &str| match link.direction {
            Some(direction) => of(on.get(key), direction),
            None => on.get(key),
        };
        all.push((index, one_setting(pick, &link.delay, &link.name, cx)?));
    }
    Some(all)
}

fn one_setting<'t>(
    pick: impl Fn(&str) -> Option<&'t Tree>,
    delay: &Delay,
    name: &str,
    cx: &Cx<'_>,
) -> Option<StateParameters> {
    let mut setting = StateParameters::default();
    if let Some(tree) = pick("rate") {
        setting.rate = Some(leaf::dist(tree, Quantity::Rate, cx).ok()?);
    }
    if let Some(tree) = pick("delay") {
        if !matches!(delay, Delay::Constant(_)) {
            cx.push(
                Diagnostic::error(
                    "conflict",
                    tree.place,
                    format!("the delay of `{name}` varies by itself already"),
                )
                .help("give the link one delay, or give every state its own"),
            );
            return None;
        }
        setting.delay = Some(leaf::dist(tree, Quantity::Span, cx).ok()?);
    }
    if let Some(tree) = pick("error") {
        setting.error = Some(error::of_state(Reader::new(tree, &error::OF_STATE), cx)?);
    }
    if let Some(tree) = pick("service") {
        setting.service = match tree.text()? {
            "hold" => Service::Hold,
            "drop" => Service::Drop,
            _ => Service::Go,
        };
    }
    Some(setting)
}

/// True if a link can deliver frames with bit errors.
pub(crate) fn corrupts(machines: &[StateMachine], link: usize) -> bool {
    machines
        .iter()
        .flat_map(|m| &m.states)
        .flat_map(|s| &s.settings)
        .any(|(on, setting)| *on == link && matches!(setting.error, Some((_, ErrorMode::Corrupt))))
}
