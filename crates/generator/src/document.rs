//! Scenario document as a JSON tree, and its TOML text with one line for each table of the top level.

use serde_json::Value;
use std::fmt::Write as _;

/// TOML text of the document.
pub fn toml(document: &Value) -> String {
    let mut out = String::new();
    let Value::Object(root) = document else { return out };
    // Plain values come first: keys after a table header belong to that table.
    for (key, value) in root.iter().filter(|(_, v)| !is_table(v)) {
        let _ = writeln!(out, "{} = {}", self::key(key), inline(value));
    }
    for (key, value) in root.iter().filter(|(_, v)| is_table(v)) {
        let (open, close, tables) = match value {
            Value::Array(tables) => ("[[", "]]", tables.as_slice()),
            table => ("[", "]", std::slice::from_ref(table)),
        };
        for table in tables {
            let _ = writeln!(out, "\n{open}{}{close}", self::key(key));
            for (key, value) in table.as_object().into_iter().flatten() {
                let _ = writeln!(out, "{} = {}", self::key(key), inline(value));
            }
        }
    }
    out
}

fn is_table(value: &Value) -> bool {
    match value {
        Value::Object(_) => true,
        Value::Array(list) => !list.is_empty() && list.iter().all(Value::is_object),
        _ => false,
    }
}

fn key(key: &str) -> String {
    let bare = !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    if bare { key.to_owned() } else { Value::from(key).to_string() }
}

/// JSON strings, numbers and lists are TOML too.
fn inline(value: &Value) -> String {
    match value {
        Value::Object(table) => {
            let entries: Vec<String> =
                table.iter().map(|(k, v)| format!("{} = {}", key(k), inline(v))).collect();
            format!("{{ {} }}", entries.join(", "))
        }
        Value::Array(list) => format!("[{}]", list.iter().map(inline).collect::<Vec<_>>().join(", ")),
        other => other.to_string(),
    }
}
