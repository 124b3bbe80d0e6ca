//! Grammar of commands (`[[command]]`) and of the stations at which they run.
//!
//! A command has a command line for `/bin/sh`, a node and a start time. Nodes with commands and nodes at the
//! ends of the graph are stations; the route between two stations is the shortest path. `emulate` runs
//! commands in real time, `run` in virtual time inside special kernels.

use crate::diagnostic::Diagnostic;
use crate::grammar::cx::Cx;
use crate::grammar::reader::Reader;
use crate::grammar::shape::{Need, Quantity, Shape, TableShape, ValueKind, field, table};
use crate::model::{Command, Pair, Reports};
use crate::topology::Graph;
use crate::topology::route;

/// `[[command]]`.
pub(crate) static COMMAND: TableShape = table(
    "command",
    "A program at a node: `emulate` plays it in real time, `run` in virtual time with a kernel built for that at each node. Nodes reach each other by their names.",
    &[
        field(
            "name",
            Shape::One(ValueKind::Name),
            Need::Required("\"fetch\""),
            "How results and files call it.",
        ),
        field("at", Shape::One(ValueKind::Name), Need::Required("\"phone\""), "The node at which it runs."),
        field(
            "run",
            Shape::One(ValueKind::Text),
            Need::Required("\"curl -s http://server:8000/page\""),
            "Command line for `/bin/sh`.",
        ),
        field(
            "start",
            Shape::One(ValueKind::Dist(Quantity::Span)),
            Need::Default("\"0 s\""),
            "When it is started, after the start of the run.",
        ),
        field(
            "serves",
            Shape::One(ValueKind::Flag),
            Need::Default("false"),
            "A server: with a start of 0 it runs before the run starts, and it is ended when all other commands have \
             ended.",
        ),
        field(
            "metrics",
            Shape::Either(&[Shape::One(ValueKind::Word(&["json"])), Shape::Table(&METRICS)]),
            Need::Optional,
            "Numbers of its own: \"json\" takes the last line of its standard output that begins with `{`, as in {\"page_load_s\": 1.2}. Each becomes a metric.",
        ),
    ],
);

/// `metrics = { file = ... }`.
static METRICS: TableShape = table(
    "metrics",
    "A file in which a program reports its numbers.",
    &[field(
        "file",
        Shape::One(ValueKind::Text),
        Need::Required("\"load.json\""),
        "A file with one JSON object that the program rewrites in each repetition, relative to the folder in which \
         williwaw was started. For `emulate` with one repetition at a time.",
    )],
);

/// Commands, and the routes between their stations.
pub(crate) struct Commands {
    pub(crate) commands: Vec<Command>,
    pub(crate) stations: Vec<usize>,
    pub(crate) pairs: Vec<Pair>,
}

/// Reads the commands over a graph. `flows` are names in use.
pub(crate) fn read(root: Reader<'_>, graph: &Graph, flows: &[String], cx: &Cx<'_>) -> Commands {
    let readers: Vec<_> = root.tables("command", &COMMAND).collect();
    let commands: Vec<Command> = readers.iter().filter_map(|reader| one(*reader, graph, flows, cx)).collect();
    let mut all = Commands { commands, stations: Vec::new(), pairs: Vec::new() };
    if all.commands.is_empty() {
        return all;
    }
    if let Some(reader) = readers.first()
        && all.commands.len() == readers.len()
        && all.commands.iter().all(|command| command.serves)
    {
        cx.push(
            Diagnostic::error(
                "no-end",
                reader.place("serves"),
                "every command has `serves`, so this run never ends",
            )
            .help("remove `serves` from the command that does the work"),
        );
    }
    all.stations = (0..graph.nodes.len())
        .filter(|&node| all.commands.iter().any(|c| c.node == node) || leaf(graph, node))
        .collect();
    let place = |node: usize| {
        let reader = readers.iter().find(|r| r.text("at").as_deref() == Some(&*graph.nodes[node].name));
        reader.or(readers.first()).map_or(root.tree.place, |r| r.place("at"))
    };
    for (i, &a) in all.stations.iter().enumerate() {
        for &b in &all.stations[i + 1..] {
            if !(route::leads(graph, a, b) && route::leads(graph, b, a)) {
                continue; // continue; // no route between them
            }
            let there = route::find(graph, a, b, place(a), "route", cx);
            let back = route::find(graph, b, a, place(b), "route", cx);
            if let (Some(there), Some(back)) = (there, back) {
                all.pairs.push(Pair { ends: [a, b], there, back });
            }
        }
    }
    all
}

/// True for a node with one neighbour.
fn leaf(graph: &Graph, node: usize) -> bool {
    let touching = graph.links.iter().filter(|l| l.from == node || l.to == node);
    let mut others = touching.map(|l| if l.from == node { l.to } else { l.from });
    others.next().is_some_and(|first| others.all(|other| other == first))
}

fn one(reader: Reader<'_>, graph: &Graph, flows: &[String], cx: &Cx<'_>) -> Option<Command> {
    let at = reader.get("at")?;
    let node = graph.find(&crate::grammar::leaf::name(at).ok()?, at.place, cx);
    let (name, run) = (reader.name(), reader.text("run"));
    let (start, serves) = (reader.dist("start", cx), reader.flag("serves"));
    if let Some(name) = name.as_ref().filter(|name| flows.contains(name)) {
        let message = format!("a command and a flow are both called `{name}`");
        cx.push(
            Diagnostic::error("same-name", reader.place("name"), message)
                .help("results and expectations tell them apart by name: give each its own"),
        );
    }
    if run.as_ref().is_some_and(|run| run.trim().is_empty() || run.contains('\0')) {
        cx.push(
            Diagnostic::error("bad-value", reader.place("run"), "there is nothing to run")
                .help("write it as for a shell: \"curl -s http://server:8000/page\""),
        );
        return None;
    }
    let metrics = reader.get("metrics").and_then(|tree| match tree.table() {
        None => Some(Reports::Output),
        Some(_) => Reader::new(tree, &METRICS).text("file").map(Reports::File),
    });
    if let Some(Reports::File(file)) = &metrics
        && (file.trim().is_empty() || file.contains('\0'))
    {
        cx.push(
            Diagnostic::error("bad-value", reader.place("metrics"), "this names no file")
                .help("metrics = { file = \"load.json\" }"),
        );
        return None;
    }
    Some(Command { name: name?, node: node?, run: run?, start: start?, serves: serves?, metrics })
}
