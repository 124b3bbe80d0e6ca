//! Keys permitted for a GPRS bearer whose RLC/MAC is a real PCU program, and agreement of the bearers in its
//! cell.

use crate::diagnostic::Diagnostic;
use crate::grammar::cx::Cx;
use crate::grammar::reader::Reader;
use crate::grammar::tree::Tree;
use crate::model::Bearer;
use crate::model::radio::BearerKind;
use radio::pcu::config::MOBILES;

/// Keys about channel, mobile, SGSN and path, which stay with the model; for tables, the permitted keys in
/// them.
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
/// Tables of which only some keys are permitted.
const PARTS: &[&str] = &["llc", "sgsn", "delays"];

/// Checks that the bearer has permitted keys only; each other key is an error.
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
    if let Some(tree) = r.get("scheme").filter(|tree| is_egprs(tree)) {
        cx.push(
            Diagnostic::error(
                "conflict",
                tree.place,
                "`pcu` supports GPRS only, and this is a scheme of EGPRS",
            )
            .also(r.tree.place, "the bearer with a real PCU")
            .help("cs-1 to cs-4"),
        );
    }
    cx.errors() == before
}

/// Checks a bearer against the earlier bearers of its cell; a conflict is an error at its hop.
pub(crate) fn agrees(bearer: &Bearer, before: &[Bearer], hop: Reader<'_>, cx: &Cx<'_>) -> Option<()> {
    let BearerKind::Gprs(of) = &bearer.kind else { return Some(()) };
    let same = |other: &Bearer| match &other.kind {
        BearerKind::Gprs(mate) if mate.cell == of.cell => Some((mate.pcu, mate.timeslots)),
        _ => None,
    };
    let mates: Vec<_> = before.iter().filter_map(same).collect();
    let wrong = |what: String, remedy: &str| {
        let place = hop.get("radio").map_or(hop.tree.place, |tree| tree.place);
        cx.push(Diagnostic::error("conflict", place, what).help(remedy));
        None
    };
    let cell = &of.cell;
    if mates.iter().any(|(pcu, _)| *pcu != of.pcu) {
        return wrong(
            format!("cell `{cell}` has one PCU for all its mobiles"),
            "the same `pcu` in each hop, or in none",
        );
    }
    if of.pcu.is_some() && mates.iter().any(|(_, timeslots)| *timeslots != of.timeslots) {
        return wrong(
            format!("cell `{cell}` has other `timeslots` in another hop"),
            "the same number in each hop",
        );
    }
    if of.pcu.is_some() && mates.len() >= MOBILES {
        let what = format!("cell `{cell}` has more than {MOBILES} mobiles, and each needs a USF of its own");
        return wrong(what, "put some of them into another `cell`");
    }
    Some(())
}

/// True if the scheme of a direction is an EGPRS scheme.
fn is_egprs(tree: &Tree) -> bool {
    match tree.table() {
        Some(table) => table.entries.iter().any(|e| is_egprs(&e.tree)),
        None => tree.text().is_some_and(|word| word.starts_with("mcs")),
    }
}

fn refuse(key: &str, tree: &Tree, r: Reader<'_>, cx: &Cx<'_>) {
    cx.push(
        Diagnostic::error("conflict", tree.place, format!("`{key}` has no effect beside `pcu`: the program decides it"))
            .also(r.tree.place, "the bearer with a real PCU")
            .help("cell, timeslots, class, scheme (cs-1 to cs-4, at most), errors, llc.n201, sgsn.buffer, sgsn.lifetime, delays.core and delays.terminal go with it"),
    );
}
