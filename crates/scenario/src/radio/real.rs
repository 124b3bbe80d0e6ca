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
    ("llc", &["mode", "n201", "t200", "n200", "window"]),
    ("sgsn", &["buffer", "lifetime"]),
    ("reselection", RESELECTION),
    ("delays", &["core", "terminal"]),
];
/// Tables of which only some keys are permitted.
const PARTS: &[&str] = &["llc", "sgsn", "delays", "reselection"];
/// Keys of a reselection that leads back to the cell; access, cell update and routing area update are real there.
const RESELECTION: &[&str] = &[
    "every",
    "at",
    "file",
    "control",
    "standing",
    "routing-area",
    "inter-sgsn",
    "routing-area-update",
    "sgsn-context",
    "synchronise",
    "system-information",
    "assisted",
    "resume",
    "failure",
    "failed",
    "deletes",
];

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
    if let Some(tree) = r.get("scheme").filter(|tree| is_mixed(tree)) {
        cx.push(
            Diagnostic::error("conflict", tree.place, "`pcu` needs both directions in GPRS or both in EGPRS")
                .also(r.tree.place, "the bearer with a real PCU")
                .help("cs-1 to cs-4, or mcs-1 to mcs-9, in each direction"),
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

/// True if one direction has a scheme of GPRS and the other one of EGPRS.
fn is_mixed(tree: &Tree) -> bool {
    let is_egprs = |tree: &Tree| tree.text().is_some_and(|word| word.starts_with("mcs"));
    let all = tree.table().map(|table| table.entries.iter().map(|e| is_egprs(&e.tree)).collect::<Vec<_>>());
    all.is_some_and(|all| all.windows(2).any(|pair| pair[0] != pair[1]))
}

fn refuse(key: &str, tree: &Tree, r: Reader<'_>, cx: &Cx<'_>) {
    cx.push(
        Diagnostic::error("conflict", tree.place, format!("`{key}` has no effect with `pcu`: the program decides it"))
            .also(r.tree.place, "the bearer with a real PCU")
            .help("cell, timeslots, class, scheme (at most), errors, llc.n201, sgsn.buffer, sgsn.lifetime, delays.core, delays.terminal, times and areas of reselection go with it"),
    );
}
