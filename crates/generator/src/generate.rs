//! Generator of random valid scenarios: a minimal scenario, then random additions that the schema allows and
//! the reader accepts.
//!
//! Each addition is a key of some table of the document, or one more table of a list, with random contents.
//! Additions that the reader rejects are undone. So every scenario is valid, and every key of the schema is
//! eventually used, however other keys constrain it.

use crate::document::toml;
use crate::files::FixtureFiles;
use crate::values::{Draw, Names};
use base::rng::Seed;
use scenario::Scenario;
use serde_json::{Map, Value, json};

/// A random scenario with its text.
#[derive(Debug)]
pub struct Random {
    /// JSON tree of the scenario.
    pub document: Value,
    /// TOML text of the scenario.
    pub text: String,
    /// The parsed scenario.
    pub scenario: Scenario,
}

/// Generator of scenarios from the schema.
#[derive(Debug)]
pub struct Generator {
    schema: Value,
    seed: u64,
}

/// Keys that need real machines; they are left out.
const LEFT_OUT: &[&str] = &["command", "linux", "wire"];
/// Number of additions that are tried for the largest scenario.
const MOST_ADDITIONS: f64 = 120.0;
/// Maximum number of times that the limit of a scenario is shortened: events need not fall in proportion.
const MOST_CUTS: u32 = 3;
/// Time to set up a flow, in wake-ups: about 100 us beside 2 us.
const SET_UP_EVENTS: f64 = 50.0;
/// Shortest limit of a scenario, ms.
const LEAST_LIMIT_MS: f64 = 1.0;

/// A position in the document for an addition: pointer to a table, schema of the table, key.
struct Spot<'a> {
    pointer: String,
    schema: &'a Value,
    key: &'a str,
}

/// Reads a document; `None` if the reader rejects it.
pub fn read(document: &Value) -> Option<Random> {
    let text = toml(document);
    let scenario = scenario::read("random.toml", text.as_bytes(), &FixtureFiles).ok()?;
    if lab::sweep::real(scenario.first()).is_some() {
        return None; // Kernels are left out.
    }
    Some(Random { document: document.clone(), text, scenario })
}

impl Generator {
    /// Generator of all scenarios of a seed.
    pub fn new(seed: u64) -> Generator {
        Generator { schema: scenario::schema::json_schema(), seed }
    }

    /// The scenario with this number.
    pub fn scenario(&self, number: u64) -> Option<Random> {
        let seed = Seed { seed: self.seed, repetition: number };
        let mut draw = Draw(seed.stream("generator", "scenario"));
        let mut best = read(&basis(&mut draw, number))?;
        let additions = draw.scale(2.0, MOST_ADDITIONS) as usize;
        for _ in 0..additions {
            let mut document = best.document.clone();
            if self.add(&mut document, &mut draw)
                && let Some(read) = read(&document)
            {
                best = read;
            }
        }
        Some(best)
    }

    /// The scenario with this number, its repetitions and its `run.limit` reduced until the forecast is at
    /// most `events` wake-ups, so that many scenarios take a predictable time. Some scenarios still take
    /// more: part of their work depends neither on the limit nor on the repetitions.
    pub fn within(&self, number: u64, events: f64) -> Option<Random> {
        let mut random = fewer_repetitions(self.scenario(number)?, events);
        for _ in 0..MOST_CUTS {
            let mut foretold = system_events(&random.scenario);
            if foretold <= events {
                foretold += lab::forecast::forecast(&random.scenario, &random.scenario.cost()).events;
            }
            if foretold <= events {
                break;
            }
            let limit = random.scenario.first().run.limit.as_secs_f64() * 1e3;
            let mut document = random.document.clone();
            document["run"]["limit"] =
                json!(format!("{:.3} ms", (limit * events / foretold).max(LEAST_LIMIT_MS)));
            let Some(shorter) = read(&document) else { break };
            random = shorter;
        }
        Some(random)
    }

    /// Adds a random key or table; false if there is no position for one.
    fn add(&self, document: &mut Value, draw: &mut Draw) -> bool {
        let names = Names::of(document);
        if draw.chance(0.04) {
            return vary(document, &names, draw);
        }
        let mut spots = Vec::new();
        collect(&self.schema, document, "", &mut spots);
        // The depth is drawn first, so that a nested key is as likely as one at the top.
        let depth = draw.below(4);
        let deep: Vec<usize> =
            (0..spots.len()).filter(|i| spots[*i].pointer.matches('/').count() >= depth * 2).collect();
        let Some(spot) = draw.pick(&deep).and_then(|i| spots.get(*i)) else { return false };
        let schema = &spot.schema["properties"][spot.key];
        let (pointer, key) = (spot.pointer.clone(), spot.key.to_owned());
        let Some(Value::Object(table)) = document.pointer_mut(&pointer) else { return false };
        if is_tables(schema) {
            let present = table.get(&key).and_then(Value::as_array).map_or(0, Vec::len);
            let Some(mut value) = random(&schema["items"], &key, &names, draw, 0) else { return false };
            if let Some(named) = value.as_object_mut().filter(|t| t.contains_key("name")) {
                let initial = key.chars().next().unwrap_or('x');
                let place: String = pointer.chars().filter(char::is_ascii_digit).collect();
                named.insert("name".to_owned(), json!(format!("{initial}{place}{present}")));
            }
            match table.entry(key).or_insert_with(|| json!([])) {
                Value::Array(list) if list.len() < 6 => list.push(value),
                _ => return false,
            }
            return true;
        }
        let Some(value) = random(schema, &key, &names, draw, 0) else { return false };
        table.insert(key, value);
        true
    }
}

/// Work inside the systems of a scenario in all runs, as the number of wake-ups that take as long: systems
/// pass once a radio block over all mobiles without a wake-up for each.
fn system_events(scenario: &Scenario) -> f64 {
    let model = scenario.first();
    let cells = scenario.cell_count().map_or(f64::INFINITY, |cells| cells as f64);
    let runs = cells * f64::from(model.run.repetitions);
    lab::forecast::system_work(model) * model.run.limit.as_secs_f64() * runs
}

/// The scenario with at most as many repetitions as set up flows in the time of `events` wake-ups; at least
/// one repetition.
fn fewer_repetitions(random: Random, events: f64) -> Random {
    let flows = random.scenario.first().flows.len().max(1) as f64;
    let cells = random.scenario.cell_count().map_or(f64::INFINITY, |cells| cells as f64);
    let most = (events / (SET_UP_EVENTS * flows * cells)).max(1.0) as u32;
    if random.scenario.first().run.repetitions <= most {
        return random;
    }
    let mut document = random.document.clone();
    document["run"]["repetitions"] = json!(most);
    read(&document).unwrap_or(random)
}

/// Adds a grid over one existing key, or an expectation.
fn vary(document: &mut Value, names: &Names, draw: &mut Draw) -> bool {
    let Some(link) = draw.pick(&names.links).cloned() else { return false };
    let Some(flow) = draw.pick(&names.flows).cloned() else { return false };
    let table = if document["hop"].is_array() { "hop" } else { "link" };
    let (section, key, value) = match draw.below(4) {
        0 => ("grid", format!("{table}.{link}.rate"), json!([draw.rate(), draw.rate()])),
        1 => ("grid", format!("{table}.{link}.delay"), json!([draw.span(), draw.span(), draw.span()])),
        2 => ("grid", format!("flow.{flow}.start"), json!([draw.span(), draw.span()])),
        _ => ("expect", format!("{flow}.segments_sent.mean"), json!(format!("< {}", draw.below(5000)))),
    };
    let Some(root) = document.as_object_mut() else { return false };
    let Value::Object(entries) = root.entry(section).or_insert_with(|| json!({})) else { return false };
    if entries.len() < 2 {
        entries.insert(key, value);
    }
    true
}

/// A small scenario: a chain of hops, or a graph of links, with a few flows.
fn basis(draw: &mut Draw, number: u64) -> Value {
    let length = 1 + draw.below(3);
    let mut document = json!({ "williwaw": 1 });
    let node = |i: usize| format!("n{i}");
    let mut end = length;
    if draw.chance(0.7) {
        let hops: Vec<Value> = (0..length)
            .map(|i| json!({ "name": format!("h{i}"), "between": [node(i), node(i + 1)], "rate": draw.rate(), "delay": draw.span() }))
            .collect();
        document["hop"] = json!(hops);
    } else {
        // A dumbbell: senders on the left, receivers on the right, one link each way between.
        end = 3;
        document["node"] = json!((0..4).map(|i| json!({ "name": node(i) })).collect::<Vec<_>>());
        let pairs = [(0, 1), (1, 0), (1, 2), (2, 1), (2, 3), (3, 2)];
        let links: Vec<Value> = pairs
            .iter()
            .map(|(a, b)| json!({ "name": format!("l{a}{b}"), "from": node(*a), "to": node(*b), "rate": draw.rate(), "delay": draw.span() }))
            .collect();
        document["link"] = json!(links);
    }
    let flows = 1 + draw.scale(1.0, 5.0) as usize;
    let flows: Vec<Value> = (0..flows - 1 + usize::from(draw.chance(0.2)))
        .chain([0])
        .enumerate()
        .map(|(i, _)| {
            let (from, to) = if draw.chance(0.7) { (0, end) } else { (end, 0) };
            json!({ "name": format!("f{i}"), "from": node(from), "to": node(to), "app": { "bulk": { "bytes": draw.bytes() } } })
        })
        .collect();
    document["flow"] = json!(flows);
    let repetitions = 1 + draw.below(3);
    let limit = format!("{:.0} ms", draw.scale(300.0, 60_000.0));
    document["run"] = json!({ "repetitions": repetitions, "seed": number % 1000, "limit": limit });
    document
}

fn is_tables(schema: &Value) -> bool {
    schema["type"] == "array" && schema["items"]["properties"].is_object()
}

/// Collects all positions of a document where a key can be added or replaced.
fn collect<'a>(schema: &'a Value, value: &Value, pointer: &str, spots: &mut Vec<Spot<'a>>) {
    for schema in alternatives(schema) {
        let (Some(properties), Some(table)) = (schema["properties"].as_object(), value.as_object()) else {
            if let (Some(list), true) = (value.as_array(), is_tables(schema)) {
                for (i, item) in list.iter().enumerate() {
                    collect(&schema["items"], item, &format!("{pointer}/{i}"), spots);
                }
            }
            continue;
        };
        if !table.keys().all(|key| properties.contains_key(key)) {
            continue; // The document has another alternative here.
        }
        for (key, inner) in properties {
            if LEFT_OUT.contains(&key.as_str()) || key == "grid" || key == "expect" {
                continue;
            }
            if !["name", "williwaw", "repetitions", "limit"].contains(&key.as_str()) {
                spots.push(Spot { pointer: pointer.to_owned(), schema, key });
            }
            if let Some(value) = table.get(key) {
                collect(
                    inner,
                    value,
                    &format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1")),
                    spots,
                );
            }
        }
    }
}

fn alternatives(schema: &Value) -> Vec<&Value> {
    schema["anyOf"].as_array().map_or_else(|| vec![schema], |all| all.iter().flat_map(alternatives).collect())
}

/// A random value of a schema.
fn random(schema: &Value, key: &str, names: &Names, draw: &mut Draw, depth: u32) -> Option<Value> {
    if schema["anyOf"].is_array() {
        let all = alternatives(schema);
        let chosen = *draw.pick(&all)?;
        return random(chosen, key, names, draw, depth + 1);
    }
    if let Some(items) = schema["prefixItems"].as_array() {
        return items.iter().map(|item| random(item, key, names, draw, depth + 1)).collect();
    }
    if schema["type"] == "array" {
        let n = if is_tables(schema) { draw.below(3) } else { 1 + draw.below(3) };
        let item = |i: usize, draw: &mut Draw| -> Option<Value> {
            let mut value = random(&schema["items"], key, names, draw, depth + 1)?;
            if let Some(table) = value.as_object_mut().filter(|t| t.contains_key("name")) {
                table.insert("name".to_owned(), json!(format!("{}{i}", key.get(..1)?)));
            }
            Some(value)
        };
        return (0..n.max(usize::from(key == "state") * 2)).map(|i| item(i, draw)).collect();
    }
    let Some(properties) = schema["properties"].as_object() else { return draw.leaf(schema, key, names) };
    let mut keys: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    for group in schema["allOf"].as_array().into_iter().flatten() {
        if let Some(choices) = group["oneOf"].as_array() {
            keys.extend(draw.pick(choices).and_then(|c| c["required"][0].as_str()));
        }
    }
    // Adds keys that a chosen key requires.
    for group in schema["allOf"].as_array().into_iter().flatten() {
        let Some(choices) = group["anyOf"].as_array() else { continue };
        let absent = choices.iter().find_map(|c| c["not"]["required"][0].as_str());
        let others: Vec<&str> = choices.iter().filter_map(|c| c["required"][0].as_str()).collect();
        if absent.is_some_and(|key| keys.contains(&key)) && !others.iter().any(|key| keys.contains(key)) {
            keys.extend(draw.pick(&others).copied());
        }
    }
    let chance = draw.0.uniform() * if depth > 2 { 0.2 } else { 0.4 };
    for optional in properties.keys().filter(|key| !LEFT_OUT.contains(&key.as_str())) {
        if !keys.contains(&optional.as_str()) && depth < 6 && draw.chance(chance) {
            keys.push(optional);
        }
    }
    let mut table = Map::new();
    for key in keys {
        let value =
            if key == "name" { json!("x0") } else { random(&properties[key], key, names, draw, depth + 1)? };
        table.insert(key.to_owned(), value);
    }
    Some(Value::Object(table))
}

/// Keys of the schema as paths, without those that need real machines.
pub fn keys(schema: &Value) -> Vec<String> {
    let mut all = Vec::new();
    walk(schema, "", &mut all);
    all.sort();
    all.dedup();
    all
}

fn walk(schema: &Value, path: &str, all: &mut Vec<String>) {
    for schema in alternatives(schema) {
        let items = if is_tables(schema) { &schema["items"] } else { schema };
        for (key, inner) in items["properties"].as_object().into_iter().flatten() {
            if !LEFT_OUT.contains(&key.as_str()) {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                walk(inner, &path, all);
                all.push(path);
            }
        }
    }
}

/// Keys that a document uses, as [`keys`] writes them.
pub fn used(document: &Value) -> Vec<String> {
    fn walk(value: &Value, path: &str, all: &mut Vec<String>) {
        match value {
            Value::Object(table) => {
                for (key, inner) in table {
                    let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                    if path != "grid" && path != "expect" {
                        walk(inner, &path, all);
                    }
                    all.push(path);
                }
            }
            Value::Array(list) => list.iter().for_each(|item| walk(item, path, all)),
            Value::String(word) => all.push(format!("{path}.{word}")),
            _ => {}
        }
    }
    let mut all = Vec::new();
    walk(document, "", &mut all);
    all
}
