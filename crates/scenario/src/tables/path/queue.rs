//! Grammar of queues (`queue`): a choice between the disciplines of `path::qdisc`, each with its own
//! declaration there.

use crate::grammar::leaf;
use crate::grammar::reader::Reader;
use crate::grammar::shape::{Shape, Variant};
use crate::grammar::tree::{Table, Tree, Value};
use crate::model::{Capacity, Queue};

/// Variants of `queue`.
pub(crate) static QUEUES: &[Variant] = Queue::VARIANTS;

/// Queue that `tree` describes; unlimited without one.
pub(crate) fn queue(tree: Option<&Tree>) -> Option<Queue> {
    let Some(tree) = tree else { return Some(Queue::default()) };
    let bare = Tree { value: Value::Table(Table::default()), place: tree.place };
    let (name, inner) = match tree.table() {
        Some(table) => {
            let [entry] = table.entries.as_slice() else { return None };
            (entry.key.as_str(), &entry.tree)
        }
        None => (tree.text()?, &bare),
    };
    let Shape::Table(shape) = QUEUES.iter().find(|variant| variant.name == name)?.shape else { return None };
    Queue::read(name, &Reader::new(inner, shape))
}

/// Reads a limit in packets or bytes.
pub(crate) fn capacity(tree: &Tree) -> Option<Capacity> {
    let (packets, bytes) = leaf::limits(tree).ok()?;
    Some(Capacity { packets, bytes })
}
