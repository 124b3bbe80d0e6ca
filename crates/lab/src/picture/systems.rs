//! Pictures of networks of cells: map of mobiles and cells over time; cell changes, TBFs, C/I and coding
//! schemes under a flow's time sequence.

use crate::once::{Options, RunOutcome, run_once};
use base::{Span, Time};
use cells::observe::{Observe, RadioEvent};
use cells::system::Cells;
use report::{CellChange, Ink, Layer, LayerEvent, Map, MobileState, Moment, Panel, Picture, Series, Style};
use scenario::model::Model;
use std::borrow::Cow;
use std::sync::Arc;

/// Number of grid points along each side of the map.
const POINTS: usize = 120;
/// Upper bound of time steps of the map.
const MOMENTS: usize = 120;
/// Upper bound of mobiles drawn.
const MOBILES: usize = 600;

/// Copy of the model with other recording options of a system.
fn observing(model: &Model, system: usize, observe: Observe) -> Model {
    let mut model = model.clone();
    if let Some(system) = model.systems.get_mut(system) {
        Arc::make_mut(&mut system.plan).observe = observe;
    }
    model
}

/// Model that records the radio events of the flow's mobile, if the flow belongs to a population.
pub(crate) fn watching(model: &Model, flow: usize) -> Cow<'_, Model> {
    let Some((system, mobile)) = place(model, flow) else { return Cow::Borrowed(model) };
    Cow::Owned(observing(model, system, Observe { mobile: Some(mobile as u32), trails: false }))
}

/// Index of the system and of the mobile of a flow.
fn place(model: &Model, flow: usize) -> Option<(usize, usize)> {
    let (system, mobile) = model.system_of(flow)?;
    let at = model.systems.iter().position(|s| s.name == system.name)?;
    Some((at, mobile))
}

/// Adds the radio events of the flow's mobile below its picture.
pub(crate) fn add(model: &Model, flow: usize, outcome: &RunOutcome, picture: &mut Picture) {
    let Some((system, mobile)) = place(model, flow) else { return };
    let id = outcome.world.systems[system];
    let Some(element) = outcome.world.network.element::<Cells>(id) else { return };
    let (layers, panels) = below(element, mobile, picture.end());
    picture.layers.extend(layers);
    picture.panels.extend(panels);
}

/// Adds an event with a duration, whose end [`close`] sets.
fn band(events: &mut Vec<LayerEvent>, t: f64, event: String) {
    events.push(LayerEvent { t, until: Some(f64::INFINITY), event, ..LayerEvent::default() });
}

fn close(events: &mut [LayerEvent], t: f64) {
    if let Some(last) = events.last_mut().filter(|e| e.until == Some(f64::INFINITY)) {
        last.until = Some(t);
    }
}

/// Rows (serving cell, cell changes, TBFs) and panels (C/I, coding scheme, block losses, SGSN queue) of one
/// mobile.
fn below(element: &Cells, mobile: usize, end: f64) -> (Vec<Layer>, Vec<Panel>) {
    let (mut cell, mut tbfs, mut drops) = (Vec::new(), [Vec::new(), Vec::new()], Vec::new());
    let (mut ci, mut scheme, mut queue) = (Vec::new(), Vec::<[f64; 2]>::new(), Vec::new());
    let mut losses = vec![[0.0_f64; 2]; end.max(0.0) as usize + 1];
    let changes = &element.meter().mobiles[mobile].changes;
    let first = element.records().events.iter().find_map(|(_, event)| match event {
        RadioEvent::Leaves { from, .. } => Some(*from),
        _ => None,
    });
    band(&mut cell, 0.0, format!("cell {}", first.unwrap_or(element.mobile(mobile).0)));
    for (t, event) in &element.records().events {
        let t = t.as_secs_f64();
        match *event {
            RadioEvent::Block { way: 0, scheme: s, ci_db, arrived } => {
                ci.push([t, f64::from(ci_db)]);
                let number = f64::from(s.number());
                if scheme.last().is_none_or(|last| last[1] != number) {
                    scheme.push([t, number]);
                }
                if let Some(loss) = losses.get_mut(t as usize) {
                    *loss = [loss[0] + 1.0, loss[1] + f64::from(u8::from(!arrived))];
                }
            }
            RadioEvent::Block { .. } => {}
            RadioEvent::TbfBegins { way, first } => band(&mut tbfs[way], t, format!("slots from {first}")),
            RadioEvent::TbfEnds { way } => close(&mut tbfs[way], t),
            RadioEvent::Leaves { from, to } => {
                close(&mut cell, t);
                band(&mut cell, t, format!("reselection {from} to {to}"));
            }
            RadioEvent::Arrived { cell: new } => {
                close(&mut cell, t);
                band(&mut cell, t, format!("cell {new}"));
            }
            RadioEvent::Dropped { octets } => drops.push(LayerEvent {
                t,
                event: "SGSN buffer full".to_owned(),
                detail: format!("{octets} octets"),
                ..LayerEvent::default()
            }),
            RadioEvent::Queue { octets } => queue.push([t, f64::from(octets)]),
        }
    }
    close(&mut cell, end);
    tbfs.iter_mut().for_each(|row| close(row, end));
    let [down, up] = tbfs;
    let layers = [("serving cell", cell), ("TBF down", down), ("TBF up", up), ("SGSN", drops)]
        .into_iter()
        .filter(|(name, events)| !events.is_empty() && (*name != "serving cell" || !changes.is_empty()))
        .map(|(name, events)| Layer { name: name.to_owned(), events })
        .collect();
    let share = losses.iter().enumerate().filter(|(_, l)| l[0] > 0.0);
    let share = share.map(|(second, l)| [second as f64, 100.0 * l[1] / l[0]]).collect();
    let panel = |unit: &str, name: &str, ink, style, points: Vec<[f64; 2]>| Panel {
        unit: unit.to_owned(),
        series: vec![Series { name: name.to_owned(), ink, style, points }],
    };
    let panels = vec![
        panel("C/I (dB)", "each radio block", Ink::Other, Style::Dots, ci),
        panel("MCS", "coding scheme", Ink::Main, Style::Stairs, scheme),
        panel("RLC blocks lost (%)", "in each second", Ink::Main, Style::Dots, share),
        panel("bytes", "queue at the SGSN", Ink::Main, Style::Stairs, queue),
    ];
    (layers, panels.into_iter().filter(|p| !p.series[0].points.is_empty()).collect())
}

/// Runs a repetition and draws the map of one of the model's systems.
pub fn map(model: &Model, repetition: u64, system: usize) -> Option<Map> {
    let model = observing(model, system, Observe { trails: true, mobile: None });
    let outcome = run_once(&model, repetition, Options::default());
    let element = outcome.world.network.element::<Cells>(*outcome.world.systems.get(system)?)?;
    let limit = Time::ZERO + model.run.limit;
    Some(draw(element, &model.systems[system].name, limit))
}

fn draw(element: &Cells, name: &str, limit: Time) -> Map {
    let layout = element.layout();
    let side = layout.side as f32;
    let point = |u: f32, v: f32| {
        let (x, y) = layout.cartesian(cells::geometry::Place { u, v });
        [f64::from(x), f64::from(y)]
    };
    let at = |k: usize| (k as f32 + 0.5) / POINTS as f32 * side;
    let (serving, ground): (Vec<u32>, Vec<f32>) = (0..POINTS * POINTS)
        .map(|i| element.static_ci(cells::geometry::Place { u: at(i % POINTS), v: at(i / POINTS) }))
        .unzip();
    let trails = element.records().trails.iter().filter(|(t, _)| *t <= limit).collect::<Vec<_>>();
    let every = trails.len().div_ceil(MOMENTS).max(1);
    let mobiles = trails.first().map_or(0, |(_, fixes)| fixes.len());
    let stride = mobiles.div_ceil(MOBILES).max(1);
    let moments = trails.iter().step_by(every).map(|(t, fixes)| {
        let mobile = |fix: &cells::observe::Fix| {
            let [x, y] = point(fix.place.u, fix.place.v);
            let state = match fix.ci_db {
                _ if fix.changing => MobileState::Changing,
                Some(ci) => MobileState::Active(ci),
                None => MobileState::Idle,
            };
            (x, y, state)
        };
        Moment { t: t.as_secs_f64(), mobiles: fixes.iter().step_by(stride).map(mobile).collect() }
    });
    let mut changes: Vec<CellChange> = Vec::new();
    for (m, counts) in element.meter().mobiles.iter().enumerate().step_by(stride) {
        for (t, _) in counts.changes.iter().filter(|c| c.0 <= limit) {
            let next = trails.partition_point(|(at, _)| at < t).min(trails.len().saturating_sub(1));
            let Some(fix) = trails.get(next).map(|(_, fixes)| fixes[m]) else { continue };
            changes.push(CellChange { t: t.as_secs_f64(), at: point(fix.place.u, fix.place.v) });
        }
    }
    changes.sort_by(|a, b| a.t.total_cmp(&b.t));
    let all: usize = element.meter().mobiles.iter().map(|m| m.changes.len()).sum();
    let lasted = trails.last().map_or(Span::ZERO, |(t, _)| t.since(Time::ZERO));
    let part = if stride > 1 { format!("; one mobile in {stride} is drawn") } else { String::new() };
    Map {
        title: format!("Network {name}"),
        caption: format!(
            "Ground: C/I from the strongest cell with all cells of its frequency group on air; lines: borders of cells; \
             {} sites of three sectors, {mobiles} mobiles, {all} cell changes in {:.0} s{part}. The area has no edge: \
             mobiles and signals that leave on one side enter on the other.",
            layout.sites(),
            lasted.as_secs_f64(),
        ),
        sides: [point(side, 0.0), point(0.0, side)],
        points: POINTS,
        ground,
        serving,
        sites: (0..layout.sites()).map(|s| layout.site(s)).map(|p| point(p.u, p.v)).collect(),
        boresights: (0..3).map(|k| f64::from(layout.boresight(k)) * 360.0).collect(),
        moments: moments.collect(),
        changes,
    }
}
