//! JSON Schema and reference page of the grammar, both generated from the declarations that the reader uses.

use super::shape::{DIRECTIONS, ENDS, Need, Parts, Quantity, Shape, TableShape, ValueKind, Variant};
use super::tree::parse_value;
use crate::model::metric::{Metric, Statistic};
use crate::tables::flow::tcp_options;
use crate::tables::run::ROOT;
use serde_json::{Map, Value, json};
use std::fmt::Write;
use transport::tcp::{Config, OptionKind};

/// JSON Schema (draft 2020-12) of a scenario file.
pub fn json_schema() -> Value {
    let mut schema = table(&ROOT);
    schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    schema["title"] = json!("williwaw scenario");
    schema
}

fn table(shape: &TableShape) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for field in shape.fields {
        let mut property = self::shape(&field.shape);
        property["description"] = json!(field.doc);
        match field.need {
            Need::Required(_) => required.push(field.key),
            Need::Default(text) => property["default"] = parse_value(text, 0, 0).to_json(),
            Need::Optional => {}
        }
        properties.insert(field.key.to_owned(), property);
    }
    let mut schema = json!({
        "type": "object",
        "description": shape.doc,
        "properties": properties,
        "additionalProperties": false,
    });
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    let mut groups: Vec<Value> = shape
        .one_of
        .iter()
        .map(|group| json!({ "oneOf": group.iter().map(|key| json!({ "required": [key] })).collect::<Vec<_>>() }))
        .collect();
    groups.extend(shape.needs.iter().map(|(key, others)| {
        let beside = others.iter().map(|other| json!({ "required": [other] }));
        let absent = json!({ "not": { "required": [key] } });
        json!({ "anyOf": std::iter::once(absent).chain(beside).collect::<Vec<_>>() })
    }));
    if !groups.is_empty() {
        schema["allOf"] = json!(groups);
    }
    schema
}

fn shape(shape: &Shape) -> Value {
    match shape {
        Shape::One(kind) => one(*kind),
        Shape::List(inner) => json!({ "type": "array", "items": self::shape(inner) }),
        Shape::Pair(a, b) => {
            json!({ "type": "array", "prefixItems": [one(*a), one(*b)], "minItems": 2, "maxItems": 2 })
        }
        Shape::Table(inner) => table(inner),
        Shape::Tables(inner) => json!({ "type": "array", "items": table(inner) }),
        Shape::PerDirection(inner) => in_parts(inner, &DIRECTIONS),
        Shape::PerEnd(inner) => in_parts(inner, &ENDS),
        Shape::Choice(variants) => choice(variants),
        Shape::Either([single]) => self::shape(single),
        Shape::Either(shapes) => json!({ "anyOf": shapes.iter().map(self::shape).collect::<Vec<_>>() }),
        Shape::TcpOptions => options(),
        Shape::Settings => json!({
            "type": "object",
            "additionalProperties": { "type": ["string", "integer", "boolean"] },
        }),
        Shape::Grid => json!({
            "type": "object",
            "description": "Paths by name and lists of values.",
            "additionalProperties": { "type": ["array", "object"] },
        }),
        Shape::Expect => json!({
            "type": "object",
            "description": "\"FLOW.METRIC.STATISTIC\" and a comparison.",
            "propertyNames": { "pattern": format!("^[^.]+(\\.({})(\\.({}))?)?$", Metric::NAMES.join("|"), Statistic::NAMES.join("|")) },
        }),
    }
}

fn choice(variants: &[Variant]) -> Value {
    let mut all: Vec<Value> = variants
        .iter()
        .map(|v| {
            json!({
                "type": "object",
                "description": v.doc,
                "properties": { v.name: shape(&v.shape) },
                "required": [v.name],
                "additionalProperties": false,
            })
        })
        .collect();
    let bare: Vec<&str> = variants.iter().filter(|v| v.bare).map(|v| v.name).collect();
    if !bare.is_empty() {
        all.push(json!({ "enum": bare }));
    }
    json!({ "anyOf": all })
}

fn one(kind: ValueKind) -> Value {
    const NUMBER: &str = r"\s*[0-9]*\.?[0-9]+([eE][+-]?[0-9]+)?\s*";
    match kind {
        ValueKind::Text | ValueKind::File => json!({ "type": "string" }),
        ValueKind::Name => json!({ "type": "string", "pattern": "^[A-Za-z][A-Za-z0-9_-]{0,63}$" }),
        ValueKind::Flag => json!({ "type": "boolean" }),
        ValueKind::Count(least, i64::MAX) => json!({ "type": "integer", "minimum": least }),
        ValueKind::Count(least, most) => json!({ "type": "integer", "minimum": least, "maximum": most }),
        ValueKind::Number(least, most) => json!({ "type": "number", "minimum": least, "maximum": most }),
        ValueKind::Span => {
            json!({ "type": "string", "pattern": format!("^{NUMBER}[a-zµ]+\\s*$"), "examples": ["300 ms", "1.5 s"] })
        }
        ValueKind::Rate => {
            json!({ "type": "string", "pattern": format!("^{NUMBER}[A-Za-z/]+\\s*$"), "examples": ["30 kbit/s", "2 Mbit/s"] })
        }
        ValueKind::Bytes => {
            json!({ "type": "string", "pattern": format!("^{NUMBER}[A-Za-z]+\\s*$"), "examples": ["100 kB", "300 KiB"] })
        }
        ValueKind::Limits => {
            json!({ "type": "string", "examples": ["10 packets", "100 kB", "10 packets, 15 kB", "unlimited"] })
        }
        ValueKind::Dist(quantity) => {
            let (kind, example) = match quantity {
                Quantity::Span => (json!("string"), "5 s"),
                Quantity::Bytes => (json!("string"), "500 B"),
                Quantity::Number => (json!(["string", "number"]), "5"),
                Quantity::Rate => (json!("string"), "30 kbit/s"),
                Quantity::Share => (json!(["string", "number"]), "0.01"),
            };
            let mut examples = vec![example];
            examples.extend(super::shape::DISTRIBUTIONS);
            json!({ "type": kind, "examples": examples })
        }
        ValueKind::Ordinals => {
            json!({ "type": "string", "pattern": r"^\s*[0-9]+(\s*-\s*[0-9]+)?(\s*,\s*[0-9]+(\s*-\s*[0-9]+)?)*\s*$" })
        }
        ValueKind::Word(words) => json!({ "enum": words }),
    }
}

fn options() -> Value {
    let mut root = json!({
        "type": "object",
        "properties": {
            tcp_options::PROFILE: {
                "enum": Config::profiles().collect::<Vec<_>>(),
                "default": tcp_options::DEFAULT_PROFILE,
                "description": "The choices to start from.",
            }
        },
        "additionalProperties": false,
    });
    for spec in Config::OPTIONS {
        let mut value = match spec.kind {
            OptionKind::Bool => json!({ "type": "boolean" }),
            OptionKind::Count => json!({ "type": "integer", "minimum": 0 }),
            OptionKind::Span => one(ValueKind::Span),
            OptionKind::Bytes => json!({ "type": ["string", "integer"], "examples": ["1460 B"] }),
            OptionKind::Window => {
                json!({ "type": "string", "examples": ["20 segments", "64 kB", "unlimited"] })
            }
            OptionKind::Word(words) => {
                let mut all: Vec<Value> = words.iter().map(|w| json!(w)).collect();
                if words.contains(&"true") {
                    all.extend([json!(true), json!(false)]);
                }
                json!({ "enum": all })
            }
        };
        value["description"] = json!(spec.doc);
        let mut parent = &mut root;
        let mut parts = spec.key.split('.').peekable();
        while let Some(part) = parts.next() {
            if parts.peek().is_none() {
                parent["properties"][part] = value.take();
                break;
            }
            if parent["properties"][part].is_null() {
                parent["properties"][part] =
                    json!({ "type": "object", "properties": {}, "additionalProperties": false });
            }
            parent = &mut parent["properties"][part];
        }
    }
    root
}

/// Reference page in Markdown: every table and key with default and meaning.
pub fn reference() -> String {
    let mut out = String::from(
        "# Scenario file reference\n\n\
         Generated from the grammar that the reader follows. Quantities are strings with their unit: times\n\
         `\"300 ms\"`, rates `\"30 kbit/s\"`, data `\"100 kB\"`; k is 1000, Ki is 1024. A time that may be random takes\n\
         a distribution:\n\n",
    );
    for form in super::shape::DISTRIBUTIONS {
        let _ = writeln!(out, "- `\"{form}\"`");
    }
    let mut waiting: Vec<(String, &'static TableShape)> = vec![("the file".into(), &ROOT)];
    let mut done: Vec<*const TableShape> = Vec::new();
    while let Some((path, shape)) = (!waiting.is_empty()).then(|| waiting.remove(0)) {
        if done.contains(&std::ptr::from_ref(shape)) {
            continue;
        }
        done.push(std::ptr::from_ref(shape));
        let _ = writeln!(out, "\n## {path}\n\n{}\n", shape.doc);
        if !shape.fields.is_empty() {
            let _ = writeln!(out, "| key | takes | default | meaning |\n|---|---|---|---|");
        }
        for field in shape.fields {
            let default = match field.need {
                Need::Required(_) => "required".to_owned(),
                Need::Optional => String::new(),
                Need::Default(text) => format!("`{text}`"),
            };
            let takes = self::takes(&field.shape).replace('|', "\\|");
            let _ = writeln!(out, "| `{}` | {takes} | {default} | {} |", field.key, field.doc);
            let path = if std::ptr::eq(shape, &ROOT) {
                String::new()
            } else {
                path.trim_matches(['[', ']', '`']).to_owned() + "."
            };
            collect(&field.shape, &format!("{path}{}", field.key), &mut waiting);
        }
        for group in shape.one_of {
            let _ =
                writeln!(out, "\nExactly one of {}.", super::spelling::alternatives(group.iter().copied()));
        }
        for (key, others) in shape.needs {
            let others = super::spelling::alternatives(others.iter().copied());
            let _ = writeln!(out, "\n`{key}` goes with {others}.");
        }
    }
    out.push_str(&tcp_reference());
    out.push_str("\n## `[grid]`\n\n`\"PATH\" = [value, ...]`: every combination is a cell. A path names keys and, where there are several tables,\ntheir names: `flow.download.transport.tcp.recovery`, `hop.radio.queue.drop-tail.limit`, `hop.radio.rate.down`,\n`run.seed`. `*` is every name. Paths joined by a comma vary together.\n");
    let _ = writeln!(
        out,
        "\n## `[expect]`\n\n`\"FLOW.METRIC.STATISTIC\" = \"< 150 s\"`, with `all` for all flows together.\n\nMetrics: {}.\n\nStatistics: {}.",
        code(Metric::NAMES),
        code(Statistic::NAMES)
    );
    out
}

fn code(words: &[&str]) -> String {
    words.iter().map(|w| format!("`{w}`")).collect::<Vec<_>>().join(", ")
}

fn tcp_reference() -> String {
    let mut out = String::from(
        "\n## `transport.tcp`\n\nA profile, and any of these options over it. A dot is a nested table: `rto = { min = \"1 s\" }`.\n\n",
    );
    let _ = writeln!(out, "| option | takes | meaning |\n|---|---|---|");
    let profiles: Vec<&str> = Config::profiles().collect();
    let _ =
        writeln!(out, "| `{}` | {} | The choices to start from. |", tcp_options::PROFILE, code(&profiles));
    for spec in Config::OPTIONS {
        let takes = match spec.kind {
            OptionKind::Bool => "true or false".to_owned(),
            OptionKind::Count => "whole number".to_owned(),
            OptionKind::Span => "time".to_owned(),
            OptionKind::Bytes => "data".to_owned(),
            OptionKind::Window => "window".to_owned(),
            OptionKind::Word(words) => code(words),
        };
        let _ = writeln!(out, "| `{}` | {takes} | {} |", spec.key, spec.doc);
    }
    out
}

/// One value for all parts, or one per part.
fn in_parts(inner: &Shape, parts: &Parts) -> Value {
    let one = shape(inner);
    let [first, second] = parts.keys;
    let both = json!({
        "type": "object",
        "properties": { first: one, second: one },
        "required": [first, second],
        "additionalProperties": false,
    });
    json!({ "anyOf": [one, both] })
}

fn takes(shape: &Shape) -> String {
    match shape {
        Shape::One(kind) => kind.title(),
        Shape::List(inner) => format!("list of {}", takes(inner)),
        Shape::Pair(a, b) => format!("[{}, {}]", a.title(), b.title()),
        Shape::Table(inner) => {
            format!("{{ {} }}", inner.fields.iter().map(|f| f.key).collect::<Vec<_>>().join(", "))
        }
        Shape::Tables(_) => "tables".into(),
        Shape::PerDirection(inner) => format!("{}, or {{ down, up }}", takes(inner)),
        Shape::PerEnd(inner) => format!("{}, or {{ from, to }}", takes(inner)),
        Shape::Choice(variants) => {
            variants.iter().map(|v| format!("`{}`", v.name)).collect::<Vec<_>>().join(", ")
        }
        Shape::Either(shapes) => shapes.iter().map(takes).collect::<Vec<_>>().join(" or "),
        Shape::TcpOptions => "options".into(),
        Shape::Settings => "settings by name".into(),
        Shape::Grid => "paths and lists".into(),
        Shape::Expect => "comparisons".into(),
    }
}

fn collect(shape: &'static Shape, path: &str, out: &mut Vec<(String, &'static TableShape)>) {
    match shape {
        Shape::Table(inner) if inner.fields.is_empty() => {}
        Shape::Table(inner) if path.contains('.') => out.push((format!("`{path}`"), inner)),
        Shape::Table(inner) => out.push((format!("`[{path}]`"), inner)),
        Shape::Tables(inner) => out.push((format!("`[[{path}]]`"), inner)),
        Shape::List(inner) | Shape::PerDirection(inner) | Shape::PerEnd(inner) => collect(inner, path, out),
        Shape::Choice(variants) => {
            for v in *variants {
                collect(&v.shape, &format!("{path}.{}", v.name), out);
            }
        }
        Shape::Either(shapes) => shapes.iter().for_each(|s| collect(s, path, out)),
        _ => {}
    }
}
