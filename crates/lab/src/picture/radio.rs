//! Radio rows and panels under a time-sequence picture: the timeline of each GPRS bearer of the flow, and RLC blocks with
//! retransmissions and acknowledgements (catalogue TA-06).

use base::Time;
use base::event::Record;
use radio::timeline::{self, BearerTimeline, direction};
use report::{Ink, Layer, LayerEvent, Panel, Series, Style};
use scenario::Model;
use scenario::build::World;

/// One panel for each direction with RLC blocks. `name`: of the bearer, before that of the direction.
fn rlc_panels(bearer: &mut BearerTimeline, name: &str) -> Vec<Panel> {
    let mut all = Vec::new();
    for (way, points) in bearer.points().into_iter().enumerate() {
        let series: Vec<Series> = [
            ("first sent", Ink::Main, points.first),
            ("acknowledged: all before", Ink::Other, points.acknowledged),
            ("retransmitted", Ink::Limit, points.again),
        ]
        .into_iter()
        .filter(|(.., points)| !points.is_empty())
        .map(|(name, ink, points)| Series { name: name.to_owned(), ink, style: Style::Dots, points })
        .collect();
        if !series.is_empty() {
            all.push(Panel { unit: format!("{name}RLC block {}", direction(way)), series });
        }
    }
    all
}

/// Rows of a bearer.
fn rows(bearer: BearerTimeline, name: &str, end: f64) -> impl Iterator<Item = Layer> {
    bearer.finish(end).into_iter().map(move |row| Layer {
        name: format!("{name} {}", row.name),
        events: (row.events.into_iter())
            .map(|e| LayerEvent::named(e.t, e.until, e.event, e.detail))
            .collect(),
    })
}

/// Rows and panels of all bearers of a flow.
pub(super) fn layers(
    model: &Model,
    flow: usize,
    world: &World,
    records: &[Record],
) -> (Vec<Layer>, Vec<Panel>) {
    let f = &model.flows[flow];
    let on_way = |b: usize| f.route.iter().chain(&f.way_back).any(|l| model.links[*l].bearer == Some(b));
    let end = records.last().map_or(Time::ZERO, |r| r.t).as_secs_f64();
    let (mut all, mut panels) = (Vec::new(), Vec::new());
    let alone = (0..world.bearers.len()).filter(|b| on_way(*b)).count() == 1;
    for (b, &(id, user)) in world.bearers.iter().enumerate().filter(|(b, _)| on_way(*b)) {
        let name = model.bearers[b].name.as_str();
        let mut bearer = BearerTimeline::default();
        for record in records.iter().filter(|r| r.source.0 == id.0) {
            if timeline::mobile(&record.event) == Some(user as u32) {
                bearer.note(record.t.as_secs_f64(), record.event);
            }
        }
        // The name of a single bearer is left out.
        let before = if alone { String::new() } else { format!("{name} ") };
        panels.extend(rlc_panels(&mut bearer, &before));
        all.extend(rows(bearer, name, end));
    }
    (all, panels)
}
