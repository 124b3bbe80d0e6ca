//! Parameter grid (`[grid]`): axes and cells.
//!
//! Each line of `[grid]` is an axis: a path (see [`crate::grammar::overrides`]) and a list of values. Every
//! combination is a cell; the last axis varies fastest.
//!
//! Paths joined by commas vary together: `"flow.a.start, flow.b.start" = [["0 s", "1 s"], ["5 s", "6 s"]]` is
//! one axis of two values.

use crate::diagnostic::Diagnostic;
use crate::diagnostic::source::SourceSpan;
use crate::grammar::cx::Cx;
use crate::grammar::overrides::{Override, Path};
use crate::grammar::tree::{Table, Tree, Value};
use crate::grammar::validate::wrong_type;

/// An axis of the grid.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    /// Key as written; name of the parameter in results.
    pub(crate) key: String,
    pub(crate) place: SourceSpan,
    pub(crate) paths: Vec<Path>,
    pub(crate) values: Vec<Tree>,
}

impl Axis {
    /// Overrides of the value with this index.
    pub(crate) fn overrides(&self, index: usize) -> Vec<Override> {
        let Some(value) = self.values.get(index) else { return Vec::new() };
        match (self.paths.as_slice(), value.list()) {
            ([path], _) => vec![Override { path: path.clone(), value: value.clone() }],
            (paths, Some(values)) => paths
                .iter()
                .zip(values)
                .map(|(path, value)| Override { path: path.clone(), value: value.clone() })
                .collect(),
            (_, None) => Vec::new(),
        }
    }
}

/// Reports lines that are no axis.
pub(crate) fn check(tree: &Tree, cx: &Cx<'_>) {
    let Some(table) = tree.table() else {
        return wrong_type(
            tree,
            "grid",
            "a table",
            "[grid]\n\"flow.download.transport.tcp.recovery\" = [\"reno\", \"newreno\"]",
            cx,
        );
    };
    let mut seen: std::collections::BTreeMap<String, SourceSpan> = std::collections::BTreeMap::new();
    lines(table, "", None, 0, &mut |key, place, value| {
        let axis = axis(key, place, value, Some(cx));
        for path in axis.iter().flat_map(|a| &a.paths) {
            if let Some(first) = seen.insert(path.text.clone(), path.place) {
                cx.push(
                    Diagnostic::error("same-name", path.place, format!("`{}` is varied twice", path.text))
                        .also(first, "first here")
                        .help("put all of its values in one list"),
                );
            }
        }
    });
}

/// The valid axes.
pub(crate) fn axes(root: &Tree) -> Vec<Axis> {
    let mut axes = Vec::new();
    if let Some(table) = root.get("grid").and_then(Tree::table) {
        lines(table, "", None, 0, &mut |key, place, value| axes.extend(axis(key, place, value, None)));
    }
    axes
}

/// Calls `each` for every line; unquoted dotted keys, which are nested tables, count as one line.
fn lines(
    table: &Table,
    before: &str,
    outer: Option<SourceSpan>,
    depth: usize,
    each: &mut dyn FnMut(String, SourceSpan, &Tree),
) {
    for entry in &table.entries {
        let key = format!("{before}{}", entry.key);
        let place = match outer {
            Some(place) if place.start <= entry.key_place.end => {
                SourceSpan { end: entry.key_place.end, ..place }
            }
            _ => entry.key_place,
        };
        match &entry.tree.value {
            Value::Table(inner) if depth < 16 => {
                lines(inner, &format!("{key}."), Some(place), depth + 1, each)
            }
            _ => each(key, place, &entry.tree),
        }
    }
}

fn axis(key: String, place: SourceSpan, tree: &Tree, cx: Option<&Cx<'_>>) -> Option<Axis> {
    let complain = |place, message: String, help: String| {
        if let Some(cx) = cx {
            cx.push(Diagnostic::error("bad-value", place, message).help(help));
        }
    };
    let Some(values) = tree.list() else {
        complain(
            tree.place,
            "an axis of the grid is a list of values".into(),
            format!("write \"{key}\" = [..., ...]"),
        );
        return None;
    };
    if values.is_empty() {
        complain(
            tree.place,
            "this list is empty, so the grid has no cell".into(),
            "give at least one value, or remove the line".into(),
        );
        return None;
    }
    // The key is quoted if its span is two bytes longer than the key.
    let quoted = (place.end - place.start) as usize == key.len() + 2;
    let mut offset = usize::from(quoted);
    let mut paths = Vec::new();
    for part in key.split(',') {
        let lead = part.len() - part.trim_start().len();
        let text = part.trim().to_owned();
        let at = place.part(offset + lead..offset + lead + text.len());
        offset += part.len() + 1;
        paths.push(Path { text, place: at });
    }
    if paths.len() > 1 {
        for value in values {
            if value.list().is_none_or(|v| v.len() != paths.len()) {
                let message = format!(
                    "{} keys vary together here, so each value is a list of {}",
                    paths.len(),
                    paths.len()
                );
                complain(value.place, message, format!("write \"{key}\" = [[..., ...], [..., ...]]"));
                return None;
            }
        }
    }
    Some(Axis { key, place, paths, values: values.to_vec() })
}
