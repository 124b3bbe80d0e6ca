//! Pictures of one repetition for the editor, from a new run with trace: time-sequence picture, congestion
//! window, packet positions.

use crate::{Forecaster, Refusal};
use scenario::{Model, Scenario};
use serde::Deserialize;
use serde_json::{Value, json};

/// Cell, repetition and flow of a picture; all from 0.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub struct PreviewTarget {
    /// Cell of the grid.
    pub cell: u64,
    /// Repetition of the cell.
    pub rep: u64,
    /// Flow of the scenario.
    pub flow: usize,
}

/// Maximum number of events of a repetition; larger ones need the command line.
const EVENTS: f64 = 3e6;

/// Model of one cell, if a repetition of it is small enough for a picture.
///
/// # Errors
/// There is no such cell or flow, the transport is a real kernel, or a repetition has too many events.
pub fn model(scenario: &Scenario, which: PreviewTarget, forecast: &Forecaster<'_>) -> Result<Model, Refusal> {
    if let Some(real) = lab::sweep::real(scenario.first()) {
        return Err(Refusal::wrong(
            format!("`{real}` is a real program or kernel: there is no picture without running it"),
            "run the set; its captures can be opened in `williwaw serve` and by `williwaw analyse`",
        ));
    }
    let cost = scenario.cost();
    if which.cell >= cost.cells {
        return Err(Refusal::Missing(format!("cell {}", which.cell)));
    }
    let events = forecast(scenario, &cost).events / (cost.runs.max(1) as f64);
    if events > EVENTS {
        return Err(Refusal::wrong(
            format!("one repetition has about {events:.0} events, too many for a picture here"),
            "use `williwaw plot` on the command line",
        ));
    }
    let cell = scenario.cell(which.cell).map_err(|wrong| Refusal::wrong(format!("{wrong:?}"), ""))?;
    if which.flow >= cell.model.flows.len() {
        return Err(Refusal::Missing(format!("flow {}", which.flow)));
    }
    Ok(cell.model)
}

/// The time-sequence picture of one flow, and its congestion window over time.
pub fn figure(model: &Model, which: PreviewTarget) -> Value {
    let picture = lab::picture::picture(model, which.rep, which.flow);
    let curve = |pick: &dyn Fn(&report::WindowSample) -> Option<f64>| -> Vec<Option<f64>> {
        picture.window.iter().map(pick).collect()
    };
    json!({
        "html": picture.figure(1),
        "segment": picture.segment_bytes,
        "window": {
            "t": picture.window.iter().map(|w| w.t).collect::<Vec<_>>(),
            "cwnd": curve(&|w| Some(w.cwnd as f64)),
            "ssthresh": curve(&|w| w.ssthresh.map(|s| s as f64)),
            "flight": curve(&|w| Some(w.flight as f64)),
        },
    })
}

/// Time-sequence picture, congestion window and packet positions of one repetition.
pub fn look(model: &Model, which: PreviewTarget) -> Value {
    let mut document = figure(model, which);
    document["film"] = json!(lab::packet_positions::packet_positions(model, which.rep));
    document
}
