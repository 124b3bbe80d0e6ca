//! Wire: a path between two interfaces or two serial lines of this host, for devices that are not aware of the
//! emulation; its ends and counters.
//!
//! During a run it uses one packet socket at each interface, or each line exclusively. Addresses, routes, queues and
//! rules of the host are not changed.

mod interface;
mod serial_line;

use crate::Error;
use crate::driver::{Gateway, PortOwner};
use base::wire::frame::Framing;
use base::wire::hdlc::FrameError;
use host::{FramePort as End, FramePortCounters};
use netns::device::{Device, Tunnel};
use path::{ElementId, Network};
use scenario::Model;
use scenario::model::WireEnd;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// Name of an opened end, and its device.
type NamedTunnel = (String, Box<dyn Tunnel>);

/// Counters of an end in addition to the counters of frames on the path.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// Frames of an interface that were bridged directly, because they contain no packet for the path.
    beside: AtomicU64,
    /// Large frames of an interface that could not be segmented and were dropped.
    uncut: AtomicU64,
    /// Bytes of a serial line outside of frames that were passed to the opposite line directly.
    unframed_bytes: AtomicU64,
    /// Invalid frames on a serial line, by reason.
    wrong: [AtomicU64; FrameError::ALL.len()],
    /// Description of the last frame that an end refused.
    refusal: Mutex<Option<String>>,
}

impl Tally {
    fn count(counter: &AtomicU64, n: u64) {
        counter.fetch_add(n, Ordering::Relaxed);
    }
    fn wrong(&self, why: FrameError) {
        if let Some(counter) = self.wrong.get(why as usize) {
            Tally::count(counter, 1);
        }
    }
    /// Records the refusal of a frame, and returns its error.
    fn refused(&self, name: &str, length: usize, error: io::Error) -> io::Error {
        if let Ok(mut refusal) = self.refusal.lock() {
            *refusal = Some(format!("{name} did not take a frame of {length} B: {error}"));
        }
        error
    }
}

/// Facts about an end of a wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WireFacts {
    /// Name of the node.
    pub node: String,
    /// Name of the interface, or path of the serial line.
    pub name: String,
    /// Traffic over the path.
    pub counters: FramePortCounters,
    /// Frames bridged directly.
    pub beside: u64,
    /// Large frames dropped because they could not be segmented.
    pub uncut: u64,
    /// Bytes outside of frames, passed directly.
    pub unframed_bytes: u64,
    /// Invalid frames on a serial line, by reason.
    pub wrong: Vec<(FrameError, u64)>,
    /// Description of the last frame that the end refused.
    pub refusal: Option<String>,
}

/// Opened end of a wire.
struct OpenEnd {
    node: usize,
    name: String,
    packet_port: ElementId,
    tally: Arc<Tally>,
}

/// Both ends of a model's wire; empty without a wire.
#[derive(Default)]
pub(crate) struct Ends(Vec<OpenEnd>);

impl Ends {
    /// Opens both ends and appends their gateways.
    ///
    /// # Errors
    /// [`Error::Wire`], with the remedy.
    pub(crate) fn open(
        model: &Model,
        packet_ports: &[ElementId],
        gateways: &mut Vec<Gateway>,
    ) -> Result<Ends, Error> {
        let pairs = model.stations.iter().zip(packet_ports);
        let wires: Vec<(usize, ElementId, &WireEnd)> = pairs
            .filter_map(|(&node, &packet_port)| {
                Some((node, packet_port, model.nodes.get(node)?.wire.as_ref()?))
            })
            .collect();
        let [(a, one_port, one), (b, other_port, other)] = wires[..] else { return Ok(Ends::default()) };
        let tallies: [Arc<Tally>; 2] = Default::default();
        let opened = match (one, other) {
            (WireEnd::Interface(one), WireEnd::Interface(other)) => interface::both([one, other], &tallies)?,
            _ => serial_line::both([one, other], &tallies)?,
        };
        let mut ends = Vec::new();
        let places = [(a, one_port), (b, other_port)];
        for (((node, packet_port), (name, device)), tally) in places.into_iter().zip(opened).zip(tallies) {
            gateways.push(Gateway { packet_port, device: Device::tunnel(device), kind: PortOwner::Wire });
            ends.push(OpenEnd { node, name, packet_port, tally });
        }
        Ok(Ends(ends))
    }

    /// Whether the model has a wire.
    pub(crate) fn any(&self) -> bool {
        !self.0.is_empty()
    }

    /// Framing at a packet port; None for packets without frame.
    pub(crate) fn framing(&self, model: &Model, packet_port: ElementId) -> Option<Framing> {
        let end = self.0.iter().find(|end| end.packet_port == packet_port)?;
        Some(model.nodes.get(end.node)?.wire.as_ref()?.framing())
    }

    /// Current facts of both ends.
    pub(crate) fn facts(&self, model: &Model, network: &Network) -> Vec<WireFacts> {
        let one = |end: &OpenEnd| {
            let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
            let wrong = FrameError::ALL.iter().zip(&end.tally.wrong).map(|(why, n)| (*why, read(n)));
            WireFacts {
                node: model.nodes[end.node].name.clone(),
                name: end.name.clone(),
                counters: network.element::<End>(end.packet_port).map(End::counters).unwrap_or_default(),
                beside: read(&end.tally.beside),
                uncut: read(&end.tally.uncut),
                unframed_bytes: read(&end.tally.unframed_bytes),
                wrong: wrong.filter(|(_, n)| *n > 0).collect(),
                refusal: end.tally.refusal.lock().ok().and_then(|refusal| refusal.clone()),
            }
        };
        self.0.iter().map(one).collect()
    }
}
