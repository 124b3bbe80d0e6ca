//! Radio events of an event log as the timeline of each mobile's GPRS bearer.

use base::event::{BlockUse, CellStep, Event, FrameFate, TbfStep};
use radio::timeline::{self, BearerTimeline};
use report::{Layer, LayerEvent};
use serde_json::Value;
use std::collections::BTreeMap;

/// Timelines by cell and number of the mobile.
#[derive(Default)]
pub(super) struct Bearers(BTreeMap<String, BTreeMap<u32, BearerTimeline>>);

impl Bearers {
    /// Adds a line of the log at `t`, s. Events of the transport, and steps that this version does not know, are ignored.
    pub(super) fn take(&mut self, t: f64, place: &str, name: &str, line: &Value) {
        let Some(event) = event(name, line) else { return };
        let Some(mobile) = timeline::mobile(&event) else { return };
        if !self.0.contains_key(place) {
            self.0.insert(place.to_owned(), BTreeMap::new());
        }
        if let Some(cell) = self.0.get_mut(place) {
            cell.entry(mobile).or_default().note(t, event);
        }
    }

    /// Layers of all bearers; `end`: time of the last event, s. The first mobile of a cell has the cell's name.
    pub(super) fn finish(self, end: f64) -> impl Iterator<Item = Layer> {
        let each = |(place, cell): (String, BTreeMap<u32, BearerTimeline>)| {
            cell.into_iter().map(move |(mobile, timeline)| (place.clone(), mobile, timeline))
        };
        self.0.into_iter().flat_map(each).flat_map(move |(place, mobile, timeline)| {
            let name = if mobile == 0 { place } else { format!("{place} mobile {mobile}") };
            let rows = timeline.finish(end).into_iter();
            rows.map(move |row| Layer {
                name: format!("{name} {}", row.name),
                events: (row.events.into_iter())
                    .map(|e| LayerEvent::named(e.t, e.until, e.event, e.detail))
                    .collect(),
            })
        })
    }
}

/// Event of a bearer, with the fields that its timeline reads.
fn event(name: &str, line: &Value) -> Option<Event> {
    let number = |field: &str| line[field].as_u64();
    let short = |field: &str| u32::try_from(number(field)?).ok();
    let byte = |field: &str| u8::try_from(number(field)?).ok();
    let is = |field: &str| line[field].as_bool();
    let word = |field: &str| line[field].as_str();
    let user = short("user")?;
    Some(match name {
        "radio:block" => Event::RadioBlock {
            user,
            up: is("up")?,
            slot: byte("slot")?,
            scheme: byte("scheme")?,
            block: short("block")?,
            purpose: BlockUse::from_name(word("purpose")?)?,
            arrived: is("arrived")?,
        },
        "radio:tbf" => Event::Tbf { user, up: is("up")?, step: TbfStep::from_name(word("step")?)? },
        "radio:stalled" => Event::RadioStalled { user, up: is("up")?, block: short("block")? },
        "radio:llc" => Event::LlcFrame {
            user,
            up: is("up")?,
            packet: number("packet")?,
            octets: short("octets")?,
            fate: FrameFate::from_name(word("fate")?)?,
        },
        "radio:mobility" => Event::Mobility { user, step: CellStep::from_name(word("step")?)? },
        _ => return None,
    })
}
