//! Shrinking of a failing scenario: removes and simplifies parts of the document while it stays valid and
//! still fails.

use crate::generate::{Random, read};
use serde_json::Value;

/// The smallest document found for which `fails` is true.
pub fn shrink(random: Random, fails: &dyn Fn(&Random) -> bool) -> Random {
    let mut best = random;
    loop {
        let mut smaller = None;
        for candidate in candidates(&best.document) {
            if let Some(read) = read(&candidate)
                && fails(&read)
            {
                smaller = Some(read);
                break;
            }
        }
        match smaller {
            Some(read) => best = read,
            None => return best,
        }
    }
}

/// Documents with one part less, larger parts first.
fn candidates(document: &Value) -> Vec<Value> {
    let mut pointers = Vec::new();
    walk(document, "", &mut pointers);
    pointers.sort_by_key(|pointer| (pointer.matches('/').count(), std::cmp::Reverse(pointer.clone())));
    let remove = |pointer: &String| {
        let mut smaller = document.clone();
        let (parent, last) = pointer.rsplit_once('/')?;
        match smaller.pointer_mut(parent)? {
            Value::Object(table) => _ = table.remove(&last.replace("~1", "/").replace("~0", "~")),
            Value::Array(list) => _ = list.remove(last.parse().ok()?),
            _ => return None,
        }
        Some(smaller)
    };
    pointers.iter().filter_map(remove).collect()
}

fn walk(value: &Value, pointer: &str, pointers: &mut Vec<String>) {
    let mut child = |key: &str, inner: &Value| {
        let pointer = format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1"));
        walk(inner, &pointer, pointers);
        pointers.push(pointer);
    };
    match value {
        Value::Object(table) => table.iter().for_each(|(key, inner)| child(key, inner)),
        Value::Array(list) => list.iter().enumerate().for_each(|(i, inner)| child(&i.to_string(), inner)),
        _ => {}
    }
}
