//! Shape validation of a scenario tree: keys, types and units, with a diagnostic for every mistake.
//!
//! Consistency between values is checked by the readers of the tables.

use super::cx::Cx;
use super::leaf;
use super::shape::{DIRECTIONS, ENDS, Field, Need, Parts, Shape, TableShape, Variant};
use super::spelling::{alternatives, article, nearest};
use super::tree::{Table, Tree, Value};
use crate::diagnostic::Diagnostic;
use crate::diagnostic::source::SourceSpan;
use std::collections::BTreeMap;

/// Checks `tree` against `shape`; `key` is the key of the tree.
pub(crate) fn shape(tree: &Tree, shape: &Shape, key: &str, cx: &Cx<'_>) {
    match shape {
        Shape::One(kind) => {
            if let Err(mut complaint) = leaf::check(*kind, tree, cx) {
                if let Some(rest) = complaint.message.strip_prefix("this must be") {
                    complaint.message = format!("`{key}` must be{rest}");
                }
                if ["is too small", "is too large", "is out of range"]
                    .iter()
                    .any(|end| complaint.message.ends_with(end))
                {
                    complaint.message = format!("{} for `{key}`", complaint.message);
                }
                cx.complain("bad-value", tree.place, complaint);
            }
        }
        Shape::List(inner) => match tree.list() {
            Some(list) => list.iter().take_while(|_| !cx.full()).for_each(|t| self::shape(t, inner, key, cx)),
            None => wrong_type(tree, key, "a list", "write it between brackets: [ ..., ... ]", cx),
        },
        Shape::Pair(first, second) => match tree.list() {
            Some([a, b]) => {
                self::shape(a, &Shape::One(*first), key, cx);
                self::shape(b, &Shape::One(*second), key, cx);
            }
            _ => {
                let what = format!("a pair: [{}, {}]", first.title(), second.title());
                wrong_type(tree, key, &what, "", cx);
            }
        },
        Shape::Table(inner) => match tree.table() {
            Some(written) => table(written, tree.place, inner, None, cx),
            None => wrong_type(tree, key, "a table", &example(inner), cx),
        },
        Shape::Tables(inner) => tables(tree, inner, key, cx),
        Shape::PerDirection(inner) => in_parts(tree, inner, &DIRECTIONS, key, cx),
        Shape::PerEnd(inner) => in_parts(tree, inner, &ENDS, key, cx),
        Shape::Choice(variants) => choice(tree, variants, key, cx),
        Shape::Either(shapes) => either(tree, shapes, key, cx),
        Shape::TcpOptions => crate::tables::flow::tcp_options::check(tree, cx),
        Shape::Settings => crate::tables::flow::linux::check(tree, key, cx),
        Shape::Grid => crate::tables::run::grid::check(tree, cx),
        Shape::Expect => crate::tables::run::expect::check(tree, cx),
    }
}

/// Reports a value of the wrong type, with an example of the right one.
pub(crate) fn wrong_type(tree: &Tree, key: &str, expected: &str, help: &str, cx: &Cx<'_>) {
    let message = format!("`{key}` must be {expected}, not {}", tree.kind());
    cx.push(Diagnostic::error("wrong-type", tree.place, message).help(help));
}

fn example(shape: &TableShape) -> String {
    let required = shape.fields.iter().filter_map(|f| match f.need {
        Need::Required(example) => Some(format!("{} = {example}", f.key)),
        _ => None,
    });
    let inner: Vec<String> = required.collect();
    if inner.is_empty() { String::new() } else { format!("write {{ {} }}", inner.join(", ")) }
}

/// Name of a table in messages: "hop `radio`".
fn called(shape: &TableShape, written: &Table) -> String {
    match written.get("name").and_then(|e| e.tree.text()) {
        Some(name) => format!("{} `{}`", shape.name, name.chars().take(40).collect::<String>()),
        None => format!("this {}", shape.name),
    }
}

/// Checks one table. `top` is the span of its header if it is one of several.
pub(crate) fn table(
    written: &Table,
    place: SourceSpan,
    shape: &'static TableShape,
    top: Option<SourceSpan>,
    cx: &Cx<'_>,
) {
    for entry in &written.entries {
        if cx.full() {
            return;
        }
        match shape.field(&entry.key) {
            Some(field) => self::shape(&entry.tree, &field.shape, field.key, cx),
            None => unknown_key(entry.key_place, &entry.key, shape, cx),
        }
    }
    let at = top.unwrap_or(place);
    let missing = |field: &Field| !written.entries.iter().any(|e| e.key == field.key);
    for field in shape.fields {
        if let Need::Required(example) = field.need
            && missing(field)
        {
            let message = format!("{} lacks `{}`", called(shape, written), field.key);
            cx.push(Diagnostic::error("missing-key", at, message).help(format!(
                "add {} = {example}   {}",
                field.key,
                sentence(field.doc)
            )));
        }
    }
    for group in shape.one_of {
        let present: Vec<_> = written.entries.iter().filter(|e| group.contains(&e.key.as_str())).collect();
        match present.as_slice() {
            [_] => {}
            [] => {
                let message = format!(
                    "{} lacks one of {}",
                    called(shape, written),
                    alternatives(group.iter().copied())
                );
                let choices: Vec<String> = group
                    .iter()
                    .filter_map(|key| shape.field(key))
                    .map(|f| format!("{}: {}", f.key, sentence(f.doc)))
                    .collect();
                cx.push(Diagnostic::error("missing-key", at, message).help(choices.join("\n")));
            }
            [first, second, ..] => {
                let message = format!("`{}` and `{}` exclude each other", first.key, second.key);
                cx.push(
                    Diagnostic::error("conflict", second.key_place, message)
                        .also(first.key_place, format!("`{}` is here", first.key))
                        .help(format!("keep one of {}", alternatives(group.iter().copied()))),
                );
            }
        }
    }
    for (key, needed) in shape.needs {
        let Some(entry) = written.get(key) else { continue };
        // A missing group of alternatives has a diagnostic already.
        let reported = shape.one_of.iter().any(|group| {
            needed.iter().any(|other| group.contains(other))
                && group.iter().all(|other| written.get(other).is_none())
        });
        if !reported && needed.iter().all(|other| written.get(other).is_none()) {
            let others = alternatives(needed.iter().copied());
            let message = format!("`{key}` has a meaning only with {others}");
            cx.push(
                Diagnostic::error("conflict", entry.key_place, message)
                    .help(format!("add {others}, or remove `{key}`")),
            );
        }
    }
}

/// First sentence of a doc comment.
pub(crate) fn sentence(doc: &str) -> &str {
    doc.split_inclusive(". ").next().unwrap_or(doc).trim_end()
}

fn unknown_key(place: SourceSpan, key: &str, shape: &'static TableShape, cx: &Cx<'_>) {
    let shown: String = key.chars().take(60).collect();
    let keys = || shape.fields.iter().map(|f| f.key);
    let owner = if shape.name == "scenario" {
        "at the top of a scenario".into()
    } else {
        format!("in {}", article(shape.name))
    };
    let diagnostic = Diagnostic::error("unknown-key", place, format!("there is no key `{shown}` {owner}"));
    cx.push(match nearest(key, keys()) {
        Some(meant) => diagnostic.label(format!("did you mean `{meant}`?")),
        None => diagnostic.help(format!("the keys are {}", alternatives(keys()).replace(" or ", " and "))),
    });
}

fn tables(tree: &Tree, inner: &'static TableShape, key: &str, cx: &Cx<'_>) {
    let Some(list) = tree.list() else {
        let help = format!("each {key} is a table of its own: write [[{key}]] in place of [{key}]");
        wrong_type(tree, key, "a list of tables", if tree.table().is_some() { &help } else { "" }, cx);
        return;
    };
    let mut names: BTreeMap<&str, SourceSpan> = BTreeMap::new();
    for element in list {
        if cx.full() {
            return;
        }
        let Some(written) = element.table() else {
            wrong_type(element, key, "a list of tables", "", cx);
            continue;
        };
        table(written, element.place, inner, Some(element.place), cx);
        let Some(name) = written.get("name") else { continue };
        let Some(text) = name.tree.text() else { continue };
        if let Some(first) = names.insert(text, name.tree.place) {
            names.insert(text, first);
            let shown: String = text.chars().take(40).collect();
            cx.push(
                Diagnostic::error(
                    "same-name",
                    name.tree.place,
                    format!("a second {} is called `{shown}`", inner.name),
                )
                .label("here again")
                .also(first, "first here")
                .help("flows, grids and results refer to names: give each table its own"),
            );
        }
    }
}

/// True if the value is split by direction.
pub(crate) fn split(tree: &Tree) -> bool {
    parted(tree, &DIRECTIONS)
}

/// True if the value is split by these parts.
pub(crate) fn parted(tree: &Tree, parts: &Parts) -> bool {
    tree.table().is_some_and(|t| t.entries.iter().any(|e| parts.keys.contains(&e.key.as_str())))
}

fn in_parts(tree: &Tree, inner: &Shape, parts: &Parts, key: &str, cx: &Cx<'_>) {
    let Some(written) = tree.table().filter(|_| parted(tree, parts)) else {
        return shape(tree, inner, key, cx);
    };
    let Parts { keys: [first, second], one, both, which } = parts;
    for entry in written.entries.iter().take_while(|_| !cx.full()) {
        match entry.key.as_str() {
            known if parts.keys.contains(&known) => shape(&entry.tree, inner, key, cx),
            other => {
                let message = format!("there is no {one} `{}`", other.chars().take(40).collect::<String>());
                let help = format!("write {key} = {{ {first} = ..., {second} = ... }}; {which}");
                cx.push(Diagnostic::error("unknown-key", entry.key_place, message).help(help));
            }
        }
    }
    for (here, absent) in [(first, second), (second, first)] {
        if written.get(here).is_some() && written.get(absent).is_none() {
            let message = format!("`{key}` is given for `{here}` but not for `{absent}`");
            let help = format!("write {key} = {{ {first} = ..., {second} = ... }}, or one value for {both}");
            cx.push(Diagnostic::error("missing-key", tree.place, message).help(help));
        }
    }
}

fn choice(tree: &Tree, variants: &'static [Variant], key: &str, cx: &Cx<'_>) {
    let names = || variants.iter().map(|v| v.name);
    let complain = |place: SourceSpan, name: &str| {
        let shown: String = name.chars().take(40).collect();
        let diagnostic = Diagnostic::error(
            "unknown-variant",
            place,
            format!("`{shown}` is no {key}; there is {}", alternatives(names())),
        );
        cx.push(match nearest(name, names()) {
            Some(meant) => diagnostic.label(format!("did you mean `{meant}`?")),
            None => diagnostic,
        });
    };
    match &tree.value {
        Value::Text(name) => match variants.iter().find(|v| v.name == name) {
            Some(variant) if variant.bare => {}
            Some(variant) => {
                let inner = match &variant.shape {
                    Shape::Table(t) => example(t).replacen("write ", "", 1),
                    _ => String::new(),
                };
                let inner = if inner.is_empty() { "{ ... }".to_owned() } else { inner };
                cx.push(
                    Diagnostic::error("missing-key", tree.place, format!("`{name}` needs its parameters"))
                        .help(format!("write {key} = {{ {name} = {inner} }}")),
                );
            }
            None => complain(tree.place, name),
        },
        Value::Table(written) => {
            for entry in written.entries.iter().take_while(|_| !cx.full()) {
                match variants.iter().find(|v| v.name == entry.key) {
                    Some(variant) => {
                        // An empty table is equivalent to the bare word.
                        let empty = entry.tree.table().is_some_and(|t| t.entries.is_empty());
                        if !(variant.bare && empty) {
                            shape(&entry.tree, &variant.shape, variant.name, cx);
                        }
                    }
                    None => complain(entry.key_place, &entry.key),
                }
            }
            match written.entries.as_slice() {
                [] => {
                    let message = format!("`{key}` is empty");
                    let help = format!(
                        "write {key} = {{ {} = ... }}; there is {}",
                        variants[0].name,
                        alternatives(names())
                    );
                    cx.push(Diagnostic::error("missing-key", tree.place, message).help(help));
                }
                [_] => {}
                [first, second, ..] => cx.push(
                    Diagnostic::error(
                        "conflict",
                        second.key_place,
                        format!("`{key}` takes one variant only"),
                    )
                    .also(first.key_place, "this is one already")
                    .help(format!("keep one of {}", alternatives(names()))),
                ),
            }
        }
        _ => {
            let bare: Vec<String> =
                variants.iter().filter(|v| v.bare).map(|v| format!("\"{}\"", v.name)).collect();
            let has_keys = |v: &&Variant| !matches!(&v.shape, Shape::Table(t) if t.fields.is_empty());
            let tabled = variants.iter().find(has_keys).map(|v| format!("{{ {} = {{ ... }} }}", v.name));
            let ways: Vec<String> = tabled.into_iter().chain(bare).collect();
            wrong_type(tree, key, &ways.join(" or "), "", cx);
        }
    }
}

/// The alternative that fits the written value best.
pub(crate) fn alternative<'s>(tree: &Tree, shapes: &'s [Shape]) -> Option<&'s Shape> {
    let of_type = |s: &&Shape| match &tree.value {
        Value::Table(_) => matches!(s, Shape::Table(_) | Shape::Choice(_)),
        Value::List(_) => matches!(s, Shape::List(_) | Shape::Pair(..) | Shape::Tables(_)),
        _ => matches!(s, Shape::One(_)),
    };
    let fit = |s: &Shape| match (s, tree.table()) {
        (Shape::Table(t), Some(written)) => t.fits(written.entries.iter().map(|e| e.key.as_str())),
        _ => 0,
    };
    // The first of equally good alternatives.
    shapes.iter().filter(of_type).rev().max_by_key(|s| fit(s))
}

fn either(tree: &Tree, shapes: &'static [Shape], key: &str, cx: &Cx<'_>) {
    match alternative(tree, shapes) {
        Some(found) => shape(tree, found, key, cx),
        None => {
            let ways: Vec<String> = shapes
                .iter()
                .map(|s| match s {
                    Shape::One(kind) => kind.expected(),
                    Shape::Table(t) => example(t).replacen("write ", "", 1),
                    _ => "a list".into(),
                })
                .collect();
            wrong_type(tree, key, &ways.join(" or "), "", cx);
        }
    }
}
