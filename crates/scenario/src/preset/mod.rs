//! Link presets: named hops with a source for every number, and their merge with the keys of a hop.
//!
//! A preset is a file of values for `[[hop]]`: rates, delay, queue and faults, each with its source. `preset
//! = "lte-driving"` supplies defaults for the hop: keys of the hop take precedence, and a fault with an equal
//! name is merged key by key.

pub mod starter;

use crate::diagnostic::Collector;
use crate::diagnostic::source::SourceSpan;
use crate::grammar::cx::Cx;
use crate::grammar::shape::{Field, Need, Shape, ValueKind, field};
use crate::grammar::tree::{self, Entry, Table, Tree, Value};
use crate::grammar::validate::split;
use std::borrow::Cow;

macro_rules! presets {
    ($($name:literal),+ $(,)?) => {
        /// Names of the presets, from the slowest to the fastest of each kind.
        pub const NAMES: &[&str] = &[$($name),+];
        const TEXTS: &[&str] = &[$(include_str!(concat!("../../presets/", $name, ".toml"))),+];
    };
}

presets! {
    "gprs-class-4",
    "gprs-class-8",
    "gprs-class-10",
    "gprs-driving",
    "gprs-rlc",
    "gprs-rlc-openbts",
    "hscsd",
    "edge",
    "edge-driving",
    "umts",
    "umts-rlc",
    "cdma2000",
    "hspa",
    "hspa-driving",
    "lte",
    "lte-cell-edge",
    "lte-driving",
    "5g-mid-band",
    "5g-mid-band-driving",
    "leo",
    "geo",
    "wifi-roaming",
    "wifi-roaming-fast",
    "nb-iot",
    "lte-m",
}

/// Text of a preset.
pub fn text(name: &str) -> Option<&'static str> {
    let index = NAMES.iter().position(|n| *n == name)?;
    TEXTS.get(index).copied()
}

/// Head comment of a preset: description and reliability.
pub fn about(name: &str) -> String {
    let lines = text(name).unwrap_or_default().lines().map_while(|line| line.strip_prefix('#'));
    lines.map(str::trim).collect::<Vec<_>>().join(" ")
}

/// Key `preset` of a hop.
pub(crate) const PRESET: Field = field(
    "preset",
    Shape::One(ValueKind::Word(NAMES)),
    Need::Optional,
    "A named link from `williwaw presets`. Other keys of the hop override its values.",
);

/// Expands the presets of all hops.
pub(crate) fn expand<'t>(root: &'t Tree, cx: &Cx<'_>) -> Cow<'t, Tree> {
    let hops = root.get("hop").and_then(Tree::list).unwrap_or_default();
    if !hops.iter().any(|hop| hop.get("preset").is_some()) {
        return Cow::Borrowed(root);
    }
    let mut root = root.clone();
    if let Value::Table(table) = &mut root.value
        && let Some(entry) = table.entries.iter_mut().find(|e| e.key == "hop")
        && let Value::List(hops) = &mut entry.tree.value
    {
        for hop in hops {
            let Some(named) = hop.get("preset") else { continue };
            // An unknown name has a diagnostic already; the first preset stands in to avoid further ones.
            let name = named.text().filter(|name| NAMES.contains(name)).unwrap_or(NAMES[0]).to_owned();
            let Some(text) = text(&name) else { continue };
            let source = cx.sources.borrow_mut().add(&format!("preset {name}"), text);
            let below = tree::parse(text, source, &mut cx.collector.borrow_mut());
            lay_under(hop, below);
        }
    }
    Cow::Owned(root)
}

/// If the hop's preset has a fault `name` under `key`, adds an empty fault of that name for an override path
/// into it. `*` adds all names.
pub(crate) fn stub(hop: &mut Table, key: &str, name: &str, place: SourceSpan) {
    let named = hop.get("preset").and_then(|e| e.tree.text()).and_then(text);
    let Some(below) = named.map(|text| tree::parse(text, 0, &mut Collector::default())) else { return };
    for fault in below.get(key).and_then(Tree::list).unwrap_or_default() {
        let Some(theirs) = fault.get("name").and_then(Tree::text) else { continue };
        let there = |list: &[Tree]| list.iter().any(|t| t.get("name").and_then(Tree::text) == Some(theirs));
        if (name != "*" && name != theirs) || hop.get(key).and_then(|e| e.tree.list()).is_some_and(there) {
            continue;
        }
        let value = Value::Text(theirs.to_owned());
        let entry = Entry { key: "name".into(), key_place: place, tree: Tree { value, place } };
        let table = Tree { value: Value::Table(Table { entries: vec![entry] }), place };
        let list = hop.entry_mut(key, place, Value::List(Vec::new()));
        if let Value::List(list) = &mut list.value {
            list.push(table);
        }
    }
}

/// Merges the preset `below` under the hop `above`: copies entries that the hop lacks.
fn lay_under(above: &mut Tree, below: Tree) {
    let (Value::Table(above), Value::Table(below)) = (&mut above.value, below.value) else { return };
    for entry in below.entries {
        match above.entries.iter_mut().find(|e| e.key == entry.key) {
            None => above.entries.push(entry),
            Some(mine) if named_tables(&entry.tree) => lay_faults_under(&mut mine.tree, entry.tree),
            Some(mine) if entry.key == "radio" => bearer_under(&mut mine.tree, entry.tree),
            Some(mine) if split(&mine.tree) => one_direction(&mut mine.tree, entry.tree),
            Some(_) => {}
        }
    }
}

fn named_tables(tree: &Tree) -> bool {
    tree.list().is_some_and(|list| list.iter().all(|t| t.get("name").is_some()))
}

/// Merges faults by name; the preset's faults come first, as if listed first in the file.
fn lay_faults_under(above: &mut Tree, below: Tree) {
    let (Value::List(mine), Value::List(theirs)) = (&mut above.value, below.value) else { return };
    let mut all = Vec::new();
    for fault in theirs {
        let same = mine
            .iter()
            .position(|t| t.get("name").and_then(Tree::text) == fault.get("name").and_then(Tree::text));
        match same {
            Some(at) => {
                let mut changed = mine.remove(at);
                if let (Value::Table(changed), Value::Table(fault)) = (&mut changed.value, fault.value) {
                    keys_under(changed, fault);
                }
                all.push(changed);
            }
            None => all.push(fault),
        }
    }
    all.append(mine);
    *mine = all;
}

/// Merges a bearer of equal kind key by key; another kind in the hop replaces the preset's.
fn bearer_under(above: &mut Tree, below: Tree) {
    let (Value::Table(above), Value::Table(below)) = (&mut above.value, below.value) else { return };
    for kind in below.entries {
        let Some(mine) = above.entries.iter_mut().find(|e| e.key == kind.key) else { continue };
        let (Value::Table(mine), Value::Table(theirs)) = (&mut mine.tree.value, kind.tree.value) else {
            continue;
        };
        let missing = theirs.entries.into_iter().filter(|e| mine.get(&e.key).is_none()).collect::<Vec<_>>();
        mine.entries.extend(missing);
    }
}

/// Merges a fault key by key. The timing keys are replaced together, so that a new `spikes` removes the old
/// `every`.
fn keys_under(above: &mut Table, below: Table) {
    const TIMING: &[&str] = &["every", "from", "first", "lasts", "start", "spikes", "file"];
    const WHEN: &[&str] = &["start", "spikes", "file"];
    const WHICH: &[&str] = &["packets", "probability", "two-state"];
    const RATE: &[&str] = &["rate", "factor"];
    let has = |table: &Table, keys: &[&str]| table.entries.iter().any(|e| keys.contains(&e.key.as_str()));
    let new_time = has(above, WHEN);
    let replaced = |table: &Table, key: &str| {
        (new_time && TIMING.contains(&key))
            || (WHICH.contains(&key) && has(table, WHICH))
            || (RATE.contains(&key) && has(table, RATE))
    };
    for entry in below.entries {
        if above.get(&entry.key).is_none() && !replaced(above, &entry.key) {
            above.entries.push(entry);
        }
    }
}

/// Merges a value for one direction with the preset's value for the other direction.
fn one_direction(above: &mut Tree, below: Tree) {
    let whole = !split(&below);
    let Value::Table(above) = &mut above.value else { return };
    for direction in ["down", "up"] {
        if above.get(direction).is_some() {
            continue;
        }
        let tree = if whole { Some(below.clone()) } else { below.get(direction).cloned() };
        if let Some(tree) = tree {
            let place = tree.place;
            *above.entry_mut(direction, place, Value::Flag(false)) = tree;
        }
    }
}
