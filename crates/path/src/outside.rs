//! External link: an outside program decides delivery time or loss of each packet (catalogue SW-18).
//!
//! The driver supplies the program as a [`FateServer`]. The link delivers each packet at the time that the program has
//! set, so packets may be reordered. Packets with equal delivery times keep their order of arrival.

use crate::element::{Cx, Element, Port};
use base::Time;
use base::event::{Category, Event};
use base::packet::{DropReason, Packet};
use std::collections::BTreeMap;

/// Description of an arriving packet for the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PacketArrival {
    /// Arrival time at the link.
    pub at: Time,
    /// Packet number in the network.
    pub number: u64,
    /// Size in bytes, all headers included.
    pub size: u32,
    /// Flow index, in the order of the scenario.
    pub flow: u32,
}

/// Decision of the program on a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PacketFate {
    /// Delivery at this time; a time before the arrival counts as the arrival time.
    At(Time),
    /// Loss.
    Lost,
}

/// Program that decides on delivery or loss of packets.
pub trait FateServer: Send {
    /// Delivery or loss of a packet that has just arrived.
    fn fate(&mut self, packet: &PacketArrival) -> PacketFate;
}

/// One direction of a link served by an outside program. Without a program all packets are lost.
#[derive(Default)]
pub struct ExternalLink {
    server: Option<Box<dyn FateServer>>,
    waiting: BTreeMap<(Time, u64), Packet>,
    count: u64,
}

impl ExternalLink {
    /// Sets the program; `None`: all further packets are lost.
    pub fn serve(&mut self, server: Option<Box<dyn FateServer>>) {
        self.server = server;
    }
}

impl Element for ExternalLink {
    fn on_packet(&mut self, cx: &mut Cx<'_>, _port: Port, packet: Packet) {
        let (number, size, flow) = (packet.id, packet.size, packet.flow.0);
        let arriving = PacketArrival { at: cx.now(), number, size, flow };
        let fate = self.server.as_mut().map_or(PacketFate::Lost, |server| server.fate(&arriving));
        match fate {
            PacketFate::At(t) => {
                self.waiting.insert((t.max(cx.now()), self.count), packet);
                self.count += 1;
            }
            PacketFate::Lost => cx.drop(packet, DropReason::Loss),
        }
    }

    fn on_wake(&mut self, cx: &mut Cx<'_>) {
        while let Some(first) = self.waiting.first_entry().filter(|first| first.key().0 <= cx.now()) {
            let packet = first.remove();
            cx.count_hop();
            cx.record(Category::Path, cx.now(), || Event::Delivered { packet: packet.id });
            cx.forward(Port(0), packet);
        }
    }

    fn next_wake(&self) -> Time {
        self.waiting.first_key_value().map_or(Time::NEVER, |((t, _), _)| *t)
    }

    fn holds(&self) -> usize {
        self.waiting.len()
    }
}
