//! Wire between two interfaces or two serial lines of this host.
//!
//! Two interfaces of this host, or two serial lines: devices, hosts and modems that know nothing of this program
//! speak through it. It takes what it needs of the host while it runs, one socket at each interface and the use of
//! each line, and changes none of its addresses, routes, queues or rules.

mod interface;
mod line;

use crate::Error;
use crate::driver::{Gateway, Kind};
use base::wire::frame::Framing;
use base::wire::hdlc::Wrong;
use host::{Wire as End, WireCounters};
use netns::device::{Device, Tunnel};
use path::{ElementId, Network};
use scenario::Model;
use scenario::model::Wire;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// An end that is open: what it is called, and the way to it.
type Way = (String, Box<dyn Tunnel>);

/// What an end counts beside the frames that cross the path.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// Frames of an interface that went to the other one at once: they carry no packet for the path.
    beside: AtomicU64,
    /// Large frames of an interface that could not be cut into such as go on a wire.
    uncut: AtomicU64,
    /// Bytes of a line before its first frame, which went to the other line at once.
    talk: AtomicU64,
    /// What stood between flags of a line and was no frame, by the reason.
    wrong: [AtomicU64; Wrong::ALL.len()],
    /// Why the last frame that did not get out did not.
    refusal: Mutex<Option<String>>,
}

impl Tally {
    fn count(counter: &AtomicU64, n: u64) {
        counter.fetch_add(n, Ordering::Relaxed);
    }
    fn wrong(&self, why: Wrong) {
        if let Some(counter) = self.wrong.get(why as usize) {
            Tally::count(counter, 1);
        }
    }
    /// Takes note of why a frame did not get out, and gives the reason on.
    fn refused(&self, name: &str, length: usize, error: io::Error) -> io::Error {
        if let Ok(mut refusal) = self.refusal.lock() {
            *refusal = Some(format!("{name} did not take a frame of {length} B: {error}"));
        }
        error
    }
}

/// What there is to tell of an end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WireFacts {
    /// The node.
    pub node: String,
    /// The interface, or the path of the line.
    pub name: String,
    /// What crossed the path.
    pub counters: WireCounters,
    /// Frames that passed at once, beside the path.
    pub beside: u64,
    /// Large frames that could not be cut into such as go on a wire, and are lost.
    pub uncut: u64,
    /// Bytes outside of frames that passed at once.
    pub talk: u64,
    /// How often something on the line was no frame, and why.
    pub wrong: Vec<(Wrong, u64)>,
    /// Why the last frame that did not get out did not.
    pub refusal: Option<String>,
}

/// An end that is open.
struct Open {
    node: usize,
    name: String,
    door: ElementId,
    tally: Arc<Tally>,
}

/// Both ends of the wire of a model; none of either if it has none.
#[derive(Default)]
pub(crate) struct Ends(Vec<Open>);

impl Ends {
    /// Opens them and adds what they are driven by.
    ///
    /// # Errors
    /// [`Error::Wire`], with what would help.
    pub(crate) fn open(
        model: &Model,
        doors: &[ElementId],
        gateways: &mut Vec<Gateway>,
    ) -> Result<Ends, Error> {
        let pairs = model.stations.iter().zip(doors);
        let wires: Vec<(usize, ElementId, &Wire)> = pairs
            .filter_map(|(&node, &door)| Some((node, door, model.nodes.get(node)?.wire.as_ref()?)))
            .collect();
        let [(a, one_door, one), (b, other_door, other)] = wires[..] else { return Ok(Ends::default()) };
        let tallies: [Arc<Tally>; 2] = Default::default();
        let opened = match (one, other) {
            (Wire::Interface(one), Wire::Interface(other)) => interface::both([one, other], &tallies)?,
            _ => line::both([one, other], &tallies)?,
        };
        let mut ends = Vec::new();
        let places = [(a, one_door), (b, other_door)];
        for (((node, door), (name, device)), tally) in places.into_iter().zip(opened).zip(tallies) {
            gateways.push(Gateway { door, device: Device::tunnel(device), kind: Kind::Wire });
            ends.push(Open { node, name, door, tally });
        }
        Ok(Ends(ends))
    }

    /// Whether there is one.
    pub(crate) fn any(&self) -> bool {
        !self.0.is_empty()
    }

    /// What frames cross a door; none where bare packets do.
    pub(crate) fn framing(&self, model: &Model, door: ElementId) -> Option<Framing> {
        let end = self.0.iter().find(|end| end.door == door)?;
        Some(model.nodes.get(end.node)?.wire.as_ref()?.framing())
    }

    /// What there is to tell of them now.
    pub(crate) fn facts(&self, model: &Model, network: &Network) -> Vec<WireFacts> {
        let one = |end: &Open| {
            let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
            let wrong = Wrong::ALL.iter().zip(&end.tally.wrong).map(|(why, n)| (*why, read(n)));
            WireFacts {
                node: model.nodes[end.node].name.clone(),
                name: end.name.clone(),
                counters: network.element::<End>(end.door).map(End::counters).unwrap_or_default(),
                beside: read(&end.tally.beside),
                uncut: read(&end.tally.uncut),
                talk: read(&end.tally.talk),
                wrong: wrong.filter(|(_, n)| *n > 0).collect(),
                refusal: end.tally.refusal.lock().ok().and_then(|refusal| refusal.clone()),
            }
        };
        self.0.iter().map(one).collect()
    }
}
