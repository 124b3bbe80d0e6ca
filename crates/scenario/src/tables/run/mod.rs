//! Grammar of the `[run]` table (repetitions, seed, limit) and of the top level of a scenario file.

pub(crate) mod expect;
pub(crate) mod grid;
pub(crate) mod trigger;

use self::trigger::TRIGGER;
use super::flow::FLOW;
use super::flow::command::COMMAND;
use super::path::hop::HOP;
use super::path::link::{LINK, NODE};
use super::path::machine::MACHINE;
use super::system::SYSTEM;
use crate::diagnostic::Diagnostic;
use crate::grammar::cx::Cx;
use crate::grammar::reader::Reader;
use crate::grammar::shape::{Need, Shape, TableShape, ValueKind, field, table};
use crate::grammar::tree::Tree;
use crate::model::Run;

/// `[run]`.
pub(crate) static RUN: TableShape = table(
    "run",
    "How the scenario is run.",
    &[
        field(
            "repetitions",
            Shape::One(ValueKind::Count(1, u32::MAX as i64)),
            Need::Default("1"),
            "Repetitions of every cell of the grid, each with its own weather.",
        ),
        field(
            "seed",
            Shape::One(ValueKind::Count(0, i64::MAX)),
            Need::Default("1"),
            "Seed of all random streams; equal seeds give equal random conditions.",
        ),
        field(
            "limit",
            Shape::One(ValueKind::Span),
            Need::Default("\"1 h\""),
            "Simulated time after which a repetition ends, whatever is left.",
        ),
        field(
            "links",
            Shape::One(ValueKind::Flag),
            Need::Default("false"),
            "Write `links.parquet`: data segments that each link carried, and the number of unneeded ones among them.",
        ),
    ],
);

/// Top level of the file.
pub(crate) static ROOT: TableShape = table(
    "scenario",
    "A path, the flows over it, how to run them, what to vary and what to expect.",
    &[
        field(
            "williwaw",
            Shape::One(ValueKind::Count(1, 1)),
            Need::Required("1"),
            "Version of this grammar; the first line of the file.",
        ),
        field("title", Shape::One(ValueKind::Text), Need::Default("\"\""), "One line for reports."),
        field("hop", Shape::Tables(&HOP), Need::Optional, "The path as a chain of hops."),
        field("node", Shape::Tables(&NODE), Need::Optional, "Nodes of a general graph."),
        field(
            "link",
            Shape::Tables(&LINK),
            Need::Optional,
            "Links of a general graph, each in one direction.",
        ),
        field(
            "state-machine",
            Shape::Tables(&MACHINE),
            Need::Optional,
            "States of the world that change several links at once.",
        ),
        field(
            "trigger",
            Shape::Tables(&TRIGGER),
            Need::Optional,
            "Triggers that set the state of a state machine.",
        ),
        field(
            "system",
            Shape::Tables(&SYSTEM),
            Need::Optional,
            "Networks of cells with populations of users.",
        ),
        field("flow", Shape::Tables(&FLOW), Need::Optional, "Connections and what they carry."),
        field(
            "command",
            Shape::Tables(&COMMAND),
            Need::Optional,
            "Programs at the nodes, in real time or in kernels in virtual time.",
        ),
        field("run", Shape::Table(&RUN), Need::Optional, "How the scenario is run."),
        field(
            "grid",
            Shape::Grid,
            Need::Optional,
            "Parameters to vary: paths by name and lists of values; every combination is a cell.",
        ),
        field("expect", Shape::Expect, Need::Optional, "Expected results, for every cell."),
    ],
);

/// Reads `[run]`.
pub(crate) fn read(root: Reader<'_>, cx: &Cx<'_>) -> Option<Run> {
    let empty;
    let reader = match root.get("run") {
        Some(tree) => Reader::new(tree, &RUN),
        None => {
            empty = Tree {
                value: crate::grammar::tree::Value::Table(crate::grammar::tree::Table::default()),
                place: root.tree.place,
            };
            return values(Reader::new(&empty, &RUN), cx);
        }
    };
    values(reader, cx)
}

fn values(reader: Reader<'_>, cx: &Cx<'_>) -> Option<Run> {
    let limit = reader.span("limit")?;
    if limit.is_zero() {
        cx.push(
            Diagnostic::error("bad-value", reader.place("limit"), "a run of no time shows nothing")
                .help("give it some, such as \"1 h\""),
        );
        return None;
    }
    Some(Run {
        repetitions: u32::try_from(reader.count("repetitions")?).ok()?,
        seed: u64::try_from(reader.count("seed")?).ok()?,
        limit,
        links: reader.flag("links")?,
    })
}
