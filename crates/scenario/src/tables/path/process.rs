//! Grammar of a link process (`[[hop]] process`): a program that decides the delivery time of each packet of
//! the hop.
//!
//! It replaces rate, delay, queue and all other keys of delivery; `docs/link-process.md` describes its
//! protocol.

use crate::diagnostic::Diagnostic;
use crate::grammar::cx::Cx;
use crate::grammar::reader::Reader;
use crate::grammar::shape::{Field, Need, Shape, ValueKind, field};

/// Key `process` of a hop.
pub(crate) const PROCESS: Field = field(
    "process",
    Shape::One(ValueKind::Text),
    Need::Optional,
    "A program that serves both directions in place of rate, delay and queue: a command line for `/bin/sh`; the \
     program returns the delivery time of each packet (docs/link-process.md).",
);

/// Keys that a hop with a process may have.
const BESIDE: &[&str] = &["name", "between", "process", "loss", "mtu", "icmp"];

/// Reads the program of a hop; outer `None` if another key conflicts with it.
pub(crate) fn read(reader: Reader<'_>, cx: &Cx<'_>) -> Option<Option<String>> {
    let Some(tree) = reader.get("process") else { return Some(None) };
    let command = reader.text("process")?;
    let before = cx.errors();
    if command.trim().is_empty() || command.contains('\0') {
        cx.push(
            Diagnostic::error("bad-value", tree.place, "there is nothing to run")
                .help("write it as for a shell: \"./link.py\""),
        );
    }
    for entry in reader.tree.table().map(|table| table.entries.as_slice()).unwrap_or_default() {
        if !BESIDE.contains(&entry.key.as_str()) {
            let message = format!("`{}` with `process`: the program decides that", entry.key);
            cx.push(
                Diagnostic::error("conflict", entry.tree.place, message)
                    .also(tree.place, "the program")
                    .help(format!("leave `{}` out, or put it on a hop before or after this one", entry.key)),
            );
        }
    }
    (cx.errors() == before).then_some(Some(command))
}
