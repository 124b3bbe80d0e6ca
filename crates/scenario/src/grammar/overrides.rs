//! Overrides of scenario values by path, from `--set` and from the keys of `[grid]`.
//!
//! A path consists of keys of tables, and of names where a list has several tables:
//! `flow.download.transport.tcp.recovery`, `hop.radio.gate.reselection.every`, `hop.radio.rate.down`,
//! `run.seed`.
//!
//! - `*` in place of a name addresses all tables of a list: `flow.*.transport.tcp.recovery`.
//! - Below a choice the path names the variant: `hop.radio.queue.drop-tail.limit` makes the queue a drop-tail
//!   queue, whatever it was before.
//! - A value for both directions is split by `.down` or `.up`; a path without direction changes both.
//! - A key replaces the keys that it excludes: `hop.radio.gate.reselection.start` removes the gate's `every`.
//! - Missing tables on the path are created.

use super::cx::Cx;
use super::shape::{DIRECTIONS, ENDS, Parts, Shape, TableShape};
use super::spelling::{alternatives, nearest};
use super::tree::{Table, Tree, Value, parse_value};
use super::validate::parted;
use crate::diagnostic::Diagnostic;
use crate::diagnostic::source::SourceSpan;
use crate::preset;
use crate::tables::flow::tcp_options;
use crate::tables::run::ROOT;

/// Tables about the whole grid, which cannot differ between its cells.
const FIXED: &[&str] = &["williwaw", "grid", "expect", "title"];

/// One override: a path and its new value.
#[derive(Clone, Debug)]
pub(crate) struct Override {
    pub(crate) path: Path,
    pub(crate) value: Tree,
}

/// A dotted path with its source span.
#[derive(Clone, Debug)]
pub(crate) struct Path {
    pub(crate) text: String,
    /// Span of the path, without quotes.
    pub(crate) place: SourceSpan,
}

/// Components of a path with their spans.
struct Steps<'p> {
    parts: Vec<(&'p str, SourceSpan)>,
}

impl Path {
    fn steps(&self) -> Steps<'_> {
        let mut offset = 0;
        let exact = (self.place.end - self.place.start) as usize == self.text.len();
        let parts = self
            .text
            .split('.')
            .map(|part| {
                let at = if exact { self.place.part(offset..offset + part.len()) } else { self.place };
                offset += part.len() + 1;
                (part, at)
            })
            .collect();
        Steps { parts }
    }
}

/// Parses `KEY=VALUE`, the argument of `--set`.
pub(crate) fn parse(argument: &str, cx: &Cx<'_>) -> Option<Override> {
    let source = cx.sources.borrow_mut().add("--set", argument);
    let whole = SourceSpan { source, start: 0, end: argument.len().min(u32::MAX as usize) as u32 };
    let Some((key, value)) = argument.split_once('=') else {
        cx.push(
            Diagnostic::error("bad-set", whole, "`--set` takes KEY=VALUE")
                .help("such as --set flow.download.transport.tcp.recovery=sack"),
        );
        return None;
    };
    let start = key.len() - key.trim_start().len();
    let text = key.trim().to_owned();
    let place = whole.part(start..start + text.len());
    let offset = key.len() + 1;
    if value.trim().is_empty() {
        cx.push(
            Diagnostic::error("bad-set", whole, format!("no value is given for `{text}`"))
                .help("write KEY=VALUE"),
        );
        return None;
    }
    Some(Override { path: Path { text, place }, value: parse_value(argument, source, offset) })
}

/// Sets the value at its path.
pub(crate) fn apply(root: &mut Tree, change: &Override) -> Result<(), Box<Diagnostic>> {
    let steps = change.path.steps();
    if let Some((first, place)) = steps.parts.first()
        && (FIXED.contains(first)
            || (*first == "run"
                && steps.parts.get(1).is_some_and(|(k, _)| *k == "repetitions")
                && is_grid(change)))
    {
        let message = format!("`{}` is the same for every cell of a grid", change.path.text);
        return Err(Box::new(
            Diagnostic::error("bad-path", *place, message)
                .help("vary hops, links, flows, run.seed or run.limit"),
        ));
    }
    let mut walk = Walk { change, steps: &steps.parts };
    walk.table(root, &ROOT, 0)
}

/// True for an override from `[grid]`, whose source is the scenario itself.
fn is_grid(change: &Override) -> bool {
    change.path.place.source == 0
}

/// Removes the keys that `key` excludes, and keys that have a meaning only beside the removed ones.
fn make_way(table: &mut Table, shape: &TableShape, key: &str) {
    let excluded = |other: &str| {
        other != key && shape.one_of.iter().any(|group| group.contains(&key) && group.contains(&other))
    };
    let before = table.entries.len();
    table.entries.retain(|e| !excluded(&e.key));
    if table.entries.len() < before {
        let left: Vec<String> = table.entries.iter().map(|e| e.key.clone()).collect();
        let alone = |word: &str| {
            shape.needs.iter().any(|(k, others)| {
                *k == word && word != key && others.iter().all(|other| !left.iter().any(|l| l == other))
            })
        };
        table.entries.retain(|e| !alone(&e.key));
    }
}

/// Whether the path may go on with `key` inside of a value of this shape.
fn holds(shape: &Shape, key: &str) -> bool {
    match shape {
        Shape::Table(inner) => inner.field(key).is_some(),
        Shape::Choice(variants) => variants.iter().any(|variant| variant.name == key),
        Shape::PerDirection(inner) | Shape::PerEnd(inner) => holds(inner, key),
        Shape::Either(shapes) => shapes.iter().any(|shape| holds(shape, key)),
        _ => false,
    }
}

struct Walk<'a> {
    change: &'a Override,
    steps: &'a [(&'a str, SourceSpan)],
}

type Done = Result<(), Box<Diagnostic>>;

impl Walk<'_> {
    fn fail(&self, at: usize, message: impl Into<String>, help: impl Into<String>) -> Done {
        let place = self.steps.get(at).map_or(self.change.path.place, |(_, place)| *place);
        Err(Box::new(Diagnostic::error("bad-path", place, message).help(help)))
    }

    fn table(&mut self, tree: &mut Tree, shape: &'static TableShape, at: usize) -> Done {
        let Some((key, place)) = self.steps.get(at).copied() else { return self.put(tree) };
        let Some(field) = shape.field(key) else {
            let keys = || shape.fields.iter().map(|f| f.key);
            let shown: String = key.chars().take(40).collect();
            let diagnostic =
                Diagnostic::error("bad-path", place, format!("`{shown}` names nothing in a {}", shape.name));
            if let Some(outer) = shape.fields.iter().find(|field| holds(&field.shape, key)) {
                let mut parts: Vec<&str> = self.steps.iter().map(|(part, _)| *part).collect();
                parts.insert(at, outer.key);
                return Err(Box::new(diagnostic.label(format!("did you mean `{}`?", parts.join(".")))));
            }
            return Err(Box::new(match nearest(key, keys()) {
                Some(meant) => diagnostic.label(format!("did you mean `{meant}`?")),
                None => diagnostic.help(format!("there is {}", alternatives(keys()))),
            }));
        };
        let made = match field.shape {
            Shape::Tables(_) => Value::List(Vec::new()),
            _ => Value::Table(Table::default()),
        };
        // A string such as transport = "tcp" is replaced by its table.
        if !matches!(tree.value, Value::Table(_)) {
            tree.value = Value::Table(Table::default());
        }
        let Value::Table(table) = &mut tree.value else { return Ok(()) };
        if let (Shape::Tables(_), Some((name, _))) = (&field.shape, self.steps.get(at + 1)) {
            preset::stub(table, key, name, self.change.path.place);
        }
        let inner = table.entry_mut(key, self.change.path.place, made);
        self.shape(inner, &field.shape, at + 1)?;
        make_way(table, shape, key);
        Ok(())
    }

    fn put(&mut self, tree: &mut Tree) -> Done {
        *tree = self.change.value.clone();
        Ok(())
    }

    fn shape(&mut self, tree: &mut Tree, shape: &Shape, at: usize) -> Done {
        match shape {
            Shape::Tables(inner) => return self.named(tree, inner, at),
            Shape::PerDirection(inner) => return self.part(tree, inner, &DIRECTIONS, at),
            Shape::PerEnd(inner) => return self.part(tree, inner, &ENDS, at),
            _ if at == self.steps.len() => return self.put(tree),
            _ => {}
        }
        let (key, _) = self.steps[at];
        match shape {
            Shape::Table(inner) => self.table(tree, inner, at),
            Shape::Choice(variants) => {
                let Some(variant) = variants.iter().find(|v| v.name == key) else {
                    let names = || variants.iter().map(|v| v.name);
                    let help = match nearest(key, names()) {
                        Some(meant) => format!("did you mean `{meant}`?"),
                        None => format!("there is {}", alternatives(names())),
                    };
                    return self.fail(at, format!("`{key}` names nothing here"), help);
                };
                let same = tree
                    .table()
                    .is_some_and(|t| matches!(t.entries.as_slice(), [e] if e.key == variant.name));
                if !same {
                    tree.value = Value::Table(Table::default());
                }
                let Value::Table(table) = &mut tree.value else { return Ok(()) };
                let inner =
                    table.entry_mut(variant.name, self.change.path.place, Value::Table(Table::default()));
                self.shape(inner, &variant.shape, at + 1)
            }
            Shape::Either(shapes) => {
                let found = shapes.iter().find_map(|s| match s {
                    Shape::Table(t) if t.field(key).is_some() => Some(*t),
                    _ => None,
                });
                match found {
                    Some(inner) => {
                        // A schedule replaces a constant: keys of the other form are removed.
                        if tree
                            .table()
                            .is_some_and(|t| inner.fits(t.entries.iter().map(|e| e.key.as_str())) == 0)
                        {
                            tree.value = Value::Table(Table::default());
                        }
                        self.table(tree, inner, at)
                    }
                    None => self.fail(at, format!("`{key}` names nothing here"), "end the path before it"),
                }
            }
            Shape::TcpOptions => self.option(tree, at),
            Shape::Settings => {
                // The remaining components form one name: sysctls contain dots.
                let name: Vec<&str> = self.steps[at..].iter().map(|(part, _)| *part).collect();
                if !matches!(tree.value, Value::Table(_)) {
                    tree.value = Value::Table(Table::default());
                }
                let Value::Table(table) = &mut tree.value else { return Ok(()) };
                let target = table.entry_mut(&name.join("."), self.change.path.place, Value::Flag(false));
                self.put(target)
            }
            Shape::One(_) | Shape::List(_) | Shape::Pair(..) | Shape::Grid | Shape::Expect => {
                let before = self.steps[at - 1].0;
                self.fail(at, format!("`{before}` has no parts"), format!("end the path with `{before}`"))
            }
            Shape::Tables(_) | Shape::PerDirection(_) | Shape::PerEnd(_) => Ok(()),
        }
    }

    fn named(&mut self, tree: &mut Tree, inner: &'static TableShape, at: usize) -> Done {
        let Value::List(list) = &mut tree.value else {
            return self.fail(at, format!("there is no {}", inner.name), "");
        };
        let name_of = |t: &Tree| t.get("name").and_then(Tree::text).map(str::to_owned);
        let names: Vec<String> = list.iter().filter_map(name_of).collect();
        let example = names.first().cloned().unwrap_or_else(|| "NAME".into());
        let Some(&(name, place)) = self.steps.get(at) else {
            let help =
                format!("go on with its name and a key, such as {}.{example}.KEY", self.change.path.text);
            return self.fail(
                at.saturating_sub(1),
                format!("`{}` are several tables", self.change.path.text),
                help,
            );
        };
        if at + 1 == self.steps.len() {
            let help = format!("go on with one of {}", alternatives(inner.fields.iter().map(|f| f.key)));
            return self.fail(at, format!("`{}` is a whole {}", self.change.path.text, inner.name), help);
        }
        let mut found = false;
        for element in list.iter_mut() {
            if name == "*" || name_of(element).as_deref() == Some(name) {
                found = true;
                self.table(element, inner, at + 1)?;
            }
        }
        if found {
            return Ok(());
        }
        let shown: String = name.chars().take(40).collect();
        let diagnostic =
            Diagnostic::error("bad-path", place, format!("no {} is called `{shown}`", inner.name));
        Err(Box::new(match nearest(name, names.iter().map(String::as_str)) {
            Some(meant) => diagnostic.label(format!("did you mean `{meant}`?")),
            None if names.is_empty() => diagnostic.help(format!("this scenario has no {} there", inner.name)),
            None => diagnostic
                .help(format!("there is {}", alternatives(names.iter().take(12).map(String::as_str)))),
        }))
    }

    fn part(&mut self, tree: &mut Tree, inner: &Shape, parts: &Parts, at: usize) -> Done {
        let named = self.steps.get(at).map(|(key, _)| *key).filter(|key| parts.keys.contains(key));
        let Some(direction) = named else {
            if at < self.steps.len() && parted(tree, parts) {
                let Value::Table(table) = &mut tree.value else { return Ok(()) };
                // If the directions chose different variants, only the direction with this variant is changed.
                let key = self.steps[at].0;
                let chose = |tree: &Tree| tree.text() == Some(key) || tree.get(key).is_some();
                let some = table.entries.iter().any(|entry| chose(&entry.tree));
                for entry in table.entries.iter_mut().filter(|entry| !some || chose(&entry.tree)) {
                    self.shape(&mut entry.tree, inner, at)?;
                }
                return Ok(());
            }
            return self.shape(tree, inner, at);
        };
        if !parted(tree, parts) {
            let old = std::mem::replace(&mut tree.value, Value::Table(Table::default()));
            // A table created on the path holds no value to copy to the other direction.
            let empty = matches!(&old, Value::Table(t) if t.entries.is_empty());
            if let (Value::Table(table), false) = (&mut tree.value, empty) {
                for key in parts.keys {
                    *table.entry_mut(key, tree.place, Value::Flag(false)) =
                        Tree { value: old.clone(), place: tree.place };
                }
            }
        }
        let Value::Table(table) = &mut tree.value else { return Ok(()) };
        let part = table.entry_mut(direction, self.change.path.place, Value::Table(Table::default()));
        self.shape(part, inner, at + 1)
    }

    fn option(&mut self, tree: &mut Tree, at: usize) -> Done {
        let key: Vec<&str> = self.steps[at..].iter().map(|(part, _)| *part).collect();
        let dotted = key.join(".");
        if dotted != tcp_options::PROFILE && tcp_options::option(&dotted).is_none() {
            if tcp_options::is_group(&dotted) {
                return self.fail(
                    at,
                    format!("`{dotted}` is a group of options"),
                    "go on with the option's own name",
                );
            }
            return match nearest(&dotted, tcp_options::keys()) {
                Some(meant) => self.fail(
                    at,
                    format!("`{dotted}` is not an option of tcp"),
                    format!("did you mean `{meant}`?"),
                ),
                None => self.fail(at, format!("`{dotted}` is not an option of tcp"), ""),
            };
        }
        let mut target = tree;
        for (i, part) in key.iter().enumerate() {
            if !matches!(target.value, Value::Table(_)) {
                target.value = Value::Table(Table::default());
            }
            let Value::Table(table) = &mut target.value else { return Ok(()) };
            let last = i + 1 == key.len();
            let made = if last { Value::Flag(false) } else { Value::Table(Table::default()) };
            target = table.entry_mut(part, self.change.path.place, made);
        }
        self.put(target)
    }
}
