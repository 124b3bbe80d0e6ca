//! Grammar of wire ends (`node.wire`): an interface of this host, a serial device, or a pseudo-terminal.
//!
//! Either two nodes have one, or none; the route between them is the shortest path.

use super::link::NODE;
use crate::diagnostic::Diagnostic;
use crate::diagnostic::source::SourceSpan;
use crate::grammar::cx::Cx;
use crate::grammar::leaf;
use crate::grammar::reader::Reader;
use crate::grammar::shape::{Need, Shape, TableShape, ValueKind, Variant, field, table};
use crate::grammar::tree::{Tree, Value};
use crate::model::{Pair, WireEnd};
use crate::topology::Graph;
use crate::topology::route;

static EMPTY: TableShape = table("pty", "A pseudo-terminal: it has no keys.", &[]);
static SERIAL: TableShape = table(
    "serial",
    "A serial device.",
    &[
        field("device", Shape::One(ValueKind::Text), Need::Required("\"/dev/ttyUSB0\""), "Its path."),
        field(
            "speed",
            Shape::One(ValueKind::Count(50, 4_000_000)),
            Need::Optional,
            "Bits per second on the line. Without it, as the device is set.",
        ),
    ],
);

/// Variants of `wire`.
pub(crate) static WIRES: &[Variant] = &[
    Variant {
        name: "interface",
        doc: "An Ethernet interface of this host, by its name.",
        shape: Shape::One(ValueKind::Text),
        bare: false,
    },
    Variant {
        name: "serial",
        doc: "A serial device of this host, with PPP frames.",
        shape: Shape::Table(&SERIAL),
        bare: false,
    },
    Variant {
        name: "pty",
        doc: "A pseudo-terminal with PPP frames; its path is printed at the start.",
        shape: Shape::Table(&EMPTY),
        bare: true,
    },
];

/// Longest interface name (IFNAMSIZ - 1), bytes.
const LONGEST: usize = 15;

/// Reads the wire end that `tree` describes.
pub(crate) fn read(tree: &Tree, cx: &Cx<'_>) -> Option<WireEnd> {
    let table = match &tree.value {
        Value::Text(word) => return (word == "pty").then_some(WireEnd::Pty),
        Value::Table(table) => table,
        _ => return None,
    };
    let entry = table.entries.first()?;
    match entry.key.as_str() {
        "interface" => {
            let name = leaf::text(&entry.tree).ok()?;
            if name.is_empty() || name.len() > LONGEST || name.contains(['/', '\0', ' ', ':']) {
                let message = format!("no interface can be called `{}`", name.escape_debug());
                cx.push(
                    Diagnostic::error("bad-value", entry.tree.place, message)
                        .help("`ip -brief link` lists those that there are"),
                );
                return None;
            }
            Some(WireEnd::Interface(name))
        }
        "serial" => {
            let serial = Reader::new(&entry.tree, &SERIAL);
            let device = serial.text("device")?;
            if !device.starts_with('/') || device.contains('\0') {
                cx.push(
                    Diagnostic::error("bad-value", serial.place("device"), "this is no path of a device")
                        .help("it begins with a slash, such as \"/dev/ttyUSB0\""),
                );
                return None;
            }
            let speed = serial.get("speed").is_some().then(|| serial.count("speed"));
            Some(WireEnd::Serial { device, speed: speed.flatten().map(|speed| speed as u32) })
        }
        "pty" => Some(WireEnd::Pty),
        _ => None,
    }
}

/// Route between both ends of the wire, if there is one. `commands`: the scenario has commands.
pub(crate) fn pair(root: Reader<'_>, graph: &Graph, commands: bool, cx: &Cx<'_>) -> Option<Pair> {
    let place = |node: usize| {
        let mut nodes = root.tables("node", &NODE);
        let found = nodes.find(|reader| reader.name().as_ref() == Some(&graph.nodes[node].name));
        found.map_or(root.tree.place, |reader| reader.place("wire"))
    };
    let ends: Vec<(usize, &WireEnd)> =
        graph.nodes.iter().enumerate().filter_map(|(i, node)| Some((i, node.wire.as_ref()?))).collect();
    let refuse = |at: SourceSpan, message: String, help: &str| {
        cx.push(Diagnostic::error("impossible", at, message).help(help));
        None
    };
    match &ends[..] {
        [] => None,
        &[(a, one), (b, other)] => {
            if one.framing() != other.framing() {
                let message =
                    "an interface carries Ethernet, a serial line PPP: they have no frames in common";
                return refuse(place(b), message.into(), "give both nodes an interface, or neither");
            }
            if one == other && *one != WireEnd::Pty {
                return refuse(place(b), "both ends of the wire are the same".into(), "give each its own");
            }
            if commands {
                let message =
                    format!("`{}` is the end of a wire, and there are commands", graph.nodes[a].name);
                return refuse(place(a), message, "commands run at machines: leave out one or the other");
            }
            let there = route::find(graph, a, b, place(a), "route", cx)?;
            let back = route::find(graph, b, a, place(b), "route", cx)?;
            Some(Pair { ends: [a, b], there, back })
        }
        &[(a, _)] => {
            let message = format!("the wire that ends at `{}` has no other end", graph.nodes[a].name);
            refuse(place(a), message, "give the node at the other end of the path a `wire` too")
        }
        &[_, _, (c, _), ..] => {
            let message = format!("`{}` is the third end of a wire", graph.nodes[c].name);
            refuse(place(c), message, "a wire has two; start one emulation for each pair")
        }
    }
}
