//! Timeline of a GPRS bearer from its trace: cell changes, restarts of elements, TBFs, closed RLC windows, dummy blocks, pauses
//! of LLC frames; RLC block numbers over time (catalogue TA-06).

use base::event::{BlockUse, CellStep, Event, FrameFate, TbfStep};
use std::collections::VecDeque;

/// Events of one layer.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Name of the layer.
    pub name: String,
    /// Events.
    pub events: Vec<RowEvent>,
}

/// An event of a layer.
#[derive(Clone, Debug, PartialEq)]
pub struct RowEvent {
    /// Start, s.
    pub t: f64,
    /// End, s; `None`: the event has no duration.
    pub until: Option<f64>,
    /// Name.
    pub event: &'static str,
    /// Further description.
    pub detail: String,
}

/// RLC blocks of one direction: time, s, and block number counted from the start of the TBF.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RlcPoints {
    /// First transmissions.
    pub first: Vec<[f64; 2]>,
    /// Reports that arrived, at V(Q): all blocks before have come.
    pub acknowledged: Vec<[f64; 2]>,
    /// Retransmissions.
    pub again: Vec<[f64; 2]>,
}

/// Least interruption of LLC frames that is shown, s: several round trips of a GPRS bearer.
const BREAK: f64 = 2.0;
/// Maximum gap between dummy blocks of one event, s: five block periods.
const DUMMY_GAP: f64 = 0.1;

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
    /// RLC blocks.
    points: RlcPoints,
}

/// A cell change in progress.
struct Change {
    since: f64,
    steps: Vec<String>,
}

/// Rows of one mobile's bearer while its trace is read.
#[derive(Default)]
pub struct BearerTimeline {
    ways: [BearerDirection; 2],
    change: Option<Change>,
    /// Restart of a network element in progress: start, s, and name.
    restarts: VecDeque<(f64, &'static str)>,
    rows: Vec<Row>,
}

impl BearerTimeline {
    fn add(&mut self, row: &str, t: f64, until: Option<f64>, event: &'static str, detail: String) {
        let event = RowEvent { t, until, event, detail };
        match self.rows.iter_mut().find(|r| r.name == row) {
            Some(row) => row.events.push(event),
            None => self.rows.push(Row { name: row.to_owned(), events: vec![event] }),
        }
    }

    /// Adds an event of this mobile at `t`, s, in order of time.
    pub fn note(&mut self, t: f64, event: Event) {
        match event {
            Event::Tbf { up, step, .. } => self.tbf(t, usize::from(up), step),
            Event::RadioStalled { up, .. } => {
                self.ways[usize::from(up)].stalled.get_or_insert(t);
            }
            Event::RadioBlock { up, purpose, block, .. } => self.block(t, usize::from(up), purpose, block),
            Event::RadioReport { up, complete, arrived: true, .. } => {
                self.ways[usize::from(up)].points.acknowledged.push([t, f64::from(complete)]);
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
                w.points.first.push([t, f64::from(block)]);
                if let Some(since) = w.stalled.take() {
                    let row = format!("RLC {}", direction(way));
                    self.add(&row, since, Some(t), "window closed", String::new());
                }
            }
            BlockUse::Missing | BlockUse::Idle => w.points.again.push([t, f64::from(block)]),
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
            CellStep::PcuRestart => self.restarts.push_back((t, "PCU restart")),
            CellStep::BscRestart => self.restarts.push_back((t, "BSC restart")),
            CellStep::SgsnRestart => self.restarts.push_back((t, "SGSN restart")),
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
        if let Some((since, name)) = self.restarts.pop_front() {
            self.add("network", since, Some(until), name, "fault of its software".to_owned());
        }
    }

    /// Takes the RLC blocks so far: downlink, uplink.
    pub fn points(&mut self) -> [RlcPoints; 2] {
        self.ways.each_mut().map(|way| std::mem::take(&mut way.points))
    }

    /// Rows in order of time, with the intervals closed that are open at the end of the trace, s.
    #[must_use]
    pub fn finish(mut self, end: f64) -> Vec<Row> {
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
        for row in &mut self.rows {
            row.events.sort_by(|a, b| a.t.total_cmp(&b.t));
        }
        self.rows
    }
}

/// Number of the mobile within its cell that a radio event is about; `None` for other events.
#[must_use]
pub fn mobile(event: &Event) -> Option<u32> {
    match *event {
        Event::Tbf { user, .. }
        | Event::RadioStalled { user, .. }
        | Event::RadioBlock { user, .. }
        | Event::RadioReport { user, .. }
        | Event::LlcFrame { user, .. }
        | Event::Mobility { user, .. } => Some(user),
        _ => None,
    }
}

/// Name of a direction: 0 down, 1 up.
#[must_use]
pub fn direction(way: usize) -> &'static str {
    if way == 1 { "up" } else { "down" }
}
