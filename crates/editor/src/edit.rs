//! Edits of a scenario's source text by path (set, append, remove), with comments and layout kept; path of a
//! text position.
//!
//! The form shows the tree of the text and sends single changes; only the text is stored. A path is a list of
//! keys and, for `[[tables]]` and lists, positions.

use crate::Refusal;
use serde::Deserialize;
use serde_json::Value;
use toml_edit::{Array, ArrayOfTables, DocumentMut, InlineTable, Item, Table, TableLike};

/// One step of a path: a key, or a position in a list or among `[[tables]]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Step {
    /// Position, from 0.
    At(usize),
    /// Key of a table.
    Key(String),
}

/// A change of the text.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Change {
    /// Writes this value at the path.
    Set(Value),
    /// Adds this table to the `[[tables]]` at the path.
    Append(Value),
    /// Removes the value at the path.
    Remove,
}

/// Values of the text as JSON; null if the text is not TOML.
pub(crate) fn tree(text: &str) -> Value {
    let parsed: Option<DocumentMut> = text.parse().ok();
    parsed.map_or(Value::Null, |document| json(document.as_item()))
}

fn json(item: &Item) -> Value {
    match item {
        Item::None => Value::Null,
        Item::Value(value) => value_json(value),
        Item::Table(table) => entries(table),
        Item::ArrayOfTables(tables) => tables.iter().map(|table| entries(table)).collect(),
    }
}

fn entries(table: &dyn TableLike) -> Value {
    table.iter().map(|(key, item)| (key.to_owned(), json(item))).collect::<serde_json::Map<_, _>>().into()
}

fn value_json(value: &toml_edit::Value) -> Value {
    use toml_edit::Value as V;
    match value {
        V::String(text) => text.value().as_str().into(),
        V::Integer(n) => (*n.value()).into(),
        V::Float(x) => (*x.value()).into(),
        V::Boolean(b) => (*b.value()).into(),
        V::Datetime(at) => at.value().to_string().into(),
        V::Array(list) => list.iter().map(value_json).collect(),
        V::InlineTable(table) => entries(table),
    }
}

/// Path of the value or key at a position of the text; empty without one. Lines and columns count from 1,
/// columns in characters.
pub(crate) fn path_at(text: &str, line: usize, column: usize) -> Vec<Value> {
    let Ok(document) = toml_edit::Document::parse(text) else { return Vec::new() };
    let start: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    let rest = text.get(start..).unwrap_or("");
    let within: usize = rest.chars().take(column.saturating_sub(1)).map(char::len_utf8).sum();
    let mut path = Vec::new();
    find(document.as_item(), start + within, &mut path);
    path
}

/// Descends to the innermost item that contains byte `at`; true if there is one.
fn find(item: &Item, at: usize, path: &mut Vec<Value>) -> bool {
    let holds = |span: Option<std::ops::Range<usize>>| span.is_some_and(|span| span.contains(&at));
    if let Some(table) = item.as_table_like() {
        for (key, inner) in table.iter() {
            path.push(key.into());
            let named = table.key(key).is_some_and(|key| holds(key.span()));
            if find(inner, at, path) || named {
                return true;
            }
            path.pop();
        }
    }
    let mut inside = |i: usize, inner: &Item| {
        path.push(i.into());
        let found = find(inner, at, path);
        if !found {
            path.pop();
        }
        found
    };
    let found = match item {
        Item::ArrayOfTables(tables) => {
            tables.iter().enumerate().any(|(i, table)| inside(i, &Item::Table(table.clone())))
        }
        Item::Value(toml_edit::Value::Array(list)) => {
            list.iter().enumerate().any(|(i, value)| inside(i, &Item::Value(value.clone())))
        }
        _ => false,
    };
    found || holds(item.span())
}

/// The text after one change.
///
/// # Errors
/// The text is not TOML, or has no item at the path that can be changed.
pub fn edit(text: &str, path: &[Step], change: &Change) -> Result<String, Refusal> {
    let mut document: DocumentMut = text.parse().map_err(|error: toml_edit::TomlError| {
        Refusal::wrong(
            format!("the text is not TOML: {}", error.message()),
            "mend the marked line first; then the form can change it",
        )
    })?;
    let Some((last, above)) = path.split_last() else {
        return Err(Refusal::wrong("no key is named", ""));
    };
    if path.len() > 16 {
        return Err(Refusal::wrong("the path is too long", ""));
    }
    let absent =
        || Refusal::wrong("there is nothing at this place any more", "the text was changed meanwhile");
    let mut item = document.as_item_mut();
    for (i, step) in above.iter().enumerate() {
        item = down(item, step, i > 0).ok_or_else(absent)?;
    }
    match (last, change) {
        (Step::Key(key), Change::Set(value)) => {
            let value = value_of(value)?;
            // A bare name, such as `transport = "tcp"`, is replaced by the table with more keys.
            let table = as_table(item, true).ok_or_else(absent)?;
            match table.get_mut(key).and_then(Item::as_value_mut) {
                Some(old) => {
                    let decor = old.decor().clone();
                    *old = value;
                    *old.decor_mut() = decor;
                }
                None => {
                    table.insert(key, Item::Value(value));
                }
            }
        }
        (Step::At(at), Change::Set(value)) => {
            let list = item.as_array_mut().ok_or_else(absent)?;
            if *at >= list.len() {
                return Err(absent());
            }
            list.replace(*at, value_of(value)?);
        }
        (Step::Key(key), Change::Append(value)) => {
            let table = as_table(item, true).ok_or_else(absent)?;
            let row = table_of(value)?;
            match table.get_mut(key) {
                Some(Item::ArrayOfTables(tables)) => tables.push(row),
                Some(Item::Value(toml_edit::Value::Array(list))) => list.push(row.into_inline_table()),
                Some(_) => return Err(absent()),
                None => {
                    let mut tables = ArrayOfTables::new();
                    tables.push(row);
                    table.insert(key, Item::ArrayOfTables(tables));
                }
            }
        }
        (Step::Key(key), Change::Remove) => {
            as_table(item, false).ok_or_else(absent)?.remove(key).ok_or_else(absent)?;
        }
        (Step::At(at), Change::Remove) => match item {
            Item::ArrayOfTables(tables) if *at < tables.len() => {
                tables.remove(*at);
            }
            Item::Value(toml_edit::Value::Array(list)) if *at < list.len() => {
                list.remove(*at);
            }
            _ => return Err(absent()),
        },
        (Step::At(_), Change::Append(_)) => return Err(absent()),
    }
    Ok(document.to_string())
}

/// The item one step below; a missing key is created as an inline table below the root, as a table at the
/// root.
fn down<'a>(item: &'a mut Item, step: &Step, inline: bool) -> Option<&'a mut Item> {
    match step {
        Step::Key(key) => {
            let table = as_table(item, true)?;
            if !table.contains_key(key) {
                let empty =
                    if inline { Item::Value(InlineTable::new().into()) } else { Item::Table(Table::new()) };
                table.insert(key, empty);
            }
            table.get_mut(key)
        }
        Step::At(at) => item.get_mut(*at),
    }
}

/// The item as a table; with `make`, a single value is replaced by one.
fn as_table(item: &mut Item, make: bool) -> Option<&mut dyn TableLike> {
    if make && matches!(item, Item::Value(value) if !value.is_inline_table() && !value.is_array()) {
        let name = item.as_str().map(str::to_owned);
        let mut table = InlineTable::new();
        if let Some(name) = name {
            table.insert(&name, InlineTable::new().into());
        }
        *item = Item::Value(table.into());
    }
    item.as_table_like_mut()
}

fn value_of(value: &Value) -> Result<toml_edit::Value, Refusal> {
    Ok(match value {
        Value::Null => return Err(Refusal::wrong("a value is missing", "")),
        Value::Bool(b) => (*b).into(),
        Value::Number(n) => match n.as_i64() {
            Some(n) => n.into(),
            None => n.as_f64().unwrap_or(0.0).into(),
        },
        Value::String(text) => text.as_str().into(),
        Value::Array(list) => {
            let values: Result<Vec<_>, _> = list.iter().map(value_of).collect();
            values?.into_iter().collect::<Array>().into()
        }
        Value::Object(entries) => {
            let mut table = InlineTable::new();
            for (key, value) in entries {
                table.insert(key, value_of(value)?);
            }
            table.into()
        }
    })
}

fn table_of(value: &Value) -> Result<Table, Refusal> {
    let entries = value.as_object().ok_or_else(|| Refusal::wrong("a table is missing", ""))?;
    let mut table = Table::new();
    for (key, value) in entries {
        table.insert(key, Item::Value(value_of(value)?));
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn path(steps: &Value) -> Vec<Step> {
        serde_json::from_value(steps.clone()).unwrap()
    }

    const TEXT: &str = "williwaw = 1 # the grammar\n\n# The link.\n[[hop]]\nname = \"radio\"\nrate = \"30 kbit/s\" # down and up\n\n\
        [[flow]]\nname = \"f\"\ntransport = \"tcp\"\n";

    #[test]
    fn a_change_leaves_comments_and_all_else_as_they_were() {
        let set = |at: Value, value: Value| edit(TEXT, &path(&at), &Change::Set(value)).unwrap();
        let rate = set(json!(["hop", 0, "rate"]), json!("60 kbit/s"));
        assert_eq!(rate, TEXT.replace("30 kbit/s", "60 kbit/s"));
        let queue = set(json!(["hop", 0, "queue", "drop-tail", "limit"]), json!("10 packets"));
        assert!(queue.contains("queue = { drop-tail = { limit = \"10 packets\" } }"), "{queue}");
        let run = set(json!(["run", "repetitions"]), json!(20));
        assert!(run.contains("[run]\nrepetitions = 20\n"), "{run}");
        // A bare name becomes a table with more keys.
        let tcp = set(json!(["flow", 0, "transport", "tcp", "profile"]), json!("linux-2.4"));
        assert_eq!(tree(&tcp)["flow"][0]["transport"], json!({ "tcp": { "profile": "linux-2.4" } }));
    }

    #[test]
    fn a_place_in_the_text_has_a_path() {
        let at = |line, column| json!(path_at(TEXT, line, column));
        assert_eq!(at(6, 9), json!(["hop", 0, "rate"]));
        assert_eq!(at(6, 1), json!(["hop", 0, "rate"]));
        assert_eq!(at(1, 12), json!(["williwaw"]));
        assert_eq!(at(8, 3), json!(["flow", 0]));
        assert_eq!(json!(path_at("a = { b = [1, \"µx\"] }", 1, 16)), json!(["a", "b", 1]));
        assert_eq!(at(99, 1), json!([]));
    }

    #[test]
    fn tables_are_added_and_removed() {
        let hop = json!({ "name": "lan", "between": ["a", "b"] });
        let more = edit(TEXT, &path(&json!(["hop"])), &Change::Append(hop.clone())).unwrap();
        assert_eq!(tree(&more)["hop"][1], hop);
        let less = edit(&more, &path(&json!(["hop", 0])), &Change::Remove).unwrap();
        assert_eq!(tree(&less)["hop"], json!([hop]));
        let none = edit(TEXT, &path(&json!(["hop", 0, "rate"])), &Change::Remove).unwrap();
        assert!(tree(&none)["hop"][0].get("rate").is_none());
    }

    #[test]
    fn what_is_not_there_cannot_be_changed() {
        for at in [json!([]), json!(["hop", 7, "rate"]), json!(["hop", "rate"]), json!([3])] {
            assert!(edit(TEXT, &path(&at), &Change::Set(json!(1))).is_err(), "{at}");
        }
        assert!(edit("a = ", &path(&json!(["a"])), &Change::Set(json!(1))).is_err());
        assert_eq!(tree("a = "), Value::Null);
    }
}
