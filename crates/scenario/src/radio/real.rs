//! Keys of a GPRS bearer whose PCU is a program: what the program decides cannot be written.

use crate::diagnostic::Diagnostic;
use crate::grammar::cx::Cx;
use crate::grammar::reader::Reader;
use crate::grammar::tree::Tree;

/// Keys that say something of channel, mobile, SGSN and path; of tables, those in them.
const OWN: &[(&str, &[&str])] = &[
    ("pcu", &[]),
    ("cell", &[]),
    ("timeslots", &[]),
    ("class", &[]),
    ("scheme", &[]),
    ("errors", &[]),
    ("llc", &["n201"]),
    ("sgsn", &["buffer", "lifetime"]),
    ("delays", &["core", "terminal"]),
];
/// Tables of which only some keys have a meaning.
const PARTS: &[&str] = &["llc", "sgsn", "delays"];

/// Whether the bearer says only what is its own beside a real PCU; if not, each other key is an error.
pub(super) fn fits(r: Reader<'_>, cx: &Cx<'_>) -> bool {
    let before = cx.errors();
    for entry in r.tree.table().map(|table| table.entries.as_slice()).unwrap_or_default() {
        let Some((key, parts)) = OWN.iter().find(|(key, _)| *key == entry.key) else {
            refuse(&entry.key, &entry.tree, r, cx);
            continue;
        };
        if PARTS.contains(key) {
            let inner = entry.tree.table().map(|table| table.entries.as_slice()).unwrap_or_default();
            inner
                .iter()
                .filter(|e| !parts.contains(&e.key.as_str()))
                .for_each(|e| refuse(&format!("{key}.{}", e.key), &e.tree, r, cx));
        }
    }
    if r.get("scheme").is_some_and(is_egprs) {
        refuse("scheme = \"mcs-...\"", r.tree, r, cx);
    }
    cx.errors() == before
}

/// The scheme of a direction is one of EGPRS.
fn is_egprs(tree: &Tree) -> bool {
    match tree.table() {
        Some(table) => table.entries.iter().any(|e| is_egprs(&e.tree)),
        None => tree.text().is_some_and(|word| word.starts_with("mcs")),
    }
}

fn refuse(key: &str, tree: &Tree, r: Reader<'_>, cx: &Cx<'_>) {
    cx.push(
        Diagnostic::error("conflict", tree.place, format!("`{key}` beside `pcu`: the program decides that"))
            .also(r.tree.place, "the bearer with a real PCU")
            .help("cell, timeslots, class, scheme (cs-1 to cs-4, at most), errors, llc.n201, sgsn.buffer, sgsn.lifetime, delays.core and delays.terminal go with it"),
    );
}
