//! Ends of flows in a capture: addresses, ports, options, and the largest advertised windows, which fix the window
//! scales.

use super::numbers::ByElement;
use ::capture::segment::{self, End};
use base::event::Source;
use scenario::Model;
use scenario::build::World;
use std::net::{IpAddr, Ipv4Addr};
use transport::tcp::Role;
use transport::tcp::config::Handshake;

/// Address of the first node, 10.0.0.1; node n has this address plus n.
const FIRST_ADDRESS: u32 = 0x0a00_0001;
/// Port of the listening end.
const LISTENS: u16 = 5001;
/// First port of the connecting ends.
const OPENS: u16 = 49_152;

/// Largest advertised window of each end of each flow.
pub(super) struct Windows {
    /// Ledger of the data that each end of a flow sends, by element.
    pub(super) ledgers: ByElement,
    /// Largest window, bytes, by flow and end.
    largest: Vec<[u32; 2]>,
    /// Flows with a window that the window scale before does not hold, since the last call of [`Windows::outgrown`].
    outgrown: Vec<usize>,
    /// Whether a segment had the scale of another ledger than that of its window.
    pub(super) elsewhere: bool,
}

impl Windows {
    pub(super) fn new(world: &World) -> Windows {
        let ends = world.flows.iter().flat_map(|ends| [ends.from, ends.to]);
        let mut ledgers = ByElement::default();
        ends.enumerate().for_each(|(ledger, end)| ledgers.insert(end.0, ledger as u32));
        Windows { ledgers, largest: vec![[0; 2]; world.flows.len()], outgrown: Vec::new(), elsewhere: false }
    }

    /// Records windows up to `largest` bytes that a host advertised in packets of `ledger`.
    pub(super) fn offer(&mut self, host: Source, ledger: usize, largest: u32) {
        self.note(self.ledgers.get(host.0).map_or(ledger, |own| own as usize), largest);
    }

    pub(super) fn note(&mut self, ledger: usize, window: u32) {
        let largest = &mut self.largest[ledger / 2][ledger % 2];
        if window > *largest {
            if segment::scale_for(window) > segment::scale_for(*largest) {
                self.outgrown.push(ledger / 2);
            }
            *largest = window;
        }
    }

    /// Takes the flows with a window that the window scale before does not hold.
    pub(super) fn outgrown(&mut self) -> Vec<usize> {
        std::mem::take(&mut self.outgrown)
    }

    /// Whether every segment had the scale of the ledger of its window.
    pub(super) fn are_of_their_ledgers(&self) -> bool {
        !self.elsewhere
    }

    /// Addresses, ports and options of the ends of a flow.
    pub(super) fn ends_of(&self, model: &Model, flow: usize) -> [End; 2] {
        ends(model, flow, self.largest[flow])
    }

    /// Addresses, ports and options of the ends of each flow.
    pub(super) fn ends(&self, model: &Model) -> Vec<[End; 2]> {
        self.largest.iter().enumerate().map(|(flow, windows)| ends(model, flow, *windows)).collect()
    }
}

/// IPv4 address of a node on one of its network paths: 10.path.x.y.
pub(super) fn address(node: usize, path: u16) -> Ipv4Addr {
    Ipv4Addr::from_bits(FIRST_ADDRESS + (u32::from(path) << 16) + node as u32)
}

/// Port of one end of a flow.
pub(super) fn port(flow: usize, side: usize) -> u16 {
    if side == 0 { OPENS + (flow % 16_384) as u16 } else { LISTENS + (flow / 16_384) as u16 }
}

/// Flow and end of a packet from its source and destination ports, the inverse of [`port`].
pub(super) fn flow_of(from: u16, to: u16) -> Option<(usize, usize)> {
    let side = usize::from(from < OPENS);
    let (opens, listens) = if side == 0 { (from, to) } else { (to, from) };
    let low = usize::from(opens.checked_sub(OPENS)?);
    Some((low + 16_384 * usize::from(listens.checked_sub(LISTENS)?), side))
}

/// Addresses, ports and options of the two ends of a flow.
fn ends(model: &Model, flow: usize, windows: [u32; 2]) -> [End; 2] {
    let f = &model.flows[flow];
    let Some(config) = f.transport.tcp() else { return [End::NOBODY; 2] };
    // Options count against the announced MSS (RFC 6691); the two ends may announce different values.
    let agreed = config.mss + if config.timestamps { 12 } else { 0 };
    let told = |side: usize| {
        let role = if side == 0 { Role::Active } else { Role::Passive };
        f.transport.at(role).tcp().and_then(|end| end.announced).unwrap_or(agreed)
    };
    let one_way = config.opening.handshake == Handshake::OneWay;
    let scales = if one_way { windows.iter().any(|w| *w > u32::from(u16::MAX)) } else { config.window_scale };
    let end = |node: usize, side: usize| {
        let number = (2 * flow + side + 1) as u32;
        End {
            address: IpAddr::V4(address(node, 0)),
            port: port(flow, side),
            // A multiplicative hash, so that initial sequence numbers of flows lie far apart.
            first: number.wrapping_mul(0x9e37_79b9),
            clock: number.wrapping_mul(0x0100_0193),
            mss: told(side).min(u32::from(u16::MAX)) as u16,
            scale: scales.then(|| segment::scale_for(windows[side])),
            permits_sack: config.uses_sack(),
        }
    };
    [end(f.from, 0), end(f.to, 1)]
}
