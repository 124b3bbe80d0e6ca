//! JSON document of `reproduce --json`: published and measured values, verdicts on claims, and comparison
//! with kernels.

use super::kernel_comparison::{COUNTERS, KernelComparison, METRICS};
use super::{Reproduced, Totals};
use results::stats::Summary;
use serde_json::{Value, json};

/// Name and version of the document's schema.
pub const SCHEMA: &str = "williwaw-reproduce/1";

/// JSON document of these experiments.
pub fn document(all: &[Reproduced], seed: u64, version: &str) -> Value {
    let experiments: Vec<Value> = all.iter().map(experiment).collect();
    let t = Totals::of(all);
    json!({
        "schema": SCHEMA,
        "version": version,
        "seed": seed,
        "experiments": experiments,
        "summary": {
            "values": t.values, "within": t.within, "explained": t.explained, "within_former_band": t.former_within,
            "claims": t.claims, "hold": t.hold, "claims_explained": t.claims_explained,
            "hold_formerly": t.former_hold, "untested": t.untested,
            "claims_of_the_catalogue": t.literal, "hold_by_the_letter": t.literal_hold,
        },
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
                "within_former_band": v.former, "explained_value": v.moved,
                "linux": v.linux.map(|(mean, ci95)| json!({ "mean": mean, "ci95": ci95 })),
            })
        })
        .collect();
    let claims: Vec<Value> = r
        .claims
        .iter()
        .map(|c| {
            json!({
                "id": c.id, "holds": c.holds, "detail": c.detail, "text": c.text, "witness": c.witness,
                "why": c.why, "held_formerly": c.former, "letter": c.letter,
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
            let claims: Vec<Value> = (x.claims.iter())
                .map(|(id, holds, detail)| json!({ "id": id, "holds": holds, "detail": detail }))
                .collect();
            json!({
                "name": x.name, "chosen": x.chosen, "within": x.within, "measured": measured, "claims": claims,
            })
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
        "figures": r.figures,
        "linux_today": r.kernels.as_ref().map(kernels),
        "share_within": r.share.map(|s| json!({
            "seeds": s.seeds, "repetitions": s.repetitions, "within": s.within, "of": s.of,
        })),
    })
}

fn kernels(kernels: &KernelComparison) -> Value {
    let metrics = |all: &[Option<Summary>]| -> serde_json::Map<String, Value> {
        METRICS.iter().zip(all).map(|(metric, summary)| (metric.name().to_owned(), json!(summary))).collect()
    };
    let rows: Vec<Value> = kernels
        .rows
        .iter()
        .map(|row| {
            let counted: serde_json::Map<String, Value> =
                COUNTERS.iter().zip(&row.counted).map(|(name, n)| ((*name).to_owned(), json!(n))).collect();
            json!({
                "cell": row.labels.join("/"), "flow": row.flow,
                "study": metrics(&row.study), "linux": metrics(&row.linux), "counted": counted,
            })
        })
        .collect();
    json!({ "release": kernels.release, "repetitions": kernels.repetitions, "rows": rows })
}
