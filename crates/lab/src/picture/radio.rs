//! Radio rows and panels under a time-sequence picture: cell changes, TBFs, dummy blocks, LLC interruptions;
//! RLC blocks with retransmissions and acknowledgements (catalogue TA-06).
//!
//! Input: the trace of the cell ([`Event::Tbf`] and others), for each GPRS bearer of the flow.

use base::Time;
use base::event::{BlockUse, CellStep, Event, FrameFate, Record, TbfStep};
use report::{Ink, Layer, LayerEvent, Panel, Series, Style};
use scenario::Model;
use scenario::build::World;

/// Least interruption of LLC frames that is shown, s: several round trips of a GPRS bearer.
const BREAK: f64 = 2.0;
/// Maximum gap between dummy blocks of one event, s: five block periods.
const DUMMY_GAP: f64 = 0.1;
/// Series over RLC block numbers: name and colour.
const DOTS: [(&str, Ink); 3] =
    [("first sent", Ink::Main), ("acknowledged: all before", Ink::Other), ("sent again", Ink::Limit)];

/// State of one bearer direction while its trace is read.
#[derive(Default)]
struct BearerDirection {
    /// Time of the request of a TBF that is not yet assigned, s.
    requested: Option<f64>,
    /// Time since which the RLC window is closed, s.
    stalled: Option<f64>,
    /// Number of LLC frames queued and not yet delivered or discarded.
    outstanding: u64,
    /// Time of the last delivery, or of the first frame queued after an idle time, s.
    quiet_since: f64,
    /// Time of the last discarded LLC frame, s, and the number of discarded frames.
    discarded: Option<(f64, u64)>,
    /// Run of dummy blocks: start, end, count.
    dummies: Option<(f64, f64, u64)>,
    /// Time (s) and RLC block number, in the order of [`DOTS`].
    dots: [Vec<[f64; 2]>; 3],
}

/// A cell change in progress.
struct Change {
    since: f64,
    steps: Vec<String>,
}

struct Bearer<'a> {
    name: &'a str,
    ways: [BearerDirection; 2],
    change: Option<Change>,
    /// Restart of a network element in progress: start, s, and name.
    restarts: Vec<(f64, &'static str)>,
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
            Event::RadioBlock { up, purpose, block, .. } => self.block(t, usize::from(up), purpose, block),
            Event::RadioReport { up, complete, arrived: true, .. } => {
                self.ways[usize::from(up)].dots[1].push([t, f64::from(complete)]);
            }
            Event::LlcFrame { up, fate, .. } => self.frame(t, usize::from(up), fate),
            Event::Mobility { step, .. } => self.mobility(t, step),
            _ => {}
        }
    }

    fn block(&mut self, t: f64, way: usize, purpose: BlockUse, block: u32) {
        let w = &mut self.ways[way];
        match purpose {
            BlockUse::New => {
                w.dots[0].push([t, f64::from(block)]);
                if let Some(since) = w.stalled.take() {
                    let row = format!("RLC {}", direction(way));
                    self.add(&row, since, Some(t), "window closed", String::new());
                }
            }
            BlockUse::Missing | BlockUse::Idle => w.dots[2].push([t, f64::from(block)]),
            BlockUse::Dummy => match &mut w.dummies {
                Some((_, last, count)) if t - *last < DUMMY_GAP => (*last, *count) = (t, *count + 1),
                _ => {
                    let before = w.dummies.replace((t, t, 1));
                    self.tell_dummies(way, before);
                }
            },
            BlockUse::Control => {}
        }
    }

    fn tell_dummies(&mut self, way: usize, dummies: Option<(f64, f64, u64)>) {
        if let Some((since, last, count)) = dummies {
            let blocks = if count == 1 { "block" } else { "blocks" };
            let row = format!("RLC {}", direction(way));
            self.add(&row, since, Some(last), "dummy blocks", format!("{count} {blocks}"));
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
            TbfStep::Released => self.add(&row, t, None, "TBF released", String::new()),
            TbfStep::Kept => {}
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
                // Frames discarded within 20 ms are one event.
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
            CellStep::PcuRestart => self.restarts.push((t, "PCU restart")),
            CellStep::BscRestart => self.restarts.push((t, "BSC restart")),
            CellStep::SgsnRestart => self.restarts.push((t, "SGSN restart")),
            CellStep::Restarted => self.tell_restarts(t),
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

    /// Ends the restart that began first.
    fn tell_restarts(&mut self, until: f64) {
        if !self.restarts.is_empty() {
            let (since, name) = self.restarts.remove(0);
            self.add("network", since, Some(until), name, "fault of its software".to_owned());
        }
    }

    /// One panel for each direction with RLC blocks. `alone`: the flow has a single bearer, whose name is
    /// left out.
    fn panels(&mut self, alone: bool) -> Vec<Panel> {
        let name = if alone { String::new() } else { format!("{} ", self.name) };
        let mut all = Vec::new();
        for (way, w) in self.ways.iter_mut().enumerate() {
            let dots = DOTS.iter().zip(std::mem::take(&mut w.dots)).filter(|(_, points)| !points.is_empty());
            let series: Vec<Series> = dots
                .map(|((name, ink), points)| Series {
                    name: (*name).to_owned(),
                    ink: *ink,
                    style: Style::Dots,
                    points,
                })
                .collect();
            if !series.is_empty() {
                all.push(Panel { unit: format!("{name}RLC block {}", direction(way)), series });
            }
        }
        all
    }

    /// Closes the intervals that are open at the end of the trace.
    fn finish(mut self, end: f64) -> Vec<Layer> {
        if let Some(change) = self.change.take() {
            self.add("cell", change.since, Some(end), "cell reselection", change.steps.join(", "));
        }
        while !self.restarts.is_empty() {
            self.tell_restarts(end);
        }
        for way in 0..2 {
            let row = format!("LLC {}", direction(way));
            let discarded = self.ways[way].discarded.take();
            self.tell_discarded(&row, discarded);
            let dummies = self.ways[way].dummies.take();
            self.tell_dummies(way, dummies);
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
        let mut bearer =
            Bearer { name, ways: Default::default(), change: None, restarts: Vec::new(), rows: Vec::new() };
        for record in records.iter().filter(|r| r.source.0 == id.0) {
            let whose = match record.event {
                Event::Tbf { user, .. }
                | Event::RadioStalled { user, .. }
                | Event::RadioBlock { user, .. }
                | Event::RadioReport { user, .. }
                | Event::LlcFrame { user, .. }
                | Event::Mobility { user, .. } => user,
                _ => continue,
            };
            if whose as usize == user {
                bearer.note(record.t.as_secs_f64(), record.event);
            }
        }
        panels.extend(bearer.panels(alone));
        all.extend(bearer.finish(end));
    }
    (all, panels)
}
