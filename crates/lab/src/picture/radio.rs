//! Radio rows under a picture: changes of cell, TBF set-up and loss, closed RLC windows, LLC interruptions.
//!
//! Of each GPRS bearer on the flow's way, from the trace of the cell ([`Event::Tbf`] and others).

use base::Time;
use base::event::{BlockUse, CellStep, Event, FrameFate, Record, TbfStep};
use report::{Layer, LayerEvent};
use scenario::Model;
use scenario::build::World;

/// A time without an LLC frame is shown from this length on: several round trips of such a bearer, s.
const BREAK: f64 = 2.0;

/// One direction of a bearer while its trace is read.
#[derive(Default)]
struct Way {
    requested: Option<f64>,
    stalled: Option<f64>,
    /// LLC frames queued that have not arrived, and since when none has.
    outstanding: u64,
    quiet_since: f64,
    /// The last of them that was discarded, and how many.
    discarded: Option<(f64, u64)>,
}

/// A change of cell under way.
struct Change {
    since: f64,
    steps: Vec<String>,
}

struct Bearer<'a> {
    name: &'a str,
    ways: [Way; 2],
    change: Option<Change>,
    rows: Vec<Layer>,
}

impl Bearer<'_> {
    fn add(&mut self, row: &str, t: f64, until: Option<f64>, event: &str, detail: String) {
        let name = format!("{} {row}", self.name);
        let event = LayerEvent { t, until, event: event.to_owned(), detail, number: None };
        match self.rows.iter_mut().find(|l| l.name == name) {
            Some(layer) => layer.events.push(event),
            None => self.rows.push(Layer { name, events: vec![event] }),
        }
    }

    fn note(&mut self, t: f64, event: Event) {
        match event {
            Event::Tbf { up, step, .. } => self.tbf(t, usize::from(up), step),
            Event::RadioStalled { up, .. } => {
                self.ways[usize::from(up)].stalled.get_or_insert(t);
            }
            Event::RadioBlock { up, purpose: BlockUse::New, .. } => {
                if let Some(since) = self.ways[usize::from(up)].stalled.take() {
                    let row = format!("RLC {}", direction(usize::from(up)));
                    self.add(&row, since, Some(t), "window closed", String::new());
                }
            }
            Event::LlcFrame { up, fate, .. } => self.frame(t, usize::from(up), fate),
            Event::Mobility { step, .. } => self.mobility(t, step),
            _ => {}
        }
    }

    fn tbf(&mut self, t: f64, way: usize, step: TbfStep) {
        let row = format!("TBF {}", direction(way));
        match step {
            TbfStep::Requested => self.ways[way].requested = Some(t),
            TbfStep::Assigned => {
                if let Some(since) = self.ways[way].requested.take() {
                    self.add(&row, since, Some(t), "TBF set-up", String::new());
                }
            }
            TbfStep::Lost => self.add(&row, t, None, "TBF lost", String::new()),
            TbfStep::Kept | TbfStep::Released => {}
        }
    }

    fn frame(&mut self, t: f64, way: usize, fate: FrameFate) {
        let row = format!("LLC {}", direction(way));
        let w = &mut self.ways[way];
        match fate {
            FrameFate::Queued => {
                if w.outstanding == 0 {
                    w.quiet_since = t;
                }
                w.outstanding += 1;
            }
            FrameFate::Delivered => {
                w.outstanding = w.outstanding.saturating_sub(1);
                let since = std::mem::replace(&mut w.quiet_since, t);
                if t - since >= BREAK {
                    self.add(&row, since, Some(t), "no LLC frame", String::new());
                }
            }
            FrameFate::Discarded => {
                w.outstanding = w.outstanding.saturating_sub(1);
                // Frames that are discarded together are one event.
                match &mut w.discarded {
                    Some((last, count)) if t - *last < 0.02 => *count += 1,
                    _ => {
                        let before = w.discarded.replace((t, 1));
                        self.tell_discarded(&row, before);
                    }
                }
            }
            FrameFate::Duplicate | FrameFate::Repeated => {}
        }
    }

    fn tell_discarded(&mut self, row: &str, discarded: Option<(f64, u64)>) {
        if let Some((t, count)) = discarded {
            let frames = if count == 1 { "frame" } else { "frames" };
            self.add(row, t, None, "discarded", format!("{count} {frames}"));
        }
    }

    fn mobility(&mut self, t: f64, step: CellStep) {
        match step {
            CellStep::Decision => self.change = Some(Change { since: t, steps: Vec::new() }),
            CellStep::Preempted => self.add("cell", t, None, "voice call", String::new()),
            CellStep::Resumed => {
                if let Some(change) = self.change.take() {
                    let detail = change.steps.join(", ");
                    self.add("cell", change.since, Some(t), "cell reselection", detail);
                }
            }
            _ => {
                if let Some(change) = &mut self.change {
                    change.steps.push(format!("{step} after {:.1} s", t - change.since));
                }
            }
        }
    }

    /// What is under way when the trace ends.
    fn finish(mut self, end: f64) -> Vec<Layer> {
        if let Some(change) = self.change.take() {
            self.add("cell", change.since, Some(end), "cell reselection", change.steps.join(", "));
        }
        for way in 0..2 {
            let row = format!("LLC {}", direction(way));
            let discarded = self.ways[way].discarded.take();
            self.tell_discarded(&row, discarded);
        }
        for layer in &mut self.rows {
            layer.events.sort_by(|a, b| a.t.total_cmp(&b.t));
        }
        self.rows
    }
}

fn direction(way: usize) -> &'static str {
    if way == 1 { "up" } else { "down" }
}

/// The rows of all bearers on a flow's way.
pub(super) fn layers(model: &Model, flow: usize, world: &World, records: &[Record]) -> Vec<Layer> {
    let f = &model.flows[flow];
    let on_way = |b: usize| f.route.iter().chain(&f.way_back).any(|l| model.links[*l].bearer == Some(b));
    let end = records.last().map_or(Time::ZERO, |r| r.t).as_secs_f64();
    let mut all = Vec::new();
    for (b, &(id, user)) in world.bearers.iter().enumerate().filter(|(b, _)| on_way(*b)) {
        let name = model.bearers[b].name.as_str();
        let mut bearer = Bearer { name, ways: Default::default(), change: None, rows: Vec::new() };
        for record in records.iter().filter(|r| r.source.0 == id.0) {
            let whose = match record.event {
                Event::Tbf { user, .. }
                | Event::RadioStalled { user, .. }
                | Event::RadioBlock { user, .. }
                | Event::LlcFrame { user, .. }
                | Event::Mobility { user, .. } => user,
                _ => continue,
            };
            if whose as usize == user {
                bearer.note(record.t.as_secs_f64(), record.event);
            }
        }
        all.extend(bearer.finish(end));
    }
    all
}
