//! What do other programs read? The document of `reproduce --json`.

use super::{Reproduced, Totals};
use serde_json::{Value, json};

/// Name and version of the document's shape.
pub const SCHEMA: &str = "williwaw-reproduce/1";

/// The document.
pub fn document(all: &[Reproduced], seed: u64, version: &str) -> Value {
    let experiments: Vec<Value> = all.iter().map(experiment).collect();
    let t = Totals::of(all);
    json!({
        "schema": SCHEMA,
        "version": version,
        "seed": seed,
        "experiments": experiments,
        "summary": { "values": t.values, "within": t.within, "claims": t.claims, "hold": t.hold, "untested": t.untested },
    })
}

fn experiment(r: &Reproduced) -> Value {
    let values: Vec<Value> = r
        .values
        .iter()
        .map(|v| {
            json!({
                "key": v.key, "published": v.published, "measured": v.measured, "ci95": v.ci95,
                "unit": v.unit, "tolerance": v.tolerance, "within": v.within, "why": v.why,
            })
        })
        .collect();
    let claims: Vec<Value> = r
        .claims
        .iter()
        .map(|c| {
            json!({
                "id": c.id, "holds": c.holds, "detail": c.detail, "text": c.text, "witness": c.witness,
                "why": c.why,
            })
        })
        .collect();
    let untested: Vec<Value> =
        r.untested.iter().map(|c| json!({ "id": c.id, "text": c.text, "why": c.why })).collect();
    let readings: Vec<Value> = r
        .readings
        .iter()
        .map(|x| {
            let measured: serde_json::Map<String, Value> =
                x.measured.iter().map(|(k, v)| (k.clone(), json!(v))).collect();
            json!({ "name": x.name, "chosen": x.chosen, "within": x.within, "measured": measured })
        })
        .collect();
    json!({
        "id": r.experiment.id,
        "title": r.experiment.title,
        "source": r.experiment.source,
        "repetitions": r.runs,
        "values": values,
        "claims": claims,
        "untested": untested,
        "readings": readings,
        "share_within": r.share.map(|s| json!({
            "seeds": s.seeds, "repetitions": s.repetitions, "within": s.within, "of": s.of,
        })),
    })
}
