//! Reader of one table of a validated scenario tree: values by key, with declared defaults.
//!
//! The shape was checked before, so that a missing or malformed value has its diagnostic already and is
//! returned as `None`.

use super::cx::Cx;
use super::leaf;
use super::shape::{Need, Quantity, Shape, TableShape, ValueKind, Values};
use super::tree::{Tree, parse_value};
use crate::diagnostic::source::SourceSpan;
use base::dist::Dist;
use base::{Rate, Span};
use std::borrow::Cow;

/// A table with its declaration.
#[derive(Clone, Copy)]
pub(crate) struct Reader<'t> {
    pub(crate) tree: &'t Tree,
    shape: &'static TableShape,
}

impl<'t> Reader<'t> {
    pub(crate) fn new(tree: &'t Tree, shape: &'static TableShape) -> Self {
        Reader { tree, shape }
    }

    /// Value of `key`, if written.
    pub(crate) fn get(&self, key: &str) -> Option<&'t Tree> {
        debug_assert!(self.shape.field(key).is_some(), "{} does not declare {key}", self.shape.name);
        self.tree.get(key)
    }

    /// Span for diagnostics about `key`: its value, or the table that lacks it.
    pub(crate) fn place(&self, key: &str) -> SourceSpan {
        self.get(key).map_or(self.tree.place, |t| t.place)
    }

    /// Value of `key` as written, or its declared default.
    pub(crate) fn or_default(&self, key: &str) -> Option<Cow<'t, Tree>> {
        match self.get(key) {
            Some(tree) => Some(Cow::Borrowed(tree)),
            None => match self.shape.field(key)?.need {
                Need::Default(text) => {
                    let mut tree = parse_value(text, 0, 0);
                    tree.place = self.tree.place;
                    Some(Cow::Owned(tree))
                }
                Need::Required(_) | Need::Optional => None,
            },
        }
    }

    pub(crate) fn name(&self) -> Option<String> {
        leaf::name(self.get("name")?).ok()
    }
    pub(crate) fn text(&self, key: &str) -> Option<String> {
        leaf::text(&*self.or_default(key)?).ok()
    }
    pub(crate) fn flag(&self, key: &str) -> Option<bool> {
        leaf::flag(&*self.or_default(key)?).ok()
    }
    pub(crate) fn span(&self, key: &str) -> Option<Span> {
        leaf::span(&*self.or_default(key)?).ok()
    }
    pub(crate) fn rate(&self, key: &str) -> Option<Rate> {
        leaf::rate(&*self.or_default(key)?).ok()
    }
    pub(crate) fn bytes(&self, key: &str) -> Option<u64> {
        leaf::bytes(&*self.or_default(key)?).ok()
    }
    pub(crate) fn dist(&self, key: &str, cx: &Cx<'_>) -> Option<Dist> {
        let quantity = match self.shape.field(key)?.shape {
            Shape::One(ValueKind::Dist(quantity)) => quantity,
            _ => Quantity::Span,
        };
        leaf::dist(&*self.or_default(key)?, quantity, cx).ok()
    }
    pub(crate) fn count(&self, key: &str) -> Option<i64> {
        match self.shape.field(key)?.shape {
            Shape::One(ValueKind::Count(least, most)) => {
                leaf::count(&*self.or_default(key)?, least, most).ok()
            }
            _ => None,
        }
    }
    pub(crate) fn number(&self, key: &str) -> Option<f64> {
        match self.shape.field(key)?.shape {
            Shape::One(ValueKind::Number(least, most)) => {
                leaf::number(&*self.or_default(key)?, least, most).ok()
            }
            _ => None,
        }
    }
    pub(crate) fn word(&self, key: &str) -> Option<&'static str> {
        match self.shape.field(key)?.shape {
            Shape::One(ValueKind::Word(words)) => leaf::word(&*self.or_default(key)?, words).ok(),
            _ => None,
        }
    }

    /// Tables under `key` (`[[hop]]`), each as a reader of `shape`.
    pub(crate) fn tables(
        &self,
        key: &str,
        shape: &'static TableShape,
    ) -> impl Iterator<Item = Reader<'t>> + use<'t> {
        let list = self.get(key).and_then(Tree::list).unwrap_or(&[]);
        list.iter().filter(|t| t.table().is_some()).map(move |tree| Reader { tree, shape })
    }
}

/// Word and table of a choice; the table is empty for a bare word.
pub(crate) fn chosen<'t>(
    tree: &'t Tree,
    shape: impl Fn(&str) -> Option<&'static TableShape>,
) -> Option<(&'t str, Reader<'t>)> {
    match tree.table() {
        Some(table) => {
            let [entry] = table.entries.as_slice() else { return None };
            Some((&entry.key, Reader::new(&entry.tree, shape(&entry.key)?)))
        }
        None => Some((tree.text()?, Reader::new(tree, shape(tree.text()?)?))),
    }
}

/// Reader access for crates that declare options beside their own code.
impl Values for Reader<'_> {
    fn given(&self, key: &str) -> bool {
        self.get(key).is_some()
    }
    fn flag(&self, key: &str) -> Option<bool> {
        Reader::flag(self, key)
    }
    fn span(&self, key: &str) -> Option<Span> {
        Reader::span(self, key)
    }
    fn rate(&self, key: &str) -> Option<Rate> {
        Reader::rate(self, key)
    }
    fn bytes(&self, key: &str) -> Option<u64> {
        Reader::bytes(self, key)
    }
    fn count(&self, key: &str) -> Option<u64> {
        Reader::count(self, key).and_then(|n| u64::try_from(n).ok())
    }
    fn number(&self, key: &str) -> Option<f64> {
        Reader::number(self, key)
    }
    fn word(&self, key: &str) -> Option<&'static str> {
        Reader::word(self, key)
    }
    fn limits(&self, key: &str) -> Option<(Option<u32>, Option<u64>)> {
        leaf::limits(&*self.or_default(key)?).ok()
    }
}
