//! Agreement of the JSON Schema and the scenario reader: good files pass both, wrong shapes fail both.

use scenario::{NoFiles, read, schema, starter};
use serde_json::{Value, json};

/// As much of JSON Schema as the schema uses; patterns are left to real validators.
fn valid(schema: &Value, value: &Value) -> bool {
    let Some(rules) = schema.as_object() else { return schema.as_bool().unwrap_or(true) };
    rules.iter().all(|(rule, want)| {
        let each = |f: &dyn Fn(&Value) -> bool| want.as_array().is_none_or(|all| all.iter().all(f));
        match (rule.as_str(), value) {
            ("type", _) => {
                let is = |name: &str| match name {
                    "object" => value.is_object(),
                    "array" => value.is_array(),
                    "string" => value.is_string(),
                    "boolean" => value.is_boolean(),
                    "integer" => value.is_i64() || value.is_u64(),
                    "number" => value.is_number(),
                    other => panic!("no type {other}"),
                };
                match want {
                    Value::String(name) => is(name),
                    _ => want.as_array().unwrap().iter().any(|name| is(name.as_str().unwrap())),
                }
            }
            ("enum", _) => want.as_array().unwrap().contains(value),
            ("anyOf", _) => want.as_array().unwrap().iter().any(|s| valid(s, value)),
            ("oneOf", _) => want.as_array().unwrap().iter().filter(|s| valid(s, value)).count() == 1,
            ("allOf", _) => each(&|s| valid(s, value)),
            ("required", Value::Object(map)) => each(&|key| map.contains_key(key.as_str().unwrap())),
            ("not", _) => !valid(want, value),
            ("properties", Value::Object(map)) => {
                map.iter().all(|(key, inner)| want.get(key).is_none_or(|s| valid(s, inner)))
            }
            ("additionalProperties", Value::Object(map)) => {
                let known = |key: &str| schema["properties"].get(key).is_some();
                map.iter().all(|(key, inner)| {
                    known(key)
                        || match want {
                            Value::Bool(allowed) => *allowed,
                            other => valid(other, inner),
                        }
                })
            }
            ("items", Value::Array(list)) => list.iter().all(|v| valid(want, v)),
            ("prefixItems", Value::Array(list)) => {
                list.iter().zip(want.as_array().unwrap()).all(|(v, s)| valid(s, v))
            }
            ("minItems", Value::Array(list)) => list.len() as u64 >= want.as_u64().unwrap(),
            ("maxItems", Value::Array(list)) => list.len() as u64 <= want.as_u64().unwrap(),
            ("minimum", _) => value.as_f64().is_none_or(|x| x >= want.as_f64().unwrap()),
            ("maximum", _) => value.as_f64().is_none_or(|x| x <= want.as_f64().unwrap()),
            _ => true,
        }
    })
}

fn json_of(text: &str) -> Value {
    let value: toml::Value = toml::from_str(text).expect("it is TOML");
    serde_json::to_value(value).expect("TOML fits in JSON")
}

const EXAMPLE: &str = include_str!("good/reno-and-eifel.toml");

#[test]
fn good_files_fit_the_schema() {
    let schema = schema::json_schema();
    for text in [EXAMPLE, starter::STARTER] {
        assert!(valid(&schema, &json_of(text)), "{text}");
    }
}

#[test]
fn what_the_reader_refuses_by_shape_the_schema_refuses() {
    let schema = schema::json_schema();
    for (good, wrong) in [
        ("delay = \"300 ms\"", "dealy = \"300 ms\""),
        ("delay = \"300 ms\"", "delay = 300"),
        ("rate = \"30 kbit/s\"", "rate = { down = \"30 kbit/s\" }"),
        ("between = [\"server\", \"phone\"]", "between = [\"server\"]"),
        ("name = \"radio\"\n", ""),
        ("every = \"uniform(20 s, 40 s)\"", "start = \"1 s\"\nevery = \"9 s\""),
        ("lasts = \"uniform(3 s, 15 s)\"", ""),
        ("recovery = \"reno\"", "recovery = \"rino\""),
        ("recovery = \"reno\"", "rto = { mni = \"1 s\" }"),
        ("profile = \"ns2-2001\"", "profile = \"ns3\""),
        ("drop-tail", "drop-trail"),
        ("timestamps = true", "timestamps = \"true\""),
        ("repetitions = 100", "repetitions = 0"),
        ("williwaw = 1", "williwaw = 2"),
    ] {
        let text = EXAMPLE.replacen(good, wrong, 1);
        assert_ne!(text, EXAMPLE, "{good}");
        assert!(read("x", text.as_bytes(), &NoFiles).is_err(), "the reader takes {wrong}");
        assert!(!valid(&schema, &json_of(&text)), "the schema takes {wrong}");
    }
}

#[test]
fn every_option_of_tcp_is_in_the_schema_and_on_the_page() {
    let schema = schema::json_schema();
    let transport = &schema["properties"]["flow"]["items"]["properties"]["transport"];
    // One value for both ends, or one for each.
    let tcp = &transport["anyOf"][0]["anyOf"][0]["properties"]["tcp"];
    let ends = &transport["anyOf"][1]["properties"];
    assert!(ends["from"] == transport["anyOf"][0] && ends["to"] == transport["anyOf"][0]);
    let page = schema::reference();
    for spec in transport::tcp::Config::OPTIONS {
        let found = spec.key.split('.').fold(tcp, |at, part| &at["properties"][part]);
        assert_eq!(found["description"], json!(spec.doc), "{}", spec.key);
        assert!(page.contains(&format!("`{}`", spec.key)), "{}", spec.key);
    }
}

/// Checks tables down to the TCP options, which another test covers.
#[test]
fn the_reference_page() {
    let page = schema::reference();
    let (ours, _) = page.split_once("\n## `transport.tcp`").expect("the page goes on with tcp");
    insta::assert_snapshot!(ours);
}
